/* What a profile's runs had, and whether a plan leaves it; see profile.h. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/data/profile.h"
#include "plan/schema/schema.h"

/* "4..16" holds 8; any other text holds itself. */
static bool holds(const char *allowed, const char *value)
{
    const char *dots = strstr(allowed, "..");
    double low, high, x;
    char first[64];
    if (!dots || (size_t)(dots - allowed) >= sizeof first)
        return text_equal(allowed, value);
    memcpy(first, allowed, (size_t)(dots - allowed));
    first[dots - allowed] = '\0';
    return number_real(first, &low) && number_real(dots + 2, &high) && number_real(value, &x) &&
           x >= low && x <= high;
}

static bool has_run(const struct profile_run *run, const struct text *value)
{
    for (size_t i = 0; run->values[i]; i++)
        if (holds(run->values[i], text_string(value)))
            return true;
    return false;
}

/* Appends the keys that a plan leaves, or stops at the first where nobody asks (out NULL);
 * whether there is one. */
static bool leaves(const struct profile *profile, const struct plan *plan, struct text *out)
{
    struct arena arena = {0};
    bool any = false;
    for (size_t i = 0; i < profile->n_runs && (out || !any); i++) {
        const struct profile_run *run = &profile->runs[i];
        struct text value = {.arena = &arena};
        schema_print(schema_find(run->key), plan, &value);
        if (has_run(run, &value))
            continue;
        any = true;
        if (out)
            text_printf(out, "%s%s %s", out->length ? ", " : "", run->key, text_string(&value));
    }
    arena_release(&arena);
    return any;
}

void profile_left_runs(const struct profile *profile, const struct plan *plan, struct text *out)
{
    leaves(profile, plan, out);
}

/* Whether a list of devices, "h100, h200", has one. */
static bool lists(const char *devices, const char *device)
{
    size_t n = strlen(device);
    for (const char *at = devices; at[0]; at += strcspn(at, ",")) {
        at += strspn(at, ", ");
        if (strcspn(at, ", ") == n && strncmp(at, device, n) == 0)
            return true;
    }
    return false;
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
    return !profile->device[0] || lists(profile->device, device);
}

enum profile_standing profile_standing(const struct profile *profile, const struct plan *plan)
{
    char device[PLAN_NAME];
    if (leaves(profile, plan, NULL))
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
    leaves(profile, plan, out);
}
