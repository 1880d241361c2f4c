/* Model files from arbitrary text: refused with a line, or a graph. */
#include <stddef.h>
#include <stdint.h>

#include <syncopate/engine/model.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct syn_input inputs[] = {{SYN_INPUT_IMAGES, 3, 32, 32, 10},
                                       {SYN_INPUT_TOKENS, 0, 0, 0, 100}};
    for (size_t i = 0; i < 2; i++) {
        struct syn_graph *graph = NULL;
        if (syn_graph_parse((const char *)data, size, "input", &inputs[i], &graph) == SYN_OK)
            syn_graph_free(graph);
    }
    return 0;
}
