/* Row tables: each kind of part is a list of const descriptors. A .def file names the rows once, as
 *
 *     SYN_PART(topk)
 *
 * from which C makes declaration and table, and CMake the list of files to compile (topk.c). */
#ifndef SYN_BASE_TABLE_H
#define SYN_BASE_TABLE_H

/* Read-only view of one row, for listing; every descriptor begins with these two. */
struct syn_part {
    const char *name;
    const char *help; /* one line */
};

#endif
