/* The table of index forms. */
#include "codec/codec.h"

#define SYN_PART(name) extern const struct syn_index_type syn_index_##name;
#include "codec/indices.def"
#undef SYN_PART

static const struct syn_index_type *const rows[] = {
#define SYN_PART(name) &syn_index_##name,
#include "codec/indices.def"
#undef SYN_PART
};

const char *syn_index_name(size_t i);

SYN_TABLE(index, struct syn_index_type)

const char *syn_indices_name(size_t i)
{
    return i == 0 ? "auto" : syn_index_name(i - 1);
}
