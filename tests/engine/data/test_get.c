/* Getting a data set: what is tried, what is kept, and that nothing half-done ever lies in its
 * place. The programs that fetch are scripts of ours, first in PATH. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/program.h"
#include "engine/base/tree.h"
#include "engine/data/get.h"
#include "scratch.h"

static const char alpha[] = "alpha\n";
static const char beta[] = "beta, which is longer\n";

static const struct syn_data_file files[] = {
    {"a.bin", "b6a98d9ce9a2d9149288fa3df42d377c3e42737afdcdaf714e33c0a100b51060"},
    {"b.bin", "0a66aa576a81fc565c5bf0dd13aa3e9a315d45f737810de3bc43f318c6cda3a4"},
};

static const struct syn_progress nobody = {NULL, NULL};

/* Serves what lies in served/, except from hosts called dead; notes every address. With a file
 * "slow" there, it delivers four bytes and then nothing more. Goes on where a partial file ends. */
static const char fake_curl[] =
    "#!/bin/sh\n"
    "while [ $# -gt 1 ]; do [ \"$1\" = --output ] && out=$2; shift; done\n"
    "echo \"curl $1\" >> \"$SCRATCH/calls\"\n"
    "case \"$1\" in *dead*) echo 'curl: (6) Could not resolve host: dead' >&2; exit 6;; esac\n"
    "from=\"$SCRATCH/served/$(basename \"$1\")\"\n"
    "[ -f \"$from\" ] || { echo 'curl: (22) error 404' >&2; exit 22; }\n"
    "have=0; [ -f \"$out\" ] && have=$(wc -c < \"$out\")\n"
    "if [ -f \"$SCRATCH/slow\" ]; then head -c 4 \"$from\" > \"$out\"; sleep 600; fi\n"
    "echo \"from $have\" >> \"$SCRATCH/calls\"\n"
    "tail -c +$((have + 1)) \"$from\" >> \"$out\"\n";

/* npm pack: makes a package of what lies in packed/. */
static const char fake_npm[] =
    "#!/bin/sh\n"
    "echo \"npm $1 $2\" >> \"$SCRATCH/calls\"\n"
    "[ -d \"$SCRATCH/packed\" ] || { echo 'npm error code E404'; exit 1; }\n"
    "tar -C \"$SCRATCH\" -c -z -f thing-1.0.0.tgz packed\n";

static int begin(void **state)
{
    char path[2 * SCRATCH_PATH + 64];
    if (scratch_begin(state) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/bin:%s", scratch_folder, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("SCRATCH", scratch_folder, 1);
    return 0;
}

/* Before each test: programs, an empty root, nothing served. */
static int clean(void **state)
{
    (void)state;
    static const char *const names[] = {"root", "served", "packed", "calls", "slow", "here", "bin"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (syn_tree_remove(scratch_path(names[i])) != SYN_OK)
            return -1;
    scratch_write_script("bin/curl", fake_curl);
    scratch_write_script("bin/npm", fake_npm);
    scratch_log();
    return 0;
}

static const struct syn_data_source dead = {SYN_SOURCE_MIRROR, "http://dead.example/d", NULL, NULL,
                                            100};
static const struct syn_data_source mirror = {SYN_SOURCE_MIRROR, "http://mirror.example/d", NULL,
                                              NULL, 100};
static const struct syn_data_source npm = {SYN_SOURCE_NPM, "thing@1.0.0", NULL, "packed", 100};

/* A set of the two files, from up to three sources. */
static enum syn_status get(const struct syn_data_source *first,
                           const struct syn_data_source *second,
                           const struct syn_data_source *third, const struct syn_progress *progress)
{
    struct syn_data_source sources[3];
    const struct syn_data_source *const given[] = {first, second, third};
    struct syn_data_set set = {
        .name = "thing", .files = files, .file_count = 2, .sources = sources};
    for (size_t i = 0; i < 3; i++)
        if (given[i])
            sources[set.source_count++] = *given[i];
    return syn_get_set(&set, scratch_path("root"), progress);
}

static void serve(const char *a, const char *b)
{
    scratch_write_gzip("served/a.bin.gz", a, strlen(a));
    scratch_write_gzip("served/b.bin.gz", b, strlen(b));
}

static void expect_file(const char *name, const char *contents)
{
    char text[256] = "";
    FILE *file = fopen(scratch_path(name), "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), strlen(contents));
    fclose(file);
    assert_string_equal(text, contents);
}

/* Nothing lies in the root but, perhaps, the finished set. */
static void expect_nothing_else(bool has_set)
{
    DIR *root = opendir(scratch_path("root"));
    const struct dirent *entry;
    size_t count = 0;
    while (root && (entry = readdir(root)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            assert_string_equal(entry->d_name, "thing");
            count++;
        }
    if (root)
        closedir(root);
    assert_int_equal(count, has_set);
    if (has_set) {
        expect_file("root/thing/a.bin", alpha);
        expect_file("root/thing/b.bin", beta);
    }
}

static void a_mirror_delivers_gzipped_files(void **state)
{
    (void)state;
    serve(alpha, beta);
    assert_ok(get(&mirror, NULL, NULL, &nobody));
    expect_nothing_else(true);
}

static void dead_mirrors_are_named_and_the_package_is_taken(void **state)
{
    (void)state;
    scratch_write_text("packed/a.bin", alpha);
    scratch_write_text("packed/b.bin", beta);
    assert_ok(get(&dead, &dead, &npm, &nobody));
    expect_nothing_else(true);
    const char *said = scratch_log();
    assert_non_null(strstr(said, "trying http://dead.example/d\n"));
    assert_non_null(strstr(said, "Could not resolve host: dead"));
    assert_non_null(strstr(said, "trying npm package thing@1.0.0"));
    /* A mirror that is dead for the first file is not asked for the second. */
    expect_file("calls", "curl http://dead.example/d/a.bin.gz\n"
                         "curl http://dead.example/d/a.bin.gz\nnpm pack thing@1.0.0\n");
}

static void an_archive_is_unpacked(void **state)
{
    (void)state;
    const struct syn_data_source archive = {SYN_SOURCE_ARCHIVE, "http://mirror.example/x.tar.gz",
                                            NULL, "packed", 100};
    const char *const words[] = {"tar", "-c", "-z", "-f", "served/x.tar.gz", "packed", NULL};
    const struct syn_program tar = {
        .words = words, .directory = scratch_folder, .log = scratch_path("log"), .limit_ms = 60000};
    enum syn_program_end end;
    int code;
    scratch_write_text("packed/a.bin", alpha);
    scratch_write_text("packed/b.bin", beta);
    scratch_write_text("served/other", "");
    assert_ok(syn_program_run(&tar, &end, &code));
    assert_int_equal(end, SYN_PROGRAM_DONE);
    assert_ok(get(&archive, NULL, NULL, &nobody));
    expect_nothing_else(true);
}

static void a_folder_of_this_machine_is_a_source(void **state)
{
    (void)state;
    char folder[2 * SCRATCH_PATH];
    const struct syn_data_source here = {SYN_SOURCE_FOLDER, folder, NULL, NULL, 0};
    snprintf(folder, sizeof folder, "%s", scratch_path("here"));
    serve(alpha, beta);
    scratch_write_text("here/a.bin", alpha);
    assert_ok(get(&here, &mirror, NULL, &nobody));
    expect_file("calls", "curl http://mirror.example/d/a.bin.gz\nfrom 0\n"
                         "curl http://mirror.example/d/b.bin.gz\nfrom 0\n");
    clean(state);
    scratch_write_text("here/a.bin", alpha);
    scratch_write_gzip("here/b.bin.gz", beta, strlen(beta));
    assert_ok(get(&here, &mirror, NULL, &nobody));
    expect_nothing_else(true);
    assert_int_equal(access(scratch_path("calls"), F_OK), -1);
}

static void wrong_bytes_are_never_put_in_place(void **state)
{
    (void)state;
    serve(alpha, "not beta\n");
    scratch_write_text("packed/a.bin", "not alpha\n");
    scratch_write_text("packed/b.bin", beta);
    assert_status(SYN_IO, get(&mirror, &npm, NULL, &nobody));
    expect_nothing_else(false);
    const char *said = scratch_log();
    assert_non_null(strstr(said, "b.bin: sha256 is "));
    assert_non_null(strstr(said, "a.bin: sha256 is "));
}

static void an_archive_with_the_wrong_hash_is_not_unpacked(void **state)
{
    (void)state;
    struct syn_data_source wrong = npm;
    wrong.sha256 = files[0].sha256;
    scratch_write_text("packed/a.bin", alpha);
    scratch_write_text("packed/b.bin", beta);
    assert_status(SYN_IO, get(&wrong, NULL, NULL, &nobody));
    expect_nothing_else(false);
}

static void when_all_fails_it_says_what_to_do_by_hand(void **state)
{
    (void)state;
    char expected[2 * SCRATCH_PATH];
    assert_status(SYN_IO, get(&dead, &npm, NULL, &nobody));
    expect_nothing_else(false);
    const char *said = scratch_log();
    snprintf(expected, sizeof expected, "by hand, put a.bin, b.bin into %s",
             scratch_path("root/thing"));
    assert_non_null(strstr(said, expected));
    assert_non_null(strstr(said, "npm error code E404"));
    assert_status(SYN_INVALID, get(NULL, NULL, NULL, &nobody));
}

static void a_program_that_is_not_there_is_told(void **state)
{
    (void)state;
    char before[4096];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    setenv("PATH", scratch_path("served"), 1);
    enum syn_status status = get(&mirror, &npm, NULL, &nobody);
    setenv("PATH", before, 1);
    assert_int_equal(status, SYN_IO);
    const char *said = scratch_log();
    assert_non_null(strstr(said, "curl is not installed"));
    assert_non_null(strstr(said, "npm is not installed"));
}

static void what_is_there_is_not_fetched_again(void **state)
{
    (void)state;
    scratch_write_text("root/thing/a.bin", alpha);
    scratch_write_gzip("root/thing/b.bin.gz", beta, strlen(beta));
    assert_ok(get(&mirror, &npm, NULL, &nobody));
    assert_int_equal(access(scratch_path("calls"), F_OK), -1);
}

static void a_damaged_file_is_replaced(void **state)
{
    (void)state;
    serve(alpha, beta);
    scratch_write_text("root/thing/a.bin", alpha);
    scratch_write_text("root/thing/b.bin", "bet");
    assert_ok(get(&mirror, NULL, NULL, &nobody));
    expect_nothing_else(true);
}

/* Asks to stop as soon as something has come. */
static bool stop_early(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    (void)what;
    (void)total;
    return done == 0;
}

static void an_interrupted_download_is_resumed(void **state)
{
    (void)state;
    const struct syn_progress impatient = {stop_early, NULL};
    serve(alpha, beta);
    scratch_write_text("slow", "");
    assert_status(SYN_STOPPED, get(&mirror, &npm, NULL, &impatient));
    assert_int_equal(access(scratch_path("root/thing"), F_OK), -1);
    assert_int_equal(access(scratch_path("root/.thing.part/fetched/a.bin.gz.partial"), F_OK), 0);
    assert_int_equal(unlink(scratch_path("slow")), 0);
    assert_ok(get(&mirror, &npm, NULL, &nobody));
    expect_nothing_else(true);
    expect_file("calls", "curl http://mirror.example/d/a.bin.gz\n"
                         "curl http://mirror.example/d/a.bin.gz\nfrom 4\n"
                         "curl http://mirror.example/d/b.bin.gz\nfrom 0\n");
}

static bool stop_at_once(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    (void)what;
    (void)done;
    (void)total;
    return false;
}

static void stopping_while_files_are_checked_changes_nothing(void **state)
{
    (void)state;
    const struct syn_progress hasty = {stop_at_once, NULL};
    scratch_write_text("root/thing/a.bin", alpha);
    scratch_write_text("root/thing/b.bin", beta);
    assert_status(SYN_STOPPED, get(&mirror, &npm, NULL, &hasty));
    expect_nothing_else(true);
}

static void what_a_killed_run_left_does_no_harm(void **state)
{
    (void)state;
    serve(alpha, beta);
    scratch_write_text("root/.thing.part/ready/a.bin", "al");
    scratch_write_text("root/.thing.part/unpacked/packed/a.bin", "al");
    scratch_write_text("root/.thing.part/package/thing-1.0.0.tgz", "al");
    scratch_write_text("root/.thing.part/fetched/a.bin.gz", "this is whole, but wrong");
    scratch_write_text("packed/a.bin", alpha);
    scratch_write_text("packed/b.bin", beta);
    assert_ok(get(&mirror, &npm, NULL, &nobody));
    expect_nothing_else(true);
}

static void two_at_once_do_not_disturb_each_other(void **state)
{
    (void)state;
    int ready[2];
    int done[2];
    char byte = 0;
    serve(alpha, beta);
    scratch_write_text("root/.thing.part/lock", "");
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(done), 0);
    pid_t other = fork();
    if (other == 0) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int file = open(scratch_path("root/.thing.part/lock"), O_RDWR);
        close(done[1]);
        bool good = fcntl(file, F_SETLK, &whole) == 0 && write(ready[1], &byte, 1) == 1 &&
                    read(done[0], &byte, 1) == 0;
        _exit(good ? 0 : 1);
    }
    assert_true(other > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_status(SYN_BUSY, get(&mirror, NULL, NULL, &nobody));
    close(done[1]);
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
    close(done[0]);
    assert_ok(get(&mirror, NULL, NULL, &nobody));
    expect_nothing_else(true);
}

static void a_root_that_cannot_be_made_is_told(void **state)
{
    (void)state;
    scratch_write_text("root", "a file in the way");
    assert_status(SYN_IO, get(&mirror, NULL, NULL, &nobody));
    assert_non_null(strstr(syn_error_text(), "cannot create the directory"));
}

static void a_relative_root_is_as_good_as_another(void **state)
{
    (void)state;
    const struct syn_data_set set = {
        .name = "thing", .files = files, .file_count = 2, .sources = &npm, .source_count = 1};
    char before[1024];
    scratch_write_text("packed/a.bin", alpha);
    scratch_write_text("packed/b.bin", beta);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(scratch_folder), 0);
    enum syn_status status = syn_get_set(&set, "root", &nobody);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, SYN_OK);
    expect_nothing_else(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_mirror_delivers_gzipped_files, clean),
        cmocka_unit_test_setup(dead_mirrors_are_named_and_the_package_is_taken, clean),
        cmocka_unit_test_setup(an_archive_is_unpacked, clean),
        cmocka_unit_test_setup(a_folder_of_this_machine_is_a_source, clean),
        cmocka_unit_test_setup(wrong_bytes_are_never_put_in_place, clean),
        cmocka_unit_test_setup(an_archive_with_the_wrong_hash_is_not_unpacked, clean),
        cmocka_unit_test_setup(when_all_fails_it_says_what_to_do_by_hand, clean),
        cmocka_unit_test_setup(a_program_that_is_not_there_is_told, clean),
        cmocka_unit_test_setup(what_is_there_is_not_fetched_again, clean),
        cmocka_unit_test_setup(a_damaged_file_is_replaced, clean),
        cmocka_unit_test_setup(an_interrupted_download_is_resumed, clean),
        cmocka_unit_test_setup(stopping_while_files_are_checked_changes_nothing, clean),
        cmocka_unit_test_setup(what_a_killed_run_left_does_no_harm, clean),
        cmocka_unit_test_setup(two_at_once_do_not_disturb_each_other, clean),
        cmocka_unit_test_setup(a_root_that_cannot_be_made_is_told, clean),
        cmocka_unit_test_setup(a_relative_root_is_as_good_as_another, clean),
    };
    return cmocka_run_group_tests(tests, begin, scratch_end);
}
