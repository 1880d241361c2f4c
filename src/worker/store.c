/* The table of stores. */
#include "worker/store.h"

#include <stdlib.h>

#include "optim/optim.h"

#define SYN_SETTING(...) /* of the parts */
#define SYN_PART(name)   extern const struct syn_store_type syn_store_##name;
#include <syncopate/parts/stores.def>
#undef SYN_PART

static const struct syn_store_type *const rows[] = {
#define SYN_PART(name) &syn_store_##name,
#include <syncopate/parts/stores.def>
#undef SYN_PART
};
#undef SYN_SETTING

SYN_TABLE(store, struct syn_store_type)

const char *syn_store_choice(size_t i)
{
    return i == 0 ? "auto" : syn_store_name(i - 1);
}

enum syn_status syn_store_save_optimizer(const struct syn_optimizer *optimizer, const char *name,
                                         struct syn_archive *archive)
{
    size_t count = syn_optimizer_state_size(optimizer);
    float *memory = malloc((count + 1) * sizeof *memory);
    if (!memory)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu floats of optimizer state", count);
    syn_optimizer_save(optimizer, memory);
    enum syn_status status = syn_archive_add(archive, name, memory, count * sizeof *memory);
    free(memory);
    return status;
}

enum syn_status syn_store_load_optimizer(struct syn_optimizer *optimizer, const char *name,
                                         const struct syn_archive *archive)
{
    struct syn_section section = {0};
    SYN_TRY(syn_archive_find(archive, name, &section));
    return syn_optimizer_load(optimizer, section.bytes, section.count / sizeof(float));
}
