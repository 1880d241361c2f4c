/* Encoding lists as bytes, and back. A packet is a head, the values, and the indices; each value
 * form and each index form is a row, and any two can be combined. docs/formats.md specifies every
 * byte.
 *
 * Everything a packet claims is checked before it is used: decoding untrusted bytes is safe. */
#ifndef SYN_CODEC_CODEC_H
#define SYN_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "tensor/kernels.h"
#include "tensor/list.h"

/* An index form. */
struct syn_index_type {
    struct syn_part part;

    /* Exact number of bytes for the list's indices out of [0, size), or SIZE_MAX if this form
     * cannot represent them.
     *   parameter  chosen here, at most 31; sent in the packet's head */
    size_t (*measure)(const struct syn_list *list, size_t size, unsigned *parameter);

    /* Write them: exactly as many bytes as measure() returned; up to 8 bytes after them may be
     * overwritten too. */
    void (*encode)(const struct syn_list *list, size_t size, unsigned parameter, uint8_t *bytes);

    /* Read list->count indices, and check that they are ascending and below size, and that no bytes
     * are left over.
     *   sender  the worker to name in an error message */
    enum syn_status (*decode)(const uint8_t *bytes, size_t byte_count, size_t size,
                              unsigned parameter, size_t sender, struct syn_list *list);
};

/* A value form. */
struct syn_value_type {
    struct syn_part part;
    bool is_exact;
    bool needs_scale; /* one magnitude for all */
    bool has_blocks;  /* values share a scale with their neighbours: encoding a part of them again
                       * rounds them again */

    /* Number of bytes for count values. */
    size_t (*measure)(size_t count);

    /* Write the values, and replace them by what the receiver will decode. */
    void (*encode)(const struct syn_kernels *kernels, float *value, size_t count, float scale,
                   uint8_t *bytes);

    void (*decode)(const struct syn_kernels *kernels, const uint8_t *bytes, size_t count,
                   float scale, float *value);
};

const struct syn_index_type *syn_index_row(size_t i);
const struct syn_index_type *syn_index_find(const char *name);
const struct syn_value_type *syn_value_row(size_t i);
const struct syn_value_type *syn_value_find(const char *name);

/* The choices for options: "auto" and then the rows. */
const char *syn_indices_name(size_t i);
const char *syn_values_choice(size_t i);

/* The name of a row for a choice. "auto" is four bits where entries are left out: rounding errors
 * wait in the residual with them, and cost no accuracy (docs/results.md). What is sent whole is
 * sent exactly. */
const char *syn_values_chosen(const char *choice, bool is_part);

/* What a packet is about; the same in all workers' packets of one bucket and step. */
struct syn_packet_about {
    uint32_t sequence; /* number of the step */
    uint32_t bucket;
    uint32_t size;  /* entries of the bucket */
    uint32_t limit; /* most entries a list may have */
};

/* Bytes before values and indices. */
#define SYN_PACKET_HEAD 40

/* Bytes to reserve for any packet of at most `most` entries out of size, with this value form and
 * this requested index form. */
size_t syn_packet_bound(const struct syn_value_type *values, const struct syn_index_type *indices,
                        size_t most, size_t size);

/* Write a list as a packet, in the smallest index form or in the requested one (if that can
 * represent it).
 *   indices  NULL: the smallest
 *   list     its values become what the receivers will decode
 *   scale    the common magnitude, for value forms that need it
 * Returns the number of bytes. */
size_t syn_packet_encode(const struct syn_packet_about *about, const struct syn_value_type *values,
                         const struct syn_index_type *indices, float scale, struct syn_list *list,
                         uint8_t *bytes);

/* Write a non-finite mark: a packet that says that the sender's sums are not finite, first at this
 * entry of the bucket. Returns the number of bytes. */
size_t syn_packet_nonfinite(const struct syn_packet_about *about, uint32_t entry, uint8_t *bytes);

/* What a packet's head claims: not to be trusted before the packet is decoded. */
struct syn_packet_claim {
    size_t bytes; /* of the packet, including the head; 0 if the head is incomplete */
    size_t entries;
};

/* Read the claims from the first count bytes of a packet. */
struct syn_packet_claim syn_packet_claims(const uint8_t *bytes, size_t count);

/* What a decoded packet contains. */
struct syn_packet_content {
    bool is_nonfinite;
    uint32_t nonfinite_entry;
    const struct syn_index_type *indices; /* NULL with a non-finite mark */
};

/* Read a packet into a list with room for about->limit.
 *   sender  the worker to name in an error message
 * SYN_FORMAT, with the reason, if anything in it is invalid. */
enum syn_status syn_packet_decode(const struct syn_packet_about *about, const uint8_t *bytes,
                                  size_t byte_count, size_t sender, struct syn_list *list,
                                  struct syn_packet_content *content);

#endif
