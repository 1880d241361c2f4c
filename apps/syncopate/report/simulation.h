/* Checks the format of a simulation's results. */
#ifndef SYN_APP_REPORT_SIMULATION_H
#define SYN_APP_REPORT_SIMULATION_H

#include <jansson.h>

#include <syncopate/status.h>

/* Check that an object has the format of docs/report.md; SYN_INVALID with the place if not.
 *   path  of its file, for the message */
enum syn_status simulation_check(const char *path, const json_t *object);

#endif
