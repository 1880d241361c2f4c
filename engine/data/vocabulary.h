/* The words of a text, or its letters, by number: 0 is <unk>, 1 is <eos>, then the most frequent
 * words. */
#ifndef SYN_ENGINE_DATA_VOCABULARY_H
#define SYN_ENGINE_DATA_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/status.h>

/* A word in place in the text; not NUL-terminated. */
struct syn_word {
    const uint8_t *at;
    size_t length;
};

/* The rest of a text. */
struct syn_words {
    const uint8_t *at;
    const uint8_t *end;
    bool in_sentence; /* a word was returned since the last <eos> */
    bool by_letters;  /* every character is a word, blanks too */
};

#define SYN_WORD_UNKNOWN 0
#define SYN_WORD_END     1

/* The next word of a text, and "<eos>" after every line that has words; false at the end. Words are
 * separated by blanks. By letters: the next character, and "<eos>" for the end of every line that
 * is not empty. */
bool syn_words_next(struct syn_words *words, struct syn_word *word);

struct syn_vocabulary;

/* An empty vocabulary, for counting. */
enum syn_status syn_vocabulary_new(struct syn_vocabulary **vocabulary);

/* Count a word. It is not copied: the text must outlive the vocabulary. */
enum syn_status syn_vocabulary_count(struct syn_vocabulary *vocabulary, struct syn_word word);

/* End counting and number the words, at most that many including <unk> and <eos>: the most frequent
 * first, equally frequent ones in the order of their bytes. Returns how many have a number. */
size_t syn_vocabulary_settle(struct syn_vocabulary *vocabulary, size_t most);

/* The number of a word, SYN_WORD_UNKNOWN if it has none. */
int32_t syn_vocabulary_find(const struct syn_vocabulary *vocabulary, struct syn_word word);

/* The word with that number; it points into the text. */
struct syn_word syn_vocabulary_word(const struct syn_vocabulary *vocabulary, size_t number);

void syn_vocabulary_free(struct syn_vocabulary *vocabulary);

#endif
