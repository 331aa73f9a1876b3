/* Peaks and what is missing from them; see calibrate_memory.h. */
#include "calib/fit/calibrate_memory.h"

#include <math.h>

#include "base/number.h"
#include "base/stat.h"
#include "base/text.h"
#include "calib/table/printed_unit.h"
#include "calib/table/quantity.h"
#include "plan/data/published.h"
#include "plan/schema/schema.h"
#include "sim/answer/predict.h"

/* What a term can be: a category of buffers, or the same bytes in every run. */
enum { FIXED = CATEGORY_COUNT, TERMS };

/* Bytes of every term in one run. */
struct shape {
    double bytes[TERMS];
};

struct reading {
    const struct csv *csv;
    const struct published_sets *sets;
    struct arena *arena;
    struct memory_calibration *out;
    struct shape *shapes; /* [n] */
    struct prediction *first;
};

static bool is_peak(const struct csv *csv, size_t row)
{
    const char *quantity = csv_cell(csv, row, "quantity");
    return text_starts(quantity, "memory.") && text_ends(quantity, "_bytes");
}

bool calibrate_is_memory(const struct csv *csv)
{
    if (!published_is_runs(csv))
        return false;
    for (size_t row = 0; row < csv->n_rows; row++)
        if (is_peak(csv, row))
            return true;
    return false;
}

/* One quantity is calibrated: what torch allocated where the table has it, else the first. */
static const char *calibrated_quantity(const struct csv *csv)
{
    const char *first = NULL;
    for (size_t row = 0; row < csv->n_rows; row++) {
        const char *quantity = csv_cell(csv, row, "quantity");
        if (text_equal(quantity, "memory.allocated_bytes"))
            return quantity;
        if (!first && is_peak(csv, row))
            first = quantity;
    }
    return first;
}

/* ---- reading ---- */

static enum status read_measured(const struct csv *csv, size_t row, double *bytes,
                                 struct err *err)
{
    const char *unit = csv_cell(csv, row, "unit"), *text = csv_cell(csv, row, "published");
    double scale = printed_unit(unit ? unit : "");
    if (!number_real(text, bytes) || !(*bytes > 0) || !(scale > 0))
        return err_at(err, (struct mark){csv->file, csv->lines[row], 1},
                      "'%s%s%s' are no bytes", text, unit && unit[0] ? " " : "",
                      unit ? unit : "");
    *bytes *= scale;
    return STATUS_OK;
}

static void keep_shape(const struct prediction *prediction, struct shape *shape)
{
    const struct memory_report *memory = &prediction->memory;
    *shape = (struct shape){0};
    for (unsigned c = 0; c < memory->n_categories; c++)
        shape->bytes[memory->categories[c].category] = (double)memory->categories[c].bytes;
    shape->bytes[FIXED] = 1;
}

static enum status read_row(struct reading *r, size_t row, const char *stack, struct err *err)
{
    struct memory_calibration *out = r->out;
    struct plan *plan = arena_alloc(r->arena, 1, sizeof *plan);
    struct prediction *prediction = arena_alloc(r->arena, 1, sizeof *prediction);
    const struct predict_options options = {.memory_only = true};
    const struct mark mark = {r->csv->file, r->csv->lines[row], 1};
    struct peak_value v = {.row = csv_cell(r->csv, row, "row"),
                           .quantity = csv_cell(r->csv, row, "quantity")};
    TRY(published_plan_with(r->csv, row, r->sets, r->arena, plan, err));
    const char *name = words_stack[plan->stack.kind];
    if (stack && !text_equal(name, stack))
        return STATUS_OK;
    if (out->n && !text_equal(name, out->stack)) {
        err_at(err, mark, "this run is of stack '%s', those before it of '%s'", name,
               out->stack);
        return err_hint(err, "choose one with --stack");
    }
    if (predict(plan, &options, r->arena, prediction, err) != STATUS_OK)
        return err_place(err, mark);
    TRY(read_measured(r->csv, row, &v.measured, err));
    const struct quantity *quantity = quantity_find(v.quantity);
    if (!quantity)
        return STATUS_OK;
    v.predicted = quantity_of(quantity, prediction);
    v.temp_bytes = fmax((double)prediction->memory.temp_bytes, 1);
    v.off = (v.measured - v.predicted) / v.temp_bytes;
    out->stack = name;
    out->stated = plan->stack.error;
    if (out->n == 0)
        r->first = prediction;
    keep_shape(prediction, &r->shapes[out->n]);
    out->values[out->n++] = v;
    return STATUS_OK;
}

/* ---- how wide ---- */

/* 95 % quantile of Student's t with n > 0 degrees of freedom. */
static double student(size_t n)
{
    static const double table[] = {6.314, 2.920, 2.353, 2.132, 2.015,
                                   1.943, 1.895, 1.860, 1.833, 1.812};
    enum { KNOWN = sizeof table / sizeof *table };
    return n <= KNOWN ? table[n - 1] : 1.645 + 1.67 / (double)n;
}

/* One more run lies within bias -+ t sd sqrt(1 + 1/n), nine times of ten. */
static void measure_width(struct memory_calibration *out)
{
    struct stat off = {0};
    for (size_t i = 0; i < out->n; i++)
        stat_add(&off, out->values[i].off);
    double n = (double)out->n, sd = out->n > 1 ? sqrt(off.m2 / (n - 1)) : 0;
    out->bias = off.mean;
    out->error = out->n > 1 ? fabs(off.mean) + student(out->n - 1) * sd * sqrt(1 + 1 / n)
                            : fmax(out->stated, fabs(off.mean));
}

/* ---- what is off ---- */

/* The largest buffer of a category that is alive at the peak. */
static const struct buffer_report *largest(const struct prediction *prediction,
                                           enum category category)
{
    const struct buffer_report *found = NULL;
    for (size_t i = 0; i < prediction->memory.n_buffers; i++) {
        const struct buffer_report *b = &prediction->memory.buffers[i];
        if (b->at_peak && b->category == category && (!found || b->bytes > found->bytes))
            found = b;
    }
    return found;
}

/* Least squares of what is missing on one term alone: the factor beyond one, and how much of
 * the squared differences it takes away. */
static struct peak_term fit_term(const struct reading *r, unsigned term)
{
    double product = 0, square = 0, all = 0, left = 0;
    for (size_t i = 0; i < r->out->n; i++) {
        double missing = r->out->values[i].measured - r->out->values[i].predicted;
        product += missing * r->shapes[i].bytes[term];
        square += r->shapes[i].bytes[term] * r->shapes[i].bytes[term];
        all += missing * missing;
    }
    double more = square > 0 ? product / square : 0;
    for (size_t i = 0; i < r->out->n; i++) {
        double missing = r->out->values[i].measured - r->out->values[i].predicted;
        left += pow(missing - more * r->shapes[i].bytes[term], 2);
    }
    struct peak_term out = {.factor = term == FIXED ? more : 1 + more,
                            .explained = all > 0 ? 1 - left / all : 0};
    if (term == FIXED) {
        out.category = "the same bytes in every run";
        return out;
    }
    const struct buffer_report *buffer = largest(r->first, (enum category)term);
    out.category = category_name((enum category)term);
    out.largest = buffer ? buffer->name : NULL;
    out.formula = buffer ? buffer->formula : NULL;
    return out;
}

/* The terms that explain most, best first; none that takes less than nothing. */
static void find_terms(const struct reading *r)
{
    struct memory_calibration *out = r->out;
    for (unsigned t = 0; t < TERMS; t++) {
        struct peak_term term = fit_term(r, t);
        if (!(term.explained > 0.01) || (t != FIXED && term.factor < 0))
            continue;
        size_t at = out->n_terms < PEAK_TERMS ? out->n_terms++ : PEAK_TERMS - 1;
        if (at == PEAK_TERMS - 1 && out->terms[at].explained > term.explained)
            continue;
        for (; at > 0 && out->terms[at - 1].explained < term.explained; at--)
            out->terms[at] = out->terms[at - 1];
        out->terms[at] = term;
    }
}

enum status calibrate_memory(const struct csv *csv, const char *stack,
                             const struct published_sets *sets, struct arena *arena,
                             struct memory_calibration *out, struct err *err)
{
    struct reading r = {.csv = csv, .sets = sets, .arena = arena, .out = out};
    *out = (struct memory_calibration){0};
    out->values = arena_alloc(arena, csv->n_rows + 1, sizeof *out->values);
    r.shapes = arena_alloc(arena, csv->n_rows + 1, sizeof *r.shapes);
    const char *quantity = calibrated_quantity(csv);
    for (size_t row = 0; quantity && row < csv->n_rows; row++)
        if (text_equal(csv_cell(csv, row, "quantity"), quantity))
            TRY(read_row(&r, row, stack, err));
    if (out->n == 0)
        return err_set(err, STATUS_INPUT, "no run of this table is of stack '%s'",
                       stack ? stack : "");
    double *measured = arena_alloc(arena, out->n, sizeof *measured);
    double *predicted = arena_alloc(arena, out->n, sizeof *predicted);
    for (size_t i = 0; i < out->n; i++) {
        measured[i] = out->values[i].measured;
        predicted[i] = out->values[i].predicted;
    }
    out->score = score_of(measured, predicted, out->n, arena);
    measure_width(out);
    find_terms(&r);
    return STATUS_OK;
}
