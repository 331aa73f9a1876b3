/* See inputs_matmul.h. */
#include "exec/verify/inputs_matmul.h"

enum { LARGEST_SUM = 256, LARGEST_X = 2, MOST_PARTS = 64 };

/* The largest divisor of n up to `most`. */
static uint64_t divisor(uint64_t n, uint64_t most)
{
    uint64_t d = n < most ? n : most;
    while (n % d)
        d--;
    return d;
}

static void integer_row(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t row,
                        uint64_t c, uint64_t n, float *out)
{
    const struct inputs_matmul *context = inputs->context;
    struct inputs part; /* one of the layer's matrices */
    inputs_integers(&part, &context->shape, inputs->seed);
    uint64_t each = fill == FILL_W2 ? context->shape.inter : context->shape.hidden;
    if (fill == FILL_W13 || fill == FILL_W2)
        part.row(&part, fill, row / each, row % each, c, n, out);
    else
        part.row(&part, fill, a, row, c, n, out);
}

void inputs_matmul_integers(struct inputs *inputs, struct inputs_matmul *context,
                            const struct plan *plan, uint64_t seed)
{
    uint64_t out = divisor(plan->parallel.tp, MOST_PARTS);
    uint64_t in = divisor(plan->parallel.tp, LARGEST_SUM / LARGEST_X / out);
    context->shape = (struct inputs_shape){.hidden = plan->model.hidden / in,
                                           .inter = plan->model.dense_intermediate / out};
    *inputs = (struct inputs){.name = "integers",
                              .seed = seed,
                              .context = context,
                              .row = integer_row,
                              .linear = true,
                              .picked = true};
}

void inputs_matmul_random(struct inputs *inputs, struct inputs_matmul *context,
                          const struct plan *plan, uint64_t seed)
{
    context->shape = (struct inputs_shape){.hidden = plan->model.hidden,
                                           .inter = plan->model.dense_intermediate};
    inputs_random(inputs, &context->shape, seed);
}
