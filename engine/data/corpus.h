/* A corpus of three texts, one sentence per line, converted to word numbers. */
#ifndef SYN_ENGINE_DATA_CORPUS_H
#define SYN_ENGINE_DATA_CORPUS_H

#include "engine/data/set.h"

/* A text in memory. */
struct syn_text {
    const char *name; /* for messages */
    const uint8_t *bytes;
    size_t count;
};

/* Check that a text is UTF-8 without NUL and has at least one word: SYN_FORMAT otherwise. */
enum syn_status syn_text_check(const struct syn_text *text);

/* Fill data with the tokens of the three parts. The vocabulary, at most that many words (or
 * letters) including <unk> and <eos>, is that of the training part. On failure data may be partly
 * filled. */
enum syn_status syn_corpus_read(const struct syn_text texts[SYN_DATA_PARTS], size_t vocabulary,
                                bool by_letters, struct syn_data *data);

/* The files of a corpus, in the order of enum syn_data_part: ptb.train.txt, ptb.valid.txt,
 * ptb.test.txt. */
#define SYN_CORPUS_TRAIN "ptb.train.txt"
#define SYN_CORPUS_VALID "ptb.valid.txt"
#define SYN_CORPUS_TEST  "ptb.test.txt"

/* Open a corpus in a directory: the open function of sets of this form. */
enum syn_status syn_corpus_open(const struct syn_data_options *options, const char *directory,
                                struct syn_data *data);

#endif
