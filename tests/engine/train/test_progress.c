/* The bar of the command: what it says of the time that is left. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apps/syncopate/progress.h"

/* What is written to standard error between the two, which is no terminal then. */
static int put_aside(FILE *file)
{
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    return kept;
}

static void take_back(int kept, FILE *file, char *text, size_t capacity)
{
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    rewind(file);
    size_t length = fread(text, 1, capacity - 1, file);
    text[length] = '\0';
}

/* 900 of 1000 steps were made by an earlier process, and this one makes one in more than two
 * seconds: what is left takes 99 times as long, not a tenth of it. */
static void the_time_left_counts_only_what_was_done_here(void **state)
{
    (void)state;
    char text[512];
    double left = 0;
    struct progress bar;
    const struct timespec pause = {.tv_sec = 2, .tv_nsec = 100000000};
    FILE *file = tmpfile();
    assert_non_null(file);
    int kept = put_aside(file);
    progress_begin(&bar, "run", 1000);
    progress_tell(&bar, 900, NULL);
    nanosleep(&pause, NULL);
    progress_tell(&bar, 901, "loss 1");
    progress_end(&bar);
    take_back(kept, file, text, sizeof text);
    fclose(file);
    assert_int_equal(sscanf(text, "run  90%%, %lf", &left), 1);
    assert_non_null(strstr(text, " min left, loss 1"));
    if (left < 3)
        fail_msg("%g min left in \"%s\"; expected 3 at least", left, text);
}

/* Half is done, and took so long that a slow machine adds little to it. */
static void the_time_left_is_told_in_seconds_minutes_or_hours(void **state)
{
    (void)state;
    static const struct {
        int64_t spent_s;
        const char *unit;
        double least;
        double most;
    } cases[] = {{40, "s", 40, 80}, {1200, "min", 20, 25}, {9000, "h", 2.5, 2.7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        char unit[8];
        double left = 0;
        struct progress bar;
        FILE *file = tmpfile();
        assert_non_null(file);
        int kept = put_aside(file);
        progress_begin(&bar, "run", 1000);
        progress_tell(&bar, 0, NULL);
        bar.began_ns -= cases[i].spent_s * 1000000000;
        bar.first_ns -= cases[i].spent_s * 1000000000;
        progress_tell(&bar, 500, NULL);
        progress_end(&bar);
        take_back(kept, file, text, sizeof text);
        fclose(file);
        assert_int_equal(sscanf(text, "run  50%%, %lf %7s left", &left, unit), 2);
        assert_string_equal(unit, cases[i].unit);
        if (left < cases[i].least || left > cases[i].most)
            fail_msg("\"%s\" after %d s", text, (int)cases[i].spent_s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_left_counts_only_what_was_done_here),
        cmocka_unit_test(the_time_left_is_told_in_seconds_minutes_or_hours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
