/* What a profile's runs had, and whether a plan leaves it; see profile.h. */
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/data/profile.h"
#include "plan/halves.h"
#include "plan/read/unread.h"

static bool is_number(const struct field *field)
{
    return field->type == FIELD_COUNT || field->type == FIELD_REAL;
}

/* A word that may stand for a number of another key is a text here. */
static bool is_word(const struct field *field)
{
    return field->type == FIELD_WORD && !field->number;
}

static bool read_word(const struct field *field, struct profile_held *held)
{
    for (unsigned i = 0; field->words[i]; i++) {
        if (!text_equal(field->words[i], held->text))
            continue;
        held->low = held->high = i;
        return held->counts = true;
    }
    return false;
}

bool profile_held_read(const struct field *field, const char *text, struct profile_held *held)
{
    *held = (struct profile_held){.text = text};
    if (is_word(field))
        return read_word(field, held);
    if (!is_number(field))
        return true;
    if (number_real(text, &held->low))
        held->high = held->low;
    else if (!number_limits(text, &held->low, &held->high))
        return false;
    return held->counts = true;
}

static bool is_unread(const struct profile_run *run, const struct plan *plan,
                      struct arena *arena)
{
    const struct unread_plan of = {plan, plan->moe.path};
    return run->sometimes && unread_reason(run->field, &of, arena);
}

static bool run_holds(const struct profile_run *run, const struct plan *plan)
{
    struct arena arena = {0};
    struct text value = {.arena = &arena};
    bool counts = is_number(run->field) || is_word(run->field), holds = false;
    double x = counts ? schema_number(run->field, plan) : 0;
    if (!counts)
        schema_print(run->field, plan, &value);
    for (size_t i = 0; i < run->n && !holds; i++) {
        const struct profile_held *held = &run->held[i];
        holds = held->counts ? x >= held->low && x <= held->high
                             : text_equal(held->text, text_string(&value));
    }
    holds = holds || is_unread(run, plan, &arena);
    arena_release(&arena);
    return holds;
}

/* The key by which a plan's steps hide exchanges as no run of any profile did, unless it says
 * so; NULL: they do not. */
static const char *unseen_overlap(const struct profile *profile, const struct plan *plan)
{
    const char *key = plan_asks_halves(plan)       ? "moe.overlap"
                      : plan_overlaps_single(plan) ? "moe.overlap_single"
                                                   : NULL;
    for (size_t i = 0; key && i < profile->n_runs; i++)
        if (text_equal(profile->runs[i].field->key, key))
            return NULL;
    return key;
}

bool profile_is_unlike(const struct profile *profile, const struct plan *plan)
{
    if (unseen_overlap(profile, plan))
        return true;
    for (size_t i = 0; i < profile->n_runs; i++)
        if (!run_holds(&profile->runs[i], plan))
            return true;
    return false;
}

void profile_left_runs(const struct profile *profile, const struct plan *plan, struct text *out)
{
    for (size_t i = 0; i < profile->n_runs; i++) {
        const struct profile_run *run = &profile->runs[i];
        if (run_holds(run, plan))
            continue;
        text_printf(out, "%s%s ", out->length ? ", " : "", run->field->key);
        schema_print(run->field, plan, out);
    }
    const char *overlap = unseen_overlap(profile, plan);
    if (overlap)
        text_printf(out, "%s%s true", out->length ? ", " : "", overlap);
}

static bool has_model(const struct profile *profile, const char *name)
{
    if (!profile->models || !profile->models[0])
        return true;
    for (size_t i = 0; profile->models[i]; i++) {
        size_t n = strlen(profile->models[i]);
        if (strncmp(name, profile->models[i], n) == 0 && (name[n] == '\0' || name[n] == ' '))
            return true;
    }
    return false;
}

static bool has_device(const struct profile *profile, const struct plan *plan,
                       char device[PLAN_NAME])
{
    profile_device(plan, device);
    return !profile->device[0] || text_lists(profile->device, device);
}

enum profile_standing profile_standing(const struct profile *profile, const struct plan *plan)
{
    char device[PLAN_NAME];
    if (profile_is_unlike(profile, plan))
        return RUNS_UNLIKE;
    bool known = has_device(profile, plan, device) && has_model(profile, plan->model_name);
    return known ? RUNS_LIKE : RUNS_ELSEWHERE;
}

void profile_outside_of(const struct profile *profile, const struct plan *plan,
                        struct text *out)
{
    char device[PLAN_NAME];
    if (!has_model(profile, plan->model_name))
        text_printf(out, "model %s", plan->model_name);
    if (!has_device(profile, plan, device))
        text_printf(out, "%sdevice %s", out->length ? ", " : "", device);
    profile_left_runs(profile, plan, out);
}
