/* Fuzzes texts: any bytes are either refused or become tokens of the vocabulary, in all three
 * parts. */
#include <stdlib.h>

#include "engine/data/corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void check_part(const struct syn_data *data, size_t part)
{
    for (size_t i = 0; i <= data->info.count[part]; i++) {
        int32_t token = data->parts[part].tokens[i];
        if (token < 0 || (size_t)token >= data->info.outputs)
            abort();
    }
}

static void read_and_check(const uint8_t *bytes, size_t count, bool by_letters)
{
    struct syn_data data = {.info = {.name = "fuzz"}};
    const size_t half = count / 2;
    const struct syn_text texts[SYN_DATA_PARTS] = {
        {"train", bytes, half}, {"valid", bytes + half, count - half}, {"test", bytes, count}};
    if (syn_corpus_read(texts, 8, by_letters, &data) == SYN_OK)
        for (size_t i = 0; i < SYN_DATA_PARTS; i++)
            check_part(&data, i);
    for (size_t i = 0; i < SYN_DATA_PARTS; i++)
        free(data.parts[i].tokens);
    free(data.names);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    read_and_check(bytes, count, false);
    read_and_check(bytes, count, true);
    return 0;
}
