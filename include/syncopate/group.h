/* A group: the P workers that train one model, and this worker's rank among them. How bytes travel
 * between them is decided here and nowhere else. */
#ifndef SYNCOPATE_GROUP_H
#define SYNCOPATE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/settings.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct syn_group;

struct syn_group_options {
#define SYN_SETTING SYN_SETTING_FIELD
#include <syncopate/group_options.def>
#undef SYN_SETTING
};

/* The settings table of syn_group_options. */
extern const struct syn_settings_table syn_group_settings;

struct syn_caller_transport;

/* Describes this process's place in a group about to be opened. Each transport reads the fields it
 * needs; the others are 0. */
struct syn_group_place {
    size_t workers;           /* threads, caller: members of the group */
    size_t rank;              /* caller: this member's rank */
    const void *communicator; /* mpi: points to an MPI_Comm; NULL: all processes */
    const struct syn_caller_transport *transport; /* caller */
};

/* Open a group over the transport of that name (`syncopate list` shows them).
 *   place    NULL: everything 0
 *   options  NULL: defaults
 *   groups   [place->workers] with "threads", otherwise one: the memberships of this process, each
 *            to be used by one thread at a time and closed by syn_group_close(), in any order
 * The functions below do the same for a given transport, with only the arguments it needs. */
enum syn_status syn_group_open(const char *transport, const struct syn_group_place *place,
                               const struct syn_group_options *options, struct syn_group **groups);

/* Make a group of workers that are threads of this process.
 *   groups  [workers]; groups[r] is the membership of worker r */
enum syn_status syn_group_open_threads(size_t workers, const struct syn_group_options *options,
                                       struct syn_group **groups);

/* Join a group of MPI processes.
 *   communicator  points to an MPI_Comm, which is duplicated; NULL: all processes (MPI_COMM_WORLD)
 *   options       NULL: defaults
 * Collective over the communicator; blocks until all have joined, SYN_TIMEOUT if some do not.
 * Initialises MPI with MPI_THREAD_SERIALIZED if it is not initialised yet; in that case MPI is
 * finalised when the process ends, and the host program must not call MPI while a group is open. A
 * host program that initialises MPI itself must request that level or above, otherwise the result
 * is SYN_UNSUPPORTED; and it should call syn_group_before_mpi() first, otherwise TCP is slower and
 * the log says so. Below MPI_THREAD_MULTIPLE it must not call MPI while a step is under way. Since
 * it may do so between steps, pings are not answered then: timeout_ms must be longer than its
 * longest step. SYN_UNSUPPORTED in a build without MPI. */
enum syn_status syn_group_open_mpi(const void *communicator,
                                   const struct syn_group_options *options,
                                   struct syn_group **group);

/* Check that all members, parameter servers included, were given the same lines.
 *   lines  each "name value" and a newline, as syn_settings_lines() writes them
 * If not, SYN_MISMATCH on every member, with the name, two differing values and which members have
 * them; the group is unusable afterwards. Members that run another version of the library are
 * reported the same way. Collective; blocks. Call it before opening a reducer or a worker, which
 * compare their own options in the same way. */
enum syn_status syn_group_compare(struct syn_group *group, const char *lines);

/* For programs that initialise MPI themselves: call this before MPI_Init() to make MPI as fast for
 * this library as if the library had initialised it. It sets environment variables that make Open
 * MPI send over TCP without a handshake, and poll its sockets in a way that the library can sleep
 * on. Variables that are already set, and other MPI implementations, are left alone. Call it before
 * other threads start, because it changes the environment. */
void syn_group_before_mpi(void);

/* Whether this process was started by an MPI launcher, determined without calling MPI. */
bool syn_group_under_mpi(void);

/* Check that this process may train on its own: SYN_INVALID, with the reason, if a launcher (srun
 * without --mpi) started it as one of several that have no way to find each other. Programs call it
 * before they train without MPI; syn_group_open_mpi() makes the same check itself. */
enum syn_status syn_group_check_alone(void);

/* For programs that exit because of bad input before they have opened a group: other processes of
 * the same launch may have valid input, and would wait for this one in MPI_Init(). Initialises MPI
 * and ends all of them, and this one, with that exit code; if the others do not initialise MPI
 * either, this one exits after half a minute anyway. Returns if no process waits: this process is
 * alone, MPI is already initialised (groups then report the failure), or the launcher handles it,
 * as Open MPI's mpirun does. */
void syn_group_end_all(int exit_code);

/* Message passing provided by the host program. Messages between two workers must arrive whole and
 * in the order of sending; a receive always asks for exactly the size that was sent. The library
 * calls these functions from one thread at a time, which need not be the one that opened the group.
 * Return 0 on success; anything else fails the exchange on all workers. A failure is attributed to
 * the connection to that peer, which every member then names. A peer whose message takes longer to
 * arrive than timeout_ms plus one second per 100,000 bytes is considered silent. */
struct syn_caller_transport {
    void *context; /* passed to every function */

    /* Begin to send count bytes to a peer and return at once; the bytes stay unchanged until test
     * reports that the send is done. *handle identifies the operation; its meaning is the caller's.
     * count is at least 1. */
    int (*start_send)(void *context, size_t peer, const void *bytes, size_t count, void **handle);

    /* Begin to receive the peer's next message, which has count bytes. At most one receive per peer
     * is under way, possibly for as long as the group is open. */
    int (*start_receive)(void *context, size_t peer, void *bytes, size_t count, void **handle);

    /* Whether that send or receive is done; if it is, the handle is released. Does not block. */
    int (*test)(void *context, void *handle, bool *done);

    /* (optional) Cancel an operation under way and release its handle; its bytes must not be
     * touched afterwards. Called when a group closes or fails. Without this function, such handles
     * are never tested again, the host program must ensure that their bytes are no longer touched,
     * and closing a group leaks a few hundred bytes per worker, because messages might still arrive
     * there. */
    void (*cancel)(void *context, void *handle);

    /* (optional) Sleep until an operation under way has progressed since the last sleep, but no
     * longer than most_ns. Without this function the library polls, at intervals of up to 1 ms. */
    void (*sleep)(void *context, int64_t most_ns);
};

/* Join a group that uses the caller's own message passing.
 *   transport  copied
 *   options    NULL: defaults
 * Does not wait for the others. */
enum syn_status syn_group_open_caller(const struct syn_caller_transport *transport, size_t rank,
                                      size_t workers, const struct syn_group_options *options,
                                      struct syn_group **group);

/* Make the last `servers` members of the group parameter servers; the others are its workers. Every
 * member makes the same call, before it opens anything on the group. SYN_INVALID if no worker would
 * be left. */
enum syn_status syn_group_appoint(struct syn_group *group, size_t servers);

/* Number of parameter servers; 0 unless some were appointed. Their ranks follow the workers'. */
size_t syn_group_servers(const struct syn_group *group);

/* This member's rank: 0 to syn_group_workers() - 1 for workers, syn_group_workers() and above for
 * servers. */
size_t syn_group_rank(const struct syn_group *group);

/* P, the number of workers. */
size_t syn_group_workers(const struct syn_group *group);

/* Number of all members: workers and servers. */
size_t syn_group_size(const struct syn_group *group);

/* The name of its transport, such as "threads". */
const char *syn_group_transport(const struct syn_group *group);

/* Whether all members are threads of this process, sharing its memory and files. */
bool syn_group_is_one_process(const struct syn_group *group);

/* Tell the other members that this one cannot continue, before anything is opened on the group. */
void syn_group_leave(struct syn_group *group, enum syn_status status, const char *cause);

/* Leave the group. Nothing may be under way on it. Does not wait for the other members; after a
 * failure it may take up to 200 ms to tell them. NULL is harmless. */
void syn_group_close(struct syn_group *group);

#ifdef __cplusplus
}
#endif
#endif
