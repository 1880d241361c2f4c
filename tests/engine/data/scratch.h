/* What the tests of data sets share: a folder of their own, and small files of every form. */
#ifndef SYN_TEST_SCRATCH_H
#define SYN_TEST_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#define SCRATCH_PATH 512

/* Group set-up and tear-down: make a folder, name it in scratch_folder, remove it with all that
 * is in it. Messages of the library are kept for scratch_log(). */
int scratch_begin(void **state);
int scratch_end(void **state);

extern char scratch_folder[SCRATCH_PATH];

/* All that the library has said since the last call, a line each. */
const char *scratch_log(void);

/* A path in the folder, valid until four calls later. */
const char *scratch_path(const char *name);

/* Write a file in the folder, making the folders above it. */
void scratch_write(const char *name, const void *bytes, size_t count);
void scratch_write_text(const char *name, const char *text);
void scratch_write_gzip(const char *name, const void *bytes, size_t count);

/* Write a file that has count zero bytes and takes no room. */
void scratch_write_hole(const char *name, size_t count);

/* Write an executable script. */
void scratch_write_script(const char *name, const char *text);

/* IDX in memory: count images of height x width, each pixel made from image and place, or labels
 * i % 10. Returns the number of bytes; bytes may be NULL to ask for it. */
size_t scratch_idx_images(uint32_t count, uint32_t height, uint32_t width, uint8_t *bytes);
size_t scratch_idx_labels(uint32_t count, uint8_t *bytes);

/* The pixel that scratch_idx_images() writes. */
uint8_t scratch_pixel(size_t image, size_t place);

/* The four files of a set of IDX form, in a sub-folder: train and test examples of 6 x 5. */
void scratch_write_idx_set(const char *folder, uint32_t train, uint32_t test);

#endif
