/* Members that were given different settings: all of them find out when they meet, and all say the
 * same. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include <syncopate/settings.h>

#include "exchange/consistency.h"
#include "workers.h"

#define LONG_MS 60000

struct paint {
    double gloss;
    uint64_t coats;
    uint64_t brushes;
    char shop[SYN_TEXT_BYTES];
    bool is_matt;
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct paint, REAL, gloss, "0.5", 0, 1, NULL, "how shiny"),
    SYN_SETTING_ROW(struct paint, COUNT, coats, "2", 1, 9, NULL, "how many"),
    SYN_SETTING_ROW(struct paint, OWN_COUNT, brushes, "2", 1, 9, NULL, "how many each uses"),
    SYN_SETTING_ROW(struct paint, OWN_TEXT, shop, "", 0, 0, NULL, "where each buys"),
    SYN_SETTING_ROW(struct paint, SWITCH, is_matt, "off", 0, 1, NULL, "whether it is matt"),
};
static const struct syn_settings_table table = {"Paint", rows, sizeof rows / sizeof rows[0]};

/* What each member brings, and what came of it. */
struct meeting {
    const char *lines[WORKERS_MOST];
    const char *version; /* of the last member; NULL: as it is */
    enum syn_status status[WORKERS_MOST];
    char cause[WORKERS_MOST][SYN_ERROR_BYTES];
};

static void meet(struct syn_group *group, size_t rank, void *context)
{
    struct meeting *meeting = context;
    struct syn_consistency own;
    syn_consistency_begin(&own);
    if (meeting->version && rank == group->size - 1)
        own.length = (size_t)snprintf(own.text, sizeof own.text, "%s", meeting->version);
    if (meeting->version) {
        syn_consistency_add_lines(&own, meeting->lines[rank]);
        meeting->status[rank] = syn_consistency_check(&own, group, group->size);
    } else {
        meeting->status[rank] = syn_group_compare(group, meeting->lines[rank]);
    }
    snprintf(meeting->cause[rank], SYN_ERROR_BYTES, "%s", syn_error_text());
}

static struct meeting meeting_of(const char *usual)
{
    struct meeting meeting = {.version = NULL};
    for (size_t i = 0; i < WORKERS_MOST; i++)
        meeting.lines[i] = usual;
    return meeting;
}

static void hold(struct meeting *meeting, size_t members)
{
    run_workers(members, LONG_MS, meet, meeting);
}

static void assert_all_say(const struct meeting *meeting, size_t members, const char *words)
{
    for (size_t i = 0; i < members; i++) {
        assert_int_equal(meeting->status[i], SYN_MISMATCH);
        assert_string_equal(meeting->cause[i], words);
    }
}

static void settings_are_compared_unless_their_row_says_that_they_may_differ(void **state)
{
    (void)state;
    struct paint paint;
    char lines[512];
    syn_settings_defaults(&table, &paint);
    size_t length = syn_settings_lines(&table, &paint, lines, sizeof lines);
    assert_string_equal(lines, "gloss 0.5\ncoats 2\nis-matt off\n");
    assert_int_equal(length, strlen(lines));
}

static void members_that_were_given_the_same_go_on(void **state)
{
    (void)state;
    struct meeting meeting = meeting_of("gloss 0.5\ncoats 2\n");
    static const size_t sizes[] = {1, 2, 3, 8};
    for (size_t i = 0; i < 4; i++) {
        hold(&meeting, sizes[i]);
        for (size_t m = 0; m < sizes[i]; m++)
            assert_int_equal(meeting.status[m], SYN_OK);
    }
}

static void a_difference_is_told_by_all_with_its_name_and_both_values(void **state)
{
    (void)state;
    struct meeting meeting = meeting_of("gloss 0.5\ncoats 2\n");
    static const size_t sizes[] = {2, 3, 8};
    for (size_t i = 0; i < 3; i++) {
        meeting.lines[1] = "gloss 0.5\ncoats 3\n";
        hold(&meeting, sizes[i]);
        assert_all_say(&meeting, sizes[i],
                       "coats is \"2\" on worker 0, but \"3\" on worker 1; expected the same on "
                       "all");
    }
}

static void several_that_differ_are_counted(void **state)
{
    (void)state;
    struct meeting meeting = meeting_of("gloss 0.5\n");
    meeting.lines[0] = "gloss 0.25\n";
    hold(&meeting, 4);
    assert_all_say(&meeting, 4,
                   "gloss is \"0.25\" on worker 0, but \"0.5\" on worker 1; expected the same on "
                   "all (3 of 4 members differ from worker 0)");
}

static void an_empty_value_is_one_too(void **state)
{
    (void)state;
    struct meeting meeting = meeting_of("shop \ncoats 2\n");
    meeting.lines[2] = "shop here\ncoats 2\n";
    hold(&meeting, 3);
    assert_all_say(&meeting, 3,
                   "shop is \"\" on worker 0, but \"here\" on worker 2; expected the same on all");
}

static void members_with_other_settings_run_another_version(void **state)
{
    (void)state;
    struct meeting meeting = meeting_of("gloss 0.5\ncoats 2\n");
    meeting.lines[1] = "gloss 0.5\n";
    hold(&meeting, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(meeting.status[i], SYN_MISMATCH);
        assert_non_null(strstr(meeting.cause[i], "they run different versions"));
    }
}

static void another_version_of_the_library_is_named(void **state)
{
    (void)state;
    struct meeting meeting = meeting_of("gloss 0.5\n");
    meeting.version = "version 0.0.1 (protocol 1)\n";
    hold(&meeting, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(meeting.status[i], SYN_MISMATCH);
        assert_non_null(strstr(meeting.cause[i], "but \"0.0.1 (protocol 1)\" on worker 2"));
    }
}

static void no_list_is_too_long_to_be_compared(void **state)
{
    (void)state;
    enum { LINES = 3000 };
    static char usual[16 * LINES];
    static char other[16 * LINES];
    size_t length = 0;
    for (int i = 0; i < LINES; i++)
        length += (size_t)snprintf(usual + length, sizeof usual - length, "item%d %d\n", i, i % 10);
    memcpy(other, usual, sizeof other);
    other[length - 2] = 'x';
    struct meeting meeting = meeting_of(usual);
    hold(&meeting, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(meeting.status[i], SYN_OK);
    meeting.lines[2] = other;
    hold(&meeting, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(meeting.status[i], SYN_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_compared_unless_their_row_says_that_they_may_differ),
        cmocka_unit_test(members_that_were_given_the_same_go_on),
        cmocka_unit_test(a_difference_is_told_by_all_with_its_name_and_both_values),
        cmocka_unit_test(several_that_differ_are_counted),
        cmocka_unit_test(an_empty_value_is_one_too),
        cmocka_unit_test(members_with_other_settings_run_another_version),
        cmocka_unit_test(another_version_of_the_library_is_named),
        cmocka_unit_test(no_list_is_too_long_to_be_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
