/* Four independent multiply-and-shift lanes over 32 bytes per iteration, as other memory-speed
 * hashes have, then a final mix. Each lane step is a bijection of the lane, so any single changed
 * word changes the result. */
#include "base/hash.h"

#include <string.h>

static uint64_t mix(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * 0x9fb21c651e98df25U;
    return lane ^ (lane >> 29);
}

static uint64_t load(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

uint64_t syn_hash(uint64_t before, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t lanes[4] = {before ^ 0x2545f4914f6cdd1dU, before + 0x9e3779b97f4a7c15U, ~before,
                         before ^ (uint64_t)count};
    size_t left = count;
    for (; left >= 32; left -= 32, at += 32)
        for (int i = 0; i < 4; i++)
            lanes[i] = mix(lanes[i], load(at + 8 * i));
    for (int i = 0; left >= 8; left -= 8, at += 8, i++)
        lanes[i] = mix(lanes[i], load(at));
    unsigned char tail[8] = {0};
    if (left > 0)
        memcpy(tail, at, left);
    lanes[3] = mix(lanes[3], load(tail));
    uint64_t result = (uint64_t)count;
    for (int i = 0; i < 4; i++)
        result = mix(result, lanes[i]);
    return mix(result, result >> 32);
}
