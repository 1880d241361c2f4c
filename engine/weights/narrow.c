/* Widening 16-bit tensors, as other programs save them: IEEE half precision, and bfloat16, which is
 * the upper half of a float. Both conversions are exact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/weights/weights.h"

static float from_half(uint16_t half)
{
    const int exponent = half >> 10 & 31;
    const int fraction = half & 1023;
    float value;
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexpf((float)fraction, -24);
    else
        value = ldexpf((float)(fraction + 1024), exponent - 25);
    return half >> 15 ? -value : value;
}

static float from_bfloat16(uint16_t upper)
{
    const uint32_t bits = (uint32_t)upper << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const struct syn_number_type types[] = {
    {"F32", sizeof(float), NULL},
    {"F16", sizeof(uint16_t), from_half},
    {"BF16", sizeof(uint16_t), from_bfloat16},
};

const struct syn_number_type *syn_number_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

enum syn_status syn_weights_take_as(struct syn_weights *weights, const char *name,
                                    const struct syn_shape *shape,
                                    const struct syn_number_type *type, const uint8_t *bytes)
{
    const size_t count = syn_shape_count(shape);
    float *wide = NULL;
    if (!type->widen)
        return syn_weights_take(weights, name, shape, bytes);
    SYN_TRY(syn_engine_allocate(count + 1, sizeof *wide, &wide));
    for (size_t i = 0; i < count; i++)
        wide[i] = type->widen((uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8));
    enum syn_status status = syn_weights_take(weights, name, shape, (const uint8_t *)wide);
    free(wide);
    return status;
}
