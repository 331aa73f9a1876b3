/* What Megatron's options hold beside a layer's tensors: inputs of CUDA graphs, inputs of
 * chunks without layers, HybridEP's buffers, the pages of stashed rows. Source:
 * training-stacks.md 3 and 5. */
#include "base/text.h"
#include "plan/derive.h"
#include "work/stack/megatron.h"

static void hold(struct train *t, struct buffer buffer)
{
    buffer.segment = SEGMENT_STEP;
    buffer.life = LIFE_PERSISTENT;
    work_buffer(t->work, buffer);
}

/* Copies of a layer's input or saved tensor that are alive, of all layers or those with
 * experts: layers x micro-batches, rounded up to whole ones. */
static struct size copies_alive(struct train *t, bool experts)
{
    struct size sum = size_const(t->z, 0);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum segment segment = segment_of_kind((enum layer_kind)k);
        const struct segment_use *use = &t->work->use[segment];
        if (t->kinds[k] && (!experts || segment_has_experts(segment)))
            sum = size_add(t->z, sum,
                           size_ceil_by(t->z, size_mul(t->z, use->back, use->in_flight), 1000));
    }
    return sum;
}

/* ---- CUDA graphs ---- */

enum { BATCH_BYTES = 28 }; /* a token's id, label and position in 8 bytes, its loss mask in 4 */

/* Captured modules read a layer's hidden state from a place of its own, one per layer and
 * micro-batch in flight; graphs of a whole step read every micro-batch's tokens, those of
 * training and of validation. */
static void graph_inputs(struct train *t)
{
    struct sizes *z = t->z;
    enum graphs graphs = t->plan->stack.graphs;
    if (graphs == GRAPHS_PARTIAL)
        hold(t, (struct buffer){.name = "graph_inputs",
                                .category = CATEGORY_WORKSPACE,
                                .dtype = t->plan->precision.activations,
                                .n_dims = 2,
                                .dims = {t->d.rows[ROW_LOCAL], t->d.width[COL_HIDDEN]},
                                .count = copies_alive(t, false),
                                .source = "TransformerEngine make_graphed_callables"});
    if (graphs == GRAPHS_FULL)
        hold(t, (struct buffer){.name = "graph_batches",
                                .category = CATEGORY_WORKSPACE,
                                .dtype = DTYPE_INT8,
                                .n_dims = 2,
                                .dims = {t->d.rows[ROW_FULL], size_const(z, BATCH_BYTES)},
                                .count = size_times(z, size_slot(z, SLOT_ACCUMULATION), 2),
                                .source = "Megatron core/full_cuda_graph.py"});
}

/* ---- chunks without layers ---- */

static void empty_chunks(struct train *t)
{
    if (t->plan->parallel.layout[0] == '\0')
        return;
    hold(t, (struct buffer){.name = "empty_chunk_input",
                            .category = CATEGORY_CHECKPOINT,
                            .dtype = t->plan->precision.activations,
                            .n_dims = 2,
                            .dims = {t->d.rows[ROW_LOCAL], t->d.width[COL_STREAMS]},
                            .count = size_slot(t->z, SLOT_EMPTY_IN_FLIGHT),
                            .source = "training-stacks.md 5"});
}

/* ---- HybridEP (DeepEP branch hybrid-ep, csrc/hybrid_ep/buffer) ---- */

bool megatron_hybrid_ep(const struct train *t)
{
    return t->plan->moe.library == LIBRARY_HYBRID_EP && t->d.facts & FACT_FLEX &&
           t->plan->parallel.ep > 1;
}

/* What a received row brings beside its hidden state, of `states` bytes each: a weight for
 * every expert of the domain, and a scale per 128 elements. */
static struct size row_bytes(struct train *t, uint64_t element, struct size domain, bool scales)
{
    struct sizes *z = t->z;
    struct size hidden = t->d.width[COL_ROUTED];
    struct size bytes = size_times(z, hidden, element);
    bytes = size_add(z, bytes, size_times(z, size_mul(z, t->d.letters.local, domain), 4));
    struct size scale = size_times(z, size_ceil_by(z, hidden, 128), 4);
    return scales ? size_add(z, bytes, scale) : bytes;
}

static void outside(struct train *t, const char *name, struct size bytes)
{
    hold(t, (struct buffer){.name = name,
                            .category = CATEGORY_COMMUNICATION,
                            .dtype = DTYPE_INT8,
                            .n_dims = 1,
                            .dims = {bytes},
                            .outside = true,
                            .source = "training-stacks.md 3: HybridEP"});
}

void megatron_hybrid_buffers(struct train *t)
{
    struct sizes *z = t->z;
    uint64_t ep = t->plan->parallel.ep;
    uint64_t node = plan_linked_ranks(t->plan);
    uint64_t domain = ep < node ? ep : node, domains = domain ? ep / domain : 1;
    struct size tokens = size_up(z, t->d.rows[ROW_LOCAL], 64), q = size_const(z, domain);
    struct size rows = size_times(z, tokens, domain * domains);
    outside(t, "hybrid_ep_nvl_buffer", size_mul(z, rows, row_bytes(t, 2, q, true)));
    if (domains <= 1)
        return;
    uint64_t element = t->plan->precision.dispatch == DTYPE_FP8 ? 1 : 2;
    struct size hidden = t->d.width[COL_ROUTED];
    struct size own = size_sum(z, SIZES(size_times(z, hidden, element),
                                        size_times(z, t->d.letters.experts, 4),
                                        size_times(z, size_ceil_by(z, hidden, 128), 4)));
    struct size there = row_bytes(t, element, q, true), back = row_bytes(t, 2, q, false);
    struct size other = size_add(z, there, size_times(z, back, 2));
    outside(t, "hybrid_ep_rdma_buffer",
            size_mul(z, tokens, size_add(z, own, size_times(z, other, domains - 1))));
}

/* ---- paged stash (Megatron moe/paged_stash.py) ---- */

enum { PAGE = 64, PAGE_LISTS = 16 }; /* rows of a page; bytes of its two i64 lists */

/* Rows for 1.1 times what all layers and micro-batches alive have. */
static struct size stash_rows(struct train *t)
{
    struct size most = size_mul(t->z, copies_alive(t, true), rows_routed(&t->d.letters));
    struct size room = size_div(t->z, size_times(t->z, most, 11), size_const(t->z, 10));
    return size_up(t->z, room, PAGE);
}

static bool is_held(const struct work *work, const char *name)
{
    for (size_t i = 0; i < work->n_buffers; i++)
        if (text_equal(work->buffers[i].name, name))
            return true;
    return false;
}

void megatron_stash(struct train *t, const char *name, enum dtype dtype, struct size width)
{
    struct size rows = stash_rows(t);
    const char *stash = arena_join(t->work->arena, "stash_", name);
    if (is_held(t->work, stash)) /* for another kind of layer */
        return;
    hold(t, (struct buffer){.name = stash,
                            .category = CATEGORY_EXPERT,
                            .dtype = dtype,
                            .n_dims = 2,
                            .dims = {rows, width},
                            .source = "Megatron moe/paged_stash.py"});
    hold(t,
         (struct buffer){.name = arena_join(t->work->arena, "stash_pages_", name),
                         .category = CATEGORY_METADATA,
                         .dtype = DTYPE_INT8,
                         .n_dims = 2,
                         .dims = {size_ceil_by(t->z, rows, PAGE), size_const(t->z, PAGE_LISTS)},
                         .source = "Megatron moe/paged_stash.py"});
}

/* Tables of the vocabulary that route the first layers, on their stage. */
static void routing_tables(struct train *t)
{
    if (t->plan->model.moe.hash_layers && plan_has_moe(t->plan))
        hold(t, (struct buffer){.name = "routing_tables",
                                .category = CATEGORY_METADATA,
                                .dtype = DTYPE_I32,
                                .n_dims = 1,
                                .dims = {dims_routing_tables(t->z, t->plan)},
                                .source = "Megatron moe/router.py: tid2eid"});
}

void megatron_extras(struct train *t)
{
    routing_tables(t);
    graph_inputs(t);
    empty_chunks(t);
}
