/* The table of refusals, and their reasons with values filled in. */
#include "reducer/refusals.h"

#include <string.h>

#include "base/status.h"
#include "codec/codec.h"
#include "exchange/exchange.h"
#include "residual/residual.h"
#include "select/select.h"

#define BIT(name)               (UINT64_C(1) << SYN_TRAIT_##name)
#define NONE                    UINT64_C(0)
#define ONE(a)                  BIT(a)
#define TWO(a, b)               (BIT(a) | BIT(b))
#define THREE(a, b, c)          (BIT(a) | BIT(b) | BIT(c))
#define FOURTH(a, b, c, d, ...) d
#define ALL(...)                FOURTH(__VA_ARGS__, THREE, TWO, ONE, )(__VA_ARGS__)

static const struct {
    uint64_t with;
    uint64_t without;
    const char *reason;
} refusals[] = {
#define SYN_REFUSAL(with, without, reason) {with, without, reason},
#include "reducer/refusals.def"
#undef SYN_REFUSAL
};

/* Write the value of a setting, or nothing if no table has it. */
static size_t put_value(const struct syn_chosen *chosen, size_t count, const char *name,
                        size_t length, char *text, size_t room)
{
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < chosen[t].table->count; i++) {
            const struct syn_setting *row = &chosen[t].table->rows[i];
            if (strlen(row->name) == length && memcmp(row->name, name, length) == 0)
                return syn_settings_value(row, chosen[t].options, text, room);
        }
    return 0;
}

static enum syn_status fail(const char *reason, const struct syn_chosen *chosen, size_t count)
{
    char text[SYN_ERROR_BYTES] = "";
    size_t length = 0;
    for (const char *at = reason; *at && length + 1 < sizeof text; at++) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        if (!end) {
            text[length++] = *at;
            continue;
        }
        length += put_value(chosen, count, at + 1, (size_t)(end - at - 1), text + length,
                            sizeof text - length);
        at = end;
    }
    text[length < sizeof text ? length : sizeof text - 1] = '\0';
    return syn_fail(SYN_INVALID, "%s", text);
}

enum syn_status syn_refuse(uint64_t traits, const struct syn_chosen *chosen, size_t count)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if ((traits & refusals[i].with) == refusals[i].with && !(traits & refusals[i].without))
            return fail(refusals[i].reason, chosen, count);
    return SYN_OK;
}

static uint64_t exchange_traits(const struct syn_exchange_type *exchange)
{
    return SYN_TRAIT_IF(TAKES_LISTS, !exchange->is_dense) |
           SYN_TRAIT_IF(MERGES, exchange->merges_on_the_way) |
           SYN_TRAIT_IF(SEES_OWN_MERGES, exchange->sees_own_merges) |
           SYN_TRAIT_IF(CUTS_PORTIONS, exchange->encodes_portions) |
           SYN_TRAIT_IF(FOLLOWS_DENSITY, exchange->follows_density) |
           SYN_TRAIT_IF(HAS_HALVES, exchange->reduce);
}

static uint64_t residual_traits(const struct syn_residual_type *residual)
{
    return SYN_TRAIT_IF(RESIDUAL, residual->has_unsent) |
           SYN_TRAIT_IF(VELOCITY, residual->has_velocity) |
           SYN_TRAIT_IF(FORGETS_VELOCITY, residual->forgets_sent);
}

uint64_t syn_reducer_traits(const struct syn_reducer_options *options)
{
    const struct syn_value_type *values = syn_value_find(options->values);
    double most = options->density_max;
    enum syn_putback asked = SYN_PUTBACK_MERGER;
    bool is_asked = syn_putback_find(options->putback, &asked);
    bool is_owner = is_asked && asked == SYN_PUTBACK_OWNER;
    return exchange_traits(syn_exchange_find(options->exchange)) |
           residual_traits(syn_residual_find(options->residual)) |
           SYN_TRAIT_IF(LISTS, !syn_select_find(options->select)->is_dense) |
           SYN_TRAIT_IF(ONE_MAGNITUDE, values->needs_scale) |
           SYN_TRAIT_IF(ROUNDS, !values->is_exact) | SYN_TRAIT_IF(BLOCKS, values->has_blocks) |
           SYN_TRAIT_IF(FORGETS, options->forget > 0) |
           SYN_TRAIT_IF(DENSITY_AUTO, options->density == SYN_AUTO) |
           SYN_TRAIT_IF(DENSITY_ZERO, options->density == 0) |
           SYN_TRAIT_IF(DENSITY_ABOVE_MOST, most > 0 && most < options->density) |
           SYN_TRAIT_IF(PUTBACK_OWNER, is_owner) |
           SYN_TRAIT_IF(PUTBACK_OTHER, is_asked && !is_owner) |
           SYN_TRAIT_IF(BUCKETS, options->bucket_bytes > 0) |
           SYN_TRAIT_IF(TAKES_SHARE, syn_select_find(options->select)->takes_share) |
           SYN_TRAIT_IF(DENSE_TENSORS, options->dense_below > 0);
}

uint64_t syn_layout_traits(const struct syn_layout *layout)
{
    uint64_t traits = 0;
    for (size_t i = 0; i < syn_layout_count(layout); i++) {
        struct syn_tensor_policy policy = syn_layout_policy(layout, i);
        traits |= SYN_TRAIT_IF(DENSE_TENSORS, policy.is_dense || policy.density == 1) |
                  SYN_TRAIT_IF(OWN_DENSITY, policy.density > 0) |
                  SYN_TRAIT_IF(FROZEN, policy.is_frozen);
    }
    return traits;
}
