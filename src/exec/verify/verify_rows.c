/* Comparing rows; see verify_rows.h. */
#include "exec/verify/verify_rows.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "exec/kernels/format.h"

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

double verify_scale(const struct wanted *wanted)
{
    double sum = 0, n = (double)(wanted->rows * wanted->width);
    for (uint64_t i = 0; i < wanted->rows; i++)
        sum += sum_of_squares(row_at(wanted, i), wanted->width);
    double scale = fmax(n > 0 ? sqrt(sum / n) : 0, wanted->least);
    return scale > 0 ? scale : 1;
}

void verify_look_at(struct worst *worst, double got, double want, double scale, uint64_t row,
                    uint64_t column)
{
    double error = fabs(got - want) / (scale > 0 ? fmax(scale, fabs(want)) : 1);
    if (error <= worst->error)
        return;
    *worst = (struct worst){isnan(error) ? DBL_MAX : error, row, column, got, want};
}

static void compare_row(const struct tensor *tensor, const struct wanted *wanted, uint64_t i,
                        double all, struct worst *worst)
{
    const double *values = row_at(wanted, i);
    double own = sqrt(sum_of_squares(values, wanted->width) / (double)wanted->width);
    bool exact = !(wanted->tolerance > 0);
    for (uint64_t c = 0; c < wanted->width; c++) {
        float got;
        uint64_t row = i * wanted->step;
        double want = exact ? (double)format_round(tensor->dtype, (float)values[c]) : values[c];
        format_load(tensor->dtype, tensor->data, row * wanted->width + c, 1, &got);
        verify_look_at(worst, (double)got, want, exact ? 0 : fmax(all, own), row, c);
    }
}

void verify_compare(struct checks *checks, const struct rank_state *rank,
                    const struct tensor *tensor, const struct wanted *wanted)
{
    if (!tensor->data || !wanted->values)
        return;
    struct worst worst = {.error = 0};
    double all = verify_scale(wanted);
    for (uint64_t i = 0; i < wanted->rows; i++)
        compare_row(tensor, wanted, i, all, &worst);
    struct check *check = checks_add(checks, wanted->name, worst.error, wanted->tolerance);
    if (worst.error > wanted->tolerance && check->detail[0] == '\0')
        snprintf(check->detail, sizeof check->detail,
                 "rank %llu, row %llu, column %llu: got %g, wanted %g",
                 (unsigned long long)rank->rank, (unsigned long long)worst.row,
                 (unsigned long long)worst.column, worst.got, worst.wanted);
}

uint64_t verify_hash_rows(const struct tensor *out, uint64_t first_token)
{
    uint64_t sum = 0, bytes = tensor_row_bytes(out);
    for (uint64_t row = 0; row < out->rows; row++) {
        uint64_t hash = 0xcbf29ce484222325U ^ (first_token + row);
        const unsigned char *at = (const unsigned char *)tensor_row(out, row);
        for (uint64_t i = 0; i < bytes; i++)
            hash = (hash ^ at[i]) * 0x100000001b3U;
        sum += hash;
    }
    return sum;
}

double verify_unit_roundoff(enum dtype dtype)
{
    return dtype == DTYPE_F32 ? 0x1p-24 : dtype == DTYPE_F16 ? 0x1p-11 : 0x1p-8;
}
