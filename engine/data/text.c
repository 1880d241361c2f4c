/* The user's own text in the form of the Penn Treebank for language models: ptb.train.txt,
 * ptb.valid.txt and ptb.test.txt, one sentence per line. */
#include "engine/data/corpus.h"

static const struct syn_data_file files[] = {
    {SYN_CORPUS_TRAIN, NULL},
    {SYN_CORPUS_VALID, NULL},
    {SYN_CORPUS_TEST, NULL},
};

const struct syn_data_set syn_data_set_text = {
    .name = "text",
    .help = "text of your own: ptb.train.txt, ptb.valid.txt, ptb.test.txt, one sentence per line",
    .files = files,
    .file_count = sizeof files / sizeof files[0],
    .open = syn_corpus_open,
};
