/* See verify_sent.h. */
#include "exec/verify/verify_sent.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "exec/absent/absent.h"

static const char *const names[ABSENT_ROWS][2] = {
    [ABSENT_TOKENS] = {"random: sent x", "integers: sent x"},
    [ABSENT_OUTPUTS] = {"random: sent y", "integers: sent y"},
    [ABSENT_GRADIENTS] = {"random: sent d_out", "integers: sent d_out"},
    [ABSENT_X_GRADIENTS] = {"random: sent d_x", "integers: sent d_x"},
    [ABSENT_GATES] = {"random: sent gates", "integers: sent gates"},
    [ABSENT_GATE_GRADIENTS] = {"random: sent d_gates", "integers: sent d_gates"},
};

/* Rows to one rank are alike, and so are their errors: both grow with their number, and means
 * are compared. */
struct comparison {
    const struct oracle_sent *wanted;
    const double *got;
    uint64_t rank, n_ranks;
    bool exact;   /* the same bits are wanted */
    double scale; /* of all means */
    double error, found, want;
    uint64_t to, column;
};

static double mean(const struct oracle_sent *wanted, const double *sums, uint64_t to,
                   uint64_t column)
{
    double rows = wanted->rows[to] ? (double)wanted->rows[to] : 1;
    return sums[to * wanted->width + column] / rows;
}

/* The n-th rank behind this one. */
static uint64_t receiver(const struct comparison *c, uint64_t n)
{
    return (c->rank + n) % c->n_ranks;
}

/* The rms of the means. */
static double scale_of(const struct comparison *c)
{
    double squares = 0, n = 0;
    for (uint64_t i = 1; i < c->n_ranks; i += c->wanted->stride) {
        uint64_t to = receiver(c, i);
        for (uint64_t column = 0; column < c->wanted->width; column++) {
            double want = mean(c->wanted, c->wanted->sum, to, column);
            squares += want * want;
            n += c->wanted->rows[to] > 0;
        }
    }
    return squares > 0 ? sqrt(squares / n) : 0;
}

static void compare_rank(struct comparison *c, uint64_t to)
{
    const struct oracle_sent *wanted = c->wanted;
    for (uint64_t i = 0; i < wanted->width; i++) {
        double want = mean(wanted, wanted->sum, to, i), got = mean(wanted, c->got, to, i);
        double size = wanted->sizes ? mean(wanted, wanted->sizes, to, i) : 0;
        double scale = c->exact ? 1 : fmax(fmax(c->scale, size), fabs(want));
        double error = fabs(got - want) / (scale > 0 ? scale : 1);
        if (error <= c->error)
            continue;
        c->error = isnan(error) ? DBL_MAX : error;
        c->to = to;
        c->column = i;
        c->found = got;
        c->want = want;
    }
}

static void compare(const struct comparison *first, const char *name, double tolerance,
                    struct checks *checks)
{
    struct comparison c = *first;
    c.exact = !(tolerance > 0);
    c.scale = scale_of(&c);
    for (uint64_t n = 1; n < c.n_ranks; n += c.wanted->stride)
        compare_rank(&c, receiver(&c, n));
    struct check *check = checks_add(checks, name, c.error, tolerance);
    if (c.error > tolerance && check->detail[0] == '\0')
        snprintf(check->detail, sizeof check->detail,
                 "mean of rows to rank %llu, column %llu: got %g, wanted %g",
                 (unsigned long long)c.to, (unsigned long long)c.column, c.found, c.want);
}

void verify_sent(const struct execution *x, const struct oracle *oracle, bool integers,
                 double tolerance, struct checks *checks)
{
    for (unsigned which = 0; which < ABSENT_ROWS; which++) {
        const struct oracle_sent *wanted = &oracle->sent[which];
        const struct absent_sent *sent = absent_sent(x, (enum absent_row)which);
        struct comparison c = {.wanted = wanted,
                               .got = sent->sum,
                               .rank = oracle->setup.first_rank,
                               .n_ranks = oracle->setup.sample->R};
        const char *name = names[which][integers];
        if (wanted->sum && sent->sum && sent->width == wanted->width)
            compare(&c, name, tolerance, checks);
        else if (wanted->sum)
            checks_add(checks, name, DBL_MAX, tolerance);
    }
}
