/* Serves a page while its runs continue. */
#ifndef SYN_APP_REPORT_SERVE_H
#define SYN_APP_REPORT_SERVE_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/status.h>

/* Serve the page of these runs on 127.0.0.1 until Ctrl-C or SIGTERM, and print its address. Blocks.
 *   port  0: any free port */
enum syn_status serve(const char *const *paths, size_t count, uint16_t port);

#endif
