/* Indices as 32-bit words, lowest byte first. */
#include "codec/codec.h"

static size_t measure(const struct syn_list *list, size_t size, unsigned *parameter)
{
    (void)size;
    *parameter = 0;
    return list->count * sizeof(uint32_t);
}

static void encode(const struct syn_list *list, size_t size, unsigned parameter, uint8_t *bytes)
{
    (void)size;
    (void)parameter;
    memcpy(bytes, list->index, list->count * sizeof(uint32_t));
}

static enum syn_status decode(const uint8_t *bytes, size_t byte_count, size_t size,
                              unsigned parameter, size_t sender, struct syn_list *list)
{
    (void)parameter;
    if (byte_count != list->count * sizeof(uint32_t))
        return syn_fail(SYN_FORMAT,
                        "packet from worker %zu: %zu bytes for %zu raw indices of 4 bytes", sender,
                        byte_count, list->count);
    memcpy(list->index, bytes, byte_count);
    for (size_t i = 0; i < list->count; i++) {
        if (list->index[i] >= size)
            return syn_fail(SYN_FORMAT, "packet from worker %zu: index %u is not below %zu", sender,
                            list->index[i], size);
        if (i > 0 && list->index[i] <= list->index[i - 1])
            return syn_fail(
                SYN_FORMAT,
                "packet from worker %zu: index %u after index %u; expected ascending order", sender,
                list->index[i], list->index[i - 1]);
    }
    return SYN_OK;
}

const struct syn_index_type syn_index_raw = {
    .part = {"raw", "32 bits per index"},
    .measure = measure,
    .encode = encode,
    .decode = decode,
};
