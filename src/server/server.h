/* A parameter server: a member of the group that computes no gradients, but keeps one part of the
 * global weights, applies what workers push and answers their requests. reducer/client.h is the
 * worker's side. */
#ifndef SYN_SERVER_SERVER_H
#define SYN_SERVER_SERVER_H

#include <stdbool.h>

#include <syncopate/worker.h>

struct syn_server_setup {
    struct syn_group *group;
    const struct syn_layout *layout;
    const struct syn_worker_options *options; /* resolved */
    const float *weights;                     /* [size] initial ones */
    double longest; /* norm above which the mean gradient of all workers is clipped; 0: never */
    bool is_async;  /* workers do not wait for each other */
};

/* Serve until all workers have left. Everything is lent for the call. On failure the group is
 * abandoned. Blocks. */
enum syn_status syn_server_run(const struct syn_server_setup *setup);

#endif
