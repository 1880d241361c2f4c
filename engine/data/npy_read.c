/* The .npy format: \x93NUMPY, a version, the length of the header, then the header, which is a
 * Python dictionary such as
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }
 *
 * then the items. NumPy writes the dictionary in exactly this form, so keys are found by their
 * quoted names. Sizes come from the file, so they are bounded before they are multiplied. */
#include "engine/data/npy_read.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"

#define MAGIC        "\x93NUMPY"
#define MAGIC_BYTES  6
#define MOST_HEADER  4096
#define LARGEST_ITEM 8

/* The header's text, NUL-terminated, and where the items begin. */
static enum syn_status read_text(const char *name, const uint8_t *bytes, size_t count,
                                 char text[MOST_HEADER], size_t *begin)
{
    if (count < 10 || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
        return syn_report(SYN_FORMAT, "%s: not a .npy file: it does not begin with \\x93NUMPY",
                          name);
    size_t at = bytes[6] == 1 ? 10 : 12;
    if (bytes[6] < 1 || bytes[6] > 3 || count < at)
        return syn_report(SYN_FORMAT, "%s: .npy version %d; expected 1 to 3", name, bytes[6]);
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (at == 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length >= MOST_HEADER || length > count - at)
        return syn_report(SYN_FORMAT, "%s: a header of %zu bytes; expected less than %d", name,
                          length, MOST_HEADER);
    memcpy(text, bytes + at, length);
    text[length] = '\0';
    *begin = at + length;
    return SYN_OK;
}

/* The text after 'key': in the dictionary. */
static enum syn_status find_value(const char *name, const char *text, const char *key,
                                  const char **value)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *found = strstr(text, quoted);
    if (!found)
        return syn_report(SYN_FORMAT, "%s: no '%s' in the .npy header \"%.64s\"", name, key, text);
    found += strlen(quoted);
    *value = found + strspn(found, " ");
    return SYN_OK;
}

static enum syn_status read_type(const char *name, const char *text, struct syn_npy *array)
{
    const char *value;
    SYN_TRY(find_value(name, text, "descr", &value));
    int length = (int)strcspn(value, ",}");
    if (value[0] == '\'' && value[1] == '>')
        return syn_report(
            SYN_FORMAT,
            "%s: big-endian items %.*s; expected little-endian ones, as .astype('<%.*s) makes",
            name, length, value, length > 2 ? length - 2 : 0, value + 2);
    bool is_plain = value[0] == '\'' && (value[1] == '<' || value[1] == '|') && value[2] &&
                    strchr("uif", value[2]) && value[3] && strchr("1248", value[3]) &&
                    value[4] == '\'';
    if (!is_plain)
        return syn_report(SYN_FORMAT, "%s: items of type %.*s; expected integers or floats", name,
                          length, value);
    array->kind = value[2];
    array->width = (size_t)(value[3] - '0');
    return SYN_OK;
}

static enum syn_status read_order(const char *name, const char *text)
{
    const char *value;
    SYN_TRY(find_value(name, text, "fortran_order", &value));
    if (strncmp(value, "False", 5) != 0)
        return syn_report(SYN_FORMAT,
                          "%s: the array is in Fortran order; expected C order, as "
                          "numpy.ascontiguousarray() makes",
                          name);
    return SYN_OK;
}

static enum syn_status read_shape(const char *name, const char *text, struct syn_npy *array)
{
    const char *value;
    SYN_TRY(find_value(name, text, "shape", &value));
    int length = (int)strcspn(value, ")");
    array->items = 1;
    const char *at = *value == '(' ? value + 1 : value;
    while (at > value && *at >= '0' && *at <= '9') {
        char *end;
        unsigned long long size = strtoull(at, &end, 10);
        bool is_too_large = size > SIZE_MAX / LARGEST_ITEM / array->items;
        if (array->dimensions == SYN_NPY_DIMENSIONS || size == 0 || is_too_large)
            return syn_report(SYN_FORMAT, "%s: shape %.*s); expected 1 to %d sizes of at least 1",
                              name, length, value, SYN_NPY_DIMENSIONS);
        array->shape[array->dimensions++] = (size_t)size;
        array->items *= (size_t)size;
        at = end + strspn(end, ", ");
    }
    if (array->dimensions == 0 || *at != ')')
        return syn_report(SYN_FORMAT, "%s: shape %.*s); expected 1 to %d sizes of at least 1", name,
                          length, value, SYN_NPY_DIMENSIONS);
    return SYN_OK;
}

enum syn_status syn_npy_read(const char *name, const uint8_t *bytes, size_t count,
                             struct syn_npy *array)
{
    char text[MOST_HEADER];
    size_t begin;
    struct syn_npy read = {0};
    SYN_TRY(read_text(name, bytes, count, text, &begin));
    SYN_TRY(read_type(name, text, &read));
    SYN_TRY(read_order(name, text));
    SYN_TRY(read_shape(name, text, &read));
    if (count - begin != read.items * read.width)
        return syn_report(SYN_FORMAT, "%s: %zu bytes of items; its header says %zu: it %s", name,
                          count - begin, read.items * read.width,
                          count - begin < read.items * read.width ? "is cut short"
                                                                  : "has bytes left over");
    read.bytes = bytes + begin;
    *array = read;
    return SYN_OK;
}
