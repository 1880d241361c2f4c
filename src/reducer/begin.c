/* The first half of a step, on the caller's thread: residual, selection and coding. Then the
 * communication thread takes over. */
#include "base/clock.h"
#include "base/memory.h"
#include "reducer/inside.h"
#include "reducer/intake.h"
#include "reducer/lag.h"

/* A contribution in the layout's order, for owners that know no other. */
static struct syn_contribution place(const struct syn_reducer *reducer, struct transfer *transfer)
{
    struct syn_contribution in = transfer->in;
    for (size_t i = 0; i < in.list.count; i++)
        transfer->placed.index[i] =
            (uint32_t)syn_order_place(&reducer->order, in.first + in.list.index[i]);
    memcpy(transfer->placed.value, in.list.value, in.list.count * sizeof *in.list.value);
    transfer->placed.count = in.list.count;
    if (in.is_nonfinite)
        in.nonfinite_entry =
            (uint32_t)syn_order_place(&reducer->order, in.first + in.nonfinite_entry);
    in.list = transfer->placed;
    in.first = 0;
    in.about.size = (uint32_t)reducer->size;
    return in;
}

/* On the communication thread. */
static enum syn_status exchange_transfer(struct syn_work *work)
{
    struct transfer *transfer = (struct transfer *)work;
    const struct syn_reducer *reducer = transfer->reducer;
    const struct syn_exchange_type *exchange = reducer->exchange_type;
    if (!exchange->keeps_sums || !reducer->order.runs)
        return exchange->run(reducer->exchange, &transfer->in, &transfer->out);
    struct syn_contribution in = place(reducer, transfer);
    return exchange->run(reducer->exchange, &in, &transfer->out);
}

/* Everything is sent. With a residual, gradient plus residual is sent, and the new residual is
 * zero until the exchange reports what was lost by rounding. If no newer step can begin
 * meanwhile, the data to send occupies the memory of the next residual, and the exchange turns
 * one into the other. */
static void fill_dense(struct syn_reducer *reducer, struct slot *slot, struct transfer *transfer,
                       const struct bucket *bucket, const struct syn_intake *intake)
{
    transfer->in.list.count = 0;
    transfer->out.dropped.count = 0;
    if (slot->dense)
        transfer->out.dense = slot->dense + bucket->first;
    if (slot->drops)
        transfer->out.dense_dropped =
            slot->dense_dropped ? slot->dense_dropped + bucket->first : intake->after.unsent;
    if (!reducer->residual_type->has_unsent) {
        transfer->in.dense = slot->gradient + bucket->first;
        return;
    }
    struct syn_intake to_sent = *intake;
    if (slot->sent)
        to_sent.after.unsent = slot->sent + bucket->first;
    syn_intake_run(&to_sent, reducer->pool, 0, 0, NULL);
    if (slot->sent)
        memset(intake->after.unsent, 0, bucket->size * sizeof(float));
    transfer->in.dense = to_sent.after.unsent;
}

static void fill_sparse(struct syn_reducer *reducer, struct slot *slot, struct transfer *transfer,
                        const struct bucket *bucket, const struct syn_intake *intake)
{
    const struct syn_select_type *select = reducer->picks;
    const struct syn_exchange_type *exchange = reducer->exchange_type;
    struct syn_contribution *in = &transfer->in;
    double density = slot->step.density;
    size_t limit = syn_bucket_limit(reducer, bucket, density);
    in->about.limit = (uint32_t)limit;
    in->packet = transfer->packet;
    if (select->remember)
        transfer->remembered = select->remember(bucket->select);
    uint32_t largest = syn_intake_run(intake, reducer->pool, limit, density, &in->list);
    in->is_nonfinite = largest >= SYN_INFINITY_BITS;
    transfer->threshold = select->threshold(bucket->select);
    if (in->is_nonfinite) {
        in->nonfinite_entry = (uint32_t)syn_intake_first_bad(intake);
        in->packet_bytes = syn_packet_nonfinite(&in->about, in->nonfinite_entry, transfer->packet);
        return;
    }
    in->scale = transfer->threshold;
    if (!exchange->encodes_portions && !exchange->follows_density) {
        int64_t began = syn_clock_ns();
        in->packet_bytes = syn_packet_encode(&in->about, reducer->values, reducer->indices,
                                             in->scale, &in->list, transfer->packet);
        slot->encode_ns += syn_clock_ns() - began;
    }
    if (!intake->lags)
        reducer->residual_type->keep(&intake->after, &in->list);
}

/* Process a bucket and post it to the communication thread. */
static void send_bucket(struct syn_reducer *reducer, struct slot *slot, size_t number)
{
    int64_t began = syn_clock_ns();
    struct bucket *bucket = &reducer->buckets[number];
    struct transfer *transfer = &slot->transfers[number];
    size_t next = (slot->before + 1) % (reducer->options.depth + 1);
    struct syn_intake intake = {
        .residual_type = reducer->residual_type,
        .select_type = slot->is_list ? reducer->picks : reducer->select_type,
        .select = bucket->select,
        .before = syn_residual_from(&reducer->residuals[slot->before], bucket->first),
        .after = syn_residual_from(&reducer->residuals[next], bucket->first),
        .gradient = slot->gradient,
        .pieces = slot->pieces,
        .order = &reducer->order,
        .first = bucket->first,
        .size = bucket->size,
        .momentum = (float)reducer->options.residual_momentum,
        .scale = slot->step.scale,
        .forget = (float)reducer->options.forget,
        .forgotten = &slot->forgotten,
        .lags = reducer->may_lag,
        .sent = bucket->lags ? &transfer->in.list : NULL,
    };
    bucket->lags = reducer->may_lag;
    transfer->in.about = (struct syn_packet_about){
        .sequence = (uint32_t)(reducer->begun - 1),
        .bucket = (uint32_t)number,
        .size = (uint32_t)bucket->size,
    };
    transfer->in.first = bucket->first;
    transfer->in.is_whole = bucket->share == 1;
    transfer->in.is_last = number + 1 == reducer->bucket_count;
    transfer->in.lr = slot->lr;
    transfer->in.pulls = slot->pulls;
    transfer->in.attempt = reducer->attempt;
    transfer->in.density = slot->step.density;
    transfer->in.values = slot->step.values ? syn_value_find(slot->step.values) : NULL;
    transfer->out.is_answered = false;
    transfer->work.run = exchange_transfer;
    if (slot->is_list)
        fill_sparse(reducer, slot, transfer, bucket, &intake);
    else
        fill_dense(reducer, slot, transfer, bucket, &intake);
    syn_comm_post(reducer->comm, &transfer->work);
    slot->select_ns += syn_clock_ns() - began;
}

/* Send complete buckets, in order, up to the first incomplete one. */
static void send_complete(struct syn_reducer *reducer)
{
    struct slot *slot = syn_slot(reducer, reducer->begun - 1);
    while (reducer->next_bucket < reducer->bucket_count &&
           reducer->missing[reducer->next_bucket] == 0)
        send_bucket(reducer, slot, reducer->next_bucket++);
    reducer->is_filling = reducer->next_bucket < reducer->bucket_count;
}

/* All tensors of the step that was started last are ready.
 *   pieces  NULL: the gradient is one array */
static void send_all(struct syn_reducer *reducer, const struct syn_piece *pieces)
{
    struct slot *slot = syn_slot(reducer, reducer->begun - 1);
    slot->pieces = pieces;
    memset(reducer->missing, 0, reducer->bucket_count * sizeof *reducer->missing);
    send_complete(reducer);
    slot->pieces = NULL;
}

/* Check what only an exchange that follows the density accepts. */
static enum syn_status check_form(const struct syn_reducer *reducer, const struct syn_step *step)
{
    bool follows = reducer->exchange_type->follows_density;
    double most = follows ? syn_reducer_density_most(&reducer->options) : 1;
    const struct syn_value_type *values = step->values ? syn_value_find(step->values) : NULL;
    if (follows && step->density != 1 && !(step->density > 0 && step->density <= most))
        return syn_fail(
            SYN_INVALID,
            "density %g; expected 1, or above 0 and at most %g (set density-max at open)",
            step->density, most);
    if (step->values && !follows)
        return syn_fail(SYN_INVALID, "exchange %s cannot change the form of values between steps",
                        reducer->options.exchange);
    if (step->values && (!values || values->needs_scale))
        return syn_fail(SYN_INVALID, "values \"%.32s\" cannot encode dense arrays", step->values);
    return SYN_OK;
}

static enum syn_status check_step(const struct syn_reducer *reducer, const struct syn_step *step)
{
    const struct syn_reducer_options *options = &reducer->options;
    SYN_TRY(check_form(reducer, step));
    double most = options->density_max > 0 ? options->density_max : options->density;
    bool is_bounded = syn_select_find(options->select)->takes_share;
    if (!(step->density >= 0 && step->density <= 1) || (is_bounded && step->density > most))
        return syn_fail(SYN_INVALID, "density %g; expected 0 to %g (set density-max at open)",
                        step->density, is_bounded ? most : 1.0);
    if (step->scale != 1 && !reducer->residual_type->has_unsent)
        return syn_fail(SYN_INVALID, "a scale of %g needs a residual; with none it must be 1",
                        (double)step->scale);
    if (syn_magnitude(step->scale) >= SYN_INFINITY_BITS)
        return syn_fail(SYN_INVALID, "the scale is not finite");
    return SYN_OK;
}

/* Buffers are sized for the largest density; their memory is released to the system once the
 * density has fallen. The result of the last step still belongs to the caller if several steps may
 * be under way. */
static void vacate(struct syn_reducer *reducer)
{
    size_t depth = reducer->options.depth;
    size_t last = (size_t)((reducer->waited + depth - 1) % depth);
    for (size_t i = 0; i < depth; i++)
        for (size_t b = 0; b < reducer->bucket_count; b++) {
            struct transfer *transfer = &reducer->slots[i].transfers[b];
            bool is_lent = depth > 1 && i == last;
            syn_list_vacate(&transfer->in.list);
            syn_list_vacate(&transfer->out.dropped);
            syn_vacate(transfer->packet, 1, transfer->packet_room);
            if (!is_lent)
                syn_list_vacate(&transfer->out.merged);
        }
    for (size_t b = 0; b < reducer->bucket_count && reducer->picks->vacate; b++)
        reducer->picks->vacate(reducer->buckets[b].select);
    if (reducer->exchange_type->vacate)
        reducer->exchange_type->vacate(reducer->exchange);
}

static void follow_density(struct syn_reducer *reducer, double density)
{
    bool is_idle = reducer->begun == reducer->waited;
    if (is_idle && density < reducer->used / 2 && !reducer->select_type->is_dense) {
        syn_reducer_settle(reducer); /* it reads what is then vacated */
        vacate(reducer);
        reducer->used = 0;
    }
    reducer->used = density > reducer->used ? density : reducer->used;
}

enum syn_status syn_reducer_start(struct syn_reducer *reducer, const float *gradient,
                                  const struct syn_step *step, struct syn_ticket *ticket)
{
    struct syn_step own = step ? *step : syn_reducer_step(reducer);
    SYN_TRY(check_step(reducer, &own));
    if (reducer->is_filling)
        return syn_fail(SYN_INVALID,
                        "step %llu began before all tensors of the previous step were ready",
                        (unsigned long long)reducer->begun);
    if (reducer->begun - reducer->waited == reducer->options.depth)
        return syn_fail(SYN_BUSY, "%llu steps are under way, the most that depth allows",
                        (unsigned long long)reducer->options.depth);
    follow_density(reducer, own.density);
    ticket->number = reducer->begun;
    struct slot *slot = syn_slot(reducer, reducer->begun++);
    slot->gradient = gradient;
    slot->pieces = NULL;
    slot->step = own;
    slot->is_list = reducer->picks && (!reducer->select_type->is_dense || own.density < 1);
    slot->lr = 0;
    slot->pulls = false;
    slot->select_ns = 0;
    slot->encode_ns = 0;
    slot->forgotten = (struct syn_forgotten){0};
    slot->before = reducer->newest;
    reducer->newest = (reducer->newest + 1) % (reducer->options.depth + 1);
    reducer->next_bucket = 0;
    memset(reducer->is_ready, 0, syn_layout_count(reducer->layout) * sizeof *reducer->is_ready);
    for (size_t i = 0; i < reducer->bucket_count; i++)
        reducer->missing[i] = reducer->buckets[i].tensor_count;
    reducer->is_filling = reducer->bucket_count > 0;
    return SYN_OK;
}

enum syn_status syn_reducer_ready(struct syn_reducer *reducer, size_t tensor)
{
    if (tensor >= syn_layout_count(reducer->layout))
        return syn_fail(SYN_INVALID, "tensor %zu was marked ready, but there are only %zu", tensor,
                        syn_layout_count(reducer->layout));
    if (!reducer->is_filling || reducer->is_ready[tensor])
        return syn_fail(SYN_INVALID,
                        "tensor \"%s\" was marked ready twice in one step, or outside a step",
                        syn_layout_tensor(reducer->layout, tensor).name);
    reducer->is_ready[tensor] = true;
    reducer->missing[reducer->bucket_of[tensor]]--;
    send_complete(reducer);
    return SYN_OK;
}

static enum syn_status check_pieces(const struct syn_reducer *reducer,
                                    const struct syn_piece *pieces, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += pieces[i].count;
    if (size != reducer->size)
        return syn_fail(SYN_INVALID,
                        "the pieces have %zu entries in total; expected %zu as in the layout", size,
                        reducer->size);
    if (count > 1 && !reducer->residual_type->has_unsent)
        return syn_fail(SYN_INVALID, "a gradient in %zu pieces needs a reducer with a residual",
                        count);
    return SYN_OK;
}

enum syn_status syn_reducer_begin_pieces(struct syn_reducer *reducer,
                                         const struct syn_piece *pieces, size_t count,
                                         const struct syn_step *step, struct syn_ticket *ticket)
{
    SYN_TRY(check_pieces(reducer, pieces, count));
    SYN_TRY(syn_reducer_start(reducer, count == 1 ? pieces->floats : NULL, step, ticket));
    send_all(reducer, pieces);
    return SYN_OK;
}

enum syn_status syn_reducer_begin(struct syn_reducer *reducer, const float *gradient,
                                  const struct syn_step *step, struct syn_ticket *ticket)
{
    struct syn_piece whole = {gradient, reducer->size};
    return syn_reducer_begin_pieces(reducer, &whole, 1, step, ticket);
}

size_t syn_reducer_in_flight(const struct syn_reducer *reducer)
{
    return (size_t)(reducer->begun - reducer->waited);
}

static struct syn_step step_of(const struct syn_reducer *reducer, const struct syn_push *push)
{
    struct syn_step step = syn_reducer_step(reducer);
    if (push->density > 0)
        step.density = push->density;
    step.scale = push->scale;
    step.values = push->values;
    return step;
}

enum syn_status syn_reducer_announce(struct syn_reducer *reducer, const float *gradient,
                                     const struct syn_push *push)
{
    struct syn_ticket ticket;
    struct syn_step step = step_of(reducer, push);
    SYN_TRY(syn_reducer_start(reducer, gradient, &step, &ticket));
    struct slot *slot = syn_slot(reducer, ticket.number);
    slot->lr = push->lr;
    slot->pulls = push->pulls;
    return SYN_OK;
}

enum syn_status syn_reducer_contribute(struct syn_reducer *reducer, const float *gradient,
                                       const struct syn_push *push)
{
    struct syn_push own = *push;
    float *copy = syn_slot(reducer, reducer->begun)->copy;
    bool has_room = syn_reducer_in_flight(reducer) < reducer->options.depth;
    for (size_t i = 0; copy && has_room && i < reducer->size; i++)
        copy[i] = push->scale * gradient[i];
    own.scale = copy ? 1 : push->scale;
    SYN_TRY(syn_reducer_announce(reducer, copy ? copy : gradient, &own));
    send_all(reducer, NULL);
    return SYN_OK;
}
