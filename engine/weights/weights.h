/* What the files of this folder share: formats read weights from bytes and write them as bytes. */
#ifndef SYN_ENGINE_WEIGHTS_H
#define SYN_ENGINE_WEIGHTS_H

#include <stdint.h>

#include <syncopate/engine/weights.h>

#define SYN_WEIGHTS_NAME 256 /* bytes of a tensor's name with its NUL */

/* Set where weights come from. */
void syn_weights_set_origin(struct syn_weights *weights, const char *origin);

/* "3x32x32"; "scalar" without dimensions. */
#define SYN_SHAPE_TEXT 96
void syn_shape_text(const struct syn_shape *shape, char text[SYN_SHAPE_TEXT]);

/* Whether `bytes` can hold the values of a shape, of `each` bytes per value. */
bool syn_shape_fits(const struct syn_shape *shape, size_t bytes, size_t each);

/* Whether this is one of the counters that PyTorch saves with batch norm. */
bool syn_weights_is_counter(const char *name);

/* Add a tensor whose values need not be aligned, refusing values that are not finite. */
enum syn_status syn_weights_take(struct syn_weights *weights, const char *name,
                                 const struct syn_shape *shape, const uint8_t *bytes);

/* Types of numbers in files. */
struct syn_number_type {
    const char *name; /* in safetensors */
    size_t bytes;
    float (*widen)(uint16_t narrow); /* NULL: floats */
};

/* The type of that name; NULL: not supported. */
const struct syn_number_type *syn_number_type_find(const char *name);

/* The same for values of any of these types. */
enum syn_status syn_weights_take_as(struct syn_weights *weights, const char *name,
                                    const struct syn_shape *shape,
                                    const struct syn_number_type *type, const uint8_t *bytes);

/* The name of tensor number i in a file. */
void syn_weights_name(struct syn_weights *weights, size_t i, enum syn_names names,
                      char name[SYN_WEIGHTS_NAME]);

/* Writes a file's bytes in parts, in order; returns the status of the first part that could not be
 * written. */
struct syn_sink;
enum syn_status syn_sink_put(struct syn_sink *sink, const void *bytes, size_t count);

/* Write a file under a temporary name, sync it to the disk, then rename it; nothing is left of a
 * file that could not be written.
 *   write  writes all its bytes */
typedef enum syn_status syn_sink_write(struct syn_sink *sink, void *context);
enum syn_status syn_sink_make(const char *path, syn_sink_write *write, void *context);

/* The formats. Reading: from the bytes of the whole file into weights that have an origin. */
struct syn_weights_writing {
    struct syn_weights *weights;
    enum syn_names names;
    const char *path;
};
enum syn_status syn_safetensors_read(const uint8_t *bytes, size_t count,
                                     struct syn_weights *weights);
enum syn_status syn_safetensors_write(struct syn_sink *sink, void *context);
enum syn_status syn_npz_read(const uint8_t *bytes, size_t count, struct syn_weights *weights);
enum syn_status syn_npz_write(struct syn_sink *sink, void *context);

#endif
