/* Row tables: each kind of part is a list of const descriptors. A .def file names the rows once, as
 *
 *     SYN_PART(topk)
 *
 * from which C generates the declaration and the table, and CMake the list of files to compile
 * (topk.c). */
#ifndef SYN_BASE_TABLE_H
#define SYN_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <syncopate/status.h>

/* What every descriptor begins with. */
struct syn_part {
    const char *name;
    const char *help; /* one line */
};

/* "auto": the word for SYN_AUTO in settings (settings.h). */
static inline const char *syn_auto_word(size_t i)
{
    return i == 0 ? "auto" : NULL;
}

/* Index of a name among choices (settings.h), or SIZE_MAX if it is not one of them: for choices
 * that are not rows. */
static inline size_t syn_choice_number(const char *(*choices)(size_t i), const char *name)
{
    for (size_t i = 0; choices(i); i++)
        if (strcmp(choices(i), name) == 0)
            return i;
    return SIZE_MAX;
}

/* Fail with SYN_INVALID: no part of that kind has that name. The cause lists those that exist. */
enum syn_status syn_fail_choice(const char *kind, const char *name,
                                const char *(*choices)(size_t i));

/* Define the three functions of every table, over a static array `rows` of pointers to descriptors:
 * syn_KIND_row(i) and syn_KIND_name(i), which return NULL past the last, and syn_KIND_find(name),
 * which returns NULL if there is none. */
#define SYN_TABLE(kind, type)                                                                      \
    const type *syn_##kind##_row(size_t i)                                                         \
    {                                                                                              \
        return i < sizeof rows / sizeof rows[0] ? rows[i] : NULL;                                  \
    }                                                                                              \
    const type *syn_##kind##_find(const char *name)                                                \
    {                                                                                              \
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)                                  \
            if (strcmp(rows[i]->part.name, name) == 0)                                             \
                return rows[i];                                                                    \
        return NULL;                                                                               \
    }                                                                                              \
    const char *syn_##kind##_name(size_t i)                                                        \
    {                                                                                              \
        return i < sizeof rows / sizeof rows[0] ? rows[i]->part.name : NULL;                       \
    }

#endif
