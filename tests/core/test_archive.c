/* Archives: what goes in comes out, and no damaged file gets through. */
#include "check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/archive.h"

static struct syn_archive *small_archive(void)
{
    struct syn_archive *archive;
    assert_ok(syn_archive_new(&archive));
    assert_ok(syn_archive_add(archive, "one", "hello", 5));
    assert_ok(syn_archive_add(archive, "none", NULL, 0));
    assert_ok(syn_archive_add(archive, "worker/v", "12345678", 8));
    return archive;
}

static void sections_come_back_from_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/syncopate-archive-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    struct syn_archive *made = small_archive();
    struct syn_archive *read = NULL;
    char text[8];
    assert_ok(syn_archive_save(made, path));
    assert_ok(syn_archive_load(path, &read));
    assert_ok(syn_archive_copy(read, "worker/v", text, 8));
    assert_memory_equal(text, "12345678", 8);
    assert_status(SYN_FORMAT, syn_archive_copy(read, "one", text, 4));
    assert_status(SYN_FORMAT, syn_archive_copy(read, "two", text, 4));
    assert_string_equal(syn_archive_section(read, 1).name, "none");
    assert_null(syn_archive_section(read, 3).name);
    syn_archive_free(made);
    syn_archive_free(read);
    unlink(path);
    assert_status(SYN_IO, syn_archive_load(path, &read));
    assert_status(SYN_FORMAT, syn_archive_load("/tmp", &read));
}

static void an_open_file_is_read_after_it_was_removed(void **state)
{
    (void)state;
    char path[] = "/tmp/syncopate-archive-XXXXXX";
    struct syn_archive *made = small_archive();
    struct syn_archive *read = NULL;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_ok(syn_archive_save(made, path));
    file = open(path, O_RDONLY);
    unlink(path);
    assert_ok(syn_archive_read(file, path, &read));
    assert_string_equal(syn_archive_section(read, 2).name, "worker/v");
    close(file);
    syn_archive_free(made);
    syn_archive_free(read);
}

static void a_failed_save_leaves_nothing_behind(void **state)
{
    (void)state;
    struct syn_archive *made = small_archive();
    assert_status(SYN_IO, syn_archive_save(made, "/nonexistent-directory/file"));
    assert_status(SYN_INVALID, syn_archive_add(made, "one", "again", 5));
    assert_status(SYN_INVALID, syn_archive_add(made, "", "nameless", 8));
    /* Written in full beside its place, which turns out to be a directory's. */
    char path[] = "/tmp/syncopate-archive-XXXXXX";
    char temporary[sizeof path + 4];
    assert_non_null(mkdtemp(path));
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    assert_status(SYN_IO, syn_archive_save(made, path));
    assert_int_not_equal(access(temporary, F_OK), 0);
    rmdir(path);
    syn_archive_free(made);
}

static void every_damage_is_found(void **state)
{
    (void)state;
    struct syn_archive *made = small_archive();
    size_t count = syn_archive_bytes(made);
    uint8_t *bytes = malloc(count);
    syn_archive_write(made, bytes);
    struct syn_archive *read = NULL;
    for (size_t cut = 0; cut < count; cut++) {
        uint8_t *exact = malloc(cut ? cut : 1);
        memcpy(exact, bytes, cut);
        assert_status(SYN_FORMAT, syn_archive_parse(exact, cut, "test", &read));
        free(exact);
    }
    for (size_t bit = 0; bit < 8 * count; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        enum syn_status status = syn_archive_parse(bytes, count, "test", &read);
        if (status == SYN_OK) /* only padding may change unnoticed */
            syn_archive_free(read);
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        size_t byte = bit / 8;
        bool is_padding = byte >= 32 + 64 + 5 && byte < 32 + 64 + 8;
        assert_int_equal(status, is_padding ? SYN_OK : SYN_FORMAT);
    }
    free(bytes);
    syn_archive_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_come_back_from_a_file),
        cmocka_unit_test(an_open_file_is_read_after_it_was_removed),
        cmocka_unit_test(a_failed_save_leaves_nothing_behind),
        cmocka_unit_test(every_damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
