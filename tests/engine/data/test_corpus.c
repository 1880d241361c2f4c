/* Texts: what a word is, which words are known, and what is no text at all. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "engine/data/corpus.h"
#include "engine/data/vocabulary.h"

static struct syn_text text_of(const char *text)
{
    return (struct syn_text){"t", (const uint8_t *)text, strlen(text)};
}

/* Read three texts; the caller frees what they became. */
static enum syn_status read_texts(const char *train, const char *valid, const char *test,
                                  size_t most, struct syn_data *data)
{
    const struct syn_text texts[] = {text_of(train), text_of(valid), text_of(test)};
    memset(data, 0, sizeof *data);
    return syn_corpus_read(texts, most, false, data);
}

static void free_tokens(struct syn_data *data)
{
    for (size_t i = 0; i < SYN_DATA_PARTS; i++)
        free(data->parts[i].tokens);
    free(data->names);
}

static void words_are_numbered_by_frequency_then_by_their_bytes(void **state)
{
    (void)state;
    struct syn_data data;
    /* b 3 times, a and c twice, d once: <unk> 0, <eos> 1, b 2, a 3, c 4, d 5. */
    static const int32_t train[] = {2, 4, 3, 1, 2, 3, 4, 1, 2, 5, 1};
    static const int32_t test[] = {5, 0, 1};
    assert_ok(read_texts("b c a\nb a c\nb d\n", "a\n", "d e", 100, &data));
    assert_int_equal(data.info.outputs, 6);
    assert_int_equal(data.info.count[SYN_DATA_TRAIN], 10);
    assert_memory_equal(data.parts[SYN_DATA_TRAIN].tokens, train, sizeof train);
    assert_int_equal(data.info.count[SYN_DATA_TEST], 2);
    assert_memory_equal(data.parts[SYN_DATA_TEST].tokens, test, sizeof test);
    free_tokens(&data);
    static const int32_t shorter_first[] = {3, 2, 4, 1};
    assert_ok(read_texts("ab a abc\n", "a", "a", 100, &data));
    assert_memory_equal(data.parts[SYN_DATA_TRAIN].tokens, shorter_first, sizeof shorter_first);
    free_tokens(&data);
}

/* The blank is a letter like others, and the end of a line is <eos>, whatever marks it. */
static void by_letters_every_character_is_a_word(void **state)
{
    (void)state;
    struct syn_data data = {0};
    /* blank 4 times, a 3 times, then é and x: <unk> 0, <eos> 1, blank 2, a 3, x 4, é 5 */
    static const int32_t train[] = {3, 2, 3, 1, 5, 2, 2, 1, 2, 3, 4, 1};
    static const int32_t valid[] = {3, 0, 1};
    const struct syn_text texts[] = {text_of("a a\n\n\xc3\xa9  \r\n\r\n ax"), text_of("ab\n"),
                                     text_of("x")};
    assert_ok(syn_corpus_read(texts, 100, true, &data));
    assert_int_equal(data.info.outputs, 6);
    assert_int_equal(data.info.count[SYN_DATA_TRAIN], 11);
    assert_memory_equal(data.parts[SYN_DATA_TRAIN].tokens, train, sizeof train);
    assert_int_equal(data.info.count[SYN_DATA_VALID], 2);
    assert_memory_equal(data.parts[SYN_DATA_VALID].tokens, valid, sizeof valid);
    assert_string_equal(data.info.names[2], " ");
    assert_string_equal(data.info.names[5], "\xc3\xa9");
    free_tokens(&data);
}

static void words_beyond_the_vocabulary_are_unknown(void **state)
{
    (void)state;
    struct syn_data data;
    static const int32_t train[] = {2, 0, 3, 1, 2, 3, 0, 1, 2, 0, 1};
    assert_ok(read_texts("b c a\nb a c\nb d\n", "a", "a", 4, &data));
    assert_int_equal(data.info.outputs, 4);
    assert_memory_equal(data.parts[SYN_DATA_TRAIN].tokens, train, sizeof train);
    free_tokens(&data);
}

static void blanks_empty_lines_and_a_missing_last_newline_do_not_matter(void **state)
{
    (void)state;
    static const char *const same[] = {"a b\nc\n", " a  b \n c \n", "a b\n\n\nc",
                                       "\n\na\tb\r\nc\r\n", "a b\nc\n \n\n"};
    static const int32_t expected[] = {2, 3, 1, 4, 1};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct syn_data data;
        assert_ok(read_texts(same[i], "a", "a", 10, &data));
        assert_int_equal(data.info.count[SYN_DATA_TRAIN], 4);
        assert_memory_equal(data.parts[SYN_DATA_TRAIN].tokens, expected, sizeof expected);
        free_tokens(&data);
    }
}

static void special_words_spelt_out_are_what_they_say(void **state)
{
    (void)state;
    struct syn_data data;
    static const int32_t expected[] = {2, 0, 1, 1};
    assert_ok(read_texts("a <unk> <eos>\n", "a", "a", 10, &data));
    assert_int_equal(data.info.outputs, 3);
    assert_memory_equal(data.parts[SYN_DATA_TRAIN].tokens, expected, sizeof expected);
    free_tokens(&data);
}

static void many_words_keep_their_numbers(void **state)
{
    (void)state;
    /* Word i of 20,000 stands there 1 + i / 2,000 times; the table grows on the way. */
    struct syn_vocabulary *vocabulary;
    static char words[20000][8];
    assert_ok(syn_vocabulary_new(&vocabulary));
    for (size_t i = 0; i < 20000; i++) {
        snprintf(words[i], sizeof words[i], "w%05zu", i);
        for (size_t n = 0; n <= i / 2000; n++)
            assert_ok(
                syn_vocabulary_count(vocabulary, (struct syn_word){(const uint8_t *)words[i], 6}));
    }
    assert_int_equal(syn_vocabulary_settle(vocabulary, 10000), 10000);
    for (size_t i = 0; i < 20000; i++) {
        /* The most frequent 2,000 are the last ones. */
        size_t rank = 2 + (9 - i / 2000) * 2000 + i % 2000;
        int32_t found =
            syn_vocabulary_find(vocabulary, (struct syn_word){(const uint8_t *)words[i], 6});
        assert_int_equal(found, rank < 10000 ? rank : SYN_WORD_UNKNOWN);
    }
    syn_vocabulary_free(vocabulary);
}

static void empty_texts_are_refused(void **state)
{
    (void)state;
    static const char *const empty[] = {"", "\n", "  \n\t\r\n"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        struct syn_data data;
        assert_status(SYN_FORMAT, read_texts(empty[i], "a", "a", 10, &data));
        assert_status(SYN_FORMAT, read_texts("a", empty[i], "a", 10, &data));
        assert_status(SYN_FORMAT, read_texts("a", "a", empty[i], 10, &data));
    }
}

static void what_is_not_utf8_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xff",
                                      "\x80",
                                      "\xc0\xaf",
                                      "\xc1\xbf",
                                      "\xe0\x9f\xbf",
                                      "\xc3",
                                      "\xe2\x82",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf0\x9f",
                                      "\xe2\x28\xa1",
                                      "\xf8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[16];
        snprintf(text, sizeof text, "abc %s", bad[i]);
        const struct syn_text whole = text_of(text);
        assert_status(SYN_FORMAT, syn_text_check(&whole));
        assert_non_null(strstr(syn_error_text(), " at 4 "));
    }
    const struct syn_text nul = {"t", (const uint8_t *)"a\0b", 3};
    assert_status(SYN_FORMAT, syn_text_check(&nul));
}

static void text_in_other_scripts_is_welcome(void **state)
{
    (void)state;
    const struct syn_text text =
        text_of("\xc3\xa9t\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf");
    assert_ok(syn_text_check(&text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_numbered_by_frequency_then_by_their_bytes),
        cmocka_unit_test(by_letters_every_character_is_a_word),
        cmocka_unit_test(words_beyond_the_vocabulary_are_unknown),
        cmocka_unit_test(blanks_empty_lines_and_a_missing_last_newline_do_not_matter),
        cmocka_unit_test(special_words_spelt_out_are_what_they_say),
        cmocka_unit_test(many_words_keep_their_numbers),
        cmocka_unit_test(empty_texts_are_refused),
        cmocka_unit_test(what_is_not_utf8_is_refused_with_its_place),
        cmocka_unit_test(text_in_other_scripts_is_welcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
