/* The table of value forms. */
#include "codec/codec.h"

#define SYN_PART(name) extern const struct syn_value_type syn_value_##name;
#include "codec/values.def"
#undef SYN_PART

static const struct syn_value_type *const rows[] = {
#define SYN_PART(name) &syn_value_##name,
#include "codec/values.def"
#undef SYN_PART
};

const char *syn_value_name(size_t i);

SYN_TABLE(value, struct syn_value_type)

const char *syn_values_choice(size_t i)
{
    return i == 0 ? syn_auto_word(0) : syn_value_name(i - 1);
}

const char *syn_values_chosen(const char *choice, bool is_part)
{
    if (syn_value_find(choice))
        return choice;
    return is_part ? "q4" : "f32";
}
