/* The worker's settings: what follows from others, and which go together. */
#include "worker/options.h"

#include <string.h>

#include "optim/local.h"
#include "reducer/inside.h"
#include "schedule/schedule.h"
#include "worker/store.h"

const char *syn_momentum_form_name(size_t i)
{
    static const char *const names[] = {"global", "corrected", "none"};
    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

static const struct syn_setting rows[] = {
#define SYN_SETTING(...) SYN_SETTING_ROW(struct syn_worker_options, __VA_ARGS__),
#include <syncopate/worker_options.def>
#undef SYN_SETTING
};

const struct syn_settings_table syn_worker_settings = {"Worker", rows,
                                                       sizeof rows / sizeof rows[0]};

void syn_worker_defaults(struct syn_worker_options *options)
{
    syn_settings_defaults(&syn_worker_settings, options);
    syn_settings_defaults(&syn_reducer_settings, &options->reducer);
    syn_settings_defaults(&syn_optimizer_settings, &options->optimizer);
}

/* Momentum is in one place only. */
static enum syn_status place_momentum(struct syn_worker_options *options)
{
    struct syn_reducer_options *reducer = &options->reducer;
    bool is_global = strcmp(options->momentum_form, "global") == 0;
    bool is_corrected = strcmp(options->momentum_form, "corrected") == 0;
    if (options->optimizer.nesterov && options->optimizer.momentum == 0)
        return syn_fail(SYN_INVALID, "nesterov needs a momentum above 0");
    if (options->optimizer.nesterov && !is_global)
        return syn_fail(SYN_INVALID, "nesterov needs momentum-form global, not %s",
                        options->momentum_form);
    if (is_corrected)
        reducer->residual = "corrected";
    else if (strcmp(reducer->residual, "corrected") == 0)
        reducer->residual = "auto";
    reducer->residual_momentum = is_corrected ? options->optimizer.momentum : 0;
    if (!is_global)
        options->optimizer.momentum = 0;
    return SYN_OK;
}

static enum syn_status choose_store(struct syn_worker_options *options)
{
    bool is_delayed = syn_schedule_find(options->schedule)->is_delayed;
    bool is_plain = syn_select_find(options->reducer.select)->is_dense &&
                    syn_value_find(options->reducer.values)->is_exact;
    if (strcmp(options->store, "auto") == 0)
        options->store = is_delayed && is_plain ? "shards" : "replicas";
    const struct syn_store_type *store = syn_store_find(options->store);
    return store->check ? store->check(options) : SYN_OK;
}

enum syn_status syn_worker_resolve(struct syn_worker_options *options, double *momentum)
{
    SYN_TRY(syn_settings_check(&syn_worker_settings, options));
    SYN_TRY(syn_settings_check(&syn_reducer_settings, &options->reducer));
    SYN_TRY(syn_settings_check(&syn_optimizer_settings, &options->optimizer));
    *momentum = strcmp(options->momentum_form, "none") == 0 ? 0 : options->optimizer.momentum;
    SYN_TRY(place_momentum(options));
    SYN_TRY(syn_reducer_check(&options->reducer));
    SYN_TRY(syn_reducer_resolve(&options->reducer));
    if (options->send_updates && strcmp(options->reducer.residual, "none") == 0)
        return syn_fail(SYN_INVALID, "send-updates needs a residual to keep the updates in");
    return choose_store(options);
}

enum syn_status syn_worker_check(const struct syn_worker_options *options)
{
    struct syn_worker_options copy = *options;
    double momentum;
    return syn_worker_resolve(&copy, &momentum);
}
