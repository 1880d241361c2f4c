/* The version, which the build passes in from CMakeLists.txt. */
#include <syncopate/version.h>

const char *syn_version(void)
{
    return SYN_VERSION;
}
