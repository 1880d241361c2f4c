/* The whole life of a parameter server. */
#include "server/server.h"

#include <string.h>

#include "server/shard.h"

enum syn_status syn_server_run(const struct syn_server_setup *setup)
{
    struct syn_shard shard = {.group = setup->group};
    enum syn_status status = syn_shard_open(&shard, setup);
    if (status == SYN_OK)
        status = setup->is_async ? syn_server_run_async(&shard) : syn_server_run_rounds(&shard);
    if (status != SYN_OK) {
        char cause[SYN_ERROR_BYTES];
        memcpy(cause, syn_error_text(), strlen(syn_error_text()) + 1);
        syn_group_abandon(setup->group, status, cause);
        if (shard.requests) /* nothing may be under way when memory is freed */
            syn_group_wait(setup->group, shard.requests, setup->group->workers);
        syn_fail_again(status, cause);
    }
    syn_shard_close(&shard);
    return status;
}
