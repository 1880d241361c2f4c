/* What was not sent, kept for later. A residual has up to two arrays of the parameters' shape; a
 * step reads the old arrays and writes new ones, so that a failed step costs only its time. */
#ifndef SYN_RESIDUAL_RESIDUAL_H
#define SYN_RESIDUAL_RESIDUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "tensor/kernels.h"
#include "tensor/list.h"

struct syn_residual {
    float *unsent;   /* [size], or NULL */
    float *velocity; /* [size], or NULL */
};

struct syn_residual_type {
    struct syn_part part;
    bool has_unsent;
    bool has_velocity;
    bool forgets_sent; /* entries that are sent lose their velocity */

    /* after = before plus scale * gradient, over count entries, with a scan of the result.
     *   past_caches  as in kernels.h
     * (optional) Without it nothing is kept, and entries are selected from the gradient itself. */
    void (*add)(const struct syn_kernels *kernels, const struct syn_residual *before,
                const struct syn_residual *after, const float *gradient, float momentum,
                float scale, size_t count, bool past_caches, struct syn_scan *scan);

    /* (optional) Called with the entries that were sent, with the values that receivers will
     * decode. */
    void (*keep)(const struct syn_residual *residual, const struct syn_list *sent);
};

/* The table, and the row of a name. */
const struct syn_residual_type *syn_residual_row(size_t i);
const struct syn_residual_type *syn_residual_find(const char *name);
const char *syn_residual_name(size_t i);

/* The choices for options: "auto" and then the rows. */
const char *syn_residual_choice(size_t i);

/* Whether a choice is a residual with its own momentum; false for "auto". */
bool syn_residual_is_moving(const char *choice);

/* The part of the residual that begins at entry first. */
struct syn_residual syn_residual_from(const struct syn_residual *residual, size_t first);

/* add() of residuals with a velocity: u = momentum * u + scale * gradient, and unsent += u. */
void syn_residual_add_velocity(const struct syn_kernels *kernels, const struct syn_residual *before,
                               const struct syn_residual *after, const float *gradient,
                               float momentum, float scale, size_t count, bool past_caches,
                               struct syn_scan *scan);

/* Subtract the entries that were sent: keep() of residuals that do nothing else. */
void syn_residual_leave(const struct syn_residual *residual, const struct syn_list *sent);

/* Add entries that came back. */
void syn_residual_take_back(const struct syn_residual *residual, const struct syn_list *dropped);

#endif
