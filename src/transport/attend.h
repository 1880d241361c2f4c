/* Answers pings for members that are busy.
 *
 * A member receives and answers control messages while it waits for messages. But its threads also
 * compute, load, save or idle for any length of time, and the others must be able to distinguish
 * that from death. So each process has one thread that checks a few times a second, and receives
 * and answers for every group that is not in use at that moment. It is not part of a step: a thread
 * that uses a group holds its mutex, and that group is skipped. */
#ifndef SYN_TRANSPORT_ATTEND_H
#define SYN_TRANSPORT_ATTEND_H

#include "base/status.h"

struct syn_group;

/* Start and stop answering for a group. syn_attend_end() returns when the thread no longer uses the
 * group, and does nothing if answering was not started. */
enum syn_status syn_attend_begin(struct syn_group *group);
void syn_attend_end(struct syn_group *group);

#endif
