/* Files of weights from arbitrary bytes, as safetensors and as .npz: refused or read, never more
 * than that. */
#include <stddef.h>
#include <stdint.h>

#include "engine/weights/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_format(enum syn_status (*read)(const uint8_t *bytes, size_t count,
                                               struct syn_weights *weights),
                       const uint8_t *data, size_t size)
{
    struct syn_weights *weights;
    if (syn_weights_new(&weights) != SYN_OK)
        return;
    syn_weights_set_origin(weights, "input");
    (void)read(data, size, weights);
    syn_weights_free(weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_format(syn_safetensors_read, data, size);
    try_format(syn_npz_read, data, size);
    return 0;
}
