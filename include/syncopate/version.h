/* The version of the library. */
#ifndef SYNCOPATE_VERSION_H
#define SYNCOPATE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library at run time, such as "0.2.0"; a static string. Headers define none:
 * the version is written in one place only, project() in CMakeLists.txt. */
const char *syn_version(void);

#ifdef __cplusplus
}
#endif
#endif
