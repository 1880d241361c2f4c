/* What is needed to use a model without its data: what an example looks like, how its pixels become
 * numbers, the names of outputs. A run keeps it next to its weights, as two text files:
 *
 *     input.txt                            names.txt
 *         syncopate-input 1                    a name per line, if outputs have any
 *         data folder
 *         kind images
 *         shape 3 224 224
 *         outputs 10
 *         floats 0
 *         frame 224 256                    sets of pictures: size and resize; else 0 0
 *         channel 3c8c8b3f c0078cdf        scale and shift, as the bits of floats; a line each */
#ifndef SYN_ENGINE_DATA_KEPT_H
#define SYN_ENGINE_DATA_KEPT_H

#include "engine/data/set.h"

#define SYN_KEPT_FILE  "input.txt"
#define SYN_NAMES_FILE "names.txt"
#define SYN_KEPT_BYTES 2048

/* The text of input.txt, without the last end of line. */
void syn_kept_text(const struct syn_data *data, char text[SYN_KEPT_BYTES]);

/* A data set without examples, from both texts.
 *   path   of the first, for messages
 *   names  {NULL, 0}: outputs have no names
 * Anything else: SYN_FORMAT. */
enum syn_status syn_kept_read(const char *path, struct syn_word text, struct syn_word names,
                              struct syn_data **data);

/* The same from the directory of a run; *data is unchanged if it has no input.txt, as in runs of
 * earlier versions. */
enum syn_status syn_kept_open(const char *directory, struct syn_data **data);

#endif
