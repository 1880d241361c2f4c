/* The worker's settings: what follows from others, and which go together. */
#include "worker/options.h"

#include <string.h>

#include "codec/codec.h"
#include "optim/local.h"
#include "optim/optim.h"
#include "reducer/options.h"
#include "residual/residual.h"
#include "schedule/schedule.h"
#include "select/select.h"
#include "worker/inner.h"
#include "worker/store.h"

/* The forms of momentum, in the order of their names. */
enum { MOMENTUM_GLOBAL, MOMENTUM_CORRECTED, MOMENTUM_MASKED, MOMENTUM_NONE };

const char *syn_momentum_form_name(size_t i)
{
    static const char *const names[] = {"global", "corrected", "masked", "none"};
    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

const char *syn_pull_values_name(size_t i)
{
    static const char *const names[] = {"f32", "f16"};
    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

static bool has_form(const struct syn_worker_options *options, size_t form)
{
    return syn_choice_number(syn_momentum_form_name, options->momentum_form) == form;
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

/* An optimizer with momentum of its own is the only place for it. What workers do while a delayed
 * result is under way guesses at momentum SGD, and would be of no use beside it. */
static enum syn_status check_adapting(const struct syn_worker_options *options)
{
    const char *name = options->optimizer.optimizer;
    if (!syn_optimizer_adapts(&options->optimizer))
        return SYN_OK;
    if (options->optimizer.nesterov)
        return syn_fail(SYN_INVALID, "nesterov is for optimizer sgd, not %s", name);
    if (syn_residual_is_moving(options->momentum_form))
        return syn_fail(SYN_INVALID,
                        "optimizer %s has momentum of its own; momentum-form %s is for sgd, use "
                        "momentum-form global",
                        name, options->momentum_form);
    if (syn_schedule_find(options->schedule)->is_delayed)
        return syn_fail(SYN_INVALID,
                        "schedule %s moves on by local updates that are made for optimizer sgd, "
                        "not %s; use schedule sync or local",
                        options->schedule, name);
    return SYN_OK;
}

/* Momentum is in one place only. */
static enum syn_status place_momentum(struct syn_worker_options *options)
{
    struct syn_reducer_options *reducer = &options->reducer;
    bool is_global = has_form(options, MOMENTUM_GLOBAL);
    bool is_corrected = syn_residual_is_moving(options->momentum_form);
    SYN_TRY(check_adapting(options));
    if (syn_optimizer_adapts(&options->optimizer))
        options->optimizer.momentum = 0;
    if (options->optimizer.nesterov && options->optimizer.momentum == 0)
        return syn_fail(SYN_INVALID, "nesterov needs a momentum above 0");
    if (options->optimizer.nesterov && !is_global)
        return syn_fail(SYN_INVALID, "nesterov needs momentum-form global, not %s",
                        options->momentum_form);
    if (is_corrected)
        reducer->residual = options->momentum_form;
    else if (syn_residual_is_moving(reducer->residual))
        reducer->residual = "auto";
    reducer->residual_momentum = is_corrected ? options->optimizer.momentum : 0;
    if (!is_global)
        options->optimizer.momentum = 0;
    return SYN_OK;
}

/* A density that is left open needs an exchange that follows it. */
static void prepare_auto(struct syn_reducer_options *reducer)
{
    const struct syn_exchange_type *exchange = syn_exchange_find(reducer->exchange);
    const struct syn_residual_type *residual = syn_residual_find(reducer->residual);
    bool is_plain = syn_select_find(reducer->select)->is_dense && exchange->is_dense &&
                    !exchange->follows_density;
    if (reducer->density != SYN_AUTO || !is_plain)
        return;
    reducer->exchange = "adaptive";
    if (syn_value_find(reducer->values)->is_exact)
        reducer->values = "q4";
    if (residual && !residual->has_unsent)
        reducer->residual = "feedback";
}

/* Replicas alone know what to do with sums of which some parts come later. */
static enum syn_status check_adaptive_store(const struct syn_worker_options *options)
{
    const struct syn_reducer_options *reducer = &options->reducer;
    bool is_kept = !syn_store_find(options->store)->owners;
    if (!syn_exchange_find(reducer->exchange)->follows_density || is_kept)
        return SYN_OK;
    return syn_fail(SYN_INVALID,
                    "%s is for workers that have all weights, without servers; store is %s, "
                    "expected replicas",
                    reducer->density == SYN_AUTO ? "density auto" : "exchange adaptive",
                    options->store);
}

/* The store that fits, the last of the table first.
 *   has_servers  whether the group has some */
static const char *fitting_store(const struct syn_worker_options *options, bool has_servers)
{
    const char *fitting = NULL;
    for (size_t i = 0; syn_store_row(i); i++) {
        const struct syn_store_type *store = syn_store_row(i);
        if (store->has_servers == has_servers && (!store->suits || store->suits(options)))
            fitting = store->part.name;
    }
    return fitting;
}

/* What only servers can do. */
static enum syn_status check_without_servers(const struct syn_worker_options *options)
{
    if (syn_schedule_find(options->schedule)->is_async)
        return syn_fail(SYN_INVALID,
                        "schedule %s needs parameter servers, which apply each gradient by itself",
                        options->schedule);
    if (!syn_value_find(options->pull_values)->is_exact)
        return syn_fail(SYN_INVALID, "pull-values %s is for the weights of parameter servers",
                        options->pull_values);
    return SYN_OK;
}

static enum syn_status check_async(const struct syn_worker_options *options)
{
    if (syn_schedule_find(options->schedule)->is_async)
        return SYN_OK;
    if (options->compensation > 0)
        return syn_fail(SYN_INVALID, "compensation %g is for schedule async, not %s",
                        options->compensation, options->schedule);
    if (options->lag > 0)
        return syn_fail(SYN_INVALID, "lag %llu is for schedule async, not %s",
                        (unsigned long long)options->lag, options->schedule);
    return SYN_OK;
}

static enum syn_status choose_store(struct syn_worker_options *options, size_t servers)
{
    bool is_known = servers != SYN_SERVERS_UNKNOWN;
    bool is_async = syn_schedule_find(options->schedule)->is_async;
    if (!syn_store_find(options->store)) /* auto */
        options->store = fitting_store(options, is_known ? servers > 0 : is_async);
    const struct syn_store_type *store = syn_store_find(options->store);
    bool has_servers = store->has_servers;
    if (servers == 0 && has_servers)
        return syn_fail(SYN_INVALID, "store %s needs a group with servers; it has none",
                        options->store);
    if (is_known && servers > 0 && !has_servers)
        return syn_fail(SYN_INVALID, "store %s leaves the group's %zu servers without work",
                        options->store, servers);
    SYN_TRY(check_adaptive_store(options));
    if (!has_servers)
        SYN_TRY(check_without_servers(options));
    SYN_TRY(check_async(options));
    return store->check ? store->check(options) : SYN_OK;
}

enum syn_status syn_worker_resolve(struct syn_worker_options *options, size_t servers,
                                   double *momentum)
{
    SYN_TRY(syn_settings_check(&syn_worker_settings, options));
    SYN_TRY(syn_settings_check(&syn_reducer_settings, &options->reducer));
    SYN_TRY(syn_settings_check(&syn_optimizer_settings, &options->optimizer));
    bool has_momentum =
        !has_form(options, MOMENTUM_NONE) && !syn_optimizer_adapts(&options->optimizer);
    *momentum = has_momentum ? options->optimizer.momentum : 0;
    SYN_TRY(syn_inner_check(options));
    SYN_TRY(place_momentum(options));
    prepare_auto(&options->reducer);
    SYN_TRY(syn_reducer_check(&options->reducer));
    SYN_TRY(syn_reducer_resolve(&options->reducer));
    if (options->send_updates && !syn_residual_find(options->reducer.residual)->has_unsent)
        return syn_fail(SYN_INVALID, "send-updates needs a residual to keep the updates in");
    if (syn_schedule_find(options->schedule)->is_async)
        options->compare_every = 0;
    return choose_store(options, servers);
}

struct syn_traits syn_worker_traits(const struct syn_worker_options *options)
{
    const struct syn_select_type *select = syn_select_find(options->reducer.select);
    const struct syn_exchange_type *exchange = syn_exchange_find(options->reducer.exchange);
    const struct syn_schedule_type *schedule = syn_schedule_find(options->schedule);
    return (struct syn_traits){
        .is_dense = select && select->is_dense && !(exchange && exchange->follows_density),
        .takes_share = select && select->takes_share,
        .is_delayed = schedule && (schedule->is_delayed || schedule->is_local),
        .is_local = schedule && schedule->is_local,
        .is_async = schedule && schedule->is_async,
        .is_merged = exchange && exchange->merges_on_the_way,
        .has_momentum =
            !has_form(options, MOMENTUM_NONE) || syn_optimizer_adapts(&options->optimizer),
    };
}

enum syn_status syn_worker_check(const struct syn_worker_options *options)
{
    return syn_worker_check_servers(options, SYN_SERVERS_UNKNOWN);
}

enum syn_status syn_worker_check_servers(const struct syn_worker_options *options, size_t servers)
{
    struct syn_worker_options copy = *options;
    double momentum;
    return syn_worker_resolve(&copy, servers, &momentum);
}
