/* Writing a checkpoint together: each worker its part, then, when all parts are on the disk, its
 * name. A disk that is full or gone costs the checkpoint, not the run. */
#include "engine/train/checkpoint/checkpoint.h"

#include <math.h>

#include "engine/base/fail.h"
#include "engine/train/loop/loop.h"
#include "engine/train/replica/gradient.h"

static enum syn_status refuse_nonfinite(const struct syn_run *run)
{
    size_t at = syn_gradient_find_nonfinite(run->global, run->params);
    if (at == run->params)
        return SYN_OK;
    const struct syn_layout *layout = syn_model_layout(run->model);
    struct syn_tensor tensor = syn_layout_tensor(layout, syn_layout_find(layout, at));
    return syn_report(SYN_NONFINITE, "step %llu: %s holds %g; no checkpoint of that",
                      (unsigned long long)run->step, tensor.name, (double)run->global[at]);
}

/* Whether it went well everywhere. */
static enum syn_status agree(struct syn_run *run, bool good, bool *all_good)
{
    struct syn_report own = {.is_good = good};
    SYN_TRY(syn_worker_gather(run->update.worker, &own, sizeof own, run->reports));
    *all_good = true;
    for (size_t w = 0; w < run->options.workers; w++)
        *all_good = *all_good && run->reports[w].is_good != 0;
    return SYN_OK;
}

static enum syn_status write_together(struct syn_run *run, const struct syn_archive *archive,
                                      bool *written)
{
    const char *out = run->files.out;
    bool mine = false;
    bool all_good = false;
    enum syn_status status =
        syn_checkpoint_put(out, run->step, run->rank, (size_t)run->options.workers, archive);
    SYN_TRY(agree(run, status == SYN_OK, &all_good));
    if (!all_good) {
        syn_checkpoint_discard(out, run->step, run->rank);
        return SYN_OK;
    }
    status = syn_checkpoint_publish(out, run->step, &mine);
    SYN_TRY(agree(run, status == SYN_OK, written));
    if (*written)
        run->saved = run->step;
    if (*written && mine)
        syn_checkpoint_prune(out, run->step, run->best.step);
    return SYN_OK;
}

enum syn_status syn_checkpoint_write(struct syn_run *run, bool *written)
{
    struct syn_archive *archive = NULL;
    *written = run->saved == run->step;
    if (*written)
        return SYN_OK;
    SYN_TRY(syn_worker_settle(run->update.worker, run->global));
    SYN_TRY(refuse_nonfinite(run));
    SYN_TRY(syn_archive_new(&archive));
    enum syn_status status = syn_checkpoint_pack(run, archive);
    if (status == SYN_OK)
        status = write_together(run, archive, written);
    else if (status == SYN_UNSUPPORTED) /* on all workers alike */
        status = SYN_OK;
    syn_archive_free(archive);
    return status;
}
