/* Requests are indexed by peer, so that a received message is found without a search. */
#include "exchange/post.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum syn_status syn_post_open(struct syn_group *group, struct syn_post *post)
{
    post->group = group;
    return syn_allocate(2 * group->workers, sizeof *post->requests, &post->requests);
}

void syn_post_close(struct syn_post *post)
{
    free(post->requests);
}

static struct syn_members members_of(const struct syn_post *post)
{
    return (struct syn_members){.workers = post->group->workers};
}

enum syn_status syn_post_begin(struct syn_post *post, syn_rounds *rounds, size_t number,
                               uint8_t *room, size_t each)
{
    struct syn_members members = members_of(post);
    struct syn_round round = {0};
    memset(post->requests, 0, 2 * members.workers * sizeof *post->requests);
    post->round = (struct syn_round){0};
    if (!rounds(members, post->group->rank, number, &round))
        return SYN_OK;
    post->round = round;
    for (size_t i = round.receive.count; i-- > 0;) { /* the left neighbour's arrives first */
        size_t peer = syn_peer_at(members, round.receive, i);
        SYN_TRY(
            syn_group_receive(post->group, peer, room + peer * each, each, &post->requests[peer]));
    }
    return SYN_OK;
}

size_t syn_post_peer(const struct syn_post *post, size_t i)
{
    return syn_peer_at(members_of(post), post->round.send, i);
}

enum syn_status syn_post_send(struct syn_post *post, size_t peer, const uint8_t *bytes,
                              size_t count)
{
    return syn_group_send(post->group, peer, bytes, count,
                          &post->requests[post->group->workers + peer]);
}

enum syn_status syn_post_finish(struct syn_post *post, enum syn_status status)
{
    if (status != SYN_OK)
        syn_group_abandon(post->group, status, syn_error_text());
    return syn_group_wait(post->group, post->requests, 2 * post->group->workers);
}

size_t syn_post_came(const struct syn_post *post, size_t peer)
{
    return post->requests[peer].count;
}
