/* Stable placement: the rank of every slot among the earlier ones of its bin, by one
 * work-group.
 *
 * Slots are cut into one run per item. Every item counts its run by bin in the workspace, the
 * counts of a bin become its runs' starts, and every item walks its run again. So the order is
 * that of one pass, whatever the number of items; no atomics. */
enum bins {
    BINS_VALUE,  /* map[i] */
    BINS_OWNER,  /* map[i] / held */
    BINS_LOCAL,  /* the local expert map[i] is, if it is of this rank */
    BINS_RECORD, /* the expert of a record of 16 bytes */
    BINS_PAIR    /* i % ranks, where map[i] is not negative */
};

struct tally {
    gpu_u64 n, bins, runs, first; /* slots first .. first + n - 1 */
    struct tensor map;
    gpu_u64 held, ranks, rank;
    int kind;
    GLOBAL gpu_i32 *counts; /* [runs][bins]: starts of the runs in their bins */
    GLOBAL gpu_i32 *totals; /* [bins] */
};

/* The bin of a slot, or -1. */
DEVICE gpu_i64 bin_of(const struct tally *t, gpu_u64 slot)
{
    if (t->kind == BINS_RECORD)
        return ((const GLOBAL gpu_i32 *)t->map.data)[slot * 4 + 2];
    gpu_i32 value = I32(t->map)[slot];
    if (t->kind == BINS_PAIR)
        return value < 0 ? -1 : (gpu_i64)(slot % t->ranks);
    if (value < 0 || t->kind == BINS_VALUE)
        return value;
    if (t->kind == BINS_OWNER)
        return (gpu_i64)((gpu_u64)value / t->held);
    return (gpu_u64)value / t->held == t->rank ? (gpu_i64)((gpu_u64)value % t->held) : -1;
}

DEVICE struct span run_of(const struct tally *t, gpu_u64 run)
{
    struct span s;
    s.begin = t->first + run * t->n / t->runs;
    s.end = t->first + (run + 1) * t->n / t->runs;
    return s;
}

/* Counts, with all items; totals and the starts of runs are there afterwards. */
DEVICE struct tally tally(const struct gpu_call *call, const struct memory *memory, int kind,
                          struct tensor map, gpu_u64 first, gpu_u64 n, gpu_u64 bins)
{
    struct tally t;
    gpu_u64 words = (call->space_bytes - GPU_SPACE_HEAD) / 4;
    t.n = n;
    t.bins = bins;
    t.first = first;
    t.runs = words / bins > 1 ? words / bins - 1 : 1;
    t.runs = t.runs < ITEMS ? t.runs : ITEMS;
    t.map = map;
    t.held = call->held ? call->held : 1;
    t.ranks = call->ranks;
    t.rank = call->rank;
    t.kind = kind;
    t.totals = (GLOBAL gpu_i32 *)(memory->space + GPU_SPACE_HEAD);
    t.counts = t.totals + bins;
    BARRIER();
    for (gpu_u64 i = ITEM; i < t.runs * bins; i += ITEMS)
        t.counts[i] = 0;
    BARRIER();
    if (ITEM < t.runs) {
        struct span run = run_of(&t, ITEM);
        for (gpu_u64 i = run.begin; i < run.end; i++) {
            gpu_i64 bin = bin_of(&t, i);
            if (bin >= 0)
                t.counts[ITEM * bins + (gpu_u64)bin]++;
        }
    }
    BARRIER();
    for (gpu_u64 bin = ITEM; bin < bins; bin += ITEMS) {
        gpu_i32 sum = 0;
        for (gpu_u64 run = 0; run < t.runs; run++) {
            gpu_i32 count = t.counts[run * bins + bin];
            t.counts[run * bins + bin] = sum;
            sum += count;
        }
        t.totals[bin] = sum;
    }
    BARRIER();
    return t;
}

/* The next slot's rank in its bin, while an item walks its run. */
DEVICE gpu_i32 tally_next(const struct tally *t, gpu_i64 bin)
{
    return t->counts[ITEM * t->bins + (gpu_u64)bin]++;
}

/* ---- maps, with all items ---- */

DEVICE void fill_map(struct tensor map, gpu_i32 value)
{
    for (gpu_u64 i = ITEM; i < map.rows * map.width; i += ITEMS)
        I32(map)[i] = value;
}

/* Starts of n groups, each aligned, and the end. */
DEVICE void align_starts(GLOBAL gpu_i64 *offsets, const GLOBAL gpu_i32 *sizes, gpu_u64 n,
                         gpu_u64 alignment)
{
    gpu_u64 to = alignment ? alignment : 1;
    if (ITEM == 0) {
        offsets[0] = 0;
        for (gpu_u64 g = 0; g < n; g++)
            offsets[g + 1] = offsets[g] + (gpu_i64)(((gpu_u64)sizes[g] + to - 1) / to * to);
    }
    BARRIER();
}

/* Whether there are too many rows for a buffer; says so. */
DEVICE int overflows(const struct memory *memory, gpu_u64 rows, gpu_u64 capacity)
{
    if (rows <= capacity)
        return 0;
    if (ITEM == 0)
        report(memory, REPORT_OVERFLOW, rows, capacity);
    return 1;
}

DEVICE gpu_u64 rows_in(struct tensor receives, gpu_u64 all)
{
    gpu_u64 sum = 0;
    if (!receives.present)
        return all;
    for (gpu_u64 r = 0; r < receives.rows; r++)
        sum += (gpu_u64)I64(receives)[r];
    return sum;
}
