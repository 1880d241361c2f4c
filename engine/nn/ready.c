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
    return syn_report(SYN_INVALID, "unknown model \"%.64s\"; expected one of:%s", name, names);
}

enum syn_status syn_model_usual_input(const char *name, struct syn_input *input)
{
    const struct model_kind *kind;
    SYN_TRY(find(name, &kind));
    *input = kind->input;
    return SYN_OK;
}

static void describe(const struct syn_input *input, char *text, size_t capacity)
{
    if (input->kind == SYN_INPUT_TOKENS)
        snprintf(text, capacity, "words of a text");
    else
        snprintf(text, capacity, "images of %zux%zux%zu", input->channels, input->height,
                 input->width);
}

static bool fits(const struct model_kind *kind, const struct syn_input *input)
{
    bool is_large = input->height >= kind->least && input->width >= kind->least;
    return input->kind == kind->input.kind && is_large;
}

static enum syn_status check_fit(const struct model_kind *kind, const struct syn_input *input)
{
    if (!fits(kind, input)) {
        char expected[96] = "words of a text";
        char got[96];
        if (kind->least > 0)
            snprintf(expected, sizeof expected, "images of at least %zux%zu pixels", kind->least,
                     kind->least);
        describe(input, got, sizeof got);
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
