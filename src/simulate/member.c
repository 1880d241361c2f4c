/* A member goes through its rounds one after the other. Unless the round has sends_at_once, its
 * messages are sent one after the other, one flow at a time: P workers that send to all others at
 * once would have P * P slow flows, which take just as long in total. A message may arrive before
 * its receiver waits for it; a balance for each pair of members keeps count. */
#include "simulate/member.h"

/* Message number i of the round, if there is one. */
static void send(struct syn_scene *scene, size_t number, size_t i, double now_ms)
{
    struct syn_member *member = &scene->members[number];
    const struct syn_round *round = &member->round;
    if (i >= round->send.count)
        return;
    size_t to = syn_peer_at(scene->group, round->send, i);
    double bytes = syn_round_bytes(&scene->pattern, scene->group, scene->traffic, round);
    member->bytes_out += bytes;
    if (scene->watch.sent)
        scene->watch.sent(scene->watch.context, number, to, bytes);
    syn_network_send(&scene->network, now_ms, (uint32_t)number, (uint32_t)to, bytes);
}

/* Finish the round once all its messages have been sent and received. */
static void finish_round(struct syn_scene *scene, size_t number, double now_ms)
{
    const struct syn_member *member = &scene->members[number];
    if (member->missing > 0 || member->left < member->round.send.count)
        return;
    double work_ms = syn_round_work_ms(scene->traffic, &member->round);
    syn_events_add(&scene->events, (struct syn_event){.ms = now_ms + work_ms,
                                                      .kind = SYN_EVENT_ROUND_DONE,
                                                      .to = (uint32_t)number});
}

/* The next round of a member, if there is one in this exchange. */
static bool find_round(const struct syn_scene *scene, size_t number, struct syn_round *round)
{
    const struct syn_member *member = &scene->members[number];
    uint64_t every = scene->traffic->pull_every;
    bool collects = member->exchanges % every == every - 1;
    *round = (struct syn_round){.parts = 1};
    return scene->pattern.rounds(scene->group, number, member->round_number, round) &&
           (collects || !round->is_collecting);
}

static bool begin_round(struct syn_scene *scene, size_t number, double now_ms)
{
    struct syn_member *member = &scene->members[number];
    if (!find_round(scene, number, &member->round))
        return false;
    member->missing = 0;
    member->left = 0;
    for (size_t i = 0; i < member->round.receive.count; i++) {
        size_t from = syn_peer_at(scene->group, member->round.receive, i);
        member->missing += --scene->balance[number * scene->count + from] < 0;
    }
    size_t first = member->round.sends_at_once ? member->round.send.count : 1;
    for (size_t i = 0; i < first; i++)
        send(scene, number, i, now_ms);
    finish_round(scene, number, now_ms);
    return true;
}

/* An exchange without rounds ends at once, through the clock like all others. */
void syn_member_begin(struct syn_scene *scene, size_t member, double now_ms)
{
    scene->members[member].round_number = 0;
    scene->members[member].is_exchanging = true;
    if (!begin_round(scene, member, now_ms))
        syn_events_add(
            &scene->events,
            (struct syn_event){.ms = now_ms, .kind = SYN_EVENT_ROUND_DONE, .to = (uint32_t)member});
}

void syn_member_leave(struct syn_scene *scene, const struct syn_event *event)
{
    struct syn_member *member = &scene->members[event->from];
    member->left++;
    if (!member->round.sends_at_once)
        send(scene, event->from, member->left, event->ms);
    finish_round(scene, event->from, event->ms);
}

void syn_member_deliver(struct syn_scene *scene, const struct syn_event *event)
{
    if (++scene->balance[event->to * scene->count + event->from] > 0)
        return;
    scene->members[event->to].missing--;
    finish_round(scene, event->to, event->ms);
}

void syn_member_go_on(struct syn_scene *scene, const struct syn_event *event, bool *has_ended)
{
    struct syn_member *member = &scene->members[event->to];
    member->round_number++;
    *has_ended = !begin_round(scene, event->to, event->ms);
    if (*has_ended) {
        member->exchanges++;
        member->is_exchanging = false;
    }
}
