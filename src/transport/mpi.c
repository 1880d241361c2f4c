/* Workers that are MPI processes. Only non-blocking calls of MPI-3 are used, on a separate
 * communicator: no call here waits inside MPI, because implementations spin while they wait, which
 * starves the computation when there are more processes than cores, and because a wait inside MPI
 * has no time-out.
 *
 * Messages travel in fragments that Open MPI sends eagerly, without asking the receiver first. A
 * rendezvous request waits behind the data that flows in the same direction on its connection: with
 * it, two workers that exchange a megabyte took twice the time of the bytes. Every fragment is full
 * except the last, which may be empty. Each message between two members has its own tag, so that
 * fragments of several messages do not mix.
 *
 * A waiting thread sleeps until MPI's sockets are ready, if MPI uses any (wakeup.h), and otherwise
 * for short times.
 *
 * A receive is posted only if there is room for a whole fragment. The last fragment of a message is
 * probed before it is received: Open MPI's single copy through shared memory (4.1) writes as many
 * bytes as were sent, whatever room the receive was posted with, and only then reports truncation.
 *
 * Data and control messages are distinguished by tag. One receive for control messages is always
 * posted.
 *
 * MPI has no way to cancel a send that is never received. If that happens when a group fails, this
 * process makes no further MPI calls, so that nothing touches buffers that have been freed, and
 * leaves MPI unfinalised; the launcher then ends the processes that hang. */
#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/attend.h"
#include "transport/launcher.h"
#include "transport/mpi_process.h"
#include "transport/wakeup.h"

enum { TAG_CONTROL, TAG_DATA, TAGS = 16384 };

/* How long a failing worker still waits for its control messages to leave. */
#define FLUSH_NS INT64_C(200000000)

/* Smaller than Open MPI's eager limit, with room for its heads. */
#define FRAGMENT_BYTES ((size_t)500000)

_Static_assert(FRAGMENT_BYTES + 1024 <= SYN_EAGER_BYTES, "a fragment must be sent eagerly");

struct outgoing {
    struct syn_control control;
    MPI_Request under_way; /* MPI_REQUEST_NULL: free */
};

struct membership {
    MPI_Comm communicator;
    struct syn_control incoming;
    MPI_Request listening;
    struct outgoing *outbox; /* [size][SYN_CONTROL_KINDS] */
    uint32_t *sent;          /* [size] messages begun to each member */
    uint32_t *received;      /* [size] and from each member */
    struct syn_wakeup wakeup;
    struct syn_request *long_ones; /* under way in several fragments; any wait advances all */
};

extern const struct syn_transport_type syn_transport_mpi;

/* A message to or from a peer failed. */
static enum syn_status lost(struct syn_group *group, size_t peer, const char *what, int code)
{
    syn_mpi_failed(what, code);
    return syn_group_lost(group, peer);
}

/* What a request keeps: MPI's handle of the fragment under way, a pointer or a number depending on
 * the MPI. */
struct ticket {
    MPI_Request under_way;
};
/* In extra: bytes of the previous fragments, the message's tag, whether its last fragment is done,
 * and whether the next fragment must be probed before it is received. */
enum { DONE, TAG, IS_WHOLE, IS_UNSEEN };

_Static_assert(sizeof(struct ticket) <= sizeof(void *),
               "a ticket must fit into a request's handle");

static void remember(struct syn_request *request, MPI_Request under_way)
{
    struct ticket ticket = {under_way};
    memcpy(&request->handles[0], &ticket, sizeof ticket);
}

static MPI_Request recall(const struct syn_request *request)
{
    struct ticket ticket;
    memcpy(&ticket, &request->handles[0], sizeof ticket);
    return ticket.under_way;
}

static size_t fragment_bytes(const struct syn_request *request)
{
    size_t left = request->count - (size_t)request->extra[DONE];
    return left < FRAGMENT_BYTES ? left : FRAGMENT_BYTES;
}

/* Start the next fragment. */
static enum syn_status post(struct syn_group *group, struct syn_request *request)
{
    const struct membership *own = group->state;
    size_t done = (size_t)request->extra[DONE];
    int count = (int)fragment_bytes(request);
    int peer = (int)request->peer;
    int tag = (int)request->extra[TAG];
    MPI_Request under_way = MPI_REQUEST_NULL;
    request->extra[IS_UNSEEN] = request->is_receive && fragment_bytes(request) < FRAGMENT_BYTES;
    if (request->extra[IS_UNSEEN])
        return SYN_OK;
    syn_mpi_enter();
    int code = request->is_receive ? MPI_Irecv((uint8_t *)request->bytes.receive + done, count,
                                               MPI_BYTE, peer, tag, own->communicator, &under_way)
                                   : MPI_Isend((const uint8_t *)request->bytes.send + done, count,
                                               MPI_BYTE, peer, tag, own->communicator, &under_way);
    syn_mpi_leave(code);
    if (code != MPI_SUCCESS)
        return lost(group, request->peer, request->is_receive ? "MPI_Irecv" : "MPI_Isend", code);
    remember(request, under_way);
    return SYN_OK;
}

static void enlist(struct membership *own, struct syn_request *request)
{
    request->next = own->long_ones;
    own->long_ones = request;
}

/* Remove it from the list, if it is there. */
static void delist(struct membership *own, const struct syn_request *request)
{
    struct syn_request **link = &own->long_ones;
    while (*link && *link != request)
        link = &(*link)->next;
    if (*link)
        *link = request->next;
}

static enum syn_status start(struct syn_group *group, struct syn_request *request)
{
    struct membership *own = group->state;
    uint32_t *counts = request->is_receive ? own->received : own->sent;
    request->extra[DONE] = 0;
    request->extra[TAG] = TAG_DATA + counts[request->peer]++ % TAGS;
    request->extra[IS_WHOLE] = false;
    SYN_TRY(post(group, request));
    if (request->count >= FRAGMENT_BYTES)
        enlist(own, request);
    return SYN_OK;
}

/* Receive and discard a fragment that does not fit, so that its sender is not blocked by it. */
static enum syn_status refuse(const struct syn_request *request, MPI_Message *message, int bytes)
{
    MPI_Request under_way = MPI_REQUEST_NULL;
    uint8_t *unread = NULL;
    if (syn_allocate((size_t)bytes, 1, &unread) == SYN_OK &&
        SYN_MPI_ALONE(MPI_Imrecv(unread, bytes, MPI_BYTE, message, &under_way)) == MPI_SUCCESS &&
        syn_mpi_finishes(&under_way, SYN_MPI_FAREWELL_NS))
        free(unread);
    else
        atomic_store(&syn_mpi_process.is_stuck, true);
    return syn_fail(SYN_FORMAT, "worker %zu sent %zu bytes%s where at most %zu were expected",
                    request->peer, (size_t)request->extra[DONE] + (size_t)bytes,
                    (size_t)bytes == FRAGMENT_BYTES ? " or more" : "", request->count);
}

/* Start receiving a fragment that must be probed first, if it has arrived. It is probed twice: Open
 * MPI processes incoming data only after it has checked. */
static enum syn_status see(struct syn_group *group, struct syn_request *request)
{
    const struct membership *own = group->state;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request under_way = MPI_REQUEST_NULL;
    MPI_Status result;
    int has_come = 0;
    int bytes = 0;
    int code = MPI_SUCCESS;
    for (int look = 0; look < 2 && code == MPI_SUCCESS && !has_come; look++)
        code = SYN_MPI_ALONE(MPI_Improbe((int)request->peer, (int)request->extra[TAG],
                                         own->communicator, &has_come, &message, &result));
    if (code != MPI_SUCCESS)
        return lost(group, request->peer, "MPI_Improbe", code);
    if (!has_come)
        return SYN_OK;
    SYN_MPI_ALONE(MPI_Get_count(&result, MPI_BYTE, &bytes));
    if ((size_t)bytes > fragment_bytes(request))
        return refuse(request, &message, bytes);
    code = SYN_MPI_ALONE(MPI_Imrecv((uint8_t *)request->bytes.receive + request->extra[DONE], bytes,
                                    MPI_BYTE, &message, &under_way));
    if (code != MPI_SUCCESS)
        return lost(group, request->peer, "MPI_Imrecv", code);
    request->extra[IS_UNSEEN] = false;
    remember(request, under_way);
    return SYN_OK;
}

/* Test whether the fragment under way is done, and how many bytes it had. */
static enum syn_status test_fragment(struct syn_group *group, struct syn_request *request,
                                     bool *is_done, size_t *bytes)
{
    if (request->extra[IS_UNSEEN])
        SYN_TRY(see(group, request));
    if (request->extra[IS_UNSEEN])
        return SYN_OK;
    MPI_Request under_way = recall(request);
    MPI_Status result;
    int done = 0;
    int came = (int)fragment_bytes(request);
    int code = SYN_MPI_ALONE(MPI_Test(&under_way, &done, &result));
    remember(request, under_way);
    if (code != MPI_SUCCESS)
        return lost(group, request->peer, "MPI_Test", code);
    if (done && request->is_receive)
        SYN_MPI_ALONE(MPI_Get_count(&result, MPI_BYTE, &came));
    *is_done = done;
    *bytes = (size_t)came;
    return SYN_OK;
}

/* Advance a message as far as possible without waiting. */
static enum syn_status advance(struct syn_group *group, struct syn_request *request)
{
    while (!request->extra[IS_WHOLE]) {
        bool is_done = false;
        size_t bytes = 0;
        SYN_TRY(test_fragment(group, request, &is_done, &bytes));
        if (!is_done)
            return SYN_OK;
        request->extra[DONE] += bytes;
        syn_group_moved(group, request->peer);
        request->extra[IS_WHOLE] = bytes < FRAGMENT_BYTES;
        if (bytes == FRAGMENT_BYTES)
            SYN_TRY(post(group, request));
    }
    return SYN_OK;
}

static enum syn_status test(struct syn_group *group, struct syn_request *request)
{
    struct membership *own = group->state;
    enum syn_status status = advance(group, request);
    if (status == SYN_OK && !request->extra[IS_WHOLE])
        return SYN_OK;
    delist(own, request);
    syn_wakeup_learn(&own->wakeup);
    request->is_active = false;
    request->count = (size_t)request->extra[DONE];
    return status;
}

/* Let outgoing control messages leave, within a time limit; returns whether all did. */
static bool flush(const struct syn_group *group)
{
    struct membership *own = group->state;
    int64_t end_ns = syn_clock_ns() + FLUSH_NS;
    bool are_all_out = true;
    for (size_t i = 0; i < group->size * SYN_CONTROL_KINDS; i++)
        are_all_out &= syn_mpi_finishes(&own->outbox[i].under_way, end_ns - syn_clock_ns());
    return are_all_out;
}

static void cancel(struct syn_group *group, struct syn_request *request)
{
    delist(group->state, request);
    if (atomic_load(&syn_mpi_process.is_stuck) || request->extra[IS_WHOLE] ||
        request->extra[IS_UNSEEN])
        return;
    flush(group);
    MPI_Request under_way = recall(request);
    if (request->is_receive)
        SYN_MPI_ALONE(MPI_Cancel(&under_way));
    if (!syn_mpi_finishes(&under_way, SYN_MPI_FAREWELL_NS))
        atomic_store(&syn_mpi_process.is_stuck, true);
}

static void send_control(struct syn_group *group, size_t peer, const struct syn_control *control)
{
    struct membership *own = group->state;
    struct outgoing *slot = &own->outbox[peer * SYN_CONTROL_KINDS + control->kind];
    if (atomic_load(&syn_mpi_process.is_stuck) || !syn_mpi_finishes(&slot->under_way, 0))
        return;
    slot->control = *control;
    if (SYN_MPI_ALONE(MPI_Isend(&slot->control, sizeof slot->control, MPI_BYTE, (int)peer,
                                TAG_CONTROL, own->communicator, &slot->under_way)) != MPI_SUCCESS)
        slot->under_way = MPI_REQUEST_NULL;
}

static enum syn_status listen_for_control(struct membership *own)
{
    memset(&own->incoming, 0xff, sizeof own->incoming);
    int code =
        SYN_MPI_ALONE(MPI_Irecv(&own->incoming, sizeof own->incoming, MPI_BYTE, MPI_ANY_SOURCE,
                                TAG_CONTROL, own->communicator, &own->listening));
    return code == MPI_SUCCESS ? SYN_OK : syn_mpi_failed("MPI_Irecv of control messages", code);
}

static enum syn_status receive_control(struct syn_group *group, struct syn_control *control,
                                       bool *came)
{
    struct membership *own = group->state;
    int is_done = 0;
    for (struct syn_request *request = own->long_ones; request; request = request->next)
        SYN_TRY(advance(group, request));
    int code = SYN_MPI_ALONE(MPI_Test(&own->listening, &is_done, MPI_STATUS_IGNORE));
    if (code != MPI_SUCCESS)
        return syn_mpi_failed("MPI_Test of control messages", code);
    *came = is_done;
    if (!is_done)
        return SYN_OK;
    *control = own->incoming;
    return listen_for_control(own);
}

static bool sleep_until(struct syn_group *group, int64_t until_ns, int64_t waited_ns)
{
    struct membership *own = group->state;
    return syn_wakeup_wait(&own->wakeup, until_ns, syn_group_back_off_ns(waited_ns));
}

static void free_arrays(struct membership *own)
{
    free(own->outbox);
    free(own->sent);
    free(own->received);
}

/* A broken group's communicator is kept: messages for it may still be under way, and MPI might give
 * its number to the next communicator. */
static void leave(struct syn_group *group)
{
    struct membership *own = group->state;
    atomic_fetch_sub(&syn_mpi_process.open_groups, 1);
    if (group->broken != SYN_OK)
        atomic_store(&syn_mpi_process.has_failed, true);
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (atomic_load(&syn_mpi_process.is_stuck) || (!is_finalized && !flush(group))) {
        group->state = NULL;
        return;
    }
    if (!is_finalized) {
        SYN_MPI_ALONE(MPI_Cancel(&own->listening));
        syn_mpi_finishes(&own->listening, FLUSH_NS);
        if (group->broken == SYN_OK)
            SYN_MPI_ALONE(MPI_Comm_free(&own->communicator));
    }
    free_arrays(own);
}

static enum syn_status join(struct syn_group *group, MPI_Comm all)
{
    struct membership *own = group->state;
    SYN_TRY(syn_allocate(group->size * SYN_CONTROL_KINDS, sizeof *own->outbox, &own->outbox));
    SYN_TRY(syn_allocate(group->size, sizeof *own->sent, &own->sent));
    SYN_TRY(syn_allocate(group->size, sizeof *own->received, &own->received));
    for (size_t i = 0; i < group->size * SYN_CONTROL_KINDS; i++)
        own->outbox[i].under_way = MPI_REQUEST_NULL;
    MPI_Request under_way = MPI_REQUEST_NULL;
    int code = SYN_MPI_ALONE(MPI_Comm_idup(all, &own->communicator, &under_way));
    if (code != MPI_SUCCESS)
        return syn_mpi_failed("MPI_Comm_idup", code);
    if (!syn_mpi_finishes(&under_way, group->timeout_ns)) {
        atomic_store(&syn_mpi_process.is_stuck, true);
        return syn_fail(SYN_TIMEOUT,
                        "not all of %zu MPI processes joined within %lld ms "
                        "(timeout_ms, --timeout-ms)",
                        group->size, (long long)(group->timeout_ns / 1000000));
    }
    SYN_MPI_ALONE(MPI_Comm_set_errhandler(own->communicator, MPI_ERRORS_RETURN));
    syn_wakeup_open(&own->wakeup);
    SYN_TRY(listen_for_control(own));
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (atomic_load(&syn_mpi_process.is_ours) || level == MPI_THREAD_MULTIPLE)
        return syn_attend_begin(group);
    syn_log(SYN_LOG_WARNING,
            "this program initialised MPI below MPI_THREAD_MULTIPLE, so no thread answers pings "
            "while it computes: after a step longer than timeout_ms (%lld ms) it counts as dead",
            (long long)(group->timeout_ns / 1000000));
    return SYN_OK;
}

/* Compare the MPI world with what was intended. */
static enum syn_status check_world(int rank)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int size = 0;
    int length = 0;
    SYN_MPI_ALONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    SYN_MPI_ALONE(MPI_Get_library_version(version, &length));
    if (rank == 0)
        syn_launcher_log_what_slows(version);
    return syn_launcher_check_world((size_t)size);
}

static enum syn_status open_group(const struct syn_group_place *place,
                                  const struct syn_group_options *options, struct syn_group **group)
{
    SYN_TRY(syn_mpi_initialize());
    MPI_Comm all = place->communicator ? *(const MPI_Comm *)place->communicator : MPI_COMM_WORLD;
    int rank = 0;
    int size = 0;
    SYN_MPI_ALONE(MPI_Comm_rank(all, &rank));
    SYN_MPI_ALONE(MPI_Comm_size(all, &size));
    SYN_TRY(check_world(rank));
    struct syn_group *made;
    SYN_TRY(syn_group_new(&syn_transport_mpi, (size_t)rank, (size_t)size, options,
                          sizeof(struct membership), &made));
    enum syn_status status = join(made, all);
    if (status != SYN_OK) {
        struct membership *own = made->state;
        atomic_store(&syn_mpi_process.has_failed, true);
        free_arrays(own);
        made->state = atomic_load(&syn_mpi_process.is_stuck) ? NULL : made->state;
        syn_group_free(made);
        return status;
    }
    atomic_fetch_add(&syn_mpi_process.open_groups, 1);
    *group = made;
    return SYN_OK;
}

const struct syn_transport_type syn_transport_mpi = {
    .part = {"mpi", "workers are processes started by any MPI-3"},
    .open = open_group,
    .end_all = syn_mpi_end_all,
    .start = start,
    .test = test,
    .sleep = sleep_until,
    .cancel = cancel,
    .send_control = send_control,
    .receive_control = receive_control,
    .close = leave,
};
