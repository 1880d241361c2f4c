/* The training loop: steps, and what is due between them, until the last step or until told to
 * stop. All workers do the same in the same order. */
#include "engine/train/loop/loop.h"

#include "engine/base/clock.h"
#include "engine/base/fail.h"

/* When a checkpoint is written. */
enum moment { AT_START, IN_BETWEEN, AT_END };

/* The others leave after the first worker has said why; otherwise it might hear of a failure of
 * theirs first and report that. */
static enum syn_status refuse_start(struct syn_run *run)
{
    bool all_good;
    if (run->replica.rank == 0)
        syn_report(SYN_IO, "out: checkpoints cannot be written to %s", run->metrics.files.out);
    SYN_TRY(syn_metrics_all_good(&run->metrics, false, &all_good));
    return SYN_IO;
}

/* If a checkpoint cannot be written: at the start the run is refused, in the middle it continues,
 * at the end its result is lost. */
static enum syn_status save(struct syn_run *run, enum moment moment)
{
    bool written;
    if (run->replica.options.no_exchange) /* nothing to resume from */
        return SYN_OK;
    SYN_TRY(syn_checkpoint_write(&run->checkpoints, &written));
    run->control.wants_save = false;
    run->control.saved_ns = syn_engine_clock_ns();
    if (written)
        return SYN_OK;
    run->checkpoints.is_lost = moment == AT_END;
    if (moment == AT_START)
        return refuse_start(run);
    if (moment == IN_BETWEEN && run->replica.rank == 0)
        syn_report_log(SYN_LOG_WARNING,
                       "step %llu could not be saved; earlier checkpoints are untouched",
                       (unsigned long long)run->replica.at.step);
    return SYN_OK;
}

static bool is_logging_due(const struct syn_replica *replica)
{
    const struct syn_position *at = &replica->at;
    uint64_t every = replica->options.log_every;
    return at->step == at->steps || (every > 0 && at->step % every == 0);
}

static bool is_saving_due(const struct syn_replica *replica)
{
    uint64_t every = replica->options.checkpoint_every;
    return every > 0 && replica->at.step % every == 0;
}

static enum syn_status evaluate_if_due(struct syn_run *run)
{
    bool is_due = syn_evaluation_is_due(&run->evaluation) && !run->control.stopped;
    return is_due ? syn_evaluate(&run->evaluation) : SYN_OK;
}

/* What is due between two steps. Asynchronous workers, which are at different steps, ask first, so
 * that one that gave up a step can join them. */
static enum syn_status do_what_is_due(struct syn_run *run)
{
    const struct syn_replica *replica = &run->replica;
    bool logs = is_logging_due(replica);
    bool saves = is_saving_due(replica);
    bool meets = logs || saves || syn_evaluation_is_due(&run->evaluation);
    SYN_TRY(syn_control_ask(&run->control, meets));
    if (logs || run->control.stopped) {
        SYN_TRY(syn_metrics_gather(&run->metrics));
        if (run->metrics.now.sums.steps > 0)
            syn_metrics_log(&run->metrics);
    }
    SYN_TRY(evaluate_if_due(run));
    if ((is_saving_due(replica) || run->control.wants_save) && !run->control.stopped)
        SYN_TRY(save(run, IN_BETWEEN));
    return SYN_OK;
}

enum syn_status syn_run_loop(struct syn_run *run)
{
    struct syn_replica *replica = &run->replica;
    if (replica->options.checkpoint_every > 0)
        SYN_TRY(save(run, AT_START));
    SYN_TRY(evaluate_if_due(run)); /* if the run was stopped before it was done */
    syn_control_start(&run->control);
    while (replica->at.step < replica->at.steps && !run->control.stopped) {
        SYN_TRY(syn_run_step(run));
        syn_evaluation_tell(&run->evaluation, -1);
        SYN_TRY(do_what_is_due(run));
    }
    SYN_TRY(syn_control_finish(&run->control));
    SYN_TRY(save(run, AT_END));
    return syn_worker_settle(replica->update.worker, replica->global);
}

enum syn_status syn_run_finish(struct syn_run *run, struct syn_train_summary *summary)
{
    struct syn_train_summary made = syn_metrics_summary(&run->metrics);
    syn_evaluation_summary(&run->evaluation, &made);
    made.stopped = run->control.stopped;
    if (run->replica.rank == 0 && !run->checkpoints.is_lost)
        SYN_TRY(syn_files_finish(&run->metrics.files, &made));
    *summary = made;
    return SYN_OK;
}
