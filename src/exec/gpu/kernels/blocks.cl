/* Path blockwise: blocks of one local expert each, and what the cores of a rank do with them.
 */

/* ---- blocks: cut as other maps are (maps.cl) ---- */

DEVICE struct tally blocks_tally(const struct gpu_call *call, const struct memory *memory)
{
    TENSOR(phys, 0);
    return tally_of(call, memory, BINS_LOCAL, phys, phys.rows * phys.width);
}

DEVICE void blocks_begin(const struct gpu_call *call, const struct memory *memory)
{
    TENSOR(index, 2);
    TENSOR(place, 3);
    fill_map(index, -1);
    fill_map(place, -1);
}

KERNEL(blocks_count, 256, 0)
{
    const struct tally t = blocks_tally(call, memory);
    blocks_begin(call, memory);
    tally_clear(&t);
    tally_add(&t);
}

/* Whose blocks are; those without rows belong to the last expert. By the first group, whose
 * counts are where experts begin. */
DEVICE void name_blocks(const struct gpu_call *call, const struct memory *memory,
                        const struct tally *t, gpu_u64 B, gpu_u64 valid)
{
    TENSOR(expert, 1);
    TENSOR(conditions, 4);
    for (gpu_u32 x = ITEM; x < t->bins; x += ITEMS) {
        gpu_u64 first = (gpu_u64)*tally_at(t, x) / B;
        gpu_u64 end = first + aligned(t->totals[x], (gpu_u32)B) / B;
        for (gpu_u64 b = first; b < end; b++) {
            I32(expert)[b] = (gpu_i32)x;
            I32(conditions)[b] = 1;
        }
    }
    for (gpu_u64 b = valid + ITEM; b < expert.rows; b += ITEMS) {
        I32(expert)[b] = (gpu_i32)t->bins - 1;
        I32(conditions)[b] = 0;
    }
}

/* How many of them are performed, and in how many trips. */
DEVICE void count_trips(const struct gpu_call *call, const struct memory *memory, gpu_u64 N,
                        gpu_u64 valid)
{
    TENSOR(run, 5);
    TENSOR(trips, 6);
    const struct blocks_args a = call->args.blocks;
    gpu_u64 needed = a.step.n ? (valid + a.step.n - 1) / a.step.n * a.step.n : valid;
    gpu_u64 all = a.always.n > needed ? a.always.n : needed;
    all = all < N && a.dynamic ? all : N;
    I64(run)[0] = (gpu_i64)all;
    I64(trips)[0] = (gpu_i64)((all + a.step.n - 1) / a.step.n);
}

KERNEL(blocks, 256, TALLY_BYTES)
{
    TENSOR(expert, 1);
    TENSOR(index, 2);
    TENSOR(place, 3);
    const struct tally t = blocks_tally(call, memory);
    gpu_u64 N = expert.rows, B = N ? index.rows / N : 1;
    if (GROUPS == 1)
        blocks_begin(call, memory);
    tally_count(&t);
    gpu_u32 rows = tally_align(&t, (LOCAL gpu_u32 *)scratch, 0, t.bins, B);
    if (overflows(memory, rows, N * B))
        return;
    if (GROUP == 0)
        name_blocks(call, memory, &t, B, rows / B);
    if (GROUP == 0 && ITEM == 0)
        count_trips(call, memory, N, rows / B);
    BARRIER();
    for (gpu_u32 turn = t.begin; turn < t.end; turn += ITEMS) {
        gpu_i32 row = tally_next(&t, (LOCAL gpu_i32 *)scratch, turn);
        if (row >= 0) {
            I32(place)[turn + ITEM] = row;
            I32(index)[row] = (gpu_i32)(turn + ITEM);
        }
    }
}

/* ---- deal ---- */

/* The block of a core in a trip, or -1; also before the first trip. */
DEVICE gpu_i64 block_of(struct deal_args a, gpu_i64 run, gpu_i64 n, gpu_i64 core, gpu_i64 trip)
{
    int own = n > 1 && !a.split;
    gpu_i64 first = 0, end = run, step = 1;
    if (own && a.halves) {
        gpu_i64 part = run - run / 2;
        first = core * part;
        end = core == 0 ? part : run;
    } else if (own) {
        first = core;
        step = n;
    }
    gpu_i64 block = first + trip * step;
    return trip >= 0 && block < end ? block : -1;
}

KERNEL(deal, 64, 0)
{
    TENSOR(expert, 0);
    TENSOR(run, 1);
    TENSOR(block, 2);
    TENSOR(number, 3);
    TENSOR(fetch, 4);
    TENSOR(sizes, 5);
    TENSOR(offsets, 6);
    const struct deal_args a = call->args.deal;
    gpu_i64 trip = (gpu_i64)call->iteration, B = (gpu_i64)a.rows.n, n = (gpu_i64)block.rows;
    for (gpu_i64 c = ITEM; c < n; c += ITEMS) {
        gpu_i64 now = block_of(a, I64(run)[0], n, c, trip);
        gpu_i64 before = block_of(a, I64(run)[0], n, c, trip - 1);
        int held = a.skip && before >= 0 && now >= 0 && I32(expert)[before] == I32(expert)[now];
        I32(block)[c] = (gpu_i32)now;
        I32(number)[c] = now < 0 ? -1 : I32(expert)[now];
        I32(fetch)[c] = now >= 0 && !held;
        I64(sizes)[c] = now < 0 ? 0 : B;
        I64(offsets)[c + 1] = (c + 1) * B;
        if (c == 0)
            I64(offsets)[0] = 0;
    }
}

/* ---- fetch: a core's part of an expert's matrix, a work-group a row ---- */

KERNEL(fetch, 64, 0)
{
    TENSOR(weight, 0);
    TENSOR(number, 1);
    TENSOR(fetch, 2);
    TENSOR(dst, 3);
    int matrix = weight.n_dims == 3;
    gpu_u64 from_rows = matrix ? weight.dim1 : 1, across = matrix ? weight.dim2 : weight.width;
    gpu_u64 rows = matrix ? dst.dim1 : 1, columns = matrix ? dst.dim2 : dst.dim1;
    gpu_u64 panels = call->args.fetch.panels.n, wide = columns / panels;
    int halved = rows < from_rows || columns < across;
    for (gpu_u64 i = GROUP; i < dst.rows * rows; i += GROUPS) {
        gpu_u64 core = i / rows, r = i % rows;
        if (I32(fetch)[core] <= 0)
            continue; /* what the core holds is what it needs */
        struct tensor from = weight;
        from.data = row_of(weight, (gpu_u64)I32(number)[core]);
        gpu_u64 row = (rows < from_rows ? core * rows : 0) + r;
        gpu_u64 first = columns < across ? core * wide : 0;
        int none = call->args.fetch.split && !halved && core > 0;
        for (gpu_u64 c = ITEM; c < columns; c += ITEMS) {
            gpu_u64 column = c / wide * (across / panels) + first + c % wide;
            float value = 0;
            if (!none)
                value = is_plain(from.format)
                            ? load(from, row * across + column)
                            : scaled_at(from.format, from.data, from_rows, across, row, column);
            F32(dst)[i * columns + c] = value;
        }
    }
}

/* ---- load_block, add_block ---- */

/* Where the slots of a core's block stand in the index, or -1. */
DEVICE gpu_i64 slots_of(const struct gpu_call *call, struct tensor block, gpu_u64 core)
{
    gpu_i32 number = I32(block)[core];
    return number < 0 ? -1 : (gpu_i64)number * (gpu_i64)call->args.block.rows.n;
}

KERNEL(load_block, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(index, 1);
    TENSOR(block, 2);
    TENSOR(gates, 3);
    TENSOR(dst, 4);
    const struct block_args a = call->args.block;
    for (gpu_u64 i = GROUP; i < block.rows * a.rows.n; i += GROUPS) {
        gpu_u64 core = i / a.rows.n;
        gpu_i64 first = slots_of(call, block, core);
        if (first < 0)
            continue;
        gpu_i32 slot = I32(index)[(gpu_u64)first + i % a.rows.n];
        gpu_u64 row = slot < 0 ? src.rows - 1 : (gpu_u64)slot / a.top_k.n;
        gpu_u64 column = dst.width < src.width ? core * dst.width : 0;
        float gate = gates.present && slot >= 0 ? F32(gates)[slot] : 1;
        if (slot < 0 && a.skip) {
            zero_bytes(row_of(dst, i), dst.row_bytes);
            continue;
        }
        scale_run(src, row * src.width + column, gate, dst, i * dst.width, dst.width);
    }
}

/* No token is twice in a block, and cores write rows or columns of their own. */
KERNEL(add_block, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(gates, 1);
    TENSOR(index, 2);
    TENSOR(block, 3);
    TENSOR(dst, 4);
    const struct block_args a = call->args.block;
    for (gpu_u64 i = GROUP; i < block.rows * a.rows.n; i += GROUPS) {
        gpu_u64 core = i / a.rows.n;
        gpu_i64 at = slots_of(call, block, core);
        if (at < 0 || I32(index)[(gpu_u64)at + i % a.rows.n] < 0)
            continue;
        gpu_u64 slot = (gpu_u64)I32(index)[(gpu_u64)at + i % a.rows.n];
        gpu_u64 first = dst.rows > a.tokens.n ? core * a.tokens.n : 0;
        gpu_u64 column = src.width < dst.width ? core * src.width : 0;
        gpu_u64 to = (first + slot / a.top_k.n) * dst.width + column;
        float gate = gates.present ? F32(gates)[slot] : 1;
        add_scaled(src, i * src.width, gate, dst, to, src.width);
    }
}

/* Both cores' partial sums, on both cores or on each half of the columns; dst may be src. */
KERNEL(core_sum, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(dst, 1);
    gpu_u64 m = src.rows / 2, n = src.width;
    int apart = dst.rows > m, whole = apart && dst.width == n;
    for (gpu_u64 r = GROUP; r < m; r += GROUPS) {
        for (gpu_u64 c = ITEM; c < n; c += ITEMS) {
            float a = load(src, r * n + c), b = load(src, (m + r) * n + c);
            gpu_u64 core = c < n / 2 ? 0 : 1, own = c - core * (n / 2);
            if (whole) {
                store(dst, r * n + c, a + b);
                store(dst, (m + r) * n + c, a + b);
            } else if (apart) {
                store(dst, (core * m + r) * dst.width + own, a + b);
            } else {
                store(dst, r * dst.width + c, a + b);
            }
        }
    }
}
