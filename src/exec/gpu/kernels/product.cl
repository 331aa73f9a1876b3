/* Products, a tile a work-group (tile.cl). A group's tiles are found by counting through the
 * groups: the grid is the most there can be, and what is left over returns. */

/* ---- gemm, chunk_gemm ---- */

DEVICE gpu_u64 matrix_number(const struct gpu_call *call, struct tensor weight,
                             struct tensor map, gpu_u64 group)
{
    if (call->chunk)
        return (call->rank + call->iteration) % weight.rows;
    gpu_u64 number = call->args.gemm.rows.turn ? call->iteration : group;
    return map.present ? (gpu_u64)I32(map)[number] : number;
}

DEVICE void gemm_tile(const struct gpu_call *call, struct tensor src, struct tensor weight,
                      struct tensor map, struct tensor bias, struct tensor dst,
                      const struct grouping *g, gpu_u64 group, gpu_u64 number,
                      LOCAL char *scratch)
{
    struct span rows = group_at(g, group);
    gpu_u64 shift = g->shared ? group * src.rows : 0;
    gpu_u64 matrix = matrix_number(call, weight, map, group);
    struct tile t = tile_of(number, rows.end - rows.begin, dst.width);
    struct operand x = rows_operand(src, rows.begin, 0);
    struct operand y = weight_operand(weight, matrix, call->args.gemm.transposed);
    float sum[OWN_ROWS * OWN];
    clear(sum);
    int adds = call->chunk && call->iteration > 0;
    multiply(&x, &y, t, src.width, MEETS_NONE, (LOCAL float *)scratch, sum);
    for (gpu_u32 i = 0; i < OWN_ROWS; i++)
        for (gpu_u32 j = 0; j < OWN; j++) {
            if (!is_mine(t, i, j))
                continue;
            gpu_u64 column = column_in(t, j);
            gpu_u64 at = (rows.begin + shift + row_in(t, i)) * dst.width + column;
            float value = sum[i * OWN + j] + (adds ? load(dst, at) : 0);
            if (bias.present)
                value += F32(bias)[matrix * bias.width + column];
            store(dst, at, value);
        }
}

/* Which group a tile of a product is in, and which of the group's it is; group g.n: in none. */
DEVICE gpu_u64 group_of_tile(const struct grouping *g, gpu_u64 columns, gpu_u64 *number)
{
    gpu_u64 group = 0;
    for (; group < g->n; group++) {
        struct span rows = group_at(g, group);
        gpu_u64 tiles = tiles_of(rows.end - rows.begin, columns);
        if (*number < tiles)
            break;
        *number -= tiles;
    }
    return group;
}

KERNEL(gemm, 256, PRODUCT_BYTES)
{
    TENSOR(src, 0);
    TENSOR(weight, 1);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    TENSOR(map, 4);
    TENSOR(bias, 5);
    TENSOR(dst, 6);
    struct grouping g = grouping_of(call, call->args.gemm.rows, offsets, sizes, src.rows);
    gpu_u64 number = GROUP, group = group_of_tile(&g, dst.width, &number);
    if (group < g.n)
        gemm_tile(call, src, weight, map, bias, dst, &g, group, number, scratch);
}

/* ---- gated_gemm: the activation of a product's rows, whose sums are rounded first ---- */

/* Where a group's sums go: rows from `row` on, kept where `kept` is there. */
struct gated_to {
    gpu_u64 depth, matrix, row;
    struct tensor bias, dst, kept;
};

/* A tile's sums, of gates or of ups. */
DEVICE void gated_sums(const struct operand *x, const struct operand *y, struct tile t,
                       const struct gated_to *to, LOCAL char *scratch, float *sum)
{
    clear(sum);
    multiply(x, y, t, to->depth, MEETS_NONE, (LOCAL float *)scratch, sum);
    for (gpu_u32 i = 0; i < OWN_ROWS; i++)
        for (gpu_u32 j = 0; j < OWN; j++) {
            if (!is_mine(t, i, j))
                continue;
            gpu_u64 column = column_in(t, j);
            float *value = &sum[i * OWN + j];
            if (to->bias.present)
                *value += F32(to->bias)[to->matrix * to->bias.width + column];
            *value = rounded(to->dst.format, *value);
            if (to->kept.present)
                store(to->kept, (to->row + row_in(t, i)) * to->kept.width + column, *value);
        }
}

/* Gates, and ups where there are any. */
DEVICE void gated_tile(const struct gpu_call *call, struct tensor src, struct tensor weight,
                       const struct gated_to *to, struct span rows, gpu_u64 number,
                       LOCAL char *scratch)
{
    gpu_u64 inter = to->dst.width;
    struct tile t = tile_of(number, rows.end - rows.begin, inter), part = t;
    struct operand x = rows_operand(src, rows.begin, 0);
    struct operand y = weight_operand(weight, to->matrix, 0);
    int glu = y.columns == 2 * inter;
    float sums[2][OWN_ROWS * OWN];
    for (int up = 0; up <= glu; up++) { /* a loop: drivers differ on barriers under an if */
        part.n0 = t.n0 + up * inter;
        gated_sums(&x, &y, part, to, scratch, sums[up]);
    }
    for (gpu_u32 i = 0; i < OWN_ROWS; i++)
        for (gpu_u32 j = 0; j < OWN; j++)
            if (is_mine(t, i, j))
                store(to->dst, (to->row + row_in(t, i)) * inter + column_in(t, j),
                      gated(call->curve, sums[0][i * OWN + j], glu ? sums[1][i * OWN + j] : 1,
                            glu));
}

KERNEL(gated_gemm, 256, PRODUCT_BYTES)
{
    TENSOR(src, 0);
    TENSOR(weight, 1);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    TENSOR(map, 4);
    struct gated_to to;
    to.bias = tensor_at(call, memory, 5);
    to.dst = tensor_at(call, memory, 6);
    to.kept = tensor_at(call, memory, 7);
    to.depth = src.width;
    struct grouping g = grouping_of(call, call->args.gemm.rows, offsets, sizes, src.rows);
    gpu_u64 number = GROUP, group = group_of_tile(&g, to.dst.width, &number);
    if (group < g.n) {
        struct span rows = group_at(&g, group);
        to.row = rows.begin + (g.shared ? group * src.rows : 0);
        to.matrix = matrix_number(call, weight, map, group);
        gated_tile(call, src, weight, &to, rows, number, scratch);
    }
}

/* ---- wgrad: the contracted dimension is the ragged one ---- */

DEVICE void bias_gradient(const struct gpu_call *call, struct tensor d_dst, struct span rows,
                          struct tile t, GLOBAL float *to)
{
    for (gpu_u64 c = ITEM; c < t.n; c += ITEMS) {
        float sum = call->args.gemm.sum ? to[t.n0 + c] : 0;
        for (gpu_u64 r = rows.begin; r < rows.end; r++)
            sum += load(d_dst, r * d_dst.width + t.n0 + c);
        to[t.n0 + c] = sum;
    }
}

KERNEL(wgrad, 256, PRODUCT_BYTES)
{
    TENSOR(src, 0);
    TENSOR(d_dst, 1);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    TENSOR(map, 4);
    TENSOR(d_weight, 5);
    TENSOR(d_bias, 6);
    struct grouping g = grouping_of(call, call->args.gemm.rows, offsets, sizes, src.rows);
    gpu_u64 tiles = tiles_of(src.width, d_dst.width), group = GROUP / tiles;
    if (group >= g.n)
        return;
    struct span rows = group_at(&g, group);
    if (map.present && rows.begin == rows.end)
        return; /* the map gives its matrix to another group */
    gpu_u64 shift = g.shared ? group * src.rows : 0;
    gpu_u64 matrix = matrix_number(call, d_weight, map, group);
    struct tile t = tile_of(GROUP % tiles, src.width, d_dst.width);
    struct operand x = rows_operand(src, rows.begin, 1);
    struct operand y = rows_operand(d_dst, rows.begin + shift, 0);
    struct tensor dw = d_weight;
    float sum[OWN_ROWS * OWN];
    clear(sum);
    if (dw.n_dims > 2)
        dw.data = row_of(d_weight, matrix);
    multiply(&x, &y, t, rows.end - rows.begin, MEETS_NONE, (LOCAL float *)scratch, sum);
    for (gpu_u32 i = 0; i < OWN_ROWS; i++)
        for (gpu_u32 j = 0; j < OWN; j++) {
            gpu_u64 at = row_in(t, i) * d_dst.width + column_in(t, j);
            if (is_mine(t, i, j))
                store(dw, at, sum[i * OWN + j] + (call->args.gemm.sum ? load(dw, at) : 0));
        }
    rows.begin += shift;
    rows.end += shift;
    if (d_bias.present && t.m0 == 0)
        bias_gradient(call, d_dst, rows, t, F32(d_bias) + matrix * d_bias.width);
}

/* ---- the expanded products of ragged_dot: over all groups' copies ---- */

/* Group g's copy of a [e, M, k] tensor. */
DEVICE struct tensor copy_of(struct tensor wide, gpu_u64 g)
{
    struct tensor one = wide;
    one.data = row_of(wide, g);
    one.rows = wide.dim1;
    one.width = wide.dim2;
    return one;
}

KERNEL(expanded_gemm, 256, PRODUCT_BYTES)
{
    TENSOR(src, 0);
    TENSOR(weight, 1);
    TENSOR(dst, 2);
    struct tile t = tile_of(GROUP, dst.rows, dst.width);
    float sum[OWN_ROWS * OWN];
    if (GROUP >= tiles_of(dst.rows, dst.width))
        return;
    clear(sum);
    for (gpu_u64 g = 0; g < src.rows; g++) {
        struct operand x = rows_operand(copy_of(src, g), 0, 0);
        struct operand y = weight_operand(weight, g, call->args.gemm.transposed);
        multiply(&x, &y, t, src.dim2, MEETS_NONE, (LOCAL float *)scratch, sum);
    }
    for (gpu_u32 i = 0; i < OWN_ROWS; i++)
        for (gpu_u32 j = 0; j < OWN; j++)
            if (is_mine(t, i, j))
                store(dst, row_in(t, i) * dst.width + column_in(t, j), sum[i * OWN + j]);
}

KERNEL(expanded_wgrad, 256, PRODUCT_BYTES)
{
    TENSOR(src, 0);
    TENSOR(d_dst, 1);
    TENSOR(d_weight, 2);
    gpu_u64 tiles = tiles_of(src.dim2, d_dst.width), group = GROUP / tiles;
    if (group >= src.rows)
        return;
    struct tile t = tile_of(GROUP % tiles, src.dim2, d_dst.width);
    struct operand x = rows_operand(copy_of(src, group), 0, 1);
    struct operand y = rows_operand(d_dst, 0, 0);
    struct tensor dw = copy_of(d_weight, group);
    float sum[OWN_ROWS * OWN];
    clear(sum);
    multiply(&x, &y, t, src.dim1, MEETS_NONE, (LOCAL float *)scratch, sum);
    for (gpu_u32 i = 0; i < OWN_ROWS; i++)
        for (gpu_u32 j = 0; j < OWN; j++)
            if (is_mine(t, i, j))
                store(dw, row_in(t, i) * d_dst.width + column_in(t, j), sum[i * OWN + j]);
}

/* ---- block-sparse products (MegaBlocks); the layout is that of exec/kernels/sparse.c ---- */

DEVICE struct operand sparse_operand(const struct gpu_call *call, struct operand o,
                                     struct tensor blocks)
{
    o.block = call->args.sparse.block.n;
    o.inter = call->args.sparse.inter.n;
    o.across = (o.inter + o.block - 1) / o.block;
    o.parts = blocks.width / o.block;
    return o;
}

/* The expert whose rows a row block is of. */
DEVICE gpu_u64 expert_of(struct tensor offsets, gpu_u64 row)
{
    gpu_u64 g = 0;
    while (g + 2 < offsets.rows && row >= (gpu_u64)I64(offsets)[g + 1])
        g++;
    return g;
}

/* A block of B x B a work-group, tile by tile. Columns behind I are zero. */
KERNEL(sdd, 256, PRODUCT_BYTES)
{
    TENSOR(src, 0);
    TENSOR(weight, 1);
    TENSOR(row_block, 2);
    TENSOR(column_block, 3);
    TENSOR(offsets, 4);
    TENSOR(bias, 5);
    TENSOR(dst, 6);
    gpu_u64 B = call->args.sparse.block.n, parts = dst.width / B;
    gpu_u64 u = GROUP / parts, p = GROUP % parts;
    if (u >= row_block.rows || I32(row_block)[u] < 0)
        return;
    gpu_u64 row = (gpu_u64)I32(row_block)[u] * B, expert = expert_of(offsets, row);
    struct operand x = rows_operand(src, row, 0);
    struct operand y =
        sparse_operand(call, weight_operand(weight, expert, call->args.sparse.transposed), dst);
    gpu_u64 column = p * y.across * B + (gpu_u64)I32(column_block)[u] * B;
    for (gpu_u64 tiles = 0; tiles < tiles_of(B, B); tiles++) {
        struct tile t = tile_of(tiles, B, B), from = t;
        float sum[OWN_ROWS * OWN];
        from.n0 = t.n0 + column;
        clear(sum);
        multiply(&x, &y, from, src.width, MEETS_COLUMNS, (LOCAL float *)scratch, sum);
        for (gpu_u32 i = 0; i < OWN_ROWS; i++)
            for (gpu_u32 j = 0; j < OWN; j++) {
                if (!is_mine(t, i, j))
                    continue;
                gpu_i64 of = unpadded(&y, column + column_in(t, j));
                float value = sum[i * OWN + j];
                if (bias.present && of >= 0)
                    value += F32(bias)[expert * bias.width + (gpu_u64)of];
                store(dst, (u * B + row_in(t, i)) * dst.width + p * B + column_in(t, j), value);
            }
    }
}

/* A row block a step down, a tile of columns a work-group. */
KERNEL(dsd, 256, PRODUCT_BYTES)
{
    TENSOR(src, 0);
    TENSOR(weight, 1);
    TENSOR(offsets, 2);
    TENSOR(bias, 3);
    TENSOR(dst, 4);
    gpu_u64 B = call->args.sparse.block.n, across = (dst.width + TILE - 1) / TILE;
    gpu_u64 row = GROUP / across * B;
    if (row >= (gpu_u64)I64(offsets)[offsets.rows - 1])
        return;
    gpu_u64 expert = expert_of(offsets, row);
    struct operand x = sparse_operand(call, rows_operand(src, row, 0), src);
    struct operand y =
        sparse_operand(call, weight_operand(weight, expert, call->args.sparse.transposed), src);
    x.kind = OPERAND_BLOCKS;
    for (gpu_u64 tiles = GROUP % across; tiles < tiles_of(B, dst.width); tiles += across) {
        struct tile t = tile_of(tiles, B, dst.width);
        float sum[OWN_ROWS * OWN];
        clear(sum);
        multiply(&x, &y, t, x.parts * x.across * B, MEETS_DEPTH, (LOCAL float *)scratch, sum);
        for (gpu_u32 i = 0; i < OWN_ROWS; i++)
            for (gpu_u32 j = 0; j < OWN; j++) {
                if (!is_mine(t, i, j))
                    continue;
                gpu_u64 column = column_in(t, j);
                float value = sum[i * OWN + j];
                if (bias.present)
                    value += F32(bias)[expert * bias.width + column];
                store(dst, (row + row_in(t, i)) * dst.width + column, value);
            }
    }
}

/* d_weight[e,I,h] of src, the sparse one, and other[M,h], or transposed [e,h,parts*I]. */
KERNEL(sparse_wgrad, 256, PRODUCT_BYTES)
{
    TENSOR(src, 0);
    TENSOR(other, 1);
    TENSOR(offsets, 2);
    TENSOR(d_weight, 3);
    TENSOR(d_bias, 4);
    int transposed = call->args.sparse.transposed;
    struct operand sparse = sparse_operand(call, rows_operand(src, 0, 0), src);
    gpu_u64 wide = sparse.parts * sparse.across * sparse.block;
    gpu_u64 rows = transposed ? other.width : wide, columns = transposed ? wide : other.width;
    gpu_u64 tiles = tiles_of(rows, columns), expert = GROUP / tiles;
    if (expert >= d_weight.rows)
        return;
    gpu_u64 first = (gpu_u64)I64(offsets)[expert], end = (gpu_u64)I64(offsets)[expert + 1];
    struct tile t = tile_of(GROUP % tiles, rows, columns);
    struct operand dense = rows_operand(other, first, 0);
    sparse.kind = OPERAND_BLOCKS;
    sparse.row = first;
    float sum[OWN_ROWS * OWN];
    clear(sum);
    /* x is asked for (result row, depth), y for (depth, result column); depth are rows */
    struct operand x = transposed ? dense : sparse, y = transposed ? sparse : dense;
    x.turned = 1;
    multiply(&x, &y, t, end - first, MEETS_NONE, (LOCAL float *)scratch, sum);
    struct tensor dw = d_weight;
    dw.data = row_of(d_weight, expert);
    for (gpu_u32 i = 0; i < OWN_ROWS; i++)
        for (gpu_u32 j = 0; j < OWN; j++) {
            gpu_u64 r = row_in(t, i), c = column_in(t, j);
            gpu_i64 of = unpadded(&sparse, transposed ? c : r);
            if (!is_mine(t, i, j) || of < 0)
                continue;
            store(dw,
                  transposed ? r * d_weight.dim2 + (gpu_u64)of
                             : (gpu_u64)of * d_weight.dim2 + c,
                  sum[i * OWN + j]);
        }
    if (!d_bias.present || t.m0 > 0)
        return; /* the tiles of the first rows sum the bias' gradient, over all rows */
    for (gpu_u64 j = ITEM; j < t.n; j += ITEMS) {
        gpu_u64 c = t.n0 + j;
        gpu_i64 of = transposed ? unpadded(&sparse, c) : (gpu_i64)c;
        float all = 0;
        for (gpu_u64 r = 0; of >= 0 && r < end - first; r++)
            all += element(&y, r, c);
        if (of >= 0)
            F32(d_bias)[expert * d_bias.width + (gpu_u64)of] = all;
    }
}
