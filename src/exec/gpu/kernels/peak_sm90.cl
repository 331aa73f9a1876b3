/* Products on Hopper's tensor cores (sm_90a): tiles through TMA into work-group memory,
 * products by wgmma, sums in f32.
 *
 * A work-group's tile is 128 x 256, 64 deep a step. One warpgroup fetches, four steps ahead;
 * two multiply 64 x 256 each. Results in bf16 that nothing is added to leave by TMA, panel by
 * panel, and the last two while the next tile is multiplied. All others are written out while
 * the next tile is fetched already. In
 * work-group memory pieces are 64 elements wide, 128 bytes, swizzled by TMA as wgmma reads
 * them, whichever way the matrix lies: rows of the result or the depth along its rows. TMA
 * fills with zeros what is outside a matrix; rows of the next group are not outside: where the
 * depth are a group's rows, those behind its last are zeroed before they are multiplied,
 * otherwise the rows of the result that they make are not written. A gated product fetches
 * 128 columns of both halves of the weight: an item then holds a gate and its up in the same
 * place of two halves of its sums.
 */
#if defined(PEAK_EMULATED) || (defined(__CUDACC__) && defined(__CUDA_ARCH_FEAT_SM90_ALL))

enum {
    S90_ROWS = 128,
    S90_COLUMNS = 256,
    S90_DEPTH = 64,
    S90_STAGES = 4,
    S90_PANEL = 64 * 128, /* bytes of 64 rows of 64 elements */
    S90_A = 2 * S90_PANEL,
    S90_STAGE = 6 * S90_PANEL, /* A and 256 columns of B */
    S90_OUT = 2 * S90_PANEL,   /* on the way out, of a warpgroup: of each warp, or panels */
    S90_BYTES = S90_STAGES * S90_STAGE + 2 * S90_OUT + 1024
};

#if !defined(PEAK_EMULATED)
/* ---- the instructions: tests have their own of the same names ---- */

#define S90_LOCAL(name, barriers)                                                              \
    extern __shared__ char name[];                                                             \
    __shared__ __align__(8) gpu_u64 barriers[2 * S90_STAGES]

DEVICE gpu_u32 s90_address(const void *at)
{
    return (gpu_u32)__cvta_generic_to_shared(at);
}

/* Barriers of memory, by phase. */

DEVICE void s90_begin(gpu_u32 barrier, gpu_u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

DEVICE void s90_arrive(gpu_u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

DEVICE void s90_expect(gpu_u32 barrier, gpu_u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

DEVICE void s90_wait(gpu_u32 barrier, gpu_u32 phase)
{
    asm volatile("{\n.reg .pred done;\nagain:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra ended;\nbra again;\nended:\n}" ::"r"(barrier),
                 "r"(phase)
                 : "memory");
}

DEVICE void s90_show_barriers(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
}

DEVICE void s90_fetch(gpu_u32 to, const unsigned char *map, gpu_u32 barrier, gpu_u64 column,
                      gpu_u64 row, gpu_u64 matrix)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"((gpu_i32)column), "r"((gpu_i32)row),
                 "r"((gpu_i32)matrix)
                 : "memory");
}

#define S90_8(c)                                                                               \
    "+f"(d[c]), "+f"(d[c + 1]), "+f"(d[c + 2]), "+f"(d[c + 3]), "+f"(d[c + 4]),                \
        "+f"(d[c + 5]), "+f"(d[c + 6]), "+f"(d[c + 7])
#define S90_32(c) S90_8(c), S90_8(c + 8), S90_8(c + 16), S90_8(c + 24)

/* d [64, 256] of the warpgroup += a [64, 16] b [16, 256]; `adds` 0: what is in d is nothing.
 * a_down, b_down: their rows lie along the depth, not across it. */
#define S90_MULTIPLY(name, a_down, b_down)                                                     \
    DEVICE void name(float *d, gpu_u64 a, gpu_u64 b, int adds)                                 \
    {                                                                                          \
        asm volatile(                                                                          \
            "{\n.reg .pred adds;\nsetp.ne.b32 adds, %130, 0;\n"                                \
            "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "                           \
            "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
            "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
            "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
            "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
            "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, " \
            "%110, "                                                                           \
            "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, "   \
            "%124, "                                                                           \
            "%125, %126, %127}, %128, %129, adds, 1, 1, %131, %132;\n}"                        \
            : S90_32(0), S90_32(32), S90_32(64), S90_32(96)                                    \
            : "l"(a), "l"(b), "r"(adds), "n"(a_down), "n"(b_down));                            \
    }
S90_MULTIPLY(s90_multiply_along_down, 0, 1)
S90_MULTIPLY(s90_multiply_along_along, 0, 0)
S90_MULTIPLY(s90_multiply_down_down, 1, 1)

DEVICE void s90_multiply_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

DEVICE void s90_multiply_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

#define S90_MULTIPLY_WAIT(left)                                                                \
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory")

/* Sums stay where they are while products are under way: not read before, not moved after. */
DEVICE void s90_hold(float *d)
{
    PEAK_UNROLL
    for (int i = 0; i < 128; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

/* Work-group memory by 16 and 4 bytes. */
DEVICE void s90_zero_line(gpu_u32 at)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(0) : "memory");
}

DEVICE void s90_copy_line(char *to, gpu_u32 from)
{
    gpu_u32 w0, w1, w2, w3;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w0), "=r"(w1), "=r"(w2), "=r"(w3)
                 : "r"(from)
                 : "memory");
    *(uint4 *)to = make_uint4(w0, w1, w2, w3);
}

DEVICE void s90_store_word(gpu_u32 at, gpu_u32 word)
{
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(word) : "memory");
}

DEVICE gpu_u32 s90_load_word(gpu_u32 at)
{
    gpu_u32 word;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
    return word;
}

DEVICE gpu_u32 s90_two(float first, float second)
{
    gpu_u32 both; /* to nearest, ties to even: as bf16_encode, but for the bits of a NaN */
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}

DEVICE void s90_warp_barrier(void)
{
    __syncwarp();
}

/* What the two multiplying warpgroups stored is there for their products. */
DEVICE void s90_show_multipliers(void)
{
    asm volatile("fence.proxy.async.shared::cta;\nbar.sync 1, 256;" ::: "memory");
}

/* Panels of 64 x 64 to memory; what was sent has left work-group memory. */

DEVICE void s90_send(const unsigned char *map, gpu_u32 from, gpu_u64 column, gpu_u64 row,
                     gpu_u64 matrix)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], "
                 "[%1];" ::"l"(map),
                 "r"(from), "r"((gpu_i32)column), "r"((gpu_i32)row), "r"((gpu_i32)matrix)
                 : "memory");
}

DEVICE void s90_send_commit(void)
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* But for the last `left` that were committed. */
#define S90_SENT(left) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(left) : "memory")

/* A warpgroup that multiplies meets; what its items stored is there for TMA. */
DEVICE void s90_show_group(gpu_u32 group)
{
    asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(group + 2)
                 : "memory");
}

DEVICE void s90_few_registers(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}

DEVICE void s90_many_registers(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}
#endif

/* ---- fetching ---- */

DEVICE void s90_fetch_step(int kind, const struct gpu_maps *maps, const struct peak_job *job,
                           const struct peak_operands *of, const struct peak_tile *tile,
                           gpu_u64 depth, gpu_u32 to, gpu_u32 barrier)
{
    s90_expect(barrier, S90_STAGE);
    if (kind == PEAK_WGRAD)
        for (int p = 0; p < 2; p++)
            s90_fetch(to + p * S90_PANEL, maps->of[0], barrier, tile->row + p * 64,
                      tile->depth_from + depth, 0);
    else
        s90_fetch(to, maps->of[0], barrier, depth, tile->from + tile->row, 0);
    to += S90_A;
    gpu_u64 matrix = kind != PEAK_WGRAD && of->b.n_dims > 2 ? tile->matrix : 0;
    if (kind == PEAK_TURNED) {
        s90_fetch(to, maps->of[1], barrier, depth, tile->column, matrix);
        return;
    }
    gpu_u64 row =
        kind == PEAK_WGRAD ? tile->depth_from + (tile->to - tile->from) + depth : depth;
    for (int p = 0; p < 4; p++) {
        gpu_u64 column = tile->column + (kind == PEAK_GATED ? p % 2 * 64 + p / 2 * job->columns
                                                            : (gpu_u64)p * 64);
        s90_fetch(to + p * S90_PANEL, maps->of[1], barrier, column, row, matrix);
    }
}

/* ---- multiplying ---- */

/* Where a matrix in work-group memory begins, the stride between its panels of 64 and between
 * its groups of 8 rows, in units of 16 bytes; swizzled by 128 bytes. */
DEVICE gpu_u64 s90_matrix(gpu_u32 address, gpu_u32 panel_bytes)
{
    return (gpu_u64)(address >> 4 & 0x3fff) | (gpu_u64)(panel_bytes >> 4) << 16 |
           (gpu_u64)(1024 >> 4) << 32 | (gpu_u64)1 << 62;
}

/* d [64, 256] of the warpgroup += a [64, 16] b [16, 256] as the kind has them: the depth lies
 * down the rows of both (wgrad), along them (turned), or along a's and down b's. */
DEVICE void s90_multiply(int kind, float *d, gpu_u64 a, gpu_u64 b, int adds)
{
    if (kind == PEAK_WGRAD)
        s90_multiply_down_down(d, a, b, adds);
    else if (kind == PEAK_TURNED)
        s90_multiply_along_along(d, a, b, adds);
    else
        s90_multiply_along_down(d, a, b, adds);
}

/* A step of a warpgroup: 64 deep, four products. */
DEVICE void s90_step(int kind, float *d, gpu_u32 a, gpu_u32 b, int adds)
{
    gpu_u32 a_deeper = kind == PEAK_WGRAD ? 2048 : 32, /* bytes to the next 16 of the depth */
        b_deeper = kind != PEAK_TURNED ? 2048 : 32;
    s90_multiply_begin();
    PEAK_UNROLL
    for (gpu_u32 k = 0; k < 4; k++)
        s90_multiply(kind, d, s90_matrix(a + k * a_deeper, S90_PANEL),
                     s90_matrix(b + k * b_deeper, S90_PANEL), adds || k > 0);
    s90_multiply_commit();
}

DEVICE void s90_zero_rows(gpu_u32 panel, gpu_u32 first, gpu_u32 lane, gpu_u32 lanes)
{
    for (gpu_u32 i = first * 8 + lane; i < 64 * 8; i += lanes)
        s90_zero_line(panel + i * 16);
}

/* Rows behind the group's last, of both operands, before anybody multiplies them. */
DEVICE void s90_cut(gpu_u32 stage, gpu_u32 rows, gpu_u32 item)
{
    for (gpu_u32 p = 0; p < 6; p++)
        s90_zero_rows(stage + p * S90_PANEL, rows, item, 256);
    s90_show_multipliers();
}

/* ---- writing out ---- */

/* 16 rows of 128 bytes of a warp, through its own 2 KiB: whole pieces of 16 bytes to memory. */
DEVICE void s90_rows_out(gpu_u32 own, char *to, gpu_u64 pitch_bytes, gpu_u64 rows,
                         gpu_u64 bytes)
{
    gpu_u32 lane = ITEM % 32;
    s90_warp_barrier();
    PEAK_UNROLL
    for (gpu_u32 i = 0; i < 4; i++) {
        gpu_u32 row = i * 4 + lane / 8, piece = lane % 8;
        gpu_u32 line = own + row * 128 + (piece ^ (row & 7)) * 16;
        if (row < rows && piece * 16 < bytes)
            s90_copy_line(to + row * pitch_bytes + piece * 16, line);
    }
    s90_warp_barrier();
}

DEVICE void s90_put(gpu_u32 own, gpu_u32 row, gpu_u32 byte, gpu_u32 word)
{
    s90_store_word(own + row * 128 + ((byte / 16) ^ (row & 7)) * 16 + byte % 16, word);
}

/* The same of sums in f32 that are added to, have a bias, or are rounded: one by one. */
DEVICE void s90_sums_out(gpu_u32 own, const struct peak_job *job,
                         const struct peak_operands *of, const struct peak_tile *tile, int kind,
                         gpu_u32 above, gpu_u32 first)
{
    gpu_u32 lane = ITEM % 32;
    s90_warp_barrier();
    PEAK_ROLL
    for (gpu_u32 row = 0; row < 16; row++) {
        gpu_u32 word =
            s90_load_word(own + row * 128 + ((lane / 4) ^ (row & 7)) * 16 + lane % 4 * 4);
        peak_store(job, of, tile, kind, above + row, first + lane, AS_FLOAT(word));
    }
    s90_warp_barrier();
}

DEVICE void s90_store_words(int kind, const struct peak_job *job,
                            const struct peak_operands *of, const struct peak_tile *tile,
                            const float *d, gpu_u32 above, gpu_u32 own, int plain)
{
    gpu_u32 lane = ITEM % 32, row = lane / 4, pair = lane % 4 * 2;
    gpu_u64 rows = tile->rows > above ? tile->rows - above : 0;
    char *to = of->out.data + peak_place(job, of, tile, kind, above, 0) * 4;
    PEAK_UNROLL
    for (int panel = 0; panel < 8; panel++) {
        PEAK_UNROLL
        for (int j = 0; j < 16; j++)
            s90_put(own, row + j / 2 % 2 * 8, (j / 4 * 8 + pair + j % 2) * 4,
                    AS_BITS(d[panel * 16 + j]));
        gpu_u64 first = panel * 32, left = tile->columns > first ? tile->columns - first : 0;
        if (plain)
            s90_rows_out(own, to + first * 4, job->columns * 4, rows, left * 4);
        else
            s90_sums_out(own, job, of, tile, kind, above, (gpu_u32)first);
    }
}

/* Gates and ups with their biases, rounded as they are kept. */
DEVICE void s90_round(const struct peak_job *job, const struct peak_operands *of,
                      const struct peak_tile *tile, float *d)
{
    const float *bias = F32(of->bias) + tile->matrix * of->bias.width + tile->column;
    PEAK_UNROLL
    for (int i = 0; i < 128; i += 2) {
        gpu_u64 column = i / 32 % 2 * 64 + i % 32 / 4 * 8 + ITEM % 4 * 2;
        if (of->bias.present && column < tile->columns) {
            d[i] += bias[i / 64 * job->columns + column];
            d[i + 1] += bias[i / 64 * job->columns + column + 1];
        }
        gpu_u32 word = s90_two(d[i], d[i + 1]);
        d[i] = AS_FLOAT(word << 16);
        d[i + 1] = AS_FLOAT(word & 0xffff0000U);
    }
}

DEVICE void s90_gate(gpu_u32 curve, float *d)
{
    PEAK_UNROLL
    for (int i = 0; i < 64; i++)
        d[i] = gated(curve, d[i], d[64 + i], 1);
}

/* ---- sending: bf16 that nothing is added to ---- */

/* Where a warpgroup's 64 rows go: panels of 64 columns from `column` on, the third and fourth
 * `apart` behind. Rows end where their group does, or, of a weight's gradient, where its matrix
 * does: then TMA knows. */
struct s90_way {
    const unsigned char *map;
    struct tensor to;
    gpu_u64 row, column, apart, matrix;
    gpu_u64 rows, columns; /* that are there; of two halves, of each */
    int halves, ends;
};

DEVICE gpu_u64 s90_inside(const struct s90_way *way, gpu_u32 panel)
{
    return panel % 2 * 64 + (way->halves ? 0 : panel / 2 * 128);
}

DEVICE gpu_u64 s90_column(const struct s90_way *way, gpu_u32 panel)
{
    return way->column + panel % 2 * 64 + panel / 2 * way->apart;
}

/* Fewer rows than 64, or gates that end before their ups begin, piece by piece. */
DEVICE void s90_copy_rows(const struct s90_way *way, gpu_u32 panel, gpu_u32 from)
{
    PEAK_UNROLL
    for (gpu_u32 i = 0; i < 4; i++) {
        gpu_u32 row = i * 16 + ITEM % 128 / 8, piece = ITEM % 8;
        gpu_u64 column = s90_column(way, panel) + piece * 8;
        if (row < way->rows && s90_inside(way, panel) + piece * 8 < way->columns)
            s90_copy_line(way->to.data + ((way->row + row) * way->to.width + column) * 2,
                          from + row * 128 + (piece ^ (row & 7)) * 16);
    }
}

/* One panel, through one of the warpgroup's two: what stands in it was sent, or read by its
 * items, two panels ago. */
DEVICE void s90_send_panel(const struct s90_way *way, const float *d, gpu_u32 panel, int whole,
                           gpu_u32 group, gpu_u32 own)
{
    gpu_u32 item = ITEM % 128, lane = ITEM % 32;
    gpu_u32 row = item / 32 * 16 + lane / 4, pair = lane % 4 * 4;
    own += panel % 2 * S90_PANEL;
    if (item == 0)
        S90_SENT(1);
    s90_show_group(group);
    PEAK_UNROLL
    for (int j = 0; j < 16; j++) {
        s90_put(own, row + j % 2 * 8, j / 2 * 16 + pair, s90_two(d[j * 2], d[j * 2 + 1]));
    }
    s90_show_group(group);
    if (!whole)
        s90_copy_rows(way, panel, own);
    if (item == 0) {
        if (whole && s90_inside(way, panel) < way->columns)
            s90_send(way->map, own, s90_column(way, panel), way->row, way->matrix);
        s90_send_commit();
    }
}

DEVICE void s90_send_panels(const struct s90_way *way, const float *d, int panels,
                            gpu_u32 group, gpu_u32 own)
{
    int whole = way->rows > 0 && (way->ends || way->rows >= 64) &&
                !(panels > 2 && way->halves && way->columns < 128);
    PEAK_UNROLL
    for (int panel = 0; panel < 4; panel++)
        if (panel < panels)
            s90_send_panel(way, d + panel * 32, (gpu_u32)panel, whole, group, own);
}

DEVICE void s90_gate_all(const struct peak_job *job, float *d)
{
    if (job->call->curve == GPU_SILU)
        s90_gate(GPU_SILU, d);
    else if (job->call->curve == GPU_GELU)
        s90_gate(GPU_GELU, d);
    else if (job->call->curve == GPU_RELU)
        s90_gate(GPU_RELU, d);
    else
        s90_gate(GPU_SWIGLU_OAI, d);
}

DEVICE void s90_send_tile(int kind, const struct gpu_maps *maps, const struct peak_job *job,
                          const struct peak_operands *of, const struct peak_tile *tile,
                          float *d, gpu_u32 group, gpu_u32 own)
{
    gpu_u32 above = group * 64;
    struct s90_way way;
    way.map = maps->of[2];
    way.to = of->out;
    way.row = (kind == PEAK_WGRAD ? 0 : tile->to) + tile->row + above;
    way.column = tile->column;
    way.apart = 128;
    way.matrix = kind == PEAK_WGRAD && of->out.n_dims > 2 ? tile->matrix : 0;
    way.rows = tile->rows > above ? tile->rows - above : 0;
    way.columns = tile->columns;
    way.halves = kind == PEAK_GATED;
    way.ends = kind == PEAK_WGRAD;
    if (kind == PEAK_GATED) {
        s90_round(job, of, tile, d);
        if (of->kept.present) {
            struct s90_way kept = way;
            kept.map = maps->of[3];
            kept.to = of->kept;
            kept.apart = job->columns;
            s90_send_panels(&kept, d, 4, group, own);
        }
        s90_gate_all(job, d);
    }
    s90_send_panels(&way, d, kind == PEAK_GATED ? 2 : 4, group, own);
}

/* Every work-group of a launch answers alike. */
DEVICE int s90_sends(int kind, const struct peak_job *job, const struct peak_operands *of)
{
    if (kind == PEAK_GATED)
        return 1;
    return of->out.format == FORMAT_BF16 && !peak_adds(job->call, kind) &&
           (kind == PEAK_WGRAD || !of->bias.present);
}

/* ---- all other results: 16 rows of a warp from row `above` of the tile on ---- */

DEVICE void s90_store(int kind, const struct peak_job *job, const struct peak_operands *of,
                      const struct peak_tile *tile, const float *d, gpu_u32 above, gpu_u32 own)
{
    int plain = !peak_adds(job->call, kind) && (kind == PEAK_WGRAD || !of->bias.present);
    s90_store_words(kind, job, of, tile, d, above, own, plain && of->out.format == FORMAT_F32);
}

/* ---- the two parts ---- */

struct s90_ring {
    gpu_u32 stages, full, empty; /* addresses */
    gpu_u32 at, phase;           /* the stage at hand, rounds so far modulo 2 */
};

DEVICE gpu_u32 s90_stage(const struct s90_ring *ring)
{
    return ring->stages + ring->at * S90_STAGE;
}

DEVICE gpu_u32 s90_full(const struct s90_ring *ring)
{
    return ring->full + ring->at * 8;
}

DEVICE gpu_u32 s90_empty(const struct s90_ring *ring)
{
    return ring->empty + ring->at * 8;
}

DEVICE void s90_next(struct s90_ring *ring)
{
    if (++ring->at == S90_STAGES) {
        ring->at = 0;
        ring->phase ^= 1;
    }
}

DEVICE void s90_fetch_all(int kind, const struct gpu_maps *maps, const struct peak_job *job,
                          const struct peak_operands *of, struct s90_ring ring)
{
    struct peak_walk walk = peak_begin(job);
    struct peak_tile tile;
    for (gpu_u64 i = GROUP; peak_take(job, &walk, i, &tile); i += GROUPS)
        for (gpu_u64 depth = 0; depth < tile.depth; depth += S90_DEPTH, s90_next(&ring)) {
            s90_wait(s90_empty(&ring), ring.phase ^ 1);
            s90_fetch_step(kind, maps, job, of, &tile, depth, s90_stage(&ring),
                           s90_full(&ring));
        }
}

DEVICE void s90_multiply_all(int kind, int sends, const struct gpu_maps *maps,
                             const struct peak_job *job, const struct peak_operands *of,
                             struct s90_ring ring, gpu_u32 item)
{
    struct peak_walk walk = peak_begin(job);
    struct peak_tile tile;
    gpu_u32 group = item / 128, warp = item / 32, lane = item % 32,
            out = ring.stages + S90_STAGES * S90_STAGE;
    float d[128];
    for (gpu_u64 i = GROUP; peak_take(job, &walk, i, &tile); i += GROUPS) {
        PEAK_UNROLL
        for (int e = 0; e < 128; e++)
            d[e] = 0;
        s90_hold(d);
        gpu_u32 before = 0; /* the stage of the step before, multiplied but not yet free */
        for (gpu_u64 depth = 0; depth < tile.depth; depth += S90_DEPTH, s90_next(&ring)) {
            gpu_u32 stage = s90_stage(&ring);
            s90_wait(s90_full(&ring), ring.phase);
            if (kind == PEAK_WGRAD && tile.depth - depth < S90_DEPTH)
                s90_cut(stage, (gpu_u32)(tile.depth - depth), item);
            s90_step(kind, d, stage + group * S90_PANEL, stage + S90_A, depth > 0);
            S90_MULTIPLY_WAIT(1);
            if (before && lane == 0)
                s90_arrive(before);
            before = s90_empty(&ring);
        }
        S90_MULTIPLY_WAIT(0);
        s90_hold(d);
        if (before && lane == 0)
            s90_arrive(before);
        if (sends)
            s90_send_tile(kind, maps, job, of, &tile, d, group, out + group * S90_OUT);
        else
            s90_store(kind, job, of, &tile, d, warp * 16, out + warp * 2048);
    }
    if (sends && item % 128 == 0)
        S90_SENT(0);
}

DEVICE void s90_product(int kind, const struct gpu_maps *maps, const struct gpu_call *call,
                        const struct memory *memory)
{
    S90_LOCAL(shared, barriers);
    struct s90_ring ring;
    ring.stages = (s90_address(shared) + 1023) / 1024 * 1024;
    ring.full = s90_address(barriers);
    ring.empty = ring.full + S90_STAGES * 8;
    ring.at = ring.phase = 0;
    if (ITEM == 0) {
        for (int i = 0; i < S90_STAGES; i++) {
            s90_begin(ring.full + i * 8, 1);
            s90_begin(ring.empty + i * 8, 8); /* a lane of each warp that multiplies */
        }
        s90_show_barriers();
    }
    BARRIER();
    struct peak_operands of;
    struct peak_job job = peak_job_of(call, memory, kind, &of);
    job.tile_rows = S90_ROWS;
    job.tile_columns = kind == PEAK_GATED ? S90_COLUMNS / 2 : S90_COLUMNS;
    int sends = s90_sends(kind, &job, &of);
    if (ITEM < 128) {
        s90_few_registers();
        if (ITEM == 0)
            s90_fetch_all(kind, maps, &job, &of, ring);
        return;
    }
    s90_many_registers();
    s90_multiply_all(kind, sends, maps, &job, &of, ring, ITEM - 128);
}

PEAK_KERNEL(s90_gemm, 384)
{
    s90_product(PEAK_GEMM, maps, call, memory);
}

PEAK_KERNEL(s90_turned, 384)
{
    s90_product(PEAK_TURNED, maps, call, memory);
}

PEAK_KERNEL(s90_wgrad, 384)
{
    s90_product(PEAK_WGRAD, maps, call, memory);
}

PEAK_KERNEL(s90_gated, 384)
{
    s90_product(PEAK_GATED, maps, call, memory);
}

#endif
