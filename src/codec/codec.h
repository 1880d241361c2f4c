/* Coordinates to bytes and back. A packet is a head, the values, and the indices; values and
 * indices have forms of their own, a row each, and any two go together. docs/formats.md has every
 * byte.
 *
 * Whatever a packet claims is checked before it is believed: decoding foreign bytes is safe. */
#ifndef SYN_CODEC_CODEC_H
#define SYN_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "tensor/kernels.h"
#include "tensor/list.h"

/* How indices travel. */
struct syn_index_type {
    struct syn_part part;

    /* Exact bytes for the list's indices out of [0, size), or SIZE_MAX if this form cannot hold
     * them.
     *   parameter  chosen here, at most 31; travels in the packet's head */
    size_t (*measure)(const struct syn_list *list, size_t size, unsigned *parameter);

    /* Write them: exactly what measure said, and up to 8 bytes more may be overwritten. */
    void (*encode)(const struct syn_list *list, size_t size, unsigned parameter, uint8_t *bytes);

    /* Read list->count indices, all checked: ascending, below size, nothing left over.
     *   sender  the worker to name in a complaint */
    enum syn_status (*decode)(const uint8_t *bytes, size_t byte_count, size_t size,
                              unsigned parameter, size_t sender, struct syn_list *list);
};

/* How values travel. */
struct syn_value_type {
    struct syn_part part;
    bool is_exact;
    bool needs_scale; /* one magnitude for all */
    bool has_blocks;  /* values share a scale with their neighbours: a part that is encoded apart
                       * is rounded again */

    /* Bytes for count values. */
    size_t (*measure)(size_t count);

    /* Write the values, and replace them by what the receiver will read. */
    void (*encode)(const struct syn_kernels *kernels, float *value, size_t count, float scale,
                   uint8_t *bytes);

    void (*decode)(const struct syn_kernels *kernels, const uint8_t *bytes, size_t count,
                   float scale, float *value);
};

const struct syn_index_type *syn_index_row(size_t i);
const struct syn_index_type *syn_index_find(const char *name);
const struct syn_value_type *syn_value_row(size_t i);
const struct syn_value_type *syn_value_find(const char *name);

/* The choices for options: "auto" and then the rows; the rows. */
const char *syn_indices_name(size_t i);
const char *syn_values_name(size_t i);

/* What a packet is about; all workers' packets of one bucket and step agree in it. */
struct syn_packet_about {
    uint32_t sequence; /* number of the step */
    uint32_t bucket;
    uint32_t size;  /* entries of the bucket */
    uint32_t limit; /* most entries a list may have */
};

/* Bytes before values and indices. */
#define SYN_PACKET_HEAD 40

/* Room for any packet of at most `most` entries out of size, with these values and this form asked
 * for. */
size_t syn_packet_bound(const struct syn_value_type *values, const struct syn_index_type *indices,
                        size_t most, size_t size);

/* Write a list as a packet, in the smallest form there is or in the one asked for (if that can hold
 * it).
 *   indices  NULL: the smallest
 *   list     its values become what the receivers will decode
 *   scale    the one magnitude, for values that need it
 * Returns its bytes. */
size_t syn_packet_encode(const struct syn_packet_about *about, const struct syn_value_type *values,
                         const struct syn_index_type *indices, float scale, struct syn_list *list,
                         uint8_t *bytes);

/* Write a packet that says: my sums are not finite, first at this entry of the bucket. Returns its
 * bytes. */
size_t syn_packet_nonfinite(const struct syn_packet_about *about, uint32_t entry, uint8_t *bytes);

/* What a packet's head says of it: not to be believed before it was decoded. */
struct syn_packet_claim {
    size_t bytes; /* of the packet, with the head; 0 if there is no whole head */
    size_t entries;
};

/* Look at the first count bytes of a packet. */
struct syn_packet_claim syn_packet_claims(const uint8_t *bytes, size_t count);

/* What a checked packet turned out to be. */
struct syn_packet_content {
    bool is_nonfinite;
    uint32_t nonfinite_entry;
    const struct syn_index_type *indices; /* NULL with a non-finite mark */
};

/* Read a packet into a list with room for about->limit.
 *   sender  the worker to name in a complaint
 * SYN_FORMAT if anything is wrong with it, with what is wrong. */
enum syn_status syn_packet_decode(const struct syn_packet_about *about, const uint8_t *bytes,
                                  size_t byte_count, size_t sender, struct syn_list *list,
                                  struct syn_packet_content *content);

#endif
