/* HuggingFace models under the Trainer or Accelerate: on FSDP2 (stack fsdp), on DeepSpeed's
 * ZeRO (stack deepspeed).
 *
 * The layer is eager PyTorch's, nothing fused: RMS norms work in f32 and save the cast they
 * made (transformers, *RMSNorm.forward; torch's LayerNorm saves its input), gate, its
 * activation, up and their product are four tensors, the experts' output is multiplied by its
 * scores in the activations' format. Checkpointing is by whole layers (gradient_checkpointing).
 * Sources: training-stacks.md 1 and 4. */
#include "base/text.h"
#include "plan/derive.h"
#include "work/path/path.h"
#include "work/piece/lora.h"
#include "work/piece/state.h"
#include "work/stack/stacks.h"
#include "work/train/train.h"

static const struct train_tensor norms[] = {
    {"attention_norm_f32", CATEGORY_ACTIVATION, IN_ALL, FACT_CAST_NORM, ROW_LOCAL, COL_HIDDEN,
     DTYPE_F32, .saved = true, .first = MODULE_ATTENTION_NORM, .last = BACK_ATTENTION_NORM,
     .mixers = MIX_ANY, .source = "transformers RMSNorm: the f32 cast of its input"},
    {"mlp_norm_f32", CATEGORY_ACTIVATION, IN_BOTH, FACT_CAST_NORM | FACT_NETWORK_NORM,
     ROW_LOCAL, COL_HIDDEN, DTYPE_F32, .saved = true, .first = MODULE_MLP_NORM,
     .last = BACK_MLP_NORM, .source = "transformers RMSNorm: the f32 cast of its input"},
    {"layer_projected_f32", CATEGORY_ACTIVATION, IN_ALL, FACT_LAYER_EMBEDDING, ROW_LOCAL,
     COL_HIDDEN, DTYPE_F32, .saved = true, .first = MODULE_RESIDUAL, .last = BACK_RESIDUAL,
     .source = "transformers RMSNorm: the f32 cast of its input"},
};

/* What a tiled network has whole: its parts' outputs, which are put together, and the gradient
 * of its input (deepspeed runtime/sequence_parallel/ulysses_sp.py, TiledMLP; axolotl
 * monkeypatch/tiled_mlp/base.py). */
static const struct train_tensor tiled[] = {
    {"mlp_tiles_out", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_FULL, COL_HIDDEN,
     .first = MODULE_GATE_UP, .last = MODULE_EXPERT_DOWN},
    {"d_mlp_tiles_in", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_FULL, COL_HIDDEN,
     .first = BACK_EXPERT_DOWN, .last = BACK_GATE_UP},
};

static const char grouped[] = "ragged_a2a";

const struct stack_path stack_fsdp_paths[] = {{grouped, "grouped products"},
                                              {"expert_loop", "one expert after the other"},
                                              {"deepep", "axolotl's expert parallelism"},
                                              {NULL, NULL}};
const struct stack_path stack_deepspeed_paths[] = {
    {grouped, "grouped products, AutoEP"},
    {"expert_loop", "one expert after the other"},
    {"capacity", "its MoE layer"},
    {NULL, NULL}};

static enum status refuse(const struct plan *plan, enum moe_path path, struct err *err)
{
    const char *name = stack_system(plan->stack.kind)->name;
    if (plan->workload.mode != MODE_TRAIN) {
        err_set(err, STATUS_INPUT, "stack %s is modelled for workload.mode train only", name);
        return err_hint(err, "use stack vllm, sglang, nxd or generic for inference");
    }
    if (lora_merges(plan) && lora_reaches_stacked(plan) &&
        !text_equal(words_path[path], grouped)) {
        err_set(err, STATUS_INPUT,
                "lora.targets: adapters of stacked experts are added up for grouped products "
                "alone, not for %s",
                words_path[path]);
        return err_hint(err, "moe.path: %s", grouped); /* one by one each would add up all */
    }
    if (plan->recompute.kind == RECOMPUTE_SELECTIVE) {
        err_set(err, STATUS_INPUT, "stack %s recomputes whole layers or nothing", name);
        return err_hint(err, "recompute: full is gradient_checkpointing, or none");
    }
    return stack_runs(plan, path, err);
}

/* What full recomputation keeps waits in host memory: DeepSpeed's cpu_checkpointing, axolotl's
 * offload (offload_cpu.py), LLaMA-Factory's use_unsloth_gc. */
static enum status offloads(struct train *t, struct err *err)
{
    static const struct train_name names[] = {{"layer_input", TRAIN_OFF_ATTENTION_NORM},
                                              {NULL, 0}};
    const struct recompute_plan *recompute = &t->plan->recompute;
    if (recompute->kind != RECOMPUTE_FULL)
        return STATUS_OK;
    return train_names(&recompute->offload, names, "recompute.offload", &t->offloads, err);
}

/* The list of one layer, whatever shares its weights out. */
static enum status build(struct train *t, const struct plan *plan, struct work *work,
                         struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    TRY(refuse(plan, path, err));
    train_init(t, plan, work, path);
    t->some = plan_recomputes_some(plan);
    t->drops = plan->recompute.kind == RECOMPUTE_FULL && !t->some ? TRAIN_FULL_LAYER : 0;
    TRY(offloads(t, err));
    if (plan_mlp_tiles(plan) > 1)
        t->drops |= TRAIN_TILES;
    t->d.facts &= ~FACT_EAGER; /* scores multiply in 16 bits */
    t->d.facts |= FACT_COMPILED;
    stack_generic_state(plan, work);
    train_tensors(t, norms, sizeof norms / sizeof *norms);
    train_eager(t);
    train_residual_eager(t);
    if (plan_mlp_tiles(plan) > 1)
        train_tensors(t, tiled, sizeof tiled / sizeof *tiled);
    train_ends(t);
    if (path_system_of(path)->turns) /* an expert's number, and how many rows it has */
        train_host_syncs(t, 2 * plan->model.moe.experts / plan->parallel.ep);
    return STATUS_OK;
}

/* axolotl sums the tiles' gradients of a network in tensors of its own, beside those of the
 * tile at hand; whole gradients that FSDP2 reduces are the sums (tiled_mlp/base.py, TiledMLP).
 */
static void tile_gradients(struct train *t)
{
    const struct plan *plan = t->plan;
    const bool whole = plan->parallel.zero == 0;
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        struct size sum = size_const(t->z, 0);
        if (!t->kinds[k] || kind_ffn(kind) != FFN_DENSE)
            continue;
        for (size_t i = 0; i < n; i++)
            if (matrices[i].segments == IN_DENSE)
                sum = size_add(t->z, sum, train_matrix_elements(t, kind, &matrices[i]));
        uint16_t base = t->base[segment_of_kind(kind)];
        work_buffer(t->work,
                    (struct buffer){.name = "tile_gradients",
                                    .category = CATEGORY_GRADIENTS,
                                    .segment = segment_of_kind(kind),
                                    .dtype = whole ? plan->precision.weights
                                                   : plan->precision.activations,
                                    .n_dims = 1,
                                    .dims = {sum},
                                    .count = size_const(t->z, whole ? 2 : 1),
                                    .life = LIFE_TRANSIENT,
                                    .first = (uint16_t)(base + BACK_EXPERT_DOWN),
                                    .last = (uint16_t)(base + BACK_GATE_UP),
                                    .source = "axolotl monkeypatch/tiled_mlp/base.py"});
    }
}

/* What axolotl's expert parallelism asks of DeepEP (integrations/expert_parallel/args.py,
 * expert_parallel_num_nvl_bytes); its own exchange has no queues. */
static void queues(struct train *t)
{
    const struct plan *plan = t->plan;
    bool deepep = plan->moe.library == LIBRARY_DEEPEP && plan->parallel.ep > 1;
    if (deepep && path_system_of(t->path)->exchange == EXCHANGE_TOKENS && plan_has_moe(plan))
        work_buffer(t->work, (struct buffer){.name = "deepep_nvl_buffer",
                                             .category = CATEGORY_COMMUNICATION,
                                             .segment = SEGMENT_STEP,
                                             .dtype = DTYPE_INT8,
                                             .n_dims = 1,
                                             .dims = {size_const(t->z, 256 << 20)},
                                             .life = LIFE_PERSISTENT,
                                             .outside = true,
                                             .source = "axolotl expert_parallel/args.py"});
}

enum status stack_fsdp_build(const struct plan *plan, struct work *work, struct err *err)
{
    struct train t;
    TRY(build(&t, plan, work, err));
    t.reduces_in = stack_reduces_in(plan);
    train_fsdp2(&t);
    train_whole(&t);
    queues(&t);
    if (plan_mlp_tiles(plan) > 1 && !lora_is_on(plan))
        tile_gradients(&t);
    train_extras(&t);
    step_optimizer(plan, work);
    return STATUS_OK;
}

enum status stack_deepspeed_build(const struct plan *plan, struct work *work, struct err *err)
{
    struct train t;
    TRY(build(&t, plan, work, err));
    train_deepspeed(&t);
    train_extras(&t);
    step_optimizer(plan, work);
    return STATUS_OK;
}

void stack_huggingface_again(const struct plan *plan, struct again *again)
{
    if (plan->recompute.kind == RECOMPUTE_FULL)
        again_all(again, MODULES_ALL);
}
