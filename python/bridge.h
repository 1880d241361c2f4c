/* What the Python package needs of C beside the public interface: the sizes of structs that it
 * fills by name, and a `test` function for its transport that does not enter the interpreter. */
#ifndef SYNCOPATE_BRIDGE_H
#define SYNCOPATE_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the parts of syn_worker_options are. */
struct syn_bridge_sizes {
    size_t group_options;
    size_t reducer_options;
    size_t worker_options;
    size_t worker_reducer;   /* offset of its reducer's */
    size_t worker_optimizer; /* and of its optimizer's */
    size_t merged;           /* struct syn_merged, to tell whether both sides know the same one */
};

struct syn_bridge_sizes syn_bridge_sizes(void);

/* How far a message has come. */
enum syn_bridge_state {
    SYN_BRIDGE_UNDER_WAY,
    SYN_BRIDGE_ARRIVING,
    SYN_BRIDGE_DONE,
    SYN_BRIDGE_FAILED,
    SYN_BRIDGE_CANCELLED
};

/* Set a state. */
void syn_bridge_mark(int32_t *state, int32_t value);

/* Copy a message to where it belongs and mark it done, unless it has been cancelled: then `to` is
 * not touched. Any thread. */
void syn_bridge_deliver(int32_t *state, void *to, const void *from, size_t count);

/* A syn_caller_transport's test: the handle points to a state. 1 if it has failed. */
int syn_bridge_test(void *context, void *handle, bool *done);

/* A syn_caller_transport's cancel, for messages that syn_bridge_deliver() ends. */
void syn_bridge_cancel(void *context, void *handle);

#ifdef __cplusplus
}
#endif
#endif
