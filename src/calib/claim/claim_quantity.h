/* The quantities that claims are made about: a name in the table, and the function of sim and
 * work behind it. */
#ifndef MOEPLAN_CALIB_CLAIM_CLAIM_QUANTITY_H
#define MOEPLAN_CALIB_CLAIM_CLAIM_QUANTITY_H

#include "calib/claim/claim_call.h"
#include "calib/claim/claim_value.h"

typedef struct claim_answer claim_function(struct claim_call *call);

struct claim_quantity {
    const char *name;
    claim_function *compute;
    enum claim_basis basis; /* of an answer that is no bound; mostly a prediction */
};

/* By topic; each list ends with a NULL name. */
extern const struct claim_quantity claim_plain[];   /* arithmetic on printed figures: that is
                                                       the basis of all of them */
extern const struct claim_quantity claim_memory[];  /* plans: verdicts, bytes, buffers */
extern const struct claim_quantity claim_routing[]; /* rows, padding, rates (seed 001) */
extern const struct claim_quantity claim_blocks[];  /* blocks and weight loads (seed 002) */
extern const struct claim_quantity claim_neuron[];  /* router, intensity, decode (seed 002) */
extern const struct claim_quantity claim_mesh[];    /* chunks and collectives (seed 003) */
extern const struct claim_quantity claim_time[];    /* seconds and rates of plans */

/* The quantity of this name, or NULL with the nearest name in *nearest (which may be NULL). */
const struct claim_quantity *claim_quantity_find(const char *name, const char **nearest);

/* Answers. */
static inline struct claim_answer claim_is(double number)
{
    return (struct claim_answer){.kind = CLAIM_NUMBER, .number = number};
}

static inline struct claim_answer claim_at_least(double number)
{
    return (struct claim_answer){.kind = CLAIM_AT_LEAST, .number = number};
}

static inline struct claim_answer claim_at_most(double number)
{
    return (struct claim_answer){.kind = CLAIM_AT_MOST, .number = number};
}

static inline struct claim_answer claim_says(const char *text)
{
    return (struct claim_answer){.kind = CLAIM_WORDS, .text = text};
}

#endif
