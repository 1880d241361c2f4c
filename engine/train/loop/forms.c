/* A change is a separate line of metrics.jsonl,
 *
 *     {"step": 40, ..., "form_values": "q4", "form_density": 0.125, "form_compute_ms": 28.1, ...}
 *
 * valid from step number 40 on, counted from 0. Densities are written with all their digits, so
 * that a run that replays them sends the same bits. */
#include "engine/train/loop/forms.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/text.h>

#include "engine/base/fail.h"

#define LINE_BYTES 4096

/* The text after "name": in a line that this program wrote; NULL if there is no such field. */
static const char *field(const char *line, const char *name)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\": ", name);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static bool read_number(const char *line, const char *name, double *number)
{
    const char *at = field(line, name);
    char *end = NULL;
    if (at)
        *number = syn_text_number(at, &end);
    return at && end != at;
}

/* Returns 1 for a change, 0 for another line, -1 for an invalid one. */
static int read_change(const char *line, struct syn_form_change *change)
{
    double step, density;
    const char *values = field(line, "form_values");
    if (!values)
        return 0;
    if (!read_number(line, "step", &step) || !(step >= 0 && step < 1e15) ||
        !read_number(line, "form_density", &density) || !(density > 0 && density <= 1))
        return -1;
    *change = (struct syn_form_change){.step = (uint64_t)step, .density = density};
    return sscanf(values, "\"%7[a-z0-9]\"", change->values) == 1 ? 1 : -1;
}

static enum syn_status add(struct syn_forms *forms, const struct syn_form_change *change,
                           const char *path, size_t number)
{
    uint64_t last = forms->count ? forms->replayed[forms->count - 1].step : 0;
    if (change->step < last)
        return syn_report(SYN_FORMAT, "density-replay: \"%s\", line %zu: step %llu after step %llu",
                          path, number, (unsigned long long)change->step, (unsigned long long)last);
    void *more = realloc(forms->replayed, (forms->count + 1) * sizeof *forms->replayed);
    if (!more)
        return syn_report(SYN_MEMORY, "cannot allocate %zu changes of density", forms->count + 1);
    forms->replayed = more;
    forms->replayed[forms->count++] = *change;
    return SYN_OK;
}

static enum syn_status read_file(FILE *file, const char *path, struct syn_forms *forms)
{
    char line[LINE_BYTES];
    for (size_t number = 1; fgets(line, sizeof line, file); number++) {
        struct syn_form_change change;
        int found = read_change(line, &change);
        if (found < 0)
            return syn_report(SYN_FORMAT,
                              "density-replay: \"%s\", line %zu: expected a step, form_values and "
                              "a form_density above 0, at most 1",
                              path, number);
        if (found > 0)
            SYN_TRY(add(forms, &change, path, number));
    }
    if (forms->count == 0 || forms->replayed[0].step > 0)
        return syn_report(SYN_INVALID,
                          "density-replay: \"%s\" does not tell what the first step sent; expected "
                          "the metrics.jsonl of a run with density auto",
                          path);
    return SYN_OK;
}

enum syn_status syn_forms_open(const struct syn_train_options *options, struct syn_forms *forms)
{
    const char *path = options->density_replay;
    if (!path[0])
        return SYN_OK;
    FILE *file = fopen(path, "r");
    if (!file)
        return syn_report(SYN_INVALID, "density-replay: cannot read \"%s\": %s", path,
                          strerror(errno));
    enum syn_status status = read_file(file, path, forms);
    fclose(file);
    return status;
}

void syn_forms_close(struct syn_forms *forms)
{
    free(forms->replayed);
}

void syn_forms_announce(const struct syn_replica *replica)
{
    const struct syn_train_options *options = &replica->options;
    if (options->worker.reducer.density != SYN_AUTO || replica->rank > 0)
        return;
    if (options->density_replay[0])
        syn_report_log(SYN_LOG_INFO, "density auto: replays \"%s\"", options->density_replay);
    else if (options->workers == 1)
        syn_report_log(SYN_LOG_INFO, "density auto: a single worker has nothing to send");
    else if (syn_group_is_one_process(replica->group))
        syn_report_log(SYN_LOG_INFO,
                       "density auto: workers are threads of one process, with no link to "
                       "measure; everything is sent, in f32");
}

void syn_forms_choose(const struct syn_forms *forms, uint64_t step, struct syn_rates *rates)
{
    const struct syn_form_change *now = NULL;
    for (size_t i = 0; i < forms->count && forms->replayed[i].step <= step; i++)
        now = &forms->replayed[i];
    if (!now)
        return;
    rates->density = now->density;
    rates->values = now->values;
}

void syn_forms_note(struct syn_forms *forms, struct syn_metrics *metrics)
{
    const struct syn_replica *replica = metrics->replica;
    struct syn_form form = syn_worker_form(replica->update.worker);
    if (replica->options.worker.reducer.density != SYN_AUTO || !form.values)
        return;
    if (forms->last.density == form.density && strcmp(forms->last.values, form.values) == 0)
        return;
    forms->last = (struct syn_form_change){.step = replica->at.step, .density = form.density};
    snprintf(forms->last.values, sizeof forms->last.values, "%s", form.values);
    syn_metrics_log_form(metrics, &form);
    if (form.is_everything && form.is_measured && !forms->is_dense_told && replica->rank == 0) {
        forms->is_dense_told = true;
        syn_report_log(SYN_LOG_INFO,
                       "density auto: from step %llu on everything is sent, in f32: the link "
                       "carries it (%.3g ms) while workers compute (%.3g ms)",
                       (unsigned long long)replica->at.step, form.exchange_ms, form.compute_ms);
    }
}
