/* Finding a ready model by name, and checking that it fits the data. */
#include "engine/nn/ready.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/fail.h"

#define SYN_PART(name) extern const struct model_family family_##name;
#include "engine/nn/models/models.def"
#undef SYN_PART

static const struct model_family *const families[] = {
#define SYN_PART(name) &family_##name,
#include "engine/nn/models/models.def"
#undef SYN_PART
};

static const struct model_kind *kind_at(size_t i)
{
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        if (i < families[f]->count)
            return &families[f]->kinds[i];
        i -= families[f]->count;
    }
    return NULL;
}

const char *syn_model_name(size_t i)
{
    const struct model_kind *kind = kind_at(i);
    return kind ? kind->name : NULL;
}

const char *syn_model_help(size_t i)
{
    const struct model_kind *kind = kind_at(i);
    return kind ? kind->help : NULL;
}

static enum syn_status find(const char *name, const struct model_kind **found)
{
    char names[256] = "";
    for (size_t i = 0; kind_at(i); i++) {
        const struct model_kind *kind = kind_at(i);
        if (strcmp(kind->name, name) == 0) {
            *found = kind;
            return SYN_OK;
        }
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, " %s", kind->name);
    }
    return syn_report(SYN_INVALID, "no model \"%.64s\"; there is:%s", name, names);
}

enum syn_status syn_model_usual_input(const char *name, struct syn_input *input)
{
    const struct model_kind *kind;
    SYN_TRY(find(name, &kind));
    *input = kind->input;
    return SYN_OK;
}

static void describe(const struct syn_input *input, size_t least, char *text, size_t capacity)
{
    if (input->kind == SYN_INPUT_TOKENS)
        snprintf(text, capacity, "words of a text");
    else if (least > 0)
        snprintf(text, capacity, "images of %zu channels and at least %zux%zu pixels",
                 input->channels, least, least);
    else
        snprintf(text, capacity, "images of %zux%zux%zu", input->channels, input->height,
                 input->width);
}

static bool fits(const struct model_kind *kind, const struct syn_input *input)
{
    const struct syn_input *usual = &kind->input;
    if (input->kind != usual->kind || input->channels != usual->channels)
        return false;
    if (kind->least > 0)
        return input->height >= kind->least && input->width >= kind->least;
    return input->height == usual->height && input->width == usual->width;
}

static enum syn_status check_fit(const struct model_kind *kind, const struct syn_input *input)
{
    if (!fits(kind, input)) {
        char expected[96];
        char got[96];
        describe(&kind->input, kind->least, expected, sizeof expected);
        describe(input, 0, got, sizeof got);
        return syn_report(SYN_INVALID, "model %s reads %s; the data are %s", kind->name, expected,
                          got);
    }
    if (input->classes < 1)
        return syn_report(SYN_INVALID, "model %s: data of %zu classes", kind->name, input->classes);
    return SYN_OK;
}

enum syn_status syn_graph_ready(const char *name, const struct syn_input *input,
                                struct syn_graph **graph)
{
    const struct model_kind *kind;
    SYN_TRY(find(name, &kind));
    const struct syn_input *fitting = input ? input : &kind->input;
    SYN_TRY(check_fit(kind, fitting));
    struct syn_graph *made = NULL;
    SYN_TRY(syn_graph_new(&made));
    syn_graph_cross_entropy(made, kind->layers(made, kind, fitting));
    *graph = made;
    return SYN_OK;
}
