/* The backward as one transformation of the forward's ops: walked from the last to the first,
 * every kernel has a rule that adds the ops of its gradient. Loops are walked as a whole: their
 * body is recomputed inside the backward loop. */
#ifndef MOEPLAN_WORK_PASS_BACKWARD_H
#define MOEPLAN_WORK_PASS_BACKWARD_H

#include "work/layer/layer.h"

struct backward {
    struct layer *l;
    uint16_t *grad;          /* gradient of a forward buffer, WORK_NONE: none has arrived */
    uint16_t *clone;         /* in a loop: the buffer that holds a recomputed forward buffer */
    uint16_t *outside;       /* in a loop: the sum over its trips, of buffers from outside */
    size_t n_buffers, n_ops; /* of the forward */
    bool in_loop;
    const struct op *body; /* forward ops of the loop at hand, or those of its twin */
    size_t n_body;
};

/* A forward op's buffer in a role, or WORK_NONE. */
uint16_t backward_of(const struct backward *b, const struct op *op, enum role role);

/* The buffer that a backward op reads in place of a forward buffer: its recomputed copy in a
 * loop, itself otherwise; WORK_NONE stays. */
uint16_t backward_value(const struct backward *b, uint16_t buffer);

/* A buffer for the gradient of a forward buffer: same shape; rows packed for the wire
 * have that of activations. `suffix` tells copies apart, "" mostly. */
uint16_t backward_buffer(struct backward *b, uint16_t of, const char *suffix);

/* A contribution to a gradient: the gradient, or added to the one that is there. */
void backward_arrive(struct backward *b, uint16_t of, uint16_t contribution);

/* Whether the weight of a product has a gradient: adapters alone where all else is frozen, what
 * is of no frozen part. */
bool backward_trains(const struct backward *b, const struct op *op);

/* The gradient of a weight, of its shape and the gradients' dtype; made at first use. */
uint16_t backward_weight(struct backward *b, uint16_t weight);

/* The gradient of a result, or WORK_NONE when nothing flows back through it. */
uint16_t backward_arrived(const struct backward *b, const struct op *op, enum role result);

/* The name of a backward op: that of the forward's behind a prefix. */
const char *backward_named(const struct backward *b, const char *prefix, const struct op *op);

/* Adds the gradient ops of one forward op; those of a step's list alone: backward_step.c. */
void backward_rule(struct backward *b, const struct op *op);
void backward_plain_rule(struct backward *b, const struct op *op);
void backward_embed_rule(struct backward *b, const struct op *op);
void backward_collective_rule(struct backward *b, const struct op *op);

/* Adds the backward of a loop of n forward ops. */
void backward_loop(struct backward *b, const struct op *body, size_t n);

#endif
