/* Writing a checkpoint collectively: each worker writes its part; when all parts are on the disk,
 * the checkpoint gets its name. A disk that is full or gone costs the checkpoint, not the run. */
#include <math.h>

#include "engine/base/fail.h"
#include "engine/train/checkpoint/parts.h"

static enum syn_status refuse_nonfinite(const struct syn_replica *replica)
{
    size_t at = syn_gradient_find_nonfinite(replica->global, replica->params);
    if (at == replica->params)
        return SYN_OK;
    const struct syn_layout *layout = syn_model_layout(replica->model);
    struct syn_tensor tensor = syn_layout_tensor(layout, syn_layout_find(layout, at));
    return syn_report(SYN_NONFINITE, "step %llu: %s holds %g; not saved",
                      (unsigned long long)replica->at.step, tensor.name,
                      (double)replica->global[at]);
}

static enum syn_status write_together(struct syn_checkpoints *checkpoints,
                                      const struct syn_archive *archive, bool *written)
{
    const struct syn_replica *replica = checkpoints->replica;
    const char *out = checkpoints->metrics->files.out;
    uint64_t step = replica->at.step;
    bool mine = false;
    bool all_good = false;
    enum syn_status status =
        syn_checkpoint_put(out, step, replica->rank, (size_t)replica->options.workers, archive);
    SYN_TRY(syn_metrics_all_good(checkpoints->metrics, status == SYN_OK, &all_good));
    if (!all_good) {
        syn_checkpoint_discard(out, step, replica->rank);
        return SYN_OK;
    }
    status = syn_checkpoint_publish(out, step, &mine);
    SYN_TRY(syn_metrics_all_good(checkpoints->metrics, status == SYN_OK, written));
    if (*written)
        checkpoints->saved = step;
    if (*written && mine)
        syn_checkpoint_prune(out, step, checkpoints->evaluation->best.step);
    return SYN_OK;
}

enum syn_status syn_checkpoint_write(struct syn_checkpoints *checkpoints, bool *written)
{
    struct syn_archive *archive = NULL;
    const struct syn_replica *replica = checkpoints->replica;
    *written = checkpoints->saved == replica->at.step;
    if (*written)
        return SYN_OK;
    SYN_TRY(syn_worker_settle(replica->update.worker, replica->global));
    SYN_TRY(refuse_nonfinite(replica));
    SYN_TRY(syn_archive_new(&archive));
    enum syn_status status = syn_checkpoint_pack(checkpoints, archive);
    if (status == SYN_OK)
        status = write_together(checkpoints, archive, written);
    else if (status == SYN_UNSUPPORTED) /* the same on all workers */
        status = SYN_OK;
    syn_archive_free(archive);
    return status;
}
