/* Fused kernels of vLLM and SGLang: workspaces in place of one tensor per product. Sources:
 * buffers.md 10.1 to 10.3, FlashInfer cutlass_fused_moe (caller-side workspace). */
#include "work/stack/dispatch_parts.h"
#include "work/stack/dispatch_rows.h"

static struct size one(const struct hold_path *p)
{
    return size_const(p->x.sizes, 1);
}

static void workspace(struct hold_path *p, const char *name, struct size rows,
                      struct size width, enum sizing_rule rule)
{
    struct row_dims all = rows_of(rows, rule);
    part_scratch(p, name, CATEGORY_WORKSPACE, DTYPE_BF16, &all, width, FLOW_FORWARD);
}

/* Rows are read through padded ids; caches hold chunks of at most 16,384 tokens. */
static void triton(struct hold_path *p, const struct row_dims *tokens)
{
    struct sizes *s = p->x.sizes;
    struct size chunk = size_min(s, tokens->dims[0], size_const(s, 16384));
    struct size rows = size_mul(s, chunk, p->x.top_k);
    struct letters x = p->x;
    x.block = size_const(s, 128);
    struct row_dims ids = rows_of(triton_sorted_ids(&x, chunk), tokens->rule);
    workspace(p, "intermediate_cache13", rows, workspace_width(&x, 2), tokens->rule);
    workspace(p, "intermediate_cache2", rows, p->x.inter, tokens->rule);
    part_scratch(p, "sorted_token_ids", CATEGORY_METADATA, DTYPE_I32, &ids, one(p),
                 FLOW_FORWARD);
}

static void deepgemm(struct hold_path *p, const struct row_dims *tokens)
{
    struct row_dims rows = part_expert_rows(p, 128);
    (void)tokens;
    workspace(p, "workspace13", rows.dims[0], workspace_width(&p->x, 1), rows.rule);
    workspace(p, "workspace2", rows.dims[0], workspace_width(&p->x, 2), rows.rule);
}

static void masked(struct hold_path *p, const struct row_dims *slots)
{
    struct size rows = rows_total(p, slots);
    workspace(p, "workspace13", rows, workspace_width(&p->x, 2), slots->rule);
    workspace(p, "workspace2", rows, p->x.inter, slots->rule);
}

static void cutlass(struct hold_path *p, const struct row_dims *tokens)
{
    struct row_dims bytes =
        rows_of(cutlass_workspace_bytes(&p->x, tokens->dims[0]), tokens->rule);
    part_scratch(p, "cutlass_moe_workspace", CATEGORY_WORKSPACE, DTYPE_INT8, &bytes, one(p),
                 FLOW_FORWARD);
}

static void plain(struct hold_path *p, const struct row_dims *tokens)
{
    (void)p;
    (void)tokens;
}

uint16_t part_fused(struct hold_path *p, uint16_t x, const struct row_dims *tokens)
{
    static void (*const workspaces[])(struct hold_path *, const struct row_dims *) = {
        [EXPERT_KERNEL_PLAIN] = plain,       [EXPERT_KERNEL_TRITON] = triton,
        [EXPERT_KERNEL_DEEPGEMM] = deepgemm, [EXPERT_KERNEL_MASKED] = masked,
        [EXPERT_KERNEL_CUTLASS] = cutlass,
    };
    uint16_t out = part_rows(p, "fused_out", CATEGORY_DISPATCH, tokens, p->x.hidden);
    flow_op(&p->flow, part_move(p, "fused_experts", OP_GROUPED_GEMM),
            FLOW(x, p->indices, p->gates), FLOW(out));
    workspaces[p->style->kernel](p, tokens);
    return out;
}
