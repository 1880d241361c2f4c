/* A table of pictures and their classes, as in the validation part of Tiny-ImageNet:
 *
 *     val_0.JPEG <tab> n03444034 <tab> 0 <tab> 32 <tab> 44 <tab> 62
 *
 * Only the first two columns are used; the rest of a line is the bounding box of the object. */
#ifndef SYN_ENGINE_DATA_ANNOTATIONS_H
#define SYN_ENGINE_DATA_ANNOTATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/status.h>

struct syn_annotations {
    const char *name; /* of the table, for messages */
    const uint8_t *at;
    const uint8_t *end;
    size_t line; /* last read, from 1 */
};

struct syn_annotation {
    char file[256];
    char class[256];
};

/* The next row, skipping empty lines; is_there is false at the end. A line without two columns, or
 * a file name that is a path: SYN_FORMAT, with the line's number. */
enum syn_status syn_annotations_next(struct syn_annotations *annotations,
                                     struct syn_annotation *row, bool *is_there);

#endif
