/* What runs had; see runs_had.h. */
#include "calib/fit/runs_had.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "plan/read/unread.h"
#include "work/stack/stack.h"

enum { WIDTH = 96 };

static const char *const keys[] = {
    "moe.path",       "parallel.ep",         "parallel.tp",          "parallel.pp",
    "parallel.cp",    "parallel.zero",       "workload.micro_batch", "workload.sequence_length",
    "recompute.kind", "moe.capacity_factor",
};

enum { N_KEYS = sizeof keys / sizeof *keys };

void runs_had_init(struct runs_had *had, struct arena *arena)
{
    *had = (struct runs_had){.devices = {.arena = arena},
                             .models = {.arena = arena},
                             .runs = arena_alloc(arena, N_KEYS, sizeof *had->runs),
                             .n_runs = N_KEYS,
                             .arena = arena};
    for (size_t i = 0; i < N_KEYS; i++)
        had->runs[i].field = schema_find(keys[i]);
}

/* ---- a run ---- */

static bool has_value(const struct profile_run *run, double value)
{
    for (size_t i = 0; i < run->n; i++)
        if (run->held[i].low == value)
            return true;
    return false;
}

/* Words one by one, numbers as one range. */
static void add_value(struct runs_had *had, struct profile_run *run, const struct plan *plan)
{
    struct text text = {.arena = had->arena};
    double value = schema_number(run->field, plan);
    bool range = run->field->type != FIELD_WORD && run->n;
    if (!range && has_value(run, value))
        return;
    schema_print(run->field, plan, &text);
    struct profile_held *held = arena_alloc(had->arena, run->n + 1, sizeof *held);
    if (run->n)
        memcpy(held, run->held, run->n * sizeof *held);
    run->held = held;
    if (range) {
        held->low = fmin(held->low, value);
        held->high = fmax(held->high, value);
        return;
    }
    held[run->n++] = (struct profile_held){text_string(&text), true, value, value};
}

void runs_had_add(struct runs_had *had, const struct plan *plan)
{
    struct plan resolved = *plan;
    char device[PLAN_NAME];
    resolved.moe.path = stack_path(plan, NULL);
    const struct unread_plan of = {&resolved, resolved.moe.path};
    profile_device(plan, device);
    text_list_add(&had->devices, device);
    text_list_add(&had->models, plan->model_name);
    for (size_t i = 0; i < N_KEYS; i++)
        if (!unread_reason(had->runs[i].field, &of, had->arena))
            add_value(had, &had->runs[i], &resolved);
}

/* ---- as a profile ---- */

static void print_run(const struct profile_run *run, struct text *out)
{
    const struct profile_held *held = run->held;
    text_printf(out, "%s: %s", run->field->key, run->n > 1 ? "[" : "");
    if (run->field->type == FIELD_WORD)
        for (size_t i = 0; i < run->n; i++)
            text_printf(out, "%s%s", i ? ", " : "", held[i].text);
    else
        text_printf(out, held->low < held->high ? "%.15g..%.15g" : "%.15g", held->low,
                    held->high);
    text_printf(out, "%s", run->n > 1 ? "]" : "");
}

static void write_runs(FILE *out, const struct runs_had *had)
{
    size_t column = (size_t)fprintf(out, "runs: {"), indent = column, n = 0;
    for (size_t i = 0; i < had->n_runs; i++) {
        struct text text = {.arena = had->arena};
        if (!had->runs[i].n)
            continue;
        print_run(&had->runs[i], &text);
        if (n)
            column += (size_t)fprintf(out, ",");
        if (n && column + 1 + text.length + 1 > WIDTH)
            column = (size_t)fprintf(out, "\n%*s", (int)indent, "") - 1;
        else if (n)
            column += (size_t)fprintf(out, " ");
        column += (size_t)fprintf(out, "%s", text_string(&text));
        n++;
    }
    fputs("}\n", out);
}

void runs_had_write(FILE *out, const struct runs_had *had)
{
    fprintf(out, "device: \"%s\"\nmodels: [%s]\n", text_string(&had->devices),
            text_string(&had->models));
    write_runs(out, had);
}
