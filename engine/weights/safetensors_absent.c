/* Replaces safetensors.c in a build without jansson. */
#include "engine/base/fail.h"
#include "engine/weights/weights.h"

static enum syn_status refuse(const char *path)
{
    return syn_report(SYN_UNSUPPORTED,
                      "%s: this build is without jansson, which is needed to read safetensors",
                      path);
}

enum syn_status syn_safetensors_read(const uint8_t *bytes, size_t count,
                                     struct syn_weights *weights)
{
    (void)bytes;
    (void)count;
    return refuse(syn_weights_origin(weights));
}

enum syn_status syn_safetensors_write(struct syn_sink *sink, void *context)
{
    (void)sink;
    return refuse(((const struct syn_weights_writing *)context)->path);
}
