/* What the arrays of a checkpoint are: the section "model/tensors", a line for the input and one
 * for each tensor of weights and of statistics, in the order of their arrays, with name and shape.
 * With it, a program that knows nothing about the model can split the arrays into tensors, and
 * resuming can check that the model is the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/train/checkpoint/parts.h"

#define SECTION "model/tensors"

struct text {
    char *at; /* NULL while measuring */
    size_t capacity;
    size_t length;
};

static void put(struct text *text, const char *word, size_t number)
{
    size_t room = text->length < text->capacity ? text->capacity - text->length : 0;
    char *at = room ? text->at + text->length : NULL;
    int length = word ? snprintf(at, room, "%s", word) : snprintf(at, room, " %zu", number);
    text->length += (size_t)length;
}

static void put_tensor(struct text *text, const char *kind, const char *name,
                       const struct syn_shape *shape)
{
    put(text, kind, 0);
    put(text, name, 0);
    for (size_t d = 0; d < shape->dimensions; d++)
        put(text, NULL, shape->size[d]);
    put(text, "\n", 0);
}

static void put_all(struct text *text, const struct syn_model *model)
{
    struct syn_input input = syn_model_input(model);
    const struct syn_layout *layout = syn_model_layout(model);
    const struct syn_layout *statistics = syn_model_statistics_layout(model);
    const struct syn_shape numbers = {4,
                                      {input.channels, input.height, input.width, input.classes}};
    put_tensor(text, "input ", input.kind == SYN_INPUT_TOKENS ? "tokens" : "images", &numbers);
    for (size_t i = 0; i < syn_layout_count(layout); i++) {
        struct syn_shape shape = syn_model_shape(model, i);
        put_tensor(text, "weights ", syn_layout_tensor(layout, i).name, &shape);
    }
    for (size_t i = 0; i < syn_layout_count(statistics); i++) {
        struct syn_shape shape = syn_model_statistics_shape(model, i);
        put_tensor(text, "statistics ", syn_layout_tensor(statistics, i).name, &shape);
    }
}

/* Make the text; the caller frees it. */
static enum syn_status make_text(const struct syn_model *model, struct text *text)
{
    struct text measured = {0};
    put_all(&measured, model);
    *text = (struct text){malloc(measured.length + 1), measured.length + 1, 0};
    if (!text->at)
        return syn_report(SYN_MEMORY, "cannot allocate %zu bytes", measured.length + 1);
    put_all(text, model);
    return SYN_OK;
}

enum syn_status syn_checkpoint_add_tensors(const struct syn_model *model,
                                           struct syn_archive *archive)
{
    struct text text;
    SYN_TRY(make_text(model, &text));
    enum syn_status status = syn_archive_add(archive, SECTION, text.at, text.length);
    free(text.at);
    return status;
}

static bool find(const struct syn_archive *archive, struct syn_section *section)
{
    for (size_t i = 0; (*section = syn_archive_section(archive, i)).name != NULL; i++)
        if (strcmp(section->name, SECTION) == 0)
            return true;
    return false;
}

/* The length of the line at that position of a text that need not be NUL-terminated. */
static int line_length(const char *text, size_t length, size_t at)
{
    size_t end = at;
    while (end < length && text[end] != '\n')
        end++;
    return (int)(end - at);
}

enum syn_status syn_checkpoint_check_tensors(const struct syn_archive *archive, const char *origin,
                                             const struct syn_model *model)
{
    struct text text;
    struct syn_section section;
    if (!find(archive, &section))
        return SYN_OK;
    SYN_TRY(make_text(model, &text));
    const char *there = section.bytes;
    size_t line = 0;
    size_t at = 0;
    while (at < text.length && at < section.count && text.at[at] == there[at]) {
        line = text.at[at] == '\n' ? at + 1 : line;
        at++;
    }
    enum syn_status status = SYN_OK;
    if (at < text.length || at < section.count)
        status = syn_report(SYN_INVALID, "%s: saved with \"%.*s\"; the model has \"%.*s\"", origin,
                            line_length(there, section.count, line), there + line,
                            line_length(text.at, text.length, line), text.at + line);
    free(text.at);
    return status;
}

/* Parse one line; false if it is invalid. */
static bool read_line(const char *line, size_t length, char kind[16],
                      struct syn_checkpoint_tensor *tensor)
{
    char copy[512];
    int used = 0;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (sscanf(copy, "%15s %255s%n", kind, tensor->name, &used) != 2)
        return false;
    tensor->shape = (struct syn_shape){0};
    for (const char *at = copy + used; *at;) {
        char *end;
        unsigned long long number = strtoull(at, &end, 10);
        if (*at != ' ' || end == at || tensor->shape.dimensions == SYN_MOST_DIMENSIONS ||
            number > UINT32_MAX)
            return false;
        tensor->shape.size[tensor->shape.dimensions++] = (size_t)number;
        at = end;
    }
    return true;
}

static enum syn_status visit_line(const char *kind, const struct syn_checkpoint_tensor *tensor,
                                  struct syn_input *input, syn_checkpoint_visit *visit,
                                  void *context)
{
    const size_t *size = tensor->shape.size;
    if (strcmp(kind, "input") != 0)
        return visit(context, tensor, strcmp(kind, "statistics") == 0);
    bool is_text = strcmp(tensor->name, "tokens") == 0;
    *input = (struct syn_input){is_text ? SYN_INPUT_TOKENS : SYN_INPUT_IMAGES, size[0], size[1],
                                size[2], size[3]};
    return SYN_OK;
}

enum syn_status syn_checkpoint_read_tensors(const struct syn_archive *archive, const char *origin,
                                            struct syn_input *input, syn_checkpoint_visit *visit,
                                            void *context)
{
    struct syn_section section;
    if (!find(archive, &section))
        return syn_report(
            SYN_FORMAT,
            "%s: saved by a version that did not keep the names of tensors; resume it for one "
            "step (train --resume) to add them",
            origin);
    const char *text = section.bytes;
    for (size_t at = 0; at < section.count;) {
        struct syn_checkpoint_tensor tensor;
        char kind[16];
        size_t length = (size_t)line_length(text, section.count, at);
        if (!read_line(text + at, length, kind, &tensor))
            return syn_report(SYN_FORMAT, "%s: its list of tensors is damaged", origin);
        SYN_TRY(visit_line(kind, &tensor, input, visit, context));
        at += length + 1;
    }
    return SYN_OK;
}
