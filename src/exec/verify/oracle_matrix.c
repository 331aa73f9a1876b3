/* See oracle_matrix.h. */
#include "exec/verify/oracle_matrix.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "exec/kernels/format.h"
#include "work/list/dtype.h"

struct origin {
    const struct inputs *inputs;
    enum fill fill;
    uint64_t number;
};

static void origin_column(const void *context, uint64_t c, uint64_t r0, uint64_t n, float *out)
{
    const struct origin *from = context;
    from->inputs->column(from->inputs, from->fill, from->number, c, r0, n, out);
}

static void load_quantised(struct oracle_matrix *m, enum dtype dtype, const struct origin *from)
{
    struct arena own = {0};
    uint64_t panel = m->rows > 128 * 128 ? m->rows : 128 * 128;
    unsigned char *bytes = arena_alloc(&own, dtype_matrix_bytes(dtype, m->rows, m->columns), 1);
    float *scratch = arena_alloc(&own, panel, sizeof *scratch);
    float *column = arena_alloc(&own, m->rows, sizeof *column);
    struct matrix_source source = {from, origin_column};
    format_encode_matrix(dtype, m->rows, m->columns, &source, scratch, bytes);
    for (uint64_t c = 0; c < m->columns; c++) {
        format_decode_columns(dtype, bytes, m->rows, m->columns, 0, m->rows, c, 1, column);
        if (m->pick)
            m->value[c] = column[m->pick[c]];
        for (uint64_t r = 0; !m->pick && r < m->rows; r++)
            m->value[r * m->columns + c] = column[r];
    }
    arena_release(&own);
}

static void load_plain(struct oracle_matrix *m, enum dtype dtype, const struct origin *from)
{
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        origin_column(from, c, m->pick[c], 1, &m->value[c]);
    for (uint64_t r = 0; !m->pick && r < m->rows; r++)
        from->inputs->row(from->inputs, from->fill, from->number, r, 0, m->columns,
                          m->value + r * m->columns);
    format_round_all(dtype, m->pick ? m->columns : m->rows * m->columns, m->value);
}

void oracle_matrix_load(struct oracle_matrix *m, const struct oracle_setup *setup,
                        enum fill fill, uint64_t number)
{
    struct origin from = {setup->inputs, fill, number};
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        m->pick[c] = inputs_pick(fill, number, c, m->rows);
    if (dtype_is_plain(setup->weight))
        load_plain(m, setup->weight, &from);
    else
        load_quantised(m, setup->weight, &from);
}

struct oracle_matrix oracle_matrix_make(uint64_t rows, uint64_t columns, bool picked,
                                        struct arena *arena)
{
    struct oracle_matrix m = {.rows = rows, .columns = columns};
    if (picked)
        m.pick = arena_alloc(arena, columns, sizeof *m.pick);
    m.value = arena_alloc(arena, picked ? columns : rows * columns, sizeof *m.value);
    return m;
}

struct oracle_matrix oracle_matrix_of(const struct oracle_setup *setup, enum fill fill,
                                      uint64_t rows, uint64_t columns, struct arena *arena)
{
    struct oracle_matrix m = oracle_matrix_make(rows, columns, setup->inputs->picked, arena);
    oracle_matrix_load(&m, setup, fill, 0);
    return m;
}

/* y = x M */
void oracle_times(const struct oracle_matrix *m, const double *x, double *y)
{
    memset(y, 0, m->columns * sizeof *y);
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        y[c] = x[m->pick[c]] * (double)m->value[c];
    for (uint64_t r = 0; !m->pick && r < m->rows; r++)
        for (uint64_t c = 0; c < m->columns; c++)
            y[c] += x[r] * (double)m->value[r * m->columns + c];
}

/* x = M y */
void oracle_times_column(const struct oracle_matrix *m, const double *y, double *x)
{
    memset(x, 0, m->rows * sizeof *x);
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        x[m->pick[c]] += y[c] * (double)m->value[c];
    for (uint64_t r = 0; !m->pick && r < m->rows; r++)
        for (uint64_t c = 0; c < m->columns; c++)
            x[r] += y[c] * (double)m->value[r * m->columns + c];
}

void oracle_squares_least(double *squares, const double *values, uint64_t n, double least)
{
    for (uint64_t i = 0; i < n; i++)
        squares[i] = fmax(squares[i], fmax(values[i] * values[i], least));
}

void oracle_times_squares(const struct oracle_matrix *m, double least, const double *x2,
                          const double *y, double *y2)
{
    memset(y2, 0, m->columns * sizeof *y2);
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        y2[c] = x2[m->pick[c]] * (double)m->value[c] * (double)m->value[c];
    for (uint64_t r = 0; !m->pick && r < m->rows; r++)
        for (uint64_t c = 0; c < m->columns; c++) {
            double value = (double)m->value[r * m->columns + c];
            y2[c] += x2[r] * value * value;
        }
    oracle_squares_least(y2, y, m->columns, least);
}

void oracle_times_column_squares(const struct oracle_matrix *m, double least, const double *y2,
                                 const double *x, double *x2)
{
    memset(x2, 0, m->rows * sizeof *x2);
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        x2[m->pick[c]] += y2[c] * (double)m->value[c] * (double)m->value[c];
    for (uint64_t r = 0; !m->pick && r < m->rows; r++)
        for (uint64_t c = 0; c < m->columns; c++) {
            double value = (double)m->value[r * m->columns + c];
            x2[r] += y2[c] * value * value;
        }
    oracle_squares_least(x2, x, m->rows, least);
}

void oracle_add(double *sum, const double *values, uint64_t n, double factor)
{
    for (uint64_t i = 0; i < n; i++)
        sum[i] += factor * values[i];
}

double oracle_dot(const double *a, const double *b, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

uint64_t oracle_kept_rows(const struct oracle *o, uint64_t rows)
{
    return ceil_div(rows, o->setup.gradient_stride);
}

struct oracle_kept oracle_kept(const struct oracle *o, double *all, uint64_t rows,
                               uint64_t width, uint64_t local)
{
    return (struct oracle_kept){.stride = o->setup.gradient_stride,
                                .sum = all + local * oracle_kept_rows(o, rows) * width};
}

void oracle_outer(const double *a, uint64_t n, const double *b, uint64_t m, double factor,
                  struct oracle_kept kept)
{
    uint64_t at = (kept.first + kept.stride - 1) / kept.stride;
    for (uint64_t i = at * kept.stride - kept.first; i < n; i += kept.stride, at++)
        for (uint64_t j = 0; a[i] != 0 && j < m; j++)
            kept.sum[at * m + j] += factor * a[i] * b[j];
}

void oracle_outer_squares(const double *a2, uint64_t n, const double *b2, uint64_t m,
                          double factor, double *sum)
{
    double mean = 0;
    for (uint64_t i = 0; i < n; i++)
        mean += a2[i] / (double)n;
    oracle_add(sum, b2, m, factor * factor * mean);
}

void oracle_squares_of(const double *values, uint64_t n, double *squares)
{
    for (uint64_t i = 0; i < n; i++)
        squares[i] = values[i] * values[i];
}
