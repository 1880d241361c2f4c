/* Arrays as NumPy saves them: .npy, and .npz, which is a zip archive of .npy files. */
#ifndef SYN_ENGINE_DATA_NPY_READ_H
#define SYN_ENGINE_DATA_NPY_READ_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/status.h>

#define SYN_NPY_DIMENSIONS 4

struct syn_npy {
    char kind;    /* u, i or f: unsigned, signed, floating point; little-endian */
    size_t width; /* bytes of an item: 1, 2, 4 or 8 */
    size_t dimensions;
    size_t shape[SYN_NPY_DIMENSIONS]; /* at least 1 each */
    size_t items;                     /* their product */
    const uint8_t *bytes;             /* [items][width], inside the bytes that were read */
};

/* Read a .npy file in memory. Any violation of the format, Fortran order, big-endian items or an
 * unknown type of items: SYN_FORMAT with name and value. */
enum syn_status syn_npy_read(const char *name, const uint8_t *bytes, size_t count,
                             struct syn_npy *array);

/* A file in a zip archive in memory. */
struct syn_zip_file {
    const uint8_t *packed; /* inside the archive */
    size_t packed_count;
    size_t count; /* of bytes unpacked */
    uint32_t crc;
    int method; /* 0: stored, 8: deflated */
};

/* Called for each file of an archive.
 *   name  [length], without a NUL
 * A failure ends the listing and is returned. */
typedef enum syn_status syn_zip_visit(void *context, const char *name, size_t length,
                                      const struct syn_zip_file *file);
enum syn_status syn_zip_list(const char *archive, const uint8_t *bytes, size_t count,
                             syn_zip_visit *visit, void *context);

/* Find a file by name; file->packed is NULL if there is none. Damaged: SYN_FORMAT.
 *   archive  the name of the archive, for messages */
enum syn_status syn_zip_find(const char *archive, const uint8_t *bytes, size_t count,
                             const char *name, struct syn_zip_file *file);

/* Unpack a file into file->count bytes, and verify its checksum. */
enum syn_status syn_zip_unpack(const char *archive, const char *name,
                               const struct syn_zip_file *file, uint8_t *to);

#endif
