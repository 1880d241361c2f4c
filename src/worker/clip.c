/* Who clips what. */
#include "worker/clip.h"

#include "exchange/exchange.h"
#include "schedule/schedule.h"
#include "select/select.h"

double syn_clip_merged(const struct syn_worker_options *options)
{
    bool is_seen = syn_select_find(options->reducer.select)->is_dense &&
                   !syn_exchange_find(options->reducer.exchange)->follows_density &&
                   !syn_schedule_find(options->schedule)->is_async &&
                   !syn_schedule_find(options->schedule)->is_local;
    return is_seen ? options->clip : 0;
}

double syn_clip_own(const struct syn_worker_options *options)
{
    bool is_local = syn_schedule_find(options->schedule)->is_local; /* it clips when it updates */
    return syn_clip_merged(options) > 0 || is_local ? 0 : options->clip;
}
