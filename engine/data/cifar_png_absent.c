/* What stands in for cifar_png.c in a build without libpng: CIFAR-10 can still be had as its binary
 * version. */
#include "engine/base/fail.h"
#include "engine/data/cifar.h"

enum syn_status syn_cifar_from_png(const char *png, const uint8_t *labels, size_t records,
                                   const char *to)
{
    (void)labels;
    (void)records;
    (void)to;
    return syn_report(SYN_UNSUPPORTED,
                      "%s: this build of Syncopate reads no PNG; install libpng and build again",
                      png);
}
