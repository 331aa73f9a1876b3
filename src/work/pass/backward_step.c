/* Gradients of ops that stand in a step's list alone, which no host performs; see backward.h.
 */
#include "work/pass/backward.h"

enum { MOST_OPERANDS = 8 };

static void add_operand(struct operand *operands, unsigned *n, bool read, uint16_t buffer)
{
    operands[*n] = (struct operand){ROLE_RESULT, (uint8_t)*n, read, !read, buffer};
    ++*n;
}

/* Kernels whose gradient is one op: it, whether it reads the inputs again, and its FLOP over
 * the forward's. */
static const struct {
    uint16_t kernel;
    bool inputs;
    uint8_t flop_times;
} plain[KERNEL_COUNT] = {
    [KERNEL_NORM] = {KERNEL_NORM_GRAD, true, 0}, /* in a step's list */
    [KERNEL_ROPE] = {KERNEL_ROPE_GRAD, false, 0},
    [KERNEL_ATTENTION] = {KERNEL_ATTENTION_GRAD, true, 2}, /* four products for two */
    [KERNEL_CONVOLUTION] = {KERNEL_CONVOLUTION_GRAD, true, 2},
    [KERNEL_SCAN] = {KERNEL_SCAN_GRAD, true, 2},
};

/* Gradients of all that an op read, from those of what it wrote. */
void backward_plain_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    struct operand operands[3 * MOST_OPERANDS + 1];
    uint16_t from[MOST_OPERANDS], gradient[MOST_OPERANDS];
    unsigned n = 0, n_gradients = 0;
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct operand *o = &op_operands(l->work, op)[i];
        if (o->written && b->grad[o->buffer] != WORK_NONE)
            add_operand(operands, &n, true, b->grad[o->buffer]);
    }
    if (!n)
        return;
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct operand o = op_operands(l->work, op)[i];
        if (!o.read)
            continue;
        if (plain[op->kernel].inputs)
            add_operand(operands, &n, true, o.buffer);
        if (l->work->buffers[o.buffer].dtype == DTYPE_I32) /* places have no gradient */
            continue;
        from[n_gradients] = o.buffer;
        gradient[n_gradients] = backward_buffer(b, o.buffer, "");
        add_operand(operands, &n, false, gradient[n_gradients]);
        n_gradients++;
    }
    operands[n] = (struct operand){.role = ROLE_COUNT};
    struct op back = {.name = backward_named(b, "back_", op),
                      .kernel = plain[op->kernel].kernel,
                      .flop = size_times(l->z, op->flop, plain[op->kernel].flop_times)};
    layer_op(l, back, operands);
    for (unsigned i = 0; i < n_gradients; i++)
        backward_arrive(b, from[i], gradient[i]);
}

/* The table's gradient: a row added per token. */
void backward_embed_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d == WORK_NONE || !backward_trains(b, op))
        return;
    uint16_t dtable = backward_weight(b, backward_of(b, op, ROLE_WEIGHT));
    layer_op(
        l, (struct op){.name = backward_named(b, "back_", op), .kernel = KERNEL_EMBED_GRAD},
        OPERANDS(IN(D_DST, d), IN(IDS, backward_of(b, op, ROLE_IDS)), OUT(D_WEIGHT, dtable)));
}

/* A sum's gradient is gathered, a gathered array's is summed and scattered. An all-reduce hands
 * its gradient on; where its sum began, at the network's input, gradients are all-reduced: the
 * same bytes, counted here. A ring carries the gradients of what it carried beside that. */
void backward_collective_rule(struct backward *b, const struct op *op)
{
    static const uint8_t dual[] = {[ALL_REDUCE] = ALL_REDUCE,
                                   [ALL_GATHER] = REDUCE_SCATTER,
                                   [REDUCE_SCATTER] = ALL_GATHER,
                                   [RING] = RING};
    struct layer *l = b->l;
    uint8_t how = op->args.collective.how;
    uint16_t d = backward_arrived(b, op, ROLE_DST), src = backward_of(b, op, ROLE_SRC);
    struct op again = *op;
    again.name = backward_named(b, "regather_", op);
    again.args.collective.regather = 0;
    if (op->args.collective.regather)
        layer_op(l, again, OPERANDS(IN(SRC, src), OUT(DST, backward_of(b, op, ROLE_DST))));
    if (d == WORK_NONE)
        return;
    uint16_t dsrc = backward_buffer(b, src, "");
    struct size sent = how == RING ? size_times(l->z, op->bytes_sent, 2) : op->bytes_sent;
    layer_op(l,
             (struct op){.name = backward_named(b, "back_", op),
                         .kernel = KERNEL_COLLECTIVE,
                         .args.collective = {.how = dual[how]},
                         .group = op->group,
                         .bytes_sent = sent,
                         .bytes_received = sent},
             OPERANDS(IN(SRC, d), OUT(DST, dsrc)));
    backward_arrive(b, src, dsrc);
}
