/* Answering for those who are busy.
 *
 * A member hears and answers while it waits for messages. But its threads also compute, load, save
 * or have nothing to do, for as long as they like, and the others must be able to tell that from
 * death. So each process has one thread that looks up a few times a second, and hears and answers
 * for every group that nobody is using at that moment. It is no part of a step: who uses a group
 * holds its mutex, and is passed over. */
#ifndef SYN_TRANSPORT_ATTEND_H
#define SYN_TRANSPORT_ATTEND_H

#include "base/status.h"

struct syn_group;

/* Begin and end to answer for a group. The second returns when nobody is at it any more, and does
 * nothing if it was not begun. */
enum syn_status syn_attend_begin(struct syn_group *group);
void syn_attend_end(struct syn_group *group);

#endif
