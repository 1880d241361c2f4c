/* The options of a run: three tables of settings, and the presets of the models. A preset is kept
 * as the settings that a user would type, so that its row in presets.def can be read, copied and
 * overridden. */
#include "engine/train/options/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/train/options/lr_schedule.h"

static const struct syn_setting rows[] = {
#define SYN_SETTING(...) SYN_SETTING_ROW(struct syn_train_options, __VA_ARGS__),
#include <syncopate/engine/train_options.def>
#undef SYN_SETTING
};
const struct syn_settings_table syn_train_settings = {"Training", rows,
                                                      sizeof rows / sizeof rows[0]};

static const struct {
    const char *model;
    const char *settings; /* name=value, separated by spaces */
} presets[] = {
#define SYN_PRESET(model, settings) {model, settings},
#include "engine/train/options/presets.def"
#undef SYN_PRESET
};

const char *syn_train_preset(const char *model)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (strcmp(presets[i].model, model) == 0)
            return presets[i].settings;
    return NULL;
}

const char *syn_train_model_name(size_t i)
{
    size_t ready = 0;
    while (syn_model_name(ready))
        ready++;
    return i == ready ? SYN_MODEL_OWN : syn_model_name(i);
}

enum syn_status syn_train_set(struct syn_train_options *options, const char *name,
                              const char *value)
{
    if (syn_settings_has(&syn_train_settings, name))
        return syn_settings_set(&syn_train_settings, options, name, value);
    if (syn_settings_has(&syn_optimizer_settings, name))
        return syn_settings_set(&syn_optimizer_settings, &options->worker.optimizer, name, value);
    if (syn_settings_has(&syn_worker_settings, name))
        return syn_settings_set(&syn_worker_settings, &options->worker, name, value);
    if (syn_settings_has(&syn_reducer_settings, name))
        return syn_settings_set(&syn_reducer_settings, &options->worker.reducer, name, value);
    if (syn_settings_has(&syn_group_settings, name))
        return syn_settings_set(&syn_group_settings, &options->group, name, value);
    return syn_settings_set(&syn_data_settings, &options->data, name, value);
}

static enum syn_status apply_preset(struct syn_train_options *options, const char *settings)
{
    char name[32];
    char value[32];
    int length;
    for (; sscanf(settings, " %31[^=]=%31s%n", name, value, &length) == 2; settings += length)
        SYN_TRY(syn_train_set(options, name, value));
    return SYN_OK;
}

/* Synthetic images of the shape that the model was published with. */
static enum syn_status fit_synthetic(struct syn_train_options *options)
{
    struct syn_input input;
    if (strcmp(options->model, SYN_MODEL_OWN) == 0)
        return SYN_OK;
    SYN_TRY(syn_model_usual_input(options->model, &input));
    if (input.kind != SYN_INPUT_IMAGES)
        return SYN_OK;
    options->data.synthetic_channels = input.channels;
    options->data.synthetic_height = input.height;
    options->data.synthetic_width = input.width;
    options->data.synthetic_classes = input.classes;
    return SYN_OK;
}

enum syn_status syn_train_defaults(const char *model, struct syn_train_options *options)
{
    struct syn_train_options made;
    memset(&made, 0, sizeof made);
    syn_settings_defaults(&syn_train_settings, &made);
    syn_settings_defaults(&syn_data_settings, &made.data);
    syn_settings_defaults(&syn_group_settings, &made.group);
    syn_worker_defaults(&made.worker);
    SYN_TRY(syn_settings_set(&syn_train_settings, &made, "model", model));
    SYN_TRY(fit_synthetic(&made));
    const char *preset = syn_train_preset(made.model);
    if (preset)
        SYN_TRY(apply_preset(&made, preset));
    made.usual.warmup_epochs = made.warmup_epochs;
    made.usual.density_warmup = fmax(0, made.density_warmup);
    *options = made;
    return SYN_OK;
}

const char *syn_train_algo_name(size_t i)
{
    size_t recipes = 0;
    while (syn_recipe_name(recipes))
        recipes++;
    return i == recipes ? "auto" : syn_recipe_name(i);
}

bool syn_train_is_auto(const struct syn_train_options *options)
{
    return strcmp(options->algo, "auto") == 0;
}

enum syn_status syn_train_apply_algo(struct syn_train_options *options)
{
    if (syn_train_is_auto(options))
        return SYN_OK;
    SYN_TRY(syn_recipe_apply_worker(options->algo, &options->worker));
    options->usual.warmup = options->worker.warmup;
    if (syn_train_is_async(options) && options->servers == 0)
        options->servers = 1;
    return SYN_OK;
}

bool syn_train_is_async(const struct syn_train_options *options)
{
    return syn_worker_traits(&options->worker).is_async;
}

/* In epochs; 0 where there is no warm-up. Four epochs are from the gTop-k paper. A threshold has no
 * warm-up: ResNet-20 diverged with it (docs/results.md). Nor does what local steps send, which is
 * already the sum of many steps. */
double syn_train_density_warmup(const struct syn_train_options *options)
{
    const struct syn_reducer_options *reducer = &options->worker.reducer;
    struct syn_traits traits = syn_worker_traits(&options->worker);
    if (!traits.takes_share || traits.is_local || reducer->density >= SYN_FIRST_DENSITY)
        return 0;
    return options->density_warmup >= 0 ? options->density_warmup : 4;
}

/* A quarter, then a quarter of that, and so on, in four equal parts of the warm-up. */
double syn_train_density(const struct syn_train_options *options, double epoch)
{
    double asked = fmax(0, options->worker.reducer.density); /* 0: left to the worker */
    double warmup = syn_train_density_warmup(options);
    if (epoch >= warmup)
        return asked;
    double stage = floor(4 * epoch / warmup);
    return fmax(asked, SYN_FIRST_DENSITY * pow(0.25, stage));
}

static enum syn_status check_model(const struct syn_train_options *options)
{
    bool is_own = strcmp(options->model, SYN_MODEL_OWN) == 0;
    bool is_there = options->model_file[0] || options->graph;
    if (is_own && !is_there)
        return syn_report(
            SYN_INVALID,
            "model: own, but nothing describes it; expected a model file (--model-file)");
    if (!is_own && is_there)
        return syn_report(SYN_INVALID,
                          "model: \"%s\" contradicts model-file \"%.256s\"; expected own",
                          options->model, options->model_file);
    return SYN_OK;
}

enum syn_status syn_train_check(struct syn_train_options *options)
{
    SYN_TRY(syn_settings_check(&syn_train_settings, options));
    SYN_TRY(syn_settings_check(&syn_data_settings, &options->data));
    SYN_TRY(syn_settings_check(&syn_group_settings, &options->group));
    SYN_TRY(check_model(options));
    if (syn_train_density_warmup(options) > 0 &&
        options->worker.reducer.density_max < SYN_FIRST_DENSITY)
        options->worker.reducer.density_max = SYN_FIRST_DENSITY;
    if (syn_train_is_auto(options) && options->servers > 0)
        return syn_report(SYN_INVALID,
                          "algo auto only chooses among methods without servers; servers is %llu, "
                          "expected 0",
                          (unsigned long long)options->servers);
    SYN_TRY(syn_worker_check_servers(&options->worker, (size_t)options->servers));
    if (options->density_replay[0] && options->worker.reducer.density != SYN_AUTO)
        return syn_report(SYN_INVALID,
                          "density-replay repeats a run with density auto; density is "
                          "%g, expected auto",
                          options->worker.reducer.density);
    return syn_lr_check(options);
}
