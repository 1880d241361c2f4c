/* Codecs: every form of values and indices gives back what went in, sizes keep their bounds, and
 * nothing that is wrong with a packet gets through. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>

#include "base/hash.h"
#include "codec/codec.h"

#define SIZE 5000

struct bag {
    struct syn_list list;
    struct syn_list copy;
    struct syn_list decoded;
    uint8_t *packet;
    struct syn_packet_about about;
};

static struct bag open_bag(size_t size, size_t limit)
{
    struct bag bag = {
        .about = {.sequence = 3, .bucket = 2, .size = (uint32_t)size, .limit = (uint32_t)limit}};
    assert_ok(syn_list_open(&bag.list, limit));
    assert_ok(syn_list_open(&bag.copy, limit));
    assert_ok(syn_list_open(&bag.decoded, limit));
    bag.packet = malloc(64 + 8 * limit + size + limit / 4);
    return bag;
}

static void close_bag(struct bag *bag)
{
    syn_list_close(&bag->list);
    syn_list_close(&bag->copy);
    syn_list_close(&bag->decoded);
    free(bag->packet);
}

/* Each entry with this chance in 1000, and the last one if that is above one. */
static void fill(struct bag *bag, unsigned chance, uint64_t seed)
{
    struct syn_random random;
    syn_random_start(&random, seed, chance);
    bag->list.count = 0;
    for (size_t i = 0; i < bag->about.size && bag->list.count < bag->about.limit; i++)
        if (syn_random_below(&random, 1000) < chance || (chance > 1 && i + 1 == bag->about.size)) {
            bag->list.index[bag->list.count] = (uint32_t)i;
            bag->list.value[bag->list.count++] = syn_random_normal(&random);
        }
}

static size_t encode(struct bag *bag, const struct syn_value_type *values,
                     const struct syn_index_type *indices)
{
    syn_list_copy(&bag->copy, &bag->list);
    return syn_packet_encode(&bag->about, values, indices, 0.25F, &bag->copy, bag->packet);
}

static enum syn_status decode(struct bag *bag, size_t bytes, struct syn_packet_content *content)
{
    /* A block of exactly that size, so that a sanitizer sees every byte read too many. */
    uint8_t *exact = malloc(bytes ? bytes : 1);
    memcpy(exact, bag->packet, bytes);
    enum syn_status status =
        syn_packet_decode(&bag->about, exact, bytes, 4, &bag->decoded, content);
    free(exact);
    return status;
}

static void every_form_gives_back_what_the_sender_kept(void **state)
{
    (void)state;
    static const unsigned chances[] = {0, 1, 10, 60, 500, 1000};
    struct bag bag = open_bag(SIZE, SIZE);
    struct syn_packet_content content;
    for (size_t v = 0; syn_value_row(v); v++)
        for (size_t x = 0; x == 0 || syn_index_row(x - 1); x++)
            for (size_t c = 0; c < 6; c++) {
                const struct syn_index_type *indices = x ? syn_index_row(x - 1) : NULL;
                fill(&bag, chances[c], c);
                size_t bytes = encode(&bag, syn_value_row(v), indices);
                assert_true(bytes <=
                            syn_packet_bound(syn_value_row(v), indices, bag.list.count, SIZE));
                assert_ok(decode(&bag, bytes, &content));
                assert_int_equal(bag.decoded.count, bag.list.count);
                assert_memory_equal(bag.decoded.index, bag.list.index, 4 * bag.list.count);
                assert_memory_equal(bag.decoded.value, bag.copy.value, 4 * bag.list.count);
            }
    close_bag(&bag);
}

/* The example of docs/formats.md. */
static void the_bytes_of_a_packet_are_these(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        0x53, 0x59, 0x4e, 0x31, 0x02, 0x00, 0x04, 0x00, 0x07, 0x00, 0x00, 0x00, 0x02, 0x00,
        0x00, 0x00, 0x64, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x3f, 0x0f, 0x00, 0x00, 0x00, 0x7c, 0x6e, 0x4a, 0x44, 0x00, 0x00,
        0x80, 0x3f, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x3f, 0xa7, 0x81, 0x08};
    static const float values[] = {1, -2, 0.5F};
    struct bag bag = open_bag(100, 5);
    bag.about.sequence = 7;
    memcpy(bag.list.index, (uint32_t[]){3, 10, 99}, 12);
    memcpy(bag.list.value, values, sizeof values);
    bag.list.count = 3;
    size_t bytes =
        syn_packet_encode(&bag.about, syn_value_find("f32"), NULL, 0.5F, &bag.list, bag.packet);
    assert_int_equal(bytes, sizeof expected);
    assert_memory_equal(bag.packet, expected, sizeof expected);
    close_bag(&bag);
}

static void signs_keep_the_sign_and_send_the_scale(void **state)
{
    (void)state;
    struct bag bag = open_bag(SIZE, SIZE);
    fill(&bag, 100, 1);
    encode(&bag, syn_value_find("sign"), NULL);
    for (size_t i = 0; i < bag.list.count; i++)
        assert_true(bag.copy.value[i] == copysignf(0.25F, bag.list.value[i]));
    close_bag(&bag);
}

static void the_smallest_form_is_chosen(void **state)
{
    (void)state;
    struct bag bag = open_bag(SIZE, SIZE);
    static const struct {
        unsigned chance;
        const char *form;
    } cases[] = {{1, "rice"}, {10, "rice"}, {600, "bitmap"}, {1000, "full"}};
    for (size_t i = 0; i < 4; i++) {
        struct syn_packet_content content;
        fill(&bag, cases[i].chance, 5);
        size_t smallest = encode(&bag, syn_value_find("f32"), NULL);
        assert_ok(decode(&bag, smallest, &content));
        assert_string_equal(content.indices->part.name, cases[i].form);
        for (size_t x = 0; syn_index_row(x); x++)
            assert_true(smallest <= encode(&bag, syn_value_find("f32"), syn_index_row(x)));
    }
    close_bag(&bag);
}

static void rice_codes_come_close_to_the_entropy(void **state)
{
    (void)state;
    enum { LARGE = 1000000 };
    struct bag bag = open_bag(LARGE, LARGE / 100);
    fill(&bag, 1, 1);
    size_t bytes = encode(&bag, syn_value_find("f32"), syn_index_find("rice"));
    double n = LARGE;
    double k = (double)bag.list.count;
    double entropy = (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2);
    double bits = 8.0 * (double)(bytes - SYN_PACKET_HEAD - 4 * bag.list.count);
    assert_true(bits < 1.03 * entropy);
    close_bag(&bag);
}

static void extreme_gaps_travel(void **state)
{
    (void)state;
    struct bag bag = open_bag(UINT32_MAX, 3);
    free(bag.packet);
    bag.packet = malloc(4096);
    struct syn_packet_content content;
    static const uint32_t lists[3][3] = {
        {0, 1, 2}, {0, 1, UINT32_MAX - 1}, {7, 1U << 31, (1U << 31) + 1}};
    for (int i = 0; i < 3; i++)
        for (int c = 1; c <= 3; c++) {
            memcpy(bag.list.index, lists[i], sizeof lists[i]);
            bag.list.count = (size_t)c;
            for (int v = 0; v < 3; v++)
                bag.list.value[v] = 1;
            size_t bytes = encode(&bag, syn_value_find("f32"), syn_index_find("rice"));
            assert_true(bytes <= 4096);
            assert_ok(decode(&bag, bytes, &content));
            assert_memory_equal(bag.decoded.index, lists[i], (size_t)c * 4);
        }
    close_bag(&bag);
}

/* Put the checksum right again after tampering, so that the checks behind it are reached. */
static void reseal(uint8_t *packet, size_t bytes)
{
    uint32_t length = (uint32_t)(bytes - SYN_PACKET_HEAD);
    memcpy(packet + 32, &length, 4);
    uint64_t hash = syn_hash(0, packet, 36);
    hash = syn_hash(hash, packet + SYN_PACKET_HEAD, bytes - SYN_PACKET_HEAD);
    uint32_t sum = (uint32_t)(hash ^ hash >> 32);
    memcpy(packet + 36, &sum, 4);
}

static void a_flipped_bit_anywhere_is_found(void **state)
{
    (void)state;
    struct bag bag = open_bag(300, 300);
    struct syn_packet_content content;
    fill(&bag, 100, 1);
    for (size_t v = 0; syn_value_row(v); v++) {
        size_t bytes = encode(&bag, syn_value_row(v), NULL);
        for (size_t bit = 0; bit < 8 * bytes; bit++) {
            bag.packet[bit / 8] ^= (uint8_t)(1U << (bit % 8));
            assert_status(SYN_FORMAT, decode(&bag, bytes, &content));
            bag.packet[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        }
    }
    close_bag(&bag);
}

static void truncated_and_oversized_packets_are_refused(void **state)
{
    (void)state;
    struct bag bag = open_bag(300, 300);
    struct syn_packet_content content;
    fill(&bag, 100, 1);
    for (size_t x = 0; syn_index_row(x); x++) {
        size_t bytes = encode(&bag, syn_value_find("f16"), syn_index_row(x));
        for (size_t cut = 0; cut < bytes; cut++) {
            assert_status(SYN_FORMAT, decode(&bag, cut, &content));
            encode(&bag, syn_value_find("f16"), syn_index_row(x));
            if (cut >= SYN_PACKET_HEAD) {
                reseal(bag.packet, cut);
                assert_status(SYN_FORMAT, decode(&bag, cut, &content));
                encode(&bag, syn_value_find("f16"), syn_index_row(x));
            }
        }
        bag.packet[bytes] = 0;
        reseal(bag.packet, bytes + 1);
        assert_status(SYN_FORMAT, decode(&bag, bytes + 1, &content));
    }
    close_bag(&bag);
}

static void shuffled_duplicated_or_far_indices_are_refused(void **state)
{
    (void)state;
    struct bag bag = open_bag(300, 300);
    struct syn_packet_content content;
    static const uint32_t bad[][3] = {
        {5, 4, 6}, {5, 5, 6}, {5, 6, 300}, {0, 0, 0}, {5, 6, UINT32_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memcpy(bag.list.index, (uint32_t[]){1, 2, 3}, 12);
        bag.list.count = 3;
        size_t bytes = encode(&bag, syn_value_find("f32"), syn_index_find("raw"));
        memcpy(bag.packet + SYN_PACKET_HEAD + 12, bad[i], 12);
        reseal(bag.packet, bytes);
        assert_status(SYN_FORMAT, decode(&bag, bytes, &content));
        assert_int_equal(bag.decoded.count, 0);
    }
    close_bag(&bag);
}

static void bits_beyond_the_last_are_refused(void **state)
{
    (void)state;
    struct bag bag = open_bag(100, 5);
    struct syn_packet_content content;
    memcpy(bag.list.index, (uint32_t[]){3, 10, 99}, 12);
    bag.list.count = 3;
    /* Rice: 20 bits in 3 bytes. A map: 100 bits in 13 bytes, with bit 101 in the place of bit
     * 99. */
    size_t bytes = encode(&bag, syn_value_find("f32"), syn_index_find("rice"));
    assert_int_equal(bytes, SYN_PACKET_HEAD + 12 + 3);
    bag.packet[bytes - 1] |= 0x10;
    reseal(bag.packet, bytes);
    assert_status(SYN_FORMAT, decode(&bag, bytes, &content));
    bytes = encode(&bag, syn_value_find("f32"), syn_index_find("bitmap"));
    assert_int_equal(bag.packet[bytes - 1], 0x08);
    bag.packet[bytes - 1] = 0x20;
    reseal(bag.packet, bytes);
    assert_status(SYN_FORMAT, decode(&bag, bytes, &content));
    assert_non_null(strstr(syn_error_text(), "index 101"));
    close_bag(&bag);
}

/* 20 bits in 3 bytes, of which the last holds nothing but the low bits of the last gap. */
static void a_gap_without_its_low_bits_is_refused(void **state)
{
    (void)state;
    struct bag bag = open_bag(100, 5);
    struct syn_packet_content content;
    memcpy(bag.list.index, (uint32_t[]){3, 10, 99}, 12);
    bag.list.count = 3;
    size_t bytes = encode(&bag, syn_value_find("f32"), syn_index_find("rice"));
    reseal(bag.packet, bytes - 1);
    assert_status(SYN_FORMAT, decode(&bag, bytes - 1, &content));
    assert_non_null(strstr(syn_error_text(), "truncated"));
    close_bag(&bag);
}

/* What is left behind, |x - Q(x)|^2 over |x|^2. */
static double share_left(const struct syn_value_type *values, const float *x, size_t count)
{
    float *rounded = test_malloc(count * sizeof *rounded);
    uint8_t bytes[8192];
    double left = 0;
    double whole = 0;
    assert_true(values->measure(count) <= sizeof bytes);
    memcpy(rounded, x, count * sizeof *x);
    values->encode(syn_kernels(), rounded, count, 1, bytes);
    for (size_t i = 0; i < count; i++) {
        left += ((double)x[i] - rounded[i]) * ((double)x[i] - rounded[i]);
        whole += (double)x[i] * x[i];
    }
    test_free(rounded);
    return whole > 0 ? left / whole : left;
}

static void rounding_in_blocks_leaves_less_than_there_was(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double most; /* of normal values */
    } forms[] = {{"q8", 1e-4}, {"q4", 0.03}, {"q2", 0.2}};
    static const size_t counts[] = {1, 2, 255, 256, 257, 1000};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            const struct syn_value_type *values = syn_value_find(forms[f].name);
            struct syn_random random;
            float x[1000];
            syn_random_start(&random, counts[c], f);
            for (size_t i = 0; i < counts[c]; i++)
                x[i] = syn_random_normal(&random);
            assert_true(share_left(values, x, counts[c]) < forms[f].most);
            for (size_t i = 0; i < counts[c]; i++)
                x[i] = ldexpf(x[i], (int)(i % 60) - 30);
            assert_true(share_left(values, x, counts[c]) < 1);
            for (size_t i = 0; i < counts[c]; i++)
                x[i] = i % 2 ? 3e38F : -3e38F;
            assert_true(share_left(values, x, counts[c]) < 1e-6);
            memset(x, 0, sizeof x);
            assert_true(share_left(values, x, counts[c]) == 0);
            x[0] = 1e-45F;
            assert_true(share_left(values, x, counts[c]) <= 1);
        }
}

/* Blocks of very different size, each with one magnitude, which every form can tell. */
static void each_block_has_a_scale_of_its_own(void **state)
{
    (void)state;
    static const char *const forms[] = {"q8", "q4", "q2"};
    static const float sizes[] = {1, 1e6F, 1e-6F};
    for (size_t f = 0; f < 3; f++) {
        float x[600];
        uint8_t bytes[4096];
        for (size_t i = 0; i < 600; i++)
            x[i] = sizes[i / 256] * (i % 3 ? 1 : -1);
        syn_value_find(forms[f])->encode(syn_kernels(), x, 600, 1, bytes);
        for (size_t i = 0; i < 600; i++)
            assert_true(fabsf(x[i] / sizes[i / 256] * (i % 3 ? 1 : -1) - 1) < 1e-6F);
    }
}

static void bits_that_no_value_needs_are_zero(void **state)
{
    (void)state;
    uint8_t bytes[64] = {0};
    float x[7] = {1, -1, 1, -1, 1, -1, 1};
    const struct syn_value_type *values = syn_value_find("q4");
    values->encode(syn_kernels(), x, 7, 1, bytes);
    assert_int_equal(bytes[values->measure(7) - 1] >> 4, 0);
}

static void blocks_say_which_value_is_not_finite(void **state)
{
    (void)state;
    static const char *const forms[] = {"q8", "q4", "q2"};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t f = 0; f < 3; f++)
        for (size_t b = 0; b < 3; b++) {
            const struct syn_value_type *values = syn_value_find(forms[f]);
            float x[600];
            uint8_t bytes[4096];
            for (size_t i = 0; i < 600; i++)
                x[i] = (float)i - 300;
            x[400] = bad[b];
            values->encode(syn_kernels(), x, 600, 1, bytes);
            for (size_t i = 0; i < 600; i++)
                assert_int_equal(syn_magnitude(x[i]) >= SYN_INFINITY_BITS, i == 400);
        }
}

static void values_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    struct bag bag = open_bag(300, 300);
    struct syn_packet_content content;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    fill(&bag, 100, 1);
    for (int i = 0; i < 3; i++) {
        size_t bytes = encode(&bag, syn_value_find("f32"), NULL);
        memcpy(bag.packet + SYN_PACKET_HEAD + 8, &bad[i], 4);
        reseal(bag.packet, bytes);
        assert_status(SYN_FORMAT, decode(&bag, bytes, &content));
        bytes = encode(&bag, syn_value_find("sign"), NULL);
        memcpy(bag.packet + 28, &bad[i], 4);
        reseal(bag.packet, bytes);
        assert_status(SYN_FORMAT, decode(&bag, bytes, &content));
    }
    close_bag(&bag);
}

static void a_packet_of_another_step_bucket_or_size_is_refused(void **state)
{
    (void)state;
    struct bag bag = open_bag(300, 300);
    struct syn_packet_content content;
    fill(&bag, 100, 1);
    size_t bytes = encode(&bag, syn_value_find("f32"), NULL);
    uint32_t *fields[] = {&bag.about.sequence, &bag.about.bucket, &bag.about.size,
                          &bag.about.limit};
    for (int i = 0; i < 4; i++) {
        *fields[i] -= 1;
        assert_status(SYN_FORMAT, decode(&bag, bytes, &content));
        *fields[i] += 1;
    }
    assert_non_null(strstr(syn_error_text(), "worker 4"));
    close_bag(&bag);
}

static void more_entries_than_the_limit_are_refused(void **state)
{
    (void)state;
    struct bag bag = open_bag(300, 300);
    struct syn_packet_content content;
    fill(&bag, 100, 1);
    for (size_t x = 0; x < 3; x++) {
        size_t bytes = encode(&bag, syn_value_find("f32"), syn_index_row(x));
        bag.about.limit = (uint32_t)bag.list.count - 1;
        memcpy(bag.packet + 20, &bag.about.limit, 4);
        reseal(bag.packet, bytes);
        assert_status(SYN_FORMAT, decode(&bag, bytes, &content));
        assert_non_null(strstr(syn_error_text(), "at most"));
        bag.about.limit = 300;
    }
    close_bag(&bag);
}

static void a_nonfinite_mark_beyond_the_bucket_is_refused(void **state)
{
    (void)state;
    struct bag bag = open_bag(300, 300);
    struct syn_packet_content content;
    size_t bytes = syn_packet_nonfinite(&bag.about, 300, bag.packet);
    assert_status(SYN_FORMAT, decode(&bag, bytes, &content));
    assert_false(content.is_nonfinite);
    close_bag(&bag);
}

static void a_nonfinite_mark_travels_with_its_entry(void **state)
{
    (void)state;
    struct bag bag = open_bag(300, 300);
    struct syn_packet_content content;
    size_t bytes = syn_packet_nonfinite(&bag.about, 17, bag.packet);
    assert_ok(decode(&bag, bytes, &content));
    assert_true(content.is_nonfinite);
    assert_int_equal(content.nonfinite_entry, 17);
    assert_int_equal(bag.decoded.count, 0);
    close_bag(&bag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_gives_back_what_the_sender_kept),
        cmocka_unit_test(the_bytes_of_a_packet_are_these),
        cmocka_unit_test(signs_keep_the_sign_and_send_the_scale),
        cmocka_unit_test(the_smallest_form_is_chosen),
        cmocka_unit_test(rice_codes_come_close_to_the_entropy),
        cmocka_unit_test(extreme_gaps_travel),
        cmocka_unit_test(a_flipped_bit_anywhere_is_found),
        cmocka_unit_test(truncated_and_oversized_packets_are_refused),
        cmocka_unit_test(shuffled_duplicated_or_far_indices_are_refused),
        cmocka_unit_test(bits_beyond_the_last_are_refused),
        cmocka_unit_test(a_gap_without_its_low_bits_is_refused),
        cmocka_unit_test(rounding_in_blocks_leaves_less_than_there_was),
        cmocka_unit_test(each_block_has_a_scale_of_its_own),
        cmocka_unit_test(bits_that_no_value_needs_are_zero),
        cmocka_unit_test(blocks_say_which_value_is_not_finite),
        cmocka_unit_test(values_that_are_not_finite_are_refused),
        cmocka_unit_test(a_packet_of_another_step_bucket_or_size_is_refused),
        cmocka_unit_test(more_entries_than_the_limit_are_refused),
        cmocka_unit_test(a_nonfinite_mark_beyond_the_bucket_is_refused),
        cmocka_unit_test(a_nonfinite_mark_travels_with_its_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
