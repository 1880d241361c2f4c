/* The command: what is bad is told in one line, with exit code 2. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/program.h"
#include "scratch.h"

/* Run `syncopate data ...`; what it printed is in text. */
static int run(const char *first, const char *second, const char *third, char *text,
               size_t capacity)
{
    const char *const words[] = {COMMAND, "data", first, second, third, NULL};
    const struct syn_program program = {.words = words,
                                        .directory = scratch_folder,
                                        .log = scratch_path("log"),
                                        .limit_ms = 120000};
    enum syn_program_end end;
    int code;
    assert_ok(syn_program_run(&program, &end, &code));
    FILE *file = fopen(scratch_path("log"), "r");
    assert_non_null(file);
    size_t count = fread(text, 1, capacity - 1, file);
    text[count] = '\0';
    fclose(file);
    return code;
}

static void expect_refusal(const char *first, const char *second, const char *third,
                           const char *words)
{
    char text[4096];
    assert_int_equal(run(first, second, third, text, sizeof text), 2);
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, text);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void bad_input_is_one_line_and_exit_code_two(void **state)
{
    (void)state;
    expect_refusal("fetch", NULL, NULL, "fetch");
    expect_refusal("get", NULL, NULL, "needs the name of a data set");
    expect_refusal("get", "nothing", NULL, "\"nothing\" is not valid; expected one of mnist");
    expect_refusal("get", "mnist", "--dri=x", "unknown flag --dri");
    expect_refusal("check", "mnist", "--dir=d", "d/mnist/train-images-idx3-ubyte is missing");
    expect_refusal("check", "text", NULL, "data/text/ptb.train.txt is missing");
    expect_refusal("get", "text", NULL,
                   "put ptb.train.txt, ptb.valid.txt, ptb.test.txt into data/text");
    expect_refusal("get", "npy", NULL, "npy is data of your own; pass --data-dir");
    expect_refusal("list", "mnist", NULL, "unexpected argument");
    scratch_write_idx_set("d/mnist", 5, 5);
    scratch_write_text("d/mnist/train-labels-idx1-ubyte", "junk");
    expect_refusal("check", "mnist", "--dir=d",
                   "d/mnist/train-labels-idx1-ubyte: 4 bytes, too short");
    scratch_write_idx_set("d/mnist", 5, 5);
    expect_refusal("check", "mnist", "--dir=d", "train-images-idx3-ubyte: sha256 is ");
}

static void list_tells_of_every_set(void **state)
{
    (void)state;
    char text[4096];
    scratch_write_idx_set("here/mnist", 5, 5);
    assert_int_equal(run("list", "--json", "--dir=here", text, sizeof text), 0);
    assert_non_null(strstr(text, "{\"name\": \"mnist\", \"there\": true, "));
    assert_non_null(strstr(text, "{\"name\": \"cifar10\", \"there\": false, "));
    assert_int_equal(run("list", "--dir=here", NULL, text, sizeof text), 0);
    assert_non_null(strstr(text, "synthetic"));
}

static void check_tells_what_a_set_is(void **state)
{
    (void)state;
    char text[4096];
    scratch_write_text("t/text/ptb.train.txt", "a b\n");
    scratch_write_text("t/text/ptb.valid.txt", "a\n");
    scratch_write_text("t/text/ptb.test.txt", "b\n");
    assert_int_equal(run("check", "text", "--dir=t", text, sizeof text), 0);
    assert_string_equal(text, "text: 2 + 1 + 1 words to predict, vocabulary of 4\n");
}

static void check_warns_of_each_file_once(void **state)
{
    (void)state;
    char text[4096];
    static const uint8_t png[] = {
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
        0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
        0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
        0x9c, 0x63, 0x68, 0x00, 0x00, 0x00, 0x82, 0x00, 0x81, 0x77, 0xcd, 0x72, 0xb6, 0x00,
        0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82}; /* one grey pixel */
    scratch_write("f/train/cat/one.png", png, sizeof png);
    scratch_write("f/val/cat/two.png", png, sizeof png);
    scratch_write_text("f/train/cat/notes.txt", "skipped");
    assert_int_equal(run("check", "folder", "--dir=f", text, sizeof text), 0);
    const char *first = strstr(text, "skipped 1 files");
    assert_non_null(first);
    assert_null(strstr(first + 1, "skipped 1 files"));
    assert_non_null(strstr(text, "folder: 1 + 1 images"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_is_one_line_and_exit_code_two),
        cmocka_unit_test(list_tells_of_every_set),
        cmocka_unit_test(check_tells_what_a_set_is),
        cmocka_unit_test(check_warns_of_each_file_once),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
