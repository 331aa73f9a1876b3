/* torchtitan on PyTorch: training, eager, weights sharded by FSDP2 or tensor parallelism.
 *
 * moe.path ragged_a2a is its all-to-all dispatcher, deepep its DeepEP one. Nothing is fused:
 * gate, its activation, up and their product are four tensors, and the routed output is
 * multiplied by its scores in f32, whose factor is saved for the gradient of the scores
 * (buffers.md 7, derived from torchtitan models/common/moe.py); a network without a gate has
 * two, what the activation reads and what it gives. Without expert parallelism each
 * tensor-parallel rank routes all tokens and splits every expert's width.
 *
 * Recomputation (activation_checkpoint.mode): full; selective with "op" keeps the output of
 * every second matrix product and of attention, selective with a number n runs every n-th layer
 * again. */
#include "plan/derive.h"
#include "work/path/path.h"
#include "work/piece/state.h"

#include "base/text.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/stack/stacks.h"
#include "work/train/train.h"

#define MOE CATEGORY_DISPATCH, IN_MOE
#define EXPERT CATEGORY_EXPERT, IN_MOE
#define META CATEGORY_METADATA, IN_MOE

static const struct train_tensor moe[] = {
    {"router_logits", META, 0, ROW_LOCAL, COL_EXPERTS, .saved = true, .first = MODULE_ROUTER,
     .last = BACK_ROUTER},
    {"router_scores", META, 0, ROW_LOCAL, COL_EXPERTS, DTYPE_F32, .saved = true,
     .first = MODULE_ROUTER, .last = BACK_ROUTER},
    {"top_scores", META, 0, ROW_LOCAL, COL_TOP_K, DTYPE_F32, .saved = true,
     .first = MODULE_ROUTER, .last = BACK_ROUTER},
    {"top_indices", META, 0, ROW_LOCAL, COL_TOP_K, DTYPE_I64, .saved = true,
     .first = MODULE_ROUTER, .last = BACK_PERMUTE},
    /* shared experts: four unfused tensors */
    {"shared_gate", EXPERT, FACT_SHARED, ROW_FULL, COL_SHARED_INTER, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED},
    {"shared_silu", EXPERT, FACT_SHARED, ROW_FULL, COL_SHARED_INTER, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_POINTWISE,
     .until = MODULE_SHARED, .again = BACK_SHARED},
    {"shared_up", EXPERT, FACT_SHARED | FACT_GLU, ROW_FULL, COL_SHARED_INTER, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED},
    {"shared_product", EXPERT, FACT_SHARED | FACT_GLU, ROW_FULL, COL_SHARED_INTER,
     .saved = true, .first = MODULE_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_POINTWISE,
     .until = MODULE_SHARED, .again = BACK_SHARED},
    {"shared_out", EXPERT, FACT_SHARED, ROW_LOCAL, COL_HIDDEN, .first = MODULE_SHARED,
     .last = MODULE_RESIDUAL},
    /* a network beside the experts, likewise */
    {"residual_gate", EXPERT, FACT_RESIDUAL, ROW_FULL, COL_RESIDUAL_INTER, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED},
    {"residual_silu", EXPERT, FACT_RESIDUAL, ROW_FULL, COL_RESIDUAL_INTER, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_POINTWISE,
     .until = MODULE_SHARED, .again = BACK_SHARED},
    {"residual_up", EXPERT, FACT_RESIDUAL | FACT_GLU, ROW_FULL, COL_RESIDUAL_INTER,
     .saved = true, .first = MODULE_SHARED, .last = BACK_SHARED},
    {"residual_product", EXPERT, FACT_RESIDUAL | FACT_GLU, ROW_FULL, COL_RESIDUAL_INTER,
     .saved = true, .first = MODULE_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_POINTWISE,
     .until = MODULE_SHARED, .again = BACK_SHARED},
    {"residual_out", EXPERT, FACT_RESIDUAL, ROW_LOCAL, COL_HIDDEN, .first = MODULE_SHARED,
     .last = MODULE_RESIDUAL},
    /* routed experts */
    {"expert_input", EXPERT, 0, ROW_COMPUTED, COL_ROUTED, .saved = true, .first = MODULE_SORT,
     .last = BACK_GATE_UP},
    {"expert_gate", EXPERT, 0, ROW_COMPUTED, COL_INTER, .saved = true, .first = MODULE_GATE_UP,
     .last = BACK_ACTIVATE},
    {"expert_silu", EXPERT, 0, ROW_COMPUTED, COL_INTER, .saved = true, .first = MODULE_ACTIVATE,
     .last = BACK_ACTIVATE, .dropped_by = TRAIN_POINTWISE, .until = MODULE_EXPERT_DOWN,
     .again = BACK_EXPERT_DOWN},
    {"expert_up", EXPERT, FACT_GLU, ROW_COMPUTED, COL_INTER, .saved = true,
     .first = MODULE_GATE_UP, .last = BACK_ACTIVATE},
    {"expert_product", EXPERT, FACT_GLU, ROW_COMPUTED, COL_INTER, .saved = true,
     .first = MODULE_ACTIVATE, .last = BACK_EXPERT_DOWN, .dropped_by = TRAIN_POINTWISE,
     .until = MODULE_EXPERT_DOWN, .again = BACK_EXPERT_DOWN},
    {"expert_out", EXPERT, 0, ROW_COMPUTED, COL_ROUTED, .first = MODULE_EXPERT_DOWN,
     .last = MODULE_UNSORT},
    {"d_expert_product", EXPERT, 0, ROW_COMPUTED, COL_INTER, .first = BACK_EXPERT_DOWN,
     .last = BACK_ACTIVATE},
    {"d_expert_gate_up", EXPERT, 0, ROW_COMPUTED, COL_INTER_IN, .first = BACK_ACTIVATE,
     .last = BACK_GATE_UP},
    {"d_expert_input", EXPERT, 0, ROW_COMPUTED, COL_ROUTED, .first = BACK_GATE_UP,
     .last = BACK_SORT},
    /* the routed output times its scores: in f32, with its factor saved; compiled, the products
     * read and write 16 bits and the factor is saved as it came */
    {"routed_output", MOE, FACT_EAGER, ROW_ROUTED, COL_ROUTED, DTYPE_F32, .saved = true,
     .first = MODULE_UNPERMUTE, .last = BACK_UNPERMUTE},
    {"scored_output", MOE, FACT_EAGER, ROW_ROUTED, COL_ROUTED, DTYPE_F32,
     .first = MODULE_UNPERMUTE, .last = MODULE_UNPERMUTE},
    {"d_scored_output", MOE, FACT_EAGER, ROW_ROUTED, COL_ROUTED, DTYPE_F32,
     .first = BACK_UNPERMUTE, .last = BACK_UNPERMUTE},
    {"routed_output", MOE, FACT_COMPILED, ROW_ROUTED, COL_ROUTED, .saved = true,
     .first = MODULE_UNSORT, .last = BACK_UNPERMUTE},
    {"scored_output", MOE, FACT_COMPILED, ROW_ROUTED, COL_ROUTED, .first = MODULE_UNPERMUTE,
     .last = MODULE_UNPERMUTE},
    /* rows that choices without weights give back, whose scores have a gradient too
     * (transformers models/longcat_flash, LongcatFlashExperts) */
    {"identity_rows", MOE, FACT_ZERO_EXPERTS, ROW_IDENTITY, COL_ROUTED, .saved = true,
     .first = MODULE_SORT, .last = BACK_UNPERMUTE},
    {"moe_out", MOE, 0, ROW_LOCAL, COL_HIDDEN, .first = MODULE_UNPERMUTE,
     .last = MODULE_RESIDUAL},
    {"d_routed_output", MOE, 0, ROW_ROUTED, COL_ROUTED, .first = BACK_UNPERMUTE,
     .last = BACK_COMBINE},
    {"d_expert_out", MOE, 0, ROW_COMPUTED, COL_ROUTED, .first = BACK_UNSORT,
     .last = BACK_EXPERT_DOWN},
};

/* Rows on their way: sorted by expert, received, sorted again; back the same way. */
static const struct train_tensor exchange[] = {
    {"sorted_rows", MOE, FACT_ALLTOALL | FACT_EP, ROW_SENT, COL_ROUTED, .first = MODULE_PERMUTE,
     .last = MODULE_DISPATCH},
    {"received_rows", MOE, FACT_ALLTOALL | FACT_EP, ROW_RECEIVED, COL_ROUTED,
     .first = MODULE_DISPATCH, .last = MODULE_SORT},
    /* the uneven exchange receives a part from every rank and concatenates them */
    {"received_parts", MOE, FACT_ALLTOALL | FACT_EP, ROW_RECEIVED, COL_ROUTED,
     .first = MODULE_DISPATCH, .last = MODULE_DISPATCH, .source = "spmd_types _AllToAllUneven"},
    {"returned_parts", MOE, FACT_ALLTOALL | FACT_EP, ROW_SENT, COL_ROUTED,
     .first = MODULE_COMBINE, .last = MODULE_COMBINE, .source = "spmd_types _AllToAllUneven"},
    {"unsorted_rows", MOE, FACT_ALLTOALL | FACT_EP, ROW_RECEIVED, COL_ROUTED,
     .first = MODULE_UNSORT, .last = MODULE_COMBINE},
    {"returned_rows", MOE, FACT_ALLTOALL | FACT_EP, ROW_SENT, COL_ROUTED,
     .first = MODULE_COMBINE, .last = MODULE_UNPERMUTE},
    {"d_unsorted_rows", MOE, FACT_ALLTOALL | FACT_EP, ROW_RECEIVED, COL_ROUTED,
     .first = BACK_COMBINE, .last = BACK_UNSORT},
    {"d_received_rows", MOE, FACT_ALLTOALL | FACT_EP, ROW_RECEIVED, COL_ROUTED,
     .first = BACK_SORT, .last = BACK_DISPATCH},
    {"d_sorted_rows", MOE, FACT_ALLTOALL | FACT_EP, ROW_SENT, COL_ROUTED,
     .first = BACK_DISPATCH, .last = BACK_PERMUTE},
    {"received_tokens", MOE, FACT_FLEX, ROW_RECEIVED_TOKENS, COL_ROUTED,
     .first = MODULE_DISPATCH, .last = MODULE_SORT},
    {"reduced_tokens", MOE, FACT_FLEX, ROW_RECEIVED_TOKENS, COL_ROUTED, .first = MODULE_UNSORT,
     .last = MODULE_COMBINE},
    {"d_received_tokens", MOE, FACT_FLEX, ROW_RECEIVED_TOKENS, COL_ROUTED, .first = BACK_SORT,
     .last = BACK_DISPATCH},
};

static const struct train_tensor network[] = {
    {"mlp_gate", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_TILE, COL_DENSE, .saved = true,
     .first = MODULE_GATE_UP, .last = BACK_ACTIVATE, .dropped_by = TRAIN_OP_KEPT | TRAIN_TILES,
     .until = MODULE_EXPERT_DOWN, .again = BACK_EXPERT_DOWN},
    {"mlp_silu", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_TILE, COL_DENSE, .saved = true,
     .first = MODULE_ACTIVATE, .last = BACK_ACTIVATE,
     .dropped_by = TRAIN_POINTWISE | TRAIN_TILES, .until = MODULE_EXPERT_DOWN,
     .again = BACK_EXPERT_DOWN},
    {"mlp_up", CATEGORY_ACTIVATION, IN_DENSE, FACT_GLU, ROW_TILE, COL_DENSE, .saved = true,
     .first = MODULE_GATE_UP, .last = BACK_ACTIVATE, .dropped_by = TRAIN_TILES,
     .until = MODULE_EXPERT_DOWN, .again = BACK_EXPERT_DOWN},
    {"mlp_product", CATEGORY_ACTIVATION, IN_DENSE, FACT_GLU, ROW_TILE, COL_DENSE, .saved = true,
     .first = MODULE_ACTIVATE, .last = BACK_EXPERT_DOWN,
     .dropped_by = TRAIN_POINTWISE | TRAIN_TILES, .until = MODULE_EXPERT_DOWN,
     .again = BACK_EXPERT_DOWN},
    {"d_mlp_product", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_TILE, COL_DENSE,
     .first = BACK_EXPERT_DOWN, .last = BACK_ACTIVATE},
    {"d_mlp_gate_up", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_TILE, COL_DENSE_IN,
     .first = BACK_ACTIVATE, .last = BACK_GATE_UP},
};

/* What "op" keeps beside the table's own: outputs of the first, third, fifth and seventh matrix
 * product of a layer (q, kv up, shared gate, shared down). */
static const struct train_tensor per_op[] = {
    {"q_out", CATEGORY_ATTENTION, IN_ALL, FACT_PER_OP, ROW_FULL, COL_Q, .saved = true,
     .first = MODULE_UP, .last = BACK_UP, .dropped_by = TRAIN_OP_KEPT, .mixers = MIX_SOFTMAX},
    {"kv_up_out", CATEGORY_ATTENTION, IN_ALL, FACT_PER_OP | FACT_MLA, ROW_FULL, COL_KV_UP,
     .saved = true, .first = MODULE_UP, .last = BACK_UP, .dropped_by = TRAIN_OP_KEPT,
     .mixers = MIX_SOFTMAX},
    {"v_out", CATEGORY_ATTENTION, IN_ALL, FACT_PER_OP | FACT_GQA, ROW_FULL, COL_V,
     .saved = true, .first = MODULE_UP, .last = BACK_UP, .dropped_by = TRAIN_OP_KEPT,
     .mixers = MIX_SOFTMAX},
    /* a compiled exchange is a functional collective, which the list of kept ops names */
    {"dispatched_rows", MOE, FACT_PER_OP | FACT_COMPILED | FACT_ALLTOALL | FACT_EP,
     ROW_RECEIVED, COL_ROUTED, .saved = true, .first = MODULE_DISPATCH, .last = BACK_DISPATCH,
     .dropped_by = TRAIN_OP_KEPT, .source = "training-stacks.md 4, item 5"},
    {"combined_rows", MOE, FACT_PER_OP | FACT_COMPILED | FACT_ALLTOALL | FACT_EP, ROW_SENT,
     COL_ROUTED, .saved = true, .first = MODULE_COMBINE, .last = BACK_COMBINE,
     .dropped_by = TRAIN_OP_KEPT, .source = "training-stacks.md 4, item 5"},
    {"shared_gate_out", EXPERT, FACT_PER_OP | FACT_SHARED, ROW_FULL, COL_SHARED_INTER,
     .saved = true, .first = MODULE_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_OP_KEPT},
    {"shared_down_out", EXPERT, FACT_PER_OP | FACT_SHARED, ROW_LOCAL, COL_HIDDEN, .saved = true,
     .first = MODULE_SHARED, .last = BACK_SHARED, .dropped_by = TRAIN_OP_KEPT},
};

/* The number that an option is; 0: none. */
static unsigned every_of(const char *option)
{
    unsigned every = 0;
    for (const char *digit = option; *digit >= '0' && *digit <= '9' && every < 1000; digit++)
        every = 10 * every + (unsigned)(*digit - '0');
    return every;
}

/* selective: "op", or every how many layers one runs again ("1" is full). */
static enum status modules(struct train *t, struct err *err)
{
    const struct recompute_plan *recompute = &t->plan->recompute;
    t->drops = t->plan->stack.compiled ? TRAIN_POINTWISE : 0;
    t->some = plan_recomputes_some(t->plan);
    if (recompute->kind == RECOMPUTE_FULL && !t->some)
        t->drops |= TRAIN_FULL_LAYER;
    if (recompute->kind != RECOMPUTE_SELECTIVE)
        return STATUS_OK;
    const char *option = recompute->modules.n ? recompute->modules.word[0] : "op";
    if (text_equal(option, "op")) {
        t->drops |= TRAIN_OPS;
        t->d.facts |= FACT_PER_OP;
        return STATUS_OK;
    }
    unsigned every = every_of(option);
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
    if (path_system_of(t->path)->exchange != EXCHANGE_TOKENS || plan->parallel.ep == 1 ||
        !plan_has_moe(plan))
        return;
    bool inside = plan->parallel.ep <= plan_linked_devices(plan);
    work_buffer(t->work,
                (struct buffer){.name = "deepep_elastic_buffer",
                                .category = CATEGORY_COMMUNICATION,
                                .segment = SEGMENT_STEP,
                                .dtype = DTYPE_INT8,
                                .n_dims = 1,
                                .dims = {elastic_buffer_bytes(
                                    &t->d.letters, inside ? ELASTIC_NVLINK : ELASTIC_HYBRID,
                                    plan->precision.dispatch == DTYPE_FP8)},
                                .life = LIFE_PERSISTENT,
                                .outside = true,
                                .source = "buffers.md 3"});
}

void train_eager(struct train *t)
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
    /* axolotl multiplies scores where experts are (transformers integrations/moe.py) */
    bool here =
        t->plan->parallel.ep == 1 || (t->plan->stack.kind == STACK_FSDP &&
                                      path_system_of(t->path)->exchange == EXCHANGE_TOKENS);
    t->d.rows[ROW_ROUTED] = t->d.rows[here ? ROW_COMPUTED : ROW_SENT];
    train_attention(t);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        train_tensors(t, tables[i].rows, tables[i].n);
    train_rounded(t);
}

enum status stack_torchtitan_build(const struct plan *plan, struct work *work, struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    struct train t;
    TRY(refuse(plan, path, err));
    train_init(&t, plan, work, path);
    TRY(modules(&t, err));
    t.reduces_in = stack_reduces_in(plan);
    stack_generic_state(plan, work);
    train_eager(&t);
    train_ends(&t);
    train_fsdp2(&t);
    train_in_backward(&t);
    train_extras(&t);
    train_host_syncs(&t, plan->parallel.ep > 1); /* the split lists go to the host */
    elastic_buffer(&t);
    step_optimizer(plan, work);
    return STATUS_OK;
}

/* ---- what runs again ---- */

/* "op" keeps the outputs of attention and of the products that per_op lists; of GQA's one
 * product it keeps q and v, two of its three parts, which is counted as all of it. */
void stack_torchtitan_again(const struct plan *plan, struct again *again)
{
    static const char *const kept[] = {"attention",      "q",           "q_up",
                                       "kv_up",          "qkv",         "linear_in",
                                       "shared_gate_up", "shared_down", NULL};
    const struct recompute_plan *recompute = &plan->recompute;
    if (recompute->kind != RECOMPUTE_FULL && recompute->kind != RECOMPUTE_SELECTIVE)
        return;
    again_all(again, MODULES_ALL);
    if (recompute->kind == RECOMPUTE_FULL)
        return;
    const char *option = recompute->modules.n ? recompute->modules.word[0] : "op";
    again->every = every_of(option);
    if (again->every)
        return;
    again->every = 1;
    again->kept = kept;
}
