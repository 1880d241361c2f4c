/* Texts to tokens, as is usual for the Penn Treebank: words are separated by blanks, every line
 * ends in <eos>, and the vocabulary is that of the training part, so that nothing is learnt from
 * the others. On request, letters take the place of words. */
#include "engine/data/corpus.h"

#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/vocabulary.h"

/* The length in bytes of the UTF-8 character here; 0 if invalid. NUL, overlong forms, surrogates
 * and code points beyond U+10FFFF are invalid. */
static size_t character(const uint8_t *at, size_t left)
{
    if (at[0] > 0 && at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length > left)
        return 0;
    uint8_t low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    return length;
}

enum syn_status syn_text_check(const struct syn_text *text)
{
    for (size_t at = 0; at < text->count;) {
        size_t length = character(text->bytes + at, text->count - at);
        if (length == 0)
            return syn_report(SYN_FORMAT, "%s: byte 0x%02x at %zu is not UTF-8 text", text->name,
                              text->bytes[at], at);
        at += length;
    }
    struct syn_words words = {text->bytes, text->bytes + text->count, false, false};
    struct syn_word word;
    if (!syn_words_next(&words, &word))
        return syn_report(SYN_FORMAT, "%s: %zu bytes without a single word", text->name,
                          text->count);
    return SYN_OK;
}

static enum syn_status count_words(const struct syn_text *text, bool by_letters,
                                   struct syn_vocabulary *vocabulary)
{
    struct syn_words words = {text->bytes, text->bytes + text->count, false, by_letters};
    struct syn_word word;
    while (syn_words_next(&words, &word))
        SYN_TRY(syn_vocabulary_count(vocabulary, word));
    return SYN_OK;
}

static enum syn_status number_words(const struct syn_text *text, bool by_letters,
                                    const struct syn_vocabulary *vocabulary,
                                    struct syn_part_store *part, size_t *count)
{
    const struct syn_words all = {text->bytes, text->bytes + text->count, false, by_letters};
    struct syn_words words = all;
    struct syn_word word;
    size_t number = 0;
    while (syn_words_next(&words, &word))
        number++;
    SYN_TRY(syn_engine_allocate(number, sizeof(int32_t), &part->tokens));
    words = all;
    for (size_t i = 0; syn_words_next(&words, &word); i++)
        part->tokens[i] = syn_vocabulary_find(vocabulary, word);
    *count = number - 1; /* there are at least a word and its <eos>; all but the last have a next */
    return SYN_OK;
}

/* Keep the words as names, so that a model's output can be read. */
static enum syn_status name_words(const struct syn_vocabulary *vocabulary, struct syn_data *data)
{
    struct syn_word *words;
    SYN_TRY(syn_engine_allocate(data->info.outputs, sizeof *words, &words));
    for (size_t i = 0; i < data->info.outputs; i++)
        words[i] = syn_vocabulary_word(vocabulary, i);
    enum syn_status status = syn_data_keep_names(data, words);
    free(words);
    return status;
}

static enum syn_status fill(const struct syn_text texts[SYN_DATA_PARTS], size_t most,
                            bool by_letters, struct syn_vocabulary *vocabulary,
                            struct syn_data *data)
{
    SYN_TRY(count_words(&texts[SYN_DATA_TRAIN], by_letters, vocabulary));
    data->info.outputs = syn_vocabulary_settle(vocabulary, most);
    SYN_TRY(name_words(vocabulary, data));
    for (size_t i = 0; i < SYN_DATA_PARTS; i++)
        SYN_TRY(
            number_words(&texts[i], by_letters, vocabulary, &data->parts[i], &data->info.count[i]));
    return SYN_OK;
}

enum syn_status syn_corpus_read(const struct syn_text texts[SYN_DATA_PARTS], size_t vocabulary,
                                bool by_letters, struct syn_data *data)
{
    data->info.kind = SYN_DATA_TOKENS;
    for (size_t i = 0; i < SYN_DATA_PARTS; i++)
        SYN_TRY(syn_text_check(&texts[i]));
    struct syn_vocabulary *words;
    SYN_TRY(syn_vocabulary_new(&words));
    enum syn_status status = fill(texts, vocabulary, by_letters, words, data);
    syn_vocabulary_free(words);
    return status;
}

enum syn_status syn_corpus_open(const struct syn_data_options *options, const char *directory,
                                struct syn_data *data)
{
    static const char *const names[] = {SYN_CORPUS_TRAIN, SYN_CORPUS_VALID, SYN_CORPUS_TEST};
    struct syn_blob files[SYN_DATA_PARTS] = {{0}};
    struct syn_text texts[SYN_DATA_PARTS];
    enum syn_status status = SYN_OK;
    for (size_t i = 0; status == SYN_OK && i < SYN_DATA_PARTS; i++) {
        status = syn_data_open_file(data->info.name, directory, names[i], &files[i]);
        texts[i] = (struct syn_text){files[i].path, files[i].bytes, files[i].count};
    }
    if (status == SYN_OK)
        status = syn_corpus_read(texts, options->vocabulary, options->letters, data);
    for (size_t i = 0; i < SYN_DATA_PARTS; i++)
        syn_blob_close(&files[i]);
    return status;
}
