/* The contents of a page: runs as written by `syncopate train`, and results of simulations. */
#ifndef SYN_APP_REPORT_RUN_H
#define SYN_APP_REPORT_RUN_H

#include <syncopate/status.h>

#include "text.h"

/* Add a JSON array with an object for each path. For a run: "path"; "settings" and "summary" (null
 * if it has not finished) as in the files; "metrics", the lines of its file up to the first
 * incomplete one; "cut", whether there was one. For a simulation's file: "path" and "simulation",
 * see docs/report.md. Anything else: SYN_INVALID, and text is unusable. */
enum syn_status runs_read(const char *const *paths, size_t count, struct text *text);

#endif
