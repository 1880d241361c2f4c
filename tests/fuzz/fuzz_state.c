/* Saved states from strangers: whatever bytes come, loading either refuses them and changes
 * nothing, or takes them on, and then the reducer saves what it was given and can take a step.
 *
 * An input is a byte of switches and the state. The switches choose one of a few reducers, and
 * whether the checksum is made right, and whether the head is: otherwise nothing behind those
 * checks would ever be reached. The reducers stay open from input to input and begin each with
 * nothing saved up. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>
#include <syncopate/reducer.h>

#include "base/hash.h"

enum { RECIPES = 4, SIZE = 7, HEAD = 48, STEPS_AT = 32, CHECKSUM = 8 };
enum { RECIPE_BITS = 3, HAS_CHECKSUM = 4, HAS_HEAD = 8 };

struct subject {
    struct syn_reducer *reducer;
    size_t bytes;   /* of its states */
    uint8_t *empty; /* the state that it began with */
    uint8_t *saved;
};

static struct subject open_subject(const char *recipe)
{
    struct subject subject;
    struct syn_group *group;
    struct syn_layout *layout;
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    assert(syn_recipe_apply(recipe, &options) == SYN_OK);
    options.bucket_bytes = 8; /* two buckets */
    options.density = 0.5;
    assert(syn_layout_new(&layout) == SYN_OK);
    assert(syn_layout_add(layout, "a", 4) == SYN_OK && syn_layout_add(layout, "b", 3) == SYN_OK);
    assert(syn_group_open_threads(1, NULL, &group) == SYN_OK);
    assert(syn_reducer_open(group, layout, &options, &subject.reducer) == SYN_OK);
    syn_layout_free(layout);
    subject.bytes = syn_reducer_state_bytes(subject.reducer);
    subject.empty = malloc(subject.bytes);
    subject.saved = malloc(subject.bytes);
    assert(subject.empty && subject.saved);
    assert(syn_reducer_save(subject.reducer, subject.empty) == SYN_OK);
    return subject;
}

static const struct subject *subject_of(unsigned number)
{
    static const char *const recipes[RECIPES] = {"ssgd", "topk", "gtopk", "strom"};
    static struct subject subjects[RECIPES];
    if (!subjects[number].reducer)
        subjects[number] = open_subject(recipes[number]);
    return &subjects[number];
}

static void seal(const struct subject *subject, uint8_t switches, uint8_t *state, size_t count)
{
    if (switches & HAS_HEAD && count >= HEAD)
        memcpy(state, subject->empty, HEAD);
    if (switches & HAS_CHECKSUM && count >= CHECKSUM) {
        uint64_t checksum = syn_hash(0, state, count - CHECKSUM);
        memcpy(state + count - CHECKSUM, &checksum, sizeof checksum);
    }
}

/* The head's count of steps is for people, and its reducer's own. */
static void check_saves(const struct subject *subject, const uint8_t *state)
{
    assert(syn_reducer_save(subject->reducer, subject->saved) == SYN_OK);
    assert(memcmp(subject->saved, state, STEPS_AT) == 0);
    assert(memcmp(subject->saved + STEPS_AT + 8, state + STEPS_AT + 8,
                  subject->bytes - STEPS_AT - 8 - CHECKSUM) == 0);
}

/* Large residuals may add up to infinity, which fails the step and nothing else. */
static void take_step(const struct subject *subject)
{
    static const float gradient[SIZE] = {1, -2, 3, 0, -5, 6, 7};
    struct syn_ticket ticket;
    struct syn_merged merged;
    assert(syn_reducer_begin(subject->reducer, gradient, NULL, &ticket) == SYN_OK);
    enum syn_status status = syn_reducer_wait(subject->reducer, ticket, &merged);
    assert(status == SYN_OK || status == SYN_NONFINITE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const struct subject *subject = subject_of(data[0] & RECIPE_BITS);
    size_t count = size - 1;
    uint8_t *state = malloc(count ? count : 1); /* of exactly that size, for the sanitizer */
    assert(state);
    memcpy(state, data + 1, count);
    seal(subject, data[0], state, count);
    assert(syn_reducer_load(subject->reducer, subject->empty, subject->bytes) == SYN_OK);
    enum syn_status status = syn_reducer_load(subject->reducer, state, count);
    assert(status == SYN_OK || status == SYN_FORMAT);
    check_saves(subject, status == SYN_OK ? state : subject->empty);
    take_step(subject);
    free(state);
    return 0;
}
