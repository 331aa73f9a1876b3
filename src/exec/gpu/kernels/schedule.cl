/* The schedule of products at peak rate: work-groups stay, and take one tile after the other.
 *
 * Tiles are counted through the groups of rows; a work-group takes every GROUPS-th. Inside a
 * group they go down bands of rows, so that neighbours share a weight's columns and a band's
 * rows while both are in a cache. Who multiplies a tile, and how large tiles are, an engine
 * says; this is what all engines and the tests' plain product share. */

enum { PEAK_BAND = 8 }; /* tiles down */

struct peak_job {
    struct grouping g;
    struct tensor map;
    const struct gpu_call *call;
    gpu_u64 matrices;      /* of the weight, or of its gradient */
    gpu_u64 rows, columns; /* of a result; rows 0: those of the group */
    gpu_u64 depth;         /* contracted; of wgrad the group's rows */
    gpu_u64 tile_rows, tile_columns;
    gpu_u64 shift; /* rows from one copy of shared rows to the next */
};

/* How far a work-group has counted. */
struct peak_walk {
    gpu_u64 group, first, tiles; /* the group's first tile, and how many it has */
};

struct peak_tile {
    gpu_u64 matrix;
    gpu_u64 row, rows, column, columns; /* of the result, those that are there */
    gpu_u64 from, to;                   /* rows in front of the operand, and of the result */
    gpu_u64 depth_from, depth; /* first row of the contracted dimension, and how many */
};

DEVICE gpu_u64 peak_ceil(gpu_u64 a, gpu_u64 b)
{
    return (a + b - 1) / b;
}

/* A map names the matrix of a group; below 0: the group is not computed. */
DEVICE gpu_i64 peak_matrix(const struct peak_job *job, gpu_u64 group)
{
    const struct gpu_call *call = job->call;
    if (call->chunk)
        return (gpu_i64)((call->rank + call->iteration) % job->matrices);
    gpu_u64 number = call->args.gemm.rows.turn ? call->iteration : group;
    return job->map.present ? (gpu_i64)I32(job->map)[number] : (gpu_i64)number;
}

/* A weight's gradient is written for an empty group, too, unless a map gives its matrix to
 * another one. */
DEVICE gpu_u64 peak_tiles(const struct peak_job *job, gpu_u64 group)
{
    struct span rows = group_at(&job->g, group);
    if (peak_matrix(job, group) < 0)
        return 0;
    if (job->rows && job->map.present && rows.begin == rows.end)
        return 0;
    gpu_u64 down = job->rows ? job->rows : rows.end - rows.begin;
    return peak_ceil(down, job->tile_rows) * peak_ceil(job->columns, job->tile_columns);
}

DEVICE struct peak_walk peak_begin(const struct peak_job *job)
{
    struct peak_walk walk;
    walk.group = 0;
    walk.first = 0;
    walk.tiles = job->g.n ? peak_tiles(job, 0) : 0;
    return walk;
}

/* Tile `number`, not before the last one that was asked for; 0: there is no such tile. */
DEVICE int peak_take(const struct peak_job *job, struct peak_walk *walk, gpu_u64 number,
                     struct peak_tile *tile)
{
    while (number - walk->first >= walk->tiles) {
        walk->first += walk->tiles;
        if (++walk->group >= job->g.n)
            return 0;
        walk->tiles = peak_tiles(job, walk->group);
    }
    struct span rows = group_at(&job->g, walk->group);
    gpu_u64 group_rows = rows.end - rows.begin, all = job->rows ? job->rows : group_rows;
    gpu_u64 down = peak_ceil(all, job->tile_rows),
            across = peak_ceil(job->columns, job->tile_columns);
    gpu_u64 at = number - walk->first, band = at / (PEAK_BAND * across),
            high = down - band * PEAK_BAND < PEAK_BAND ? down - band * PEAK_BAND : PEAK_BAND;
    at -= band * PEAK_BAND * across;
    tile->matrix = (gpu_u64)peak_matrix(job, walk->group);
    tile->row = (band * PEAK_BAND + at % high) * job->tile_rows;
    tile->column = at / high * job->tile_columns;
    tile->rows = all - tile->row < job->tile_rows ? all - tile->row : job->tile_rows;
    tile->columns = job->columns - tile->column < job->tile_columns
                        ? job->columns - tile->column
                        : job->tile_columns;
    gpu_u64 shift = job->g.shared ? walk->group * job->shift : 0;
    tile->from = rows.begin;
    tile->to = rows.begin + shift;
    tile->depth_from = job->rows ? rows.begin : 0;
    tile->depth = job->rows ? group_rows : job->depth;
    return 1;
}

/* ---- the jobs: gemm by a weight or its transpose, wgrad, and gated_gemm ---- */

enum peak_kind { PEAK_GEMM, PEAK_TURNED, PEAK_WGRAD, PEAK_GATED };

struct peak_operands {
    struct tensor a, b, bias, out; /* a [rows, depth], of wgrad [depth, rows]; b: see kind */
    struct tensor kept;            /* of a gated product: its rows, gates and ups */
    gpu_u64 apart; /* in a tile of it: so many columns of gates, then their ups; 0: an engine
                      that fetches them in its own way */
};

DEVICE struct peak_job peak_job_of(const struct gpu_call *call, const struct memory *memory,
                                   int kind, struct peak_operands *of)
{
    struct peak_job job;
    const struct tensor offsets = tensor_at(call, memory, 2),
                        sizes = tensor_at(call, memory, 3);
    of->a = tensor_at(call, memory, 0);
    of->b = tensor_at(call, memory, 1);
    of->out = tensor_at(call, memory, kind == PEAK_WGRAD ? 5 : 6);
    of->bias = tensor_at(call, memory, kind == PEAK_WGRAD ? 6 : 5);
    of->kept = tensor_at(call, memory, 7);
    of->apart = 0;
    job.g = grouping_of(call, call->args.gemm.rows, offsets, sizes, of->a.rows);
    job.map = tensor_at(call, memory, 4);
    job.call = call;
    job.matrices = kind == PEAK_WGRAD ? of->out.rows : of->b.rows;
    job.rows = kind == PEAK_WGRAD ? of->a.width : 0;
    job.columns = kind == PEAK_WGRAD ? of->b.width : of->out.width;
    job.depth = of->a.width;
    job.shift = of->a.rows;
    return job;
}

/* What is in the result already is added to. */
DEVICE int peak_adds(const struct gpu_call *call, int kind)
{
    return kind == PEAK_WGRAD ? call->args.gemm.sum : call->chunk && call->iteration > 0;
}

/* Element (row, column) of a tile's result. */
DEVICE gpu_u64 peak_place(const struct peak_job *job, const struct peak_operands *of,
                          const struct peak_tile *tile, int kind, gpu_u64 row, gpu_u64 column)
{
    gpu_u64 matrix = of->out.n_dims > 2 ? tile->matrix : 0;
    gpu_u64 above = kind == PEAK_WGRAD ? matrix * job->rows : tile->to;
    return (above + tile->row + row) * job->columns + tile->column + column;
}

/* One element's way out: what is there, a bias, one rounding. */
DEVICE void peak_store(const struct peak_job *job, const struct peak_operands *of,
                       const struct peak_tile *tile, int kind, gpu_u64 row, gpu_u64 column,
                       float value)
{
    if (row >= tile->rows || column >= tile->columns)
        return;
    gpu_u64 at = peak_place(job, of, tile, kind, row, column);
    if (peak_adds(job->call, kind))
        value += load(of->out, at);
    if (kind != PEAK_WGRAD && of->bias.present)
        value += F32(of->bias)[tile->matrix * of->bias.width + tile->column + column];
    store(of->out, at, value);
}

/* Two neighbours, the first of an even column: in one word where they are stored in 16 bits. */
DEVICE void peak_store_pair(const struct peak_job *job, const struct peak_operands *of,
                            const struct peak_tile *tile, int kind, gpu_u64 row, gpu_u64 column,
                            float first, float second)
{
    if (of->out.format != FORMAT_BF16 || peak_adds(job->call, kind)) {
        peak_store(job, of, tile, kind, row, column, first);
        peak_store(job, of, tile, kind, row, column + 1, second);
        return;
    }
    if (row >= tile->rows || column >= tile->columns)
        return; /* columns are a multiple of 8 */
    if (kind != PEAK_WGRAD && of->bias.present) {
        gpu_u64 at = tile->matrix * of->bias.width + tile->column + column;
        first += F32(of->bias)[at];
        second += F32(of->bias)[at + 1];
    }
    GLOBAL gpu_u32 *words = (GLOBAL gpu_u32 *)of->out.data;
    words[peak_place(job, of, tile, kind, row, column) / 2] =
        bf16_encode(first) | (gpu_u32)bf16_encode(second) << 16;
}

/* A gate and its up: with their biases and rounded they are what is kept, and activated. */
DEVICE void peak_store_gated(const struct peak_job *job, const struct peak_operands *of,
                             const struct peak_tile *tile, gpu_u64 row, gpu_u64 column,
                             float gate, float up)
{
    if (row >= tile->rows || column >= tile->columns)
        return;
    gpu_u64 inter = job->columns, down = tile->to + tile->row + row,
            across = tile->column + column;
    if (of->bias.present) {
        const GLOBAL float *bias = F32(of->bias) + tile->matrix * of->bias.width + across;
        gate += bias[0];
        up += bias[inter];
    }
    gate = rounded(of->out.format, gate);
    up = rounded(of->out.format, up);
    if (of->kept.present) {
        store(of->kept, down * of->kept.width + across, gate);
        store(of->kept, down * of->kept.width + inter + across, up);
    }
    store(of->out, down * inter + across, gated(job->call->curve, gate, up, 1));
}

/* ---- where a tile's operands are ---- */

/* Elements of 16 bits [row, row + rows) x [column, column + columns) of rows of `pitch`; with
 * `apart`, so many of them in turn and so many of those `beside` them. */
struct peak_source {
    const GLOBAL char *data;
    gpu_u64 pitch, row, rows, column, columns, apart, beside;
};

/* Rows of the tile by depth, or depth by rows of the tile (wgrad). */
DEVICE struct peak_source peak_source_a(const struct peak_operands *of,
                                        const struct peak_tile *tile, int kind)
{
    struct peak_source s;
    s.data = of->a.data;
    s.pitch = of->a.width;
    s.row = kind == PEAK_WGRAD ? tile->depth_from : tile->from + tile->row;
    s.rows = kind == PEAK_WGRAD ? tile->depth : tile->rows;
    s.column = kind == PEAK_WGRAD ? tile->row : 0;
    s.columns = kind == PEAK_WGRAD ? tile->rows : tile->depth;
    s.apart = s.beside = 0;
    return s;
}

/* Depth by columns of the tile, or columns by depth (turned). */
DEVICE struct peak_source peak_source_b(const struct peak_operands *of,
                                        const struct peak_tile *tile, int kind)
{
    struct peak_source s;
    int turned = kind == PEAK_TURNED;
    gpu_u64 matrix = kind != PEAK_WGRAD && of->b.n_dims > 2 ? tile->matrix : 0;
    gpu_u64 shift = tile->depth_from + (tile->to - tile->from);
    s.data = of->b.data + matrix * of->b.row_bytes;
    s.pitch = kind == PEAK_WGRAD ? of->b.width : turned ? tile->depth : of->out.width;
    if (kind == PEAK_GATED)
        s.pitch *= 2;
    s.row = kind == PEAK_WGRAD ? shift : turned ? tile->column : 0;
    s.rows = turned ? tile->columns : tile->depth;
    s.column = turned ? 0 : tile->column;
    s.columns = turned ? tile->depth : tile->columns;
    s.apart = kind == PEAK_GATED ? of->apart : 0;
    s.beside = of->out.width;
    return s;
}

/* 8 elements from (row, column) of a source; data itself when they are not there. */
DEVICE const GLOBAL char *peak_eight(const struct peak_source *s, gpu_u64 row, gpu_u64 column,
                                     int *there)
{
    if (s->apart) {
        gpu_u64 beside = column / s->apart % 2 * s->beside;
        column = column / (2 * s->apart) * s->apart + column % s->apart;
        *there = row < s->rows && column < s->columns;
        column += beside;
    } else
        *there = row < s->rows && column < s->columns;
    if (!*there)
        return s->data;
    return s->data + ((s->row + row) * s->pitch + s->column + column) * 2;
}

/* Arguments of an engine's kernel; maps: what a matrix' loader is told of both operands. */
#define PEAK_KERNEL(name, items)                                                               \
    DEVICE void body_##name(const struct gpu_maps *maps, const struct gpu_call *call,          \
                            const struct memory *memory);                                      \
    ENTRY(items)                                                                               \
    void name(PEAK_CONSTANT struct gpu_maps maps, PEAK_CONSTANT struct gpu_call call,          \
              GLOBAL char *m0, GLOBAL char *m1, GLOBAL char *m2, GLOBAL char *m3,              \
              GLOBAL char *m4, GLOBAL char *m5, GLOBAL char *m6, GLOBAL char *m7,              \
              GLOBAL char *space)                                                              \
    {                                                                                          \
        struct memory memory;                                                                  \
        memory.of[0] = m0;                                                                     \
        memory.of[1] = m1;                                                                     \
        memory.of[2] = m2;                                                                     \
        memory.of[3] = m3;                                                                     \
        memory.of[4] = m4;                                                                     \
        memory.of[5] = m5;                                                                     \
        memory.of[6] = m6;                                                                     \
        memory.of[7] = m7;                                                                     \
        memory.space = space;                                                                  \
        body_##name(&maps, &call, &memory);                                                    \
    }                                                                                          \
    DEVICE void body_##name(const struct gpu_maps *maps, const struct gpu_call *call,          \
                            const struct memory *memory)
