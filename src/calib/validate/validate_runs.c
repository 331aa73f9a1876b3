/* See validate_runs.h. */
#include "calib/validate/validate_runs.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/stat.h"
#include "base/text.h"
#include "calib/table/printed_unit.h"
#include "calib/table/quantity.h"
#include "plan/data/published.h"
#include "plan/read/catalog.h"
#include "plan/schema/schema.h"
#include "sim/answer/predict.h"

/* Without a stated error of their own: routing's figures, sampled and printed to 3 digits. */
static const double SAMPLED = 0.02;

struct run {
    const struct csv *csv;
    size_t row;
    struct arena scratch; /* what the plan and its prediction take: until the next run */
    struct plan plan;
    struct prediction prediction;
    const struct published_sets *sets;
    struct profiles profiles;
    struct profile roofline; /* at assumed efficiencies, when a served run needs it */
    bool tails;              /* the table has some: p50 and p99 of times are played */
    bool experts;            /* it has figures of their record */
    const char *stack;       /* of the plan; "" where there is none */
    const char *refused;     /* why there is no prediction; NULL */
};

/* Rows of one run follow each other: one prediction serves them. */
static bool same_run(const struct csv *csv, size_t a, size_t b)
{
    const char *plan = csv_cell(csv, a, "plan");
    return text_equal(csv_cell(csv, a, "set"), csv_cell(csv, b, "set")) &&
           (!plan || text_equal(plan, csv_cell(csv, b, "plan")));
}

/* A row that names neither a plan nor its software was run by something that no plan is of. */
static bool names_software(const struct csv *csv, size_t row)
{
    const char *plan = csv_cell(csv, row, "plan"), *set = csv_cell(csv, row, "set");
    return (plan && plan[0]) || (set && strstr(set, "stack="));
}

/* The profile that says what a roofline at assumed efficiencies makes of a served run: the
 * control of its times. */
static enum status control_profile(struct run *run, struct arena *arena,
                                   const struct profile **out, struct err *err)
{
    char *path;
    *out = NULL;
    if (run->plan.workload.mode != MODE_SERVE)
        return STATUS_OK;
    *out = &run->roofline;
    if (run->roofline.n)
        return STATUS_OK;
    TRY(catalog_find(CATALOG_PROFILE, "generic", NULL, arena, &path, err));
    return profile_read(path, arena, &run->roofline, err);
}

/* A plan that the stack refuses has no prediction; a row that cannot be read is an error, but
 * of a verdict: there what cannot be said is counted. */
static enum status predict_run(struct run *run, size_t row, bool verdict, struct arena *arena,
                               struct err *err)
{
    struct err refused = {0};
    struct time_ask ask = {.spread = run->tails};
    const struct predict_options options = {.time = &ask, .memory_only = !run->experts};
    if (row > 0 && same_run(run->csv, row, row - 1) && run->row == row - 1) {
        run->row = row;
        return STATUS_OK;
    }
    arena_clear(&run->scratch);
    run->row = row;
    run->refused = NULL;
    run->stack = "";
    if (published_plan_with(run->csv, row, run->sets, &run->scratch, &run->plan,
                            verdict ? &refused : err) != STATUS_OK) {
        if (!verdict)
            return STATUS_INPUT;
        run->refused = arena_strdup(arena, refused.text);
        return STATUS_OK;
    }
    if (!names_software(run->csv, row)) {
        run->refused = "the row names no software";
        return STATUS_OK;
    }
    run->stack = words_stack[run->plan.stack.kind];
    TRY(profiles_get(&run->profiles, &run->plan, &ask.profile, err));
    TRY(control_profile(run, arena, &ask.control, err));
    if (predict(&run->plan, &options, &run->scratch, &run->prediction, &refused) != STATUS_OK)
        run->refused = arena_strdup(arena, refused.text);
    return STATUS_OK;
}

static void compare_words(const struct run *run, struct validated *row)
{
    row->predicted = verdict_name(run->prediction.memory.verdict);
    row->verdict =
        text_equal(row->predicted, row->published) ? VALIDATE_AGREES : VALIDATE_DIFFERS;
}

static bool is_first_token(const struct quantity *quantity)
{
    return quantity->offset == offsetof(struct prediction, time.serving.ttft_s);
}

/* What is as near to a number as what predicts it says it is. */
static void bound(const struct run *run, const struct quantity *quantity, struct validated *row)
{
    const struct time_report *time = &run->prediction.time;
    const struct serve_times *s = &time->serving;
    double less = time->low_s / time->step_s, more = time->high_s / time->step_s;
    if (quantity->judged == QUANTITY_BY_REQUEST) {
        row->low = is_first_token(quantity) ? s->ttft_low_s : s->tpot_low_s;
        row->high = is_first_token(quantity) ? s->ttft_high_s : s->tpot_high_s;
        return;
    }
    if (quantity->judged == QUANTITY_BY_INTERVAL) {
        row->low = row->value * (quantity->falls ? 1 / more : less);
        row->high = row->value * (quantity->falls ? 1 / less : more);
        return;
    }
    double stated = quantity->judged == QUANTITY_BY_STACK ? run->plan.stack.error : SAMPLED;
    row->low = row->value / (1 + stated);
    row->high = row->value / (1 - stated);
}

/* Of a time at an MFU of one; scaled below. */
static double control_of(const struct run *run, const struct quantity *quantity, double value)
{
    const struct serve_times *plain = &run->prediction.time.control;
    double mfu = run->prediction.time.mfu_useful;
    if (quantity->judged == QUANTITY_BY_REQUEST)
        return !plain->present            ? (double)NAN
               : is_first_token(quantity) ? plain->ttft_s
                                          : plain->tpot_s;
    if (quantity->judged != QUANTITY_BY_INTERVAL || !(mfu > 0))
        return (double)NAN;
    return quantity->falls ? value / mfu : value * mfu;
}

static enum status compare_number(const struct run *run, size_t at,
                                  const struct quantity *quantity, struct validated *row,
                                  struct arena *arena, struct err *err)
{
    const char *unit = csv_cell(run->csv, at, "unit");
    double scale = printed_unit(unit ? unit : ""), number;
    if (!number_real(row->published, &number) || !(scale > 0) || !(number > 0))
        return err_at(err, (struct mark){run->csv->file, run->csv->lines[at], 1},
                      "'%s%s%s' is no quantity", row->published, unit && unit[0] ? " " : "",
                      unit ? unit : "");
    row->measured = number * scale;
    row->published = validation_number(row->measured, arena);
    if (!quantity || run->refused)
        return STATUS_OK;
    row->value = quantity_of(quantity, &run->prediction);
    row->predicted = validation_number(row->value, arena);
    row->has_error = true;
    row->error_percent = 100 * (row->value / row->measured - 1);
    bound(run, quantity, row);
    row->verdict = row->measured >= row->low && row->measured <= row->high ? VALIDATE_AGREES
                                                                           : VALIDATE_DIFFERS;
    row->control = control_of(run, quantity, row->value);
    return STATUS_OK;
}

/* A name that is not predicted may stand in a table; a known one that is misspelt was meant. */
static enum status check_name(const struct csv *csv, size_t at, const char *quantity,
                              struct err *err)
{
    const char *near = quantity_near(quantity);
    if (!near)
        return STATUS_OK;
    err_at(err, (struct mark){csv->file, csv->lines[at], 1},
           "no quantity of a prediction is called '%s'", quantity);
    return err_hint(err, "did you mean '%s'?", near);
}

static enum status add_row(struct run *run, size_t at, const char *table, struct arena *arena,
                           struct validation *out, struct err *err)
{
    const struct csv *csv = run->csv;
    const char *quantity = csv_cell(csv, at, "quantity");
    bool verdict = text_equal(quantity, VALIDATE_VERDICT_QUANTITY);
    const struct quantity *known = quantity_find(quantity);
    struct validated row = {.table = table,
                            .row = csv_cell(csv, at, "row"),
                            .quantity = quantity,
                            .family = quantity,
                            .published = csv_cell(csv, at, "published"),
                            .predicted = "",
                            .verdict = VALIDATE_NOT_PREDICTED,
                            .measured = (double)NAN,
                            .value = (double)NAN,
                            .low = (double)NAN,
                            .high = (double)NAN,
                            .control = (double)NAN};
    if (!verdict && !known)
        TRY(check_name(csv, at, quantity, err));
    if (verdict || known)
        TRY(predict_run(run, at, verdict, arena, err));
    row.stack = verdict || known ? run->stack : "";
    row.why = verdict || known ? run->refused : NULL;
    if (verdict && !run->refused)
        compare_words(run, &row);
    else if (!verdict)
        TRY(compare_number(run, at, known, &row, arena, err));
    validation_add(out, &row, arena);
    return STATUS_OK;
}

static const char *table_name(const char *file, struct arena *arena)
{
    const char *name = text_base_name(file);
    return arena_strndup(arena, name, strcspn(name, "."));
}

/* One MFU for all rows of a family, the one that is off by the least in the median: what a
 * planner without a model of time would take. Served times have their own roofline's. Names
 * the control; NULL: there is none. */
static const char *scale_control(struct validation *out, size_t first, const char *family,
                                 struct arena *arena)
{
    const struct quantity *quantity = quantity_find(family);
    double *ratio = arena_alloc(arena, out->n - first, sizeof *ratio);
    size_t n = 0;
    if (quantity && quantity->judged == QUANTITY_BY_REQUEST)
        return "generic roofline";
    for (size_t i = first; i < out->n; i++)
        if (text_equal(out->rows[i].family, family) && out->rows[i].control > 0)
            ratio[n++] = out->rows[i].measured / out->rows[i].control;
    if (n < 2)
        return NULL;
    stat_sort(ratio, n);
    for (size_t i = first; i < out->n; i++)
        if (text_equal(out->rows[i].family, family))
            out->rows[i].control *= stat_percentile(ratio, n, 0.5);
    return "constant MFU";
}

/* One summary a quantity, in order of appearance. */
static void summarise(struct validation *out, size_t first, struct arena *arena)
{
    for (size_t i = first; i < out->n; i++) {
        bool new = true;
        for (size_t k = first; k < i && new; k++)
            new = !text_equal(out->rows[k].family, out->rows[i].family);
        if (!new)
            continue;
        const char *control = scale_control(out, first, out->rows[i].family, arena);
        struct validated_summary *summary =
            validation_summarise(out, first, out->rows[i].family, arena);
        summary->control_name = control;
    }
}

enum status validate_runs(const struct csv *csv, struct arena *arena, struct validation *out,
                          struct err *err)
{
    struct run run = {
        .csv = csv, .row = SIZE_MAX, .sets = out->sets, .profiles = {.arena = arena}};
    size_t first = out->n;
    const char *table = table_name(csv->file, arena);
    for (size_t row = 0; row < csv->n_rows; row++) {
        const char *name = csv_cell(csv, row, "quantity");
        const struct quantity *known = quantity_find(name);
        run.tails = run.tails || strstr(name, "_p99_");
        run.experts = run.experts || (known && quantity_is_of_experts(known));
    }
    enum status status = STATUS_OK;
    for (size_t row = 0; row < csv->n_rows && status == STATUS_OK; row++)
        status = add_row(&run, row, table, arena, out, err);
    arena_release(&run.scratch);
    TRY(status);
    if (out->n > first)
        summarise(out, first, arena);
    validation_verdicts(out, first, arena);
    return STATUS_OK;
}
