/* Comparing rows; see verify_rows.h. */
#include "exec/verify_rows.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "exec/format.h"

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

static double root_mean(double sum, uint64_t n)
{
    return n && sum > 0 ? sqrt(sum / (double)n) : 1;
}

double verify_rms(const double *values, uint64_t n)
{
    return root_mean(sum_of_squares(values, n), n);
}

double verify_scale(const struct wanted *wanted)
{
    double sum = 0;
    if (wanted->scale > 0)
        return wanted->scale;
    for (uint64_t i = 0; i < wanted->rows; i++)
        sum += sum_of_squares(row_at(wanted, i), wanted->width);
    return root_mean(sum, wanted->rows * wanted->width);
}

void verify_look_at(struct worst *worst, double got, double want, uint64_t row, uint64_t column)
{
    double error = fabs(got - want);
    if (error <= worst->error)
        return;
    *worst = (struct worst){isnan(error) ? DBL_MAX : error, row, column, got, want};
}

static struct worst compare_rows(const struct tensor *tensor, const struct wanted *wanted)
{
    struct worst worst = {.error = 0};
    for (uint64_t i = 0; i < wanted->rows; i++) {
        for (uint64_t c = 0; c < wanted->width; c++) {
            float got;
            uint64_t row = i * wanted->step;
            format_load(tensor->dtype, tensor->data, row * wanted->width + c, 1, &got);
            verify_look_at(&worst, (double)got, row_at(wanted, i)[c], row, c);
        }
    }
    return worst;
}

void verify_compare(struct checks *checks, const struct rank_state *rank,
                    const struct tensor *tensor, const struct wanted *wanted)
{
    if (!tensor->data || !wanted->values)
        return;
    struct worst worst = compare_rows(tensor, wanted);
    double error = wanted->tolerance > 0 ? worst.error / verify_scale(wanted) : worst.error;
    struct check *check = checks_add(checks, wanted->name, error, wanted->tolerance);
    if (error > wanted->tolerance && check->detail[0] == '\0')
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
