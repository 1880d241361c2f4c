/* What a page is made of: runs, as `syncopate train` leaves them, and results of simulations. */
#ifndef SYN_APP_REPORT_RUN_H
#define SYN_APP_REPORT_RUN_H

#include <syncopate/status.h>

#include "text.h"

/* Add a JSON array with an object for each path. Of a run: "path"; "settings" and "summary" (null
 * if it has not ended) as the files have them; "metrics", the lines of its file up to the first
 * that is not whole; "cut", whether there was one. Of a file of a simulation: "path" and
 * "simulation", see docs/report.md. What is neither: SYN_INVALID, and text is of no use. */
enum syn_status runs_read(const char *const *paths, size_t count, struct text *text);

#endif
