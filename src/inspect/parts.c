/* All tables in one place, for `syncopate list`. */
#include <syncopate/parts.h>

#include "codec/codec.h"
#include "exchange/exchange.h"
#include "optim/local.h"
#include "optim/optim.h"
#include "recipe/recipe.h"
#include "residual/residual.h"
#include "schedule/schedule.h"
#include "select/select.h"
#include "transport/transport.h"
#include "worker/store.h"

/* A descriptor begins with its part: see base/table.h. */
#define ROWS_OF(table)                                                                             \
    static const struct syn_part *table##_part(size_t i)                                           \
    {                                                                                              \
        return syn_##table##_row(i) ? &syn_##table##_row(i)->part : NULL;                          \
    }

ROWS_OF(recipe)
ROWS_OF(schedule)
ROWS_OF(store)
ROWS_OF(local)
ROWS_OF(residual)
ROWS_OF(select)
ROWS_OF(value)
ROWS_OF(index)
ROWS_OF(exchange)
ROWS_OF(transport)

static const struct {
    const char *name;
    const char *help;
    const struct syn_part *(*row)(size_t i);
} kinds[] = {
    {"recipe", "a published method: a combination of the parts below", recipe_part},
    {"schedule", "when a worker waits for the others", schedule_part},
    {"store", "where the global weights live", store_part},
    {"local", "how a worker updates its own weights until the global ones arrive", local_part},
    {"optimizer", "how a merged gradient changes the weights", syn_optimizer_part},
    {"residual", "how the unsent part of a gradient is kept", residual_part},
    {"select", "which entries of the gradient are sent", select_part},
    {"values", "the form in which values are sent", value_part},
    {"indices", "the form in which indices are sent", index_part},
    {"exchange", "how the workers' contributions become one", exchange_part},
    {"transport", "how bytes travel between workers", transport_part},
};

const char *syn_parts_kind(size_t i, const char **help)
{
    if (i >= sizeof kinds / sizeof kinds[0])
        return NULL;
    *help = kinds[i].help;
    return kinds[i].name;
}

struct syn_part_row syn_parts_row(size_t kind, size_t i)
{
    struct syn_part_row none = {NULL, NULL};
    if (kind >= sizeof kinds / sizeof kinds[0])
        return none;
    const struct syn_part *part = kinds[kind].row(i);
    return part ? (struct syn_part_row){part->name, part->help} : none;
}
