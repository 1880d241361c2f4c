/* Replaces cifar_png.c in a build without libpng: CIFAR-10 is still available in its binary
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
                      "%s: this build of Syncopate cannot read PNG; install libpng and rebuild",
                      png);
}
