/* Insertion sort: there are only a handful of times. */
#include "inspect/median.h"

double syn_median(double *times, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        double time = times[i];
        size_t at = i;
        for (; at > 0 && times[at - 1] > time; at--)
            times[at] = times[at - 1];
        times[at] = time;
    }
    return times[count / 2];
}
