/* The reducer's settings, and values derived from them. */
#include "reducer/inside.h"
#include "reducer/refusals.h"

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

double syn_reducer_density_most(const struct syn_reducer_options *options)
{
    if (options->density_max > 0)
        return options->density_max;
    bool is_part = options->density > 0 && options->density < 1;
    return is_part ? options->density : SYN_ADAPTIVE_MOST;
}

bool syn_reducer_sends_part(const struct syn_reducer_options *options)
{
    return !syn_select_find(options->select)->is_dense && options->density < 1;
}

enum syn_status syn_reducer_resolve(struct syn_reducer_options *options)
{
    SYN_TRY(syn_settings_check(&syn_reducer_settings, options));
    options->values = syn_values_chosen(options->values, syn_reducer_sends_part(options));
    bool sends_all = syn_select_find(options->select)->is_dense &&
                     syn_value_find(options->values)->is_exact &&
                     !syn_exchange_find(options->exchange)->follows_density;
    if (!syn_residual_find(options->residual)) /* auto */
        options->residual = sends_all ? "none" : "feedback";
    /* Without momentum there is no velocity to keep, and the result is the same as with
     * feedback. */
    if (syn_residual_is_moving(options->residual) && options->residual_momentum == 0)
        options->residual = "feedback";
    return SYN_OK;
}

enum syn_status syn_reducer_check(const struct syn_reducer_options *options)
{
    struct syn_reducer_options copy = *options;
    SYN_TRY(syn_reducer_resolve(&copy));
    const struct syn_chosen chosen = {&syn_reducer_settings, &copy};
    SYN_TRY(syn_refuse(syn_reducer_traits(&copy), &chosen, 1));
    const struct syn_select_type *select = syn_select_find(copy.select);
    return select->check ? select->check(&copy) : SYN_OK;
}

enum syn_status syn_reducer_check_layout(const struct syn_reducer_options *options,
                                         const struct syn_layout *layout)
{
    const struct syn_chosen chosen = {&syn_reducer_settings, options};
    return syn_refuse(syn_reducer_traits(options) | syn_layout_traits(layout), &chosen, 1);
}

enum syn_putback syn_reducer_putback(const struct syn_reducer_options *options)
{
    enum syn_putback asked;
    if (syn_putback_find(options->putback, &asked))
        return asked;
    bool can_own = syn_exchange_find(options->exchange)->sees_own_merges;
    bool wants_own = !syn_residual_find(options->residual)->forgets_sent;
    return can_own && wants_own ? SYN_PUTBACK_OWNER : SYN_PUTBACK_MERGER;
}
