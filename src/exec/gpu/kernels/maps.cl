/* Index maps: where rows go, stable, in the order of one pass. What is placed slot by slot is
 * cut into pieces (tally.cl): a launch that counts, k_starts, and the kernel itself. */

KERNEL(starts, 64, TALLY_BYTES)
{
    LOCAL gpu_u32 *sums = (LOCAL gpu_u32 *)scratch;
    GLOBAL gpu_i32 *totals = (GLOBAL gpu_i32 *)(memory->space + GPU_SPACE_HEAD);
    const struct span own = share_of(call->pieces);
    for (gpu_u64 bin = GROUP; bin < call->bins; bin += GROUPS) {
        GLOBAL gpu_i32 *counts = totals + call->bins + bin * call->pieces;
        gpu_u32 sum = 0, all;
        for (gpu_u64 p = own.begin; p < own.end; p++)
            sum += (gpu_u32)counts[p];
        sum = sum_before(sums, sum, &all);
        for (gpu_u64 p = own.begin; p < own.end; p++) {
            gpu_i32 count = counts[p];
            counts[p] = (gpu_i32)sum;
            sum += (gpu_u32)count;
        }
        if (ITEM == 0)
            totals[bin] = (gpu_i32)all;
    }
}

/* ---- replicas: the j-th occurrence of an expert goes to its replica j mod count ---- */

DEVICE struct tally place_tally(const struct gpu_call *call, const struct memory *memory)
{
    TENSOR(ids, 0);
    return tally_of(call, memory, BINS_VALUE, ids, ids.rows * ids.width);
}

KERNEL(place_count, 256, 0)
{
    const struct tally t = place_tally(call, memory);
    tally_clear(&t);
    tally_add(&t);
}

KERNEL(place, 256, TALLY_BYTES)
{
    TENSOR(start, 1);
    TENSOR(replica, 2);
    TENSOR(phys, 3);
    const struct tally t = place_tally(call, memory);
    tally_count(&t);
    for (gpu_u32 turn = t.begin; turn < t.end; turn += ITEMS) {
        gpu_i32 at = tally_next(&t, (LOCAL gpu_i32 *)scratch, turn);
        if (at >= 0) {
            gpu_i32 x = bin_of(&t, turn + ITEM);
            gpu_i32 first = I32(start)[x], count = I32(start)[x + 1] - first;
            I32(phys)[turn + ITEM] = I32(replica)[first + at % count];
        }
    }
}

/* ---- by expert; or by owner, where rows keep (token, k) order ---- */

DEVICE struct tally sort_tally(const struct gpu_call *call, const struct memory *memory)
{
    TENSOR(phys, 0);
    return tally_of(call, memory, BINS_VALUE, phys, phys.rows * phys.width);
}

/* Bins of the experts, and behind them of their owners. */
DEVICE void sort_add(const struct tally *own)
{
    struct tally owners = *own;
    owners.kind = BINS_OWNER;
    tally_clear(own);
    tally_add(own);
    tally_add(&owners);
}

KERNEL(sort_count, 256, 0)
{
    const struct tally t = sort_tally(call, memory);
    sort_add(&t);
}

KERNEL(sort, 256, TALLY_BYTES)
{
    TENSOR(order, 1);
    TENSOR(position, 2);
    TENSOR(counts, 3);
    TENSOR(sends, 4);
    int by_expert = call->args.sort.by_expert;
    struct tally t = sort_tally(call, memory);
    const struct tally own = tally_alone(&t);
    gpu_u32 experts = t.bins - t.ranks;
    sort_add(&own);
    tally_total(&own);
    for (gpu_u32 x = ITEM; GROUP == 0 && x < experts; x += ITEMS)
        I64(counts)[x] = t.totals[x];
    for (gpu_u32 r = ITEM; GROUP == 0 && r < t.ranks; r += ITEMS)
        I64(sends)[r] = t.totals[experts + r];
    t.kind = by_expert ? BINS_VALUE : BINS_OWNER;
    tally_align(&t, (LOCAL gpu_u32 *)scratch, by_expert ? 0 : experts,
                by_expert ? experts : t.ranks, 1);
    for (gpu_u32 turn = t.begin; turn < t.end; turn += ITEMS) {
        gpu_i32 at = tally_next(&t, (LOCAL gpu_i32 *)scratch, turn);
        if (at >= 0) {
            I32(order)[at] = (gpu_i32)(turn + ITEM);
            I32(position)[turn + ITEM] = at;
        }
    }
}

/* ---- rows received in (source, expert) order to (expert, source) order ---- */

/* Sums of the counts in front, as rows arrive and as they go, [R e + 1] each. */
DEVICE GLOBAL gpu_i32 *arrivals_of(const struct memory *memory)
{
    return (GLOBAL gpu_i32 *)(memory->space + GPU_SPACE_HEAD);
}

/* Of R ranks: none in groups that leave it to the first. */
DEVICE void group_sums(const struct gpu_call *call, const struct memory *memory,
                       LOCAL gpu_u32 *sums, gpu_u32 R)
{
    TENSOR(counts, 0);
    gpu_u32 e = (gpu_u32)call->held, runs = R * e, from = 0, to = 0, all;
    GLOBAL gpu_i32 *arrive = arrivals_of(memory), *go = arrive + runs + 1;
    const struct span own = share_of(runs);
    for (gpu_u32 i = (gpu_u32)own.begin; i < own.end; i++) {
        from += (gpu_u32)I64(counts)[i];
        to += (gpu_u32)I64(counts)[i % R * e + i / R];
    }
    from = sum_before(sums, from, &all);
    to = sum_before(sums, to, &all);
    for (gpu_u32 i = (gpu_u32)own.begin; i < own.end; i++) {
        arrive[i] = (gpu_i32)from;
        go[i] = (gpu_i32)to;
        from += (gpu_u32)I64(counts)[i];
        to += (gpu_u32)I64(counts)[i % R * e + i / R];
    }
    if (ITEM == 0 && R > 0)
        arrive[runs] = go[runs] = (gpu_i32)all;
    BARRIER();
}

/* Rows by source and by expert, and where experts begin. */
DEVICE void group_starts(const struct gpu_call *call, const struct memory *memory,
                         LOCAL gpu_u32 *sums, gpu_u32 R)
{
    TENSOR(receives, 1);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    gpu_u32 e = (gpu_u32)call->held, to = (gpu_u32)call->args.group.alignment.n, sum = 0, end;
    const GLOBAL gpu_i32 *arrive = arrivals_of(memory), *go = arrive + R * e + 1;
    const struct span own = share_of(R > 0 ? e : 0);
    for (gpu_u32 r = ITEM; r < R; r += ITEMS)
        I64(receives)[r] = arrive[(r + 1) * e] - arrive[r * e];
    for (gpu_u64 x = own.begin; x < own.end; x++) {
        I64(sizes)[x] = go[(x + 1) * R] - go[x * R];
        sum += call->args.group.fixed ? to : aligned((gpu_i32)I64(sizes)[x], to);
    }
    sum = sum_before(sums, sum, &end);
    for (gpu_u64 x = own.begin; x < own.end; x++) {
        I64(offsets)[x] = sum;
        sum += call->args.group.fixed ? to : aligned((gpu_i32)I64(sizes)[x], to);
    }
    if (ITEM == 0 && R > 0)
        I64(offsets)[e] = end;
    BARRIER();
}

/* All groups clear the maps; one of them sums. */
DEVICE void group_begin(const struct gpu_call *call, const struct memory *memory,
                        LOCAL char *scratch, int clears, int adds)
{
    TENSOR(index, 4);
    TENSOR(place, 5);
    gpu_u32 R = adds ? (gpu_u32)call->ranks : 0;
    if (clears) {
        fill_map(index, -1);
        fill_map(place, -1);
    }
    group_sums(call, memory, (LOCAL gpu_u32 *)scratch, R);
    group_starts(call, memory, (LOCAL gpu_u32 *)scratch, R);
}

KERNEL(group_starts, 256, TALLY_BYTES)
{
    group_begin(call, memory, scratch, 1, GROUP == 0);
}

KERNEL(group, 256, TALLY_BYTES)
{
    TENSOR(offsets, 2);
    TENSOR(index, 4);
    TENSOR(place, 5);
    gpu_u32 R = (gpu_u32)call->ranks, e = (gpu_u32)call->held;
    const GLOBAL gpu_i32 *arrive = arrivals_of(memory), *go = arrive + R * e + 1;
    group_begin(call, memory, scratch, GROUPS == 1, GROUPS == 1);
    if (overflows(memory, (gpu_u64)I64(offsets)[e], index.rows) ||
        overflows(memory, (gpu_u32)arrive[R * e], place.rows))
        return;
    for (gpu_i32 row = (gpu_i32)(GROUP * ITEMS + ITEM); row < arrive[R * e];
         row += (gpu_i32)(GROUPS * ITEMS)) {
        gpu_u32 run = 0, end = R * e; /* the last one that begins at the row or before */
        while (end - run > 1) {
            gpu_u32 middle = (run + end) / 2;
            if (arrive[middle] <= row)
                run = middle;
            else
                end = middle;
        }
        gpu_u32 x = run % e;
        gpu_i32 to =
            (gpu_i32)I64(offsets)[x] + go[x * R + run / e] - go[x * R] + row - arrive[run];
        I32(index)[to] = row;
        I32(place)[row] = to;
    }
}

/* ---- G C slots of an expert, C of them for each of G lots of tokens; the first rows win ----
 */

/* Lots that are cut are bins of their own, as many pieces each; where the workspace does not
 * hold these, a group counts a lot alone, one after the other. */
struct lots {
    gpu_u32 n, each; /* slots of one */
    int alone;
};

DEVICE struct lots lots_of(const struct gpu_call *call)
{
    struct lots l;
    l.n = (gpu_u32)call->args.slots.groups.n;
    l.each = (gpu_u32)(call->tokens / l.n * call->top_k);
    l.alone = call->bins < call->ranks * call->held * l.n;
    return l;
}

DEVICE struct tally slots_tally(const struct gpu_call *call, const struct memory *memory,
                                struct lots l)
{
    TENSOR(phys, 0);
    struct tally t =
        tally_of(call, memory, l.alone ? BINS_VALUE : BINS_LOT, phys, (gpu_u64)l.n * l.each);
    t.ranks = l.n;
    t.held = l.each ? l.each : 1;
    if (GROUPS > 1 && !l.alone)
        tally_take(&t, (gpu_u32)GROUP / t.pieces * l.each, l.each, t.column);
    return t;
}

DEVICE void slots_begin(const struct memory *memory, const struct gpu_call *call)
{
    TENSOR(index, 1);
    TENSOR(dropped, 3);
    fill_map(index, -1);
    if (GROUP == 0 && ITEM == 0)
        I64(dropped)[0] = 0;
}

/* Groups of several lots count in the same columns, each the bins of its own. */
KERNEL(slots_count, 256, 0)
{
    const struct lots l = lots_of(call);
    const struct tally t = slots_tally(call, memory, l);
    slots_begin(memory, call);
    gpu_u32 lot = (gpu_u32)GROUP / t.pieces, bins = l.alone ? 0 : t.bins;
    for (gpu_u32 bin = lot + ITEM * l.n; bin < bins; bin += ITEMS * l.n)
        *tally_at(&t, bin) = 0;
    BARRIER();
    if (!l.alone)
        tally_add(&t);
}

/* Walks the group's slots; those of an expert in a lot stand at (expert * lots + lot) * C. */
DEVICE void slots_walk(const struct gpu_call *call, const struct memory *memory,
                       const struct tally *t, LOCAL gpu_i32 *walked, struct lots l, gpu_u32 lot)
{
    TENSOR(index, 1);
    TENSOR(position, 2);
    TENSOR(dropped, 3);
    gpu_u64 C = call->args.slots.capacity.n;
    for (gpu_u32 turn = t->begin; turn < t->end; turn += ITEMS) {
        gpu_i32 c = tally_next(t, walked, turn);
        if (c >= 0) {
            gpu_u64 bin = (gpu_u64)bin_of(t, turn + ITEM);
            gpu_u64 slot = (l.alone ? bin * l.n + lot : bin) * C + (gpu_u64)c;
            int kept = (gpu_u64)c < C;
            I32(position)[turn + ITEM] = kept ? (gpu_i32)slot : -1;
            if (kept)
                I32(index)[slot] = (gpu_i32)(turn + ITEM);
            else
                COUNT_ONE(dropped.data); /* the lower half of a number of 64 bits */
        }
    }
}

KERNEL(slots, 256, TALLY_BYTES)
{
    const struct lots l = lots_of(call);
    struct tally t = slots_tally(call, memory, l);
    if (GROUPS == 1)
        slots_begin(memory, call);
    tally_count(&t);
    for (gpu_u32 lot = l.alone ? (gpu_u32)GROUP : 0; lot < (l.alone ? l.n : 1);
         lot += (gpu_u32)GROUPS) {
        if (l.alone) {
            t.begin = lot * l.each;
            t.end = t.begin + l.each;
        }
        struct tally own = t;
        own.bins = l.alone ? t.bins : 0;
        tally_clear(&own);
        slots_walk(call, memory, &t, (LOCAL gpu_i32 *)scratch, l, lot);
        BARRIER();
    }
}

/* ---- the slots of local experts, sorted by expert ---- */

DEVICE struct tally fan_tally(const struct gpu_call *call, const struct memory *memory,
                              LOCAL char *scratch)
{
    TENSOR(phys, 0);
    TENSOR(receives, 1);
    return tally_of(call, memory, BINS_LOCAL, phys,
                    rows_in(receives, phys.rows, (LOCAL gpu_u32 *)scratch) * phys.width);
}

DEVICE void fan_begin(const struct gpu_call *call, const struct memory *memory)
{
    TENSOR(index, 4);
    TENSOR(place, 5);
    fill_map(index, -1);
    fill_map(place, -1);
}

KERNEL(fan_count, 256, TALLY_BYTES)
{
    TENSOR(phys, 0);
    TENSOR(place, 5);
    const struct tally t = fan_tally(call, memory, scratch);
    if (overflows(memory, t.n / phys.width, place.rows / phys.width))
        return;
    fan_begin(call, memory);
    tally_clear(&t);
    tally_add(&t);
}

KERNEL(fan, 256, TALLY_BYTES)
{
    TENSOR(phys, 0);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    TENSOR(index, 4);
    TENSOR(place, 5);
    const struct tally t = fan_tally(call, memory, scratch);
    if (overflows(memory, t.n / phys.width, place.rows / phys.width))
        return;
    if (GROUPS == 1)
        fan_begin(call, memory);
    tally_count(&t);
    gpu_u32 end = tally_align(&t, (LOCAL gpu_u32 *)scratch, 0, t.bins, 1);
    tally_keep(&t, end, offsets, sizes);
    if (overflows(memory, end, index.rows))
        return;
    for (gpu_u32 turn = t.begin; turn < t.end; turn += ITEMS) {
        gpu_i32 at = tally_next(&t, (LOCAL gpu_i32 *)scratch, turn);
        if (at >= 0) {
            I32(place)[turn + ITEM] = at;
            I32(index)[at] = (gpu_i32)(turn + ITEM);
        }
    }
}

/* ---- one row per token and owner; rows by owner, then by token ---- */

/* Pieces of whole tokens, each of which has a place for every owner. */
DEVICE struct tally layout_tally(const struct gpu_call *call, const struct memory *memory)
{
    TENSOR(phys, 0);
    TENSOR(position, 3);
    struct tally t = tally_of(call, memory, BINS_PAIR, position, phys.rows);
    t.begin *= t.ranks;
    t.end *= t.ranks;
    return t;
}

/* Marks the places of owners that a token goes to. */
DEVICE void layout_begin(const struct gpu_call *call, const struct memory *memory,
                         const struct tally *own, int clears)
{
    TENSOR(phys, 0);
    TENSOR(index, 1);
    TENSOR(slot, 2);
    TENSOR(position, 3);
    gpu_u32 K = (gpu_u32)phys.width, R = own->ranks;
    for (gpu_u32 i = own->begin + ITEM; i < own->end; i += ITEMS)
        I32(position)[i] = -1;
    if (clears) {
        fill_map(index, -1);
        fill_map(slot, -1);
    }
    BARRIER();
    for (gpu_u32 i = own->begin / R * K + ITEM; i < own->end / R * K; i += ITEMS)
        I32(position)[i / K * R + (gpu_u32)I32(phys)[i] / own->held] = 0;
    tally_clear(own);
    tally_add(own);
}

KERNEL(layout_count, 256, 0)
{
    const struct tally t = layout_tally(call, memory);
    layout_begin(call, memory, &t, 1);
}

KERNEL(layout, 256, TALLY_BYTES)
{
    TENSOR(phys, 0);
    TENSOR(index, 1);
    TENSOR(slot, 2);
    TENSOR(position, 3);
    TENSOR(sends, 4);
    TENSOR(handle, 5);
    const struct tally t = layout_tally(call, memory), own = tally_alone(&t);
    layout_begin(call, memory, &own, GROUPS == 1);
    tally_total(&own);
    gpu_u32 rows = tally_align(&t, (LOCAL gpu_u32 *)scratch, 0, t.bins, 1);
    for (gpu_u32 r = ITEM; GROUP == 0 && r < t.bins; r += ITEMS)
        I64(sends)[r] = t.totals[r];
    if (overflows(memory, rows, index.rows))
        return;
    for (gpu_u32 turn = t.begin; turn < t.end; turn += ITEMS) {
        gpu_i32 row = tally_next(&t, (LOCAL gpu_i32 *)scratch, turn);
        if (row >= 0) {
            I32(position)[turn + ITEM] = row;
            I32(index)[row] = (gpu_i32)((turn + ITEM) / t.ranks);
            I32(slot)[row] = (gpu_i32)(turn + ITEM);
        }
    }
    if (GROUP == 0 && ITEM == 0) {
        I64(handle)[0] = (gpu_i64)call->step;
        I64(handle)[1] = (gpu_i64)phys.rows;
        I64(handle)[2] = (gpu_i64)call->ranks;
        I64(handle)[3] = (gpu_i64)rows;
    }
}

/* ---- records of 16 bytes: the row's id in the whole group, then local expert and gate ---- */

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
DEVICE struct tally pool_tally(const struct gpu_call *call, const struct memory *memory,
                               LOCAL char *scratch)
{
    TENSOR(src, 0);
    TENSOR(receives, 1);
    return tally_of(call, memory, BINS_RECORD, src,
                    rows_in(receives, 0, (LOCAL gpu_u32 *)scratch));
}

DEVICE void pool_begin(const struct gpu_call *call, const struct memory *memory)
{
    TENSOR(gates, 6);
    fan_begin(call, memory);
    fill_map(gates, 0); /* of the same bits as 0 in f32 */
}

KERNEL(pool_count, 256, TALLY_BYTES)
{
    TENSOR(place, 5);
    const struct tally t = pool_tally(call, memory, scratch);
    if (overflows(memory, t.n, place.rows))
        return;
    pool_begin(call, memory);
    tally_clear(&t);
    tally_add(&t);
}

KERNEL(pool, 256, TALLY_BYTES)
{
    TENSOR(src, 0);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    TENSOR(index, 4);
    TENSOR(place, 5);
    TENSOR(gates, 6);
    const struct tally t = pool_tally(call, memory, scratch);
    if (overflows(memory, t.n, place.rows))
        return;
    if (GROUPS == 1)
        pool_begin(call, memory);
    tally_count(&t);
    gpu_u32 end =
        tally_align(&t, (LOCAL gpu_u32 *)scratch, 0, t.bins, call->args.group.alignment.n);
    tally_keep(&t, end, offsets, sizes);
    if (overflows(memory, end, index.rows))
        return;
    for (gpu_u32 turn = t.begin; turn < t.end; turn += ITEMS) {
        gpu_i32 at = tally_next(&t, (LOCAL gpu_i32 *)scratch, turn);
        if (at >= 0) {
            gpu_u64 i = turn + ITEM;
            I32(place)[i] = at;
            I32(index)[at] = (gpu_i32)i;
            F32(gates)[i] = F32(src)[4 * i + 3];
        }
    }
}

/* ---- chunks ---- */

/* By all items of a group. */
DEVICE gpu_i64 largest_count(struct tensor counts, LOCAL gpu_i64 *most)
{
    gpu_i64 own = 0;
    for (gpu_u64 i = ITEM; i < counts.rows; i += ITEMS)
        own = I64(counts)[i] > own ? I64(counts)[i] : own;
    most[ITEM] = own;
    BARRIER();
    for (gpu_u32 i = 0; i < ITEMS; i++)
        own = most[i] > own ? most[i] : own;
    return own;
}

KERNEL(most, 64, 64 * 8)
{
    TENSOR(counts, 0);
    TENSOR(dst, 1);
    gpu_i64 most = largest_count(counts, (LOCAL gpu_i64 *)scratch);
    if (ITEM == 0)
        I64(dst)[0] = most;
}

KERNEL(rounds, 64, 64 * 8)
{
    TENSOR(counts, 0);
    TENSOR(dst, 1);
    gpu_i64 rows = (gpu_i64)call->args.chunk.rows.n;
    gpu_i64 most = largest_count(counts, (LOCAL gpu_i64 *)scratch);
    if (ITEM == 0)
        I64(dst)[0] = (most + rows - 1) / rows;
}

/* Round i takes rows i C .. of every expert's queue. */
KERNEL(chunk, 256, TALLY_BYTES)
{
    TENSOR(order, 0);
    TENSOR(counts, 1);
    TENSOR(index, 2);
    TENSOR(home, 3);
    gpu_u64 C = call->args.chunk.rows.n;
    for (gpu_u64 x = GROUP; x < counts.rows; x += GROUPS) {
        gpu_u32 own = 0, start;
        for (gpu_u64 o = ITEM; o < x; o += ITEMS)
            own += (gpu_u32)I64(counts)[o];
        sum_before((LOCAL gpu_u32 *)scratch, own, &start);
        for (gpu_u64 c = ITEM; c < C; c += ITEMS) {
            gpu_u64 q = call->iteration * C + c;
            int valid = q < (gpu_u64)I64(counts)[x];
            I32(home)[x * C + c] = valid ? (gpu_i32)(start + q) : -1;
            I32(index)[x * C + c] = valid ? I32(order)[start + q] : -1;
        }
    }
}

/* ---- tables ---- */

DEVICE void table_begin(const struct gpu_call *call, const struct memory *memory)
{
    TENSOR(place, 1);
    TENSOR(index, 2);
    fill_map(place, -1);
    fill_map(index, -1);
}

KERNEL(table_clear, 256, 0)
{
    table_begin(call, memory);
}

KERNEL(table, 256, 0)
{
    TENSOR(phys, 0);
    TENSOR(place, 1);
    TENSOR(index, 2);
    gpu_u32 e = (gpu_u32)call->held, K = (gpu_u32)phys.width, T = (gpu_u32)phys.rows;
    if (GROUPS == 1)
        table_begin(call, memory);
    BARRIER();
    for (gpu_u32 i = (gpu_u32)GROUP * ITEMS + ITEM; i < T * K; i += (gpu_u32)GROUPS * ITEMS) {
        gpu_u32 expert = (gpu_u32)I32(phys)[i];
        if (expert / e != call->rank)
            continue;
        gpu_u32 row = expert % e * T + i / K;
        I32(place)[i] = (gpu_i32)row;
        I32(index)[row] = (gpu_i32)i;
    }
}

KERNEL(hits, 64, TALLY_BYTES)
{
    TENSOR(sizes, 0);
    TENSOR(hits, 1);
    TENSOR(map, 2);
    const struct span own = share_of((gpu_u32)sizes.rows);
    gpu_u32 n = 0, all;
    fill_map(hits, -1);
    for (gpu_u64 x = own.begin; x < own.end; x++)
        n += I64(sizes)[x] > 0;
    n = sum_before((LOCAL gpu_u32 *)scratch, n, &all);
    for (gpu_u64 x = own.begin; x < own.end; x++) {
        int hit = I64(sizes)[x] > 0;
        I32(map)[x] = hit ? (gpu_i32)n : 0;
        if (hit && n < hits.rows)
            I32(hits)[n] = (gpu_i32)x;
        n += (gpu_u32)hit;
    }
    overflows(memory, all, hits.rows);
}

KERNEL(own, 64, 0)
{
    TENSOR(phys, 0);
    TENSOR(slot, 1);
    TENSOR(place, 2);
    TENSOR(hits, 3);
    TENSOR(sizes, 4);
    TENSOR(offsets, 5);
    gpu_u32 e = (gpu_u32)call->held, K = (gpu_u32)phys.width, n = (gpu_u32)phys.rows * K;
    gpu_u32 first = (gpu_u32)GROUP * ITEMS + ITEM, step = (gpu_u32)GROUPS * ITEMS;
    for (gpu_u32 i = first; i < n; i += step) {
        gpu_u32 expert = (gpu_u32)I32(phys)[i];
        int own = expert / e == call->rank;
        I32(slot)[i] = own ? (gpu_i32)i : -1;
        I32(place)[i] = own ? (gpu_i32)(i % K) : -1;
        I32(hits)[i] = own ? (gpu_i32)(expert % e) : -1;
        I64(sizes)[i] = own;
    }
    for (gpu_u32 k = first; k <= K; k += step)
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
