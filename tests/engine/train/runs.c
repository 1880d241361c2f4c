/* Short runs for tests of training. */
#include "runs.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char runs_home[64];
static struct syn_graph *small;

const char *runs_path(const char *name)
{
    static char path[RUNS_PATH];
    snprintf(path, sizeof path, "%s/%s", runs_home, name);
    return path;
}

static int make_small(void)
{
    if (syn_graph_new(&small) != SYN_OK)
        return -1;
    syn_node x = syn_graph_images(small, 1, 28, 28);
    x = syn_graph_relu(small, syn_graph_inner_product(small, "fc1", x, 32));
    x = syn_graph_relu(small, syn_graph_inner_product(small, "fc2", x, 32));
    x = syn_graph_inner_product(small, "fc3", x, 10);
    syn_graph_cross_entropy(small, x);
    return 0;
}

struct syn_train_options runs_of(const char *model, const char *name)
{
    struct syn_train_options options;
    assert_ok(syn_train_defaults(model, &options));
    options.graph = strcmp(model, RUNS_SMALL) == 0 ? small : NULL;
    assert_ok(syn_settings_set(&syn_data_settings, &options.data, "data", "synthetic"));
    options.data.synthetic_examples = 240;
    options.threads = 1;
    options.epochs = 2;
    options.batch = 8;
    options.lr = 0.05;
    options.lr_schedule = "cosine";
    options.lr_final = 0.1;
    options.log_every = 4;
    options.evaluate = false;
    options.overwrite = true;
    snprintf(options.out, sizeof options.out, "%s/%s", runs_home, name);
    return options;
}

void runs_use_algo(struct syn_train_options *options, const char *algo)
{
    options->algo = algo;
    assert_ok(syn_train_apply_algo(options));
    options->worker.warmup = 3;
    options->worker.reducer.density = 0.02;
}

struct syn_train_summary runs_train(const struct syn_train_options *options)
{
    struct syn_train_summary summary;
    assert_ok(syn_train(options, NULL, &summary));
    return summary;
}

const char *runs_copy(const struct syn_train_options *options, const char *which)
{
    static char path[RUNS_PATH];
    snprintf(path, sizeof path, "%s-%s", options->out, which);
    return path;
}

/* Of a delayed method another worker may still be removing the checkpoint before the last two: what
 * vanishes under the copy makes it begin again. */
static void copy(const struct syn_train_options *options, const char *which)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    char command[3 * RUNS_PATH];
    const char *to = runs_copy(options, which);
    snprintf(command, sizeof command, "rm -rf -- '%s'; cp -r -- '%s' '%s'", to, options->out, to);
    for (int tries = 1; system(command) != 0; tries++) {
        assert_true(tries < 50);
        nanosleep(&pause, NULL);
    }
}

/* A checkpoint is complete when the next step is told. */
static bool copy_when_complete(void *context, const struct syn_train_progress *progress)
{
    const struct syn_train_options *options = context;
    if (progress->phase == SYN_TRAIN_LEARNING && progress->step == options->checkpoint_every + 1)
        copy(options, "first");
    if (progress->phase == SYN_TRAIN_LEARNING &&
        progress->step == 2 * options->checkpoint_every + 1)
        copy(options, "second");
    return true;
}

struct syn_train_summary runs_train_copying(const struct syn_train_options *options, uint64_t every)
{
    struct syn_train_summary summary;
    struct syn_train_options own = *options;
    own.checkpoint_every = every;
    const struct syn_train_watch watch = {.on_progress = copy_when_complete, .context = &own};
    assert_ok(syn_train(&own, &watch, &summary));
    return summary;
}

struct syn_train_options runs_resumed(const char *directory)
{
    struct syn_train_options options;
    assert_ok(syn_train_defaults(RUNS_SMALL, &options));
    assert_ok(syn_train_recall(directory, &options));
    options.graph = strcmp(options.model, RUNS_SMALL) == 0 ? small : NULL;
    return options;
}

int runs_begin(void **state)
{
    (void)state;
    /* Where there is a file system in memory, syncing costs no time. */
    const char *root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(runs_home, sizeof runs_home, "%s/syncopate-checkpoint-XXXXXX", root);
    return mkdtemp(runs_home) ? make_small() : -1;
}

int runs_end(void **state)
{
    (void)state;
    char command[128];
    syn_graph_free(small);
    snprintf(command, sizeof command, "rm -r -- '%s'", runs_home);
    return system(command);
}
