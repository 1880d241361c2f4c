/* A scanner by the grammar of RFC 8259. Every skip_ function moves past what it is named for, and
 * is false, the place being of no use then, if that is not what stands there. */
#include "json.h"

#include <string.h>

static char peek(const struct json *rest)
{
    return rest->at < rest->end ? *rest->at : '\0';
}

static void skip_space(struct json *rest)
{
    while (rest->at < rest->end && strchr(" \t\r\n", *rest->at) && *rest->at)
        rest->at++;
}

static bool skip_char(struct json *rest, char c)
{
    if (rest->at == rest->end || *rest->at != c)
        return false;
    rest->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool skip_digits(struct json *rest)
{
    if (!is_digit(peek(rest)))
        return false;
    while (is_digit(peek(rest)))
        rest->at++;
    return true;
}

static bool skip_number(struct json *rest)
{
    skip_char(rest, '-');
    if (!skip_char(rest, '0') && !skip_digits(rest))
        return false;
    if (skip_char(rest, '.') && !skip_digits(rest))
        return false;
    if (!skip_char(rest, 'e') && !skip_char(rest, 'E'))
        return true;
    if (!skip_char(rest, '+'))
        skip_char(rest, '-');
    return skip_digits(rest);
}

/* What follows a backslash. */
static bool skip_escape(struct json *rest)
{
    char c = peek(rest);
    if (!skip_char(rest, c))
        return false;
    if (c != 'u')
        return c && strchr("\"\\/bfnrt", c);
    for (int i = 0; i < 4; i++, rest->at++)
        if (!is_hex(peek(rest)))
            return false;
    return true;
}

static bool skip_string(struct json *rest)
{
    if (!skip_char(rest, '"'))
        return false;
    while (rest->at < rest->end) {
        unsigned char c = (unsigned char)*rest->at++;
        if (c == '"')
            return true;
        if (c < 0x20 || (c == '\\' && !skip_escape(rest)))
            return false;
    }
    return false;
}

static bool skip_word(struct json *rest, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(rest->end - rest->at) < length || memcmp(rest->at, word, length) != 0)
        return false;
    rest->at += length;
    return true;
}

static bool skip_value(struct json *rest, int depth);

static bool skip_name(struct json *rest)
{
    if (!skip_string(rest))
        return false;
    skip_space(rest);
    if (!skip_char(rest, ':'))
        return false;
    skip_space(rest);
    return true;
}

static bool skip_container(struct json *rest, bool is_object, int depth)
{
    char close = is_object ? '}' : ']';
    rest->at++;
    skip_space(rest);
    if (skip_char(rest, close))
        return true;
    do {
        skip_space(rest);
        if ((is_object && !skip_name(rest)) || !skip_value(rest, depth))
            return false;
        skip_space(rest);
    } while (skip_char(rest, ','));
    return skip_char(rest, close);
}

/* The depth of recursion is bounded by depth. */
static bool skip_value(struct json *rest, int depth)
{
    switch (peek(rest)) {
    case '{':
    case '[':
        return depth > 0 && skip_container(rest, *rest->at == '{', depth - 1);
    case '"':
        return skip_string(rest);
    case 't':
        return skip_word(rest, "true");
    case 'f':
        return skip_word(rest, "false");
    case 'n':
        return skip_word(rest, "null");
    default:
        return skip_number(rest);
    }
}

bool json_read(const char *text, size_t length, struct json *value)
{
    struct json rest = {text, text + length};
    skip_space(&rest);
    const char *begin = rest.at;
    if (!skip_value(&rest, JSON_MOST_DEPTH))
        return false;
    struct json whole = {begin, rest.at};
    skip_space(&rest);
    if (rest.at != rest.end)
        return false;
    *value = whole;
    return true;
}

enum json_kind json_kind(struct json value)
{
    switch (*value.at) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
    case 'n':
        return JSON_WORD;
    default:
        return JSON_NUMBER;
    }
}

bool json_next(struct json *rest, struct json *name, struct json *value)
{
    *name = (struct json){rest->at, rest->at};
    rest->at += rest->at < rest->end; /* the bracket, or the comma before this one */
    skip_space(rest);
    char last = rest->end[-1];
    if (rest->end - rest->at < 2)
        return false;
    if (last == '}') {
        name->at = rest->at;
        skip_string(rest);
        name->end = rest->at;
        skip_space(rest);
        rest->at++;
        skip_space(rest);
    }
    value->at = rest->at;
    skip_value(rest, JSON_MOST_DEPTH);
    value->end = rest->at;
    skip_space(rest);
    return true;
}

bool json_is(struct json value, const char *words)
{
    size_t length = strlen(words);
    return (size_t)(value.end - value.at) == length + 2 && *value.at == '"' &&
           memcmp(value.at + 1, words, length) == 0;
}

bool json_find(struct json value, const char *name, struct json *found)
{
    struct json own;
    if (json_kind(value) != JSON_OBJECT)
        return false;
    while (json_next(&value, &own, found))
        if (json_is(own, name))
            return true;
    return false;
}
