/* Rows of a frontier's CSV: one column per axis, then the verdict and its bytes. */
#ifndef MOEPLAN_CLI_FRONTIER_CSV_H
#define MOEPLAN_CLI_FRONTIER_CSV_H

#include "base/text.h"
#include "lib/axis.h"
#include "sim/search/sweep.h"

/* What a row needs besides its point; constant while the sweep runs. */
struct frontier_csv {
    size_t n_axes;
    const char **labels[SWEEP_AXES]; /* CSV fields, quoted where they must be */
    /* set by the caller: fill tokens_per_s_per_device, as predict has it, of points of this
     * plan, its profile and routing; NULL: empty */
    const struct plan *timed;
    const struct profile *profile;
    const struct routing_data *routing; /* or NULL */
};

/* Prepares the labels. Memory from the arena. */
void frontier_csv_init(struct frontier_csv *csv, const struct axis *axes, size_t n_axes,
                       struct arena *arena);

/* The text as one CSV field; itself where it needs no quotes. */
const char *frontier_csv_quote(const char *text, struct arena *arena);

/* The header line. */
void frontier_csv_header(const struct axis *axes, size_t n_axes, struct text *out);

/* Bytes that no row exceeds. */
size_t frontier_csv_room(const struct frontier_csv *csv, const struct axis *axes);

/* A sweep_speed; context is a struct frontier_csv that is timed. */
double frontier_csv_speed(const void *context, const struct plan *plan,
                          const struct evaluation *result, bool most);

/* A sweep_row; context is a struct frontier_csv. Points that break a rule have the verdict
 * `invalid`, no bytes, and the reason in the last column, `why`. */
size_t frontier_csv_row(const void *context, const size_t indices[SWEEP_AXES],
                        const struct plan *plan, const struct evaluation *result, char *out,
                        size_t room);

#endif
