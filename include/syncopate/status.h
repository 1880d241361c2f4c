/* Status codes. Every function that can fail returns one of these; its results are written on
 * success only. The exact cause, with its values, is in syn_error_text() and goes to the log. */
#ifndef SYNCOPATE_STATUS_H
#define SYNCOPATE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum syn_status {
    SYN_OK = 0,
    SYN_INVALID,     /* the caller gave something out of range or contradictory */
    SYN_UNSUPPORTED, /* valid, but not in this build or not on this machine */
    SYN_MEMORY,      /* memory could not be allocated */
    SYN_IO,          /* a file or device failed */
    SYN_FORMAT,      /* bytes from a file or a peer are not what they should be */
    SYN_MISMATCH,    /* workers disagree about layout, settings or weights */
    SYN_NONFINITE,   /* a gradient holds NaN or infinity; the step did not happen */
    SYN_TIMEOUT,     /* a peer stayed silent for too long */
    SYN_PEER,        /* a peer reported that it failed */
    SYN_BUSY,        /* the number of steps under way has reached the limit set at open */
    SYN_STOPPED      /* the user asked to stop */
};

/* A short description of a status, such as "peer stayed silent"; never NULL. */
const char *syn_status_text(enum syn_status status);

/* The cause of the last failure returned to this thread, one line without a newline; "" if there
 * was none. Valid until the next failure on this thread. */
const char *syn_error_text(void);

#ifdef __cplusplus
}
#endif
#endif
