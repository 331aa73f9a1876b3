/* See train_kernels.h. What one expert of transformers 4's loop launches (4.57,
 * models/qwen3_moe/modeling_qwen3_moe.py, Qwen3MoeSparseMoeBlock.forward), kernels and copies
 * to the host alike, and what torch's autograd does of each (derivatives.yaml).
 *
 * select: the expert's number comes to the host (ModuleList's index), its row of the mask is
 * indexed; torch.where is nonzero (aten cuda/Nonzero.cu: a sum in two, its copy to the host, a
 * selection in two, the indices); the tokens' rows are indexed. accumulate: the scores are
 * indexed and multiplied, index_add_. Its gradient: index_select, both factors and the sum over
 * a row's columns; the scores' index: zeros, index_put_ of two indices and a sum of
 * gradients. index_put_ that accumulates (aten cuda/Indexing.cu, index_put_with_sort_kernel)
 * takes a remainder and a product an index, sums of these, and a quotient, a range, a sort and
 * the sum itself: 6 of one index, 9 of two. */
#include "work/train/train_kernels.h"

#include "base/text.h"
#include "work/path/path.h"

enum { INDEX_PUT = 6, INDEX_PUT_TWO = 9, NONZERO = 6 };

static const struct {
    const char *name;
    uint8_t launches;
} loop[] = {
    {"select", 1 + 1 + NONZERO + 1},
    {"gate_up", 2},    /* two linears */
    {"activation", 2}, /* and a product */
    {"accumulate", 1 + 1 + 1},
    {"accumulate_grad", 1 + 2 + 1 + 1 + INDEX_PUT_TWO + 1},
    {"back_activation", 1 + 2},
    {"wgrad_gate_up", 2},
    {"dgrad_gate_up", 2 + 1},      /* and their sum */
    {"back_to_tokens", INDEX_PUT}, /* zeros and sum are ops of their own */
};

/* Autograd saved what a loop that is performed here computes again. */
static void leave_out(struct work *work, struct op *op)
{
    op->done = DONE_NOWHERE;
    op->host_syncs = size_const(&work->sizes, 0);
}

/* For the expert's number, and for how many rows it has; the forward's are the tick's that
 * waits before a dispatch (train_host_syncs). */
static struct size waits_of(struct work *work, const struct op *op)
{
    return op->phase == PHASE_FORWARD ? size_const(&work->sizes, 0)
                                      : size_times(&work->sizes, op->host_syncs, 2);
}

static bool is_again(const struct op *op)
{
    return op->phase == PHASE_RECOMPUTE && text_ends(op->name, "_again");
}

void train_kernels(const struct plan *plan, struct work *work)
{
    if (plan->workload.mode != MODE_TRAIN || !path_system_of(plan->moe.path)->turns)
        return;
    for (size_t i = 0; i < work->n_ops; i++) {
        struct op *op = &work->ops[i];
        if (!op->loop)
            continue;
        for (size_t j = 0; j < sizeof loop / sizeof *loop; j++)
            if (text_equal(op->name, loop[j].name))
                op->launches = loop[j].launches;
        if (is_again(op))
            leave_out(work, op);
        else if (text_equal(op->name, "select"))
            op->host_syncs = waits_of(work, op);
    }
}
