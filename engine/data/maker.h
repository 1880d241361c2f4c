/* Examples that the caller makes. */
#ifndef SYN_ENGINE_DATA_MAKER_H
#define SYN_ENGINE_DATA_MAKER_H

#include "engine/data/set.h"

/* Have one example made; false if there is none, which is logged and counted. */
bool syn_maker_fill(const struct syn_data *data, const struct syn_data_wanted *wanted, float *input,
                    int32_t *label);

/* Continue hash with some examples spread over a part. */
uint64_t syn_maker_hash(uint64_t hash, const struct syn_data *data, enum syn_data_part part);

void syn_maker_free(struct syn_data_maker *maker);

#endif
