/* Counting and numbering words: entries in the order of first appearance, and after settling in the
 * order of their numbers, found through an open-addressing hash table that is at most half full.
 * <unk> and <eos> are entries 0 and 1 from the start, so that a text that spells them out means
 * them. */
#include "engine/data/vocabulary.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"

struct entry {
    struct syn_word word;
    size_t count;
};

struct syn_vocabulary {
    struct entry *entries; /* [room / 2] */
    size_t count;
    uint32_t *slots; /* [room], 1 + entry; 0: free */
    size_t room;     /* a power of two */
    size_t known;    /* once settled: how many entries have a number, which is their index */
};

static const struct syn_word special[] = {{(const uint8_t *)"<unk>", 5},
                                          {(const uint8_t *)"<eos>", 5}};
#define SPECIAL_COUNT 2

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The bytes of a UTF-8 character; a byte that begins none is one by itself. */
static size_t character_length(const uint8_t *at, size_t left)
{
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc0 ? 2 : 1;
    return length <= left ? length : 1;
}

static bool next_letter(struct syn_words *words, struct syn_word *word)
{
    while (words->at < words->end && !words->in_sentence &&
           (*words->at == '\n' || *words->at == '\r'))
        words->at++;
    if (words->at < words->end && words->at[0] == '\r' && words->end - words->at > 1 &&
        words->at[1] == '\n')
        words->at++;
    if (words->at == words->end || *words->at == '\n') {
        bool ends = words->in_sentence;
        words->at += words->at < words->end;
        words->in_sentence = false;
        *word = special[SYN_WORD_END];
        return ends;
    }
    *word =
        (struct syn_word){words->at, character_length(words->at, (size_t)(words->end - words->at))};
    words->at += word->length;
    words->in_sentence = true;
    return true;
}

bool syn_words_next(struct syn_words *words, struct syn_word *word)
{
    if (words->by_letters)
        return next_letter(words, word);
    while (words->at < words->end && is_blank(*words->at)) {
        bool ends_sentence = *words->at == '\n' && words->in_sentence;
        words->at++;
        if (ends_sentence) {
            words->in_sentence = false;
            *word = special[SYN_WORD_END];
            return true;
        }
    }
    const uint8_t *first = words->at;
    while (words->at < words->end && !is_blank(*words->at))
        words->at++;
    bool has_word = words->at > first;
    bool ends_text = !has_word && words->in_sentence;
    words->in_sentence = has_word;
    *word =
        has_word ? (struct syn_word){first, (size_t)(words->at - first)} : special[SYN_WORD_END];
    return has_word || ends_text;
}

/* FNV-1a, then a fold, because the table uses the low bits. */
static size_t hash(struct syn_word word)
{
    uint64_t h = 0xcbf29ce484222325U;
    for (size_t i = 0; i < word.length; i++)
        h = (h ^ word.at[i]) * 0x100000001b3U;
    return (size_t)(h ^ (h >> 32));
}

static bool is_same(struct syn_word a, struct syn_word b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* The slot that holds the word, or the free one where it belongs. */
static uint32_t *find_slot(const struct syn_vocabulary *vocabulary, struct syn_word word)
{
    size_t mask = vocabulary->room - 1;
    size_t i = hash(word) & mask;
    while (vocabulary->slots[i] &&
           !is_same(vocabulary->entries[vocabulary->slots[i] - 1].word, word))
        i = (i + 1) & mask;
    return &vocabulary->slots[i];
}

static void fill_slots(struct syn_vocabulary *vocabulary)
{
    memset(vocabulary->slots, 0, vocabulary->room * sizeof *vocabulary->slots);
    for (size_t i = 0; i < vocabulary->count; i++)
        *find_slot(vocabulary, vocabulary->entries[i].word) = (uint32_t)i + 1;
}

static enum syn_status grow(struct syn_vocabulary *vocabulary)
{
    size_t room = vocabulary->room ? 2 * vocabulary->room : 4096;
    struct entry *entries = realloc(vocabulary->entries, room / 2 * sizeof *entries);
    if (entries)
        vocabulary->entries = entries;
    uint32_t *slots =
        entries && room <= UINT32_MAX ? realloc(vocabulary->slots, room * sizeof *slots) : NULL;
    if (!slots)
        return syn_report(SYN_MEMORY, "cannot allocate a vocabulary of %zu words", room / 2);
    vocabulary->slots = slots;
    vocabulary->room = room;
    fill_slots(vocabulary);
    return SYN_OK;
}

enum syn_status syn_vocabulary_new(struct syn_vocabulary **vocabulary)
{
    struct syn_vocabulary *made = calloc(1, sizeof *made);
    if (!made)
        return syn_report(SYN_MEMORY, "cannot allocate a vocabulary");
    enum syn_status status = SYN_OK;
    for (size_t i = 0; status == SYN_OK && i < SPECIAL_COUNT; i++)
        status = syn_vocabulary_count(made, special[i]);
    if (status != SYN_OK) {
        syn_vocabulary_free(made);
        return status;
    }
    *vocabulary = made;
    return SYN_OK;
}

enum syn_status syn_vocabulary_count(struct syn_vocabulary *vocabulary, struct syn_word word)
{
    if (vocabulary->count >= vocabulary->room / 2)
        SYN_TRY(grow(vocabulary));
    assert(vocabulary->entries && vocabulary->slots);
    uint32_t *slot = find_slot(vocabulary, word);
    if (!*slot) {
        vocabulary->entries[vocabulary->count++] = (struct entry){.word = word};
        *slot = (uint32_t)vocabulary->count;
    }
    vocabulary->entries[*slot - 1].count++;
    return SYN_OK;
}

static int by_frequency(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    size_t shorter = a->word.length < b->word.length ? a->word.length : b->word.length;
    int order = memcmp(a->word.at, b->word.at, shorter);
    return order ? order : (a->word.length > b->word.length) - (a->word.length < b->word.length);
}

size_t syn_vocabulary_settle(struct syn_vocabulary *vocabulary, size_t most)
{
    qsort(vocabulary->entries + SPECIAL_COUNT, vocabulary->count - SPECIAL_COUNT,
          sizeof(struct entry), by_frequency);
    fill_slots(vocabulary);
    vocabulary->known = vocabulary->count < most ? vocabulary->count : most;
    return vocabulary->known;
}

int32_t syn_vocabulary_find(const struct syn_vocabulary *vocabulary, struct syn_word word)
{
    uint32_t slot = *find_slot(vocabulary, word);
    return slot > 0 && slot <= vocabulary->known ? (int32_t)slot - 1 : SYN_WORD_UNKNOWN;
}

struct syn_word syn_vocabulary_word(const struct syn_vocabulary *vocabulary, size_t number)
{
    assert(number < vocabulary->known);
    return vocabulary->entries[number].word;
}

void syn_vocabulary_free(struct syn_vocabulary *vocabulary)
{
    if (!vocabulary)
        return;
    free(vocabulary->entries);
    free(vocabulary->slots);
    free(vocabulary);
}
