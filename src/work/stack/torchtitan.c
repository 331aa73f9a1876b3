/* torchtitan on PyTorch: training, eager, weights sharded by FSDP2 or tensor parallelism.
 *
 * moe.path ragged_a2a is its all-to-all dispatcher, deepep its DeepEP one. Nothing is fused:
 * gate, its activation, up and their product are four tensors, and the routed output is
 * multiplied by its scores in f32, whose factor is saved for the gradient of the scores
 * (buffers.md 7, derived from torchtitan models/common/moe.py). Without expert parallelism each
 * tensor-parallel rank routes all tokens and splits every expert's width.
 *
 * Recomputation (activation_checkpoint.mode): full; selective with "op" keeps the output of
 * every second matrix product and of attention, selective with a number n runs every n-th layer
 * again. */
#include "work/path/path.h"
#include "work/stack/stack.h"

#include "base/text.h"
#include "work/stack/dispatch_deepep.h"
#include "work/stack/train.h"

enum {
    BACK_UP = TRAIN_BACK(TRAIN_UP),
    BACK_SHARED = TRAIN_BACK(TRAIN_SHARED),
    BACK_ROUTER = TRAIN_BACK(TRAIN_ROUTER),
    BACK_PERMUTE = TRAIN_BACK(TRAIN_PERMUTE),
    BACK_DISPATCH = TRAIN_BACK(TRAIN_DISPATCH),
    BACK_SORT = TRAIN_BACK(TRAIN_SORT),
    BACK_GATE_UP = TRAIN_BACK(TRAIN_GATE_UP),
    BACK_ACTIVATE = TRAIN_BACK(TRAIN_ACTIVATE),
    BACK_EXPERT_DOWN = TRAIN_BACK(TRAIN_EXPERT_DOWN),
    BACK_UNSORT = TRAIN_BACK(TRAIN_UNSORT),
    BACK_COMBINE = TRAIN_BACK(TRAIN_COMBINE),
    BACK_UNPERMUTE = TRAIN_BACK(TRAIN_UNPERMUTE)
};

#define MOE CATEGORY_DISPATCH, TRAIN_IN_MOE
#define EXPERT CATEGORY_EXPERT, TRAIN_IN_MOE
#define META CATEGORY_METADATA, TRAIN_IN_MOE

static const struct train_tensor moe[] = {
    {"router_logits", META, 0, TRAIN_LOCAL, TRAIN_EXPERTS, .saved = true, .first = TRAIN_ROUTER,
     .last = BACK_ROUTER},
    {"router_scores", META, 0, TRAIN_LOCAL, TRAIN_EXPERTS, DTYPE_F32, .saved = true,
     .first = TRAIN_ROUTER, .last = BACK_ROUTER},
    {"top_scores", META, 0, TRAIN_LOCAL, TRAIN_TOP_K, DTYPE_F32, .saved = true,
     .first = TRAIN_ROUTER, .last = BACK_ROUTER},
    {"top_indices", META, 0, TRAIN_LOCAL, TRAIN_TOP_K, DTYPE_I64, .saved = true,
     .first = TRAIN_ROUTER, .last = BACK_PERMUTE},
    /* shared experts: four unfused tensors */
    {"shared_gate", EXPERT, TRAIN_HAS_SHARED, TRAIN_FULL, TRAIN_SHARED_INTER, .saved = true,
     .first = TRAIN_SHARED, .last = BACK_SHARED},
    {"shared_silu", EXPERT, TRAIN_HAS_SHARED, TRAIN_FULL, TRAIN_SHARED_INTER, .saved = true,
     .first = TRAIN_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_POINTWISE,
     .until = TRAIN_SHARED, .again = BACK_SHARED},
    {"shared_up", EXPERT, TRAIN_HAS_SHARED, TRAIN_FULL, TRAIN_SHARED_INTER, .saved = true,
     .first = TRAIN_SHARED, .last = BACK_SHARED},
    {"shared_product", EXPERT, TRAIN_HAS_SHARED, TRAIN_FULL, TRAIN_SHARED_INTER, .saved = true,
     .first = TRAIN_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_POINTWISE,
     .until = TRAIN_SHARED, .again = BACK_SHARED},
    {"shared_out", EXPERT, TRAIN_HAS_SHARED, TRAIN_LOCAL, TRAIN_HIDDEN, .first = TRAIN_SHARED,
     .last = TRAIN_RESIDUAL},
    /* routed experts */
    {"expert_input", EXPERT, 0, TRAIN_COMPUTED, TRAIN_HIDDEN, .saved = true,
     .first = TRAIN_SORT, .last = BACK_GATE_UP},
    {"expert_gate", EXPERT, 0, TRAIN_COMPUTED, TRAIN_INTER, .saved = true,
     .first = TRAIN_GATE_UP, .last = BACK_ACTIVATE},
    {"expert_silu", EXPERT, 0, TRAIN_COMPUTED, TRAIN_INTER, .saved = true,
     .first = TRAIN_ACTIVATE, .last = BACK_ACTIVATE, .dropped_by = TRAIN_POINTWISE,
     .until = TRAIN_EXPERT_DOWN, .again = BACK_EXPERT_DOWN},
    {"expert_up", EXPERT, 0, TRAIN_COMPUTED, TRAIN_INTER, .saved = true, .first = TRAIN_GATE_UP,
     .last = BACK_ACTIVATE},
    {"expert_product", EXPERT, 0, TRAIN_COMPUTED, TRAIN_INTER, .saved = true,
     .first = TRAIN_ACTIVATE, .last = BACK_EXPERT_DOWN, .dropped_by = TRAIN_POINTWISE,
     .until = TRAIN_EXPERT_DOWN, .again = BACK_EXPERT_DOWN},
    {"expert_out", EXPERT, 0, TRAIN_COMPUTED, TRAIN_HIDDEN, .first = TRAIN_EXPERT_DOWN,
     .last = TRAIN_UNSORT},
    {"d_expert_product", EXPERT, 0, TRAIN_COMPUTED, TRAIN_INTER, .first = BACK_EXPERT_DOWN,
     .last = BACK_ACTIVATE},
    {"d_expert_gate_up", EXPERT, 0, TRAIN_COMPUTED, TRAIN_INTER_IN, .first = BACK_ACTIVATE,
     .last = BACK_GATE_UP},
    {"d_expert_input", EXPERT, 0, TRAIN_COMPUTED, TRAIN_HIDDEN, .first = BACK_GATE_UP,
     .last = BACK_SORT},
    /* the routed output times its scores: in f32, with its factor saved; compiled, the products
     * read and write 16 bits and the factor is saved as it came */
    {"routed_output", MOE, TRAIN_EAGER, TRAIN_ROUTED, TRAIN_HIDDEN, DTYPE_F32, .saved = true,
     .first = TRAIN_UNPERMUTE, .last = BACK_UNPERMUTE},
    {"scored_output", MOE, TRAIN_EAGER, TRAIN_ROUTED, TRAIN_HIDDEN, DTYPE_F32,
     .first = TRAIN_UNPERMUTE, .last = TRAIN_UNPERMUTE},
    {"d_scored_output", MOE, TRAIN_EAGER, TRAIN_ROUTED, TRAIN_HIDDEN, DTYPE_F32,
     .first = BACK_UNPERMUTE, .last = BACK_UNPERMUTE},
    {"routed_output", MOE, TRAIN_COMPILED, TRAIN_ROUTED, TRAIN_HIDDEN, .saved = true,
     .first = TRAIN_UNSORT, .last = BACK_UNPERMUTE},
    {"scored_output", MOE, TRAIN_COMPILED, TRAIN_ROUTED, TRAIN_HIDDEN, .first = TRAIN_UNPERMUTE,
     .last = TRAIN_UNPERMUTE},
    {"moe_out", MOE, 0, TRAIN_LOCAL, TRAIN_HIDDEN, .first = TRAIN_UNPERMUTE,
     .last = TRAIN_RESIDUAL},
    {"d_routed_output", MOE, 0, TRAIN_ROUTED, TRAIN_HIDDEN, .first = BACK_UNPERMUTE,
     .last = BACK_COMBINE},
    {"d_expert_out", MOE, 0, TRAIN_COMPUTED, TRAIN_HIDDEN, .first = BACK_UNSORT,
     .last = BACK_EXPERT_DOWN},
};

/* Rows on their way: sorted by expert, received, sorted again; back the same way. */
static const struct train_tensor exchange[] = {
    {"sorted_rows", MOE, TRAIN_ALLTOALL | TRAIN_EP, TRAIN_SENT, TRAIN_HIDDEN,
     .first = TRAIN_PERMUTE, .last = TRAIN_DISPATCH},
    {"received_rows", MOE, TRAIN_ALLTOALL | TRAIN_EP, TRAIN_RECEIVED, TRAIN_HIDDEN,
     .first = TRAIN_DISPATCH, .last = TRAIN_SORT},
    {"unsorted_rows", MOE, TRAIN_ALLTOALL | TRAIN_EP, TRAIN_RECEIVED, TRAIN_HIDDEN,
     .first = TRAIN_UNSORT, .last = TRAIN_COMBINE},
    {"returned_rows", MOE, TRAIN_ALLTOALL | TRAIN_EP, TRAIN_SENT, TRAIN_HIDDEN,
     .first = TRAIN_COMBINE, .last = TRAIN_UNPERMUTE},
    {"d_unsorted_rows", MOE, TRAIN_ALLTOALL | TRAIN_EP, TRAIN_RECEIVED, TRAIN_HIDDEN,
     .first = BACK_COMBINE, .last = BACK_UNSORT},
    {"d_received_rows", MOE, TRAIN_ALLTOALL | TRAIN_EP, TRAIN_RECEIVED, TRAIN_HIDDEN,
     .first = BACK_SORT, .last = BACK_DISPATCH},
    {"d_sorted_rows", MOE, TRAIN_ALLTOALL | TRAIN_EP, TRAIN_SENT, TRAIN_HIDDEN,
     .first = BACK_DISPATCH, .last = BACK_PERMUTE},
    {"received_tokens", MOE, TRAIN_FLEX, TRAIN_RECEIVED_TOKENS, TRAIN_HIDDEN,
     .first = TRAIN_DISPATCH, .last = TRAIN_SORT},
    {"reduced_tokens", MOE, TRAIN_FLEX, TRAIN_RECEIVED_TOKENS, TRAIN_HIDDEN,
     .first = TRAIN_UNSORT, .last = TRAIN_COMBINE},
    {"d_received_tokens", MOE, TRAIN_FLEX, TRAIN_RECEIVED_TOKENS, TRAIN_HIDDEN,
     .first = BACK_SORT, .last = BACK_DISPATCH},
};

static const struct train_tensor network[] = {
    {"mlp_gate", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE, .saved = true,
     .first = TRAIN_GATE_UP, .last = BACK_ACTIVATE, .dropped_by = TRAIN_OP_KEPT},
    {"mlp_silu", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE, .saved = true,
     .first = TRAIN_ACTIVATE, .last = BACK_ACTIVATE, .dropped_by = TRAIN_POINTWISE,
     .until = TRAIN_EXPERT_DOWN, .again = BACK_EXPERT_DOWN},
    {"mlp_up", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE, .saved = true,
     .first = TRAIN_GATE_UP, .last = BACK_ACTIVATE},
    {"mlp_product", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE,
     .saved = true, .first = TRAIN_ACTIVATE, .last = BACK_EXPERT_DOWN,
     .dropped_by = TRAIN_POINTWISE, .until = TRAIN_EXPERT_DOWN, .again = BACK_EXPERT_DOWN},
    {"d_mlp_product", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE,
     .first = BACK_EXPERT_DOWN, .last = BACK_ACTIVATE},
    {"d_mlp_gate_up", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE_IN,
     .first = BACK_ACTIVATE, .last = BACK_GATE_UP},
};

/* What "op" keeps beside the table's own: outputs of the first, third, fifth and seventh matrix
 * product of a layer (q, kv up, shared gate, shared down). */
static const struct train_tensor per_op[] = {
    {"q_out", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_PER_OP, TRAIN_FULL, TRAIN_Q,
     .saved = true, .first = TRAIN_UP, .last = BACK_UP, .dropped_by = TRAIN_OP_KEPT},
    {"kv_up_out", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_PER_OP | TRAIN_MLA, TRAIN_FULL,
     TRAIN_KV_UP, .saved = true, .first = TRAIN_UP, .last = BACK_UP,
     .dropped_by = TRAIN_OP_KEPT},
    {"v_out", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_PER_OP | TRAIN_GQA, TRAIN_FULL, TRAIN_V,
     .saved = true, .first = TRAIN_UP, .last = BACK_UP, .dropped_by = TRAIN_OP_KEPT},
    {"shared_gate_out", EXPERT, TRAIN_PER_OP | TRAIN_HAS_SHARED, TRAIN_FULL, TRAIN_SHARED_INTER,
     .saved = true, .first = TRAIN_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_OP_KEPT},
    {"shared_down_out", EXPERT, TRAIN_PER_OP | TRAIN_HAS_SHARED, TRAIN_LOCAL, TRAIN_HIDDEN,
     .saved = true, .first = TRAIN_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_OP_KEPT},
};

/* selective: "op", or every how many layers one runs again ("1" is full). */
static enum status modules(struct train *t, struct err *err)
{
    const struct recompute_plan *recompute = &t->plan->recompute;
    t->drops = t->plan->stack.compiled ? TRAIN_POINTWISE : 0;
    if (recompute->kind == RECOMPUTE_FULL)
        t->drops |= TRAIN_FULL_LAYER;
    if (recompute->kind != RECOMPUTE_SELECTIVE)
        return STATUS_OK;
    const char *option = recompute->modules.n ? recompute->modules.word[0] : "op";
    if (text_equal(option, "op")) {
        t->drops |= TRAIN_OPS;
        t->holds |= TRAIN_PER_OP;
        return STATUS_OK;
    }
    unsigned every = 0;
    for (const char *digit = option; *digit >= '0' && *digit <= '9' && every < 1000; digit++)
        every = 10 * every + (unsigned)(*digit - '0');
    if (!every || recompute->modules.n > 1) {
        err_set(err, STATUS_INPUT, "recompute.modules: stack torchtitan has no module '%s'",
                option);
        return err_hint(err, "selective takes one of: op, or a number n for every n-th layer");
    }
    t->drops |= every == 1 ? TRAIN_FULL_LAYER : 0;
    t->drop_every = every == 1 ? 0 : (uint16_t)every;
    return STATUS_OK;
}

const struct stack_path stack_torchtitan_paths[] = {
    {"ragged_a2a", NULL}, {"deepep", NULL}, {NULL, NULL}};

static enum status refuse(const struct plan *plan, enum moe_path path, struct err *err)
{
    if (plan->workload.mode != MODE_TRAIN) {
        err_set(err, STATUS_INPUT, "stack torchtitan is modelled for workload.mode train only");
        return err_hint(err, "use stack vllm, sglang, nxd or generic for inference");
    }
    return stack_runs(plan, path, err);
}

/* V2 of DeepEP, sized by tokens (buffers.md 3); outside PyTorch's allocator. */
static void elastic_buffer(struct train *t)
{
    const struct plan *plan = t->plan;
    if (path_system_of(t->path)->exchange != EXCHANGE_TOKENS || plan->parallel.ep == 1)
        return;
    bool inside = plan->parallel.ep <= plan->cluster.node.devices;
    work_buffer(t->work,
                (struct buffer){.name = "deepep_elastic_buffer",
                                .category = CATEGORY_COMMUNICATION,
                                .segment = SEGMENT_STEP,
                                .dtype = DTYPE_INT8,
                                .n_dims = 1,
                                .dims = {elastic_buffer_bytes(
                                    &t->letters, inside ? ELASTIC_NVLINK : ELASTIC_HYBRID,
                                    plan->precision.dispatch == DTYPE_FP8)},
                                .life = LIFE_PERSISTENT,
                                .outside = true,
                                .source = "buffers.md 3"});
}

enum status stack_torchtitan_build(const struct plan *plan, struct work *work, struct err *err)
{
    static const struct {
        const struct train_tensor *rows;
        size_t n;
    } tables[] = {
        {network, sizeof network / sizeof *network},
        {moe, sizeof moe / sizeof *moe},
        {exchange, sizeof exchange / sizeof *exchange},
        {per_op, sizeof per_op / sizeof *per_op},
    };
    enum moe_path path = stack_path(plan, NULL);
    struct train t;
    TRY(refuse(plan, path, err));
    train_init(&t, plan, work, path);
    TRY(modules(&t, err));
    t.rows[TRAIN_ROUTED] = plan->parallel.ep == 1 ? t.rows[TRAIN_COMPUTED] : t.rows[TRAIN_SENT];
    step_state(plan, work, true);
    train_attention(&t);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        train_tensors(&t, tables[i].rows, tables[i].n);
    train_ends(&t);
    train_gathered_weights(&t);
    train_extras(&t);
    train_host_syncs(&t, plan->parallel.ep > 1); /* the split lists go to the host */
    elastic_buffer(&t);
    return STATUS_OK;
}
