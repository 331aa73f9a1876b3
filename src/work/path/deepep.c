/* deepep: a token travels once to each rank that has experts of it, is fanned out there, folded
 * back to one row with its gates, and returns by the handle of its dispatch (DeepEP normal
 * mode; seed 000 sparse-gmm-deepep). Received tokens are as many as routing makes them (exact)
 * or T R (worst: the sync-free num_worst_tokens). What stacks hold: buffers.md 2, 3, 4,
 * 7, 9.4, 10.5. */
#include "work/path/path.h"
#include "work/path/ragged.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/dispatch/dispatch_parts.h"
#include "work/dispatch/dispatch_rows.h"
#include "plan/derive.h"

/* The layout of a dispatch. */
struct token_maps {
    struct extent out, in; /* tokens sent and received, one per owner */
    uint16_t index, slot, position, sends, receives, handle;
};

static struct extent tokens_out(struct layer *l)
{
    struct size used = size_slot(l->z, SLOT_TOKENS_OUT);
    if (l->received.rule == RULE_ROUTING)
        return (struct extent){used, used, RULE_ROUTING};
    struct size most = size_mul(l->z, l->T, size_min(l->z, l->R, l->K));
    return (struct extent){most, used, RULE_WORST};
}

static struct extent tokens_in(struct layer *l)
{
    struct size used = size_slot(l->z, SLOT_RECEIVED);
    if (l->received.rule == RULE_ROUTING)
        return (struct extent){used, used, RULE_ROUTING};
    return (struct extent){size_mul(l->z, l->T, l->R), used, RULE_WORST};
}

static struct token_maps lay_out(struct layer *l)
{
    struct token_maps o = {.out = tokens_out(l), .in = tokens_in(l)};
    o.index = layer_map(l, "send_index", o.out);
    o.slot = layer_map(l, "send_slot", o.out);
    o.position = layer_rows(l, "send_head", CATEGORY_METADATA, DTYPE_I32, l->tokens, l->R);
    o.sends = layer_counts(l, "sends", l->R);
    o.handle = layer_counts(l, "handle", size_const(l->z, 4));
    layer_op(l, (struct op){.name = "layout", .kernel = KERNEL_LAYOUT},
             OPERANDS(IN(PHYS, l->phys), OUT(INDEX, o.index), OUT(SLOT, o.slot),
                      OUT(POSITION, o.position), OUT(SENDS, o.sends), OUT(HANDLE, o.handle)));
    o.receives = layer_exchange_counts(l, "sends", o.sends);
    return o;
}

/* Rows of src, one per token and owner, sent; returns them received. */
static uint16_t send(struct layer *l, const struct token_maps *o, const char *name,
                     uint16_t src, bool payload)
{
    struct buffer like = l->work->buffers[src];
    uint16_t out = layer_rows(l, arena_join(l->arena, name, "_send"),
                              payload ? CATEGORY_DISPATCH : CATEGORY_METADATA, like.dtype,
                              o->out, layer_width(l, src));
    uint16_t in = layer_rows(l, arena_join(l->arena, name, "_received"),
                             payload ? CATEGORY_DISPATCH : CATEGORY_METADATA, like.dtype, o->in,
                             layer_width(l, src));
    layer_gather(l, arena_join(l->arena, "pack_", name),
                 (struct gather){.src = src,
                                 .index = o->index,
                                 .inverse = o->position,
                                 .keys = WORK_NONE,
                                 .dst = out,
                                 .divide = l->one,
                                 .slots = l->R,
                                 .used = o->out.used});
    struct exchange exchange = {out,
                                o->sends,
                                o->receives,
                                in,
                                o->handle,
                                size_slot(l->z, SLOT_TOKENS_SENT),
                                size_slot(l->z, SLOT_TOKENS_FROM)};
    if (payload)
        layer_dispatch(l, exchange);
    else
        layer_exchange(l, arena_join(l->arena, "dispatch_", name), exchange);
    return in;
}

static uint16_t build(struct layer *l)
{
    struct token_maps o = lay_out(l);
    uint16_t x = send(l, &o, "x", l->x, true);
    uint16_t phys = send(l, &o, "phys", l->phys, false);
    uint16_t gates = send(l, &o, "gates", l->gates, false);
    struct fan fan = layer_fan(l, phys, o.receives, l->received);
    uint16_t folded = layer_fan_compute(l, x, gates, phys, &fan, o.in);

    uint16_t back = layer_rows(l, "y_back", CATEGORY_DISPATCH, l->combined, o.out, l->H);
    layer_return(l, "return",
                 (struct exchange){folded, o.receives, o.sends, back, o.handle,
                                   size_slot(l->z, SLOT_TOKENS_FROM),
                                   size_slot(l->z, SLOT_TOKENS_SENT)});
    uint16_t out =
        layer_rows(l, "routed_out", CATEGORY_ACTIVATION, l->activation, l->tokens, l->H);
    layer_combine(l, "combine",
                  (struct combine){.y = back,
                                   .position = o.position,
                                   .gates = WORK_NONE,
                                   .keys = WORK_NONE,
                                   .inverse = o.slot,
                                   .handle = o.handle,
                                   .out = out,
                                   .slots = l->R,
                                   .used = o.out.used});
    return out;
}

/* DeepEP V2 reserves its worst case unless the host waits for counts. */
static enum align_kind align(const struct plan *plan)
{
    if (plan->moe.buffer != SIZING_EXACT && plan->stack.kind == STACK_TORCHTITAN)
        return ALIGN_DEEPEP_V2;
    return align_by_stack(plan);
}

/* ---- persistent buffers, by library ---- */

/* NVLink and RDMA queues; the second only where ranks span NVLink domains. */
static void queues(struct hold_path *p, struct size bytes[2])
{
    bool primus =
        p->style->library == LIBRARY_PRIMUS || p->style->library == LIBRARY_PRIMUS_JAX;
    enum deepep_port port = primus ? DEEPEP_PRIMUS : DEEPEP_UPSTREAM;
    uint64_t element_bytes = part_fp8_dispatch(p) ? 1 : 2;
    switch (p->style->queues) {
    case QUEUE_FIXED:
        bytes[0] = bytes[1] = size_const(p->x.sizes, DEEPEP_VLLM_BUFFER);
        return;
    case QUEUE_ELEMENT:
        bytes[0] = deepep_nvl_bytes_of(&p->x, element_bytes);
        bytes[1] = deepep_rdma_bytes_of(&p->x, element_bytes);
        return;
    case QUEUE_BF16:
        bytes[0] = deepep_nvl_bytes(&p->x, port, true);
        bytes[1] = deepep_rdma_bytes(&p->x, port, true);
        return;
    }
}

static void heaps_v1(struct hold_path *p)
{
    struct sizes *s = p->x.sizes;
    struct size bytes[2];
    queues(p, bytes);
    uint16_t nvl = part_heap(p, "deepep_nvl_buffer", CATEGORY_COMMUNICATION, bytes[0],
                             "DeepEP csrc/legacy/config.hpp");
    if (p->plan->parallel.ep > DEEPEP_NVL_PEERS) {
        uint16_t rdma = part_heap(p, "deepep_rdma_buffer", CATEGORY_COMMUNICATION, bytes[1],
                                  "DeepEP csrc/legacy/config.hpp");
        struct size heap = size_up(s, bytes[1], DEEPEP_RDMA_GRANULARITY);
        part_heap(p, "nvshmem_heap_rounding", CATEGORY_COMMUNICATION,
                  size_sub(s, heap, bytes[1]), "NVSHMEM heap granularity 512 MiB");
        p->work->buffers[nvl].addressable_bytes = INT32_MAX;
        p->work->buffers[rdma].addressable_bytes = INT32_MAX;
    }
    if (p->style->library != LIBRARY_PRIMUS_JAX)
        part_heap(p, "deepep_workspace", CATEGORY_WORKSPACE,
                  size_const(s, DEEPEP_WORKSPACE + 4 * 8 + 8 * 8 + 8 * 8),
                  "DeepEP workspace, barrier signals and pointer tables");
}

static void heaps_elastic(struct hold_path *p)
{
    struct sizes *s = p->x.sizes;
    uint64_t node = plan_linked_ranks(p->plan);
    enum elastic_layout layout = p->plan->parallel.ep <= node ? ELASTIC_NVLINK : ELASTIC_HYBRID;
    part_heap(p, "deepep_elastic_buffer", CATEGORY_COMMUNICATION,
              elastic_buffer_bytes(&p->x, layout, part_fp8_dispatch(p)),
              "DeepEP csrc/elastic/buffer.hpp");
    part_heap(p, "deepep_workspace", CATEGORY_WORKSPACE,
              size_up(s, size_const(s, elastic_workspace_bytes()), 2 << 20),
              "DeepEP WorkspaceLayout, rounded up to 2 MiB");
}

static void heaps_mega(struct hold_path *p)
{
    struct sizes *s = p->x.sizes;
    struct letters aligned = p->x;
    if (p->style->library == LIBRARY_MEGA) {
        aligned.tokens = size_up(s, p->x.tokens, 128);
        part_heap(p, "mega_symmetric_heap", CATEGORY_COMMUNICATION, primus_heap_bytes(&aligned),
                  "Primus-Turbo flydsl/mega/symm_buffer.py");
        return;
    }
    aligned.tokens = size_up(s, p->x.tokens, 384);
    struct size pool = deepgemm_pool_rows(&aligned);
    struct size row = size_times(s, size_add(s, p->x.hidden, p->x.inter), 1);
    row = size_add(s, row, size_ceil_by(s, row, 32));
    struct size slots = size_mul(s, aligned.tokens, p->x.top_k);
    part_heap(p, "mega_pool", CATEGORY_COMMUNICATION, size_mul(s, pool, row),
              "DeepGEMM mega_moe.cuh: fp8 rows and scales");
    part_heap(p, "mega_combine_slots", CATEGORY_COMMUNICATION,
              size_times(s, size_mul(s, slots, p->x.hidden), 2), "DeepGEMM mega_moe.cuh");
    part_heap(p, "mega_source_indices", CATEGORY_COMMUNICATION, deepgemm_source_bytes(&aligned),
              "DeepGEMM csrc/apis/mega.hpp");
}

static void heaps_minimal(struct hold_path *p)
{
    struct sizes *s = p->x.sizes;
    struct size rows = size_mul(s, rows_worst(&p->x), p->x.hidden);
    part_heap(p, "symmetric_rows", CATEGORY_COMMUNICATION, size_times(s, rows, 2 * 2),
              "torchtitan minimal_async_ep: two buffers");
    part_heap(p, "symmetric_counts", CATEGORY_METADATA,
              size_times(s, size_mul(s, p->x.ranks, p->x.experts), 8),
              "torchtitan minimal_async_ep");
}

static void no_heaps(struct hold_path *p)
{
    (void)p;
}

static void (*const heaps[LIBRARY_COUNT])(struct hold_path *) = {
    [LIBRARY_AUTO] = heaps_v1,
    [LIBRARY_DEEPEP] = heaps_v1,
    [LIBRARY_DEEPEP_V2] = heaps_elastic,
    [LIBRARY_PRIMUS] = heaps_v1,
    [LIBRARY_PRIMUS_JAX] = heaps_v1,
    [LIBRARY_HYBRID_EP] = no_heaps,
    [LIBRARY_MEGA] = heaps_mega,
    [LIBRARY_MEGA_DEEPGEMM] = heaps_mega,
    [LIBRARY_MINIMAL_ASYNC] = heaps_minimal,
};

/* ---- what stacks hold ---- */

static bool is_v1(const struct hold_path *p)
{
    return heaps[p->style->library] == heaps_v1;
}

static enum status check_ranks(const struct hold_path *p, struct err *err)
{
    uint64_t ranks = p->plan->parallel.ep;
    bool primus =
        p->style->library == LIBRARY_PRIMUS || p->style->library == LIBRARY_PRIMUS_JAX;
    enum deepep_port port = primus ? DEEPEP_PRIMUS : DEEPEP_UPSTREAM;
    if (!is_v1(p) || ranks == 1 || deepep_config(port, DEEPEP_DISPATCH, ranks))
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "path deepep has no buffer sizes for parallel.ep %llu",
            (unsigned long long)ranks);
    return err_hint(err, "DeepEP V1 knows 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 144 and 160 "
                         "ranks (Primus-Turbo not 48 and 96)");
}

/* Received rows in the dispatched format; fp8 blocks bring one f32 scale per 128 elements. */
static uint16_t received_x(struct hold_path *p, const struct row_dims *received,
                           uint16_t *scales)
{
    *scales = WORK_NONE;
    if (!part_fp8_dispatch(p))
        return part_rows(p, "recv_x", CATEGORY_DISPATCH, received, p->x.hidden);
    *scales = part_table(p, "recv_x_scales", DTYPE_F32, received,
                         size_ceil_by(p->x.sizes, p->x.hidden, 128));
    return part_floats(p, "recv_x", CATEGORY_DISPATCH, p->plan->precision.dispatch, received,
                       p->x.hidden);
}

/* Layout, the handle that combine and backward need, and received tokens with their routing. */
static uint16_t dispatch(struct hold_path *p, const struct row_dims *received, uint16_t *handle)
{
    struct sizes *s = p->x.sizes;
    struct size one = size_const(s, 1);
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    struct row_dims bytes =
        rows_of(deepep_handle_bytes(&p->x, received->dims[0]), received->rule);
    uint16_t layout = part_table(p, "is_token_in_rank", DTYPE_BOOL, &tokens, p->x.ranks);
    flow_op(&p->flow, part_move(p, "layout", OP_SORT), FLOW(p->indices), FLOW(layout));
    uint16_t scales, x = received_x(p, received, &scales);
    uint16_t ids = part_table(p, "recv_topk_idx", DTYPE_I64, received, p->x.top_k);
    uint16_t weights =
        part_floats(p, "recv_topk_weights", CATEGORY_METADATA, DTYPE_F32, received, p->x.top_k);
    *handle = part_table(p, "dispatch_handle", DTYPE_INT8, &bytes, one);
    struct tick op = part_exchange(p, "dispatch");
    op.host_syncs = size_const(s, received->rule == RULE_ROUTING);
    flow_op(&p->flow, op, FLOW(p->input, layout, p->gates),
            FLOW(x, scales, ids, weights, *handle));
    p->indices = ids;
    p->gates = weights;
    return x;
}

/* Received tokens fanned out to one row per local expert, computed, and summed with their
 * weights at the owner: combine itself adds without weights. */
static uint16_t fan_out(struct hold_path *p, uint16_t x, const struct row_dims *received)
{
    struct sizes *s = p->x.sizes;
    struct row_dims rows = part_expert_rows(p, p->style->alignment);
    uint16_t map = part_table(p, "row_id_map", DTYPE_I32, received,
                              size_plus(s, size_times(s, p->x.local, 2), 1));
    flow_op(&p->flow, part_move(p, "row_map", OP_SORT), FLOW(p->indices), FLOW(map));
    uint16_t permuted = part_rows(p, "permuted_rows", CATEGORY_DISPATCH, &rows, p->x.hidden);
    uint16_t gates = WORK_NONE;
    if (p->style->scale_before_down)
        gates = part_floats(p, "permuted_gates", CATEGORY_METADATA, DTYPE_F32, &rows,
                            size_const(s, 1));
    struct tick op = part_move(p, "permute", OP_PERMUTE);
    op.host_syncs = size_const(s, rows.rule == RULE_ROUTING);
    flow_op(&p->flow, op, FLOW(x, map, p->gates), FLOW(permuted, gates));
    uint16_t out = part_experts(p, permuted, &rows, gates, OP_GROUPED_GEMM);
    uint16_t summed = part_rows(p, "recv_out", CATEGORY_DISPATCH, received, p->x.hidden);
    flow_op(&p->flow,
            part_move(p, "unpermute", p->style->scale_before_down ? OP_PERMUTE : OP_COMBINE),
            FLOW(out, map, p->style->scale_before_down ? WORK_NONE : p->gates), FLOW(summed));
    return summed;
}

/* From sync-free stage 2 on, one row per token of every rank: num_worst_tokens. */
static bool worst_tokens(const struct hold_path *p)
{
    return p->plan->moe.sync_free >= 2;
}

static struct row_dims received_rows(const struct hold_path *p)
{
    struct row_dims rows = part_received(p);
    if (worst_tokens(p))
        rows = rows_of(rows_worst_tokens(&p->x), RULE_WORST);
    if (p->style->library == LIBRARY_HYBRID_EP) /* int(T K f), overflow dropped */
        rows =
            rows_of(size_scale(p->x.sizes, rows_routed(&p->x), REAL_BUFFER_FACTOR), RULE_FIXED);
    return rows;
}

static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    TRY(check_ranks(p, err));
    if (p->plan->parallel.ep == 1)
        return ragged_hold(p, output, err);
    heaps[p->style->library](p);
    struct row_dims received = received_rows(p);
    uint16_t handle, x = dispatch(p, &received, &handle);
    uint16_t out = p->style->kernel != EXPERT_KERNEL_PLAIN ? part_fused(p, x, &received)
                                                           : fan_out(p, x, &received);
    *output = part_output(p);
    flow_op(&p->flow, part_exchange(p, "combine"), FLOW(out, handle), FLOW(*output));
    return STATUS_OK;
}

const struct path_system path_deepep = {
    .backward = true,
    .build = build,
    .hold = hold,
    .align = align,
    .exchange = EXCHANGE_TOKENS,
};
