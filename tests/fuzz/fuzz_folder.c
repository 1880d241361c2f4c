/* Fuzzes the index of a folder of pictures, and Tiny-ImageNet's table of classes. The input is the
 * tree itself: lines that are paths of pictures, then, after a line "-", the bytes of
 * val/val_annotations.txt. Whatever stands there is refused or becomes examples with labels below
 * the number of classes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <syncopate/engine/data.h>

#include "engine/base/path.h"
#include "engine/base/tree.h"
#include "engine/data/annotations.h"
#include "engine/data/set.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { MOST_FILES = 12, MOST_PATH = 80 };

/* A PNG of one grey pixel. */
static const uint8_t picture[] = {0x89, 'P', 'N', 'G',  '\r', '\n', 0x1a, '\n', 0,    0, 0, 13,
                                  'I',  'H', 'D', 'R',  0,    0,    0,    1,    0,    0, 0, 1,
                                  8,    0,   0,   0,    0,    0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0,
                                  10,   'I', 'D', 'A',  'T',  0x78, 0x9c, 0x63, 0x60, 0, 0, 0,
                                  2,    0,   1,   0x48, 0xaf, 0xa4, 0x71, 0,    0,    0, 0, 'I',
                                  'E',  'N', 'D', 0xae, 0x42, 0x60, 0x82};

static char root[64];

static void write_file(const char *name, const uint8_t *bytes, size_t count)
{
    char path[SYN_PATH_BYTES];
    if (syn_path_join(path, root, name) != SYN_OK)
        return;
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "wb");
    if (!file)
        return;
    fwrite(bytes, 1, count, file);
    fclose(file);
}

/* The tree of the input; nothing of it may lie outside the root. */
static void write_tree(const uint8_t *at, const uint8_t *end)
{
    for (int files = 0; at < end && files < MOST_FILES; files++) {
        const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((line ? line : end) - at);
        char name[MOST_PATH + 1] = "";
        if (length == 1 && at[0] == '-' && line) {
            write_file("val/val_annotations.txt", line + 1, (size_t)(end - line - 1));
            return;
        }
        if (length <= MOST_PATH)
            memcpy(name, at, length);
        if (name[0] && strlen(name) == length && !strstr(name, "..") && name[0] != '/')
            write_file(name, picture, sizeof picture);
        at = line ? line + 1 : end;
    }
}

static void look(const struct syn_data *data)
{
    const struct syn_data_info *info = syn_data_info(data);
    for (int part = 0; part < SYN_DATA_PARTS; part++)
        for (size_t i = 0; data->parts[part].labels && i < info->count[part]; i++)
            if (data->parts[part].labels[i] < 0 ||
                (size_t)data->parts[part].labels[i] >= info->outputs)
                abort();
}

static void read_table(const uint8_t *bytes, size_t count)
{
    struct syn_annotations table = {"fuzz", bytes, bytes + count, 0};
    struct syn_annotation row;
    bool is_there = true;
    while (is_there && syn_annotations_next(&table, &row, &is_there) == SYN_OK)
        if (is_there && (strchr(row.file, '/') || !row.file[0] || !row.class[0]))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct syn_data_options options;
    struct syn_data *data = NULL;
    read_table(bytes, count);
    snprintf(root, sizeof root, "/tmp/fuzz-folder-XXXXXX");
    if (!mkdtemp(root))
        return 0;
    write_tree(bytes, bytes + count);
    syn_data_defaults(&options, "folder");
    options.image_size = 4;
    snprintf(options.data_dir, sizeof options.data_dir, "%s", root);
    if (syn_data_open(&options, &data) == SYN_OK)
        look(data);
    syn_data_close(data);
    syn_tree_remove(root);
    return 0;
}
