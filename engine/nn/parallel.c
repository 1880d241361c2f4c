/* OpenMP, because Debian's oneDNN is built with it. Without OpenMP in the compiler, the parts run
 * one after another, with the same results. The one libgomp function is declared here, because
 * clang comes without omp.h. */
#include "engine/nn/parallel.h"

#include "engine/nn/waiting.h"

extern void omp_set_num_threads(int threads);

void parallel_run(size_t threads, size_t count, parallel_body *body, void *context)
{
    if (threads <= 1 || count <= 1) {
        body(context, 0, 0, count);
        return;
    }
#pragma omp parallel for num_threads((int)threads) schedule(static, 1)
    for (size_t part = 0; part < threads; part++)
        body(context, part, count * part / threads, count * (part + 1) / threads);
}

void parallel_limit(size_t threads)
{
    omp_set_num_threads((int)threads);
    if (threads > 1)
        waiting_adapt();
}
