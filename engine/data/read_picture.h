/* A picture from a file as an example of a data set. */
#ifndef SYN_ENGINE_DATA_READ_PICTURE_H
#define SYN_ENGINE_DATA_READ_PICTURE_H

#include "engine/data/set.h"

/* Decode a JPEG or PNG file in memory, and make an example of it:
 *   input  [channels][height][width]
 * What cannot be read, or data whose examples are not pictures: SYN_FORMAT. */
enum syn_status syn_data_read_picture(const struct syn_data *data, const char *path,
                                      const uint8_t *bytes, size_t count, float *input);

#endif
