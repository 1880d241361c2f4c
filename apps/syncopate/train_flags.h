/* The settings of a run, which train and advise read from their flags. */
#ifndef SYNCOPATE_TRAIN_FLAGS_H
#define SYNCOPATE_TRAIN_FLAGS_H

#include <syncopate/engine/train.h>

#include "command.h"

/* Elements of an array of struct flag_set. */
#define TRAIN_FLAG_SETS(options)                                                                   \
    {&syn_train_settings, (options)}, {&syn_optimizer_settings, &(options)->worker.optimizer},     \
        {&syn_worker_settings, &(options)->worker},                                                \
        {&syn_reducer_settings, &(options)->worker.reducer},                                       \
        {&syn_group_settings, &(options)->group},                                                  \
    {                                                                                              \
        &syn_data_settings, &(options)->data                                                       \
    }

#endif
