/* Packets: a head of ten 32-bit words, lowest byte first, then values, then indices.
 *
 *     0  magic "SYN1"
 *     1  forms: index row, value row, parameter, flags (a byte each)
 *     2  sequence
 *     3  bucket
 *     4  size
 *     5  limit
 *     6  count (in a non-finite mark, the entry)
 *     7  scale, a float
 *     8  bytes after the head
 *     9  checksum of the head without this word, and of those bytes */
#include "codec/codec.h"

#include "base/hash.h"

#define MAGIC        0x314e5953U
#define IS_NONFINITE 1U

enum { WORDS = SYN_PACKET_HEAD / 4 };

struct head {
    uint32_t word[WORDS];
};

static uint32_t checksum(const struct head *head, const uint8_t *rest, size_t count)
{
    uint64_t hash = syn_hash(0, head->word, (WORDS - 1) * sizeof head->word[0]);
    hash = syn_hash(hash, rest, count);
    return (uint32_t)(hash ^ hash >> 32);
}

static size_t seal(struct head *head, uint8_t *bytes, size_t count)
{
    head->word[8] = (uint32_t)count;
    head->word[9] = checksum(head, bytes + SYN_PACKET_HEAD, count);
    memcpy(bytes, head->word, SYN_PACKET_HEAD);
    return SYN_PACKET_HEAD + count;
}

static struct head head_for(const struct syn_packet_about *about)
{
    return (struct head){
        {MAGIC, 0, about->sequence, about->bucket, about->size, about->limit, 0, 0, 0, 0}};
}

size_t syn_packet_bound(const struct syn_value_type *values, const struct syn_index_type *indices,
                        size_t most, size_t size)
{
    /* The smallest form is never larger than a bitmap or raw words. A requested form may be a
     * bitmap, or Rice codes, which may take 33 bits per index. Encoders may store 8 bytes past
     * their end. */
    size_t map = (size + 7) / 8;
    size_t words = most * sizeof(uint32_t) + most / 8 + 1;
    size_t smallest = map < words ? map : words;
    size_t largest = map < words ? words : map;
    return SYN_PACKET_HEAD + values->measure(most) + (indices ? largest : smallest) + 8;
}

/* The requested form if it can represent the list, otherwise the smallest. */
static size_t choose(const struct syn_list *list, size_t size, const struct syn_index_type *asked,
                     size_t *row, unsigned *parameter)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; syn_index_row(i); i++) {
        unsigned own;
        size_t bytes = syn_index_row(i)->measure(list, size, &own);
        bool is_asked = syn_index_row(i) == asked && bytes != SIZE_MAX;
        if (bytes < best || is_asked) {
            best = bytes;
            *row = i;
            *parameter = own;
        }
        if (is_asked)
            break;
    }
    return best;
}

static uint32_t value_row(const struct syn_value_type *values)
{
    uint32_t row = 0;
    while (syn_value_row(row) != values)
        row++;
    return row;
}

size_t syn_packet_encode(const struct syn_packet_about *about, const struct syn_value_type *values,
                         const struct syn_index_type *indices, float scale, struct syn_list *list,
                         uint8_t *bytes)
{
    size_t row = 0;
    unsigned parameter = 0;
    size_t index_bytes = choose(list, about->size, indices, &row, &parameter);
    size_t value_bytes = values->measure(list->count);
    values->encode(syn_kernels(), list->value, list->count, scale, bytes + SYN_PACKET_HEAD);
    syn_index_row(row)->encode(list, about->size, parameter, bytes + SYN_PACKET_HEAD + value_bytes);
    struct head head = head_for(about);
    head.word[1] = (uint32_t)row | value_row(values) << 8 | parameter << 16;
    head.word[6] = (uint32_t)list->count;
    memcpy(&head.word[7], &scale, sizeof scale);
    return seal(&head, bytes, value_bytes + index_bytes);
}

size_t syn_packet_nonfinite(const struct syn_packet_about *about, uint32_t entry, uint8_t *bytes)
{
    struct head head = head_for(about);
    head.word[1] = IS_NONFINITE << 24;
    head.word[6] = entry;
    return seal(&head, bytes, 0);
}

struct syn_packet_claim syn_packet_claims(const uint8_t *bytes, size_t count)
{
    struct head head;
    if (count < SYN_PACKET_HEAD)
        return (struct syn_packet_claim){0};
    memcpy(head.word, bytes, SYN_PACKET_HEAD);
    bool is_nonfinite = head.word[1] >> 24 != 0;
    return (struct syn_packet_claim){.bytes = SYN_PACKET_HEAD + (size_t)head.word[8],
                                     .entries = is_nonfinite ? 0 : head.word[6]};
}

static enum syn_status check_word(const char *what, uint32_t got, uint32_t expected, size_t sender)
{
    if (got == expected)
        return SYN_OK;
    return syn_fail(SYN_FORMAT, "packet from worker %zu: %s is %u; expected %u", sender, what, got,
                    expected);
}

static enum syn_status check_head(const struct head *head, const struct syn_packet_about *about,
                                  const uint8_t *bytes, size_t byte_count, size_t sender)
{
    SYN_TRY(check_word("magic", head->word[0], MAGIC, sender));
    if (byte_count - SYN_PACKET_HEAD != head->word[8])
        return syn_fail(SYN_FORMAT, "packet from worker %zu: %zu bytes after the head; expected %u",
                        sender, byte_count - SYN_PACKET_HEAD, head->word[8]);
    uint32_t sum = checksum(head, bytes + SYN_PACKET_HEAD, head->word[8]);
    SYN_TRY(check_word("checksum", head->word[9], sum, sender));
    SYN_TRY(check_word("step", head->word[2], about->sequence, sender));
    SYN_TRY(check_word("bucket", head->word[3], about->bucket, sender));
    SYN_TRY(check_word("size", head->word[4], about->size, sender));
    return check_word("limit", head->word[5], about->limit, sender);
}

static enum syn_status check_values(const struct syn_list *list, size_t sender)
{
    for (size_t i = 0; i < list->count; i++)
        if (syn_magnitude(list->value[i]) >= SYN_INFINITY_BITS)
            return syn_fail(SYN_FORMAT, "packet from worker %zu: value of entry %u is not finite",
                            sender, list->index[i]);
    return SYN_OK;
}

static enum syn_status decode_body(const struct head *head, const uint8_t *body, size_t sender,
                                   struct syn_list *list, struct syn_packet_content *content)
{
    const struct syn_index_type *indices = syn_index_row(head->word[1] & 0xff);
    const struct syn_value_type *values = syn_value_row(head->word[1] >> 8 & 0xff);
    unsigned parameter = head->word[1] >> 16 & 0xff;
    if (!indices || !values || parameter > 31)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: unknown form %08x", sender,
                        head->word[1]);
    float scale;
    memcpy(&scale, &head->word[7], sizeof scale);
    size_t count = head->word[6];
    bool is_scale_bad = !(scale > 0) || syn_magnitude(scale) >= SYN_INFINITY_BITS;
    if (values->needs_scale && count > 0 && is_scale_bad)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: scale is %g; expected above 0, finite",
                        sender, (double)scale);
    if (count > head->word[5] || count > list->capacity)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: %zu entries; expected at most %u",
                        sender, count, head->word[5]);
    size_t value_bytes = values->measure(count);
    if (value_bytes > head->word[8])
        return syn_fail(SYN_FORMAT, "packet from worker %zu: %u bytes are too few for %zu values",
                        sender, head->word[8], count);
    list->count = count;
    SYN_TRY(indices->decode(body + value_bytes, head->word[8] - value_bytes, head->word[4],
                            parameter, sender, list));
    values->decode(syn_kernels(), body, count, scale, list->value);
    content->indices = indices;
    return check_values(list, sender);
}

enum syn_status syn_packet_decode(const struct syn_packet_about *about, const uint8_t *bytes,
                                  size_t byte_count, size_t sender, struct syn_list *list,
                                  struct syn_packet_content *content)
{
    struct head head;
    list->count = 0;
    *content = (struct syn_packet_content){0};
    if (byte_count < SYN_PACKET_HEAD)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: %zu bytes are too few for a head",
                        sender, byte_count);
    memcpy(head.word, bytes, SYN_PACKET_HEAD);
    SYN_TRY(check_head(&head, about, bytes, byte_count, sender));
    uint32_t flags = head.word[1] >> 24;
    if (flags == 0) {
        enum syn_status status = decode_body(&head, bytes + SYN_PACKET_HEAD, sender, list, content);
        list->count = status == SYN_OK ? list->count : 0;
        return status;
    }
    if (flags != IS_NONFINITE)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: unknown flags %u", sender, flags);
    if (head.word[8] != 0 || head.word[6] >= about->size)
        return syn_fail(
            SYN_FORMAT,
            "packet from worker %zu: non-finite mark at entry %u of %u, followed by %u bytes",
            sender, head.word[6], about->size, head.word[8]);
    content->is_nonfinite = true;
    content->nonfinite_entry = head.word[6];
    return SYN_OK;
}
