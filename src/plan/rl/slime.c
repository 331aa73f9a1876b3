/* slime: reinforcement learning on Megatron-LM with SGLang generating. What is planned is the
 * actor's update and the engine's turn on the same devices; the reference waits in host
 * memory. Its flags are Megatron's beside its own. Read at THUDM/slime 002fa9d6bac4
 * (slime/utils/arguments.py), 1cddc5d32ecd (backends/megatron_utils/arguments.py) and
 * 028e29090ec8 (backends/megatron_utils/actor.py). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/framework/frozen_names.h"
#include "plan/framework/megatron.h"
#include "plan/framework/packed.h"
#include "plan/job/rows.h"

#define ARGUMENTS "slime slime/utils/arguments.py"
#define MEGATRON "slime slime/backends/megatron_utils/arguments.py"
#define PROVIDER "slime slime/backends/megatron_utils/model_provider.py"
#define ACTOR "slime slime/backends/megatron_utils/actor.py"
#define FSDP "slime slime/backends/fsdp_utils/arguments.py"
#define LOSS "slime slime/backends/megatron_utils/loss.py"

static const struct job_flag flags[] = {
    RULE("actor-num-nodes", JOB_VALUE, "cluster", "1 unless given", ARGUMENTS),
    RULE("actor-num-gpus-per-node", JOB_VALUE, "cluster", "8 unless given", ARGUMENTS),
    RULE("hf-checkpoint", JOB_VALUE, "model", "by its name, where no size is given", ARGUMENTS),
    RULE("megatron-to-hf-mode", JOB_VALUE, "stack.vocab_multiple",
         "bridge: 1, the model's own vocabulary", PROVIDER),
    RULE("train-backend", JOB_VALUE, "stack", "megatron, fsdp; others are refused", ARGUMENTS),
    RULE("gradient-checkpointing", JOB_SWITCH, "recompute.kind", "of fsdp: full", FSDP),
    RULE("fsdp-cpu-offload", JOB_SWITCH, "optimizer.offload", "1, and the parameters", FSDP),
    RULE("attn-implementation", JOB_VALUE, "stack.attention",
         "of fsdp: eager unfused; flash_attention_2 unless given", FSDP),
    NEITHER("fsdp-cpu-backend", JOB_VALUE, FSDP),
    NEITHER("fsdp-state-dict-cpu-offload", JOB_SWITCH, FSDP),
    RULE("rollout-batch-size", JOB_VALUE, "workload.global_batch",
         "x n-samples-per-prompt / num-steps-per-rollout", ARGUMENTS),
    RULE("n-samples-per-prompt", JOB_VALUE, "workload.global_batch", "1 unless given",
         ARGUMENTS),
    RULE("num-steps-per-rollout", JOB_VALUE, "workload.global_batch",
         "where global-batch-size is not given", ARGUMENTS),
    RULE("use-dynamic-batch-size", JOB_SWITCH, "workload.micro_batch",
         "1 of max-tokens-per-gpu x cp tokens, or of the longest sample", ARGUMENTS),
    RULE("max-tokens-per-gpu", JOB_VALUE, "workload.sequence_length",
         "with use-dynamic-batch-size", ARGUMENTS),
    RULE("rollout-max-response-len", JOB_VALUE, "workload.sequence_length",
         "and the prompt; with use-dynamic-batch-size workload.packing.length", ARGUMENTS),
    RULE("rollout-max-prompt-len", JOB_VALUE, "workload.sequence_length", "with the response",
         ARGUMENTS),
    RULE("rollout-max-context-len", JOB_VALUE, "workload.sequence_length",
         "prompt and response together", ARGUMENTS),
    RULE("use-lora", JOB_SWITCH, "lora.rank", "with lora-rank", ARGUMENTS),
    RULE("lora-rank", JOB_VALUE, "lora.rank", "32 unless given", ARGUMENTS),
    RULE("lora-target-preset", JOB_VALUE, "lora.targets",
         "moe_language_all: attention and experts; others: attention", ARGUMENTS),
    RULE("colocate", JOB_SWITCH, "workload.colocated.engine",
         "asleep, and the trainer waits in host memory while it generates", ARGUMENTS),
    RULE("offload", JOB_SWITCH, "workload.colocated.away", "what colocate is", ARGUMENTS),
    RULE("offload-train", JOB_SWITCH, "workload.colocated.away",
         "weights and states; on with colocate, buffers of gradients are freed", ARGUMENTS),
    RULE("offload-rollout", JOB_SWITCH, "workload.colocated.engine", "asleep; on with colocate",
         ARGUMENTS),
    RULE("rollout-num-gpus-per-engine", JOB_VALUE, "workload.colocated.tp", "with colocate",
         ARGUMENTS),
    RULE("sglang-mem-fraction-static", JOB_VALUE, "workload.colocated.fraction",
         "with colocate", ARGUMENTS),
    IDLE("use-kl-loss", JOB_SWITCH,
         "the reference's weights wait in host memory and take the actor's place for a pass",
         ACTOR),
    IDLE("ref-load", JOB_VALUE, "the reference waits in host memory", ACTOR),
    IDLE("advantage-estimator", JOB_VALUE,
         "a critic (ppo) is a trainer of its own that takes turns with the actor", ARGUMENTS),
    IDLE("recompute-loss-function", JOB_SWITCH,
         "f32 logits wait in place of their softmax: as many bytes", LOSS),
    IDLE("log-probs-chunk-size", JOB_VALUE,
         "every part's softmax waits for backward, all of them as much as one", LOSS),
    RULE(
        "entropy-coef", JOB_VALUE, "stack.cross_entropy",
        "log_softmax where it is not 0: f32 logits wait, too, and have a gradient of their own",
        LOSS),
    RULE("rollout-temperature", JOB_VALUE, "stack.cross_entropy",
         "log_softmax where it is not 1: divided logits beside the others", LOSS),
    RULE("only-train-params-name-list", JOB_LIST, "frozen.modules",
         "parts none of whose names is found", ARGUMENTS),
    RULE("freeze-params-name-list", JOB_LIST, "frozen.modules", "parts whose names are found",
         ARGUMENTS),
    IDLE("overlap-cpu-optimizer-d2h-h2d", JOB_SWITCH, "what moves is the same", MEGATRON),
    IDLE("enable-mtp-training", JOB_SWITCH, "with mtp-num-layers", ARGUMENTS),
    NEITHER("rollout-num-gpus", JOB_VALUE, ARGUMENTS),
    NEITHER("num-gpus-per-node", JOB_VALUE, ARGUMENTS),
    NEITHER("sglang-cuda-graph-bs", JOB_LIST, ARGUMENTS),
    NEITHER("sglang-server-concurrency", JOB_VALUE, ARGUMENTS),
    NEITHER("num-rollout", JOB_VALUE, ARGUMENTS),
    NEITHER("prompt-data", JOB_VALUE, ARGUMENTS),
    NEITHER("input-key", JOB_VALUE, ARGUMENTS),
    NEITHER("label-key", JOB_VALUE, ARGUMENTS),
    NEITHER("rm-type", JOB_VALUE, ARGUMENTS),
    NEITHER("balance-data", JOB_SWITCH, ARGUMENTS),
    NEITHER("eval-prompt-data", JOB_LIST, ARGUMENTS),
    NEITHER("kl-loss-coef", JOB_VALUE, ARGUMENTS),
    NEITHER("kl-loss-type", JOB_VALUE, ARGUMENTS),
    NEITHER("eps-clip", JOB_VALUE, ARGUMENTS),
    NEITHER("eps-clip-high", JOB_VALUE, ARGUMENTS),
    NEITHER("lora-alpha", JOB_VALUE, ARGUMENTS),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

static const struct job_framework *const shares[] = {&job_megatron, NULL};

/* The same job on FSDP2. */
static const struct job_framework on_fsdp;

static const char backend_flag[] = "train-backend";

/* What slime sets whatever Megatron's defaults are (arguments.py, set_default_megatron_args and
 * validate_args). */
static enum status slime_prepare(struct job *job)
{
    const char *backend = "megatron";
    TRY(job_read_size(job, "actor-num-nodes", "actor-num-gpus-per-node"));
    job_assume(job, "micro-batch-size", "1", "micro_batch_size: 1");
    TRY(job_word(job, backend_flag, &backend));
    if (text_equal(backend, "fsdp"))
        job->framework = &on_fsdp;
    if (text_equal(backend, "fsdp"))
        return job->err->status;
    job_assume(job, "use-distributed-optimizer", "true", "use_distributed_optimizer: true");
    if (!job_given(job, "fp16"))
        job_assume(job, "bf16", "true", "bf16 unless fp16");
    job_assume(job, "moe-token-dispatcher-type", "alltoall", "alltoall in place of allgather");
    return job->err->status;
}

/* ---- the model ---- */

static enum status read_model(struct job *job)
{
    static const char flag[] = "hf-checkpoint";
    const char *path = NULL;
    TRY(job_path(job, flag, &path));
    if (!path || draft_find(&job->draft, "model") || job_given(job, "num-layers"))
        return STATUS_OK;
    const char *model = model_name_of_path(path, job->arena);
    if (model) {
        job_set(job, "model", model, flag);
        return STATUS_OK;
    }
    job_fail(job, flag, "the model of '%s' is not known", path);
    return err_hint(job->err, "name it, as in --set model=qwen3-30b-a3b, or give its sizes "
                              "(--num-layers ..) in the script itself");
}

/* ---- the batch ---- */

/* The longest sample: the context, or prompt and response; 0: it is not said. */
static enum status longest(struct job *job, uint64_t *length)
{
    uint64_t context = 0, prompt = 0, response = 0;
    bool overflow = false;
    TRY(job_count(job, "rollout-max-context-len", &context));
    TRY(job_count(job, "rollout-max-prompt-len", &prompt));
    TRY(job_count(job, "rollout-max-response-len", &response));
    *length = context ? context : checked_add(prompt, response, &overflow);
    return STATUS_OK;
}

/* Samples of a step: Megatron's flag, or a rollout's part (arguments.py). */
static enum status read_samples(struct job *job)
{
    static const char steps_flag[] = "num-steps-per-rollout";
    uint64_t prompts = 0, samples = 1, steps = 0;
    bool overflow = false;
    TRY(job_count(job, "rollout-batch-size", &prompts));
    TRY(job_count(job, "n-samples-per-prompt", &samples));
    TRY(job_count(job, steps_flag, &steps));
    if (steps && prompts && !job_given(job, "global-batch-size"))
        job_set_count(job, "workload.global_batch",
                      checked_mul(prompts, samples, &overflow) / steps, steps_flag);
    return STATUS_OK;
}

static enum status read_batch(struct job *job)
{
    static const char most_flag[] = "max-tokens-per-gpu",
                      length_flags[] = "rollout-max-context-len rollout-max-response-len";
    uint64_t most = 0, length = 0, cp = job_drafted(job, "parallel.cp", 1);
    bool dynamic = false, overflow = false;
    TRY(read_samples(job));
    TRY(job_switch(job, "use-dynamic-batch-size", &dynamic));
    TRY(job_count(job, most_flag, &most));
    TRY(longest(job, &length));
    if (dynamic && !most)
        return job_fail(job, "use-dynamic-batch-size", "it needs --max-tokens-per-gpu");
    if (dynamic)
        return packed_set(job,
                          &(struct packed_batch){
                              .most = checked_mul(most, cp, &overflow),
                              .longest = length,
                              .sequences = job_drafted(job, "workload.global_batch", 0),
                              .switch_flags = "use-dynamic-batch-size",
                              .most_flags = most_flag,
                              .longest_flags = length_flags,
                              .sequences_flags = "global-batch-size num-steps-per-rollout"});
    if (length && !job_given(job, "seq-length"))
        job_set_count(job, "workload.sequence_length", length, length_flags);
    return STATUS_OK;
}

/* ---- adapters ---- */

static enum status read_adapter(struct job *job)
{
    static const char *const all[] = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};
    static const char preset_flag[] = "lora-target-preset";
    const char *preset = "moe_language_all";
    bool used = false;
    uint64_t rank = 32;
    TRY(job_switch(job, "use-lora", &used));
    TRY(job_count(job, "lora-rank", &rank));
    TRY(job_word(job, preset_flag, &preset));
    if (!used)
        return STATUS_OK;
    bool experts = text_equal(preset, "moe_language_all");
    job_set_count(job, "lora.rank", rank, "lora-rank use-lora");
    job_set_list(job, "lora.targets", all, experts ? 4 : 2, preset_flag);
    if (!experts)
        job_warn(job, job_setting(job, preset_flag)->mark,
                 "which matrices '%s' names matters to memory: attention's stand in", preset);
    return bridge_set_adapters(job);
}

/* ---- the engine ---- */

/* The engine begins with the checkpoint, in its own format, and gets updates in it
 * (docs/en/advanced/low-precision.md). */
static enum status set_format(struct job *job)
{
    static const char *const formats[] = {"int4", "INT4", "fp4", "FP4"};
    static const char flag[] = "hf-checkpoint";
    const char *path = NULL;
    TRY(job_path(job, flag, &path));
    if (path && (strstr(path, "fp8") || strstr(path, "FP8")))
        job_set(job, "workload.colocated.weights", "fp8_block", flag);
    for (size_t i = 0; path && i < sizeof formats / sizeof *formats; i++)
        if (strstr(path, formats[i])) {
            job_warn(job, job_setting(job, flag)->mark,
                     "the engine's weights are those of the checkpoint, in %s, and are planned "
                     "in 16 bits, which matters to memory while it generates",
                     formats[i]);
            break;
        }
    return STATUS_OK;
}

/* Both give way to each other where they share devices, unless told (validate_args); weights
 * for the engine come of a copy in host memory, so they may be less at its start than planned.
 */
static enum status read_engine(struct job *job)
{
    static const char train_flag[] = "offload-train", rollout_flag[] = "offload-rollout";
    struct away away = {0};
    struct engine_beside engine = {
        .sleeps = true,
        .tp = 1,
        .fraction = 0.8,
        .sleep_flags = "colocate offload-rollout",
        .tp_flag = "rollout-num-gpus-per-engine",
        .fraction_flag = "sglang-mem-fraction-static",
    };
    bool beside = false, trainer = true;
    TRY(job_switch(job, "colocate", &beside));
    TRY(job_switch(job, train_flag, &trainer));
    TRY(job_switch(job, rollout_flag, &engine.sleeps));
    TRY(colocated_read(job, &engine));
    if (!beside)
        return STATUS_OK;
    TRY(set_format(job));
    if (!job_given(job, engine.fraction_flag))
        job_warn(job, job_place(job),
                 "no flag gives %s, which matters to memory while the engine generates: %g is "
                 "planned, SGLang has a formula of its own",
                 engine.fraction_flag, engine.fraction);
    if (trainer)
        engine.weights_flag = engine.states_flag = "colocate";
    colocated_set(job, &engine, &away);
    away_set(job, &away);
    return STATUS_OK;
}

/* ---- what is trained ---- */

struct lists {
    struct frozen_words only, frozen;
};

/* Expressions that are searched for in a name (model_provider.py, freeze_model_params). */
static bool trains(const void *with, const struct frozen_name *name)
{
    const struct lists *lists = with;
    bool chosen = !lists->only.n || frozen_meets(&lists->only, name);
    return chosen && !frozen_meets(&lists->frozen, name);
}

static enum status read_frozen(struct job *job)
{
    static const char deciding[] = "only-train-params-name-list freeze-params-name-list";
    const struct lists lists = {
        frozen_words_of(job, "only-train-params-name-list", MEET_SEARCHES),
        frozen_words_of(job, "freeze-params-name-list", MEET_SEARCHES),
    };
    if (draft_find(&job->draft, "lora.rank") || lists.only.n + lists.frozen.n == 0)
        return STATUS_OK;
    TRY(frozen_set(job, FROZEN_MEGATRON, trains, &lists, deciding, NULL));
    if (draft_find(&job->draft, "frozen.layers") && job_drafted(job, "parallel.pp", 1) > 1)
        job_warn(job, job_place(job),
                 "names count the layers of each stage, which matters to memory: the "
                 "model's first layers are planned as frozen");
    return STATUS_OK;
}

/* Log-probabilities of all rows: eight bytes a logit, or twelve, which is what log_softmax
 * holds, too (loss.py at 2fc48831501c; utils/ppo_utils.py, _VocabParallelLogProbEntropy). */
static enum status read_loss(struct job *job)
{
    static const char entropy_flag[] = "entropy-coef", heat_flag[] = "rollout-temperature";
    double entropy = 0, heat = 1;
    TRY(job_real(job, entropy_flag, &entropy));
    TRY(job_real(job, heat_flag, &heat));
    const bool more = fabs(entropy) > 0 || fabs(heat - 1) > 0;
    job_set(job, "stack.cross_entropy", more ? "log_softmax" : "log_probs",
            fabs(entropy) > 0 ? entropy_flag : heat_flag);
    return STATUS_OK;
}

/* ---- on FSDP2 ---- */

/* Loaded as from_pretrained does without a format, gathered in 16 bits and reduced in f32, by
 * torch's AdamW (actor.py, apply_fsdp2); another release of transformers loads 16 bits. */
static enum status set_sharded(struct job *job)
{
    static const char *const f32[] = {"precision.weights", "precision.gradients",
                                      "precision.moments"};
    bool half = false;
    TRY(job_switch(job, "fp16", &half));
    job_set(job, "stack", "fsdp", backend_flag);
    job_set(job, "parallel.zero", "3", backend_flag);
    job_set(job, "parallel.reshard", "always", backend_flag);
    job_set(job, "precision.accumulated", "none", ""); /* actor.py, _train_step */
    for (size_t i = 0; i < sizeof f32 / sizeof *f32; i++)
        job_set(job, f32[i], "f32", "");
    job_set(job, "precision.master", "none", "");
    job_set(job, "precision.compute", half ? "f16" : "bf16", "fp16");
    job_set_rows(job, half ? "f16" : "bf16", "fp16");
    job_set(job, "optimizer.step", "foreach", "");
    if (!job_requested(job, "precision.weights"))
        job_warn(job, job_setting(job, backend_flag)->mark,
                 "no flag gives the format of weights, which matters to memory: float32 is "
                 "planned, transformers' before its release 5; since, it is the checkpoint's: "
                 "--set precision.weights=bf16");
    return STATUS_OK;
}

static enum status finish_fsdp(struct job *job)
{
    static const char again_flag[] = "gradient-checkpointing",
                      moved_flag[] = "fsdp-cpu-offload",
                      attention_flag[] = "attn-implementation";
    bool again = false, moved = false;
    const char *attention = "flash_attention_2";
    TRY(job_switch(job, again_flag, &again));
    TRY(job_switch(job, moved_flag, &moved));
    TRY(job_word(job, attention_flag, &attention));
    job_set(job, "workload.mode", "train", "");
    job_set(job, "recompute.kind", again ? "full" : "none", again_flag);
    if (moved) {
        job_set(job, "optimizer.offload", "1", moved_flag);
        job_set(job, "optimizer.offload_params", "true", moved_flag);
    }
    if (text_equal(attention, "eager"))
        job_set(job, "stack.attention", "unfused", attention_flag);
    TRY(set_sharded(job));
    TRY(read_batch(job));
    TRY(read_loss(job));
    return read_engine(job);
}

/* The model as Megatron-Bridge makes it of its configuration (model_provider.py). */
static enum status read_bridge(struct job *job)
{
    const char *mode = "raw";
    TRY(job_word(job, "megatron-to-hf-mode", &mode));
    if (text_equal(mode, "bridge"))
        megatron_keep_vocabulary(job);
    return STATUS_OK;
}

static enum status slime_finish(struct job *job)
{
    const char *backend = "megatron";
    TRY(job_word(job, backend_flag, &backend));
    if (job->framework == &on_fsdp) {
        TRY(read_model(job));
        return finish_fsdp(job);
    }
    if (!text_equal(backend, "megatron"))
        return job_fail(job, backend_flag,
                        "slime's trainer '%s' is not read: megatron and fsdp are", backend);
    TRY(read_model(job));
    TRY(megatron_finish(job));
    TRY(read_bridge(job));
    if (job_drafted(job, "model.mtp_layers", 0)) /* of a model by its name, too */
        job_set(job, "model.mtp_enabled", "true", "mtp-num-layers");
    TRY(read_batch(job)); /* whose micro-batches the layout has a say in */
    TRY(read_loss(job));
    TRY(read_engine(job));
    TRY(read_adapter(job));
    return read_frozen(job);
}

#define SLIME                                                                                  \
    .name = "slime", .title = "a slime job, its actor's update",                               \
    .source = "THUDM/slime 002fa9d6bac4", .syntax = JOB_DASHES, .flags = flags,                \
    .n_flags = &n_flags, .shares = shares, .prepare = slime_prepare, .finish = slime_finish,   \
    .names = NAMES_HUB, .trains = true

const struct job_framework job_slime = {SLIME, .stack = "megatron"};

static const struct job_framework on_fsdp = {SLIME, .stack = "fsdp"};
