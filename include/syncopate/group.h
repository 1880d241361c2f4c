/* A group: the P workers that train one model, and this worker's place among them. How bytes
 * travel between them is decided here and nowhere else. */
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

/* The rows behind syn_group_options. */
extern const struct syn_settings_table syn_group_settings;

struct syn_caller_transport;

/* Where this process stands in a group that is to be opened. Each transport reads what it needs;
 * the rest is 0. */
struct syn_group_place {
    size_t workers;           /* threads, caller: members of the group */
    size_t rank;              /* caller: this one's number */
    const void *communicator; /* mpi: points to an MPI_Comm; NULL: all processes */
    const struct syn_caller_transport *transport; /* caller */
};

/* Open a group over a transport, by its name (`syncopate list` has them).
 *   place    NULL: everything 0
 *   options  NULL: defaults
 *   groups   [place->workers] with "threads", else one: the memberships of this process, each to be
 *            used by one thread at a time and closed by syn_group_close(), in any order
 * The functions below are the same by transport, with what each asks for. */
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
 * Initialises MPI with MPI_THREAD_SERIALIZED if nobody has; in that case MPI is finalised when
 * the process ends, and the host makes no MPI call while a group is open. A host that initialised
 * MPI itself did so at that level or above, else SYN_UNSUPPORTED, after syn_group_before_mpi(),
 * else it is slower over TCP, and the log says so. Below MPI_THREAD_MULTIPLE it makes no MPI call
 * while a step is under way; and as it may between steps, nobody answers for it then: timeout_ms is
 * to be longer than its longest step.
 * SYN_UNSUPPORTED in a build without MPI. */
enum syn_status syn_group_open_mpi(const void *communicator,
                                   const struct syn_group_options *options,
                                   struct syn_group **group);

/* See that all members, parameter servers among them, were given the same.
 *   lines  "name value" and a newline each, such as syn_settings_lines() makes
 * SYN_MISMATCH on every member, with the name, two values and who has them; the group is of no use
 * then. Members that run another version of the library are named likewise. Collective; blocks.
 * Before a reducer or a worker is opened, which do the same with their own options. */
enum syn_status syn_group_compare(struct syn_group *group, const char *lines);

/* For programs that initialise MPI themselves: call it before MPI_Init(), and MPI is as fast for
 * this library as if the library had initialised it. Tells Open MPI, by environment variables, to
 * send over TCP without asking first, and to have its sockets watched in a way that the library can
 * sleep on; variables that are set already, and other MPIs, are left alone. Before other threads
 * start, as it changes the environment. */
void syn_group_before_mpi(void);

/* Whether this process was started by an MPI launcher, found out without calling MPI. */
bool syn_group_under_mpi(void);

/* Whether this process may well train without other processes: SYN_INVALID, with the reason, if a
 * launcher (srun without --mpi) started it as one of several that have no way to find each other.
 * For programs to call before they do; syn_group_open_mpi() refuses such a start by itself. */
enum syn_status syn_group_check_alone(void);

/* For programs to call when they end because of bad input, before they have opened a group: other
 * processes of the same launch may have been given better input, and would wait in MPI's start for
 * this one. Begins MPI and ends all of them, and this one, with that exit code; this one after
 * half a minute in any case, should others not begin MPI either.
 * Returns if nobody waits: this process is alone, MPI has begun (then groups tell), or the launcher
 * sees to it, as Open MPI's mpirun does. */
void syn_group_end_all(int exit_code);

/* Message passing that the host program brings. Messages between two workers arrive whole and in
 * the order of sending; a receive always asks for exactly the size that was sent. The library
 * calls these from one thread at a time, which need not be the opening one, and from nowhere
 * else. Return 0 on success; anything else fails the exchange on all workers. A failure is
 * one of the connection to that peer, which everybody then names. A message that takes longer than
 * timeout_ms and a second for each 100,000 bytes to arrive counts as silence. */
struct syn_caller_transport {
    void *context; /* handed to every function */

    /* Begin to send count bytes to a peer and return at once; they stay unchanged until test
     * says done. *handle is the caller's own name for what is under way. Never fewer than 1
     * byte. */
    int (*start_send)(void *context, size_t peer, const void *bytes, size_t count, void **handle);

    /* Begin to receive the peer's next message, which has count bytes. At most one is under way
     * for each peer, and it may be for as long as the group is open. */
    int (*start_receive)(void *context, size_t peer, void *bytes, size_t count, void **handle);

    /* Whether that send or receive is done; if it is, the handle is released. Does not block. */
    int (*test)(void *context, void *handle, bool *done);

    /* (optional) Give up on what is under way and release its handle; its bytes are not touched
     * any more. Called when a group closes or fails. Without it, such handles are never tested
     * again, the host sees to it that their bytes are not touched any more, and closing a group
     * leaks a few hundred bytes for each worker, in which messages might still arrive. */
    void (*cancel)(void *context, void *handle);

    /* (optional) Sleep until something has happened to what is under way since the last sleep, or
     * for so long. Without it the library looks again and again, at intervals of up to 1 ms. */
    void (*sleep)(void *context, int64_t most_ns);
};

/* Join a group over the caller's own message passing.
 *   transport  copied
 *   options    NULL: defaults
 * Does not wait for the others. */
enum syn_status syn_group_open_caller(const struct syn_caller_transport *transport, size_t rank,
                                      size_t workers, const struct syn_group_options *options,
                                      struct syn_group **group);

/* Make the last `servers` members of the group parameter servers; the others are its workers. Each
 * member says the same, before it opens anything on the group. SYN_INVALID if no worker would be
 * left. */
enum syn_status syn_group_appoint(struct syn_group *group, size_t servers);

/* Number of parameter servers, 0 unless appointed. Their ranks follow the workers'. */
size_t syn_group_servers(const struct syn_group *group);

/* This member's number: 0 to syn_group_workers() - 1 for workers, from there on for servers. */
size_t syn_group_rank(const struct syn_group *group);

/* P, the number of workers. */
size_t syn_group_workers(const struct syn_group *group);

/* Number of all members: workers and servers. */
size_t syn_group_size(const struct syn_group *group);

/* The name of its transport, such as "threads". */
const char *syn_group_transport(const struct syn_group *group);

/* Whether all members are threads of this process, and share its memory and its files. */
bool syn_group_is_one_process(const struct syn_group *group);

/* Tell the others that this member cannot go on, before anything is opened on the group. */
void syn_group_leave(struct syn_group *group, enum syn_status status, const char *cause);

/* Leave. Nothing may be under way on the group. Does not wait for the others; after a failure it
 * may take up to 200 ms to tell them. NULL is harmless. */
void syn_group_close(struct syn_group *group);

#ifdef __cplusplus
}
#endif
#endif
