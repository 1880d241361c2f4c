/* The cases. A failure of the library is never a cmocka failure here, because workers run on
 * threads and in processes that cmocka does not know: it is a text, which the test program
 * reports. */
#include "transport_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transport/attend.h"

#define MANY 100

static _Thread_local char complaint[SYN_ERROR_BYTES + 200];

/* Return from a case if the condition does not hold. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            snprintf(complaint, sizeof complaint, "worker %zu of %zu: %s:%d: not %s (%s)",         \
                     group->rank, group->size, __FILE__, __LINE__, #condition, syn_error_text());  \
            return complaint;                                                                      \
        }                                                                                          \
    } while (0)

/* The bytes of message number i between two workers. */
static void fill(unsigned char *bytes, size_t count, size_t from, size_t to, size_t i)
{
    uint64_t word = 1 + from * 1000003 + to * 10007 + i * 101;
    for (size_t at = 0; at < count; at += sizeof word) {
        word = word * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(bytes + at, &word, count - at < sizeof word ? count - at : sizeof word);
    }
}

static void sleep_ms(int64_t ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static const char *swap(struct syn_group *group, size_t shift, size_t size, unsigned char *bytes)
{
    size_t to = (group->rank + shift) % group->size;
    size_t from = (group->rank + group->size - shift) % group->size;
    unsigned char *out = bytes;
    unsigned char *in = bytes + size;
    unsigned char *expected = bytes + 2 * size;
    fill(out, size, group->rank, to, size);
    fill(expected, size, from, group->rank, size);
    struct syn_request requests[2];
    EXPECT(syn_group_receive(group, from, in, size, &requests[0]) == SYN_OK);
    EXPECT(syn_group_send(group, to, out, size, &requests[1]) == SYN_OK);
    EXPECT(syn_group_wait(group, requests, 2) == SYN_OK);
    EXPECT(requests[0].count == size);
    EXPECT(memcmp(in, expected, size) == 0);
    return "";
}

/* Too large to try every length with every pair. */
static bool is_large(const struct syn_group *group)
{
    return group->size > 5;
}

const char *case_every_pair(struct syn_group *group, size_t actor)
{
    (void)actor;
    static const size_t sizes[] = {0, 1, 4096, 1000003, 499999, 500000, 500001, 1000000};
    size_t kinds = is_large(group) ? 4 : 8;
    size_t sum = 0;
    unsigned char *bytes = malloc(3 * 1000003);
    EXPECT(bytes);
    const char *wrong = "";
    for (size_t i = 0; i < kinds; i++) {
        for (size_t shift = 1; shift < group->size && !*wrong; shift++)
            wrong = swap(group, shift, sizes[i], bytes);
        sum += (group->size - 1) * sizes[i];
    }
    free(bytes);
    EXPECT(*wrong || group->bytes_out == sum);
    EXPECT(*wrong || group->bytes_in == group->bytes_out);
    return wrong;
}

struct pile {
    struct syn_request sends[MANY];
    struct syn_request receives[MANY];
    unsigned char *out[MANY];
    unsigned char *in[MANY];
};

/* Bytes of message i: 0 to 99, but some are longer than what a transport may send in one go, and
 * one has as much as that twice. */
static size_t length_of(const struct syn_group *group, size_t i)
{
    if (is_large(group))
        return i;
    return i == 7 ? 1000000 : i % 40 == 3 ? 1200000 + i : i;
}

static const char *make_room(struct syn_group *group, struct pile *pile)
{
    for (size_t i = 0; i < MANY; i++) {
        pile->out[i] = malloc(length_of(group, i) + 1);
        pile->in[i] = malloc(length_of(group, i) + 100);
        EXPECT(pile->out[i] && pile->in[i]);
    }
    return "";
}

/* Whether receives or sends are started first depends on the pair. */
static const char *pile_up(struct syn_group *group, size_t peer, struct pile *pile)
{
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < MANY; i++) {
            size_t length = length_of(group, i);
            if ((round + group->rank + peer / 2) % 2) {
                EXPECT(syn_group_receive(group, peer, pile->in[i], length + 100,
                                         &pile->receives[i]) == SYN_OK);
                continue;
            }
            fill(pile->out[i], length, group->rank, peer, i);
            EXPECT(syn_group_send(group, peer, pile->out[i], length, &pile->sends[i]) == SYN_OK);
        }
    return "";
}

static const char *look_through(struct syn_group *group, size_t peer, struct pile *pile)
{
    EXPECT(syn_group_wait(group, pile->receives, MANY) == SYN_OK);
    EXPECT(syn_group_wait(group, pile->sends, MANY) == SYN_OK);
    for (size_t i = 0; i < MANY; i++) {
        fill(pile->out[i], length_of(group, i), peer, group->rank, i);
        EXPECT(pile->receives[i].count == length_of(group, i));
        EXPECT(memcmp(pile->in[i], pile->out[i], length_of(group, i)) == 0);
    }
    return "";
}

static void clear_away(struct pile *pile)
{
    for (size_t i = 0; i < MANY; i++) {
        free(pile->out[i]);
        free(pile->in[i]);
    }
}

const char *case_many_under_way(struct syn_group *group, size_t actor)
{
    (void)actor;
    struct pile *piles = calloc(group->size, sizeof *piles);
    EXPECT(piles);
    const char *wrong = "";
    for (size_t peer = 0; peer < group->size && !*wrong; peer++)
        if (peer != group->rank)
            wrong = make_room(group, &piles[peer]);
    for (size_t peer = 0; peer < group->size && !*wrong; peer++)
        if (peer != group->rank)
            wrong = pile_up(group, peer, &piles[peer]);
    for (size_t peer = 0; peer < group->size && !*wrong; peer++)
        if (peer != group->rank)
            wrong = look_through(group, peer, &piles[peer]);
    for (size_t peer = 0; peer < group->size; peer++)
        clear_away(&piles[peer]);
    free(piles);
    return wrong;
}

const char *case_wrong_peer(struct syn_group *group, size_t actor)
{
    (void)actor;
    struct syn_request request;
    char byte = 0;
    EXPECT(syn_group_send(group, group->rank, &byte, 1, &request) == SYN_INVALID);
    EXPECT(syn_group_receive(group, group->size, &byte, 1, &request) == SYN_INVALID);
    EXPECT(strstr(syn_error_text(), "cannot receive from worker"));
    EXPECT(syn_group_wait(group, &request, 1) == SYN_OK);
    EXPECT(syn_group_wait(group, NULL, 0) == SYN_OK);
    return case_every_pair(group, 0);
}

/* Be as good as dead: nobody answers for this member, until it hears of its own death. */
static const char *stay_away(struct syn_group *group, const char *cause)
{
    struct syn_control control = {0};
    syn_attend_end(group);
    for (int i = 0; i < 12000 && control.kind < SYN_CONTROL_FAILED; i++) {
        bool came = false;
        EXPECT(group->type->receive_control(group, &control, &came) == SYN_OK);
        sleep_ms(5);
    }
    EXPECT(control.kind == SYN_CONTROL_SILENT && strstr(control.text, cause));
    /* Broken, without a word: what the dead say would race with what is said of them. */
    group->broken = SYN_TIMEOUT;
    snprintf(group->cause, sizeof group->cause, "%s", control.text);
    return "";
}

/* Send to the next, receive from the one before, until the group breaks. */
static enum syn_status run_round(struct syn_group *group)
{
    char out[1000] = {0};
    char in[1000];
    for (;;) {
        struct syn_request requests[2] = {{0}};
        enum syn_status status = syn_group_receive(
            group, (group->rank + group->size - 1) % group->size, in, sizeof in, &requests[0]);
        if (status == SYN_OK)
            status = syn_group_send(group, (group->rank + 1) % group->size, out, sizeof out,
                                    &requests[1]);
        enum syn_status end = syn_group_wait(group, requests, 2);
        if (status != SYN_OK || end != SYN_OK)
            return end;
    }
}

/* Every call on a broken group says the same again. */
static const char *stays_broken(struct syn_group *group, enum syn_status status, const char *cause)
{
    struct syn_request requests[2] = {{0}};
    char byte = 0;
    size_t peer = (group->rank + 1) % group->size;
    EXPECT(strstr(syn_error_text(), cause));
    EXPECT(syn_group_send(group, peer, &byte, 1, &requests[0]) == status);
    EXPECT(syn_group_receive(group, peer, &byte, 1, &requests[1]) == status);
    EXPECT(strstr(syn_error_text(), cause));
    EXPECT(syn_group_wait(group, requests, 2) == status);
    EXPECT(syn_group_wait(group, NULL, 0) == status);
    EXPECT(strstr(syn_error_text(), cause));
    syn_group_abandon(group, SYN_IO, "too late to be the first");
    EXPECT(syn_group_wait(group, NULL, 0) == status);
    EXPECT(strstr(syn_error_text(), cause));
    return "";
}

/* Behind the room there are bytes that nobody may write to. */
static const char *overfill(struct syn_group *group, size_t actor, size_t sent, size_t room)
{
    enum { MOST = 1000000, UNTOUCHED = 0x5a };
    static _Thread_local unsigned char bytes[MOST];
    size_t victim = (actor + 1) % group->size;
    struct syn_request request;
    char cause[100];
    memset(bytes, group->rank == victim ? UNTOUCHED : 0, sizeof bytes);
    if (group->rank != victim) {
        if (group->rank == actor) {
            EXPECT(syn_group_send(group, victim, bytes, sent, &request) == SYN_OK);
            syn_group_wait(group, &request, 1);
        }
        snprintf(cause, sizeof cause, "worker %zu failed: worker %zu sent", victim, actor);
        EXPECT(run_round(group) == SYN_PEER);
        return stays_broken(group, SYN_PEER, cause);
    }
    snprintf(cause, sizeof cause, "worker %zu sent %zu bytes where at most %zu were expected",
             actor, sent, room);
    EXPECT(syn_group_receive(group, actor, bytes, room, &request) == SYN_OK);
    EXPECT(syn_group_wait(group, &request, 1) == SYN_FORMAT);
    for (size_t i = room; i < sizeof bytes; i++)
        EXPECT(bytes[i] == UNTOUCHED);
    return stays_broken(group, SYN_FORMAT, cause);
}

const char *case_too_large(struct syn_group *group, size_t actor)
{
    return overfill(group, actor, 10, 9);
}

const char *case_far_too_large(struct syn_group *group, size_t actor)
{
    return overfill(group, actor, 400000, 184);
}

const char *case_no_room(struct syn_group *group, size_t actor)
{
    return overfill(group, actor, 100000, 0);
}

const char *case_too_large_in_the_end(struct syn_group *group, size_t actor)
{
    return overfill(group, actor, 900000, 500000);
}

const char *case_silent(struct syn_group *group, size_t actor)
{
    char cause[100];
    snprintf(cause, sizeof cause, "worker %zu stayed silent", actor);
    if (group->rank == actor)
        return stay_away(group, cause);
    EXPECT(run_round(group) == SYN_TIMEOUT);
    return stays_broken(group, SYN_TIMEOUT, cause);
}

const char *case_abandon(struct syn_group *group, size_t actor)
{
    if (group->rank == actor) {
        sleep_ms(20);
        syn_group_abandon(group, SYN_IO, "disk full");
        EXPECT(syn_group_wait(group, NULL, 0) == SYN_IO);
        return stays_broken(group, SYN_IO, "disk full");
    }
    char cause[100];
    snprintf(cause, sizeof cause, "worker %zu failed: disk full", actor);
    EXPECT(run_round(group) == SYN_PEER);
    return stays_broken(group, SYN_PEER, cause);
}

/* Where nobody dies: on a machine with more to do than processors, a thread may well get none for
 * longer than a time-out that was made short for the test's sake. */
const char *case_circle(struct syn_group *group, size_t actor)
{
    (void)actor;
    group->forgives_silence = true;
    char byte;
    struct syn_request request;
    size_t before = (group->rank + group->size - 1) % group->size;
    EXPECT(syn_group_receive(group, before, &byte, 1, &request) == SYN_OK);
    EXPECT(syn_group_wait(group, &request, 1) == SYN_TIMEOUT);
    return stays_broken(group, SYN_TIMEOUT, "wait in a circle");
}

const char *case_late_chain(struct syn_group *group, size_t actor)
{
    (void)actor;
    group->forgives_silence = true;
    size_t last = group->size - 1;
    int64_t late_ms = (int64_t)(last - group->rank) * group->timeout_ns / 1000000 * 3 / 4;
    char byte = 7;
    struct syn_request request;
    sleep_ms(late_ms);
    if (group->rank > 0) {
        EXPECT(syn_group_receive(group, group->rank - 1, &byte, 1, &request) == SYN_OK);
        EXPECT(syn_group_wait(group, &request, 1) == SYN_OK);
    }
    if (group->rank < last) {
        EXPECT(syn_group_send(group, group->rank + 1, &byte, 1, &request) == SYN_OK);
        EXPECT(syn_group_wait(group, &request, 1) == SYN_OK);
    }
    EXPECT(byte == 7);
    return "";
}

/* Take `most` messages with syn_group_wait_any(), or until the group breaks. */
static const char *take_whoever_comes(struct syn_group *group, size_t each, size_t most)
{
    enum { MOST = 16 };
    struct syn_request requests[MOST] = {{0}};
    unsigned char bytes[MOST] = {0};
    size_t came[MOST] = {0};
    size_t which = 0;
    EXPECT(group->size <= MOST);
    EXPECT(syn_group_wait_any(group, requests, group->size, &which) == SYN_INVALID);
    for (size_t peer = 1; peer < group->size; peer++)
        EXPECT(syn_group_receive(group, peer, &bytes[peer], 1, &requests[peer]) == SYN_OK);
    for (size_t i = 0; i < most; i++) {
        if (syn_group_wait_any(group, requests, group->size, &which) != SYN_OK)
            return "broken";
        EXPECT(which > 0 && which < group->size);
        EXPECT(!requests[which].is_active && requests[which].count == 1);
        EXPECT(bytes[which] == (unsigned char)came[which]);
        if (++came[which] < each)
            EXPECT(syn_group_receive(group, which, &bytes[which], 1, &requests[which]) == SYN_OK);
    }
    return "";
}

const char *case_whoever_comes(struct syn_group *group, size_t actor)
{
    (void)actor;
    enum { EACH = 20 };
    if (group->rank == 0)
        return take_whoever_comes(group, EACH, EACH * (group->size - 1));
    for (unsigned char i = 0; i < EACH; i++) {
        struct syn_request request;
        if (i % 5 == 0)
            sleep_ms((int64_t)group->rank * 3);
        EXPECT(syn_group_send(group, 0, &i, 1, &request) == SYN_OK);
        EXPECT(syn_group_wait(group, &request, 1) == SYN_OK);
    }
    return "";
}

/* Send to worker 0 every few milliseconds until the group breaks. Small sends may be done before
 * they arrive, and who never waits hears nothing but through whoever answers for it. */
static enum syn_status keep_busy(struct syn_group *group)
{
    for (int64_t i = 0; i < 12000; i++) {
        unsigned char byte = (unsigned char)i;
        struct syn_request requests[2] = {{0}};
        enum syn_status status = syn_group_send(group, 0, &byte, 1, &requests[0]);
        if (status == SYN_OK)
            status = syn_group_wait(group, requests, 1);
        if (status != SYN_OK)
            return status;
        sleep_ms(5);
    }
    return SYN_OK;
}

const char *case_silent_among_busy(struct syn_group *group, size_t actor)
{
    char cause[100];
    snprintf(cause, sizeof cause, "worker %zu stayed silent", actor);
    if (group->rank == 0) {
        const char *end = take_whoever_comes(group, SIZE_MAX, SIZE_MAX);
        EXPECT(strcmp(end, "broken") == 0);
        return stays_broken(group, SYN_TIMEOUT, cause);
    }
    if (group->rank == actor)
        return stay_away(group, cause);
    EXPECT(keep_busy(group) == SYN_TIMEOUT);
    return stays_broken(group, SYN_TIMEOUT, cause);
}
