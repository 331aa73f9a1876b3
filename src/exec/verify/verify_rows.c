/* Comparing rows; see verify_rows.h. */
#include "exec/verify/verify_rows.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "exec/kernels/format.h"
#include "work/list/dtype.h"

static const double *row_at(const struct wanted *wanted, uint64_t row)
{
    return wanted->values + row * (wanted->across ? wanted->across : wanted->width);
}

static double sum_of_squares(const double *values, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += values[i] * values[i];
    return sum;
}

double verify_rms(const struct wanted *wanted)
{
    double sum = 0, n = (double)(wanted->rows * wanted->width);
    for (uint64_t i = 0; i < wanted->rows; i++)
        sum += sum_of_squares(row_at(wanted, i), wanted->width);
    return n > 0 ? sqrt(sum / n) : 0;
}

double verify_size(const struct wanted *wanted, uint64_t row, uint64_t column)
{
    uint64_t of = row / (wanted->alike ? wanted->alike : 1), n = wanted->n_squares;
    return wanted->squares ? sqrt(wanted->squares[of * n + (n > 1 ? column : 0)]) : 0;
}

void verify_look_at(struct worst *worst, double got, double want, double scale, uint64_t row,
                    uint64_t column)
{
    double error = fabs(got - want) / (scale > 0 ? fmax(scale, fabs(want)) : 1);
    if (error <= worst->error)
        return;
    *worst = (struct worst){isnan(error) ? DBL_MAX : error, row, column, got, want};
}

/* `got`: the row as it is stored. */
static void compare_row(enum dtype dtype, const void *got, const struct wanted *wanted,
                        uint64_t i, double all, struct worst *worst)
{
    const double *values = row_at(wanted, i);
    double own = sqrt(sum_of_squares(values, wanted->width) / (double)wanted->width);
    bool exact = !(wanted->tolerance > 0);
    for (uint64_t c = 0; c < wanted->width; c++) {
        float value;
        double want = exact ? (double)format_round(dtype, (float)values[c]) : values[c];
        format_load(dtype, got, c, 1, &value);
        double scale = exact ? 0 : fmax(fmax(all, own), verify_size(wanted, i, c));
        verify_look_at(worst, (double)value, want, scale, i * wanted->step, c);
    }
}

void verify_compare(const struct execution *x, struct checks *checks,
                    const struct rank_state *rank, const struct tensor *tensor,
                    const struct wanted *wanted)
{
    if (!tensor->data || !wanted->values)
        return;
    struct worst worst = {.error = 0};
    double all = verify_rms(wanted);
    uint64_t bytes = dtype_matrix_bytes(tensor->dtype, wanted->width, 1);
    struct arena arena = {0};
    void *row = arena_alloc(&arena, bytes, 1);
    for (uint64_t i = 0; i < wanted->rows; i++) {
        const char *at = (const char *)tensor->data + i * wanted->step * bytes;
        execution_copy(x, at, bytes, row);
        compare_row(tensor->dtype, row, wanted, i, all, &worst);
    }
    arena_release(&arena);
    struct check *check = checks_add(checks, wanted->name, worst.error, wanted->tolerance);
    if (worst.error > wanted->tolerance && check->detail[0] == '\0')
        snprintf(check->detail, sizeof check->detail,
                 "rank %llu, row %llu, column %llu: got %g, wanted %g",
                 (unsigned long long)rank->rank, (unsigned long long)worst.row,
                 (unsigned long long)worst.column, worst.got, worst.wanted);
}

uint64_t verify_hash_rows(const struct execution *x, const struct tensor *out,
                          uint64_t first_token)
{
    uint64_t sum = 0, bytes = tensor_row_bytes(out);
    struct arena arena = {0};
    unsigned char *at = arena_alloc(&arena, bytes, 1);
    for (uint64_t row = 0; row < out->rows; row++) {
        uint64_t hash = HASH_START ^ (first_token + row);
        execution_copy(x, tensor_row(out, row), bytes, at);
        sum += hash_bytes(hash, at, bytes);
    }
    arena_release(&arena);
    return sum;
}

double verify_unit_roundoff(enum dtype dtype)
{
    return dtype == DTYPE_F32 ? 0x1p-24 : dtype == DTYPE_F16 ? 0x1p-11 : 0x1p-8;
}

double verify_least(enum dtype dtype)
{
    return dtype == DTYPE_F16 ? 0x1p-28 : 0;
}
