/* Megatron-Core with TransformerEngine: training.
 *
 * moe.path names the dispatcher: ragged_a2a is alltoall, allgather is allgather, deepep is
 * flex, capacity is alltoall with tokens dropped and padded to capacity. Tables give what the
 * layer saves (TransformerEngine modules save the inputs of norms and products, attention q, k,
 * v, output and statistics, the fused activation its input) and what it holds while it runs.
 * The Python frame of MoELayer.forward keeps the permuted rows and the dispatched rows until
 * the layer returns, so all four row buffers of the exchange stand at its end. Sources:
 * Megatron-LM moe_layer.py, token_dispatcher.py, experts.py, router.py,
 * multi_latent_attention.py; TransformerEngine linear.py, grouped_linear.py, permutation.py;
 * buffers.md 9. */
#include "plan/derive.h"
#include "work/path/path.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/piece/state.h"
#include "work/stack/megatron.h"
#include "work/stack/stacks.h"
#include "work/train/train.h"

#define MOE CATEGORY_DISPATCH, IN_MOE
#define EXPERT CATEGORY_EXPERT, IN_MOE
#define META CATEGORY_METADATA, IN_MOE

static const struct train_tensor experts[] = {
    /* router: logits, the softmax of routing and that of the balancing loss, the map */
    {"router_logits", META, 0, ROW_LOCAL, COL_EXPERTS, .saved = true, .first = MODULE_ROUTER,
     .last = BACK_ROUTER, .dropped_by = TRAIN_MOE},
    {"router_scores", META, 0, ROW_LOCAL, COL_EXPERTS, DTYPE_F32, .saved = true,
     .first = MODULE_ROUTER, .last = BACK_ROUTER, .dropped_by = TRAIN_MOE},
    {"balancing_scores", META, 0, ROW_LOCAL, COL_EXPERTS, DTYPE_F32, .saved = true,
     .first = MODULE_ROUTER, .last = BACK_ROUTER, .dropped_by = TRAIN_MOE},
    {"routing_map", META, 0, ROW_LOCAL, COL_EXPERTS, DTYPE_BOOL, .saved = true,
     .first = MODULE_ROUTER, .last = BACK_ROUTER, .dropped_by = TRAIN_MOE},
    {"row_id_map", META, 0, ROW_LOCAL, COL_ROW_MAP, DTYPE_I32, .saved = true,
     .first = MODULE_PERMUTE, .last = BACK_PERMUTE, .dropped_by = TRAIN_MOE},
    /* shared experts */
    {"shared_gate_up", EXPERT, FACT_SHARED, ROW_FULL, COL_SHARED_IN, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED,
     .dropped_by = TRAIN_MOE | TRAIN_SHARED_EXPERTS},
    {"shared_activated", EXPERT, FACT_SHARED, ROW_FULL, COL_SHARED_INTER, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED,
     .dropped_by = TRAIN_MOE | TRAIN_SHARED_EXPERTS, .product_input = PRODUCT_INPUT},
    {"shared_out", EXPERT, FACT_SHARED, ROW_LOCAL, COL_HIDDEN, .first = MODULE_SHARED,
     .last = MODULE_RESIDUAL},
    /* a network beside the experts, as one of the shared experts */
    {"residual_gate_up", EXPERT, FACT_RESIDUAL, ROW_FULL, COL_RESIDUAL_IN, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_MOE},
    {"residual_activated", EXPERT, FACT_RESIDUAL, ROW_FULL, COL_RESIDUAL_INTER, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_MOE,
     .product_input = PRODUCT_INPUT},
    {"residual_out", EXPERT, FACT_RESIDUAL, ROW_LOCAL, COL_HIDDEN, .first = MODULE_SHARED,
     .last = MODULE_RESIDUAL},
    /* routed experts */
    {"expert_input", EXPERT, 0, ROW_COMPUTED, COL_ROUTED, .saved = true, .first = MODULE_SORT,
     .last = BACK_GATE_UP, .dropped_by = TRAIN_MOE, .offload = TRAIN_OFF_EXPERT_INPUT,
     .product_input = PRODUCT_INPUT},
    {"expert_probabilities", META, 0, ROW_COMPUTED, COL_ONE, DTYPE_F32, .saved = true,
     .first = MODULE_SORT, .last = BACK_ACTIVATE, .dropped_by = TRAIN_MOE},
    {"expert_gate_up", EXPERT, 0, ROW_COMPUTED, COL_INTER_IN, .saved = true,
     .first = MODULE_GATE_UP, .last = BACK_ACTIVATE, .dropped_by = TRAIN_MOE,
     .offload = TRAIN_OFF_EXPERT_GATE_UP},
    {"expert_activated", EXPERT, 0, ROW_COMPUTED, COL_INTER, .saved = true,
     .first = MODULE_ACTIVATE, .last = BACK_EXPERT_DOWN,
     .dropped_by = TRAIN_MOE | TRAIN_MOE_ACTIVATION, .until = MODULE_EXPERT_DOWN,
     .again = BACK_EXPERT_DOWN, .offload = TRAIN_OFF_EXPERT_ACTIVATED,
     .product_input = PRODUCT_INPUT},
    {"expert_out", EXPERT, 0, ROW_COMPUTED, COL_ROUTED, .first = MODULE_EXPERT_DOWN,
     .last = MODULE_UNSORT},
    {"d_expert_activated", EXPERT, 0, ROW_COMPUTED, COL_INTER, .first = BACK_EXPERT_DOWN,
     .last = BACK_ACTIVATE},
    {"d_expert_gate_up", EXPERT, 0, ROW_COMPUTED, COL_INTER_IN, .first = BACK_ACTIVATE,
     .last = BACK_GATE_UP},
    {"d_expert_input", EXPERT, 0, ROW_COMPUTED, COL_ROUTED, .first = BACK_GATE_UP,
     .last = BACK_SORT},
    {"moe_out", MOE, 0, ROW_LOCAL, COL_HIDDEN, .first = MODULE_UNPERMUTE,
     .last = MODULE_RESIDUAL},
};

static const struct train_tensor alltoall[] = {
    {"permuted_rows", MOE, FACT_ALLTOALL, ROW_SENT, COL_ROUTED, .first = MODULE_PERMUTE,
     .last = MODULE_UNPERMUTE},
    {"received_rows", MOE, FACT_ALLTOALL | FACT_EP | FACT_SORTED, ROW_RECEIVED, COL_ROUTED,
     .first = MODULE_DISPATCH, .last = MODULE_UNPERMUTE},
    {"gathered_rows", MOE, FACT_ALLTOALL | FACT_ETP | FACT_SORTED, ROW_COMPUTED, COL_ROUTED,
     .first = MODULE_SORT, .last = MODULE_SORT},
    {"unsorted_rows", MOE, FACT_ALLTOALL | FACT_SORTED, ROW_RECEIVED, COL_ROUTED,
     .first = MODULE_UNSORT, .last = MODULE_UNPERMUTE},
    {"combined_rows", MOE, FACT_ALLTOALL | FACT_EP, ROW_SENT, COL_ROUTED,
     .first = MODULE_COMBINE, .last = MODULE_UNPERMUTE},
    {"d_combined_rows", MOE, FACT_ALLTOALL, ROW_SENT, COL_ROUTED, .first = BACK_UNPERMUTE,
     .last = BACK_COMBINE},
    {"d_unsorted_rows", MOE, FACT_ALLTOALL, ROW_RECEIVED, COL_ROUTED, .first = BACK_COMBINE,
     .last = BACK_UNSORT},
    {"d_expert_out", MOE, FACT_ALLTOALL, ROW_COMPUTED, COL_ROUTED, .first = BACK_UNSORT,
     .last = BACK_EXPERT_DOWN},
    {"d_received_rows", MOE, FACT_ALLTOALL, ROW_RECEIVED, COL_ROUTED, .first = BACK_SORT,
     .last = BACK_DISPATCH},
    {"d_permuted_rows", MOE, FACT_ALLTOALL, ROW_SENT, COL_ROUTED, .first = BACK_DISPATCH,
     .last = BACK_PERMUTE},
};

/* One row per token travels; rows are expanded after arrival and reduced before the return. */
static const struct train_tensor flex[] = {
    {"received_tokens", MOE, FACT_FLEX, ROW_RECEIVED_TOKENS, COL_ROUTED,
     .first = MODULE_DISPATCH, .last = MODULE_UNPERMUTE},
    {"received_topk_ids", META, FACT_FLEX, ROW_RECEIVED_TOKENS, COL_TOP_K, DTYPE_I64,
     .saved = true, .first = MODULE_DISPATCH, .last = BACK_DISPATCH, .dropped_by = TRAIN_MOE},
    {"received_topk_weights", META, FACT_FLEX, ROW_RECEIVED_TOKENS, COL_TOP_K, DTYPE_F32,
     .saved = true, .first = MODULE_DISPATCH, .last = BACK_DISPATCH, .dropped_by = TRAIN_MOE},
    {"reduced_tokens", MOE, FACT_FLEX, ROW_RECEIVED_TOKENS, COL_ROUTED, .first = MODULE_UNSORT,
     .last = MODULE_UNPERMUTE},
    {"d_reduced_tokens", MOE, FACT_FLEX, ROW_RECEIVED_TOKENS, COL_ROUTED, .first = BACK_COMBINE,
     .last = BACK_UNSORT},
    {"d_expert_out", MOE, FACT_FLEX, ROW_COMPUTED, COL_ROUTED, .first = BACK_UNSORT,
     .last = BACK_EXPERT_DOWN},
    {"d_received_tokens", MOE, FACT_FLEX, ROW_RECEIVED_TOKENS, COL_ROUTED, .first = BACK_SORT,
     .last = BACK_DISPATCH},
};

/* All tokens of the expert ranks are gathered; a rank permutes only the rows of its experts. */
static const struct train_tensor allgather[] = {
    {"gathered_tokens", MOE, FACT_ALLGATHER, ROW_GATHERED, COL_ROUTED, .first = MODULE_DISPATCH,
     .last = MODULE_UNPERMUTE},
    {"gathered_probabilities", META, FACT_ALLGATHER, ROW_GATHERED, COL_EXPERTS, DTYPE_F32,
     .saved = true, .first = MODULE_DISPATCH, .last = BACK_DISPATCH, .dropped_by = TRAIN_MOE},
    {"gathered_map", META, FACT_ALLGATHER, ROW_GATHERED, COL_EXPERTS, DTYPE_BOOL, .saved = true,
     .first = MODULE_DISPATCH, .last = BACK_DISPATCH, .dropped_by = TRAIN_MOE},
    {"unpermuted_tokens", MOE, FACT_ALLGATHER, ROW_GATHERED, COL_ROUTED, .first = MODULE_UNSORT,
     .last = MODULE_UNPERMUTE},
    {"d_unpermuted_tokens", MOE, FACT_ALLGATHER, ROW_GATHERED, COL_ROUTED,
     .first = BACK_COMBINE, .last = BACK_UNSORT},
    {"d_expert_out", MOE, FACT_ALLGATHER, ROW_COMPUTED, COL_ROUTED, .first = BACK_UNSORT,
     .last = BACK_EXPERT_DOWN},
    {"d_gathered_tokens", MOE, FACT_ALLGATHER, ROW_GATHERED, COL_ROUTED, .first = BACK_SORT,
     .last = BACK_DISPATCH},
};

static const struct train_name module_names[] = {
    {"layernorm", TRAIN_NORMS},
    {"mla_up_proj", TRAIN_MLA_UP},
    {"core_attn", TRAIN_CORE_ATTENTION},
    {"mlp", TRAIN_MLP},
    {"moe_act", TRAIN_MOE_ACTIVATION},
    {"moe", TRAIN_MOE},
    {"shared_experts", TRAIN_SHARED_EXPERTS},
    {"mhc", TRAIN_STREAMS},
    {NULL, 0},
};

static const struct train_name offload_names[] = {
    {"attn_norm", TRAIN_OFF_ATTENTION_NORM},
    {"qkv_linear", TRAIN_OFF_QKV},
    {"core_attn", TRAIN_OFF_ATTENTION},
    {"attn_proj", TRAIN_OFF_PROJECTION},
    {"mlp_norm", TRAIN_OFF_MLP_NORM},
    {"expert_fc1", TRAIN_OFF_EXPERT_INPUT},
    {"moe_act", TRAIN_OFF_EXPERT_GATE_UP},
    /* all that one op of TransformerEngine saves (core/transformer/moe/experts.py of 0.19) */
    {"fused_group_mlp",
     TRAIN_OFF_EXPERT_INPUT | TRAIN_OFF_EXPERT_GATE_UP | TRAIN_OFF_EXPERT_ACTIVATED},
    {NULL, 0},
};

/* Selective without names recomputes core attention, Megatron's default. */
static enum status modules(struct train *t, struct err *err)
{
    const struct recompute_plan *recompute = &t->plan->recompute;
    t->some = plan_recomputes_some(t->plan);
    if (recompute->kind == RECOMPUTE_FULL && !t->some)
        t->drops = TRAIN_FULL_LAYER;
    if (recompute->kind == RECOMPUTE_SELECTIVE && !recompute->modules.n)
        t->drops = TRAIN_CORE_ATTENTION;
    if (recompute->kind == RECOMPUTE_SELECTIVE)
        TRY(train_names(&recompute->modules, module_names, "recompute.modules", &t->drops,
                        err));
    return train_names(&recompute->offload, offload_names, "recompute.offload", &t->offloads,
                       err);
}

/* Dispatcher flex: DeepEP. */
static bool is_flex(enum moe_path path)
{
    return path_system_of(path)->exchange == EXCHANGE_TOKENS;
}

/* Persistent buffers of the exchange, from the driver's memory and not the allocator's. */
static void exchange_buffers(struct train *t, enum deepep_port port)
{
    const struct {
        const char *name;
        struct size bytes;
    } rows[] = {
        {"deepep_nvl_buffer", deepep_nvl_bytes(&t->d.letters, port, true)},
        {"deepep_rdma_buffer", deepep_rdma_bytes(&t->d.letters, port, true)},
        {"deepep_workspace", size_const(t->z, DEEPEP_WORKSPACE)},
    };
    if (megatron_hybrid_ep(t)) {
        megatron_hybrid_buffers(t);
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows && is_flex(t->path); i++)
        if (t->plan->parallel.ep > 1 && !size_is_zero(t->z, rows[i].bytes))
            work_buffer(t->work, (struct buffer){.name = rows[i].name,
                                                 .category = CATEGORY_COMMUNICATION,
                                                 .segment = SEGMENT_STEP,
                                                 .dtype = DTYPE_INT8,
                                                 .n_dims = 1,
                                                 .dims = {rows[i].bytes},
                                                 .life = LIFE_PERSISTENT,
                                                 .outside = true,
                                                 .source = "buffers.md 2.2"});
}

const struct stack_path stack_megatron_paths[] = {
    {"ragged_a2a", "alltoall"},   {"allgather", NULL}, {"deepep", "flex"},
    {"capacity", "drop and pad"}, {NULL, NULL},
};

static enum status refuse(const struct plan *plan, enum moe_path path, struct err *err)
{
    const char *name = stack_system(plan->stack.kind)->name;
    if (plan->workload.mode != MODE_TRAIN) {
        err_set(err, STATUS_INPUT, "stack %s is modelled for workload.mode train only", name);
        return err_hint(err, "use stack vllm, sglang, nxd or generic for inference");
    }
    TRY(train_mixed_refuse(plan, err));
    return stack_runs(plan, path, err);
}

static enum status build(struct train *t, struct err *err)
{
    static const struct {
        const struct train_tensor *rows;
        size_t n;
    } tables[] = {
        {experts, sizeof experts / sizeof *experts},
        {alltoall, sizeof alltoall / sizeof *alltoall},
        {flex, sizeof flex / sizeof *flex},
        {allgather, sizeof allgather / sizeof *allgather},
    };
    TRY(modules(t, err));
    if (megatron_hybrid_ep(t)) /* rows arrive in its buffer, and leave it permuted */
        t->d.rows[ROW_RECEIVED_TOKENS] = size_const(t->z, 0);
    stack_generic_state(t->plan, t->work);
    train_attention(t);
    train_dense(t);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        train_tensors(t, tables[i].rows, tables[i].n);
    train_ends(t);
    if (t->plan->stack.kind == STACK_MEGATRON)
        train_residual(t);
    train_gathered_weights(t);
    train_extras(t);
    train_weight_gradients(t);
    megatron_extras(t);
    step_optimizer(t->plan, t->work);
    return STATUS_OK;
}

/* DeepEP waits for its counts and the permutation for their sum; alltoall and allgather wait
 * for the counts once; drop-and-pad never (buffers.md 12). */
static uint64_t host_syncs(enum moe_path path)
{
    if (path_system_of(path)->exchange == EXCHANGE_CAPACITY)
        return 0;
    return is_flex(path) ? 2 : 1;
}

enum status stack_megatron_build(const struct plan *plan, struct work *work, struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    struct train t;
    TRY(refuse(plan, path, err));
    train_init(&t, plan, work, path);
    TRY(build(&t, err));
    train_host_syncs(&t, host_syncs(path));
    exchange_buffers(&t, DEEPEP_UPSTREAM);
    return STATUS_OK;
}

/* Primus runs Megatron with Primus-Turbo's dispatcher. Freed of host synchronisation, the
 * receive buffer holds every token of every rank (moe.sync_free 2), and from 3 on the permuted
 * rows are K times that, whatever routing gives (buffers.md 4.5). */
enum status stack_primus_build(const struct plan *plan, struct work *work, struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    struct train t;
    TRY(refuse(plan, path, err));
    train_init(&t, plan, work, path);
    if (plan->moe.sync_free >= 2 && is_flex(path)) {
        t.d.rows[ROW_RECEIVED_TOKENS] = t.d.rows[ROW_GATHERED];
        t.received_rule = RULE_WORST;
    }
    if (plan->moe.sync_free >= 3 && is_flex(path)) {
        t.d.rows[ROW_RECEIVED] = rows_worst_loose(&t.d.letters);
        t.d.rows[ROW_COMPUTED] =
            size_mul(t.z, t.d.rows[ROW_RECEIVED], size_slot(t.z, SLOT_ETP));
        t.routed = RULE_WORST;
        work->room.set = false;
    }
    TRY(build(&t, err));
    uint64_t freed = plan->moe.sync_free >= 2 && is_flex(path) ? plan->moe.sync_free - 1 : 0;
    train_host_syncs(&t, host_syncs(path) - freed);
    exchange_buffers(&t, DEEPEP_PRIMUS);
    return STATUS_OK;
}

/* ---- what runs again ---- */

void stack_megatron_again(const struct plan *plan, struct again *again)
{
    static const struct again_name names[] = {
        {"layernorm", MODULE_BIT(ATTENTION_NORM) | MODULE_BIT(MLP_NORM),
         MODULE_BIT(ATTENTION_NORM) | MODULE_BIT(MLP_NORM)},
        {"mla_up_proj", MODULE_BIT(UP) | MODULE_BIT(ROPE), MODULE_BIT(UP) | MODULE_BIT(ROPE)},
        {"core_attn", MODULE_BIT(ATTENTION), MODULE_BIT(ATTENTION)},
        {"mlp", MODULES_NETWORK, 0},
        {"moe_act", 0, MODULE_BIT(ACTIVATE)},
        {"moe", 0, MODULES_EXPERTS},
        {"shared_experts", 0, MODULE_BIT(SHARED)},
        {"mhc", MODULE_BIT(ATTENTION_NORM) | MODULE_BIT(MLP_NORM),
         MODULE_BIT(ATTENTION_NORM) | MODULE_BIT(MLP_NORM)},
        {NULL, 0, 0},
    };
    const struct recompute_plan *recompute = &plan->recompute;
    if (recompute->kind == RECOMPUTE_FULL)
        again_all(again, MODULES_ALL);
    if (recompute->kind == RECOMPUTE_SELECTIVE && !recompute->modules.n)
        again_all(again, MODULE_BIT(ATTENTION));
    if (recompute->kind == RECOMPUTE_SELECTIVE)
        again_words(again, &recompute->modules, names, false);
}
