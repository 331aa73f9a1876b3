/* Index maps: where rows go. One work-group a rank; stable, in the order of one pass. */

/* When not by expert, rows of an owner keep (token, k) order. */
KERNEL(sort, 256, 0)
{
    TENSOR(phys, 0);
    TENSOR(order, 1);
    TENSOR(position, 2);
    TENSOR(counts, 3);
    TENSOR(sends, 4);
    gpu_u64 n = phys.rows * phys.width, experts = call->ranks * call->held;
    struct tally t = tally(call, memory, BINS_VALUE, phys, 0, n, experts);
    int by_expert = call->args.sort.by_expert;
    for (gpu_u64 x = ITEM; x < experts; x += ITEMS)
        I64(counts)[x] = t.totals[x];
    for (gpu_u64 r = ITEM; r < call->ranks; r += ITEMS) {
        gpu_i64 sum = 0;
        for (gpu_u64 x = 0; x < call->held; x++)
            sum += t.totals[r * call->held + x];
        I64(sends)[r] = sum;
    }
    BARRIER();
    t = tally(call, memory, by_expert ? BINS_VALUE : BINS_OWNER, phys, 0, n,
              by_expert ? experts : call->ranks);
    if (ITEM == 0) { /* totals become starts */
        gpu_i32 start = 0;
        for (gpu_u64 b = 0; b < t.bins; b++) {
            gpu_i32 total = t.totals[b];
            t.totals[b] = start;
            start += total;
        }
    }
    BARRIER();
    if (ITEM >= t.runs)
        return;
    struct span run = run_of(&t, ITEM);
    for (gpu_u64 i = run.begin; i < run.end; i++) {
        gpu_i64 bin = bin_of(&t, i);
        gpu_i32 at = t.totals[bin] + tally_next(&t, bin);
        I32(order)[at] = (gpu_i32)i;
        I32(position)[i] = at;
    }
}

/* Rows received in (source, expert) order to (expert, source) order. */
KERNEL(group, 256, 0)
{
    TENSOR(counts, 0);
    TENSOR(receives, 1);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    TENSOR(index, 4);
    TENSOR(place, 5);
    gpu_u64 R = call->ranks, e = call->held;
    GLOBAL gpu_i32 *rows = (GLOBAL gpu_i32 *)(memory->space + GPU_SPACE_HEAD);
    for (gpu_u64 r = ITEM; r < R; r += ITEMS) {
        gpu_i64 sum = 0;
        for (gpu_u64 x = 0; x < e; x++)
            sum += I64(counts)[r * e + x];
        I64(receives)[r] = sum;
    }
    for (gpu_u64 x = ITEM; x < e; x += ITEMS) {
        gpu_i32 sum = 0;
        for (gpu_u64 r = 0; r < R; r++)
            sum += (gpu_i32)I64(counts)[r * e + x];
        rows[x] = sum;
        I64(sizes)[x] = sum;
    }
    BARRIER();
    align_starts(I64(offsets), rows, e, call->args.group.alignment.n);
    for (gpu_u64 g = ITEM; call->args.group.fixed && g <= e; g += ITEMS)
        I64(offsets)[g] = (gpu_i64)(g * call->args.group.alignment.n);
    BARRIER();
    if (overflows(memory, (gpu_u64)I64(offsets)[e], index.rows) ||
        overflows(memory, rows_in(receives, 0), place.rows))
        return;
    fill_map(index, -1);
    fill_map(place, -1);
    BARRIER();
    for (gpu_u64 i = ITEM; i < R * e; i += ITEMS) { /* a run of rows each */
        gpu_i64 from = 0, to = I64(offsets)[i % e];
        for (gpu_u64 o = 0; o < i; o++) {
            from += I64(counts)[o];
            to += o % e == i % e ? I64(counts)[o] : 0;
        }
        for (gpu_i64 j = 0; j < I64(counts)[i]; j++) {
            I32(index)[to + j] = (gpu_i32)(from + j);
            I32(place)[from + j] = (gpu_i32)(to + j);
        }
    }
}

/* groups * C slots of an expert, C of them for each group of tokens; the first rows win. */
KERNEL(slots, 256, 0)
{
    TENSOR(phys, 0);
    TENSOR(index, 1);
    TENSOR(position, 2);
    TENSOR(dropped, 3);
    gpu_u64 experts = call->ranks * call->held, C = call->args.slots.capacity.n;
    gpu_u64 groups = call->args.slots.groups.n, n = call->tokens / groups * call->top_k;
    gpu_i64 lost = 0;
    fill_map(index, -1);
    for (gpu_u64 g = 0; g < groups; g++) {
        struct tally t = tally(call, memory, BINS_VALUE, phys, g * n, n, experts);
        for (gpu_u64 x = 0; ITEM == 0 && x < experts; x++)
            lost += (gpu_u64)t.totals[x] > C ? t.totals[x] - (gpu_i64)C : 0;
        if (ITEM < t.runs) {
            struct span run = run_of(&t, ITEM);
            for (gpu_u64 i = run.begin; i < run.end; i++) {
                gpu_i64 x = bin_of(&t, i);
                gpu_u64 c = (gpu_u64)tally_next(&t, x);
                gpu_u64 slot = ((gpu_u64)x * groups + g) * C + c;
                I32(position)[i] = c < C ? (gpu_i32)slot : -1;
                if (c < C)
                    I32(index)[slot] = (gpu_i32)i;
            }
        }
        BARRIER();
    }
    if (ITEM == 0)
        I64(dropped)[0] = lost;
}

/* The slots of local experts, sorted by expert. */
KERNEL(fan, 256, 0)
{
    TENSOR(phys, 0);
    TENSOR(receives, 1);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    TENSOR(index, 4);
    TENSOR(place, 5);
    gpu_u64 K = phys.width, n = rows_in(receives, phys.rows) * K;
    if (overflows(memory, n / K, place.rows / K))
        return;
    struct tally t = tally(call, memory, BINS_LOCAL, phys, 0, n, call->held);
    align_starts(I64(offsets), t.totals, call->held, 1);
    if (overflows(memory, (gpu_u64)I64(offsets)[call->held], index.rows))
        return;
    for (gpu_u64 x = ITEM; x < call->held; x += ITEMS)
        I64(sizes)[x] = t.totals[x];
    fill_map(index, -1);
    fill_map(place, -1);
    BARRIER();
    if (ITEM >= t.runs)
        return;
    struct span run = run_of(&t, ITEM);
    for (gpu_u64 i = run.begin; i < run.end; i++) {
        gpu_i64 x = bin_of(&t, i);
        if (x < 0)
            continue;
        gpu_i32 at = (gpu_i32)I64(offsets)[x] + tally_next(&t, x);
        I32(place)[i] = at;
        I32(index)[at] = (gpu_i32)i;
    }
}

/* One row per token and owner; rows by owner, then by token. */
KERNEL(layout, 256, 0)
{
    TENSOR(phys, 0);
    TENSOR(index, 1);
    TENSOR(slot, 2);
    TENSOR(position, 3);
    TENSOR(sends, 4);
    TENSOR(handle, 5);
    gpu_u64 T = phys.rows, K = phys.width, R = call->ranks;
    fill_map(position, -1);
    BARRIER();
    for (gpu_u64 t = ITEM; t < T; t += ITEMS)
        for (gpu_u64 k = 0; k < K; k++)
            I32(position)[t * R + (gpu_u64)I32(phys)[t * K + k] / call->held] = 0;
    BARRIER();
    struct tally t = tally(call, memory, BINS_PAIR, position, 0, T * R, R);
    for (gpu_u64 r = ITEM; r < R; r += ITEMS)
        I64(sends)[r] = t.totals[r];
    BARRIER();
    gpu_u64 rows = rows_in(sends, 0);
    if (overflows(memory, rows, index.rows))
        return;
    fill_map(index, -1);
    fill_map(slot, -1);
    BARRIER();
    struct span run = run_of(&t, ITEM < t.runs ? ITEM : 0);
    for (gpu_u64 at = run.begin; ITEM < t.runs && at < run.end; at++) {
        gpu_i64 owner = bin_of(&t, at);
        if (owner < 0)
            continue;
        gpu_i32 row = tally_next(&t, owner);
        for (gpu_i64 r = 0; r < owner; r++)
            row += t.totals[r];
        I32(position)[at] = row;
        I32(index)[row] = (gpu_i32)(at / R);
        I32(slot)[row] = (gpu_i32)at;
    }
    if (ITEM == 0) {
        I64(handle)[0] = (gpu_i64)call->step;
        I64(handle)[1] = (gpu_i64)T;
        I64(handle)[2] = (gpu_i64)R;
        I64(handle)[3] = (gpu_i64)rows;
    }
}

/* Records of 16 bytes: the row's id in the whole group, then local expert and gate. */
KERNEL(record, 256, 0)
{
    TENSOR(phys, 0);
    TENSOR(gates, 1);
    TENSOR(order, 2);
    TENSOR(dst, 3);
    gpu_u64 n = call->tokens * call->top_k;
    for (gpu_u64 i = GROUP * ITEMS + ITEM; i < n; i += GROUPS * ITEMS) {
        gpu_i32 slot = I32(order)[i];
        I64(dst)[2 * i] = (gpu_i64)(call->rank * n) + slot;
        I32(dst)[4 * i + 2] = I32(phys)[slot] % (gpu_i32)call->held;
        F32(dst)[4 * i + 3] = F32(gates)[slot];
    }
}

/* Records, stable by local expert. */
KERNEL(pool, 256, 0)
{
    TENSOR(src, 0);
    TENSOR(receives, 1);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    TENSOR(index, 4);
    TENSOR(place, 5);
    TENSOR(gates, 6);
    gpu_u64 n = rows_in(receives, 0);
    if (overflows(memory, n, place.rows))
        return;
    struct tally t = tally(call, memory, BINS_RECORD, src, 0, n, call->held);
    align_starts(I64(offsets), t.totals, call->held, call->args.group.alignment.n);
    if (overflows(memory, (gpu_u64)I64(offsets)[call->held], index.rows))
        return;
    for (gpu_u64 x = ITEM; x < call->held; x += ITEMS)
        I64(sizes)[x] = t.totals[x];
    fill_map(index, -1);
    fill_map(place, -1);
    for (gpu_u64 i = ITEM; i < gates.rows * gates.width; i += ITEMS)
        F32(gates)[i] = 0;
    BARRIER();
    if (ITEM >= t.runs)
        return;
    struct span run = run_of(&t, ITEM);
    for (gpu_u64 i = run.begin; i < run.end; i++) {
        gpu_i64 x = bin_of(&t, i);
        gpu_i32 at = (gpu_i32)I64(offsets)[x] + tally_next(&t, x);
        I32(place)[i] = at;
        I32(index)[at] = (gpu_i32)i;
        F32(gates)[i] = F32(src)[4 * i + 3];
    }
}

/* ---- chunks ---- */

DEVICE gpu_i64 largest_count(struct tensor counts)
{
    gpu_i64 most = 0;
    for (gpu_u64 i = 0; i < counts.rows; i++)
        most = I64(counts)[i] > most ? I64(counts)[i] : most;
    return most;
}

KERNEL(most, 64, 0)
{
    TENSOR(counts, 0);
    TENSOR(dst, 1);
    if (ITEM == 0)
        I64(dst)[0] = largest_count(counts);
}

KERNEL(rounds, 64, 0)
{
    TENSOR(counts, 0);
    TENSOR(dst, 1);
    gpu_i64 rows = (gpu_i64)call->args.chunk.rows.n;
    if (ITEM == 0)
        I64(dst)[0] = (largest_count(counts) + rows - 1) / rows;
}

/* Round i takes rows i C .. of every expert's queue. */
KERNEL(chunk, 256, 0)
{
    TENSOR(order, 0);
    TENSOR(counts, 1);
    TENSOR(index, 2);
    TENSOR(home, 3);
    gpu_u64 C = call->args.chunk.rows.n;
    for (gpu_u64 x = GROUP; x < counts.rows; x += GROUPS) {
        gpu_u64 start = 0;
        for (gpu_u64 o = 0; o < x; o++)
            start += (gpu_u64)I64(counts)[o];
        for (gpu_u64 c = ITEM; c < C; c += ITEMS) {
            gpu_u64 q = call->iteration * C + c;
            int valid = q < (gpu_u64)I64(counts)[x];
            I32(home)[x * C + c] = valid ? (gpu_i32)(start + q) : -1;
            I32(index)[x * C + c] = valid ? I32(order)[start + q] : -1;
        }
    }
}

/* ---- tables ---- */

KERNEL(table, 256, 0)
{
    TENSOR(phys, 0);
    TENSOR(place, 1);
    TENSOR(index, 2);
    gpu_u64 e = call->held, K = phys.width;
    fill_map(place, -1);
    fill_map(index, -1);
    BARRIER();
    for (gpu_u64 i = ITEM; i < phys.rows * K; i += ITEMS) {
        gpu_u64 expert = (gpu_u64)I32(phys)[i];
        if (expert / e != call->rank)
            continue;
        gpu_u64 row = expert % e * phys.rows + i / K;
        I32(place)[i] = (gpu_i32)row;
        I32(index)[row] = (gpu_i32)i;
    }
}

KERNEL(hits, 64, 0)
{
    TENSOR(sizes, 0);
    TENSOR(hits, 1);
    TENSOR(map, 2);
    gpu_i32 n = 0;
    fill_map(hits, -1);
    BARRIER();
    if (ITEM != 0)
        return;
    for (gpu_u64 x = 0; x < sizes.rows; x++) {
        int hit = I64(sizes)[x] > 0;
        if (hit && (gpu_u64)n == hits.rows) {
            report(memory, REPORT_OVERFLOW, (gpu_u64)n + 1, hits.rows);
            return;
        }
        I32(map)[x] = hit ? n : 0;
        if (hit)
            I32(hits)[n++] = (gpu_i32)x;
    }
}

KERNEL(own, 64, 0)
{
    TENSOR(phys, 0);
    TENSOR(slot, 1);
    TENSOR(place, 2);
    TENSOR(hits, 3);
    TENSOR(sizes, 4);
    TENSOR(offsets, 5);
    gpu_u64 e = call->held, K = phys.width;
    for (gpu_u64 i = ITEM; i < phys.rows * K; i += ITEMS) {
        gpu_u64 expert = (gpu_u64)I32(phys)[i];
        int own = expert / e == call->rank;
        I32(slot)[i] = own ? (gpu_i32)i : -1;
        I32(place)[i] = own ? (gpu_i32)(i % K) : -1;
        I32(hits)[i] = own ? (gpu_i32)(expert % e) : -1;
        I64(sizes)[i] = own;
    }
    for (gpu_u64 k = ITEM; k <= K; k += ITEMS)
        I64(offsets)[k] = (gpu_i64)k;
}

/* -1 behind the last block. */
KERNEL(sparse_map, 256, 0)
{
    TENSOR(offsets, 0);
    TENSOR(row_block, 1);
    TENSOR(column_block, 2);
    gpu_u64 B = call->args.sparse.block.n, across = (call->args.sparse.inter.n + B - 1) / B;
    gpu_u64 valid = (gpu_u64)I64(offsets)[offsets.rows - 1] / B * across;
    for (gpu_u64 u = GROUP * ITEMS + ITEM; u < row_block.rows; u += GROUPS * ITEMS) {
        I32(row_block)[u] = u < valid ? (gpu_i32)(u / across) : -1;
        I32(column_block)[u] = u < valid ? (gpu_i32)(u % across) : -1;
    }
}
