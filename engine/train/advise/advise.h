/* Choosing a method: measure, predict the time of each method, choose the best. */
#ifndef SYN_ENGINE_TRAIN_ADVISE_H
#define SYN_ENGINE_TRAIN_ADVISE_H

#include <syncopate/engine/advise.h>

#include "engine/train/loop/loop.h"

/* How fast the workers are: fills in alone_ms to sparse_ms.
 *   run  open and not joined; unchanged afterwards
 * Collective. */
enum syn_status syn_advise_measure(struct syn_run *run, struct syn_advice *advice);

/* Predict the time of each method from the measurements, and choose one. Pure arithmetic.
 *   asked  the options before they are resolved: warm-ups depend on the method */
enum syn_status syn_advise_predict(const struct syn_train_options *asked, struct syn_length length,
                                   struct syn_advice *advice);

/* Measure links and computing, and predict. Every worker gets worker 0's result. Collective. */
enum syn_status syn_advise_run(struct syn_run *run, const struct syn_train_options *asked,
                               struct syn_advice *advice);

/* With algo auto: measure, choose the best method, and record why. Collective. */
enum syn_status syn_advise_choose(struct syn_run *run);

#endif
