/* Paths that put tokens into other ranks' buffers: DeepEP (normal, elastic, HybridEP, Mega) and
 * low latency, RDEP. Persistent heaps go to the step. Sources: buffers.md 2, 3, 4, 7, 9.4,
 * 10.5; seed-systems.md A2, A3. */
#include "work/stack/dispatch_deepep.h"
#include "work/path/ragged.h"
#include "work/stack/dispatch_paths.h"
#include "work/stack/dispatch_rows.h"

/* ---- persistent buffers of path deepep ---- */

static bool fp8_dispatch(const struct hold_path *p)
{
    return p->plan->precision.dispatch == DTYPE_FP8_BLOCK ||
           p->plan->precision.dispatch == DTYPE_FP8;
}

/* NVLink and RDMA queues; the second only where ranks span NVLink domains. */
static void queues(struct hold_path *p, struct size bytes[2])
{
    bool primus =
        p->style->library == LIBRARY_PRIMUS || p->style->library == LIBRARY_PRIMUS_JAX;
    enum deepep_port port = primus ? DEEPEP_PRIMUS : DEEPEP_UPSTREAM;
    uint64_t element_bytes = fp8_dispatch(p) ? 1 : 2;
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
    uint64_t node = p->plan->cluster.node.devices * p->plan->cluster.device.logical_cores;
    enum elastic_layout layout = p->plan->parallel.ep <= node ? ELASTIC_NVLINK : ELASTIC_HYBRID;
    part_heap(p, "deepep_elastic_buffer", CATEGORY_COMMUNICATION,
              elastic_buffer_bytes(&p->x, layout, fp8_dispatch(p)),
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

/* ---- path deepep ---- */

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
    if (!fp8_dispatch(p))
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
    struct op op = part_exchange(p, "dispatch", received->dims[0],
                                 size_add(s, part_row_bytes(p, p->plan->precision.dispatch),
                                          size_plus(s, size_times(s, p->x.top_k, 12), 8)));
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
    struct op op = part_move(p, "permute", OP_PERMUTE);
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

enum status hold_deepep(struct hold_path *p, uint16_t *output, struct err *err)
{
    TRY(check_ranks(p, err));
    if (p->plan->parallel.ep == 1)
        return ragged_hold(p, output, err);
    heaps[p->style->library](p);
    struct row_dims received = received_rows(p), tokens = rows_of(p->x.tokens, RULE_FIXED);
    uint16_t handle, x = dispatch(p, &received, &handle);
    uint16_t out = p->style->kernel != EXPERT_KERNEL_PLAIN ? part_fused(p, x, &received)
                                                           : fan_out(p, x, &received);
    *output = part_rows(p, "moe_output", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    flow_op(&p->flow,
            part_exchange(p, "combine", received.dims[0],
                          part_row_bytes(p, p->plan->precision.combine)),
            FLOW(out, handle), FLOW(*output));
    return STATUS_OK;
}

/* ---- low latency ---- */

/* num_max_dispatch_tokens_per_rank: what the stack sets, more when a rank has more tokens. */
static struct size max_tokens(const struct hold_path *p)
{
    uint64_t asked = p->plan->moe.dispatch_tokens;
    struct size least = size_const(p->x.sizes, asked ? asked : p->style->low_latency_tokens);
    return size_max(p->x.sizes, p->x.tokens, least);
}

enum status hold_deepep_ll(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct size most = max_tokens(p), one = size_const(s, 1);
    enum deepep_port port =
        p->style->library == LIBRARY_PRIMUS ? DEEPEP_PRIMUS : DEEPEP_UPSTREAM;
    uint16_t heap = part_heap(p, "low_latency_buffer", CATEGORY_COMMUNICATION,
                              low_latency_bytes(&p->x, most, port),
                              "DeepEP LowLatencyLayout: slots for every expert, redundant ones "
                              "included, whatever R");
    p->work->buffers[heap].addressable_bytes = DEEPEP_LOW_LATENCY_LIMIT;
    if (p->style->queues == QUEUE_FIXED)
        part_heap(p, "deepep_nvl_buffer", CATEGORY_COMMUNICATION,
                  size_const(s, DEEPEP_VLLM_BUFFER), "vLLM VLLM_DEEPEP_BUFFER_SIZE_MB");
    struct row_dims slots = {2, {p->x.local, size_mul(s, p->x.ranks, most)}, RULE_FIXED};
    enum dtype dtype = p->plan->precision.dispatch;
    uint16_t x = part_floats(p, "packed_recv_x", CATEGORY_DISPATCH, dtype, &slots, p->x.hidden);
    uint16_t scales = WORK_NONE;
    if (fp8_dispatch(p))
        scales = part_table(p, "packed_recv_scales", DTYPE_F32, &slots,
                            size_ceil_by(s, p->x.hidden, 128));
    uint16_t sources = part_table(p, "packed_src_info", DTYPE_I32, &slots, one);
    struct row_dims ranges = {2, {p->x.local, p->x.ranks}, RULE_FIXED};
    uint16_t layout = part_table(p, "packed_layout_range", DTYPE_I64, &ranges, one);
    struct size row = size_plus(s, part_row_bytes(p, dtype), 16);
    flow_op(&p->flow, part_exchange(p, "dispatch", rows_routed(&p->x), row),
            FLOW(p->input, p->indices, heap), FLOW(x, scales, sources, layout));
    uint16_t out = p->style->kernel == EXPERT_KERNEL_MASKED
                       ? part_fused(p, x, &slots)
                       : part_experts(p, x, &slots, WORK_NONE, OP_BATCHED_GEMM);
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    *output = part_rows(p, "moe_output", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    struct op op =
        part_exchange(p, "combine", rows_routed(&p->x), size_times(s, p->x.hidden, 2));
    op.kind = OP_COMBINE; /* it applies the weights */
    flow_op(&p->flow, op, FLOW(out, p->gates, sources, layout, heap), FLOW(*output));
    return STATUS_OK;
}

/* ---- RDEP ---- */

static void rdep_heaps(struct hold_path *p, uint16_t heap[2])
{
    heap[0] = part_heap(p, "rdep_x_buf", CATEGORY_COMMUNICATION, rdep_payload_bytes(&p->x),
                        "nmoe rdep.cu: R T K rows of 8 ceil(H / 8) bf16");
    part_heap(p, "rdep_records", CATEGORY_METADATA, rdep_record_bytes(&p->x),
              "nmoe rdep.cu: 16 bytes per row");
    heap[1] = part_heap(p, "rdep_tok_y", CATEGORY_COMMUNICATION, rdep_return_bytes(&p->x),
                        "nmoe rdep.cu: token slots and gates");
}

enum status hold_rdep(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    uint64_t multiple = p->style->alignment > 1 ? p->style->alignment : 1;
    struct row_dims got = part_expert_rows(p, 1), padded = got;
    padded.dims[0] = rdep_allocated_rows(&p->x, got.dims[0], multiple);
    uint16_t heap[2];
    rdep_heaps(p, heap);
    struct size one = size_const(s, 1), row = rdep_row_elements(&p->x);
    uint16_t order = part_table(p, "owner_order", DTYPE_I32, &got, one);
    struct op put =
        part_exchange(p, "put", rows_routed(&p->x), size_plus(s, size_times(s, row, 2), 16));
    put.host_syncs = one;
    flow_op(&p->flow, put, FLOW(p->input, p->indices, p->gates), FLOW(heap[0]));
    flow_op(&p->flow, part_move(p, "owner_sort", OP_SORT), FLOW(heap[0]), FLOW(order));
    uint16_t x = part_rows(p, "x_pad", CATEGORY_DISPATCH, &padded, p->x.hidden);
    flow_op(&p->flow, part_move(p, "gather", OP_GATHER), FLOW(p->input, order), FLOW(x));
    uint16_t out = part_experts(p, x, &padded, WORK_NONE, OP_GROUPED_GEMM);
    flow_op(
        &p->flow,
        part_exchange(p, "return", rows_routed(&p->x), size_plus(s, size_times(s, row, 2), 4)),
        FLOW(out, order), FLOW(heap[1]));
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    *output = part_rows(p, "moe_output", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    flow_op(&p->flow, part_move(p, "slot_sum", OP_REDUCE), FLOW(out, heap[1], p->gates),
            FLOW(*output));
    return STATUS_OK;
}
