/* beta^t by squaring, not by pow(), whose last bit differs between C libraries. */
#include "optim/optim.h"

double syn_optim_bias(double beta, uint64_t update)
{
    double power = 1;
    for (; update > 0; update >>= 1, beta *= beta)
        if (update & 1)
            power *= beta;
    return 1 - power;
}
