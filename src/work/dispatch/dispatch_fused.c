/* Fused kernels of inference engines: workspaces in place of one tensor per product. Sources:
 * engines.md 1.5, 2.3 and 3, buffers.md 10.1 to 10.3 (vLLM model_executor/layers/fused_moe,
 * FlashInfer cutlass_fused_moe and trtllm_fused_moe). A kernel is a row of the table: over
 * which rows, and two widths; what it takes besides is a function. */
#include "work/path/path.h"
#include "work/dispatch/dispatch_parts.h"
#include "work/dispatch/dispatch_rows.h"

/* ---- widths of a row ---- */

enum width { NONE, ACTIVE, MAX_ACTIVE, WIDE, MAX_WIDE, MAX_DOUBLE };

/* I; max(I, H); 2 I; max(2 I, H); max(4 I, H): I instead of 2 I without a gate matrix. */
static struct size width_of(const struct hold_path *p, enum width width)
{
    struct sizes *s = p->x.sizes;
    struct size active = p->x.inter;
    struct size wide = size_times(s, active, p->plan->model.moe.glu ? 2 : 1);
    switch (width) {
    case NONE:
        break;
    case ACTIVE:
        return active;
    case MAX_ACTIVE:
        return size_max(s, active, p->x.hidden);
    case WIDE:
        return wide;
    case MAX_WIDE:
        return size_max(s, wide, p->x.hidden);
    case MAX_DOUBLE:
        return size_max(s, size_times(s, wide, 2), p->x.hidden);
    }
    return size_const(s, 0);
}

/* ---- rows ---- */

/* All (token, expert) pairs of the tokens a rank sees, local or not. */
static struct row_dims pairs(struct hold_path *p, const struct row_dims *tokens)
{
    struct sizes *s = p->x.sizes;
    return rows_of(size_mul(s, part_at_once(p, tokens), p->x.top_k), tokens->rule);
}

/* DeepGEMM: each expert's rows padded to 128; of received rows those of local experts only. */
static struct row_dims aligned(struct hold_path *p, const struct row_dims *tokens)
{
    if (p->path->exchange == EXCHANGE_TOKENS)
        return part_expert_rows(p, 128);
    struct row_dims all = pairs(p, tokens);
    return rows_of(rows_padded_up(&p->x, all.dims[0], 128), all.rule);
}

static struct row_dims slots(struct hold_path *p, const struct row_dims *tokens)
{
    return rows_of(rows_total(p, tokens), tokens->rule);
}

/* ---- what some kernels take besides ---- */

static struct size one(const struct hold_path *p)
{
    return size_const(p->x.sizes, 1);
}

/* Rows are read through padded ids. */
static void sorted_ids(struct hold_path *p, const struct row_dims *tokens)
{
    struct sizes *s = p->x.sizes;
    struct size chunk = part_chunk(p, tokens->dims[0]);
    struct letters x = p->x;
    x.block = size_const(s, 128);
    struct row_dims ids = rows_of(triton_sorted_ids(&x, chunk), tokens->rule);
    part_scratch(p, "sorted_token_ids", CATEGORY_METADATA, DTYPE_I32, &ids, one(p),
                 FLOW_FORWARD);
}

static void flashinfer(struct hold_path *p, const struct row_dims *tokens)
{
    struct size chunk = part_chunk(p, tokens->dims[0]);
    struct row_dims bytes = rows_of(
        flashinfer_workspace_bytes(&p->x, p->plan->precision.weights, chunk), tokens->rule);
    part_scratch(p, "cutlass_moe_workspace", CATEGORY_WORKSPACE, DTYPE_INT8, &bytes, one(p),
                 FLOW_FORWARD);
}

static void gen_scratch(struct hold_path *p, const char *name, enum dtype dtype,
                        const struct row_dims *rows, struct size width)
{
    part_scratch(p, name, CATEGORY_WORKSPACE, dtype, rows, width, FLOW_FORWARD);
}

/* Rows in 8 bits with a scale in 32 for every 128: products of blocks do not join the
 * activation to the first. */
static void gen_blocks(struct hold_path *p, const struct row_dims *rows)
{
    struct sizes *s = p->x.sizes;
    struct size block = size_const(s, 128), wide = width_of(p, WIDE);
    struct size scales =
        size_add(s, size_ceil_div(s, wide, block), size_ceil_div(s, p->x.inter, block));
    gen_scratch(p, "trtllm_gen_gate_up", DTYPE_INT8, rows, wide);
    gen_scratch(p, "trtllm_gen_activated", DTYPE_INT8, rows, p->x.inter);
    gen_scratch(p, "trtllm_gen_scales", DTYPE_F32, rows, scales);
}

/* Activation and output rows in tiles of 64, the largest the kernels choose at many rows
 * (assumed: the tile follows the rows per expert). What is activated is in 16 bits, or as the
 * weights are: in 4 with a byte of scale for every 16; the output always in 16 (FlashInfer
 * csrc/trtllm_fused_moe_kernel_launcher.cu, prepare_moe). */
static void trtllm_gen(struct hold_path *p, const struct row_dims *tokens)
{
    struct sizes *s = p->x.sizes;
    struct row_dims all = pairs(p, tokens);
    struct row_dims rows = rows_of(tile_rows(&p->x, all.dims[0], p->x.experts, 64), all.rule);
    struct size nine = size_times(s, p->x.inter, 9);
    if (p->plan->precision.weights == DTYPE_FP8_BLOCK)
        gen_blocks(p, &rows);
    else if (p->plan->precision.weights == DTYPE_NVFP4)
        gen_scratch(p, "trtllm_gen_activated", DTYPE_INT8, &rows,
                    size_ceil_div(s, nine, size_const(s, 16)));
    else
        gen_scratch(p, "trtllm_gen_activated", p->dtype, &rows, p->x.inter);
    gen_scratch(p, "trtllm_gen_out", p->dtype, &rows, p->x.hidden);
}

/* ---- the table ---- */

static const struct workspaces {
    struct row_dims (*rows)(struct hold_path *p, const struct row_dims *tokens);
    const char *names[2];
    enum width widths[2];
    bool bytes; /* the first holds one byte an element: rows in fp8 */
    void (*besides)(struct hold_path *p, const struct row_dims *tokens);
} kernels[EXPERT_KERNEL_COUNT] = {
    [EXPERT_KERNEL_TRITON] = {pairs,
                              {"intermediate_cache13", "intermediate_cache2"},
                              {MAX_WIDE, ACTIVE},
                              false,
                              sorted_ids},
    [EXPERT_KERNEL_TRITON_MODULAR] =
        {pairs, {"workspace13", "workspace2"}, {MAX_ACTIVE, MAX_WIDE}, false, sorted_ids},
    [EXPERT_KERNEL_TRITON_OAI] = {pairs, {NULL, "workspace2"}, {NONE, ACTIVE}, false, NULL},
    [EXPERT_KERNEL_CUTLASS] =
        {pairs, {"workspace13", "workspace2"}, {MAX_WIDE, MAX_ACTIVE}, false, NULL},
    [EXPERT_KERNEL_CUTLASS_FP4] =
        {pairs, {"workspace13", "workspace2"}, {MAX_DOUBLE, WIDE}, false, NULL},
    [EXPERT_KERNEL_CUTLASS_BATCHED] =
        {slots, {"workspace13", "workspace2"}, {MAX_WIDE, MAX_ACTIVE}, false, NULL},
    [EXPERT_KERNEL_DEEPGEMM] =
        {aligned, {"workspace13", "workspace2"}, {MAX_ACTIVE, MAX_WIDE}, false, NULL},
    [EXPERT_KERNEL_DEEPGEMM_FP8] =
        {aligned, {"workspace13", "workspace2"}, {MAX_ACTIVE, MAX_WIDE}, true, NULL},
    [EXPERT_KERNEL_MASKED] =
        {slots, {"workspace13", "workspace2"}, {MAX_WIDE, ACTIVE}, false, NULL},
    [EXPERT_KERNEL_FLASHINFER] = {pairs, {NULL, NULL}, {NONE, NONE}, false, flashinfer},
    [EXPERT_KERNEL_TRTLLM_GEN] = {pairs, {NULL, NULL}, {NONE, NONE}, false, trtllm_gen},
    [EXPERT_KERNEL_MARLIN] =
        {pairs, {"workspace13", "workspace2"}, {MAX_ACTIVE, MAX_WIDE}, false, sorted_ids},
};

/* One for the process, which every layer's experts use in turn. */
static void keep(struct hold_path *p, const char *name, enum dtype dtype,
                 const struct row_dims *rows, struct size width)
{
    struct buffer buffer = {.name = name,
                            .category = CATEGORY_WORKSPACE,
                            .segment = SEGMENT_STEP,
                            .dtype = dtype,
                            .n_dims = 2,
                            .dims = {rows->dims[0], width},
                            .rule = rows->rule,
                            .life = LIFE_PERSISTENT,
                            .source = "vLLM v1/worker/workspace.py: grows, never shrinks"};
    part_once(p, buffer);
}

static void take(struct hold_path *p, const struct row_dims *tokens)
{
    const struct workspaces *w = &kernels[p->style->kernel];
    for (unsigned i = 0; i < 2; i++) {
        if (!w->names[i])
            continue;
        struct row_dims rows = w->rows(p, tokens);
        struct size width = width_of(p, w->widths[i]);
        enum dtype dtype = w->bytes && i == 0 ? DTYPE_FP8 : DTYPE_BF16;
        if (p->style->keeps_workspaces)
            keep(p, w->names[i], dtype, &rows, width);
        else
            part_scratch(p, w->names[i], CATEGORY_WORKSPACE, dtype, &rows, width, FLOW_FORWARD);
    }
    if (w->besides)
        w->besides(p, tokens);
}

uint16_t part_fused(struct hold_path *p, uint16_t x, const struct row_dims *tokens)
{
    if (p->style->kernel >= EXPERT_KERNEL_TRITON_PLAIN)
        return part_products(p, x, tokens);
    uint16_t out = part_rows(p, "fused_out", CATEGORY_DISPATCH, tokens, p->x.hidden);
    flow_op(&p->flow, part_move(p, "fused_experts", OP_GROUPED_GEMM),
            FLOW(x, p->indices, p->gates), FLOW(out));
    if (p->style->kernel != EXPERT_KERNEL_PLAIN)
        take(p, tokens);
    return out;
}
