/* A hash of every example, to tell whether ranks that read their own copies of a set have the same
 * data. FNV-1a over 64-bit words: it runs at the speed of memory, and need not resist attackers. */
#include <string.h>

#include "engine/data/maker.h"
#include "engine/data/pictures.h"

uint64_t syn_data_hash(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    while (count > 0) {
        uint64_t word = 0;
        size_t size = count < sizeof word ? count : sizeof word;
        memcpy(&word, at, size);
        hash = (hash ^ word) * 0x100000001b3U;
        at += size;
        count -= size;
    }
    return hash;
}

static uint64_t add_part(uint64_t hash, const struct syn_data *data, enum syn_data_part part)
{
    const struct syn_part_store *store = &data->parts[part];
    size_t count = data->info.count[part];
    size_t bytes = syn_data_image_bytes(data);
    for (size_t s = 0; s < store->span_count; s++)
        for (size_t i = 0; i < store->spans[s].count; i++)
            hash = syn_data_hash(hash, store->spans[s].pixels + i * store->spans[s].stride, bytes);
    for (size_t i = 0; data->pictures && i < count; i++)
        hash = syn_pictures_hash(hash, data->pictures, store->places[i]);
    if (data->maker)
        hash = syn_maker_hash(hash, data, part);
    if (store->labels)
        hash = syn_data_hash(hash, store->labels, count * sizeof *store->labels);
    if (store->targets)
        hash = syn_data_hash(hash, store->targets,
                             count * data->info.outputs * sizeof *store->targets);
    if (store->tokens)
        hash = syn_data_hash(hash, store->tokens, (count + 1) * sizeof *store->tokens);
    return hash;
}

uint64_t syn_data_fingerprint(const struct syn_data *data)
{
    uint64_t hash = SYN_DATA_HASH;
    for (int part = 0; part < SYN_DATA_PARTS; part++)
        hash = add_part(hash, data, (enum syn_data_part)part);
    return hash;
}
