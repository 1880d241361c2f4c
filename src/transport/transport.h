/* Bytes between workers: what a transport must do, and what the rest of the library may ask of a
 * group.
 *
 * Messages between two workers arrive whole and in order; there are no tags, because every
 * worker runs the same exchanges in the same order. One thread at a time uses a group: the
 * opening one until the communication thread starts, that one from then on. While it is busy with
 * something else, or has nothing to do, a thread of this library's answers for it (attend.h).
 *
 * A member that has waited timeout_ms sends a ping to those it waits for. Everybody answers with a
 * pong at all times, whatever its other threads are computing, evaluating, loading or saving;
 * and bytes that arrive are as good as a pong. So whoever answers is given as long again,
 * without limit, unless it says that it has closed, or a circle is found: members each of which
 * waits for another one that has not even begun what would end the wait (circle.c). Whoever does
 * not answer is dead, stopped or out of reach: everybody is told, and everybody names that one,
 * however long the chain of those who wait for those who wait. A worker that fails for a reason of
 * its own says so at once, and the others fail with its rank. After that the group is broken:
 * every later call returns the first failure. */
#ifndef SYN_TRANSPORT_TRANSPORT_H
#define SYN_TRANSPORT_TRANSPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/group.h>

#include "base/status.h"
#include "base/table.h"

/* How long something has been waited for. */
struct syn_patience {
    int64_t moved_ns;  /* when it began, or when part of it was last done */
    int64_t quiet_ns;  /* the same, or when all we wait for last answered */
    int64_t pinged_ns; /* when they were sent a ping; 0: not since */
};

/* A send or a receive under way. Plain memory of the caller's, all zero before its first use;
 * must stay in place until it is done. */
struct syn_request {
    size_t peer;
    size_t count;   /* bytes to send; room to receive into; when done, bytes that came */
    bool is_active; /* started and not done yet */
    bool is_receive;
    uint32_t number; /* of the messages to that peer, or of those from it */
    union {
        const void *send;
        void *receive;
    } bytes;
    struct syn_patience patience; /* with this request alone; see syn_group_wait_any() */
    struct syn_request *next;     /* for the transport's own lists */
    void *handles[2];             /* the transport's own */
    uint64_t extra[4];            /* the transport's own */
};

/* Control messages: what members send one another beside the data. */
enum syn_control_kind {
    SYN_CONTROL_PING,   /* are you there? The sender has waited for too long */
    SYN_CONTROL_PONG,   /* the answer: yes, and what the sender is doing */
    SYN_CONTROL_FAILED, /* member about failed for the reason in text */
    SYN_CONTROL_SILENT, /* member about does not answer or has left, as text says in full */
    SYN_CONTROL_LOST,   /* the connection to member about failed, as text says in full */
    SYN_CONTROL_KINDS
};

/* What a member says that it is doing. */
enum syn_doing {
    SYN_DOING_OTHER,    /* it computes, loads, saves, ...: its next message is still to come */
    SYN_DOING_WAIT_ALL, /* it waits, and goes on when it has heard of everyone in waits */
    SYN_DOING_WAIT_ANY, /* it waits, and goes on when it has heard of one of waits */
    SYN_DOING_LEFT      /* it has closed what the asking member still has open */
};

#define SYN_CONTROL_WAITS 20

struct syn_control {
    uint32_t kind;
    uint32_t from;
    uint32_t about;
    uint32_t session; /* of a PING: see syn_group_enter() */
    /* Of a PONG. Messages are counted from the beginning, modulo 2^32. */
    uint32_t doing;
    uint32_t moves;                    /* messages and fragments done so far */
    uint32_t sends;                    /* begun to the receiver of the pong */
    uint32_t receives;                 /* begun from the receiver of the pong */
    uint32_t wait_count;               /* of waits */
    uint32_t waits[SYN_CONTROL_WAITS]; /* members that have not begun what the sender waits for */
    char text[204];                    /* cut, NUL at the end; "" for PING and PONG */
};

/* A transport: one file ending in this descriptor, and a row in transports.def. */
struct syn_transport_type {
    struct syn_part part;
    bool is_one_process; /* all members are threads of this process */

    /* Make the memberships of this process; see syn_group_open(). Reads of the place what it
     * needs. */
    enum syn_status (*open)(const struct syn_group_place *place,
                            const struct syn_group_options *options, struct syn_group **groups);

    /* (optional) See syn_group_end_all(). */
    void (*end_all)(int exit_code);

    /* Begin and return at once. The request's peer, count and bytes are set, is_active too. */
    enum syn_status (*start)(struct syn_group *group, struct syn_request *request);

    /* Set is_active to false and count to what came, if it is done. Does not block. A message
     * larger than the room for it is SYN_FORMAT. */
    enum syn_status (*test)(struct syn_group *group, struct syn_request *request);

    /* Give up an active request of a broken group: afterwards nothing touches the request or its
     * bytes, or, where that is impossible, the process is about to end anyway. */
    void (*cancel)(struct syn_group *group, struct syn_request *request);

    /* (optional) Sleep until something may have happened to a request or a control message, or
     * until that moment. Without it, or if it returns false, the waiting side rests by itself, as
     * in syn_group_back_off().
     *   waited_ns  how long it has waited already: who may miss what happens sleeps no longer than
     *              syn_group_back_off_ns() of that */
    bool (*sleep)(struct syn_group *group, int64_t until_ns, int64_t waited_ns);

    /* Send a control message, best effort; does not block. May be left out while an earlier one of
     * that kind is still on its way to that peer. */
    void (*send_control)(struct syn_group *group, size_t peer, const struct syn_control *control);

    /* The next control message that has come, if any: *came says so. Does not block. */
    enum syn_status (*receive_control)(struct syn_group *group, struct syn_control *control,
                                       bool *came);

    /* Release the transport's own part. State and group are freed by the caller; a transport
     * that must not have its state freed sets it to NULL. */
    void (*close)(struct syn_group *group);
};

/* What a member knows of another one. */
struct syn_peer {
    int64_t heard_ns;  /* when a control message or bytes last came from it */
    int64_t said_ns;   /* when it last sent a pong */
    int64_t steady_ns; /* since when it has said the same */
    uint32_t sends;    /* messages that we have begun to send to it */
    uint32_t receives; /* and to receive from it */
    uint32_t doing;    /* what it last said */
    uint32_t moves;
    uint32_t their_sends;
    uint32_t their_receives;
};

/* What the thread that uses the group waits for. */
struct syn_waiting {
    const struct syn_request *requests; /* NULL: it does not wait */
    size_t count;
    bool is_any;
    int64_t since_ns;
};

/* A worker's membership. */
struct syn_group {
    const struct syn_transport_type *type;
    size_t rank;
    size_t size;    /* members of the group: workers first, then servers */
    size_t workers; /* those that train; all of them unless syn_group_appoint() says otherwise */
    int64_t timeout_ns;
    bool forgives_silence;  /* nobody is taken for dead; false, but in tests where nobody dies */
    pthread_mutex_t mutex;  /* held by whoever uses the group, also while it waits */
    bool is_attended;       /* somebody answers while nobody uses it */
    struct syn_group *next; /* in the list of those attended */
    enum syn_status broken; /* SYN_OK, or why every call fails from now on */
    char cause[SYN_ERROR_BYTES];
    uint64_t bytes_out; /* payload sent and received so far */
    uint64_t bytes_in;
    uint32_t moves;         /* messages and fragments done so far */
    uint32_t entered;       /* sessions, see syn_group_enter() */
    uint32_t departed;      /* and those that have ended */
    uint32_t depth;         /* entered and not departed */
    size_t lost;            /* with SYN_PEER from the transport: whose connection failed */
    struct syn_peer *peers; /* [size] */
    struct syn_waiting waiting;
    struct syn_circle *circle; /* circle.c's own; NULL until it is suspected */
    void *state;               /* the transport's own */
};

const struct syn_transport_type *syn_transport_row(size_t i);
const struct syn_transport_type *syn_transport_find(const char *name);
const char *syn_transport_name(size_t i);

/* What a member is called in messages: "worker 2", "server 0". */
struct syn_member_name {
    char text[18];
};
struct syn_member_name syn_group_name(const struct syn_group *group, size_t rank);

/* For transports: make a membership with that many zeroed bytes of state. Close it with
 * syn_group_close(), which calls the type's close; before the state is ready for that, with
 * syn_group_free().
 *   options  NULL: defaults; checked here */
enum syn_status syn_group_new(const struct syn_transport_type *type, size_t rank, size_t size,
                              const struct syn_group_options *options, size_t state_bytes,
                              struct syn_group **group);

void syn_group_free(struct syn_group *group);

/* For transports: bytes went to or came from a peer, so it is alive. */
void syn_group_moved(struct syn_group *group, size_t peer);

/* For transports: send a peer a pong that it did not ask for. */
void syn_group_send_pong(struct syn_group *group, size_t peer);

/* For transports: the failure that was just noted (syn_fail) is one of the connection to a peer.
 * Returns SYN_PEER, which makes everybody name that peer. */
enum syn_status syn_group_lost(struct syn_group *group, size_t peer);

/* For transports: a moment's rest of one who has waited that long. It yields for 50 us, then
 * sleeps for an eighth of the time waited, within 20 us to 1 ms: short waits stay short, and
 * long ones leave the processor to others. The second only tells how long; 0 is to yield. */
void syn_group_back_off(int64_t waited_ns);
int64_t syn_group_back_off_ns(int64_t waited_ns);

/* Begin to send count bytes to a peer; they stay unchanged until the request is done.
 * A zero count is a message too. Sending to oneself is SYN_INVALID. */
enum syn_status syn_group_send(struct syn_group *group, size_t peer, const void *bytes,
                               size_t count, struct syn_request *request);

/* Begin to receive one message of at most capacity bytes. */
enum syn_status syn_group_receive(struct syn_group *group, size_t peer, void *bytes,
                                  size_t capacity, struct syn_request *request);

/* Wait until all of these are done. Requests that were never started count as done. On failure
 * all of them are cancelled, the group is broken, and the cause names the worker at fault.
 * Whatever was started must be waited for, also after a failure, before its memory is given
 * back. */
enum syn_status syn_group_wait(struct syn_group *group, struct syn_request *requests, size_t count);

/* Wait until one of these is done, and leave the others as they are.
 *   which  its number; before the call, the number of the one to look at last, so that none is
 *          passed over for long
 * Every request has its own patience, counted from its start: a peer that falls silent is found
 * however busy the others are. Control messages are received in every call. At least one must be
 * active. On failure as syn_group_wait(). */
enum syn_status syn_group_wait_any(struct syn_group *group, struct syn_request *requests,
                                   size_t count, size_t *which);

/* Something is opened on the group by all members, or closed again by this one. Of calls within one
 * another only the outermost count. A member that has closed tells those that are still at it, and
 * wait for it, that it has left. */
void syn_group_enter(struct syn_group *group);
void syn_group_depart(struct syn_group *group);

/* Tell the others that this worker fails, so that nobody waits for it; the group is broken
 * afterwards. Does nothing if it is broken already. */
void syn_group_abandon(struct syn_group *group, enum syn_status status, const char *cause);

/* The same where all members find the cause by themselves: nobody is told. */
void syn_group_break(struct syn_group *group, enum syn_status status, const char *cause);

#endif
