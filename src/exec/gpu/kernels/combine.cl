/* Sums of rows, and their gradients. A token's rows are added in the order of a binary tree
 * over keys, as the host's kernel does and says why; no atomics. */

enum { TREE_DEPTH = 40, FEW = 8 };

/* A token's rows in work-group memory, GPU_MOST_SLOTS words each: as they come, and in the
 * order of their keys. PART_DEPTH[i]: at which level of the tree row i and the one before part.
 */
enum {
    PART_GIVEN = 0,
    PART_FOUND = GPU_MOST_SLOTS,
    PART_KEY = 2 * GPU_MOST_SLOTS,
    PART_ROW = 3 * GPU_MOST_SLOTS,
    PART_DEPTH = 4 * GPU_MOST_SLOTS,
    PART_GATE = 5 * GPU_MOST_SLOTS, /* bits of f32 */
    PART_COUNT = 6 * GPU_MOST_SLOTS
};

/* The level at which two keys a < b of [0, high) come into different halves. */
DEVICE int parting(gpu_u64 a, gpu_u64 b, gpu_u64 high)
{
    gpu_u64 low = 0;
    for (int depth = 0; depth < TREE_DEPTH; depth++) {
        gpu_u64 middle = low + (high - low) / 2;
        if (a < middle && b >= middle)
            return depth;
        if (a < middle)
            high = middle;
        else
            low = middle;
    }
    return TREE_DEPTH;
}

/* The sum of n parts in a column: sums wait on a stack until what parts them from the next is
 * higher in the tree than what parted them from the one before. */
DEVICE float sum_parts(const LOCAL gpu_i32 *words, gpu_u32 n, struct tensor src, gpu_u64 column,
                       int gated)
{
    float waiting[TREE_DEPTH];
    int level[TREE_DEPTH], top = 0;
    for (gpu_u32 i = 0; i < n; i++) {
        float value = load(src, (gpu_u64)words[PART_ROW + i] * src.width + column);
        if (gated)
            value *= AS_FLOAT((gpu_u32)words[PART_GATE + i]);
        int depth = i + 1 < n ? words[PART_DEPTH + i + 1] : -1;
        while (top > 0 && level[top - 1] > depth)
            value = waiting[--top] + value;
        waiting[top] = value;
        level[top++] = depth;
    }
    return n > 0 ? waiting[0] : 0;
}

/* After which part a sum that ends with part i is added to what follows it: the first that a
 * higher level of the tree parts from the next. */
DEVICE gpu_u32 waits_for(const LOCAL gpu_i32 *words, gpu_u32 n, gpu_u32 i)
{
    gpu_u32 part = i + 1;
    while (part + 1 < n && words[PART_DEPTH + part + 1] >= words[PART_DEPTH + i + 1])
        part++;
    return part;
}

/* The same sums of FEW parts at most, of eight columns at once and without a stack: part i's
 * place holds the sum that ends with it, and when it is wanted is the same for all columns. A
 * product with a gate is rounded before it is added. */
DEVICE void sum_few(const LOCAL gpu_i32 *words, gpu_u32 n, const gpu_u32 *wanted,
                    struct tensor src, gpu_u64 column, int gated, float *sum)
{
    struct eight parts[FEW];
    float waiting[FEW][8];
    UNROLL
    for (gpu_u32 i = 0; i < FEW; i++)
        if (i < n)
            parts[i] = eight_at(src, (gpu_u64)words[PART_ROW + i] * src.width + column);
    UNROLL
    for (int c = 0; c < 8; c++)
        sum[c] = 0;
    UNROLL
    for (gpu_u32 i = 0; i < FEW; i++) {
        if (i >= n)
            continue;
        float gate = AS_FLOAT((gpu_u32)words[PART_GATE + i]);
        floats_of(src.format, parts[i], sum);
        UNROLL
        for (int c = 0; c < 8; c++)
            sum[c] = gated ? PRODUCT(sum[c], gate) : sum[c];
        UNROLL
        for (gpu_u32 left = i; left-- > 0;) {
            if (wanted[left] != i)
                continue;
            UNROLL
            for (int c = 0; c < 8; c++)
                sum[c] = waiting[left][c] + sum[c];
        }
        UNROLL
        for (int c = 0; c < 8; c++)
            waiting[i][c] = sum[c];
    }
}

/* A row of dst; formats are known where this is called, so that nothing of parts of 16 bits is
 * kept for the other half of wider ones. */
DEVICE void combine_few(const LOCAL gpu_i32 *words, gpu_u32 n, struct tensor src,
                        struct tensor dst, gpu_u64 row, int gated)
{
    gpu_u32 wanted[FEW];
    UNROLL
    for (gpu_u32 i = 0; i < FEW; i++)
        wanted[i] = i + 1 < n ? waits_for(words, n, i) : FEW;
    for (gpu_u64 c = (gpu_u64)ITEM * 8; c < dst.width; c += (gpu_u64)ITEMS * 8) {
        float sum[8];
        sum_few(words, n, wanted, src, c, gated, sum);
        store_eight(dst, row * dst.width + c, sum);
    }
}

DEVICE void combine_row(const LOCAL gpu_i32 *words, gpu_u32 n, struct tensor src,
                        struct tensor dst, gpu_u64 row, int gated)
{
    if (n <= FEW && in_eights(src, 0, src.width) && in_eights(dst, 0, dst.width)) {
        if (src.format == FORMAT_BF16) {
            src.format = FORMAT_BF16;
            combine_few(words, n, src, dst, row, gated);
        } else {
            combine_few(words, n, src, dst, row, gated);
        }
        return;
    }
    for (gpu_u64 c = ITEM; c < dst.width; c += ITEMS)
        store(dst, row * dst.width + c, sum_parts(words, n, src, c, gated));
}

/* How many of the rows there are come before row s: lower keys, and equal ones in front. */
DEVICE gpu_u32 before(const LOCAL gpu_i32 *words, gpu_u32 n, gpu_u32 s)
{
    gpu_u32 count = 0;
    gpu_i32 key = words[PART_FOUND + s];
    for (gpu_u32 o = 0; o < n; o++) {
        gpu_i32 other = words[PART_FOUND + o];
        if (words[PART_GIVEN + o] >= 0 && (other < key || (other == key && o < s)))
            count++;
    }
    return count;
}

KERNEL(combine, 64, (6 * GPU_MOST_SLOTS + 2) * 4)
{
    TENSOR(src, 0);
    TENSOR(position, 1);
    TENSOR(gates, 2);
    TENSOR(keys, 3);
    TENSOR(handle, 4);
    TENSOR(dst, 5);
    LOCAL gpu_i32 *words = (LOCAL gpu_i32 *)scratch;
    const struct combine_args a = call->args.combine;
    gpu_u32 slots = (gpu_u32)a.slots.n;
    gpu_u64 high = keys.present ? call->ranks * call->held : slots;
    gpu_u64 first = a.by_iteration ? call->iteration : GROUP;
    gpu_u64 end = a.by_iteration ? first + 1 : dst.rows;
    if (handle.present && (gpu_u64)I64(handle)[0] != call->step) {
        report(memory, REPORT_HANDLE, (gpu_u64)I64(handle)[0], call->step);
        end = first;
    }
    for (gpu_u64 i = first; i < end; i += GROUPS) {
        for (gpu_u32 s = ITEM; s < slots; s += ITEMS) {
            gpu_u64 row = a.slot_major ? i * slots + s : s * dst.rows + i;
            words[PART_GIVEN + s] =
                position.present ? I32(position)[i * slots + s] : (gpu_i32)row;
            words[PART_FOUND + s] = keys.present ? I32(keys)[i * slots + s] : (gpu_i32)s;
        }
        BARRIER();
        for (gpu_u32 s = ITEM; s < slots; s += ITEMS) {
            gpu_u32 at = before(words, slots, s);
            if (words[PART_GIVEN + s] < 0)
                continue;
            words[PART_KEY + at] = words[PART_FOUND + s];
            words[PART_ROW + at] = words[PART_GIVEN + s];
            words[PART_GATE + at] =
                (gpu_i32)AS_BITS(gates.present ? F32(gates)[i * slots + s] : 1.0F);
        }
        if (ITEM == 0) {
            gpu_i32 count = 0;
            for (gpu_u32 s = 0; s < slots; s++)
                count += words[PART_GIVEN + s] >= 0;
            words[PART_COUNT] = count;
        }
        BARRIER();
        gpu_u32 n = (gpu_u32)words[PART_COUNT];
        for (gpu_u32 s = ITEM + 1; s < n; s += ITEMS)
            words[PART_DEPTH + s] =
                parting((gpu_u64)words[PART_KEY + s - 1], (gpu_u64)words[PART_KEY + s], high);
        BARRIER();
        combine_row(words, n, src, dst, i, gates.present);
        BARRIER();
    }
}

/* ---- gradients ---- */

KERNEL(spread, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(inverse, 1);
    TENSOR(gates, 2);
    TENSOR(handle, 3);
    TENSOR(dst, 4);
    gpu_u64 slots = call->args.combine.slots.n;
    if (handle.present && (gpu_u64)I64(handle)[0] != call->step) {
        report(memory, REPORT_HANDLE, (gpu_u64)I64(handle)[0], call->step);
        return;
    }
    for (gpu_u64 row = GROUP; row < dst.rows; row += GROUPS) {
        gpu_i64 slot = (gpu_i64)(row % src.rows * slots + row / src.rows);
        if (inverse.present)
            slot = I32(inverse)[row];
        else if (call->args.combine.slot_major)
            slot = (gpu_i64)row;
        if (slot < 0)
            zero_bytes(row_of(dst, row), dst.row_bytes);
        else
            scale_row(src, (gpu_u64)slot / slots, gates.present ? F32(gates)[slot] : 1, dst,
                      row);
    }
}

/* The product of `width` elements of two rows, on all items. */
DEVICE float dot_rows(struct tensor a, gpu_u64 row_a, struct tensor b, gpu_u64 row_b,
                      gpu_u64 width, LOCAL double *sums)
{
    double sum = 0;
    gpu_u64 from_a = row_a * a.width, from_b = row_b * b.width;
    int eights = in_eights(a, from_a, width) && in_eights(b, from_b, width);
    for (gpu_u64 c = (gpu_u64)ITEM * 8; eights && c < width; c += (gpu_u64)ITEMS * 8) {
        float v[8], w[8];
        load_eight(a, from_a + c, v);
        load_eight(b, from_b + c, w);
        UNROLL
        for (int i = 0; i < 8; i++)
            sum += (double)v[i] * (double)w[i];
    }
    for (gpu_u64 c = ITEM; !eights && c < width; c += ITEMS)
        sum += (double)load(a, from_a + c) * (double)load(b, from_b + c);
    return (float)sum_of_items(sum, sums);
}

KERNEL(gate_grad, 64, 64 * 8)
{
    TENSOR(src, 0);
    TENSOR(position, 1);
    TENSOR(d_dst, 2);
    TENSOR(d_gates, 3);
    gpu_u64 slots = call->args.combine.slots.n;
    for (gpu_u64 i = GROUP; i < d_dst.rows * slots; i += GROUPS) {
        gpu_i64 row = position.present ? I32(position)[i] : (gpu_i64)i;
        float value = dot_rows(src, (gpu_u64)row, d_dst, i / slots, row < 0 ? 0 : d_dst.width,
                               (LOCAL double *)scratch);
        if (ITEM == 0)
            F32(d_gates)[i] = value;
    }
}

/* ---- expert by expert ---- */

/* The slot that row `row` has in this iteration, or -1: the index says, or the token chose this
 * iteration's expert. */
DEVICE gpu_i64 slot_in_loop(const struct gpu_call *call, struct tensor phys,
                            struct tensor index, struct tensor offsets, gpu_u64 row)
{
    if (index.present) {
        struct span part = index_part(call, call->args.part, index, offsets);
        return part.begin + row < part.end ? I32(index)[part.begin + row] : -1;
    }
    gpu_i32 expert = (gpu_i32)(call->rank * call->held + call->iteration);
    for (gpu_u64 k = 0; k < phys.width; k++)
        if (I32(phys)[row * phys.width + k] == expert)
            return (gpu_i64)(row * phys.width + k);
    return -1;
}

/* An expert has no token twice. */
KERNEL(accumulate, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(gates, 1);
    TENSOR(phys, 2);
    TENSOR(index, 3);
    TENSOR(offsets, 4);
    TENSOR(dst, 5);
    for (gpu_u64 row = GROUP; row < src.rows; row += GROUPS) {
        gpu_i64 slot = slot_in_loop(call, phys, index, offsets, row);
        if (slot < 0)
            continue;
        gpu_u64 to = (gpu_u64)slot / phys.width * dst.width;
        float gate = gates.present ? F32(gates)[slot] : 1;
        add_scaled(src, row * src.width, gate, dst, to, dst.width);
    }
}

KERNEL(accumulate_grad, 64, 64 * 8)
{
    TENSOR(src, 0);
    TENSOR(gates, 1);
    TENSOR(phys, 2);
    TENSOR(d_dst, 3);
    TENSOR(index, 4);
    TENSOR(offsets, 5);
    TENSOR(dst, 6);
    TENSOR(d_gates, 7);
    gpu_u64 rows = dst.present ? dst.rows : src.rows;
    for (gpu_u64 row = GROUP; row < rows; row += GROUPS) {
        gpu_i64 slot = slot_in_loop(call, phys, index, offsets, row);
        gpu_u64 token = slot < 0 ? 0 : (gpu_u64)slot / phys.width;
        if (dst.present && slot < 0)
            zero_bytes(row_of(dst, row), dst.row_bytes);
        else if (dst.present)
            scale_row(d_dst, token, gates.present ? F32(gates)[slot] : 1, dst, row);
        int asked = d_gates.present && slot >= 0;
        float value =
            dot_rows(src, row, d_dst, token, asked ? d_dst.width : 0, (LOCAL double *)scratch);
        if (asked && ITEM == 0)
            F32(d_gates)[slot] = value;
    }
}
