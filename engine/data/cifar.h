/* CIFAR-10's binary version: records of a label byte, then 1,024 red, 1,024 green and 1,024 blue
 * bytes. */
#ifndef SYN_ENGINE_DATA_CIFAR_H
#define SYN_ENGINE_DATA_CIFAR_H

#include "engine/data/set.h"

#define SYN_CIFAR_SIDE    32
#define SYN_CIFAR_PIXELS  3072
#define SYN_CIFAR_RECORD  3073
#define SYN_CIFAR_RECORDS 10000
#define SYN_CIFAR_CLASSES 10

/* Read a file in memory that must hold that many records.
 *   span    set to the pixels, inside bytes
 *   labels  [records]
 * Too short, too long, a label above 9: SYN_FORMAT with name and value. */
enum syn_status syn_cifar_read(const char *name, const uint8_t *bytes, size_t count, size_t records,
                               struct syn_span *span, int32_t *labels);

/* Write a file in the binary version from labels and a PNG with `records` rows, each the 1,024
 * pixels of one image. Any other PNG: SYN_FORMAT. */
enum syn_status syn_cifar_from_png(const char *png, const uint8_t *labels, size_t records,
                                   const char *to);

/* Read a JSON list of exactly that many numbers, each 0 to 9; anything else: SYN_FORMAT. */
enum syn_status syn_cifar_read_json(const char *name, const uint8_t *bytes, size_t count,
                                    size_t records, uint8_t *labels);

#endif
