/* The page: report/page.html with its style, scripts and data, in one file. */
#ifndef SYN_APP_REPORT_PAGE_H
#define SYN_APP_REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/status.h>

#include "text.h"

/* Add the data of a page: {"follow": ..., "version": ..., "runs": [...]}. The version changes
 * whenever the runs do.
 *   is_followed  the page polls its server for updates */
enum syn_status page_add_data(const char *const *paths, size_t count, bool is_followed,
                              struct text *text);

/* Add a page that shows data. */
enum syn_status page_add(const struct text *data, struct text *text);

/* The version inside data, lent: 16 hexadecimal digits. */
const char *page_version(const struct text *data);

#endif
