/* Products on NVIDIA's tensor cores from compute capability 8.0 on: operands in bf16 through
 * cp.async and ldmatrix, products by mma.sync, sums in f32.
 *
 * A work-group's tile is 128 x 128, of 8 warps 64 x 32 each, 32 deep a step, three steps in
 * work-group memory at once. There, rows of 64 bytes (depth along a row) or of 256 (depth down)
 * have their 16-byte pieces swapped so that ldmatrix' eight rows lie in different banks. */
#if defined(PEAK_EMULATED) || (defined(__CUDACC__) && __CUDA_ARCH__ >= 800)

enum { S80_SIDE = 128, S80_DEPTH = 32, S80_STAGES = 3, S80_ITEMS = 256, S80_HALF = 8192 };
enum { S80_BYTES = S80_STAGES * 2 * S80_HALF };

#if !defined(PEAK_EMULATED)
DEVICE gpu_u32 s80_address(const void *at)
{
    return (gpu_u32)__cvta_generic_to_shared(at);
}

DEVICE void s80_copy(char *to, const char *from, int there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(s80_address(to)),
                 "l"(from), "r"(there ? 16 : 0)
                 : "memory");
}

#define S80_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define S80_WAIT(left) asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory")
#define S80_LOCAL(name)                                                                        \
    extern __shared__ __align__(1024) char peak_local[];                                       \
    char *name = peak_local

/* Four matrices of 8 x 8 elements; lane 8 i + r knows where row r of matrix i is. */
DEVICE void s80_load(gpu_u32 *of, const char *at, int down)
{
    if (down)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(of[0]), "=r"(of[1]), "=r"(of[2]), "=r"(of[3])
                     : "r"(s80_address(at))
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(of[0]), "=r"(of[1]), "=r"(of[2]), "=r"(of[3])
                     : "r"(s80_address(at))
                     : "memory");
}

DEVICE void s80_multiply(float *c, const gpu_u32 *a, const gpu_u32 *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

/* Where piece `piece` of row `row` lies in half a stage. */
DEVICE gpu_u32 s80_at(gpu_u32 row, gpu_u32 piece, int down)
{
    return down ? row * 256 + (piece ^ (row & 7)) * 16
                : row * 64 + (piece ^ (row >> 1 & 3)) * 16;
}

DEVICE void s80_fetch(LOCAL char *to, const struct peak_source *s, gpu_u64 depth, int down)
{
    for (gpu_u32 i = ITEM; i < S80_HALF / 16; i += S80_ITEMS) {
        gpu_u32 row = down ? i / 16 : i / 4, piece = down ? i % 16 : i % 4;
        int there;
        const GLOBAL char *from =
            peak_eight(s, down ? depth + row : row, (down ? 0 : depth) + piece * 8, &there);
        s80_copy(to + s80_at(row, piece, down), from, there);
    }
}

struct s80_sums {
    float of[4][4][4]; /* 16 rows, 8 columns, of the lane */
};

DEVICE void s80_step(const LOCAL char *a, const LOCAL char *b, int a_down, int b_down,
                     struct s80_sums *sums)
{
    gpu_u32 lane = ITEM % 32, warp = ITEM / 32, m = warp / 4 * 64, n = warp % 4 * 32;
    PEAK_UNROLL
    for (gpu_u32 k = 0; k < S80_DEPTH; k += 16) {
        gpu_u32 as[4][4], bs[2][4];
        PEAK_UNROLL
        for (gpu_u32 i = 0; i < 4; i++) {
            gpu_u32 high = lane / 16 * 8, r = m + i * 16 + lane % 16;
            gpu_u32 at = a_down
                             ? s80_at(k + high + lane % 8, (m + i * 16) / 8 + lane / 8 % 2, 1)
                             : s80_at(r, (k + high) / 8, 0);
            s80_load(as[i], a + at, a_down);
        }
        PEAK_UNROLL
        for (gpu_u32 j = 0; j < 2; j++) {
            gpu_u32 high = lane / 8 % 2 * 8, c = n + j * 16 + lane / 16 * 8;
            gpu_u32 at = b_down ? s80_at(k + high + lane % 8, c / 8, 1)
                                : s80_at(c + lane % 8, (k + high) / 8, 0);
            s80_load(bs[j], b + at, b_down);
        }
        PEAK_UNROLL
        for (gpu_u32 i = 0; i < 4; i++) {
            PEAK_UNROLL
            for (gpu_u32 j = 0; j < 4; j++)
                s80_multiply(sums->of[i][j], as[i], bs[j / 2] + j % 2 * 2);
        }
    }
}

DEVICE void s80_store(const struct peak_job *job, const struct peak_operands *of,
                      const struct peak_tile *tile, int kind, const struct s80_sums *sums)
{
    gpu_u32 lane = ITEM % 32, warp = ITEM / 32, m = warp / 4 * 64, n = warp % 4 * 32;
    PEAK_UNROLL
    for (gpu_u32 i = 0; i < 4; i++) {
        PEAK_UNROLL
        for (gpu_u32 j = 0; j < 4; j++) {
            const float *c = sums->of[i][j];
            gpu_u64 row = m + i * 16 + lane / 4, column = n + j * 8 + lane % 4 * 2;
            peak_store_pair(job, of, tile, kind, row, column, c[0], c[1]);
            peak_store_pair(job, of, tile, kind, row + 8, column, c[2], c[3]);
        }
    }
}

/* Gates and ups take turns by 8 columns: an item has both. */
DEVICE void s80_store_gated(const struct peak_job *job, const struct peak_operands *of,
                            const struct peak_tile *tile, const struct s80_sums *sums)
{
    gpu_u32 lane = ITEM % 32, warp = ITEM / 32, m = warp / 4 * 64, n = warp % 4 * 16;
    PEAK_UNROLL
    for (gpu_u32 i = 0; i < 4; i++) {
        PEAK_UNROLL
        for (gpu_u32 j = 0; j < 2; j++) {
            const float *gate = sums->of[i][2 * j], *up = sums->of[i][2 * j + 1];
            PEAK_UNROLL
            for (gpu_u32 c = 0; c < 4; c++)
                peak_store_gated(job, of, tile, m + i * 16 + lane / 4 + c / 2 * 8,
                                 n + j * 8 + lane % 4 * 2 + c % 2, gate[c], up[c]);
        }
    }
}

DEVICE void s80_tile(const struct peak_job *job, const struct peak_operands *of,
                     const struct peak_tile *tile, int kind, LOCAL char *local)
{
    struct peak_source a = peak_source_a(of, tile, kind), b = peak_source_b(of, tile, kind);
    int a_down = kind == PEAK_WGRAD, b_down = kind != PEAK_TURNED;
    gpu_u64 steps = peak_ceil(tile->depth, S80_DEPTH);
    struct s80_sums sums;
    PEAK_UNROLL
    for (int i = 0; i < 64; i++)
        sums.of[i / 16][i / 4 % 4][i % 4] = 0;
    for (gpu_u64 k = 0; k < steps + S80_STAGES - 1; k++) {
        if (k >= S80_STAGES - 1) {
            S80_WAIT(S80_STAGES - 2); /* the step's own copies have come, and all items' */
            BARRIER();
        }
        if (k < steps) {
            LOCAL char *to = local + k % S80_STAGES * 2 * S80_HALF;
            s80_fetch(to, &a, k * S80_DEPTH, a_down);
            s80_fetch(to + S80_HALF, &b, k * S80_DEPTH, b_down);
        }
        S80_COMMIT();
        if (k < S80_STAGES - 1)
            continue;
        const LOCAL char *at = local + (k - (S80_STAGES - 1)) % S80_STAGES * 2 * S80_HALF;
        s80_step(at, at + S80_HALF, a_down, b_down, &sums);
    }
    BARRIER(); /* the next tile's first steps go where this one's last were */
    if (kind == PEAK_GATED)
        s80_store_gated(job, of, tile, &sums);
    else
        s80_store(job, of, tile, kind, &sums);
}

DEVICE void s80_product(const struct gpu_call *call, const struct memory *memory, int kind)
{
    S80_LOCAL(local);
    struct peak_operands of;
    struct peak_job job = peak_job_of(call, memory, kind, &of);
    job.tile_rows = S80_SIDE;
    job.tile_columns = kind == PEAK_GATED ? S80_SIDE / 2 : S80_SIDE;
    of.apart = 8;
    struct peak_walk walk = peak_begin(&job);
    struct peak_tile tile;
    for (gpu_u64 i = GROUP; peak_take(&job, &walk, i, &tile); i += GROUPS)
        s80_tile(&job, &of, &tile, kind, local);
}

PEAK_KERNEL(s80_gemm, 256)
{
    (void)maps;
    s80_product(call, memory, PEAK_GEMM);
}

PEAK_KERNEL(s80_turned, 256)
{
    (void)maps;
    s80_product(call, memory, PEAK_TURNED);
}

PEAK_KERNEL(s80_wgrad, 256)
{
    (void)maps;
    s80_product(call, memory, PEAK_WGRAD);
}

PEAK_KERNEL(s80_gated, 256)
{
    (void)maps;
    s80_product(call, memory, PEAK_GATED);
}

#endif
