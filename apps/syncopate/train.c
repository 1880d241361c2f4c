/* syncopate train: trains one model on one data set, with a progress bar, and writes the results to
 * files.
 *
 * The command line is read twice: first for the model, then on top of that model's usual settings,
 * or of the settings of the run to resume, so that only typed flags differ from them. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <syncopate/engine/train.h>

#include "progress.h"
#include "train_flags.h"

struct show_options {
    bool json;
};

static const struct syn_setting show_rows[] = {
    SYN_SETTING_ROW(struct show_options, SWITCH, json, "off", 0, 1, NULL,
                    "print the summary as JSON"),
};
static const struct syn_settings_table show_settings = {"Output", show_rows, 1};

/* The signal that requested the end of the run, 0 for none, and when it arrived. Steps shorter than
 * a moment are completed; mpirun kills processes that have not ended a second after SIGINT or
 * SIGTERM. It passes SIGUSR1 on and waits. */
static atomic_int stop_signal;
static atomic_llong stop_ns;
#define MOMENT_NS 200000000LL

static sigset_t stop_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    return set;
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The first Ctrl-C ends the run with a checkpoint, the second one immediately. */
static void *wait_for_signal(void *unused)
{
    sigset_t set = stop_signals();
    int number;
    (void)unused;
    if (sigwait(&set, &number) == 0) {
        atomic_store(&stop_ns, now_ns());
        atomic_store(&stop_signal, number);
    }
    if (sigwait(&set, &number) == 0) {
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        raise(number);
    }
    return NULL;
}

/* Signals are handled on a separate thread and must not reach a thread that computes: oneDNN's
 * kernels point the stack pointer into a small heap block, and what the system writes there for a
 * handler destroys the memory before that block. Call this before any other thread is started, as
 * all must block the signals. */
static void catch_signals(void)
{
    pthread_t thread;
    sigset_t set = stop_signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, wait_for_signal, NULL) != 0)
        pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* then a signal ends the run at once */
    else
        pthread_detach(thread);
}

/* A run stopped by a signal abandons a step with a status that is not a failure; the message logged
 * for it is shown only if the run fails after all. Called with the log's lock held. */
static char held_back[512];

static void log_until_stopped(void *unused, enum syn_log_level level, const char *text)
{
    if (level == SYN_LOG_ERROR && atomic_load(&stop_signal) != 0)
        snprintf(held_back, sizeof held_back, "%s", text);
    else
        log_to_standard_error(unused, level, text);
}

static bool stops(void *unused)
{
    (void)unused;
    return atomic_load(&stop_signal) != 0 && now_ns() - atomic_load(&stop_ns) > MOMENT_NS;
}

/* The quality of the model: on the validation part, once that has been evaluated. */
static void put_quality(char *text, size_t capacity, const struct syn_train_progress *now)
{
    if (isnan(now->validation_loss))
        snprintf(text, capacity, "accuracy %.2f %%", 100 * now->accuracy);
    else
        snprintf(text, capacity, "validation perplexity %.2f", exp(now->validation_loss));
}

static bool show_progress(void *context, const struct syn_train_progress *now)
{
    char words[192];
    char quality[64];
    struct progress *bar = context;
    put_quality(quality, sizeof quality, now);
    int length =
        snprintf(words, sizeof words, "step %llu/%llu, loss %.4f, %s",
                 (unsigned long long)now->step, (unsigned long long)now->steps, now->loss, quality);
    char *end = words + length;
    size_t room = sizeof words - (size_t)length;
    if (now->phase == SYN_TRAIN_EVALUATING)
        snprintf(end, room, ", evaluating %.0f%%", 100 * now->evaluated);
    else
        snprintf(end, room, ", %.0f %s/s", now->examples_per_s, now->on_text ? "words" : "images");
    bar->total = now->steps;
    progress_tell(bar, now->step, words);
    return atomic_load(&stop_signal) == 0;
}

static void print_json(const struct syn_train_summary *summary)
{
    char text[4096];
    syn_train_summary_json(summary, text, sizeof text);
    puts(text);
}

static void print_words(const struct syn_train_summary *summary)
{
    const char *unit = summary->on_text ? "words" : "images";
    printf("%s on %s%s: ", summary->model, summary->data, summary->stopped ? ", stopped" : "");
    if (summary->on_text && !isnan(summary->test_perplexity))
        printf("test perplexity %.2f", summary->test_perplexity);
    else if (!isnan(summary->test_accuracy))
        printf("test accuracy %.2f %%", 100 * summary->test_accuracy);
    else if (!isnan(summary->train_loss))
        printf("loss %.4f", summary->train_loss);
    else
        printf("not trained");
    if (!isnan(summary->validation_loss))
        printf(", validation perplexity %.2f", exp(summary->validation_loss));
    printf(" after %.4g epochs (%llu steps), %.1f s, %.0f %s/s; see %s\n", summary->epochs,
           (unsigned long long)summary->steps, summary->seconds, summary->examples_per_s, unit,
           summary->out);
    if (summary->workers > 1)
        printf("%llu workers, %s: %.1f KB sent by each per step, %.3g times less than dense\n",
               (unsigned long long)summary->workers, summary->algo,
               summary->bytes_out_per_step / 1000, summary->ratio_to_dense);
    if (summary->servers > 0)
        printf(
            "%llu parameter servers: gradients were %.3g updates stale on average, %llu at most\n",
            (unsigned long long)summary->servers, summary->staleness_mean,
            (unsigned long long)summary->staleness_max);
    if (summary->best_step > 0)
        printf("best on the %s part: %s %.*f after %.4g epochs (checkpoints/step-%llu)\n",
               isnan(summary->validation_loss) ? "test" : "validation",
               summary->on_text ? "perplexity" : "loss", summary->on_text ? 2 : 4,
               summary->on_text ? exp(summary->best_validation_loss)
                                : summary->best_validation_loss,
               summary->best_epoch, (unsigned long long)summary->best_step);
    if (summary->idle[0])
        printf("%s\n", summary->idle);
}

/* The flags that most people need. */
static const char *const common[] = {
    "model", "data", "data_dir", "algo", "workers", "epochs",
    "batch", "lr",   "evaluate", "out",  "resume",  "threads",
};
#define COMMON (sizeof common / sizeof common[0])

static void print_presets(void)
{
    printf("\nDefaults of each model:\n");
    for (size_t i = 0; syn_model_name(i); i++) {
        const char *preset = syn_train_preset(syn_model_name(i));
        printf("  %-11s %s\n", syn_model_name(i), preset ? preset : "");
    }
}

/* The usual settings of the model, with the requested method. */
static enum syn_status usual(struct syn_train_options *options)
{
    const char *algo = options->algo;
    enum syn_status status = syn_train_defaults(options->model, options);
    options->algo = algo;
    return status == SYN_OK ? syn_train_apply_algo(options) : status;
}

static enum syn_status recall(struct syn_train_options *options)
{
    char directory[SYN_TEXT_BYTES];
    snprintf(directory, sizeof directory, "%s", options->resume);
    return syn_train_recall(directory, options);
}

/* Typed values do not follow the length of the run, even if they equal the usual ones. */
static void pin_typed(struct syn_train_options *options, int argc, char **argv)
{
    if (flags_has(argc, argv, "warmup"))
        options->usual.warmup = 0;
    if (flags_has(argc, argv, "warmup-epochs"))
        options->usual.warmup_epochs = 0;
    if (flags_has(argc, argv, "density-warmup"))
        options->usual.density_warmup = 0;
}

/* Print help with the defaults of the requested model. */
static void print_help(enum help_form form, const struct command *self, const struct flag_set *sets,
                       size_t count, const char *model)
{
    flags_help(form, self, sets, count, common, COMMON);
    if (form == HELP_TEXT)
        printf("Defaults are those of %s; --model NAME --help shows another model's.\n", model);
    if (form == HELP_ALL)
        print_presets();
}

/* Fill options from the command line; *done is set if there is nothing left to do. */
static enum syn_status read_options(const struct command *self, int argc, char **argv,
                                    struct syn_train_options *options, struct show_options *show,
                                    bool *done)
{
    struct flags flags;
    struct flag_set sets[TRAIN_FLAG_SETS + 1] = {[TRAIN_FLAG_SETS] = {&show_settings, show}};
    size_t count = sizeof sets / sizeof sets[0];
    train_flag_sets(options, sets);
    enum help_form help = flags_take_help(&argc, argv);
    enum syn_status status = train_flags_parse(self, sets, count, argc, argv, options, &flags);
    if (status != SYN_OK)
        return status;
    status = options->resume[0] ? recall(options) : usual(options);
    if (status == SYN_OK)
        status = flags_read(self, sets, count, argc, argv, &flags);
    *done = status == SYN_OK && help != HELP_NONE;
    if (*done)
        print_help(help, self, sets, count, options->model);
    pin_typed(options, argc, argv);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct syn_train_options options = {0};
    struct syn_train_summary summary;
    struct show_options show;
    struct progress bar;
    char title[64];
    bool done = false;
    enum syn_status status = read_options(self, argc, argv, &options, &show, &done);
    if (status != SYN_OK || done)
        return exit_code(status);
    snprintf(title, sizeof title, "%s on %s", options.model, options.data.data);
    catch_signals();
    progress_begin(&bar, title, 0);
    const struct syn_train_watch watch = {show_progress, &bar, stops};
    syn_log_to(log_until_stopped, NULL, SYN_LOG_INFO);
    status = refuse_lone_process(argc, argv);
    if (status == SYN_OK)
        status = syn_train(&options, &watch, &summary);
    syn_log_to(log_to_standard_error, NULL, SYN_LOG_INFO);
    progress_end(&bar);
    if (status != SYN_OK && held_back[0])
        log_to_standard_error(NULL, SYN_LOG_ERROR, held_back);
    if (status != SYN_OK)
        return exit_code(status);
    if (show.json && summary.is_first)
        print_json(&summary);
    else if (summary.is_first)
        print_words(&summary);
    int number = atomic_load(&stop_signal);
    return summary.stopped && number ? 128 + number : EXIT_GOOD;
}

const struct command command_train = {"train", "train a model on a data set", "[options]", run};
