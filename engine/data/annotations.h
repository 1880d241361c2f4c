/* A table of pictures and their classes, as Tiny-ImageNet has it for its validation part:
 *
 *     val_0.JPEG <tab> n03444034 <tab> 0 <tab> 32 <tab> 44 <tab> 62
 *
 * The first two columns count, the rest of a line is where the thing is in the picture. */
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
    size_t line; /* that was read last, from 1 */
};

struct syn_annotation {
    char file[256];
    char class[256];
};

/* The next row, passing over empty lines; is_there says whether there is one. A line without two
 * columns, or a file's name that leads elsewhere: SYN_FORMAT, with the line's number. */
enum syn_status syn_annotations_next(struct syn_annotations *annotations,
                                     struct syn_annotation *row, bool *is_there);

#endif
