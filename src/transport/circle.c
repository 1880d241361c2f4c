/* Finds members that wait for each other in a circle. No time-out detects this, because all of them
 * answer.
 *
 * A member is blocked by another if it waits to receive what the other has not begun to send, or to
 * send what the other has not begun to receive: both count their messages and send the counts with
 * every pong. Messages under way, however slow, block nobody; neither does a member that computes.
 * The circle is the largest set of members, all of them waiting, such that each is blocked by one
 * of the set or, if a message from any peer would be enough, by everyone it waits for. All of them
 * must have reported this, with no progress, for long enough that each has sent the others another
 * ping in the meantime: then nobody in the set can ever continue, because only the others could end
 * its wait. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/alive.h"

struct syn_circle {
    struct syn_control *said; /* [size] each member's last pong */
    bool *is_in;              /* [size] the set */
};

/* Compares by difference, as counts wrap at 2^32. */
static bool is_at_most(uint32_t count, uint32_t number)
{
    return (int32_t)(count - number) <= 0;
}

bool syn_circle_is_dry(const struct syn_group *group, const struct syn_request *request)
{
    const struct syn_peer *peer = &group->peers[request->peer];
    if (peer->said_ns < request->patience.moved_ns)
        return false;
    return is_at_most(request->is_receive ? peer->their_sends : peer->their_receives,
                      request->number);
}

void syn_circle_note(struct syn_group *group, const struct syn_control *pong)
{
    if (group->circle)
        group->circle->said[pong->from] = *pong;
}

static struct syn_circle *open_circle(struct syn_group *group)
{
    struct syn_circle *made = NULL;
    enum syn_status status = syn_allocate(1, sizeof *made, &made);
    if (status != SYN_OK)
        return NULL;
    group->circle = made;
    status = syn_allocate(group->size, sizeof *made->said, &made->said);
    if (status == SYN_OK)
        status = syn_allocate(group->size, sizeof *made->is_in, &made->is_in);
    if (status != SYN_OK)
        syn_circle_free(group);
    return group->circle;
}

void syn_circle_free(struct syn_group *group)
{
    if (!group->circle)
        return;
    free(group->circle->said);
    free(group->circle->is_in);
    free(group->circle);
    group->circle = NULL;
}

static bool is_waiting(const struct syn_control *said)
{
    return said->doing == SYN_DOING_WAIT_ALL || said->doing == SYN_DOING_WAIT_ANY;
}

/* Whether it has reported this, with no progress, for so long that everyone has sent another
 * ping. */
static bool is_steady(const struct syn_group *group, size_t member, int64_t pinged_ns)
{
    const struct syn_peer *peer = &group->peers[member];
    int64_t round_ns = group->timeout_ns + syn_suspect_grace_ns(group);
    return peer->said_ns >= pinged_ns && peer->steady_ns <= pinged_ns - 2 * round_ns;
}

/* Whether a member is blocked by the set. */
static bool is_blocked(const struct syn_group *group, const struct syn_control *said)
{
    size_t blocking = 0;
    for (size_t i = 0; i < said->wait_count; i++)
        blocking += said->waits[i] < group->size && group->circle->is_in[said->waits[i]];
    return said->doing == SYN_DOING_WAIT_ANY ? blocking > 0 && blocking == said->wait_count
                                             : blocking > 0;
}

bool syn_circle_is_closed(struct syn_group *group, int64_t pinged_ns)
{
    struct syn_circle *circle = group->circle;
    if (!circle) {
        open_circle(group);
        return false;
    }
    circle->said[group->rank] = syn_control_pong(group, group->rank);
    for (size_t i = 0; i < group->size; i++)
        circle->is_in[i] =
            is_waiting(&circle->said[i]) && (i == group->rank || is_steady(group, i, pinged_ns));
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (size_t i = 0; i < group->size; i++)
            if (circle->is_in[i] && !is_blocked(group, &circle->said[i])) {
                circle->is_in[i] = false;
                has_changed = true;
            }
    }
    return circle->is_in[group->rank];
}
