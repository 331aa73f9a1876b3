/* See left_out.h. */
#include "calib/fit/left_out.h"

#include <math.h>
#include <stdbool.h>

#include "base/stat.h"

enum { TENTH = 10 };

/* For 1 to 12 degrees of freedom (variance about zero: one a group). */
static const double student[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943,
                                 1.895, 1.860, 1.833, 1.812, 1.796, 1.782};
enum { STUDENTS = sizeof student / sizeof *student };

double left_out_student(size_t freedom)
{
    const double z =
        STAT_NINETY; /* of more by the first terms of its series about a normal's */
    return freedom <= STUDENTS ? student[freedom - 1]
                               : z + (z * z * z + z) / (4 * (double)freedom);
}

struct left_out_rule left_out_rule_of(size_t n_groups, double known)
{
    return n_groups < LEFT_OUT_FEW ? (struct left_out_rule){LEFT_OUT_STUDENT, known}
                                   : (struct left_out_rule){LEFT_OUT_SHARE, 0};
}

double left_out_error(double told, double measured)
{
    return fmax(told / measured, measured / told) - 1;
}

/* Mean square of the logarithms of a group's factors, of which the largest tenth (whole values)
 * count as the next below: one run that went wrong widens no interval. False: it has none.
 * Scratch for n values. */
static bool mean_square(const double *error, const uint32_t *group, size_t n, uint32_t which,
                        double *scratch, double *square)
{
    struct stat squares = {0};
    size_t n_own = 0;
    for (size_t i = 0; i < n; i++)
        if (group[i] == which && !isnan(error[i]))
            scratch[n_own++] = log1p(error[i]);
    stat_sort(scratch, n_own);
    size_t most = n_own ? n_own - 1 - n_own / TENTH : 0;
    for (size_t i = 0; i < n_own; i++)
        stat_add(&squares, scratch[i < most ? i : most] * scratch[i < most ? i : most]);
    *square = squares.mean;
    return squares.n > 0;
}

static double student_width(const double *error, const uint32_t *group, size_t n,
                            uint32_t without, double known, double *scratch)
{
    double spread = log1p(known) / left_out_student(LEFT_OUT_KNOWN);
    struct stat squares = {0};
    uint32_t last = 0;
    double square;
    for (size_t i = 0; i < n; i++)
        last = group[i] > last ? group[i] : last;
    for (uint32_t g = 0; n && g <= last; g++)
        if (g != without && mean_square(error, group, n, g, scratch, &square))
            stat_add(&squares, square);
    for (unsigned i = 0; known > 0 && i < LEFT_OUT_KNOWN; i++)
        stat_add(&squares, spread * spread);
    if (!squares.n)
        return (double)NAN;
    return expm1(left_out_student(squares.n) * sqrt(squares.mean));
}

/* Of n > 0 sorted values the share (n + 1)-th. */
static double order_statistic(const double *sorted, size_t n, double share)
{
    double at = share * (double)(n + 1) - 1;
    if (at >= (double)(n - 1))
        return sorted[n - 1];
    size_t below = (size_t)at;
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double left_out_width(const double *error, const uint32_t *group, size_t n, uint32_t without,
                      struct left_out_rule rule, struct arena *arena)
{
    double *kept = arena_alloc(arena, n + 1, sizeof *kept);
    size_t n_kept = 0;
    if (rule.share <= LEFT_OUT_STUDENT)
        return student_width(error, group, n, without, rule.known, kept);
    for (size_t i = 0; i < n; i++)
        if (group[i] != without && !isnan(error[i]))
            kept[n_kept++] = error[i];
    stat_sort(kept, n_kept);
    return n_kept ? order_statistic(kept, n_kept, rule.share) : (double)NAN;
}

void left_out_open(struct left_out_pairs *pairs, const uint32_t *group, size_t n,
                   size_t n_groups, struct arena *arena)
{
    *pairs = (struct left_out_pairs){arena_alloc(arena, n_groups + 1, sizeof *pairs->error),
                                     group, n, n_groups};
    for (size_t g = 0; g < n_groups; g++) {
        pairs->error[g] = arena_alloc(arena, n + 1, sizeof *pairs->error[g]);
        for (size_t i = 0; i < n; i++)
            pairs->error[g][i] = (double)NAN;
    }
}

double left_out_held(const struct left_out_pairs *pairs, const double *error,
                     struct left_out_rule rule, struct arena *arena)
{
    size_t counted = 0, held = 0;
    for (uint32_t g = 0; g < pairs->n_groups; g++) {
        double width = left_out_width(pairs->error[g], pairs->group, pairs->n, g, rule, arena);
        for (size_t i = 0; i < pairs->n; i++) {
            bool counts = pairs->group[i] == g && !isnan(error[i]) && !isnan(width);
            counted += counts;
            held += counts && error[i] <= width;
        }
    }
    return counted && pairs->n_groups > 2 ? (double)held / (double)counted : (double)NAN;
}
