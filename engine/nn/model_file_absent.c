/* Replaces model_file.c in a build without jansson. */
#include <syncopate/engine/model.h>

#include "engine/base/fail.h"

enum syn_status syn_graph_parse(const char *text, size_t count, const char *origin,
                                const struct syn_input *input, struct syn_graph **graph)
{
    (void)text;
    (void)count;
    (void)input;
    (void)graph;
    return syn_report(SYN_UNSUPPORTED,
                      "%s: this build is without jansson, which is needed to read model files",
                      origin);
}

enum syn_status syn_graph_load(const char *path, const struct syn_input *input,
                               struct syn_graph **graph)
{
    return syn_graph_parse("", 0, path, input, graph);
}
