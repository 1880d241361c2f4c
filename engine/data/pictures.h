/* Data sets of pictures: files that are decoded when needed, or decoded pictures of one size in one
 * file (packed.h). Examples of a part are numbers of pictures (places), and a picture becomes an
 * example by its frame. */
#ifndef SYN_ENGINE_DATA_PICTURES_H
#define SYN_ENGINE_DATA_PICTURES_H

#include <syncopate/random.h>

#include "engine/data/frame.h"
#include "engine/data/picture.h"
#include "engine/data/set.h"

struct syn_picture_file {
    size_t name; /* offset in names of its path below the root */
    uint64_t bytes;
    int32_t label;
};

struct syn_pictures {
    uint64_t pixels_hash; /* expected of packed pixels */
    size_t count;
    size_t size;   /* height and width of examples */
    size_t resize; /* of the shorter side, for evaluation */
    /* Either files, */
    char root[SYN_PATH_BYTES];
    char *names;                    /* NUL-terminated */
    struct syn_picture_file *files; /* [count] */
    /* or pixels. */
    const uint8_t *pixels; /* [count][side][side][3]; NULL: files */
    size_t side;
};

/* Memory in which one thread makes examples. Zeroed: empty. */
struct syn_scratch {
    struct syn_picture picture;
    struct syn_resizer resizer;
    uint8_t *file;
    size_t file_bytes;
    uint8_t *frame; /* [size][size][3] */
    size_t frame_bytes;
};

void syn_scratch_free(struct syn_scratch *scratch);

/* Set sizes from the options; impossible ones: SYN_INVALID. */
enum syn_status syn_pictures_set_sizes(struct syn_pictures *pictures,
                                       const struct syn_data_options *options);

/* Make the bytes [size][size][3] of a picture in scratch->frame: a random frame, or the centre if
 * random is NULL. A picture that cannot be read: false; it is logged, once per process, and
 * counted. */
bool syn_pictures_make(const struct syn_pictures *pictures, size_t number,
                       struct syn_scratch *scratch, struct syn_random *random, bool *flips);

/* The same as floats: [3][size][size]. */
bool syn_pictures_fill(const struct syn_data *data, size_t number, struct syn_scratch *scratch,
                       struct syn_random *random, float *input);

/* The last steps common to all sets of pictures: try the first pictures, hold out a share if there
 * is no test part, normalise. */
enum syn_status syn_pictures_finish(struct syn_data *data, const struct syn_data_options *options,
                                    bool has_test);

/* Read all of a set's pictures, telling the progress; those that cannot be read are logged. */
enum syn_status syn_pictures_check(const struct syn_data *data,
                                   const struct syn_progress *progress);

/* Continue hash with one picture: with its pixels, or with its name and length, because reading a
 * million files whenever workers meet would take longer than many runs. */
uint64_t syn_pictures_hash(uint64_t hash, const struct syn_pictures *pictures, size_t number);

void syn_pictures_free(struct syn_pictures *pictures);

/* Unreadable files of this process: logged once however many workers meet them, and summarised in
 * one line when the last set of pictures is closed. */
void syn_odd_open(void);
void syn_odd_close(void);
void syn_odd_log(const char *root, const char *name, const char *why);

#endif
