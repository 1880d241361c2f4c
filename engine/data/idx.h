/* IDX files, the format of MNIST: a big-endian header, then bytes. */
#ifndef SYN_ENGINE_DATA_IDX_H
#define SYN_ENGINE_DATA_IDX_H

#include "engine/data/set.h"

struct syn_idx_images {
    size_t count;
    size_t height;
    size_t width;
    const uint8_t *pixels; /* [count][height][width], inside the bytes that were read */
};

struct syn_idx_labels {
    size_t count;
    const uint8_t *labels; /* [count], inside the bytes that were read */
};

/* Read a file of images (magic 0x00000803), or of labels (0x00000801), in memory. Any byte that is
 * missing, left over or not as the format requires: SYN_FORMAT with name and value. */
enum syn_status syn_idx_read_images(const char *name, const uint8_t *bytes, size_t count,
                                    struct syn_idx_images *images);
enum syn_status syn_idx_read_labels(const char *name, const uint8_t *bytes, size_t count,
                                    struct syn_idx_labels *labels);

/* The four files of such a set, in the order train images, train labels, test images, test
 * labels. */
#define SYN_IDX_FILES 4

/* Open a set of four IDX files, with labels in [0, classes). */
enum syn_status syn_idx_open(const struct syn_data_file files[SYN_IDX_FILES], const char *directory,
                             size_t classes, struct syn_data *data);

#endif
