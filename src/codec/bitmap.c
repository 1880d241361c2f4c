/* Indices as a bitmap with one bit per entry. Bit i of byte i/8, lowest first; unused bits of the
 * last byte are zero. At densities of about 1/3 and above, Rice codes have no low bits left and are
 * such a bitmap too; this one is read a word at a time. */
#include "codec/codec.h"

static size_t measure(const struct syn_list *list, size_t size, unsigned *parameter)
{
    (void)list;
    *parameter = 0;
    return (size + 7) / 8;
}

static void encode(const struct syn_list *list, size_t size, unsigned parameter, uint8_t *bytes)
{
    (void)parameter;
    memset(bytes, 0, (size + 7) / 8);
    for (size_t i = 0; i < list->count; i++) {
        uint32_t at = list->index[i];
        bytes[at / 8] = (uint8_t)(bytes[at / 8] | 1U << (at % 8));
    }
}

/* Up to eight bytes of the bitmap as one word. */
static uint64_t word_at(const uint8_t *bytes, size_t byte_count, size_t at)
{
    uint64_t word = 0;
    size_t left = byte_count - at;
    memcpy(&word, bytes + at, left < 8 ? left : 8);
    return word;
}

static enum syn_status decode(const uint8_t *bytes, size_t byte_count, size_t size,
                              unsigned parameter, size_t sender, struct syn_list *list)
{
    (void)parameter;
    if (byte_count != (size + 7) / 8)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: bitmap of %zu bytes for %zu entries",
                        sender, byte_count, size);
    size_t found = 0;
    for (size_t at = 0; at < byte_count; at += 8) {
        uint64_t word = word_at(bytes, byte_count, at);
        if (found + (size_t)__builtin_popcountll(word) > list->count)
            return syn_fail(SYN_FORMAT, "packet from worker %zu: bitmap has more than %zu entries",
                            sender, list->count);
        for (; word; word &= word - 1)
            list->index[found++] = (uint32_t)(8 * at) + (uint32_t)__builtin_ctzll(word);
    }
    if (found != list->count)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: bitmap has %zu entries; expected %zu",
                        sender, found, list->count);
    if (found > 0 && list->index[found - 1] >= size)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: index %u is not below %zu", sender,
                        list->index[found - 1], size);
    return SYN_OK;
}

const struct syn_index_type syn_index_bitmap = {
    .part = {"bitmap", "one bit for every entry of the bucket"},
    .measure = measure,
    .encode = encode,
    .decode = decode,
};
