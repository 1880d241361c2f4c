/* Indices as Rice-coded gaps. The gaps between sorted indices are nearly geometrically distributed.
 * A gap g is written as g >> b zeros, a one, and the low b bits of g, lowest bit first, into a
 * stream whose bytes are filled from the lowest bit. With b about log2(0.69 * mean gap) this is
 * within one percent of the entropy: 11.5 bits per index at a density of 0.001, instead of 32.
 * Huffman or arithmetic codes would gain that last percent but be slower. */
#include "codec/codec.h"

#define MOST_BITS 31

static uint32_t gap(const struct syn_list *list, size_t i)
{
    return i == 0 ? list->index[0] : list->index[i] - list->index[i - 1] - 1;
}

/* The largest b with 2^b <= 0.69 * mean gap. */
static unsigned usual_bits(size_t count, size_t size)
{
    double mean = 0.6931 * (double)size / (double)(count ? count : 1);
    unsigned bits = 0;
    while (bits < MOST_BITS && (double)(2U << bits) <= mean)
        bits++;
    return bits;
}

static size_t measure(const struct syn_list *list, size_t size, unsigned *parameter)
{
    unsigned bits = usual_bits(list->count, size);
    unsigned more = bits < MOST_BITS ? bits + 1 : bits;
    uint64_t zeros = 0;
    uint64_t zeros_more = 0;
    for (size_t i = 0; i < list->count; i++) {
        zeros += gap(list, i) >> bits;
        zeros_more += gap(list, i) >> more;
    }
    uint64_t total = zeros + (uint64_t)list->count * (bits + 1);
    uint64_t total_more = zeros_more + (uint64_t)list->count * (more + 1);
    *parameter = total_more < total ? more : bits;
    return (size_t)(((total_more < total ? total_more : total) + 7) / 8);
}

/* A growing stream of bits. */
struct writer {
    uint8_t *at;
    uint64_t held;
    unsigned count; /* bits in held, below 8 between calls */
};

/* Append the low `count` bits of `bits`; count <= 56, higher bits zero. Always stores eight bytes,
 * which avoids a branch and a final flush. */
static void put(struct writer *writer, uint64_t bits, unsigned count)
{
    writer->held |= bits << writer->count;
    writer->count += count;
    memcpy(writer->at, &writer->held, sizeof writer->held);
    writer->at += writer->count / 8;
    writer->held >>= writer->count / 8 * 8;
    writer->count %= 8;
}

static void encode(const struct syn_list *list, size_t size, unsigned parameter, uint8_t *bytes)
{
    (void)size;
    struct writer writer = {.at = bytes};
    for (size_t i = 0; i < list->count; i++) {
        uint32_t g = gap(list, i);
        uint32_t zeros = g >> parameter;
        uint64_t low = g & (((uint64_t)1 << parameter) - 1);
        for (; zeros > 24; zeros -= 24)
            put(&writer, 0, 24);
        put(&writer, (low << 1 | 1) << zeros, zeros + 1 + parameter);
    }
}

/* A bit stream being read; past its end it reads as zeros. Above its `count` lowest bits, held may
 * contain bits that the next refill will supply again. */
struct reader {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t held;
    unsigned count;
};

/* Make at least 56 bits available, or all that are left. */
static void refill(struct reader *reader)
{
    if (reader->end - reader->at >= 8) {
        uint64_t next;
        memcpy(&next, reader->at, sizeof next);
        reader->held |= next << reader->count;
        reader->at += (63 - reader->count) / 8;
        reader->count |= 56;
        return;
    }
    while (reader->count <= 56 && reader->at < reader->end) {
        reader->held |= (uint64_t)*reader->at++ << reader->count;
        reader->count += 8;
    }
}

static void skip(struct reader *reader, unsigned count)
{
    reader->held >>= count;
    reader->count -= count;
}

/* The next gap; false if the stream ends within it or it is not below limit. */
static bool take(struct reader *reader, unsigned parameter, uint64_t limit, uint64_t *result)
{
    uint64_t zeros = 0;
    refill(reader);
    while ((reader->held & 0xffffffU) == 0) {
        if (reader->count < 24 || zeros << parameter >= limit)
            return false;
        zeros += 24;
        skip(reader, 24);
        refill(reader);
    }
    unsigned run = (unsigned)__builtin_ctzll(reader->held);
    if (run + 1 + parameter > reader->count)
        return false;
    skip(reader, run + 1);
    zeros += run;
    *result = zeros << parameter | (reader->held & (((uint64_t)1 << parameter) - 1));
    skip(reader, parameter);
    return *result < limit;
}

static enum syn_status decode(const uint8_t *bytes, size_t byte_count, size_t size,
                              unsigned parameter, size_t sender, struct syn_list *list)
{
    struct reader reader = {.at = bytes, .end = bytes + byte_count};
    uint64_t next = 0; /* the smallest possible next index */
    for (size_t i = 0; i < list->count; i++) {
        uint64_t g;
        if (!take(&reader, parameter, size - next, &g))
            return syn_fail(SYN_FORMAT,
                            "packet from worker %zu: gap %zu of %zu is truncated or leads past %zu",
                            sender, i, list->count, size);
        list->index[i] = (uint32_t)(next + g);
        next += g + 1;
    }
    size_t used = 8 * (size_t)(reader.at - bytes) - reader.count; /* bits */
    bool is_padded = used % 8 == 0 || bytes[used / 8] >> (used % 8) == 0;
    if ((used + 7) / 8 != byte_count || !is_padded)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: bytes left over after %zu indices",
                        sender, list->count);
    return SYN_OK;
}

const struct syn_index_type syn_index_rice = {
    .part = {"rice", "gaps between indices, Rice-coded"},
    .measure = measure,
    .encode = encode,
    .decode = decode,
};
