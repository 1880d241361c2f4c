/* Shares: every example once, the same number of batches for all, full batches as long as there
 * are. */
#include "check.h"

#include <string.h>

#include "engine/data/share.h"

static const size_t worker_counts[] = {1, 2, 3, 5, 7};
static const size_t counts[] = {7, 8, 9, 35, 64, 97, 100, 1000};
static const size_t batches[] = {1, 2, 3, 4, 7, 16};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* Deal one epoch to all workers, noting how often each example was seen. */
static void deal(size_t count, size_t batch, size_t workers)
{
    unsigned char seen[1000] = {0};
    const struct syn_share first = {count, batch, 0, workers};
    for (size_t w = 0; w < workers; w++) {
        const struct syn_share share = {count, batch, w, workers};
        const uint64_t number = syn_share_batches(share);
        assert_int_equal(number, syn_share_batches(first));
        for (uint64_t b = 0; b < number; b++) {
            const struct syn_slice slice = syn_share_slice(share, b);
            assert_true(slice.count <= batch);
            assert_true(slice.count > 0 || (batch == 1 && b + 1 == number));
            if (b + 2 < number)
                assert_int_equal(slice.count, batch);
            for (size_t i = 0; i < slice.count; i++)
                seen[(slice.first + i) * workers + w]++;
        }
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(seen[i], 1);
}

static void every_example_is_dealt_exactly_once(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(worker_counts); w++)
        for (size_t c = 0; c < COUNT(counts); c++)
            for (size_t b = 0; b < COUNT(batches); b++)
                if (batches[b] <= counts[c] / worker_counts[w])
                    deal(counts[c], batches[b], worker_counts[w]);
}

static void the_columns_of_all_workers_are_the_whole_text(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(worker_counts); w++) {
        for (size_t b = 0; b < COUNT(batches); b++) {
            const size_t count = 1000;
            size_t at = 0;
            for (size_t column = 0; column < worker_counts[w] * batches[b]; column++) {
                const struct syn_share share = {count, batches[b], column / batches[b],
                                                worker_counts[w]};
                const struct syn_slice slice = syn_share_column(share, column % batches[b]);
                const size_t longest = syn_share_longest_column(share);
                assert_int_equal(slice.first, at);
                assert_true(slice.count == longest || slice.count + 1 == longest);
                at += slice.count;
            }
            assert_int_equal(at, count);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_is_dealt_exactly_once),
        cmocka_unit_test(the_columns_of_all_workers_are_the_whole_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
