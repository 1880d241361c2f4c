/* Packets from strangers: whatever bytes come, decoding either names what is wrong or gives a
 * sorted list in range that survives the way through the encoder and back.
 *
 * An input is a byte of switches, eight bytes that say what packet is expected, and the packet.
 * With the lowest switch on, the packet's head is made to agree with what is expected, and its
 * checksum made right: otherwise nothing behind those checks would ever be reached. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "codec/codec.h"

enum { MOST_SIZE = 5000, SWITCHES = 1, ABOUT = 8, IS_SEALED = 1 };

static uint32_t word_at(const uint8_t *bytes, size_t i)
{
    uint32_t word;
    memcpy(&word, bytes + 4 * i, sizeof word);
    return word;
}

static void set_word(uint8_t *bytes, size_t i, uint32_t word)
{
    memcpy(bytes + 4 * i, &word, sizeof word);
}

static struct syn_packet_about about_of(const uint8_t *bytes)
{
    uint32_t size = (bytes[4] | (uint32_t)bytes[5] << 8) % (MOST_SIZE + 1);
    uint32_t limit = bytes[6] | (uint32_t)bytes[7] << 8;
    return (struct syn_packet_about){.sequence = bytes[0] | (uint32_t)bytes[1] << 8,
                                     .bucket = bytes[2],
                                     .size = size,
                                     .limit = limit < size ? limit : size};
}

/* As packet.c has it. */
static void seal(uint8_t *packet, size_t count, const struct syn_packet_about *about)
{
    memcpy(packet, "SYN1", 4);
    set_word(packet, 2, about->sequence);
    set_word(packet, 3, about->bucket);
    set_word(packet, 4, about->size);
    set_word(packet, 5, about->limit);
    set_word(packet, 8, (uint32_t)(count - SYN_PACKET_HEAD));
    uint64_t hash = syn_hash(0, packet, SYN_PACKET_HEAD - 4);
    hash = syn_hash(hash, packet + SYN_PACKET_HEAD, count - SYN_PACKET_HEAD);
    set_word(packet, 9, (uint32_t)(hash ^ hash >> 32));
}

static void check_list(const struct syn_list *list, const struct syn_packet_about *about)
{
    assert(list->count <= about->limit);
    for (size_t i = 0; i < list->count; i++) {
        assert(list->index[i] < about->size);
        assert(i == 0 || list->index[i] > list->index[i - 1]);
        assert(syn_magnitude(list->value[i]) < SYN_INFINITY_BITS);
    }
}

/* What was decoded can be encoded in the same form again, within bounds, and decodes to itself. */
static void check_way_back(const struct syn_packet_about *about, const uint8_t *packet,
                           const struct syn_packet_content *content, struct syn_list *list)
{
    const struct syn_value_type *values = syn_value_row(word_at(packet, 1) >> 8 & 0xff);
    size_t bound = syn_packet_bound(values, content->indices, list->count, about->size);
    uint8_t *bytes = malloc(bound);
    struct syn_list again;
    struct syn_packet_content content_again;
    float scale;
    memcpy(&scale, packet + 28, sizeof scale);
    assert(bytes && syn_list_open(&again, about->limit) == SYN_OK);
    size_t count = syn_packet_encode(about, values, content->indices, scale, list, bytes);
    assert(count <= bound);
    assert(syn_packet_decode(about, bytes, count, 0, &again, &content_again) == SYN_OK);
    assert(content_again.indices == content->indices && again.count == list->count);
    assert(memcmp(again.index, list->index, list->count * sizeof *list->index) == 0);
    assert(memcmp(again.value, list->value, list->count * sizeof *list->value) == 0);
    syn_list_close(&again);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < SWITCHES + ABOUT)
        return 0;
    struct syn_packet_about about = about_of(data + SWITCHES);
    struct syn_packet_content content;
    struct syn_list list;
    size_t count = size - SWITCHES - ABOUT;
    uint8_t *packet = malloc(count ? count : 1); /* of exactly that size, for the sanitizer */
    assert(packet && syn_list_open(&list, about.limit) == SYN_OK);
    memcpy(packet, data + SWITCHES + ABOUT, count);
    if (data[0] & IS_SEALED && count >= SYN_PACKET_HEAD)
        seal(packet, count, &about);
    enum syn_status status = syn_packet_decode(&about, packet, count, 3, &list, &content);
    assert(status == SYN_OK || (status == SYN_FORMAT && list.count == 0));
    if (status == SYN_OK && content.is_nonfinite)
        assert(list.count == 0 && content.nonfinite_entry < about.size);
    check_list(&list, &about);
    if (status == SYN_OK && !content.is_nonfinite)
        check_way_back(&about, packet, &content, &list);
    syn_list_close(&list);
    free(packet);
    return 0;
}
