/* Whole rows moved, zeroed or added: a work-group a row, its items side by side. */

KERNEL(gather, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(index, 1);
    TENSOR(offsets, 2);
    TENSOR(gates, 3);
    TENSOR(dst, 4);
    struct span part = index_part(call, call->args.gather.part, index, offsets);
    gpu_u64 n = part.end - part.begin;
    for (gpu_u64 i = GROUP; i < dst.rows; i += GROUPS) {
        gpu_i32 from = i < n ? I32(index)[part.begin + i] : -1;
        gpu_u64 row = (gpu_u64)from / call->args.gather.divide.n;
        if (from < 0)
            zero_bytes(row_of(dst, i), dst.row_bytes);
        else if (gates.present)
            scale_row(src, row, F32(gates)[from], dst, i);
        else
            copy_bytes(row_of(dst, i), row_of(src, row), dst.row_bytes);
    }
}

/* No two rows of src share one of dst. */
KERNEL(scatter, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(index, 1);
    TENSOR(dst, 2);
    for (gpu_u64 i = GROUP; i < src.rows; i += GROUPS)
        if (I32(index)[i] >= 0)
            copy_bytes(row_of(dst, (gpu_u64)I32(index)[i]), row_of(src, i), src.row_bytes);
}

/* A row is a whole matrix: pieces of it are taken by work-groups of their own. */
KERNEL(pick, 64, 0)
{
    TENSOR(weight, 0);
    TENSOR(hits, 1);
    TENSOR(dst, 2);
    gpu_u64 first = call->args.pick.by_iteration ? call->iteration * dst.rows : 0;
    gpu_u64 pieces = (dst.row_bytes + GPU_PICK_BYTES - 1) / GPU_PICK_BYTES;
    for (gpu_u64 i = GROUP; i < dst.rows * pieces; i += GROUPS) {
        gpu_i32 from = I32(hits)[first + i / pieces];
        gpu_u64 at = i % pieces * GPU_PICK_BYTES, left = dst.row_bytes - at;
        if (from >= 0)
            copy_bytes(row_of(dst, i / pieces) + at, row_of(weight, (gpu_u64)from) + at,
                       left < GPU_PICK_BYTES ? left : GPU_PICK_BYTES);
    }
}

/* dst may be seen as longer rows */
KERNEL(swap, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(dst, 1);
    gpu_u64 m = call->args.swap.m.n, n = call->args.swap.n.n, k = call->args.swap.k.n;
    for (gpu_u64 i = GROUP; i < src.rows; i += GROUPS) {
        gpu_u64 c = i % k, b = i / k % m, a = i / k / m;
        copy_bytes(dst.data + i * src.row_bytes, row_of(src, (b * n + a) * k + c),
                   src.row_bytes);
    }
}

/* Rows behind the last group become zero. */
KERNEL(mask, 64, 0)
{
    TENSOR(offsets, 0);
    TENSOR(dst, 1);
    gpu_u64 valid = (gpu_u64)I64(offsets)[offsets.rows - 1];
    for (gpu_u64 i = valid + GROUP; i < dst.rows; i += GROUPS)
        zero_bytes(row_of(dst, i), dst.row_bytes);
}

KERNEL(zero, 64, 0)
{
    TENSOR(dst, 0);
    for (gpu_u64 i = call->args.zero.first.n + GROUP; i < dst.rows; i += GROUPS)
        zero_bytes(row_of(dst, i), dst.row_bytes);
}

DEVICE void add_rows(struct tensor a, gpu_u64 row_a, struct tensor b, gpu_u64 row_b,
                     struct tensor sum, gpu_u64 width)
{
    if (in_eights(a, row_a * width, width) && in_eights(b, row_b * width, width) &&
        in_eights(sum, 0, width)) {
        for (gpu_u64 c = (gpu_u64)ITEM * 8; c < width; c += (gpu_u64)ITEMS * 8) {
            struct eight one = eight_at(a, row_a * width + c);
            struct eight other = eight_at(b, row_b * width + c);
            float v[8], w[8];
            floats_of(a.format, one, v);
            floats_of(b.format, other, w);
            UNROLL
            for (int i = 0; i < 8; i++)
                v[i] += w[i];
            store_eight(sum, row_b * width + c, v);
        }
        return;
    }
    for (gpu_u64 c = ITEM; c < width; c += ITEMS)
        store(sum, row_b * width + c, load(a, row_a * width + c) + load(b, row_b * width + c));
}

KERNEL(add, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(other, 1);
    TENSOR(dst, 2);
    for (gpu_u64 i = GROUP; i < dst.rows; i += GROUPS)
        add_rows(src, i, other, i, dst, dst.width);
}

/* The chunks of a hop added to the array, which is seen in rows of what arrives. */
KERNEL(add_chunks, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(dst, 1);
    gpu_u64 rows = dst.rows * dst.width / src.width / call->args.hop.ranks.n;
    for (gpu_u64 i = GROUP; i < call->hop_chunks * rows; i += GROUPS)
        add_rows(src, i, dst, call->hop_received * rows + i, dst, src.width);
}

/* One copy of the rows a group, the rows of other groups zero. */
KERNEL(expand, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(offsets, 1);
    TENSOR(dst, 2);
    gpu_u64 bytes = src.row_bytes, n = dst.rows * dst.dim1;
    for (gpu_u64 i = GROUP; i < n; i += GROUPS) {
        gpu_u64 g = i / dst.dim1, row = i % dst.dim1;
        if (row >= (gpu_u64)I64(offsets)[g] && row < (gpu_u64)I64(offsets)[g + 1])
            copy_bytes(dst.data + i * bytes, row_of(src, row), bytes);
        else
            zero_bytes(dst.data + i * bytes, bytes);
    }
}
