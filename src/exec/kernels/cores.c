/* The cores of a rank at the blocks of path blockwise: every core's share of a trip is units of
 * its own, and reads nothing of the other core's but in core_sum (seed-systems.md B3, B4). */
#include <string.h>

#include "exec/kernels/format.h"
#include "exec/kernels/gemm_tile.h"
#include "work/list/dtype.h"

enum { PIECE = 256 };

/* ---- deal ---- */

/* The block of a core in a trip, or -1; block < 0 before the first trip. */
static int64_t block_of(const struct call *call, int64_t core, int64_t trip)
{
    int64_t run = tensor_i64(&call->of[ROLE_RUN])[0], n = (int64_t)call->of[ROLE_BLOCK].rows;
    bool own = n > 1 && !(call->args.deal.split);
    int64_t first = 0, end = run, step = 1;
    if (own && call->args.deal.halves) {
        int64_t half = run - run / 2;
        first = core * half;
        end = core == 0 ? half : run;
    } else if (own) {
        first = core;
        step = n;
    }
    int64_t block = first + trip * step;
    return trip >= 0 && block < end ? block : -1;
}

static enum status deal_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    (void)err;
    const int32_t *expert = tensor_i32(&call->of[ROLE_EXPERT]);
    int64_t trip = (int64_t)call->iteration, B = (int64_t)call->args.deal.rows.n;
    for (int64_t c = 0; c < (int64_t)call->of[ROLE_BLOCK].rows; c++) {
        int64_t block = block_of(call, c, trip), before = block_of(call, c, trip - 1);
        bool held = call->args.deal.skip && before >= 0 && block >= 0 &&
                    expert[before] == expert[block];
        tensor_i32(&call->of[ROLE_BLOCK])[c] = (int32_t)block;
        tensor_i32(&call->of[ROLE_NUMBER])[c] = block < 0 ? -1 : expert[block];
        tensor_i32(&call->of[ROLE_FETCH])[c] = block >= 0 && !held;
        tensor_i64(&call->of[ROLE_SIZES])[c] = block < 0 ? 0 : B;
        tensor_i64(&call->of[ROLE_OFFSETS])[c + 1] = (c + 1) * B;
    }
    tensor_i64(&call->of[ROLE_OFFSETS])[0] = 0;
    return STATUS_OK;
}

/* Cores that act in a trip; those that share a block are one. */
static uint64_t acting(const struct tensor *map, int32_t least, bool split)
{
    uint64_t n = 0;
    for (uint64_t c = 0; c < map->rows; c++)
        n += tensor_i32(map)[c] >= least;
    return split ? n / map->rows : n;
}

static void deal_count(const struct call *call, struct counts *counts)
{
    counts->blocks = acting(&call->of[ROLE_BLOCK], 0, call->args.deal.split);
}

/* ---- fetch ---- */

/* A core's part of a matrix: rows from `row`, columns from `column` of every panel. */
struct part {
    struct matrix from;
    uint64_t rows, columns;               /* of the part; columns of one panel */
    uint64_t panels, row, column, across; /* across: columns of a whole panel */
    bool none;                            /* nothing: the other core has all of it */
};

static struct part part_of(const struct call *call, uint64_t core)
{
    const struct tensor *w = &call->of[ROLE_WEIGHT], *operand = &call->of[ROLE_DST];
    uint64_t number = (uint64_t)tensor_i32(&call->of[ROLE_NUMBER])[core];
    uint64_t panels = call->args.fetch.panels.n;
    bool matrix = w->n_dims == 3;
    struct matrix from = {tensor_row(w, number), w->dtype, 1, w->width};
    if (matrix)
        from = tile_matrix(w, number);
    uint64_t rows = matrix ? operand->dims[1] : 1, columns = operand->dims[matrix ? 2 : 1];
    bool halved = rows < from.k || columns < from.n;
    return (struct part){.from = from,
                         .rows = rows,
                         .columns = columns / panels,
                         .panels = panels,
                         .row = rows < from.k ? core * rows : 0,
                         .column = columns < from.n ? core * columns / panels : 0,
                         .across = from.n / panels,
                         .none = call->args.fetch.split && !halved && core > 0};
}

/* Rows [r0, r0 + n) of one panel of the part, into `to` with rows `ld` apart. */
static void fetch_panel(const struct part *part, uint64_t panel, uint64_t r0, uint64_t n,
                        float *to, uint64_t ld, float *scratch)
{
    const struct matrix *from = &part->from;
    uint64_t row = part->row + r0, column = panel * part->across + part->column;
    if (dtype_is_plain(from->dtype)) {
        for (uint64_t r = 0; r < n; r++)
            format_load(from->dtype, from->data, (row + r) * from->n + column, part->columns,
                        to + r * ld);
        return;
    }
    for (uint64_t c = 0; c < part->columns; c += PIECE) {
        uint64_t wide = part->columns - c < PIECE ? part->columns - c : PIECE;
        format_decode_columns(from->dtype, from->data, from->k, from->n, row, n, column + c,
                              wide, scratch);
        for (uint64_t j = 0; j < wide; j++)
            for (uint64_t r = 0; r < n; r++)
                to[r * ld + c + j] = scratch[j * n + r];
    }
}

/* Rows of one core's operand: a matrix's, or the one row of a bias. */
static uint64_t operand_rows(const struct call *call)
{
    return call->of[ROLE_DST].n_dims == 3 ? call->of[ROLE_DST].dims[1] : 1;
}

static uint64_t fetch_units(const struct call *call)
{
    return call->of[ROLE_DST].rows * kernel_row_units(operand_rows(call));
}

static enum status fetch_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)err;
    uint64_t rows = operand_rows(call), units = kernel_row_units(rows), begin, end;
    uint64_t core = unit / units, ld = call->of[ROLE_DST].width / rows;
    if (tensor_i32(&call->of[ROLE_FETCH])[core] <= 0)
        return STATUS_OK; /* what the core holds is what it needs */
    struct part part = part_of(call, core);
    kernel_rows_of(unit % units, rows, &begin, &end);
    float *to = tensor_f32(&call->of[ROLE_DST]) + core * call->of[ROLE_DST].width + begin * ld;
    if (part.none)
        memset(to, 0, (end - begin) * ld * sizeof *to);
    for (uint64_t p = 0; p < part.panels && !part.none; p++)
        fetch_panel(&part, p, begin, end - begin, to + p * part.columns, ld, scratch);
    return STATUS_OK;
}

static void fetch_count(const struct call *call, struct counts *counts)
{
    const struct tensor *fetch = &call->of[ROLE_FETCH];
    uint64_t elements = 0;
    for (uint64_t c = 0; c < fetch->rows; c++) {
        if (tensor_i32(fetch)[c] <= 0)
            continue;
        struct part part = part_of(call, c);
        elements += part.none ? 0 : part.rows * part.columns * part.panels;
    }
    counts->loads = acting(fetch, 1, call->args.fetch.split);
    counts->fetched =
        elements * tensor_row_bytes(&call->of[ROLE_WEIGHT]) / call->of[ROLE_WEIGHT].width;
}

/* ---- load_block ---- */

static int32_t *block_index(const struct call *call, const struct tensor *index,
                            const struct tensor *block, uint64_t core)
{
    int32_t number = tensor_i32(block)[core];
    return number < 0 ? NULL : tensor_i32(index) + (uint64_t)number * call->args.block.rows.n;
}

/* Units of one core, and of all. */
static uint64_t rows_units(const struct call *call)
{
    return kernel_row_units(call->args.block.rows.n);
}

static uint64_t load_units(const struct call *call)
{
    return call->of[ROLE_BLOCK].rows * rows_units(call);
}

static enum status load_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    const struct tensor *src = &call->of[ROLE_SRC], *dst = &call->of[ROLE_DST],
                        *gates = &call->of[ROLE_GATES];
    uint64_t core = unit / rows_units(call), begin, end, zero = src->rows - 1;
    const int32_t *index =
        block_index(call, &call->of[ROLE_INDEX], &call->of[ROLE_BLOCK], core);
    size_t bytes = tensor_row_bytes(dst);
    size_t skip = bytes < tensor_row_bytes(src) ? core * bytes : 0;
    kernel_rows_of(unit % rows_units(call), call->args.block.rows.n, &begin, &end);
    for (uint64_t i = begin; index && i < end; i++) {
        char *to = tensor_row(dst, core * call->args.block.rows.n + i);
        uint64_t row = index[i] < 0 ? zero : (uint64_t)index[i] / call->args.block.top_k.n;
        if (index[i] < 0 && call->args.block.skip)
            memset(to, 0, bytes);
        else
            memcpy(to, tensor_row(src, row) + skip, bytes);
        if (gates->present && index[i] >= 0)
            tensor_scale_row(dst, core * call->args.block.rows.n + i,
                             tensor_f32(gates)[index[i]], dst,
                             core * call->args.block.rows.n + i);
    }
    return STATUS_OK;
}

static void load_count(const struct call *call, struct counts *counts)
{
    uint64_t rows = 0;
    bool skip = call->args.block.skip;
    for (uint64_t c = 0; c < call->of[ROLE_BLOCK].rows; c++) {
        const int32_t *index =
            block_index(call, &call->of[ROLE_INDEX], &call->of[ROLE_BLOCK], c);
        for (uint64_t i = 0; index && i < call->args.block.rows.n; i++)
            rows += !skip || index[i] >= 0;
    }
    counts->fetched = rows * tensor_row_bytes(&call->of[ROLE_DST]);
    counts->loads = call->args.block.split ? rows / call->of[ROLE_BLOCK].rows : rows;
}

/* ---- core_sum ---- */

enum { CORES = 2 };

/* What a core adds up: columns from `column` of both partial sums, `width` of them. */
struct share {
    uint64_t column, width;
    uint64_t row, to_column; /* of the result */
};

static uint64_t sum_rows(const struct call *call)
{
    return call->of[ROLE_SRC].rows / CORES;
}

static struct share share_of(const struct call *call, uint64_t core)
{
    const struct tensor *sum = &call->of[ROLE_DST];
    uint64_t m = sum_rows(call), n = call->of[ROLE_SRC].width;
    bool apart = sum->rows > m, whole = apart && sum->width == n;
    uint64_t width = whole ? n : n / CORES, column = whole ? 0 : core * width;
    return (struct share){column, width, apart ? core * m : 0, apart ? 0 : column};
}

static uint64_t sum_units(const struct call *call)
{
    return CORES * kernel_row_units(sum_rows(call));
}

static enum status sum_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    const struct tensor *partial = &call->of[ROLE_SRC];
    uint64_t m = sum_rows(call), units = kernel_row_units(m), core = unit / units, begin, end;
    struct share share = share_of(call, core);
    kernel_rows_of(unit % units, m, &begin, &end);
    for (uint64_t r = begin; r < end; r++) {
        for (uint64_t c = 0; c < share.width; c += PIECE) {
            uint64_t n = share.width - c < PIECE ? share.width - c : PIECE;
            float own[PIECE], other[PIECE];
            tensor_load(partial, core * m + r, share.column + c, n, own);
            tensor_load(partial, (1 - core) * m + r, share.column + c, n, other);
            for (uint64_t i = 0; i < n; i++)
                own[i] += other[i];
            tensor_store(&call->of[ROLE_DST], share.row + r, share.to_column + c, n, own);
        }
    }
    return STATUS_OK;
}

static void sum_count(const struct call *call, struct counts *counts)
{
    for (uint64_t core = 0; core < CORES; core++)
        counts->crossed += sum_rows(call) * share_of(call, core).width * sizeof(float);
}

/* ---- add_block ---- */

static uint64_t add_units(const struct call *call)
{
    return call->of[ROLE_BLOCK].rows * rows_units(call);
}

static enum status add_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    const struct tensor *y = &call->of[ROLE_SRC], *gates = &call->of[ROLE_GATES],
                        *sum = &call->of[ROLE_DST];
    uint64_t core = unit / rows_units(call), begin, end;
    const int32_t *index =
        block_index(call, &call->of[ROLE_INDEX], &call->of[ROLE_BLOCK], core);
    uint64_t first =
        sum->rows > call->args.block.tokens.n ? core * call->args.block.tokens.n : 0;
    uint64_t column = y->width < sum->width ? core * y->width : 0;
    kernel_rows_of(unit % rows_units(call), call->args.block.rows.n, &begin, &end);
    for (uint64_t i = begin; index && i < end; i++) {
        if (index[i] < 0)
            continue;
        uint64_t slot = (uint64_t)index[i];
        float gate = gates->present ? tensor_f32(gates)[slot] : 1, piece[PIECE];
        float *to =
            tensor_f32(sum) + (first + slot / call->args.block.top_k.n) * sum->width + column;
        for (uint64_t c = 0; c < y->width; c += PIECE) {
            uint64_t n = y->width - c < PIECE ? y->width - c : PIECE;
            tensor_load(y, core * call->args.block.rows.n + i, c, n, piece);
            for (uint64_t j = 0; j < n; j++)
                to[c + j] += gate * piece[j];
        }
    }
    return STATUS_OK;
}

void kernels_add_cores(struct kernels *kernels)
{
    kernels->table[KERNEL_DEAL] = (struct kernel_ops){NULL, deal_run, deal_count};
    kernels->table[KERNEL_FETCH] = (struct kernel_ops){fetch_units, fetch_run, fetch_count};
    kernels->table[KERNEL_LOAD_BLOCK] = (struct kernel_ops){load_units, load_run, load_count};
    kernels->table[KERNEL_CORE_SUM] = (struct kernel_ops){sum_units, sum_run, sum_count};
    kernels->table[KERNEL_ADD_BLOCK] = (struct kernel_ops){add_units, add_run, NULL};
}
