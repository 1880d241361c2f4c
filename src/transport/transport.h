/* Bytes between workers: what a transport must provide, and how the rest of the library uses a
 * group.
 *
 * Messages between two workers arrive whole and in order; there are no tags, because every worker
 * runs the same exchanges in the same order. One thread at a time uses a group: the opening one
 * until the communication thread starts, and that one from then on. While it is busy with something
 * else, or idle, a thread of this library answers for it (attend.h).
 *
 * A member that has waited timeout_ms sends a ping to those it waits for. Every member answers with
 * a pong at all times, whatever its other threads are computing, evaluating, loading or saving;
 * bytes that arrive count as a pong. A member that answers is given the same time again, without
 * limit, unless it reports that it has closed, or a circle is found: members each of which waits
 * for another that has not even begun what would end the wait (circle.c). A member that does not
 * answer is dead, stopped or unreachable: everyone is told and reports that member, however long
 * the chain of members that wait for each other. A worker that itself fails reports that at once,
 * and the others fail with its rank. After that the group is broken: every later call returns the
 * first failure. */
#ifndef SYN_TRANSPORT_TRANSPORT_H
#define SYN_TRANSPORT_TRANSPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/group.h>

#include "base/status.h"
#include "base/table.h"

/* How long a wait has lasted. */
struct syn_patience {
    int64_t moved_ns;  /* when the wait began or last made progress */
    int64_t quiet_ns;  /* the same, or when all awaited peers last answered */
    int64_t pinged_ns; /* when they were sent a ping; 0: not since then */
};

/* A send or a receive under way. Plain memory of the caller, zeroed before its first use; it must
 * not move until it is done. */
struct syn_request {
    size_t peer;
    size_t count;   /* bytes to send, or room for receiving; when done, bytes received */
    bool is_active; /* started and not done yet */
    bool is_receive;
    uint32_t number; /* counted over the messages to that peer, or from it */
    union {
        const void *send;
        void *receive;
    } bytes;
    struct syn_patience patience; /* of this request alone; see syn_group_wait_any() */
    struct syn_request *next;     /* for the transport's own lists */
    void *handles[2];             /* the transport's own */
    uint64_t extra[4];            /* the transport's own */
};

/* Control messages: what members send each other besides the data. */
enum syn_control_kind {
    SYN_CONTROL_PING,   /* are you alive? The sender has waited too long */
    SYN_CONTROL_PONG,   /* the answer: alive, and what the sender is doing */
    SYN_CONTROL_FAILED, /* member about failed for the reason in text */
    SYN_CONTROL_SILENT, /* member about does not answer or has left; text has the full cause */
    SYN_CONTROL_LOST,   /* the connection to member about failed; text has the full cause */
    SYN_CONTROL_KINDS
};

/* What a member reports to be doing. */
enum syn_doing {
    SYN_DOING_OTHER,    /* it computes, loads, saves, ...; its next message is yet to come */
    SYN_DOING_WAIT_ALL, /* it waits, and continues when it has heard from everyone in waits */
    SYN_DOING_WAIT_ANY, /* it waits, and continues when it has heard from one of waits */
    SYN_DOING_LEFT      /* it has closed what the pinging member still has open */
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
    char text[204];                    /* truncated, NUL-terminated; "" for PING and PONG */
};

/* A transport: one file ending in this descriptor, and a row in transports.def. */
struct syn_transport_type {
    struct syn_part part;
    bool is_one_process; /* all members are threads of this process */

    /* Create the memberships of this process; see syn_group_open(). Reads only the fields of place
     * that it needs. */
    enum syn_status (*open)(const struct syn_group_place *place,
                            const struct syn_group_options *options, struct syn_group **groups);

    /* (optional) See syn_group_end_all(). */
    void (*end_all)(int exit_code);

    /* Start the request and return at once. Its peer, count, bytes and is_active are set. */
    enum syn_status (*start)(struct syn_group *group, struct syn_request *request);

    /* If the request is done, set is_active to false and count to the bytes received. Does not
     * block. A message larger than the room for it is SYN_FORMAT. */
    enum syn_status (*test)(struct syn_group *group, struct syn_request *request);

    /* Give up an active request of a broken group: afterwards nothing touches the request or its
     * bytes or, if that is impossible, the process is about to end anyway. */
    void (*cancel)(struct syn_group *group, struct syn_request *request);

    /* (optional) Sleep until something may have happened to a request or a control message, or
     * until until_ns. Without it, or if it returns false, the waiting side sleeps as in
     * syn_group_back_off().
     *   waited_ns  how long it has waited already: a transport that may miss events sleeps no
     *              longer than syn_group_back_off_ns() of that */
    bool (*sleep)(struct syn_group *group, int64_t until_ns, int64_t waited_ns);

    /* Send a control message, best effort; does not block. May be skipped while an earlier one of
     * that kind to that peer is still under way. */
    void (*send_control)(struct syn_group *group, size_t peer, const struct syn_control *control);

    /* Get the next control message, if one has arrived; *came is then set. Does not block. */
    enum syn_status (*receive_control)(struct syn_group *group, struct syn_control *control,
                                       bool *came);

    /* Release the transport's own resources. State and group are freed by the caller; a transport
     * whose state must not be freed sets it to NULL. */
    void (*close)(struct syn_group *group);
};

/* What a member knows about another. */
struct syn_peer {
    int64_t heard_ns;  /* when a control message or bytes last arrived from it */
    int64_t said_ns;   /* when it last sent a pong */
    int64_t steady_ns; /* since when its pongs have been the same */
    uint32_t sends;    /* messages we have begun to send to it */
    uint32_t receives; /* and to receive from it */
    uint32_t doing;    /* from its last pong; likewise those below */
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
    size_t workers; /* those that train; all of them unless syn_group_appoint() was called */
    int64_t timeout_ns;
    bool forgives_silence;  /* nobody is considered dead; true only in tests where nobody dies */
    pthread_mutex_t mutex;  /* held by the thread that uses the group, also while it waits */
    bool is_attended;       /* a thread answers while the group is not in use */
    struct syn_group *next; /* in the list of attended groups */
    enum syn_status broken; /* SYN_OK, or why every call fails from now on */
    char cause[SYN_ERROR_BYTES];
    uint64_t bytes_out; /* payload sent and received so far */
    uint64_t bytes_in;
    uint32_t moves;         /* messages and fragments done so far */
    uint32_t entered;       /* sessions, see syn_group_enter() */
    uint32_t departed;      /* and those that were ended */
    uint32_t depth;         /* entered and not departed */
    size_t lost;            /* with SYN_PEER from the transport: whose connection failed */
    struct syn_peer *peers; /* [size] */
    struct syn_waiting waiting;
    struct syn_circle *circle; /* owned by circle.c; NULL until a circle is suspected */
    void *state;               /* the transport's own */
};

const struct syn_transport_type *syn_transport_row(size_t i);
const struct syn_transport_type *syn_transport_find(const char *name);
const char *syn_transport_name(size_t i);

/* The name of a member in messages: "worker 2", "server 0". */
struct syn_member_name {
    char text[18];
};
struct syn_member_name syn_group_name(const struct syn_group *group, size_t rank);

/* For transports: create a membership with state_bytes zeroed bytes of state. Close it with
 * syn_group_close(), which calls the type's close; before the state is ready for that, with
 * syn_group_free().
 *   options  NULL: defaults; checked here */
enum syn_status syn_group_new(const struct syn_transport_type *type, size_t rank, size_t size,
                              const struct syn_group_options *options, size_t state_bytes,
                              struct syn_group **group);

void syn_group_free(struct syn_group *group);

/* For transports: bytes went to or came from a peer, so it is alive. */
void syn_group_moved(struct syn_group *group, size_t peer);

/* For transports: send a peer an unsolicited pong. */
void syn_group_send_pong(struct syn_group *group, size_t peer);

/* For transports: the failure that was just recorded (syn_fail) is one of the connection to a peer.
 * Returns SYN_PEER, which makes everyone name that peer. */
enum syn_status syn_group_lost(struct syn_group *group, size_t peer);

/* For transports: back off after having waited that long. It yields for the first 50 us, then
 * sleeps for an eighth of the time waited, within 20 us to 1 ms: short waits stay short, and long
 * ones leave the processor to others. The second only returns how long; 0 means to yield. */
void syn_group_back_off(int64_t waited_ns);
int64_t syn_group_back_off_ns(int64_t waited_ns);

/* Start sending count bytes to a peer; they must stay unchanged until the request is done. A zero
 * count is a message too. Sending to oneself is SYN_INVALID. */
enum syn_status syn_group_send(struct syn_group *group, size_t peer, const void *bytes,
                               size_t count, struct syn_request *request);

/* Start receiving one message of at most capacity bytes. */
enum syn_status syn_group_receive(struct syn_group *group, size_t peer, void *bytes,
                                  size_t capacity, struct syn_request *request);

/* Wait until all of these are done. Requests that were never started count as done. On failure all
 * of them are cancelled, the group is broken, and the cause names the worker at fault. Every
 * request that was started must be waited for, even after a failure, before its memory is freed. */
enum syn_status syn_group_wait(struct syn_group *group, struct syn_request *requests, size_t count);

/* Wait until one of these is done and leave the others as they are.
 *   which  its number; before the call, the number of the one to check last, so that none is
 *          neglected for long
 * Every request has its own patience, counted from its start: a peer that falls silent is detected
 * however busy the others are. Control messages are received in every call. At least one must be
 * active. On failure as syn_group_wait(). */
enum syn_status syn_group_wait_any(struct syn_group *group, struct syn_request *requests,
                                   size_t count, size_t *which);

/* Something is opened on the group by all members, or closed again by this one. Of nested calls
 * only the outermost count. A member that has closed tells those that still have it open and wait
 * for it that it has left. */
void syn_group_enter(struct syn_group *group);
void syn_group_depart(struct syn_group *group);

/* Tell the others that this worker has failed, so that nobody waits for it; the group is broken
 * afterwards. Does nothing if it is already broken. */
void syn_group_abandon(struct syn_group *group, enum syn_status status, const char *cause);

/* The same if all members detect the cause on their own: nobody is told. */
void syn_group_break(struct syn_group *group, enum syn_status status, const char *cause);

#endif
