/* What the Python package needs from C besides the public interface: the sizes of structs that it
 * fills by name; a transport that enters the interpreter once for each message; and a step of the
 * hook as one call. */
#ifndef SYNCOPATE_BRIDGE_H
#define SYNCOPATE_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/syncopate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes of structs, and where the parts of syn_worker_options are. */
struct syn_bridge_sizes {
    size_t group_options;
    size_t reducer_options;
    size_t worker_options;
    size_t worker_reducer;   /* offset of its reducer options */
    size_t worker_optimizer; /* offset of its optimizer options */
    size_t merged;           /* struct syn_merged, to check that both sides have the same one */
};

struct syn_bridge_sizes syn_bridge_sizes(void);

/* Messages between the library and threads that wait for them. */
struct syn_bridge;

/* Send a message to a peer, and return at once: a frame of SYN_BRIDGE_FRAME_BYTES followed by count
 * bytes, all of which may be overwritten afterwards. Returns 0, or anything else on failure. */
typedef int syn_bridge_post(size_t peer, const void *frame, const void *body, size_t count);

enum { SYN_BRIDGE_FRAME_BYTES = 16 };

/* A bridge between this number of members, or NULL if out of memory. */
struct syn_bridge *syn_bridge_new(size_t members, syn_bridge_post *post);

/* Join a group over it.
 *   bridge  lent until the group is closed */
enum syn_status syn_bridge_join(struct syn_bridge *bridge, size_t rank,
                                const struct syn_group_options *options, struct syn_group **group);

/* A message has arrived from a peer, in the form in which it was posted; the library gets at once
 * what it waits for. One at a time for each peer.
 *   frame, body  lent until syn_bridge_rest() returns */
void syn_bridge_offer(struct syn_bridge *bridge, size_t peer, const void *frame, const void *body,
                      size_t count);

/* Wait until the library has taken everything that was offered from that peer, or never will. */
void syn_bridge_rest(struct syn_bridge *bridge, size_t peer);

/* From now on every operation with that peer fails. Any thread. */
void syn_bridge_fail(struct syn_bridge *bridge, size_t peer);

/* Nothing more will be received from this peer. Any thread. */
void syn_bridge_part(struct syn_bridge *bridge, size_t peer);

/* No thread may be inside any of these functions. NULL is harmless. */
void syn_bridge_free(struct syn_bridge *bridge);

/* Where a part of the merged gradient goes. */
struct syn_bridge_place {
    size_t first; /* index of its first entry */
    size_t count;
    float *into; /* [count] */
};

/* Write scale times the merged gradient into these places, which are in the order of their entries.
 * If it is sparse, the places must be zero before, and only its entries are written. */
void syn_bridge_spread(const struct syn_merged *merged, float scale,
                       const struct syn_bridge_place *places, size_t count);

/* Set places to zero again that a sparse gradient was spread into; the gradient is empty
 * afterwards. To be called before the next step begins. */
void syn_bridge_clear(struct syn_merged *merged, const struct syn_bridge_place *places,
                      size_t count);

/* A whole step: merge the gradient, spread its sum.
 *   pieces, step  as for syn_reducer_begin_pieces()
 *   merged        set on success only */
enum syn_status syn_bridge_step(struct syn_reducer *reducer, const struct syn_piece *pieces,
                                size_t piece_count, const struct syn_step *step, float scale,
                                const struct syn_bridge_place *places, size_t place_count,
                                struct syn_merged *merged);

#ifdef __cplusplus
}
#endif
#endif
