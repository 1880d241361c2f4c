/* A parameter server: a member of the group that computes no gradients, but keeps one part of the
 * global weights, applies what workers push and answers who asks. Workers reach it by
 * reducer/client.h. */
#ifndef SYN_SERVER_SERVER_H
#define SYN_SERVER_SERVER_H

#include <stdbool.h>

#include <syncopate/worker.h>

struct syn_server_setup {
    struct syn_group *group;
    const struct syn_layout *layout;
    const struct syn_worker_options *options; /* resolved */
    const float *weights;                     /* [size] the first ones */
    double longest; /* mean gradient of all workers that is not clipped; 0: any */
    bool is_async;  /* workers do not wait for one another */
};

/* Serve until all workers have left. Everything is lent for the call. On failure the group is
 * abandoned. Blocks. */
enum syn_status syn_server_run(const struct syn_server_setup *setup);

#endif
