/* The user's own pictures, laid out as ImageNet: DIR/train/CLASS/NAME.jpg to train on and
 * DIR/val/CLASS/NAME.jpg to test on. Without a val part a share is held out; without train, the
 * classes may be in DIR itself. As in torchvision's ImageFolder, classes are numbered in the order
 * of their names, and folders below a class belong to it. In Tiny-ImageNet's layout the pictures of
 * val are in one folder, and val/val_annotations.txt has their classes. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/annotations.h"
#include "engine/data/packed.h"
#include "engine/data/pictures.h"

#define DEEPEST     16 /* folders below a class */
#define ANNOTATIONS "val/val_annotations.txt"

/* What has been found so far. */
struct index {
    struct syn_pictures *pictures;
    size_t capacity; /* of files */
    size_t names_count;
    size_t names_capacity;
    size_t others; /* files whose names are not those of pictures */
};

static int by_name(const struct dirent **one, const struct dirent **other)
{
    return strcmp((*one)->d_name, (*other)->d_name);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void free_entries(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* Names in a folder, sorted by bytes regardless of the locale. */
static enum syn_status list(const char *path, struct dirent ***entries, int *count)
{
    *count = scandir(path, entries, is_shown, by_name);
    return *count >= 0 ? SYN_OK : syn_report(SYN_IO, "%s: %s", path, strerror(errno));
}

static bool has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name);
    size_t end = strlen(ending);
    return length > end && strcasecmp(name + length - end, ending) == 0;
}

static enum syn_status grow(void *block, size_t *capacity, size_t wanted, size_t size)
{
    void **memory = block;
    if (wanted <= *capacity)
        return SYN_OK;
    size_t larger = wanted + wanted / 2 + 64;
    void *grown = realloc(*memory, larger * size);
    if (!grown)
        return syn_report(SYN_MEMORY, "cannot allocate an index of %zu items", larger);
    *memory = grown;
    *capacity = larger;
    return SYN_OK;
}

/* Add a file by its path below the root, if its name is that of a picture. */
static enum syn_status add_file(struct index *index, const char *path, const struct stat *about,
                                int32_t label)
{
    struct syn_pictures *pictures = index->pictures;
    const bool is_jpeg = has_ending(path, ".jpg") || has_ending(path, ".jpeg");
    const bool is_png = has_ending(path, ".png");
    if (!S_ISREG(about->st_mode) || (!is_jpeg && !is_png)) {
        index->others++;
        return SYN_OK;
    }
    if ((is_jpeg && !syn_jpeg_is_built()) || (is_png && !syn_png_is_built()))
        return syn_report(SYN_UNSUPPORTED,
                          "%s/%s: this build is without %s; install it and rebuild", pictures->root,
                          path, is_jpeg ? "libjpeg" : "libpng");
    const size_t bytes = strlen(path) + 1;
    SYN_TRY(grow(&pictures->files, &index->capacity, pictures->count + 1, sizeof *pictures->files));
    SYN_TRY(grow(&pictures->names, &index->names_capacity, index->names_count + bytes, 1));
    memcpy(pictures->names + index->names_count, path, bytes);
    pictures->files[pictures->count++] =
        (struct syn_picture_file){index->names_count, (uint64_t)about->st_size, label};
    index->names_count += bytes;
    return SYN_OK;
}

static enum syn_status walk(struct index *index, const char *folder, int32_t label, int depth);

static enum syn_status visit(struct index *index, const char *folder, const char *name,
                             int32_t label, int depth)
{
    char path[SYN_PATH_BYTES];
    char full[SYN_PATH_BYTES];
    struct stat about;
    SYN_TRY(syn_path_join(path, folder, name));
    SYN_TRY(syn_path_join(full, index->pictures->root, path));
    if (stat(full, &about) != 0) {
        syn_odd_log(index->pictures->root, path, strerror(errno)); /* a dangling link */
        return SYN_OK;
    }
    if (S_ISDIR(about.st_mode))
        return walk(index, path, label, depth + 1);
    return add_file(index, path, &about, label);
}

static enum syn_status walk(struct index *index, const char *folder, int32_t label, int depth)
{
    char path[SYN_PATH_BYTES];
    struct dirent **entries;
    int count;
    if (depth > DEEPEST)
        return syn_report(SYN_INVALID, "%s/%s: more than %d folders below a class",
                          index->pictures->root, folder, DEEPEST);
    SYN_TRY(syn_path_join(path, index->pictures->root, folder));
    SYN_TRY(list(path, &entries, &count));
    enum syn_status status = SYN_OK;
    for (int i = 0; status == SYN_OK && i < count; i++)
        status = visit(index, folder, entries[i]->d_name, label, depth);
    free_entries(entries, count);
    return status;
}

/* Folders of a part, which are its classes. Other files there are skipped. */
static enum syn_status list_classes(const char *path, struct dirent ***entries, int *count)
{
    SYN_TRY(list(path, entries, count));
    int kept = 0;
    for (int i = 0; i < *count; i++) {
        char class[SYN_PATH_BYTES];
        bool is_class = syn_path_join(class, path, (*entries)[i]->d_name) == SYN_OK &&
                        syn_path_is_directory(class);
        if (is_class)
            (*entries)[kept++] = (*entries)[i];
        else
            free((*entries)[i]);
    }
    *count = kept;
    return SYN_OK;
}

static enum syn_status name_classes(struct syn_data *data, struct dirent **entries, int count)
{
    struct syn_word *words;
    data->info.outputs = (size_t)count;
    SYN_TRY(syn_engine_allocate((size_t)count, sizeof *words, &words));
    for (int i = 0; i < count; i++)
        words[i] =
            (struct syn_word){(const uint8_t *)entries[i]->d_name, strlen(entries[i]->d_name)};
    enum syn_status status = syn_data_keep_names(data, words);
    free(words);
    return status;
}

/* The number of the class of that name; the number of classes if there is none. */
static size_t find_class(const struct syn_data *data, const char *name)
{
    size_t i = 0;
    while (i < data->info.outputs && strcmp(data->info.names[i], name) != 0)
        i++;
    return i;
}

/* place: where the name was found, ending in / or ": " */
static enum syn_status get_class(const struct syn_data *data, const char *place, const char *name,
                                 int32_t *label)
{
    const size_t found = find_class(data, name);
    const size_t count = data->info.outputs;
    *label = (int32_t)found;
    if (found < count)
        return SYN_OK;
    return syn_report(SYN_FORMAT,
                      "%s%s: not a class of the training part, which has %zu, from %s to %s", place,
                      name, count, data->info.names[0], data->info.names[count - 1]);
}

static enum syn_status read_classes(struct syn_data *data, struct index *index, const char *folder,
                                    struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++) {
        char class[SYN_PATH_BYTES];
        int32_t label;
        const size_t before = index->pictures->count;
        char place[SYN_PATH_BYTES];
        SYN_TRY(syn_path_join(class, folder, entries[i]->d_name));
        SYN_TRY(syn_path_join(place, folder, ""));
        SYN_TRY(get_class(data, place, entries[i]->d_name, &label));
        SYN_TRY(walk(index, class, label, 0));
        if (index->pictures->count == before)
            return syn_report(SYN_FORMAT,
                              "%s/%s: a class without pictures; expected .jpg, .jpeg or .png",
                              index->pictures->root, class);
    }
    return SYN_OK;
}

/* Fill a part with the pictures from number begin on. */
static enum syn_status make_part(struct syn_data *data, enum syn_data_part part, size_t begin)
{
    const struct syn_pictures *pictures = data->pictures;
    const size_t count = pictures->count - begin;
    struct syn_part_store *store = &data->parts[part];
    SYN_TRY(syn_engine_allocate(count, sizeof *store->labels, &store->labels));
    SYN_TRY(syn_engine_allocate(count, sizeof *store->places, &store->places));
    for (size_t i = 0; i < count; i++) {
        store->labels[i] = pictures->files[begin + i].label;
        store->places[i] = (uint32_t)(begin + i);
    }
    data->info.count[part] = count;
    return SYN_OK;
}

static enum syn_status read_part(struct syn_data *data, struct index *index, const char *folder,
                                 enum syn_data_part part)
{
    char path[SYN_PATH_BYTES];
    struct dirent **entries;
    int count;
    const size_t begin = index->pictures->count;
    SYN_TRY(syn_path_join(path, index->pictures->root, folder));
    SYN_TRY(list_classes(path, &entries, &count));
    enum syn_status status = SYN_OK;
    if (count == 0)
        status = syn_report(SYN_FORMAT, "%s: contains no folders; expected one per class", path);
    if (status == SYN_OK && part == SYN_DATA_TRAIN)
        status = name_classes(data, entries, count);
    if (status == SYN_OK)
        status = read_classes(data, index, folder, entries, count);
    free_entries(entries, count);
    SYN_TRY(status);
    return make_part(data, part, begin);
}

/* All rows of the table; a missing picture is logged and left out. */
static enum syn_status read_rows(struct syn_data *data, struct index *index, const char *folder,
                                 struct syn_annotations *annotations)
{
    struct syn_annotation row;
    bool is_there = true;
    while (true) {
        char place[SYN_PATH_BYTES + 32];
        int32_t label;
        SYN_TRY(syn_annotations_next(annotations, &row, &is_there));
        if (!is_there)
            return SYN_OK;
        snprintf(place, sizeof place, "%s:%zu: ", annotations->name, annotations->line);
        SYN_TRY(get_class(data, place, row.class, &label));
        SYN_TRY(visit(index, folder, row.file, label, DEEPEST));
    }
}

static enum syn_status read_annotated(struct syn_data *data, struct index *index, const char *path)
{
    char images[SYN_PATH_BYTES];
    struct syn_blob blob = {0};
    const size_t begin = index->pictures->count;
    SYN_TRY(syn_path_join(images, index->pictures->root, "val/images"));
    SYN_TRY(syn_blob_open(path, &blob));
    struct syn_annotations annotations = {path, blob.bytes, blob.bytes + blob.count, 0};
    enum syn_status status =
        read_rows(data, index, syn_path_is_directory(images) ? "val/images" : "val", &annotations);
    syn_blob_close(&blob);
    SYN_TRY(status);
    if (index->pictures->count == begin)
        return syn_report(SYN_FORMAT, "%s: none of its %zu lines names an existing picture", path,
                          annotations.line);
    return make_part(data, SYN_DATA_TEST, begin);
}

static enum syn_status read_test(struct syn_data *data, struct index *index)
{
    char path[SYN_PATH_BYTES];
    SYN_TRY(syn_path_join(path, index->pictures->root, ANNOTATIONS));
    return syn_path_is_file(path) ? read_annotated(data, index, path)
                                  : read_part(data, index, "val", SYN_DATA_TEST);
}

static enum syn_status read_folder(const struct syn_data_options *options, const char *directory,
                                   struct syn_data *data)
{
    char path[SYN_PATH_BYTES];
    struct index index = {.pictures = data->pictures};
    if (!syn_path_is_directory(directory))
        return syn_report(SYN_INVALID,
                          "%s is missing; --data-dir must be a folder with train/CLASS/*.jpg, or a "
                          "packed file",
                          directory);
    snprintf(data->pictures->root, SYN_PATH_BYTES, "%s", directory);
    SYN_TRY(syn_path_join(path, directory, "train"));
    const bool has_train = syn_path_is_directory(path);
    SYN_TRY(read_part(data, &index, has_train ? "train" : ".", SYN_DATA_TRAIN));
    SYN_TRY(syn_path_join(path, directory, "val"));
    const bool has_test = has_train && syn_path_is_directory(path);
    if (has_test)
        SYN_TRY(read_test(data, &index));
    if (index.others > 0)
        syn_report_log(SYN_LOG_WARNING, "%s: skipped %zu files: not .jpg, .jpeg or .png", directory,
                       index.others);
    return syn_pictures_finish(data, options, has_test);
}

static enum syn_status open_set(const struct syn_data_options *options, const char *directory,
                                struct syn_data *data)
{
    SYN_TRY(syn_engine_allocate(1, sizeof *data->pictures, &data->pictures));
    syn_odd_open();
    SYN_TRY(syn_pictures_set_sizes(data->pictures, options));
    data->info.kind = SYN_DATA_IMAGES;
    data->info.channels = 3;
    data->info.height = data->info.width = data->pictures->size;
    if (syn_path_is_file(directory))
        return syn_packed_open(options, directory, data);
    return read_folder(options, directory, data);
}

const struct syn_data_set syn_data_set_folder = {
    .name = "folder",
    .help = "pictures of your own: train/CLASS/*.jpg and val/CLASS/*.jpg, or a file made by "
            "data pack",
    .is_own = true,
    .open = open_set,
};
