/* xoshiro256** (Blackman and Vigna) seeded by splitmix64: fast, 256 bits of state, and simple
 * enough to be the same everywhere. The stream number is mixed into the seed before the state is
 * generated. */
#include <syncopate/random.h>

#include <math.h>

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

void syn_random_start(struct syn_random *random, uint64_t seed, uint64_t stream)
{
    uint64_t mixed = stream;
    mixed = splitmix(&mixed) ^ seed;
    for (int i = 0; i < 4; i++)
        random->state[i] = splitmix(&mixed);
}

uint64_t syn_random_bits(struct syn_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t syn_random_below(struct syn_random *random, uint64_t limit)
{
    /* Values below 2^64 mod limit would make the small remainders likelier: draw again. */
    uint64_t uneven = (0 - limit) % limit;
    uint64_t bits = syn_random_bits(random);
    while (bits < uneven)
        bits = syn_random_bits(random);
    return bits % limit;
}

float syn_random_unit(struct syn_random *random)
{
    return (float)(syn_random_bits(random) >> 40) * 0x1p-24F;
}

float syn_random_normal(struct syn_random *random)
{
    /* Box-Muller in double; the second value is dropped so that a stream has no hidden state. */
    double u = (double)((syn_random_bits(random) >> 11) + 1) * 0x1p-53;
    double v = (double)(syn_random_bits(random) >> 11) * 0x1p-53;
    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}

void syn_random_order(struct syn_random *random, uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)syn_random_below(random, i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
}
