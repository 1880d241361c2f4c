/* Row tables: each kind of part is a list of const descriptors. A .def file names the rows once, as
 *
 *     SYN_PART(topk)
 *
 * from which C makes declaration and table, and CMake the list of files to compile (topk.c). */
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

/* Number of a name among choices (settings.h), or SIZE_MAX: for choices that are no rows. */
static inline size_t syn_choice_number(const char *(*choices)(size_t i), const char *name)
{
    for (size_t i = 0; choices(i); i++)
        if (strcmp(choices(i), name) == 0)
            return i;
    return SIZE_MAX;
}

/* SYN_INVALID: no part of that kind has that name; says which there are. */
enum syn_status syn_fail_choice(const char *kind, const char *name,
                                const char *(*choices)(size_t i));

/* Define the three functions that every table has, over a static array `rows` of pointers to
 * descriptors: syn_KIND_row(i) or NULL past the end, syn_KIND_find(name) or NULL, and
 * syn_KIND_name(i). */
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
