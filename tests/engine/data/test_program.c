/* Running other programs: they end, one way or another, and so do those that they started. */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/program.h"
#include "scratch.h"

static enum syn_program_end run(const char *script, int64_t limit_ms, bool (*goes_on)(void *),
                                int *code)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    const struct syn_program program = {.words = words,
                                        .directory = scratch_folder,
                                        .log = scratch_path("log"),
                                        .limit_ms = limit_ms,
                                        .goes_on = goes_on};
    enum syn_program_end end;
    assert_ok(syn_program_run(&program, &end, code));
    return end;
}

static size_t read_file(const char *name, char *text, size_t capacity)
{
    FILE *file = fopen(scratch_path(name), "r");
    assert_non_null(file);
    size_t count = fread(text, 1, capacity - 1, file);
    text[count] = '\0';
    fclose(file);
    return count;
}

static void exit_codes_and_output_come_back(void **state)
{
    (void)state;
    int code;
    char text[64];
    assert_int_equal(run("echo one; echo two >&2", 60000, NULL, &code), SYN_PROGRAM_DONE);
    assert_int_equal(code, 0);
    read_file("log", text, sizeof text);
    assert_string_equal(text, "one\ntwo\n");
    assert_int_equal(run("exit 3", 60000, NULL, &code), SYN_PROGRAM_FAILED);
    assert_int_equal(code, 3);
    assert_int_equal(run("kill -9 $$", 60000, NULL, &code), SYN_PROGRAM_FAILED);
    assert_int_equal(code, -1);
}

static void a_program_has_nothing_to_read(void **state)
{
    (void)state;
    int code;
    assert_int_equal(run("cat", 60000, NULL, &code), SYN_PROGRAM_DONE);
}

static void an_absent_program_is_told_from_a_failed_one(void **state)
{
    (void)state;
    const char *const words[] = {"no-such-program-anywhere", NULL};
    const struct syn_program program = {
        .words = words, .directory = scratch_folder, .log = scratch_path("log"), .limit_ms = 60000};
    enum syn_program_end end;
    int code;
    assert_ok(syn_program_run(&program, &end, &code));
    assert_int_equal(end, SYN_PROGRAM_ABSENT);
}

static bool never(void *context)
{
    (void)context;
    return false;
}

static void a_program_that_is_late_or_unwanted_is_ended(void **state)
{
    (void)state;
    int code;
    assert_int_equal(run("sleep 600", 100, NULL, &code), SYN_PROGRAM_LATE);
    assert_int_equal(run("sleep 600", 60000, never, &code), SYN_PROGRAM_STOPPED);
}

/* Whether a process runs; one that has ended, but that nobody has waited for, does not. */
static bool is_running(pid_t process)
{
    char path[64];
    char line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (!file)
        return kill(process, 0) == 0;
    bool is_zombie = fgets(line, sizeof line, file) && strstr(line, ") Z ");
    fclose(file);
    return !is_zombie;
}

/* SIGKILL has been sent; the kernel may take a moment. */
static void wait_until_gone(pid_t process)
{
    const struct timespec pause = {0, 20000000};
    for (int i = 0; i < 1000 && is_running(process); i++)
        nanosleep(&pause, NULL);
    assert_false(is_running(process));
}

static void a_program_that_will_not_listen_is_killed_with_its_children(void **state)
{
    (void)state;
    int code;
    char text[32];
    assert_int_equal(
        run("trap '' TERM; sleep 600 & echo $! > pid; while :; do sleep 1; done", 500, NULL, &code),
        SYN_PROGRAM_LATE);
    read_file("pid", text, sizeof text);
    pid_t child = (pid_t)strtol(text, NULL, 10);
    assert_true(child > 0);
    wait_until_gone(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_and_output_come_back),
        cmocka_unit_test(a_program_has_nothing_to_read),
        cmocka_unit_test(an_absent_program_is_told_from_a_failed_one),
        cmocka_unit_test(a_program_that_is_late_or_unwanted_is_ended),
        cmocka_unit_test(a_program_that_will_not_listen_is_killed_with_its_children),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
