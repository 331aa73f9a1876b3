/* The table of GPU kernels; see kernels.h. */
#include "exec/gpu/kernels.h"

#include <stdlib.h>

#include "base/checked.h"
#include "exec/gpu/sources.h"

/* As in the kernels' sources. */
enum { GPU_MOST_GROUPS = 1 << 20 };

/* Kernels that walk rows take as many groups as there are; more than the limit take turns. */
static uint64_t at_most(uint64_t groups)
{
    return groups < GPU_MOST_GROUPS ? groups : GPU_MOST_GROUPS;
}

static uint64_t one(const struct call *call)
{
    (void)call;
    return 1;
}

static uint64_t out_rows(const struct call *call)
{
    return at_most(call->of[ROLE_DST].rows);
}

/* Most of them find nothing to do: only the device knows how many rows there are. */
static uint64_t rows_behind(const struct call *call)
{
    enum { ENOUGH = 2048 };
    return lesser(call->of[ROLE_DST].rows, ENOUGH);
}

static uint64_t picked_pieces(const struct call *call)
{
    const struct tensor *dst = &call->of[ROLE_DST];
    return at_most(dst->rows * ceil_div(tensor_row_bytes(dst), GPU_PICK_BYTES));
}

static uint64_t in_rows(const struct call *call)
{
    return at_most(call->of[ROLE_SRC].rows);
}

/* 64 columns of all rows. */
static uint64_t in_columns(const struct call *call)
{
    return at_most(ceil_div(call->of[ROLE_SRC].width, 64));
}

static uint64_t weight_columns(const struct call *call)
{
    return at_most(call->of[ROLE_D_WEIGHT].width);
}

static uint64_t all_rows(const struct call *call)
{
    const struct tensor *dst = &call->of[ROLE_DST];
    return at_most(dst->rows * (dst->n_dims == 3 ? dst->dims[1] : 1));
}

static uint64_t token_rows(const struct call *call)
{
    return at_most(call->of[ROLE_LOGITS].rows);
}

static uint64_t slot_rows(const struct call *call)
{
    return at_most(call->of[ROLE_D_DST].rows * call->args.combine.slots.n);
}

static uint64_t combine_rows(const struct call *call)
{
    return call->args.combine.by_iteration ? 1 : out_rows(call);
}

static uint64_t gradient_rows(const struct call *call)
{
    return call->of[ROLE_DST].present ? out_rows(call) : in_rows(call);
}

static uint64_t block_rows(const struct call *call)
{
    return at_most(call->of[ROLE_BLOCK].rows * call->args.block.rows.n);
}

static uint64_t chunk_experts(const struct call *call)
{
    return call->of[ROLE_COUNTS].rows;
}

static uint64_t elements(const struct call *call)
{
    return at_most(ceil_div(call->of[ROLE_DST].rows * call->of[ROLE_DST].width, 64));
}

static uint64_t route_rows(const struct call *call)
{
    return at_most(ceil_div(call->task->sample->T * call->task->sample->K, 256));
}

static uint64_t own_slots(const struct call *call)
{
    return at_most(ceil_div(call->of[ROLE_PHYS].rows * call->of[ROLE_PHYS].width, 64));
}

static uint64_t slot_map(const struct call *call)
{
    return at_most(ceil_div(call->of[ROLE_ROW_BLOCK].rows, 256));
}

static uint64_t tiles(uint64_t rows, uint64_t columns)
{
    return ceil_div(rows, GPU_TILE_ROWS) * ceil_div(columns, GPU_TILE);
}

uint64_t gpu_gemm_groups(uint64_t rows, uint64_t n, uint64_t columns)
{
    return (ceil_div(rows, GPU_TILE_ROWS) + n) * ceil_div(columns, GPU_TILE);
}

uint64_t gpu_wgrad_groups(uint64_t rows, uint64_t n, uint64_t columns)
{
    return n * tiles(rows, columns);
}

static uint64_t gemm_tiles(const struct call *call)
{
    uint64_t rows = call->of[ROLE_SRC].rows, columns = call->of[ROLE_DST].width;
    struct grouping g = kernel_grouping(call, &call->args.gemm.rows, rows);
    return g.shared ? gpu_wgrad_groups(rows, g.n, columns)
                    : gpu_gemm_groups(rows, g.n, columns);
}

static uint64_t wgrad_tiles(const struct call *call)
{
    struct grouping g = kernel_grouping(call, &call->args.gemm.rows, call->of[ROLE_SRC].rows);
    return gpu_wgrad_groups(call->of[ROLE_SRC].width, g.n, call->of[ROLE_D_DST].width);
}

static uint64_t expanded_tiles(const struct call *call)
{
    return tiles(call->of[ROLE_DST].rows, call->of[ROLE_DST].width);
}

static uint64_t expanded_wgrad_tiles(const struct call *call)
{
    return call->of[ROLE_SRC].dims[0] *
           tiles(call->of[ROLE_SRC].dims[2], call->of[ROLE_D_DST].width);
}

static uint64_t sdd_blocks(const struct call *call)
{
    return call->of[ROLE_ROW_BLOCK].rows *
           (call->of[ROLE_DST].width / call->args.sparse.block.n);
}

static uint64_t dsd_tiles(const struct call *call)
{
    return ceil_div(call->of[ROLE_DST].rows, call->args.sparse.block.n) *
           ceil_div(call->of[ROLE_DST].width, GPU_TILE);
}

static uint64_t sparse_tiles(const struct call *call)
{
    uint64_t B = call->args.sparse.block.n,
             wide = ceil_div(call->args.sparse.inter.n, B) * call->of[ROLE_SRC].width;
    bool transposed = call->args.sparse.transposed;
    uint64_t other = call->of[ROLE_OTHER].width;
    return call->of[ROLE_D_WEIGHT].dims[0] *
           tiles(transposed ? other : wide, transposed ? wide : other);
}

/* kernel, name and file of its source, items of a work-group, work-groups, operands */
#define GPU_KERNELS(X)                                                                         \
    X(GATHER, gather, rows, 64, out_rows, SRC, INDEX, OFFSETS, GATES, DST)                     \
    X(SCATTER, scatter, rows, 64, in_rows, SRC, INDEX, DST)                                    \
    X(PICK, pick, rows, 64, picked_pieces, WEIGHT, HITS, DST)                                  \
    X(SWAP, swap, rows, 64, in_rows, SRC, DST)                                                 \
    X(MASK, mask, rows, 64, rows_behind, OFFSETS, DST)                                         \
    X(ZERO, zero, rows, 64, out_rows, DST)                                                     \
    X(ADD, add, rows, 64, out_rows, SRC, OTHER, DST)                                           \
    X(ADD_CHUNKS, add_chunks, rows, 64, in_rows, SRC, DST)                                     \
    X(EXPAND, expand, rows, 64, all_rows, SRC, OFFSETS, DST)                                   \
    X(QUANTIZE, quantize, convert, 64, in_rows, SRC, DST)                                      \
    X(DEQUANTIZE, dequantize, convert, 64, in_rows, SRC, DST)                                  \
    X(TOPK, topk, router, 64, token_rows, LOGITS, WANTED, BIAS, IDS, GATES)                    \
    X(TOPK_GRAD, topk_grad, router, 64, token_rows, LOGITS, IDS, D_GATES, DST)                 \
    X(SCALE_GATES, scale_gates, router, 64, elements, GATES, IDS, WEIGHT, DST)                 \
    X(SCALE_GATES_WGRAD, scale_gates_wgrad, router, 64, weight_columns, GATES, IDS, D_GATES,   \
      D_WEIGHT)                                                                                \
    X(PLACE, place, maps, 256, one, IDS, START, REPLICA, PHYS)                                 \
    X(SORT, sort, maps, 256, one, PHYS, ORDER, POSITION, COUNTS, SENDS)                        \
    X(GROUP, group, maps, 256, one, COUNTS, RECEIVES, OFFSETS, SIZES, INDEX, PLACE)            \
    X(SLOTS, slots, maps, 256, one, PHYS, INDEX, POSITION, DROPPED)                            \
    X(FAN, fan, maps, 256, one, PHYS, RECEIVES, OFFSETS, SIZES, INDEX, PLACE)                  \
    X(LAYOUT, layout, maps, 256, one, PHYS, INDEX, SLOT, POSITION, SENDS, HANDLE)              \
    X(RECORD, record, maps, 256, route_rows, PHYS, GATES, ORDER, DST)                          \
    X(POOL, pool, maps, 256, one, SRC, RECEIVES, OFFSETS, SIZES, INDEX, PLACE, GATES)          \
    X(MOST, most, maps, 64, one, COUNTS, DST)                                                  \
    X(ROUNDS, rounds, maps, 64, one, COUNTS, DST)                                              \
    X(CHUNK, chunk, maps, 256, chunk_experts, ORDER, COUNTS, INDEX, HOME)                      \
    X(TABLE, table, maps, 256, one, PHYS, PLACE, INDEX)                                        \
    X(HITS, hits, maps, 64, one, SIZES, HITS, MAP)                                             \
    X(OWN, own, maps, 64, own_slots, PHYS, SLOT, PLACE, HITS, SIZES, OFFSETS)                  \
    X(SPARSE_MAP, sparse_map, maps, 256, slot_map, OFFSETS, ROW_BLOCK, COLUMN_BLOCK)           \
    X(BLOCKS, blocks, blocks, 256, one, PHYS, EXPERT, INDEX, PLACE, CONDITIONS, RUN, TRIPS)    \
    X(DEAL, deal, blocks, 64, one, EXPERT, RUN, BLOCK, NUMBER, FETCH, SIZES, OFFSETS)          \
    X(FETCH, fetch, blocks, 64, all_rows, WEIGHT, NUMBER, FETCH, DST)                          \
    X(LOAD_BLOCK, load_block, blocks, 64, block_rows, SRC, INDEX, BLOCK, GATES, DST)           \
    X(ADD_BLOCK, add_block, blocks, 64, block_rows, SRC, GATES, INDEX, BLOCK, DST)             \
    X(CORE_SUM, core_sum, blocks, 64, in_rows, SRC, DST)                                       \
    X(COMBINE, combine, combine, 64, combine_rows, SRC, POSITION, GATES, KEYS, HANDLE, DST)    \
    X(SPREAD, spread, combine, 64, out_rows, SRC, INVERSE, GATES, HANDLE, DST)                 \
    X(GATE_GRAD, gate_grad, combine, 64, slot_rows, SRC, POSITION, D_DST, D_GATES)             \
    X(ACCUMULATE, accumulate, combine, 64, in_rows, SRC, GATES, PHYS, INDEX, OFFSETS, DST)     \
    X(ACCUMULATE_GRAD, accumulate_grad, combine, 64, gradient_rows, SRC, GATES, PHYS, D_DST,   \
      INDEX, OFFSETS, DST, D_GATES)                                                            \
    X(ACTIVATION, activation, activation, 64, out_rows, SRC, OFFSETS, SIZES, DST)              \
    X(ACTIVATION_GRAD, activation_grad, activation, 64, out_rows, SRC, D_DST, OFFSETS, SIZES,  \
      DST)                                                                                     \
    X(SIGMOID, sigmoid, activation, 64, elements, SRC, DST)                                    \
    X(SIGMOID_GRAD, sigmoid_grad, activation, 64, elements, GATES, D_GATES, DST)               \
    X(NORM, norm, norm, 64, in_rows, SRC, WEIGHT, DST, FACTOR)                                 \
    X(NORM_GRAD, norm_grad, norm, 64, in_rows, SRC, WEIGHT, FACTOR, D_DST, DST)                \
    X(NORM_WGRAD, norm_wgrad, norm, 64, in_columns, SRC, FACTOR, D_DST, D_WEIGHT)              \
    X(GEMM, gemm, product, 256, gemm_tiles, SRC, WEIGHT, OFFSETS, SIZES, MAP, BIAS, DST)       \
    X(GATED_GEMM, gated_gemm, product, 256, gemm_tiles, SRC, WEIGHT, OFFSETS, SIZES, MAP,      \
      BIAS, DST, OTHER)                                                                        \
    X(CHUNK_GEMM, gemm, product, 256, gemm_tiles, SRC, WEIGHT, OFFSETS, SIZES, MAP, BIAS, DST) \
    X(WGRAD, wgrad, product, 256, wgrad_tiles, SRC, D_DST, OFFSETS, SIZES, MAP, D_WEIGHT,      \
      D_BIAS)                                                                                  \
    X(EXPANDED_GEMM, expanded_gemm, product, 256, expanded_tiles, SRC, WEIGHT, DST)            \
    X(EXPANDED_WGRAD, expanded_wgrad, product, 256, expanded_wgrad_tiles, SRC, D_DST,          \
      D_WEIGHT)                                                                                \
    X(SDD, sdd, product, 256, sdd_blocks, SRC, WEIGHT, ROW_BLOCK, COLUMN_BLOCK, OFFSETS, BIAS, \
      DST)                                                                                     \
    X(DSD, dsd, product, 256, dsd_tiles, SRC, WEIGHT, OFFSETS, BIAS, DST)                      \
    X(SPARSE_WGRAD, sparse_wgrad, product, 256, sparse_tiles, SRC, OTHER, OFFSETS, D_WEIGHT,   \
      D_BIAS)

/* How many operands a row lists, and them as roles. */
#define COUNT_AT(a, b, c, d, e, f, g, h, n, ...) n
#define COUNT(...) COUNT_AT(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ROLES_1(a) ROLE_##a
#define ROLES_2(a, ...) ROLE_##a, ROLES_1(__VA_ARGS__)
#define ROLES_3(a, ...) ROLE_##a, ROLES_2(__VA_ARGS__)
#define ROLES_4(a, ...) ROLE_##a, ROLES_3(__VA_ARGS__)
#define ROLES_5(a, ...) ROLE_##a, ROLES_4(__VA_ARGS__)
#define ROLES_6(a, ...) ROLE_##a, ROLES_5(__VA_ARGS__)
#define ROLES_7(a, ...) ROLE_##a, ROLES_6(__VA_ARGS__)
#define ROLES_8(a, ...) ROLE_##a, ROLES_7(__VA_ARGS__)
#define ROLES_N(n, ...) ROLES_##n(__VA_ARGS__)
#define ROLES(n, ...) ROLES_N(n, __VA_ARGS__)

const struct gpu_kernel *gpu_kernel_of(enum kernel kernel)
{
    static const struct gpu_kernel rows[KERNEL_COUNT] = {
#define GPU_KERNEL_ROW(kernel, text, source, items, groups, ...)                               \
    [KERNEL_##kernel] = {#text,                                                                \
                         GPU_SOURCE_##source,                                                  \
                         items,                                                                \
                         {ROLES(COUNT(__VA_ARGS__), __VA_ARGS__)},                             \
                         COUNT(__VA_ARGS__),                                                   \
                         groups},
        GPU_KERNELS(GPU_KERNEL_ROW)
#undef GPU_KERNEL_ROW
    };
    return &rows[kernel];
}

/* ---- kernels that several work-groups share in several launches ---- */

/* kernel, operand whose numbers are cut into pieces, bins they are counted in, the launch
 * before its own and that one's source, and whether counts become starts between them */
#define GPU_SHARED(X)                                                                          \
    X(PLACE, IDS, sample->logical, place_count, maps, true)                                    \
    X(SORT, PHYS, sample->R * sample->local + sample->R, sort_count, maps, true)               \
    X(GROUP, INDEX, 0, group_starts, maps, false)                                              \
    X(SLOTS, PHYS, sample->R * sample->local, slots_count, maps, true)                         \
    X(FAN, PHYS, sample->local, fan_count, maps, true)                                         \
    X(LAYOUT, POSITION, sample->R, layout_count, maps, true)                                   \
    X(POOL, PLACE, sample->local, pool_count, maps, true)                                      \
    X(TABLE, INDEX, 0, table_clear, maps, false)                                               \
    X(BLOCKS, PHYS, sample->local, blocks_count, blocks, true)

const struct gpu_phase *gpu_phases_of(enum kernel kernel)
{
    static const struct gpu_phase rows[KERNEL_COUNT][GPU_PHASES + 1] = {
#define GPU_PHASES_ROW(kernel, role, bins, text, source, counted)                              \
    [KERNEL_##kernel] = {{#text, GPU_SOURCE_##source, 256, false},                             \
                         {(counted) ? "starts" : NULL, GPU_SOURCE_maps, 64, true}},
        GPU_SHARED(GPU_PHASES_ROW)
#undef GPU_PHASES_ROW
    };
    return rows[kernel][0].name ? rows[kernel] : NULL;
}

/* Numbers that are cut, and how many bins they go to. */
static uint64_t shared_numbers(const struct call *call, uint64_t *bins)
{
    const struct layer_sample *sample = call->task->sample;
    enum role role = ROLE_COUNT;
    switch ((int)call->op->kernel) {
#define GPU_SHARED_ROW(kernel, of, n_bins, ...)                                                \
    case KERNEL_##kernel:                                                                      \
        role = ROLE_##of;                                                                      \
        *bins = n_bins;                                                                        \
        break;
        GPU_SHARED(GPU_SHARED_ROW)
#undef GPU_SHARED_ROW
    }
    return call->of[role].rows * call->of[role].width;
}

/* A piece is walked by as many items at once; some hundred groups are enough for any device,
 * and two steps of one take no longer than another launch. */
static uint64_t pieces_of(uint64_t numbers)
{
    enum { PIECE = 256, MOST_PIECES = 1024 };
    const char *given = getenv("MOEPLAN_GPU_PIECE");
    uint64_t piece = given ? strtoull(given, NULL, 10) : 0;
    piece = piece ? piece : PIECE;
    uint64_t pieces = numbers > 2 * piece ? ceil_div(numbers, piece) : 1;
    return pieces < MOST_PIECES ? pieces : MOST_PIECES;
}

/* Lots are placed apart: as many pieces each, their bins, too; or, where these do not fit, a
 * lot is a piece. */
static uint64_t share_lots(uint64_t lots, uint64_t words, struct gpu_call *device)
{
    uint64_t groups = device->pieces, each = groups / lots, bins = device->bins * lots;
    uint64_t fit = words / bins;
    if (fit < 2) {
        device->pieces = (uint32_t)(groups < lots ? groups : lots);
        return device->pieces;
    }
    device->bins = (uint32_t)bins;
    device->pieces = (uint32_t)(each < 1 ? 1 : each < fit - 1 ? each : fit - 1);
    return groups > 1 ? device->pieces * lots : 1;
}

uint64_t gpu_share(const struct call *call, struct gpu_call *device)
{
    const enum kernel kernel = (enum kernel)call->op->kernel;
    uint64_t words = (device->space_bytes - GPU_SPACE_HEAD) / sizeof(int32_t), bins = 0;
    if (!gpu_phases_of(kernel))
        return gpu_kernel_of(kernel)->groups(call);
    uint64_t pieces = pieces_of(shared_numbers(call, &bins));
    uint64_t fit = bins && words / bins > 1 ? words / bins - 1 : 1;
    device->bins = (uint32_t)bins;
    device->pieces = (uint32_t)(bins == 0 || pieces < fit ? pieces : fit);
    if (kernel == KERNEL_SLOTS && call->args.slots.groups.n > 1)
        return share_lots(call->args.slots.groups.n, words, device);
    return device->pieces;
}

const struct gpu_text *gpu_source_texts(enum gpu_source source, unsigned *n)
{
    static const struct gpu_text *const programs[] = {
#define GPU_SOURCE_ROW(name) gpu_program_##name,
        GPU_SOURCES(GPU_SOURCE_ROW)
#undef GPU_SOURCE_ROW
    };
    const struct gpu_text *texts = programs[source];
    for (*n = 0; texts[*n].text; (*n)++)
        continue;
    return texts;
}
