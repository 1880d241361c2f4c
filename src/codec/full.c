/* No indices: every entry is present. */
#include "codec/codec.h"

static size_t measure(const struct syn_list *list, size_t size, unsigned *parameter)
{
    *parameter = 0;
    return list->count == size ? 0 : SIZE_MAX;
}

static void encode(const struct syn_list *list, size_t size, unsigned parameter, uint8_t *bytes)
{
    (void)list;
    (void)size;
    (void)parameter;
    (void)bytes;
}

static enum syn_status decode(const uint8_t *bytes, size_t byte_count, size_t size,
                              unsigned parameter, size_t sender, struct syn_list *list)
{
    (void)bytes;
    (void)parameter;
    if (list->count != size || byte_count != 0)
        return syn_fail(SYN_FORMAT,
                        "packet from worker %zu: form full, but with %zu entries of %zu and %zu "
                        "bytes of indices",
                        sender, list->count, size, byte_count);
    for (size_t i = 0; i < size; i++)
        list->index[i] = (uint32_t)i;
    return SYN_OK;
}

const struct syn_index_type syn_index_full = {
    .part = {"full", "no indices, for messages that hold every entry"},
    .measure = measure,
    .encode = encode,
    .decode = decode,
};
