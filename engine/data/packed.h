/* Packed pictures: a folder of pictures in one file, decoded and of one size, which is mapped into
 * memory. docs/formats.md describes the format. */
#ifndef SYN_ENGINE_DATA_PACKED_H
#define SYN_ENGINE_DATA_PACKED_H

#include "engine/data/set.h"

#define SYN_PACKED_MAGIC  "SYNPACK1"
#define SYN_PACKED_HEADER 64

/* The header. Numbers are little-endian. */
struct syn_packed {
    uint32_t side;         /* at 8 */
    uint32_t classes;      /* at 12 */
    uint64_t count[2];     /* at 16: training and test pictures */
    uint64_t names_bytes;  /* at 32: names of classes, NUL-terminated */
    uint64_t pixels_hash;  /* at 40: of each picture in turn */
    uint64_t index_hash;   /* at 48: of the bytes before it, the names and the labels */
    const char *names;     /* at 64 */
    const uint8_t *pixels; /* at the next multiple of 64: [count][side][side][3] */
    const uint8_t *labels; /* at the next multiple of 64: 4 bytes each */
};

/* Where labels and pixels begin, and the bytes of the whole file. */
struct syn_packed_places {
    uint64_t labels;
    uint64_t pixels;
    uint64_t end;
};
struct syn_packed_places syn_packed_places(const struct syn_packed *packed);

/* Read a packed file in memory. Any violation of the format: SYN_FORMAT with name and value. Pixels
 * are not checked. */
enum syn_status syn_packed_read(const char *name, const uint8_t *bytes, size_t count,
                                struct syn_packed *packed);

/* Open a packed file as a data set. */
enum syn_status syn_packed_open(const struct syn_data_options *options, const char *path,
                                struct syn_data *data);

#endif
