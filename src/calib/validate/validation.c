/* See validation.h. */
#include "calib/validate/validation.h"

#include <math.h>

#include "base/stat.h"
#include "base/text.h"

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

/* Half the width of what agrees with a prediction, as a part of the middle: 100 (f - 1) of
 * value / f to value x f. */
static double half_width(const struct validated *row)
{
    return row->low > 0 ? 100 * (sqrt(row->high / row->low) - 1) : (double)NAN;
}

static double median_width(double *widths, size_t n)
{
    stat_sort(widths, n);
    return n ? stat_percentile(widths, n, 0.5) : (double)NAN;
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
    size_t most = v->n - first, n = 0, n_widths = 0;
    double *widths = arena_alloc(arena, most + 1, sizeof *widths);
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
        if (row->low > 0)
            widths[n_widths++] = half_width(row);
        s.agree += row->verdict == VALIDATE_AGREES;
        s.not_predicted += row->verdict == VALIDATE_NOT_PREDICTED;
        measured[n] = isnan(row->measured) ? 0 : row->measured;
        control[n] = row->control;
        value[n++] = row->value;
    }
    s.score = score_of(measured, value, n, arena);
    s.width_percent = median_width(widths, n_widths);
    add_control(&s, measured, control, n, arena);
    v->summaries =
        arena_grow(arena, v->summaries, v->n_summaries, &v->summary_capacity, sizeof s);
    v->summaries[v->n_summaries] = s;
    return &v->summaries[v->n_summaries++];
}
