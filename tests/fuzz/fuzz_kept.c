/* Fuzzes what a run keeps of its data: input.txt, then an empty line, then names.txt. Whatever
 * stands there is refused or becomes a data set without examples, whose names can be read. */
#include <string.h>

#include "engine/data/kept.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct syn_data *data = NULL;
    struct syn_word text = {bytes, count};
    struct syn_word names = {NULL, 0};
    size_t sum = 0;
    for (size_t i = 0; i + 1 < count && !names.at; i++)
        if (bytes[i] == '\n' && bytes[i + 1] == '\n') {
            text.length = i;
            names = (struct syn_word){bytes + i + 2, count - i - 2};
        }
    if (syn_kept_read("fuzz", text, names, &data) != SYN_OK)
        return 0;
    const struct syn_data_info *info = syn_data_info(data);
    for (size_t i = 0; info->names && i < info->outputs; i++)
        sum += strlen(info->names[i]);
    syn_data_close(data);
    /* Keeps the reading from being thrown away. */
    return sum == SIZE_MAX ? -1 : 0;
}
