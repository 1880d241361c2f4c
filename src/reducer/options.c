/* The reducer's settings, and which of them go together. Each rule has its reason in its
 * message. */
#include "reducer/inside.h"

static const struct syn_setting rows[] = {
#define SYN_SETTING(...) SYN_SETTING_ROW(struct syn_reducer_options, __VA_ARGS__),
#include <syncopate/reducer_options.def>
#undef SYN_SETTING
};

const struct syn_settings_table syn_reducer_settings = {"Reducer", rows,
                                                        sizeof rows / sizeof rows[0]};

void syn_reducer_defaults(struct syn_reducer_options *options)
{
    syn_settings_defaults(&syn_reducer_settings, options);
}

static enum syn_status check_dense(const struct syn_reducer_options *options)
{
    const struct syn_residual_type *residual = syn_residual_find(options->residual);
    const struct syn_value_type *values = syn_value_find(options->values);
    if (!syn_exchange_find(options->exchange)->is_dense)
        return syn_fail(
            SYN_INVALID,
            "select all gives no list for exchange %s; use exchange ring, or select topk",
            options->exchange);
    if (values->needs_scale)
        return syn_fail(SYN_INVALID, "values %s send one magnitude, but select all has many",
                        options->values);
    if (residual->forgets_sent)
        return syn_fail(SYN_INVALID,
                        "residual %s forgets the momentum of what is sent, and select all sends "
                        "everything; use residual corrected, feedback or none",
                        options->residual);
    if (!values->is_exact && !residual->has_unsent)
        return syn_fail(SYN_INVALID,
                        "values %s round, and residual none would lose what rounding takes away; "
                        "use residual feedback",
                        options->values);
    return SYN_OK;
}

/* What a step may send changes, so that there is a residual. */
static enum syn_status check_adaptive(const struct syn_reducer_options *options)
{
    const struct syn_exchange_type *exchange = syn_exchange_find(options->exchange);
    if (options->density == SYN_AUTO && !exchange->follows_density)
        return syn_fail(SYN_INVALID,
                        "density auto chooses the exchange by itself, and exchange %s with select "
                        "%s was asked for; use algo fit, ssgd or od-sgd",
                        options->exchange, options->select);
    if (!exchange->follows_density)
        return SYN_OK;
    if (options->density == 0)
        return syn_fail(SYN_INVALID, "exchange %s needs a density above 0", options->exchange);
    if (!syn_residual_find(options->residual)->has_unsent)
        return syn_fail(SYN_INVALID,
                        "exchange %s does not send everything; residual none would lose the rest, "
                        "use feedback",
                        options->exchange);
    return SYN_OK;
}

/* A velocity goes on pushing what was forgotten, so that the rest would not be what was handed over
 * less what was counted. */
static enum syn_status check_forget(const struct syn_reducer_options *options)
{
    const struct syn_residual_type *residual = syn_residual_find(options->residual);
    if (options->forget == 0 || (residual->has_unsent && !residual->has_velocity))
        return SYN_OK;
    return syn_fail(SYN_INVALID, "forget %g needs residual feedback; it is %s", options->forget,
                    residual->has_velocity ? options->residual
                                           : "none, as everything is sent exactly");
}

double syn_reducer_density_most(const struct syn_reducer_options *options)
{
    if (options->density_max > 0)
        return options->density_max;
    bool is_part = options->density > 0 && options->density < 1;
    return is_part ? options->density : SYN_ADAPTIVE_MOST;
}

static enum syn_status check_putback(const struct syn_reducer_options *options)
{
    const struct syn_exchange_type *exchange = syn_exchange_find(options->exchange);
    enum syn_putback asked = SYN_PUTBACK_MERGER;
    bool is_auto = !syn_putback_find(options->putback, &asked);
    bool is_owner = asked == SYN_PUTBACK_OWNER;
    if (exchange->encodes_pieces && !is_owner && !is_auto)
        return syn_fail(SYN_INVALID,
                        "exchange %s gives everything that it drops back to the workers it came "
                        "from; putback %s cannot be, use owner or auto",
                        options->exchange, options->putback);
    if (!is_owner || exchange->encodes_pieces)
        return SYN_OK;
    if (!exchange->sees_own_merges)
        return syn_fail(SYN_INVALID,
                        "putback owner needs an exchange in which every worker sees the merges of "
                        "its own entries; %s is none",
                        options->exchange);
    if (!syn_value_find(options->values)->is_exact)
        return syn_fail(SYN_INVALID,
                        "putback owner needs exact values: a sum rounded to %s cannot be divided "
                        "among its owners",
                        options->values);
    return SYN_OK;
}

static enum syn_status check_sparse(const struct syn_reducer_options *options)
{
    const struct syn_exchange_type *exchange = syn_exchange_find(options->exchange);
    if (exchange->is_dense)
        return syn_fail(SYN_INVALID, "exchange %s is dense, but select %s gives lists",
                        options->exchange, options->select);
    if (!syn_residual_find(options->residual)->has_unsent)
        return syn_fail(SYN_INVALID,
                        "select %s with residual none would lose what is not sent; use residual "
                        "feedback or corrected",
                        options->select);
    if (exchange->merges_on_the_way && !exchange->encodes_pieces &&
        syn_value_find(options->values)->needs_scale)
        return syn_fail(SYN_INVALID,
                        "exchange %s sends sums, which values %s cannot hold; use exchange "
                        "allgather or split, or other values",
                        options->exchange, options->values);
    if (options->density_max > 0 && options->density_max < options->density)
        return syn_fail(SYN_INVALID, "density-max %g is below density %g", options->density_max,
                        options->density);
    const struct syn_select_type *select = syn_select_find(options->select);
    if (select->check)
        SYN_TRY(select->check(options));
    return check_putback(options);
}

enum syn_status syn_reducer_resolve(struct syn_reducer_options *options)
{
    SYN_TRY(syn_settings_check(&syn_reducer_settings, options));
    bool sends_all = syn_select_find(options->select)->is_dense &&
                     syn_value_find(options->values)->is_exact &&
                     !syn_exchange_find(options->exchange)->follows_density;
    if (!syn_residual_find(options->residual)) /* auto */
        options->residual = sends_all ? "none" : "feedback";
    /* Without momentum there is no velocity to keep, and it delivers what feedback delivers. */
    if (syn_residual_is_moving(options->residual) && options->residual_momentum == 0)
        options->residual = "feedback";
    return SYN_OK;
}

enum syn_status syn_reducer_check(const struct syn_reducer_options *options)
{
    struct syn_reducer_options copy = *options;
    SYN_TRY(syn_reducer_resolve(&copy));
    bool is_dense = syn_select_find(copy.select)->is_dense;
    SYN_TRY(check_adaptive(&copy));
    SYN_TRY(check_forget(&copy));
    return is_dense ? check_dense(&copy) : check_sparse(&copy);
}

enum syn_putback syn_reducer_putback(const struct syn_reducer_options *options)
{
    enum syn_putback asked;
    if (syn_putback_find(options->putback, &asked))
        return asked;
    bool can_own = syn_exchange_find(options->exchange)->sees_own_merges &&
                   syn_value_find(options->values)->is_exact;
    bool wants_own = !syn_residual_find(options->residual)->forgets_sent;
    return can_own && wants_own ? SYN_PUTBACK_OWNER : SYN_PUTBACK_MERGER;
}
