/* Index maps of chunks, blocks and hit experts. */
#include <string.h>

#include "base/checked.h"
#include "exec/kernels/maps.h"

/* ---- chunks (seed-systems.md C2) ---- */

static enum status most_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    (void)err;
    int64_t most = 0;
    for (uint64_t e = 0; e < call->of[ROLE_COUNTS].rows; e++)
        if (tensor_i64(&call->of[ROLE_COUNTS])[e] > most)
            most = tensor_i64(&call->of[ROLE_COUNTS])[e];
    tensor_i64(&call->of[ROLE_DST])[0] = most;
    return STATUS_OK;
}

static enum status rounds_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    TRY(most_run(call, unit, scratch, err));
    int64_t *rounds = tensor_i64(&call->of[ROLE_DST]);
    rounds[0] = (int64_t)ceil_div((uint64_t)rounds[0], call->args.chunk.rows.n);
    return STATUS_OK;
}

/* Round i takes rows i C .. of every expert's queue. */
static enum status chunk_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    (void)err;
    const int64_t *counts = tensor_i64(&call->of[ROLE_COUNTS]);
    int32_t *index = tensor_i32(&call->of[ROLE_INDEX]),
            *home = tensor_i32(&call->of[ROLE_HOME]);
    uint64_t C = call->args.chunk.rows.n, start = 0;
    for (uint64_t e = 0; e < call->of[ROLE_COUNTS].rows; e++) {
        for (uint64_t c = 0; c < C; c++) {
            uint64_t q = call->iteration * C + c;
            bool valid = q < (uint64_t)counts[e];
            home[e * C + c] = valid ? (int32_t)(start + q) : -1;
            index[e * C + c] = valid ? tensor_i32(&call->of[ROLE_ORDER])[start + q] : -1;
        }
        start += (uint64_t)counts[e];
    }
    return STATUS_OK;
}

/* ---- blocks (seed-systems.md B2) ---- */

/* Rows of each local expert, and the first block of each; e + 1 values each. */
struct block_plan {
    int64_t *rows, *first;
};

static struct block_plan plan_blocks(const struct call *call, uint64_t B, void *scratch)
{
    const struct tensor *phys = &call->of[ROLE_PHYS];
    uint64_t e = call->task->sample->local;
    struct block_plan plan = {scratch, (int64_t *)scratch + e + 1};
    memset(scratch, 0, 2 * (e + 1) * sizeof(int64_t));
    for (uint64_t i = 0; i < phys->rows * phys->width; i++) {
        uint64_t expert = (uint64_t)tensor_i32(phys)[i];
        if (expert / e == call->rank)
            plan.rows[expert % e]++;
    }
    for (uint64_t x = 0; x < e; x++)
        plan.first[x + 1] = plan.first[x] + (int64_t)ceil_div((uint64_t)plan.rows[x], B);
    return plan;
}

/* The static ones, and those with rows, as many together as cores take a block each. */
static uint64_t blocks_to_run(const struct call *call, uint64_t valid, uint64_t N)
{
    const struct blocks_args *args = &call->args.blocks;
    uint64_t needed = round_up(valid, args->step.n),
             run = args->always.n > needed ? args->always.n : needed;
    return run < N && args->dynamic ? run : N;
}

/* Blocks without rows belong to the last expert. */
static enum status blocks_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    const struct tensor *phys = &call->of[ROLE_PHYS];
    uint64_t e = call->task->sample->local, N = call->of[ROLE_EXPERT].rows;
    uint64_t B = N ? call->of[ROLE_INDEX].rows / N : 1;
    struct block_plan plan = plan_blocks(call, B, scratch);
    uint64_t valid = (uint64_t)plan.first[e];
    if (valid > N)
        return map_overflow(call, valid * B, N * B, err);
    map_clear(&call->of[ROLE_INDEX]);
    map_clear(&call->of[ROLE_PLACE]);
    for (uint64_t b = 0; b < N; b++) {
        uint64_t x = 0;
        while (x + 1 < e && b >= (uint64_t)plan.first[x + 1])
            x++;
        tensor_i32(&call->of[ROLE_EXPERT])[b] = (int32_t)x;
        tensor_i32(&call->of[ROLE_CONDITIONS])[b] = b < valid;
    }
    memset(plan.rows, 0, e * sizeof *plan.rows);
    for (uint64_t i = 0; i < phys->rows * phys->width; i++) {
        uint64_t expert = (uint64_t)tensor_i32(phys)[i];
        if (expert / e != call->rank)
            continue;
        uint64_t x = expert % e;
        int32_t row = (int32_t)((uint64_t)plan.first[x] * B) + (int32_t)plan.rows[x]++;
        tensor_i32(&call->of[ROLE_PLACE])[i] = row;
        tensor_i32(&call->of[ROLE_INDEX])[row] = (int32_t)i;
    }
    uint64_t run = blocks_to_run(call, valid, N);
    tensor_i64(&call->of[ROLE_RUN])[0] = (int64_t)run;
    tensor_i64(&call->of[ROLE_TRIPS])[0] = (int64_t)ceil_div(run, call->args.blocks.step.n);
    return STATUS_OK;
}

/* ---- tables of all tokens or all hit experts ---- */

static enum status table_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    (void)err;
    const struct tensor *phys = &call->of[ROLE_PHYS];
    uint64_t e = call->task->sample->local, K = phys->width;
    map_clear(&call->of[ROLE_PLACE]);
    map_clear(&call->of[ROLE_INDEX]);
    for (uint64_t i = 0; i < phys->rows * K; i++) {
        uint64_t expert = (uint64_t)tensor_i32(phys)[i];
        if (expert / e != call->rank)
            continue;
        int32_t row = (int32_t)(expert % e * phys->rows + i / K);
        tensor_i32(&call->of[ROLE_PLACE])[i] = row;
        tensor_i32(&call->of[ROLE_INDEX])[row] = (int32_t)i;
    }
    return STATUS_OK;
}

static enum status hits_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    int32_t *hits = tensor_i32(&call->of[ROLE_HITS]), *map = tensor_i32(&call->of[ROLE_MAP]),
            n = 0;
    map_clear(&call->of[ROLE_HITS]);
    for (uint64_t x = 0; x < call->of[ROLE_SIZES].rows; x++) {
        bool hit = tensor_i64(&call->of[ROLE_SIZES])[x] > 0;
        if (hit && (uint64_t)n == call->of[ROLE_HITS].rows)
            return map_overflow(call, (uint64_t)n + 1, call->of[ROLE_HITS].rows, err);
        map[x] = hit ? n : 0;
        if (hit)
            hits[n++] = (int32_t)x;
    }
    return STATUS_OK;
}

static enum status own_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    (void)err;
    const struct tensor *phys = &call->of[ROLE_PHYS];
    uint64_t e = call->task->sample->local, K = phys->width;
    for (uint64_t i = 0; i < phys->rows * K; i++) {
        uint64_t expert = (uint64_t)tensor_i32(phys)[i];
        bool own = expert / e == call->rank;
        tensor_i32(&call->of[ROLE_SLOT])[i] = own ? (int32_t)i : -1;
        tensor_i32(&call->of[ROLE_PLACE])[i] = own ? (int32_t)(i % K) : -1;
        tensor_i32(&call->of[ROLE_HITS])[i] = own ? (int32_t)(expert % e) : -1;
        tensor_i64(&call->of[ROLE_SIZES])[i] = own;
    }
    for (uint64_t k = 0; k <= K; k++)
        tensor_i64(&call->of[ROLE_OFFSETS])[k] = (int64_t)k;
    return STATUS_OK;
}

void kernels_add_blocks(struct kernels *kernels)
{
    kernels->table[KERNEL_MOST] = (struct kernel_ops){NULL, most_run, NULL};
    kernels->table[KERNEL_ROUNDS] = (struct kernel_ops){NULL, rounds_run, NULL};
    kernels->table[KERNEL_CHUNK] = (struct kernel_ops){NULL, chunk_run, NULL};
    kernels->table[KERNEL_BLOCKS] = (struct kernel_ops){NULL, blocks_run, NULL};
    kernels->table[KERNEL_TABLE] = (struct kernel_ops){NULL, table_run, NULL};
    kernels->table[KERNEL_OWN] = (struct kernel_ops){NULL, own_run, NULL};
    kernels->table[KERNEL_HITS] = (struct kernel_ops){NULL, hits_run, NULL};
}
