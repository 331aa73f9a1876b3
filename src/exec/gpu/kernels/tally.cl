/* Stable placement: the rank of every slot among the earlier ones of its bin.
 *
 * Slots are cut into pieces, one a work-group, in three launches, for groups cannot wait for
 * each other. Each counts its piece by bin; the counts of a bin become its pieces' starts
 * (k_starts); each walks its piece, 256 slots at a time, where a slot's rank is the number of
 * its like in front of it. So the order is that of one pass, whatever the number of pieces. Few
 * slots are one piece: the last launch, a group alone, does all of it. */
enum bins {
    BINS_VALUE,  /* map[i] */
    BINS_OWNER,  /* map[i] / held, behind the bins of experts */
    BINS_LOCAL,  /* the local expert map[i] is, if it is of this rank */
    BINS_RECORD, /* the expert of a record of 16 bytes */
    BINS_PAIR,   /* i % ranks, where map[i] is not negative */
    BINS_LOT     /* map[i] * ranks + i / held: of lots that are placed apart */
};

struct tally {
    gpu_u32 n, bins, pieces, column; /* column: the group's among the counts */
    gpu_u32 begin, end;              /* the group's slots */
    gpu_u32 held, ranks, rank;
    int kind;
    struct tensor map;
    GLOBAL gpu_i32 *totals; /* [bins] */
    GLOBAL gpu_i32 *counts; /* [bins][pieces]: starts of the pieces in their bins */
};

/* Of work-group memory, for sums and for the bins of slots that are walked. */
enum { TALLY_BYTES = 2 * 256 * 4 };

/* The bin of a slot, or -1. */
DEVICE gpu_i32 bin_of(const struct tally *t, gpu_u32 slot)
{
    if (t->kind == BINS_RECORD)
        return ((const GLOBAL gpu_i32 *)t->map.data)[(gpu_u64)slot * 4 + 2];
    gpu_i32 value = I32(t->map)[slot];
    if (t->kind == BINS_PAIR)
        return value < 0 ? -1 : (gpu_i32)(slot % t->ranks);
    if (value < 0 || t->kind == BINS_VALUE)
        return value;
    if (t->kind == BINS_LOT)
        return (gpu_i32)((gpu_u32)value * t->ranks + slot / t->held);
    gpu_u32 owner = (gpu_u32)value / t->held;
    if (t->kind == BINS_OWNER)
        return (gpu_i32)(t->ranks * t->held + owner);
    return owner == t->rank ? (gpu_i32)((gpu_u32)value % t->held) : -1;
}

/* A piece of the slots from `first` on. */
DEVICE void tally_take(struct tally *t, gpu_u32 first, gpu_u32 n, gpu_u32 piece)
{
    gpu_u32 each = (n + t->pieces - 1) / t->pieces, begin = piece * each;
    t->begin = first + (begin < n ? begin : n);
    t->end = first + (begin + each < n ? begin + each : n);
}

DEVICE struct tally tally_of(const struct gpu_call *call, const struct memory *memory, int kind,
                             struct tensor map, gpu_u64 n)
{
    struct tally t;
    t.n = (gpu_u32)n;
    t.bins = call->bins;
    t.pieces = call->pieces;
    t.column = (gpu_u32)GROUP % t.pieces;
    t.held = call->held ? (gpu_u32)call->held : 1;
    t.ranks = (gpu_u32)call->ranks;
    t.rank = (gpu_u32)call->rank;
    t.kind = kind;
    t.map = map;
    t.totals = (GLOBAL gpu_i32 *)(memory->space + GPU_SPACE_HEAD);
    t.counts = t.totals + t.bins;
    tally_take(&t, 0, t.n, t.column);
    return t;
}

/* The group's count of a bin; later where its next slot of the bin goes. */
DEVICE GLOBAL gpu_i32 *tally_at(const struct tally *t, gpu_u32 bin)
{
    return t->counts + ((gpu_u64)bin * t->pieces + t->column);
}

DEVICE void tally_clear(const struct tally *t)
{
    for (gpu_u32 bin = ITEM; bin < t->bins; bin += ITEMS)
        *tally_at(t, bin) = 0;
    BARRIER();
}

DEVICE void tally_add(const struct tally *t)
{
    for (gpu_u32 i = t->begin + ITEM; i < t->end; i += ITEMS) {
        gpu_i32 bin = bin_of(t, i);
        if (bin >= 0)
            COUNT_ONE(tally_at(t, (gpu_u32)bin));
    }
}

/* What a group alone has to count and to total before it walks; of several none has. */
DEVICE struct tally tally_alone(const struct tally *t)
{
    struct tally own = *t;
    if (GROUPS > 1) {
        own.bins = 0;
        own.end = own.begin;
    }
    return own;
}

/* Of the only piece a count is its total. */
DEVICE void tally_total(const struct tally *own)
{
    BARRIER();
    for (gpu_u32 bin = ITEM; bin < own->bins; bin += ITEMS) {
        own->totals[bin] = *tally_at(own, bin);
        *tally_at(own, bin) = 0;
    }
    BARRIER();
}

DEVICE void tally_count(const struct tally *t)
{
    const struct tally own = tally_alone(t);
    tally_clear(&own);
    tally_add(&own);
    tally_total(&own);
}

/* The sum of the values of all items in front, and of all items. */
DEVICE gpu_u32 sum_before(LOCAL gpu_u32 *sums, gpu_u32 value, gpu_u32 *all)
{
    gpu_u32 from = 0;
    sums[ITEM] = value;
    BARRIER();
    for (gpu_u32 step = 1; step < ITEMS; step *= 2) {
        gpu_u32 more = ITEM >= step ? sums[from + ITEM - step] : 0;
        sums[ITEMS - from + ITEM] = sums[from + ITEM] + more;
        from = ITEMS - from;
        BARRIER();
    }
    gpu_u32 before = sums[from + ITEM] - value;
    *all = sums[from + ITEMS - 1];
    BARRIER();
    return before;
}

/* An item's share of n values that are summed in order. */
DEVICE struct span share_of(gpu_u32 n)
{
    struct span s;
    gpu_u32 each = (n + ITEMS - 1) / ITEMS, begin = ITEM * each;
    s.begin = begin < n ? begin : n;
    s.end = begin + each < n ? begin + each : n;
    return s;
}

DEVICE gpu_u32 aligned(gpu_i32 rows, gpu_u32 alignment)
{
    gpu_u32 to = alignment ? alignment : 1;
    return to == 1 ? (gpu_u32)rows : ((gpu_u32)rows + to - 1) / to * to;
}

/* Bins first .. first + n - 1 stand behind each other, each aligned: adds their starts to the
 * group's counts. Returns where the last one ends. */
DEVICE gpu_u32 tally_align(const struct tally *t, LOCAL gpu_u32 *sums, gpu_u32 first, gpu_u32 n,
                           gpu_u64 alignment)
{
    const struct span own = share_of(n);
    gpu_u32 sum = 0, end;
    for (gpu_u64 b = own.begin; b < own.end; b++)
        sum += aligned(t->totals[first + b], (gpu_u32)alignment);
    sum = sum_before(sums, sum, &end);
    for (gpu_u64 b = own.begin; b < own.end; b++) {
        *tally_at(t, first + (gpu_u32)b) += (gpu_i32)sum;
        sum += aligned(t->totals[first + b], (gpu_u32)alignment);
    }
    BARRIER();
    return end;
}

/* The first group's counts are then the bins' starts: kept, with the end and the bins' rows. */
DEVICE void tally_keep(const struct tally *t, gpu_u32 end, struct tensor offsets,
                       struct tensor sizes)
{
    for (gpu_u32 bin = ITEM; GROUP == 0 && bin < t->bins; bin += ITEMS) {
        I64(offsets)[bin] = *tally_at(t, bin);
        I64(sizes)[bin] = t->totals[bin];
    }
    if (GROUP == 0 && ITEM == 0)
        I64(offsets)[t->bins] = end;
    BARRIER();
}

/* Where an item's slot goes, when the group walks its piece with all items at once: slot `turn`
 * and those behind it; -1: nowhere. What is decided before a barrier is read again behind it.
 */
DEVICE gpu_i32 tally_next(const struct tally *t, LOCAL gpu_i32 *walked, gpu_u32 turn)
{
    gpu_i32 at = -1;
    BARRIER();
    walked[ITEM] = turn + ITEM < t->end ? bin_of(t, turn + ITEM) : -1;
    BARRIER();
    if (walked[ITEM] >= 0) {
        gpu_i32 bin = walked[ITEM];
        at = *tally_at(t, (gpu_u32)bin);
        for (gpu_u32 i = 0; i < ITEM; i++)
            at += walked[i] == bin;
    }
    BARRIER();
    if (walked[ITEM] >= 0 && turn + ITEMS < t->end)
        COUNT_ONE(tally_at(t, (gpu_u32)walked[ITEM]));
    return at;
}

/* ---- maps, with all items of all groups ---- */

DEVICE void fill_map(struct tensor map, gpu_i32 value)
{
    for (gpu_u64 i = GROUP * ITEMS + ITEM; i < map.rows * map.width; i += GROUPS * ITEMS)
        I32(map)[i] = value;
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

/* The rows that were received, or all there are. */
DEVICE gpu_u64 rows_in(struct tensor receives, gpu_u64 all, LOCAL gpu_u32 *sums)
{
    gpu_u32 own = 0, sum;
    for (gpu_u64 r = ITEM; receives.present && r < receives.rows; r += ITEMS)
        own += (gpu_u32)I64(receives)[r];
    sum_before(sums, own, &sum);
    return receives.present ? sum : all;
}
