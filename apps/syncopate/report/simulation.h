/* The form of a simulation's results. */
#ifndef SYN_APP_REPORT_SIMULATION_H
#define SYN_APP_REPORT_SIMULATION_H

#include <jansson.h>

#include <syncopate/status.h>

/* Whether an object has the form of docs/report.md; else SYN_INVALID with the place.
 *   path  of its file, for the message */
enum syn_status simulation_check(const char *path, const json_t *object);

#endif
