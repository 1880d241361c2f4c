/* A progress bar on a terminal, plain lines elsewhere, and nothing for tasks that finish within two
 * seconds. */
#ifndef SYN_APP_PROGRESS_H
#define SYN_APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *title; /* lent until progress_end() */
    uint64_t total;    /* 0: not known */
    int64_t began_ns;
    int64_t first_ns; /* of the first progress_tell(), and the amount done by then: a resumed run */
    uint64_t first;   /* has not spent this time on the steps before its checkpoint */
    bool has_first;
    int64_t shown_ns;
    bool on_terminal;
    bool shown;
};

/* Begin; shows nothing yet. Lines go to standard error. */
void progress_begin(struct progress *progress, const char *title, uint64_t total);

/* Tell how much is done, with a few words such as "loss 0.123" (may be NULL). Cheap: draws at most
 * ten times a second on a terminal and once in ten seconds elsewhere. */
void progress_tell(struct progress *progress, uint64_t done, const char *words);

/* Clear the bar if it is shown. */
void progress_end(struct progress *progress);

#endif
