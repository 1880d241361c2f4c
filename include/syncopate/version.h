/* Which Syncopate this is. */
#ifndef SYNCOPATE_VERSION_H
#define SYNCOPATE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that runs, such as "0.2.0"; a static string. Headers carry none, so
 * that it stands in one place, project() in CMakeLists.txt. */
const char *syn_version(void);

#ifdef __cplusplus
}
#endif
#endif
