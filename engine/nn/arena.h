/* Laying out buffers in one block of memory. */
#ifndef SYN_NN_ARENA_H
#define SYN_NN_ARENA_H

#include <stddef.h>

#include <syncopate/status.h>

struct buffer;

/* Give each buffer an offset, so that buffers with overlapping lifetimes do not overlap. */
enum syn_status arena_lay_out(struct buffer *buffers, size_t count, size_t *bytes);

#endif
