/* SHA-256 against the examples of FIPS 180-4 and its successors. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "engine/data/sha256.h"

static void expect(const char *text, const void *bytes, size_t count, size_t step)
{
    struct syn_sha256 sha;
    char got[SYN_SHA256_TEXT];
    syn_sha256_begin(&sha);
    for (size_t at = 0; at < count; at += step)
        syn_sha256_add(&sha, (const char *)bytes + at, count - at < step ? count - at : step);
    syn_sha256_end(&sha, got);
    assert_string_equal(got, text);
}

static void published_examples_come_out(void **state)
{
    (void)state;
    static const char *const long_text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    expect("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "", 0, 1);
    expect("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc", 3, 3);
    expect("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", long_text, 56, 56);
}

static void a_million_letters_come_out_in_pieces_of_any_size(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 7, 55, 56, 63, 64, 65, 1000, 1000000};
    char *letters = malloc(1000000);
    assert_non_null(letters);
    memset(letters, 'a', 1000000);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        expect("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", letters, 1000000,
               steps[i]);
    free(letters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_examples_come_out),
        cmocka_unit_test(a_million_letters_come_out_in_pieces_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
