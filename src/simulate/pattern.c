/* The table of patterns. */
#include "simulate/pattern.h"

#define SYN_PART(name) extern const struct syn_pattern_type syn_pattern_##name;
#include "simulate/patterns.def"
#undef SYN_PART

static const struct syn_pattern_type *const rows[] = {
#define SYN_PART(name) &syn_pattern_##name,
#include "simulate/patterns.def"
#undef SYN_PART
};

SYN_TABLE(pattern, struct syn_pattern_type)
