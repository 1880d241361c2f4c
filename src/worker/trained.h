/* The part of a model that is trained: everything but its frozen tensors. A worker whose layout has
 * frozen tensors is opened with a layout without them, and its caller's arrays are converted at
 * each call. So nothing of a frozen tensor can be sent, decayed or moved, whatever the method, and
 * no part of the worker needs to know of it; without frozen tensors nothing is copied. */
#ifndef SYN_WORKER_TRAINED_H
#define SYN_WORKER_TRAINED_H

#include <stddef.h>

#include <syncopate/archive.h>
#include <syncopate/layout.h>

struct syn_trained;

/* Make the layout of all tensors that are not frozen, with their rates and policies. */
enum syn_status syn_trained_layout(const struct syn_layout *layout, struct syn_layout **trained);

/*   weights  [size of layout]
 *   trained  set to NULL if no tensor is frozen */
enum syn_status syn_trained_open(const struct syn_layout *layout, const float *weights,
                                 struct syn_trained **trained);

/* Its layout; its weights, in an array for the worker to write; a gradient without the frozen
 * tensors, valid until the next call. */
const struct syn_layout *syn_trained_tensors(const struct syn_trained *trained);
float *syn_trained_weights(struct syn_trained *trained);
const float *syn_trained_gradient(struct syn_trained *trained, const float *gradient);

/* Write its weights, and those of the frozen tensors. */
void syn_trained_hand_out(const struct syn_trained *trained, float *weights);

/* The same values for all tensors, zero for the frozen ones; valid until the next call. */
const float *syn_trained_spread(struct syn_trained *trained, const float *values);

/* The weights of frozen tensors as a section "worker/frozen". */
enum syn_status syn_trained_save(const struct syn_trained *trained, struct syn_archive *archive);
enum syn_status syn_trained_load(struct syn_trained *trained, const struct syn_archive *archive);

void syn_trained_close(struct syn_trained *trained);

#endif
