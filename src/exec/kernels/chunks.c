/* Kernels of collective matmuls: a rank's part of a matrix, and chunks added as they arrive. */
#include "exec/kernels/format.h"
#include "exec/kernels/kernel.h"
#include "work/piece/schedule.h"

enum { PIECE = 256 };

/* ---- shard ---- */

static uint64_t shard_rows(const struct tensor *out)
{
    return out->n_dims == 3 ? out->dims[0] * out->dims[1] : out->dims[0];
}

static uint64_t shard_units(const struct call *call)
{
    return kernel_row_units(shard_rows(&call->of[ROLE_DST]));
}

/* Matrix g of the rank's rows holds the g-th part of the columns, of its columns the g-th part
 * of the rows: both in the order of the whole matrix. */
static void shard_row(const struct call *call, uint64_t number)
{
    const struct tensor *out = &call->of[ROLE_DST];
    const struct inputs *inputs = call->task->inputs;
    uint64_t n = out->dims[out->n_dims - 1], rows = out->n_dims == 3 ? out->dims[1] : number;
    bool by_rows = call->args.shard.by_rows;
    uint64_t row = by_rows ? call->rank * rows + number % rows : number;
    uint64_t column = call->args.shard.first.n + (by_rows ? number / rows : call->rank) * n;
    enum fill fill = (enum fill)call->args.shard.fill;
    float piece[PIECE];
    for (uint64_t c = 0; c < n; c += PIECE) {
        uint64_t count = n - c < PIECE ? n - c : PIECE;
        inputs->row(inputs, fill, 0, row, column + c, count, piece);
        format_store(out->dtype, out->data, number * n + c, count, piece);
    }
}

static enum status shard_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end;
    kernel_rows_of(unit, shard_rows(&call->of[ROLE_DST]), &begin, &end);
    for (uint64_t row = begin; row < end; row++)
        shard_row(call, row);
    return STATUS_OK;
}

/* ---- add_chunks ---- */

static struct hop hop_of(const struct call *call)
{
    const struct hop_args *args = &call->args.hop;
    return schedule_hop((enum schedule)args->schedule, call->rank,
                        args->first.n + call->iteration, args->ranks.n);
}

/* The array in rows of what arrives. */
static struct tensor array_of(const struct call *call)
{
    struct tensor array = call->of[ROLE_DST];
    array.rows = array.rows * array.width / call->of[ROLE_SRC].width;
    array.width = call->of[ROLE_SRC].width;
    return array;
}

static uint64_t chunk_rows(const struct call *call)
{
    return array_of(call).rows / call->args.hop.ranks.n;
}

static uint64_t add_units(const struct call *call)
{
    return kernel_row_units(hop_of(call).chunks * chunk_rows(call));
}

static enum status add_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    struct hop hop = hop_of(call);
    struct tensor array = array_of(call);
    uint64_t rows = chunk_rows(call), begin, end;
    kernel_rows_of(unit, hop.chunks * rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++)
        kernel_add_row(&call->of[ROLE_SRC], row, &array, hop.received * rows + row, &array);
    return STATUS_OK;
}

void kernels_add_chunks(struct kernels *kernels)
{
    kernels->table[KERNEL_SHARD] = (struct kernel_ops){shard_units, shard_run, NULL};
    kernels->table[KERNEL_ADD_CHUNKS] = (struct kernel_ops){add_units, add_run, NULL};
}
