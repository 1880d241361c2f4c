/* The worker's settings: values derived from others, and the traits that decide what can be
 * combined. */
#include "worker/options.h"

#include <string.h>

#include "codec/codec.h"
#include "optim/local.h"
#include "optim/optim.h"
#include "reducer/options.h"
#include "reducer/refusals.h"
#include "residual/residual.h"
#include "schedule/schedule.h"
#include "select/select.h"
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

/* Momentum is applied in one place only. */
static void place_momentum(struct syn_worker_options *options)
{
    struct syn_reducer_options *reducer = &options->reducer;
    bool is_global = has_form(options, MOMENTUM_GLOBAL);
    bool is_corrected = syn_residual_is_moving(options->momentum_form);
    if (syn_optimizer_adapts(&options->optimizer))
        options->optimizer.momentum = 0;
    if (is_corrected)
        reducer->residual = options->momentum_form;
    else if (syn_residual_is_moving(reducer->residual))
        reducer->residual = "auto";
    reducer->residual_momentum = is_corrected ? options->optimizer.momentum : 0;
    if (!is_global)
        options->optimizer.momentum = 0;
}

enum syn_status syn_worker_place(const struct syn_worker_options *resolved, double momentum,
                                 struct syn_optimizer_options *options)
{
    bool is_elsewhere = syn_residual_is_moving(resolved->momentum_form);
    if (is_elsewhere && options->momentum != momentum)
        return syn_fail(SYN_INVALID,
                        "momentum %g cannot become %g: with momentum-form %s it is part of the "
                        "residual from the first step",
                        momentum, options->momentum, resolved->momentum_form);
    if (syn_optimizer_adapts(options) || !has_form(resolved, MOMENTUM_GLOBAL))
        options->momentum = 0;
    return SYN_OK;
}

/* Whether servers will keep the weights, as far as can be known. */
static bool is_on_servers(const struct syn_worker_options *options, size_t servers)
{
    const struct syn_store_type *store = syn_store_find(options->store);
    if (store)
        return store->has_servers;
    return servers != SYN_SERVERS_UNKNOWN ? servers > 0
                                          : syn_schedule_find(options->schedule)->is_async;
}

/* Servers cannot read values in blocks (refusals.def). */
static void choose_values(struct syn_worker_options *options, size_t servers)
{
    struct syn_reducer_options *reducer = &options->reducer;
    bool is_part = syn_reducer_sends_part(reducer) && !is_on_servers(options, servers);
    reducer->values = syn_values_chosen(reducer->values, is_part);
}

/* Density auto needs an exchange that follows the density. */
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

/* The store that suits the options; later rows of the table take precedence.
 *   has_servers  whether the group has servers */
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

static void choose_store(struct syn_worker_options *options, size_t servers)
{
    if (!syn_store_find(options->store)) /* auto */
        options->store = fitting_store(options, is_on_servers(options, servers));
}

/* The traits as requested, before place_momentum(). */
static uint64_t asked_traits(const struct syn_worker_options *options)
{
    const struct syn_optimizer_options *optimizer = &options->optimizer;
    return SYN_TRAIT_IF(WORKER, true) | SYN_TRAIT_IF(NESTEROV, optimizer->nesterov) |
           SYN_TRAIT_IF(MOMENTUM, optimizer->momentum > 0) |
           SYN_TRAIT_IF(ADAPTS, syn_optimizer_adapts(optimizer)) |
           SYN_TRAIT_IF(WHOLE_TENSORS, syn_optimizer_needs_whole_tensors(optimizer)) |
           SYN_TRAIT_IF(MOMENTUM_MOVES, syn_residual_is_moving(options->momentum_form)) |
           SYN_TRAIT_IF(LOCAL, syn_schedule_find(options->schedule)->is_local) |
           SYN_TRAIT_IF(DELAYED, syn_schedule_find(options->schedule)->is_delayed) |
           SYN_TRAIT_IF(MOMENTUM_GLOBAL, has_form(options, MOMENTUM_GLOBAL));
}

static uint64_t store_traits(const struct syn_store_type *store, size_t servers)
{
    bool is_known = servers != SYN_SERVERS_UNKNOWN;
    return SYN_TRAIT_IF(STORE, true) | SYN_TRAIT_IF(OWNERS, store->owners) |
           SYN_TRAIT_IF(NEEDS_HALVES, store->halves_exchange) |
           SYN_TRAIT_IF(ON_SERVERS, store->has_servers) |
           SYN_TRAIT_IF(SERVERS, is_known && servers > 0) | SYN_TRAIT_IF(NO_SERVERS, servers == 0);
}

static uint64_t worker_traits(const struct syn_worker_options *options)
{
    return SYN_TRAIT_IF(ASYNC, syn_schedule_find(options->schedule)->is_async) |
           SYN_TRAIT_IF(COMPENSATES, options->compensation > 0) |
           SYN_TRAIT_IF(LAGS, options->lag > 0) |
           SYN_TRAIT_IF(PULLS_ROUNDED, !syn_value_find(options->pull_values)->is_exact) |
           SYN_TRAIT_IF(SENDS_UPDATES, options->send_updates);
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
    const struct syn_chosen chosen[] = {{&syn_worker_settings, options},
                                        {&syn_reducer_settings, &options->reducer},
                                        {&syn_optimizer_settings, &options->optimizer}};
    uint64_t asked = asked_traits(options);
    SYN_TRY(syn_refuse(asked, chosen, sizeof chosen / sizeof chosen[0]));
    place_momentum(options);
    choose_values(options, servers);
    prepare_auto(&options->reducer);
    SYN_TRY(syn_reducer_check(&options->reducer));
    SYN_TRY(syn_reducer_resolve(&options->reducer));
    if (syn_schedule_find(options->schedule)->is_async)
        options->compare_every = 0;
    choose_store(options, servers);
    uint64_t traits = asked | syn_reducer_traits(&options->reducer) | worker_traits(options) |
                      store_traits(syn_store_find(options->store), servers);
    return syn_refuse(traits, chosen, sizeof chosen / sizeof chosen[0]);
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
        .adapts = syn_optimizer_adapts(&options->optimizer),
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

bool syn_worker_is_possible(const struct syn_worker_options *options)
{
    syn_try_silently(true);
    enum syn_status status = syn_worker_check(options);
    syn_try_silently(false);
    return status == SYN_OK;
}
