/* Path blockwise: blocks of one local expert each, and what the cores of a rank do with them.
 */

/* Blocks without rows belong to the last expert. */
KERNEL(blocks, 256, 0)
{
    TENSOR(phys, 0);
    TENSOR(expert, 1);
    TENSOR(index, 2);
    TENSOR(place, 3);
    TENSOR(conditions, 4);
    TENSOR(run, 5);
    TENSOR(trips, 6);
    const struct blocks_args a = call->args.blocks;
    gpu_u64 e = call->held, N = expert.rows, B = N ? index.rows / N : 1, valid = 0;
    struct tally t = tally(call, memory, BINS_LOCAL, phys, 0, phys.rows * phys.width, e);
    for (gpu_u64 x = 0; x < e; x++)
        valid += ((gpu_u64)t.totals[x] + B - 1) / B;
    if (overflows(memory, valid * B, N * B))
        return;
    fill_map(index, -1);
    fill_map(place, -1);
    for (gpu_u64 b = ITEM; b < N; b += ITEMS) {
        gpu_u64 x = 0, end = ((gpu_u64)t.totals[0] + B - 1) / B;
        while (x + 1 < e && b >= end)
            end += ((gpu_u64)t.totals[++x] + B - 1) / B;
        I32(expert)[b] = (gpu_i32)x;
        I32(conditions)[b] = b < valid;
    }
    BARRIER();
    if (ITEM == 0) { /* totals become first rows */
        gpu_i32 first = 0;
        for (gpu_u64 x = 0; x < e; x++) {
            gpu_i32 rows = (gpu_i32)(((gpu_u64)t.totals[x] + B - 1) / B * B);
            t.totals[x] = first;
            first += rows;
        }
        gpu_u64 needed = a.step.n ? (valid + a.step.n - 1) / a.step.n * a.step.n : valid;
        gpu_u64 all = a.always.n > needed ? a.always.n : needed;
        all = all < N && a.dynamic ? all : N;
        I64(run)[0] = (gpu_i64)all;
        I64(trips)[0] = (gpu_i64)((all + a.step.n - 1) / a.step.n);
    }
    BARRIER();
    if (ITEM >= t.runs)
        return;
    struct span slots = run_of(&t, ITEM);
    for (gpu_u64 i = slots.begin; i < slots.end; i++) {
        gpu_i64 x = bin_of(&t, i);
        if (x < 0)
            continue;
        gpu_i32 row = t.totals[x] + tally_next(&t, x);
        I32(place)[i] = row;
        I32(index)[row] = (gpu_i32)i;
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
