/* How long a framework without habits of its own holds the tensors of a layer.
 *
 * A builder lists them and the ticks of the forward that read and write them, in order. From
 * these flow_close derives lives, what backward needs, what is recomputed, and the ticks of
 * both, by one rule per kind of op: a product needs its inputs for the weight gradient, an
 * activation its input, a move only its index tables. Nothing here is priced or performed: what
 * the layer computes and sends are the ops of its path (work/path). */
#ifndef MOEPLAN_WORK_PASS_FLOW_H
#define MOEPLAN_WORK_PASS_FLOW_H

#include "work/list/work.h"

enum { FLOW_TENSORS = 96, FLOW_OPS = 48, FLOW_OPERANDS = 8, FLOW_SCRATCH = 16 };

/* In which passes a scratch tensor is needed. */
enum flow_pass { FLOW_FORWARD = 1, FLOW_BACKWARD = 2 };

/* What becomes of what backward needs. Names are buffer names. */
struct flow_style {
    bool backward;           /* training; otherwise only forward */
    bool recompute;          /* the forward runs again before backward: nothing is saved */
    const char *const *keep; /* saved even under recompute; NULL ends the list; or NULL */
    const char *const
        *dropped; /* not saved: recomputed by its own op just before it is needed */
};

struct flow {
    struct work *work;
    enum segment segment;
    uint16_t tensors[FLOW_TENSORS]; /* buffer numbers */
    bool gradient[FLOW_TENSORS];    /* has a gradient of its own shape in backward */
    bool given[FLOW_TENSORS];       /* made before the flow; its life is not the flow's */
    uint8_t n_tensors;
    struct flow_step {
        uint16_t tick;                                        /* of the forward */
        uint16_t reads[FLOW_OPERANDS], writes[FLOW_OPERANDS]; /* buffers, WORK_NONE ends */
    } steps[FLOW_OPS];
    uint8_t n_steps;
    struct {
        uint16_t buffer;
        uint8_t step, passes;
    } scratch[FLOW_SCRATCH];
    uint8_t n_scratch;
};

/* Numbers of a list written in place: flow_op(flow, tick, FLOW(a, b), FLOW(c)). */
#define FLOW(...)                                                                              \
    (unsigned)(sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t)), (uint16_t[])             \
    {                                                                                          \
        __VA_ARGS__                                                                            \
    }

void flow_init(struct flow *flow, struct work *work, enum segment segment);

/* Adds a buffer as a tensor of the layer; its life, first and last are set by flow_close.
 * `gradient`: it has one. Returns the buffer number. */
uint16_t flow_tensor(struct flow *flow, struct buffer buffer, bool gradient);

/* Takes a buffer that exists already, as input of the flow or a heap its ops use; its life
 * stays as it is. */
void flow_given(struct flow *flow, uint16_t buffer, bool gradient);

/* Adds a tick of the forward and the buffers it touches. WORK_NONE in a list is skipped. */
uint16_t flow_op(struct flow *flow, struct tick tick, unsigned n_reads, const uint16_t *reads,
                 unsigned n_writes, const uint16_t *writes);

/* A buffer that only the tick added last needs, in these passes (enum flow_pass).
 */
void flow_scratch(struct flow *flow, struct buffer buffer, unsigned passes);

/* Ends the forward: sets all lives and, with style.backward, adds the ticks of recomputation
 * and backward and the gradients ("d_" before the tensor's name). */
void flow_close(struct flow *flow, const struct flow_style *style);

#endif
