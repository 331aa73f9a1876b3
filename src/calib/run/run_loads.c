/* See run_loads.h. */
#include "calib/run/run_loads.h"

#include <string.h>

#include "calib/run/run_compare.h"
#include "work/path/path.h"
#include "work/piece/block_loop.h"

/* Experts of a rank that some token chose, and the rows that chose them. */
static void choices(const struct layer_sample *s, uint64_t rank, uint64_t *experts,
                    uint64_t *rows)
{
    *experts = *rows = 0;
    for (uint64_t e = 0; e < s->local; e++) {
        uint64_t n = 0;
        for (uint64_t source = 0; source < s->R; source++)
            n += s->rows[(source * s->R + rank) * s->local + e];
        *experts += n > 0;
        *rows += n;
    }
}

/* Matrices that path selective picks: each once, or one for every token that chose it. */
static uint64_t picks(const struct plan *plan, const struct layer_sample *s, uint64_t rank)
{
    uint64_t experts, rows;
    choices(s, rank, &experts, &rows);
    return plan->moe.dedup ? experts : rows;
}

void run_loads_predict(const struct plan *plan, const struct layer_sample *sample,
                       uint64_t first_rank, uint64_t n_ranks, struct run_loads *loads)
{
    const struct path_system *path = path_system_of(plan->moe.path);
    *loads = (struct run_loads){0};
    for (uint64_t i = 0; sample && i < n_ranks; i++) {
        struct block_loop blocks = {0};
        if (path->blocks)
            block_loop_of(plan, sample, first_rank + i, &blocks);
        if (path->loads == LOADS_CHOICES)
            blocks.weight_loads = picks(plan, sample, first_rank + i);
        loads->blocks_provisioned += blocks.provisioned;
        loads->blocks_valid += blocks.valid;
        loads->blocks_executed += blocks.executed;
        loads->weight_loads += blocks.weight_loads;
        loads->token_rows += blocks.token_rows;
    }
}

/* Whether an op fetches weights; of an expert's matrices the first stands for all. */
static bool fetches_weights(const struct op *op)
{
    return op->kernel == KERNEL_FETCH || op->kernel == KERNEL_PICK;
}

void run_loads_count(const struct execution *x, struct run_loads *loads)
{
    memset(&loads->counted, 0, sizeof loads->counted);
    for (uint64_t i = 0; i < x->n_ranks; i++) {
        bool first = true;
        for (size_t o = 0; o < x->work->n_ops; o++) {
            const struct op *op = &x->work->ops[o];
            const struct op_counts *counts = &x->ranks[i].counts[o];
            loads->counted.blocks_executed += counts->blocks;
            loads->counted.core_bytes += counts->crossed;
            if (fetches_weights(op)) {
                loads->counted.weight_loads += first ? counts->loads : 0;
                loads->counted.weight_bytes += counts->fetched;
                first = false;
            } else {
                loads->counted.token_rows += counts->loads;
                loads->counted.token_bytes += counts->fetched;
            }
        }
    }
}

enum status run_loads_join(struct run_loads *loads, struct transport *transport,
                           struct err *err)
{
    uint64_t sums[sizeof *loads / sizeof(uint64_t)];
    memcpy(sums, loads, sizeof sums);
    TRY(transport->ops->sum(transport, sums, sizeof sums / sizeof *sums, err));
    memcpy(loads, sums, sizeof sums);
    return STATUS_OK;
}

/* What an op's kernel must have counted on a rank. */
static bool expected(const struct execution *x, const struct op *op, uint64_t rank,
                     struct counts *counts)
{
    const struct plan *plan = x->task.plan;
    struct block_loop blocks = {0};
    *counts = (struct counts){.fetched = x->ranks[rank].values[op->bytes_read.node]};
    if (op->kernel == KERNEL_PICK) {
        counts->loads = picks(plan, x->task.sample, x->ranks[rank].rank);
        return true;
    }
    bool of_cores = op->kernel == KERNEL_DEAL || op->kernel == KERNEL_FETCH ||
                    op->kernel == KERNEL_LOAD_BLOCK || op->kernel == KERNEL_CORE_SUM;
    if (!of_cores)
        return false;
    block_loop_of(plan, x->task.sample, x->ranks[rank].rank, &blocks);
    if (op->kernel == KERNEL_DEAL) /* its bytes are index tables */
        *counts = (struct counts){.blocks = blocks.executed};
    if (op->kernel == KERNEL_FETCH)
        counts->loads = blocks.weight_loads;
    if (op->kernel == KERNEL_LOAD_BLOCK)
        counts->loads = blocks.token_rows;
    if (op->kernel == KERNEL_CORE_SUM)
        *counts = (struct counts){.crossed = blocks.crossed_bytes};
    return true;
}

void run_loads_compare(const struct execution *x, struct checks *checks)
{
    for (uint64_t i = 0; i < x->n_ranks; i++) {
        for (size_t o = 0; o < x->work->n_ops; o++) {
            const struct op *op = &x->work->ops[o];
            const struct op_counts *got = &x->ranks[i].counts[o];
            uint64_t rank = x->ranks[i].rank;
            struct counts want;
            if (!expected(x, op, i, &want))
                continue;
            run_compare_count(checks, "counted: blocks", op, rank, got->blocks, want.blocks);
            run_compare_count(checks, "counted: loads", op, rank, got->loads, want.loads);
            run_compare_count(checks, "counted: bytes fetched", op, rank, got->fetched,
                              want.fetched);
            run_compare_count(checks, "counted: bytes between cores", op, rank, got->crossed,
                              want.crossed);
        }
    }
}
