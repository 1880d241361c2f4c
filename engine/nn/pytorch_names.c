/* The names of tensors in PyTorch's usual form of a model. Most names are the same; the exceptions
 * are rows, each a part of a name between dots. */
#include <stdio.h>
#include <string.h>

#include <syncopate/engine/model.h>

static const struct {
    const char *models;
    const char *ours;
    const char *theirs;
} rows[] = {
#define SYN_NAME(models, ours, theirs) {models, ours, theirs},
#include "engine/nn/pytorch_names.def"
#undef SYN_NAME
};

/* The replacement of a part of a name; NULL: unchanged. */
static const char *find(const char *model, const char *part, size_t length)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strncmp(model, rows[i].models, strlen(rows[i].models)) == 0 &&
            strlen(rows[i].ours) == length && strncmp(part, rows[i].ours, length) == 0)
            return rows[i].theirs;
    return NULL;
}

size_t syn_model_pytorch_name(const char *model, const char *tensor, char *name, size_t capacity)
{
    size_t written = 0;
    for (const char *part = tensor; part; part = strchr(part, '.')) {
        part += part != tensor; /* skip the dot */
        size_t length = strcspn(part, ".");
        const char *other = find(model, part, length);
        size_t room = written < capacity ? capacity - written : 0;
        written += (size_t)snprintf(room ? name + written : NULL, room, "%s%.*s",
                                    part == tensor ? "" : ".",
                                    other ? (int)strlen(other) : (int)length, other ? other : part);
    }
    return written;
}
