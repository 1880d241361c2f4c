/* Read before every file of the library (see src/CMakeLists.txt): what the public headers declare
 * is visible from outside a shared library, and nothing else is. The headers themselves stay free
 * of export macros, which their readers would have to look past. */
#ifndef SYN_BASE_VISIBLE_H
#define SYN_BASE_VISIBLE_H

#pragma GCC visibility push(default)
#include <syncopate/report.h>
#include <syncopate/syncopate.h>
#pragma GCC visibility pop

#endif
