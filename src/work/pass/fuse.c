/* See fuse.h. */
#include "work/pass/fuse.h"

#include "work/list/traffic.h"

static bool same_groups(const struct work *work, const struct op *product,
                        const struct op *activation)
{
    const struct rows_args *a = &product->args.gemm.rows,
                           *b = &activation->args.activation.rows;
    uint16_t offsets = op_buffer(work, product, ROLE_OFFSETS);
    bool alike =
        offsets == op_buffer(work, activation, ROLE_OFFSETS) &&
        op_buffer(work, product, ROLE_SIZES) == op_buffer(work, activation, ROLE_SIZES) &&
        a->turn == b->turn && a->parts == b->parts;
    return alike && (!a->shared || offsets == WORK_NONE);
}

/* The op behind `at` that is the activation of the rows it writes, and touches them first;
 * n_ops: there is none. */
static size_t activation_of(const struct work *work, size_t at)
{
    const struct op *product = &work->ops[at];
    uint16_t rows = op_buffer(work, product, ROLE_DST);
    for (size_t i = at + 1; i < work->n_ops; i++) {
        const struct op *op = &work->ops[i];
        if (!op_reads(work, op, rows) && !op_writes(work, op, rows))
            continue;
        bool takes = op->kernel == KERNEL_ACTIVATION && op->phase == product->phase &&
                     op->loop == product->loop && !op->args.activation.gelu &&
                     op_buffer(work, op, ROLE_SRC) == rows;
        return takes && same_groups(work, product, op) ? i : work->n_ops;
    }
    return work->n_ops;
}

/* Whether what op `at` wrote there is read behind it. */
static bool is_read_later(const struct work *work, size_t at, uint16_t buffer)
{
    for (size_t i = at + 1; i < work->n_ops; i++) {
        if (op_reads(work, &work->ops[i], buffer))
            return true;
        if (op_writes(work, &work->ops[i], buffer))
            return false;
    }
    return false;
}

static void remove_op(struct work *work, size_t at)
{
    for (size_t i = at + 1; i < work->n_ops; i++)
        work->ops[i - 1] = work->ops[i];
    work->n_ops--;
}

/* The product at `at` takes over the activation at `behind`. */
static void fuse(struct work *work, size_t at, size_t behind)
{
    struct op op = work->ops[at], activation = work->ops[behind];
    uint16_t rows = op_buffer(work, &op, ROLE_DST),
             gated = op_buffer(work, &activation, ROLE_DST);
    bool kept = is_read_later(work, behind, rows);
    op.name = arena_join(work->arena, op.name, "_activation");
    op.kernel = KERNEL_GATED_GEMM;
    work_operands(work, &op,
                  OPERANDS(IN(SRC, op_buffer(work, &op, ROLE_SRC)),
                           IN(WEIGHT, op_buffer(work, &op, ROLE_WEIGHT)),
                           IN(OFFSETS, op_buffer(work, &op, ROLE_OFFSETS)),
                           IN(SIZES, op_buffer(work, &op, ROLE_SIZES)),
                           IN(MAP, op_buffer(work, &op, ROLE_MAP)),
                           IN(BIAS, op_buffer(work, &op, ROLE_BIAS)), OUT(DST, gated),
                           OUT(OTHER, kept ? rows : WORK_NONE)));
    traffic_set(work, &op);
    work->ops[at] = op;
    remove_op(work, behind);
}

void fuse_activations(struct work *work)
{
    for (size_t i = 0; i < work->n_ops; i++) {
        bool multiplies = work->ops[i].kernel == KERNEL_GEMM;
        size_t activation = multiplies ? activation_of(work, i) : work->n_ops;
        if (activation < work->n_ops)
            fuse(work, i, activation);
    }
}
