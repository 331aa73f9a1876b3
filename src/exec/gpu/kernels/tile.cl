/* A tile of a product: at most 128 x 64 a work-group of 16 x 16 items, in f32, whatever the
 * operands are stored in; which elements the operands are, an `operand` says.
 * An item has 4 x 4 neighbours of each HALF of the tile's rows; the second half is left out
 * where a tile has no rows there. */

enum {
    TILE_ROWS = GPU_TILE_ROWS,
    TILE = GPU_TILE,
    HALF = 64,
    DEPTH = 16,
    SIDE = 16,
    OWN_ROWS = 8,
    OWN = 4
};

enum operand_kind {
    OPERAND_ROWS,   /* element (r, k) of rows from `row`, columns from `column` */
    OPERAND_DOWN,   /* the same transposed: element (k, r) */
    OPERAND_WEIGHT, /* of one matrix [rows, columns], of any format */
    OPERAND_BLOCKS  /* of a sparse matrix, stored block by block; r a dense row */
};

struct operand {
    struct tensor t;
    int kind;
    int turned; /* (k, r) is asked for, (r, k) stands there */
    gpu_u64 row, column;
    gpu_u64 rows, columns;               /* of a matrix; columns: from one row to the next */
    gpu_u64 block, inter, across, parts; /* of a sparse one, or of what meets it */
};

/* Depth and columns of sparse products count padded blocks: number q of them stands for column
 * p I + j, or for none. */
DEVICE gpu_i64 unpadded(const struct operand *o, gpu_u64 q)
{
    gpu_u64 padded = o->across * o->block, j = q % padded;
    return j < o->inter ? (gpu_i64)(q / padded * o->inter + j) : -1;
}

DEVICE float element(const struct operand *o, gpu_u64 a, gpu_u64 b)
{
    gpu_u64 r = o->turned ? b : a, k = o->turned ? a : b;
    if (o->kind == OPERAND_ROWS)
        return load(o->t, (o->row + r) * o->t.width + o->column + k);
    if (o->kind == OPERAND_BLOCKS) {
        gpu_u64 padded = o->across * o->block, p = k / padded, j = k % padded;
        gpu_u64 row = o->row + r;
        gpu_u64 stands =
            (row / o->block * o->across + j / o->block) * o->block + row % o->block;
        return j < o->inter ? load(o->t, stands * o->t.width + p * o->block + j % o->block) : 0;
    }
    if (is_plain(o->t.format))
        return load(o->t, r * o->columns + k);
    return scaled_at(o->t.format, o->t.data, o->rows, o->columns, r, k);
}

/* What of a weight meets a sparse operand's padded columns: its depth, or its columns. */
enum { MEETS_NONE, MEETS_DEPTH, MEETS_COLUMNS };

DEVICE float met(const struct operand *o, gpu_u64 a, gpu_u64 b, int meets)
{
    if (meets == MEETS_NONE)
        return element(o, a, b);
    gpu_i64 q = unpadded(o, meets == MEETS_DEPTH ? a : b);
    if (q < 0)
        return 0;
    return meets == MEETS_DEPTH ? element(o, (gpu_u64)q, b) : element(o, a, (gpu_u64)q);
}

/* Rows [m0, m0 + m) x columns [n0, n0 + n) of a product. */
struct tile {
    gpu_u64 m0, m, n0, n;
};

/* ---- a step of DEPTH: every item brings a run of neighbours in memory of each operand ---- */

/* Elements of a run. It is kept as f32, or in `low` as words of two elements of 16 bits. */
enum { RUN_X = TILE_ROWS * DEPTH / (SIDE * SIDE), RUN_Y = TILE * DEPTH / (SIDE * SIDE) };

/* A plain matrix whose runs begin on their own length: they are read in words. `first`: where
 * the tile begins along the operand. */
DEVICE int reads_words(const struct operand *o, gpu_u64 first, int meets)
{
    int plain = o->kind == OPERAND_ROWS || (o->kind == OPERAND_WEIGHT && is_plain(o->t.format));
    return plain && meets == MEETS_NONE && ((gpu_u64)o->t.data & 15) == 0 &&
           ((o->columns | o->column | first) & 7) == 0;
}

/* Element (r, k) as it is stored, for words; any other is decoded. */
DEVICE gpu_u32 stored(const struct operand *o, gpu_u64 r, gpu_u64 k)
{
    gpu_u64 i = (o->row + r) * o->columns + o->column + k;
    return o->t.format == FORMAT_F32 ? ((const GLOBAL gpu_u32 *)o->t.data)[i]
                                     : ((const GLOBAL gpu_u16 *)o->t.data)[i];
}

DEVICE void set_word(struct eight *run, gpu_u32 i, gpu_u32 word)
{
    run->low.x = i == 0 ? word : run->low.x;
    run->low.y = i == 1 ? word : run->low.y;
    run->low.z = i == 2 ? word : run->low.z;
    run->low.w = i == 3 ? word : run->low.w;
    run->high.x = i == 4 ? word : run->high.x;
    run->high.y = i == 5 ? word : run->high.y;
    run->high.z = i == 6 ? word : run->high.z;
    run->high.w = i == 7 ? word : run->high.w;
}

/* n elements that are stored from (r, k) on, words or not; none at and behind the ends. */
DEVICE struct eight run_by_elements(const struct operand *o, int words, gpu_u64 r, gpu_u64 k,
                                    gpu_u64 r_end, gpu_u64 k_end, int meets, gpu_u32 n)
{
    struct eight run;
    gpu_u32 each = words && o->t.format != FORMAT_F32 ? 2 : 1; /* elements of a word */
    run.low.x = run.low.y = run.low.z = run.low.w = 0;
    run.high = run.low;
    if (r >= r_end || k >= k_end)
        return run;
    if (n > k_end - k) {
        n = (gpu_u32)(k_end - k);
    }
    ROLL /* not once an element: what finds scales is long */
        for (gpu_u32 i = 0; i < n; i += each)
    {
        gpu_u32 word;
        if (words)
            word = stored(o, r, k + i) |
                   (each > 1 && i + 1 < n ? stored(o, r, k + i + 1) << 16 : 0);
        else
            word = AS_BITS(o->turned ? met(o, k + i, r, meets) : met(o, r, k + i, meets));
        set_word(&run, i / each, word);
    }
    return run;
}

DEVICE struct eight run_at(const struct operand *o, int words, gpu_u64 r, gpu_u64 k,
                           gpu_u64 r_end, gpu_u64 k_end, int meets, gpu_u32 n)
{
    if (!words || r >= r_end || k + n > k_end)
        return run_by_elements(o, words, r, k, r_end, k_end, meets, n);
    struct eight run;
    gpu_u64 i = (o->row + r) * o->columns + o->column + k;
    if (o->t.format == FORMAT_F32) {
        const GLOBAL gpu_u32x4 *at = (const GLOBAL gpu_u32x4 *)(o->t.data + i * 4);
        run.low = at[0];
        run.high = at[n > 4 ? 1 : 0];
    } else if (n > 4) {
        run.low = *(const GLOBAL gpu_u32x4 *)(o->t.data + i * 2);
        run.high = run.low;
    } else {
        const GLOBAL gpu_u32 *at = (const GLOBAL gpu_u32 *)(o->t.data + i * 2);
        run.low.x = at[0];
        run.low.y = at[1];
        run.low.z = run.low.w = 0;
        run.high = run.low;
    }
    return run;
}

/* Where in a step's part of an operand this item's run begins: number `ITEM` of those of n
 * elements, along depth or along the operand's `wide` rows or columns. */
struct place {
    gpu_u32 k, r;
};

DEVICE struct place place_of(int along_depth, gpu_u32 wide, gpu_u32 n)
{
    gpu_u32 across = (along_depth ? DEPTH : wide) / n, i = ITEM;
    struct place p;
    p.k = along_depth ? i % across * n : i / across;
    p.r = along_depth ? i / across : i % across * n;
    return p;
}

/* The run of a step that begins at depth k0; the operand's part of the tile is [r0, r0 + m). */
DEVICE struct eight bring(const struct operand *o, int words, int along_depth, gpu_u64 r0,
                          gpu_u64 m, gpu_u64 k0, gpu_u64 depth, int meets, gpu_u32 wide,
                          gpu_u32 n)
{
    struct place p = place_of(along_depth, wide, n);
    return along_depth ? run_at(o, words, r0 + p.r, k0 + p.k, r0 + m, depth, meets, n)
                       : run_at(o, words, k0 + p.k, r0 + p.r, depth, r0 + m, meets, n);
}

/* In work-group memory an operand's step is [DEPTH][wide + 4]; what is written along depth goes
 * to other banks for every 8 of it. */
DEVICE gpu_u32 bank_of(gpu_u32 k)
{
    return (k & 8) << 1;
}

DEVICE void put(LOCAL float *to, struct eight run, gpu_u32 format, int along_depth,
                gpu_u32 wide, gpu_u32 n)
{
    struct place p = place_of(along_depth, wide, n);
    float v[8];
    floats_of(format, run, v);
    if (along_depth) {
        UNROLL
        for (gpu_u32 i = 0; i < n; i++)
            to[(p.k + i) * (wide + 4) + (p.r ^ bank_of(p.k))] = v[i];
        return;
    }
    UNROLL
    for (gpu_u32 i = 0; i < n; i += 4) {
        gpu_f32x4 four;
        four.x = v[i];
        four.y = v[i + 1];
        four.z = v[i + 2];
        four.w = v[i + 3];
        *(LOCAL gpu_f32x4 *)(to + p.k * (wide + 4) + ((p.r + i) ^ bank_of(p.k))) = four;
    }
}

/* ---- the product ---- */

enum { X_STEP = DEPTH * (TILE_ROWS + 4), STEP = X_STEP + DEPTH * (TILE + 4) };
enum { PRODUCT_BYTES = 2 * STEP * 4 };

DEVICE void four_from(const LOCAL float *from, float *v)
{
    gpu_f32x4 four = *(const LOCAL gpu_f32x4 *)from;
    v[0] = four.x;
    v[1] = four.y;
    v[2] = four.z;
    v[3] = four.w;
}

/* A step's products added, of all of the item's rows or of those of the first half. */
DEVICE void add_step(const LOCAL float *step, float *sum, gpu_u32 rows)
{
    const LOCAL float *x = step, *y = step + X_STEP;
    gpu_u32 r = ITEM / SIDE * OWN, c = ITEM % SIDE * OWN;
    UNROLL
    for (gpu_u32 k = 0; k < DEPTH; k++) {
        float a[OWN_ROWS], b[OWN];
        four_from(y + k * (TILE + 4) + (c ^ bank_of(k)), b);
        UNROLL
        for (gpu_u32 i = 0; i < rows; i += OWN)
            four_from(x + k * (TILE_ROWS + 4) + (r ^ bank_of(k)) + i / OWN * HALF, a + i);
        UNROLL
        for (gpu_u32 i = 0; i < rows; i++) {
            UNROLL
            for (gpu_u32 j = 0; j < OWN; j++)
                sum[i * OWN + j] += a[i] * b[j];
        }
    }
}

/* A tile's product over depth [0, depth), in order. Added to sum [OWN_ROWS][OWN] of the item.
 * The next step is on its way from memory while one is multiplied; steps take turns in
 * work-group memory, so that one barrier a step is enough. */
DEVICE void multiply(const struct operand *x, const struct operand *y, struct tile t,
                     gpu_u64 depth, int meets, LOCAL float *scratch, float *sum)
{
    int x_words = reads_words(x, t.m0, MEETS_NONE), y_words = reads_words(y, t.n0, meets);
    gpu_u32 x_format = x_words ? x->t.format : FORMAT_F32;
    gpu_u32 y_format = y_words ? y->t.format : FORMAT_F32;
    float all[OWN_ROWS * OWN];
    UNROLL
    for (gpu_u32 i = 0; i < OWN_ROWS * OWN; i++)
        all[i] = sum[i];
    struct eight xs =
        bring(x, x_words, !x->turned, t.m0, t.m, 0, depth, MEETS_NONE, TILE_ROWS, RUN_X);
    struct eight ys = bring(y, y_words, y->turned, t.n0, t.n, 0, depth, meets, TILE, RUN_Y);
    LOCAL float *step = scratch;
    for (gpu_u64 k0 = 0; k0 < depth; k0 += DEPTH) {
        put(step, xs, x_format, !x->turned, TILE_ROWS, RUN_X);
        put(step + X_STEP, ys, y_format, y->turned, TILE, RUN_Y);
        BARRIER();
        if (k0 + DEPTH < depth) {
            xs = bring(x, x_words, !x->turned, t.m0, t.m, k0 + DEPTH, depth, MEETS_NONE,
                       TILE_ROWS, RUN_X);
            ys = bring(y, y_words, y->turned, t.n0, t.n, k0 + DEPTH, depth, meets, TILE, RUN_Y);
        }
        if (t.m > HALF)
            add_step(step, all, OWN_ROWS);
        else
            add_step(step, all, OWN);
        step = step == scratch ? scratch + STEP : scratch;
    }
    BARRIER();
    UNROLL
    for (gpu_u32 i = 0; i < OWN_ROWS * OWN; i++)
        sum[i] = all[i];
}

/* The item's row i in the tile, and its column j. */
DEVICE gpu_u32 own_row(gpu_u32 i)
{
    return i / OWN * HALF + ITEM / SIDE * OWN + i % OWN;
}

DEVICE gpu_u32 own_column(gpu_u32 j)
{
    return ITEM % SIDE * OWN + j;
}

/* Element (i, j) of this item lies in the tile. */
DEVICE int is_mine(struct tile t, gpu_u32 i, gpu_u32 j)
{
    return own_row(i) < t.m && own_column(j) < t.n;
}

DEVICE gpu_u64 row_in(struct tile t, gpu_u32 i)
{
    return t.m0 + own_row(i);
}

DEVICE gpu_u64 column_in(struct tile t, gpu_u32 j)
{
    return t.n0 + own_column(j);
}

DEVICE struct tile tile_of(gpu_u64 number, gpu_u64 rows, gpu_u64 columns)
{
    gpu_u64 across = (columns + TILE - 1) / TILE;
    struct tile t;
    t.m0 = number / across * TILE_ROWS;
    t.n0 = number % across * TILE;
    t.m = rows - t.m0 < TILE_ROWS ? rows - t.m0 : TILE_ROWS;
    t.n = columns - t.n0 < TILE ? columns - t.n0 : TILE;
    return t;
}

DEVICE gpu_u64 tiles_of(gpu_u64 rows, gpu_u64 columns)
{
    return (rows + TILE_ROWS - 1) / TILE_ROWS * ((columns + TILE - 1) / TILE);
}

DEVICE struct operand rows_operand(struct tensor t, gpu_u64 row, int turned)
{
    struct operand o;
    o.t = t;
    o.kind = OPERAND_ROWS;
    o.turned = turned;
    o.row = row;
    o.column = 0;
    o.rows = t.rows;
    o.columns = t.width;
    o.block = o.inter = o.across = o.parts = 0;
    return o;
}

/* One matrix of a tensor of them. */
DEVICE struct operand weight_operand(struct tensor t, gpu_u64 number, int turned)
{
    struct operand o = rows_operand(t, 0, turned);
    o.kind = OPERAND_WEIGHT;
    o.rows = t.n_dims == 2 ? t.rows : t.dim1;
    o.columns = t.n_dims == 2 ? t.dim1 : t.dim2;
    if (t.n_dims > 2)
        o.t.data = row_of(t, number);
    return o;
}

DEVICE void clear(float *sum)
{
    for (int i = 0; i < OWN_ROWS * OWN; i++)
        sum[i] = 0;
}
