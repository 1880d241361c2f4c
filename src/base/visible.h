/* Included before every file of the library (see src/CMakeLists.txt): a shared library exports what
 * the public headers declare, and nothing else. This keeps the headers themselves free of export
 * macros, which would clutter them. */
#ifndef SYN_BASE_VISIBLE_H
#define SYN_BASE_VISIBLE_H

#pragma GCC visibility push(default)
#include <syncopate/report.h>
#include <syncopate/syncopate.h>
#pragma GCC visibility pop

#endif
