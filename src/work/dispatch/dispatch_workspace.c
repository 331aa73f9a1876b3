/* Workspaces of inference engines and of pooled kernels; see dispatch_rows.h. */
#include "work/dispatch/dispatch_rows.h"

/* Columns of a row that holds H or `inters` times I. */
static struct size workspace_width(const struct letters *x, uint64_t inters)
{
    return size_max(x->sizes, size_times(x->sizes, x->inter, inters), x->hidden);
}

static struct size bf16(const struct letters *x, struct size rows, struct size width)
{
    return size_times(x->sizes, size_mul(x->sizes, rows, width), 2);
}

static struct size expanded(const struct letters *x, struct size tokens)
{
    return size_mul(x->sizes, tokens, x->top_k);
}

/* ---- vLLM and SGLang ---- */

struct size triton_sorted_ids(const struct letters *x, struct size tokens)
{
    struct sizes *s = x->sizes;
    struct size pad = size_sub(s, x->block, size_const(s, 1));
    return size_add(s, expanded(x, tokens), size_mul(s, x->experts, pad));
}

/* One GEMM's quantised operand: fp8 rows, and f32 scales per 128 of rows padded to 32 a group.
 */
static struct size cutlass_operand(const struct letters *x, struct size rows, struct size width)
{
    struct sizes *s = x->sizes;
    struct size padded = size_add(s, rows, size_times(s, x->local, 31));
    padded = size_times(s, size_div(s, padded, size_const(s, 32)), 32);
    struct size scales = size_mul(s, padded, size_ceil_by(s, width, 128));
    return size_add(s, size_mul(s, size_up(s, rows, 4), width), size_times(s, scales, 4));
}

/* fp8 blocks: rows are quantised beside them, and the second product's output shares the first
 * area (FlashInfer moe_kernels.cuh; the 26.21 GiB of vLLM issue 47127). */
static struct size flashinfer_fp8_blocks(const struct letters *x, struct size tokens)
{
    struct sizes *s = x->sizes;
    struct size rows = expanded(x, tokens);
    struct size inputs =
        bf16(x, rows, workspace_width(x, 1)); /* permuted, fc1 and fc2 share it */
    struct size outputs = bf16(x, rows, size_times(s, x->inter, 2));
    struct size quantised =
        size_max(s, cutlass_operand(x, rows, x->hidden), cutlass_operand(x, rows, x->inter));
    struct size maps = size_times(s, rows, 5 * 4); /* four index maps and the final scales */
    return size_sum(s, SIZES(maps, inputs, outputs, quantised));
}

struct size flashinfer_workspace_bytes(const struct letters *x, enum dtype weights,
                                       struct size tokens)
{
    if (weights == DTYPE_FP8_BLOCK)
        return flashinfer_fp8_blocks(x, tokens);
    struct sizes *s = x->sizes;
    struct size rows = expanded(x, tokens);
    struct size inputs = size_max(s, dispatch_bytes(s, weights, size_mul(s, rows, x->inter)),
                                  bf16(x, rows, x->hidden));
    struct size outputs = bf16(x, rows, workspace_width(x, 2));
    struct size maps = size_times(s, size_mul(s, x->local, tokens), 4);
    return size_sum(s, SIZES(inputs, outputs, size_times(s, rows, 8), maps));
}

struct size tile_rows(const struct letters *x, struct size rows, struct size experts,
                      uint64_t tile)
{
    struct sizes *s = x->sizes;
    struct size hit = size_min(s, rows, experts);
    struct size more = size_div(s, size_sub(s, rows, hit), size_const(s, tile));
    return size_times(s, size_add(s, hit, more), tile);
}

/* ---- Primus-Turbo and DeepGEMM ---- */

struct size primus_pool_rows(const struct letters *x)
{
    return rows_padded_up(x, rows_worst(x), 256);
}

struct size primus_heap_bytes(const struct letters *x)
{
    struct sizes *s = x->sizes;
    struct size pool = primus_pool_rows(x), tokens = size_up(s, x->tokens, 128);
    struct size slots = size_mul(s, tokens, x->top_k);
    struct size blocks = size_ceil_by(s, pool, 256);
    struct size experts = size_mul(s, x->ranks, x->experts);
    return size_sum(s, SIZES(size_const(s, 256),
                             size_times(s, size_up(s, bf16(x, pool, x->hidden), 256), 2),
                             size_up(s, bf16(x, slots, x->hidden), 256),
                             size_times(s, size_up(s, size_times(s, blocks, 16), 256), 2),
                             size_up(s, size_times(s, slots, 16), 256),
                             size_up(s, size_times(s, experts, 4), 256),
                             size_times(s, size_up(s, size_times(s, pool, 4), 256), 3),
                             size_up(s, size_times(s, slots, 4), 256)));
}

struct size deepgemm_pool_rows(const struct letters *x)
{
    return size_up(x->sizes, rows_padded(x, rows_worst(x), 192), 384);
}

struct size deepgemm_source_bytes(const struct letters *x)
{
    struct sizes *s = x->sizes;
    return size_times(s, size_product(s, SIZES(x->local, x->ranks, rows_worst_tokens(x))), 4);
}
