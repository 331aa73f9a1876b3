/* Validation: what both kinds of tables share, and tables of kernels; see validate.h. */
#include "calib/validate.h"

#include <math.h>

#include "base/text.h"
#include "calib/curve.h"
#include "plan/read/catalog.h"

const char *const validate_tables[] = {"moe_kernels_hopper",
                                       "deepgemm_kernels",
                                       "ep_dispatch_combine",
                                       "collectives",
                                       "seed000_primus_turbo",
                                       "seed001_rdep",
                                       "megatron_golden_memory",
                                       "megatron_moe_memory_b200",
                                       "memory_verdicts",
                                       "vllm_memory",
                                       "megatron_train_throughput",
                                       "serving_latency",
                                       NULL};

const char *validate_verdict_name(enum validate_verdict verdict)
{
    static const char *const names[] = {"agrees", "differs", "not predicted"};
    return names[verdict];
}

const char *validation_number(double value, struct arena *arena)
{
    char digits[32];
    text_double(digits, value);
    return arena_strdup(arena, digits);
}

void validation_add(struct validation *v, const struct validated *row, struct arena *arena)
{
    v->rows = arena_grow(arena, v->rows, v->n, &v->capacity, sizeof *row);
    v->rows[v->n++] = *row;
}

/* Mean and median error of the control; NaN where there is none. */
static void add_control(struct validated_summary *s, const double *measured,
                        const double *control, size_t n, struct arena *arena)
{
    const struct score score = score_of(measured, control, n, arena);
    s->control_mean = score.n ? score.mean : (double)NAN;
    s->control_median = score.n ? score.median : (double)NAN;
}

struct validated_summary *validation_summarise(struct validation *v, size_t first,
                                               const char *family, struct arena *arena)
{
    size_t most = v->n - first, n = 0;
    double *measured = arena_alloc(arena, most + 1, sizeof *measured);
    double *value = arena_alloc(arena, most + 1, sizeof *value);
    double *control = arena_alloc(arena, most + 1, sizeof *control);
    struct validated_summary s = {.table = v->rows[first].table,
                                  .family = family ? family : "all"};
    for (size_t i = first; i < v->n; i++) {
        const struct validated *row = &v->rows[i];
        if (family && !text_equal(row->family, family))
            continue;
        s.values++;
        s.agree += row->verdict == VALIDATE_AGREES;
        s.not_predicted += row->verdict == VALIDATE_NOT_PREDICTED;
        measured[n] = isnan(row->measured) ? 0 : row->measured;
        control[n] = row->control;
        value[n++] = row->value;
    }
    s.score = score_of(measured, value, n, arena);
    add_control(&s, measured, control, n, arena);
    v->summaries =
        arena_grow(arena, v->summaries, v->n_summaries, &v->summary_capacity, sizeof s);
    v->summaries[v->n_summaries] = s;
    return &v->summaries[v->n_summaries++];
}

/* ---- kernels and collectives ---- */

static const char control[] = "70 % roofline";

static enum status read_profile(const struct curve_family *family, struct arena *arena,
                                struct profile *profile, struct err *err)
{
    char *path;
    TRY(catalog_find(CATALOG_PROFILE, family->profile, NULL, arena, &path, err));
    return profile_read(path, arena, profile, err);
}

/* The error that the profile states for a family; 0 when it states none. */
static double stated_error(const struct curve_family *family, const struct profile *profile)
{
    const struct constant *c = profile_find(profile, family->of, PROFILE_ERROR, family->path,
                                            family->compute, PROFILE_ANY);
    return c ? profile_value(c, 0, NULL) : 0;
}

static void add_value(const struct curve_table *table, const struct curve_family *family,
                      const struct curve_value *value, const double *constants, double stated,
                      struct arena *arena, struct validation *out)
{
    double s = family->form->seconds(constants, &value->point);
    double control_s = family->form->roofline(&value->point), amount = value->amount;
    struct validated row = {.table = table->name,
                            .row = value->row,
                            .quantity = value->quantity,
                            .family = family->name,
                            .has_error = true,
                            .measured = amount > 0 ? amount / value->seconds : value->seconds,
                            .value = amount > 0 ? amount / s : s,
                            .control = amount > 0 ? amount / control_s : control_s};
    row.published = validation_number(row.measured, arena);
    row.predicted = validation_number(row.value, arena);
    row.error_percent = 100 * (row.value / row.measured - 1);
    row.verdict = fabs(row.error_percent) <= 100 * stated ? VALIDATE_AGREES : VALIDATE_DIFFERS;
    validation_add(out, &row, arena);
}

static enum status add_family(const struct curve_table *table,
                              const struct curve_family *family, struct arena *arena,
                              struct validation *out, struct err *err)
{
    struct profile profile;
    double constants[CURVE_CONSTANTS];
    size_t first = out->n;
    TRY(read_profile(family, arena, &profile, err));
    TRY(curve_constants(family, &profile, constants, err));
    double stated = stated_error(family, &profile);
    for (size_t i = 0; i < family->n; i++)
        add_value(table, family, &table->values[family->values[i]], constants, stated, arena,
                  out);
    struct validated_summary *summary = validation_summarise(out, first, family->name, arena);
    summary->constants = family->form->n_constants;
    summary->control_name = control;
    return STATUS_OK;
}

enum status validate_curves(const struct csv *csv, struct arena *arena, struct validation *out,
                            struct err *err)
{
    struct curve_table table;
    size_t first = out->n, n_constants = 0;
    TRY(curve_read(csv, arena, &table, err));
    for (size_t f = 0; f < table.n_families; f++) {
        TRY(add_family(&table, &table.families[f], arena, out, err));
        n_constants += table.families[f].form->n_constants;
    }
    if (table.n_families > 1) {
        struct validated_summary *all = validation_summarise(out, first, NULL, arena);
        all->constants = n_constants;
        all->control_name = control;
    }
    return STATUS_OK;
}

enum status validate_table(const struct csv *csv, struct arena *arena, struct validation *out,
                           struct err *err)
{
    if (curve_is_table(csv))
        return validate_curves(csv, arena, out, err);
    if (validate_is_runs(csv))
        return validate_runs(csv, arena, out, err);
    err_at(err, STATUS_INPUT, (struct mark){csv->file, 1, 1},
           "these are not the columns of a table of measurements");
    return err_hint(err, "models/README.md describes the tables that are read");
}
