/* The Brown corpus becomes three texts: tags stripped, lower case, split by document, rare words
 * unknown. */
#include "check.h"

#include <string.h>

#include "engine/data/set.h"
#include "scratch.h"

extern const struct syn_data_set syn_data_set_brown;

static const struct syn_progress nobody = {NULL, NULL};

/* Documents in order of their names: genre and how many it has. */
static const char letters[] = "abcdefghjklmnpr";
static const int counts[] = {44, 27, 17, 17, 36, 48, 75, 30, 80, 29, 24, 6, 29, 29, 9};

static void write_documents(const char *format)
{
    int number = 0;
    for (size_t g = 0; g < sizeof counts / sizeof counts[0]; g++) {
        for (int i = 1; i <= counts[g]; i++) {
            char name[32];
            char text[256];
            snprintf(name, sizeof name, "from/c%c%02d", letters[g], i);
            snprintf(text, sizeof text, format, number++);
            scratch_write_text(name, text);
        }
    }
    assert_int_equal(number, 500);
}

static enum syn_status convert(void)
{
    char from[SYN_PATH_BYTES];
    char to[SYN_PATH_BYTES];
    scratch_write_text("to/nothing", "");
    snprintf(from, sizeof from, "%s", scratch_path("from"));
    snprintf(to, sizeof to, "%s", scratch_path("to"));
    return syn_data_set_brown.convert(from, to, &nobody);
}

/* Line number line of a part, without its newline; false past the end. */
static bool read_line(const char *part, int line, char *text, size_t capacity)
{
    char name[32];
    snprintf(name, sizeof name, "to/ptb.%s.txt", part);
    FILE *file = fopen(scratch_path(name), "r");
    assert_non_null(file);
    bool found = false;
    for (int i = 0; i <= line; i++)
        found = fgets(text, (int)capacity, file) != NULL;
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return found;
}

static void documents_are_dealt_to_three_texts_without_tags(void **state)
{
    (void)state;
    char line[256];
    write_documents("\n\n\tThe/at Doc/nn-tl D%d/np 1/2/cd ./.\n\n\n\tIt/pps ended/vbd\n");
    assert_ok(convert());
    assert_true(read_line("train", 0, line, sizeof line));
    assert_string_equal(line, "the doc d0 1/2 .");
    assert_true(read_line("train", 1, line, sizeof line));
    assert_string_equal(line, "it ended");
    /* Document 9 is the tenth. What only it has, the training part does not know. */
    assert_true(read_line("train", 18, line, sizeof line));
    assert_string_equal(line, "the doc d10 1/2 .");
    assert_true(read_line("valid", 0, line, sizeof line));
    assert_string_equal(line, "the doc <unk> 1/2 .");
    assert_true(read_line("train", 899, line, sizeof line));
    assert_false(read_line("train", 900, line, sizeof line));
    assert_true(read_line("valid", 49, line, sizeof line));
    assert_false(read_line("valid", 50, line, sizeof line));
    assert_true(read_line("test", 49, line, sizeof line));
    assert_false(read_line("test", 50, line, sizeof line));
}

static void a_word_without_a_tag_or_a_missing_document_is_refused(void **state)
{
    (void)state;
    write_documents("The/at doc/nn %d/cd\n");
    scratch_write_text("from/cj80", "The/at doc\n");
    assert_status(SYN_FORMAT, convert());
    assert_non_null(strstr(syn_error_text(), "cj80: \"doc\" is not a word and a tag"));
    scratch_write_text("from/cj80", "/at\n");
    assert_status(SYN_FORMAT, convert());
    assert_int_equal(remove(scratch_path("from/cj80")), 0);
    assert_status(SYN_INVALID, convert());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_dealt_to_three_texts_without_tags),
        cmocka_unit_test(a_word_without_a_tag_or_a_missing_document_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
