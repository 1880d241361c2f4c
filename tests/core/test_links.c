/* Links of the simulator: flows share them, and the clock notices every end. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/random.h>

#include "simulate/network.h"

#define HOSTS      64
#define FEW        8 /* hosts, for the plain way */
#define LATENCY_MS 0.25
#define RATE       1000.0 /* bytes a ms */

struct message {
    double at_ms;
    uint32_t from;
    uint32_t to;
    double bytes;
    double expected_ms;  /* when its last byte leaves */
    double delivered_ms; /* set by simulate_links() */
};

static double burst_ms; /* of all links */

struct fixture {
    struct syn_events events;
    struct syn_network network;
    struct syn_link out[HOSTS];
    struct syn_link in[HOSTS];
    struct message *of_pair[HOSTS][HOSTS]; /* under way */
    size_t asked;                          /* how often a message was to have left */
};

static void set_up(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->network = (struct syn_network){.events = &fixture->events,
                                            .latency_ms = LATENCY_MS,
                                            .bytes_per_ms = RATE,
                                            .burst_ms = burst_ms,
                                            .hosts = HOSTS,
                                            .links = {fixture->out, fixture->in}};
}

static void tear_down(struct fixture *fixture)
{
    syn_flows_free(&fixture->network.flows);
    syn_events_free(&fixture->events);
}

static void handle(struct fixture *fixture, struct message *messages, const struct syn_event *event)
{
    if (event->kind == SYN_EVENT_POSTED) {
        struct message *message = &messages[event->flow];
        syn_network_send(&fixture->network, event->ms, message->from, message->to, message->bytes);
    } else if (event->kind == SYN_EVENT_LEFT) {
        fixture->asked++;
        syn_network_leave(&fixture->network, event);
    } else {
        fixture->of_pair[event->from][event->to]->delivered_ms = event->ms;
    }
}

/* Send all of them, each between a pair of its own. Returns the use of the busiest link. */
static double simulate_links(struct message *messages, size_t count, size_t *asked)
{
    struct fixture fixture;
    struct syn_event event = {.ms = 0};
    set_up(&fixture);
    for (uint32_t i = 0; i < count; i++) {
        fixture.of_pair[messages[i].from][messages[i].to] = &messages[i];
        syn_events_add(
            &fixture.events,
            (struct syn_event){.ms = messages[i].at_ms, .kind = SYN_EVENT_POSTED, .flow = i});
    }
    while (syn_events_next(&fixture.events, &event))
        handle(&fixture, messages, &event);
    double busiest = syn_network_busiest(&fixture.network, event.ms);
    if (asked)
        *asked = fixture.asked;
    tear_down(&fixture);
    return busiest;
}

static void assert_expected(const struct message *messages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double expected = messages[i].expected_ms + LATENCY_MS;
        if (fabs(messages[i].delivered_ms - expected) > 1e-9 * expected)
            fail_msg("message %zu, %u to %u: delivered at %.12g ms; expected %.12g", i,
                     messages[i].from, messages[i].to, messages[i].delivered_ms, expected);
    }
}

static void a_flow_alone_has_its_links(void **state)
{
    (void)state;
    struct message messages[] = {{0, 0, 1, 1000, 1, 0}, {0, 1, 0, 3000, 3, 0}, {0, 2, 3, 0, 0, 0}};
    assert_true(simulate_links(messages, 3, NULL) == 3);
    assert_expected(messages, 3);
}

static void two_flows_into_one_receiver_end_together_after_twice_the_time(void **state)
{
    (void)state;
    struct message messages[] = {{0, 0, 2, 1000, 2, 0}, {0, 1, 2, 1000, 2, 0}};
    assert_true(simulate_links(messages, 2, NULL) == 2);
    assert_expected(messages, 2);
    assert_true(messages[0].delivered_ms == messages[1].delivered_ms);
}

/* What rounding leaves of a flow does not count: members that go in step would come apart. */
static void flows_that_begin_as_another_ends_do_not_hold_it_up(void **state)
{
    (void)state;
    struct syn_random random;
    syn_random_start(&random, 3, 0);
    for (size_t round = 0; round < 100; round++) {
        double at_ms = (double)syn_random_unit(&random) / 0.3; /* uses all bits */
        double bytes = 700 * (double)syn_random_unit(&random);
        double end_ms = at_ms + bytes / RATE;
        struct message messages[HOSTS - 1] = {{at_ms, 1, 0, bytes, end_ms, 0}};
        for (uint32_t i = 1; i < HOSTS - 1; i++)
            messages[i] = (struct message){.at_ms = end_ms, .from = i + 1, .bytes = bytes};
        simulate_links(messages, HOSTS - 1, NULL);
        if (messages[0].delivered_ms != end_ms + LATENCY_MS)
            fail_msg("%.17g ms; expected %.17g", messages[0].delivered_ms, end_ms + LATENCY_MS);
    }
}

static void two_flows_from_one_sender_share_its_link(void **state)
{
    (void)state;
    struct message messages[] = {{0, 2, 0, 1000, 2, 0}, {0, 2, 1, 4000, 5, 0}};
    simulate_links(messages, 2, NULL);
    assert_expected(messages, 2);
}

static void a_flow_that_comes_half_way_shares_the_rest(void **state)
{
    (void)state;
    struct message messages[] = {{0, 0, 2, 1000, 1.5, 0}, {0.5, 1, 2, 1000, 2, 0}};
    simulate_links(messages, 2, NULL);
    assert_expected(messages, 2);
}

/* Host 0 sends to 3, which hears from three, and to 4. When it is done with 4, the other flow is no
 * faster, for it is held up at 3; and 4's did not have what that left unused of host 0's link. */
static void a_flow_is_limited_by_the_more_crowded_end(void **state)
{
    (void)state;
    struct message messages[] = {
        {0, 0, 3, 1000, 3, 0}, {0, 1, 3, 1000, 3, 0}, {0, 2, 3, 1000, 3, 0}, {0, 0, 4, 1000, 2, 0}};
    simulate_links(messages, 4, NULL);
    assert_expected(messages, 4);
}

static void a_link_is_in_use_by_its_share(void **state)
{
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    for (uint32_t from = 1; from < 5; from++)
        syn_network_send(&fixture.network, 0, from, 0, 1000);
    double busy_ms = syn_network_busiest(&fixture.network, 1);
    for (int way = 0; way < SYN_WAYS; way++)
        fixture.network.links[way]++; /* all but host 0, the receiver */
    fixture.network.hosts--;
    double quarter_ms = syn_network_busiest(&fixture.network, 1);
    tear_down(&fixture);
    if (busy_ms != 1 || quarter_ms != 0.25)
        fail_msg("in use for %g and %g ms; expected 1 and 0.25", busy_ms, quarter_ms);
}

/* How many flows are under way on the more crowded of the message's links. */
static size_t sharers(const struct message *messages, const double *left, size_t count, size_t i)
{
    size_t out = 0;
    size_t in = 0;
    for (size_t j = 0; j < count; j++) {
        out += left[j] > 0 && messages[j].from == messages[i].from;
        in += left[j] > 0 && messages[j].to == messages[i].to;
    }
    return out > in ? out : in;
}

/* The plain way: from one beginning or end of a flow to the next, all rates computed again. */
static void expect(struct message *messages, size_t count)
{
    double left[FEW * FEW] = {0}; /* bytes of those under way */
    double now_ms = 0;
    for (size_t changes = 0; changes < 2 * count; changes++) {
        double next_ms = (double)INFINITY;
        size_t next = 0;
        double rates[FEW * FEW] = {0};
        for (size_t i = 0; i < count; i++) {
            rates[i] = left[i] > 0 ? RATE / (double)sharers(messages, left, count, i) : 0;
            bool is_to_come = left[i] == 0 && messages[i].expected_ms < 0;
            double change_ms = left[i] > 0  ? now_ms + left[i] / rates[i]
                               : is_to_come ? messages[i].at_ms
                                            : (double)INFINITY;
            next = change_ms < next_ms ? i : next;
            next_ms = change_ms < next_ms ? change_ms : next_ms;
        }
        for (size_t i = 0; i < count; i++)
            left[i] = i == next ? left[i] : left[i] - rates[i] * (next_ms - now_ms);
        messages[next].expected_ms = left[next] > 0 ? next_ms : 0;
        left[next] = left[next] > 0 ? 0 : messages[next].bytes;
        now_ms = next_ms;
    }
}

static void many_flows_end_when_plain_arithmetic_says(void **state)
{
    (void)state;
    struct syn_random random;
    syn_random_start(&random, 1, 0);
    for (size_t round = 0; round < 2000; round++) {
        struct message messages[FEW * FEW];
        size_t count = 0;
        for (uint32_t pair = 0; pair < FEW * FEW; pair++) {
            double at_ms = 10 * (double)syn_random_unit(&random);
            double bytes = 1 + 3000 * (double)syn_random_unit(&random);
            if (pair / FEW != pair % FEW && (double)syn_random_unit(&random) < 0.6)
                messages[count++] = (struct message){at_ms, pair / FEW, pair % FEW, bytes, -1, 0};
        }
        expect(messages, count);
        simulate_links(messages, count, NULL);
        assert_expected(messages, count);
    }
}

/* However spread they come and however their rates rise and fall. */
static void the_clock_asks_a_few_times_for_each_flow(void **state)
{
    (void)state;
    struct message messages[HOSTS - 1];
    struct syn_random random;
    size_t asked;
    syn_random_start(&random, 2, 0);
    for (uint32_t i = 0; i < HOSTS - 1; i++)
        messages[i] = (struct message){.at_ms = 20 * (double)syn_random_unit(&random),
                                       .from = i + 1,
                                       .bytes = 1000 + 1000 * (double)syn_random_unit(&random)};
    simulate_links(messages, HOSTS - 1, &asked);
    if (asked > 5 * (HOSTS - 1))
        fail_msg("asked %zu times for %d flows", asked, HOSTS - 1);
}

/* In turn: the bucket is full after 8 ms of the first 10; empty at once again; filled by half. The
 * fourth has a sender that rested and a receiver that has half a bucket left. */
static void a_link_that_rested_lets_a_burst_pass(void **state)
{
    (void)state;
    burst_ms = 8;
    struct message messages[] = {{10, 0, 1, 20000, 22, 0},
                                 {22, 1, 2, 3000, 22, 0},
                                 {26, 0, 3, 20000, 42, 0},
                                 {42, 4, 3, 5000, 43, 0}};
    simulate_links(messages, 4, NULL);
    burst_ms = 0;
    assert_expected(messages, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flow_alone_has_its_links),
        cmocka_unit_test(two_flows_into_one_receiver_end_together_after_twice_the_time),
        cmocka_unit_test(flows_that_begin_as_another_ends_do_not_hold_it_up),
        cmocka_unit_test(two_flows_from_one_sender_share_its_link),
        cmocka_unit_test(a_flow_that_comes_half_way_shares_the_rest),
        cmocka_unit_test(a_flow_is_limited_by_the_more_crowded_end),
        cmocka_unit_test(a_link_is_in_use_by_its_share),
        cmocka_unit_test(a_link_that_rested_lets_a_burst_pass),
        cmocka_unit_test(many_flows_end_when_plain_arithmetic_says),
        cmocka_unit_test(the_clock_asks_a_few_times_for_each_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
