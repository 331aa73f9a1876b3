/* Products on the matrix cores of AMD's CDNA 2 and later: operands in bf16, products by
 * v_mfma_f32_32x32x8_bf16, sums in f32.
 *
 * A work-group's tile is 128 x 128, of 4 waves 64 x 64 each, 32 deep a step. A step is fetched
 * into registers while the one before is multiplied, then stored with the depth along rows of
 * 36 elements: 4 of them, as an instruction takes them, lie together, and rows in other banks.
 */
#if defined(PEAK_EMULATED) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)

enum { CDNA_SIDE = 128, CDNA_DEPTH = 32, CDNA_PITCH = 36, CDNA_ITEMS = 256 };
enum { CDNA_HALF = CDNA_SIDE * CDNA_PITCH * 2, CDNA_BYTES = 4 * CDNA_HALF };
enum { CDNA_PIECES = CDNA_SIDE * CDNA_DEPTH / 8 / CDNA_ITEMS }; /* of 8, of an item */

#if !defined(PEAK_EMULATED)
typedef short cdna_four __attribute__((ext_vector_type(4)));
typedef float cdna_sixteen __attribute__((ext_vector_type(16)));

struct cdna_sums {
    cdna_sixteen of[2][2];
};

DEVICE void cdna_multiply(struct cdna_sums *sums, int i, int j, const char *a, const char *b)
{
    sums->of[i][j] = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(
        *(const cdna_four *)a, *(const cdna_four *)b, sums->of[i][j], 0, 0, 0);
}
#endif

struct cdna_piece {
    gpu_u64 words[2];
};

/* A step's pieces of an item: rows of depth, or depth by rows. */
DEVICE void cdna_fetch(struct cdna_piece *to, const struct peak_source *s, gpu_u64 depth,
                       int down)
{
    PEAK_UNROLL
    for (gpu_u32 p = 0; p < CDNA_PIECES; p++) {
        gpu_u32 i = ITEM + p * CDNA_ITEMS;
        gpu_u32 row = down ? i / 16 : i / 4, piece = down ? i % 16 : i % 4;
        int there;
        const GLOBAL gpu_u64 *from = (const GLOBAL gpu_u64 *)peak_eight(
            s, down ? depth + row : row, (down ? 0 : depth) + piece * 8, &there);
        to[p].words[0] = there ? from[0] : 0;
        to[p].words[1] = there ? from[1] : 0;
    }
}

DEVICE void cdna_put(LOCAL char *to, const struct cdna_piece *from, int down)
{
    PEAK_UNROLL
    for (gpu_u32 p = 0; p < CDNA_PIECES; p++) {
        gpu_u32 i = ITEM + p * CDNA_ITEMS;
        if (!down) {
            LOCAL gpu_u64 *at = (LOCAL gpu_u64 *)(to + (i / 4 * CDNA_PITCH + i % 4 * 8) * 2);
            at[0] = from[p].words[0];
            at[1] = from[p].words[1];
            continue;
        }
        LOCAL gpu_u16 *at = (LOCAL gpu_u16 *)to + i % 16 * 8 * CDNA_PITCH + i / 16;
        PEAK_UNROLL
        for (gpu_u32 e = 0; e < 8; e++)
            at[e * CDNA_PITCH] = (gpu_u16)(from[p].words[e / 4] >> e % 4 * 16);
    }
}

DEVICE void cdna_step(const LOCAL char *a, const LOCAL char *b, struct cdna_sums *sums)
{
    gpu_u32 lane = ITEM % 64, wave = ITEM / 64, m = wave / 2 * 64, n = wave % 2 * 64;
    PEAK_UNROLL
    for (gpu_u32 k = 0; k < CDNA_DEPTH; k += 8) {
        gpu_u32 at = (lane % 32 * CDNA_PITCH + k + lane / 32 * 4) * 2;
        PEAK_UNROLL
        for (gpu_u32 i = 0; i < 2; i++) {
            PEAK_UNROLL
            for (gpu_u32 j = 0; j < 2; j++)
                cdna_multiply(sums, (int)i, (int)j, a + (m + i * 32) * CDNA_PITCH * 2 + at,
                              b + (n + j * 32) * CDNA_PITCH * 2 + at);
        }
    }
}

DEVICE void cdna_store(const struct peak_job *job, const struct peak_operands *of,
                       const struct peak_tile *tile, int kind, const struct cdna_sums *sums)
{
    gpu_u32 lane = ITEM % 64, wave = ITEM / 64, m = wave / 2 * 64, n = wave % 2 * 64;
    PEAK_UNROLL
    for (gpu_u32 i = 0; i < 2; i++) {
        PEAK_UNROLL
        for (gpu_u32 j = 0; j < 2; j++) {
            PEAK_UNROLL
            for (gpu_u32 v = 0; v < 16; v++)
                peak_store(job, of, tile, kind, m + i * 32 + v / 4 * 8 + lane / 32 * 4 + v % 4,
                           n + j * 32 + lane % 32, sums->of[i][j][v]);
        }
    }
}

/* Gates and ups take turns by 32 columns: an item has both. */
DEVICE void cdna_store_gated(const struct peak_job *job, const struct peak_operands *of,
                             const struct peak_tile *tile, const struct cdna_sums *sums)
{
    gpu_u32 lane = ITEM % 64, wave = ITEM / 64, m = wave / 2 * 64, n = wave % 2 * 32;
    PEAK_UNROLL
    for (gpu_u32 i = 0; i < 2; i++) {
        PEAK_UNROLL
        for (gpu_u32 v = 0; v < 16; v++)
            peak_store_gated(job, of, tile, m + i * 32 + v / 4 * 8 + lane / 32 * 4 + v % 4,
                             n + lane % 32, sums->of[i][0][v], sums->of[i][1][v]);
    }
}

DEVICE void cdna_tile(const struct peak_job *job, const struct peak_operands *of,
                      const struct peak_tile *tile, int kind, LOCAL char *local)
{
    struct peak_source a = peak_source_a(of, tile, kind), b = peak_source_b(of, tile, kind);
    int a_down = kind == PEAK_WGRAD, b_down = kind != PEAK_TURNED;
    gpu_u64 steps = peak_ceil(tile->depth, CDNA_DEPTH);
    struct cdna_piece as[CDNA_PIECES], bs[CDNA_PIECES];
    struct cdna_sums sums;
    PEAK_UNROLL
    for (int i = 0; i < 64; i++)
        sums.of[i / 32][i / 16 % 2][i % 16] = 0;
    cdna_fetch(as, &a, 0, a_down);
    cdna_fetch(bs, &b, 0, b_down);
    for (gpu_u64 k = 0; k < steps; k++) {
        LOCAL char *at = local + k % 2 * 2 * CDNA_HALF;
        cdna_put(at, as, a_down);
        cdna_put(at + CDNA_HALF, bs, b_down);
        cdna_fetch(as, &a, (k + 1) * CDNA_DEPTH, a_down);
        cdna_fetch(bs, &b, (k + 1) * CDNA_DEPTH, b_down);
        BARRIER();
        cdna_step(at, at + CDNA_HALF, &sums);
    }
    BARRIER(); /* the next tile's first step goes where this one's last may be */
    if (kind == PEAK_GATED)
        cdna_store_gated(job, of, tile, &sums);
    else
        cdna_store(job, of, tile, kind, &sums);
}

DEVICE void cdna_product(const struct gpu_call *call, const struct memory *memory, int kind)
{
#if defined(PEAK_EMULATED)
    LOCAL char *local = (LOCAL char *)fibre_local(CDNA_BYTES);
#else
    __shared__ __align__(16) char local[CDNA_BYTES];
#endif
    struct peak_operands of;
    struct peak_job job = peak_job_of(call, memory, kind, &of);
    job.tile_rows = CDNA_SIDE;
    job.tile_columns = kind == PEAK_GATED ? CDNA_SIDE / 2 : CDNA_SIDE;
    of.apart = 32;
    struct peak_walk walk = peak_begin(&job);
    struct peak_tile tile;
    for (gpu_u64 i = GROUP; peak_take(&job, &walk, i, &tile); i += GROUPS)
        cdna_tile(&job, &of, &tile, kind, local);
}

PEAK_KERNEL(cdna_gemm, 256)
{
    (void)maps;
    cdna_product(call, memory, PEAK_GEMM);
}

PEAK_KERNEL(cdna_turned, 256)
{
    (void)maps;
    cdna_product(call, memory, PEAK_TURNED);
}

PEAK_KERNEL(cdna_wgrad, 256)
{
    (void)maps;
    cdna_product(call, memory, PEAK_WGRAD);
}

PEAK_KERNEL(cdna_gated, 256)
{
    (void)maps;
    cdna_product(call, memory, PEAK_GATED);
}

#endif
