/* See owners.h. */
#include "support/owners.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/csv.h"
#include "base/number.h"
#include "base/text.h"

static const char path[] = "tests/data/owners.csv",
                  header[] = "owner,layouts,megatron,megatron-assumed\n";

static double real_at(const struct csv *csv, size_t row, const char *column)
{
    double value;
    return number_real(csv_cell(csv, row, column), &value) ? value : (double)NAN;
}

static bool read_file(struct owners *o, const char *file, struct arena *arena)
{
    struct err err = {0};
    struct csv csv;
    *o = (struct owners){.n = 0};
    if (csv_read(file, arena, &csv, &err) || csv.n_rows > OWNERS_MOST)
        return false;
    for (size_t row = 0; row < csv.n_rows; row++, o->n++) {
        o->name[o->n] = csv_cell(&csv, row, "owner");
        o->layouts[o->n] = (size_t)real_at(&csv, row, "layouts");
        o->spread[0][o->n] = real_at(&csv, row, "megatron");
        o->spread[1][o->n] = real_at(&csv, row, "megatron-assumed");
    }
    return true;
}

void owners_read(struct owners *owners, struct arena *arena)
{
    if (read_file(owners, path, arena))
        return;
    fprintf(stderr, "%s cannot be read\n", path);
    exit(1);
}

/* ---- what was found ---- */

static bool same(const struct owners *one, const struct owners *other)
{
    bool alike = one->n == other->n;
    for (size_t i = 0; i < one->n && alike; i++) {
        alike =
            text_equal(one->name[i], other->name[i]) && one->layouts[i] == other->layouts[i];
        for (unsigned prior = 0; prior < OWNERS_PRIORS; prior++)
            alike = alike && fabs(log(one->spread[prior][i] / other->spread[prior][i])) < 0.02;
    }
    return alike;
}

static void print(const struct owners *o, FILE *out)
{
    fputs(header, out);
    for (size_t i = 0; i < o->n; i++)
        fprintf(out, "\"%s\",%zu,%.4f,%.4f\n", o->name[i], o->layouts[i], o->spread[0][i],
                o->spread[1][i]);
}

bool owners_say(const struct owners *found, const char *root, struct arena *arena)
{
    const char *file = arena_join(arena, root, path);
    struct owners said;
    if (read_file(&said, file, arena) && same(found, &said))
        return true;
    FILE *out = getenv("MOEPLAN_REWRITE") ? fopen(file, "w") : NULL;
    if (!out)
        fprintf(stderr, "%s: found\n", path);
    print(found, out ? out : stderr);
    return out && fclose(out) == 0;
}

/* ---- how they differ ---- */

static double likelihood_at(const struct owners *o, unsigned prior, size_t without,
                            double freedom, double scale)
{
    double sum = 0;
    for (size_t i = 0; i < o->n; i++) {
        double n = (double)o->layouts[i], ratio = o->spread[prior][i] / scale;
        if (i != without)
            sum += lgamma((freedom + n) / 2) - lgamma(freedom / 2) -
                   n / 2 * log(freedom * scale * scale) -
                   (freedom + n) / 2 * log1p(n * ratio * ratio / freedom);
    }
    return sum;
}

double owners_likelihood(const struct owners *owners, unsigned prior, size_t without,
                         double freedom)
{
    double best = -HUGE_VAL;
    for (double scale = 0.01; scale < 2; scale *= 1.01)
        best = fmax(best, likelihood_at(owners, prior, without, freedom, scale));
    return best;
}
