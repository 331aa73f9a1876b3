/* LLaMA-Factory: a YAML file or flags around HuggingFace's Trainer, on FSDP, DeepSpeed or
 * neither. Read at hiyouga/LLaMA-Factory 00577a85775a (hparams) and 01d87b8267b9
 * (model/adapter.py). */
#include <inttypes.h>

#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/framework/frozen_names.h"
#include "plan/trainer/llamafactory.h"

#define MODEL "llamafactory src/llamafactory/hparams/model_args.py"
#define TUNING "llamafactory src/llamafactory/hparams/finetuning_args.py"
#define DATA "llamafactory src/llamafactory/hparams/data_args.py"
#define ADAPTER "llamafactory src/llamafactory/model/adapter.py"
#define CHECKPOINTING "llamafactory src/llamafactory/model/model_utils/checkpointing.py"
#define QUANTISED "llamafactory src/llamafactory/model/model_utils/quantization.py"

#define UNSLOTH "llamafactory src/llamafactory/model/model_utils/unsloth.py"

static const struct job_flag flags[] = {
    RULE("stage", JOB_VALUE, "workload.micro_batch",
         "pt, sft: as it is; dpo: both answers, and a reference; kto: a reference; others warn",
         TUNING),
    RULE("finetuning_type", JOB_VALUE, "lora.rank",
         "lora, which holds unless given; full; others warn", TUNING),
    RULE("lora_rank lora_r", JOB_VALUE, "lora.rank", "8 unless given", TUNING),
    RULE("lora_target lora_target_modules", JOB_LIST, "lora.targets",
         "by name, with commas; all, which holds unless given", TUNING),
    DIRECT("cutoff_len max_seq_length", JOB_VALUE, "workload.sequence_length", NULL, "2048",
           DATA),
    RULE("disable_gradient_checkpointing", JOB_SWITCH, "recompute.kind", "full unless given",
         MODEL),
    RULE("use_unsloth_gc", JOB_SWITCH, "recompute.offload",
         "layer_input: the inputs of layers wait in host memory", MODEL),
    RULE("enable_liger_kernel use_liger_kernel", JOB_SWITCH, "stack.cross_entropy",
         "fused, but for pt and preferences", MODEL),
    RULE("quantization_bit", JOB_VALUE, "precision.weights",
         "of the frozen base, 4: nf4_double, 8: fp8_channel", QUANTISED),
    RULE("double_quantization", JOB_SWITCH, "precision.weights", "false: nf4", QUANTISED),
    RULE("quantization_method", JOB_VALUE, "precision.weights",
         "bnb unless given; hqq 4: nf4; eetq 8: fp8_channel; others warn", QUANTISED),
    NEITHER("quantization_type", JOB_VALUE, QUANTISED),
    RULE("pure_bf16", JOB_SWITCH, "precision.weights",
         "bf16 all; otherwise what is trained is f32 where nothing shares it out", ADAPTER),
    RULE("use_muon", JOB_SWITCH, "optimizer.kind", "muon", TUNING),
    RULE("use_galore", JOB_SWITCH, "optimizer.kind", "galore", TUNING),
    RULE("galore_rank apollo_rank", JOB_VALUE, "optimizer.rank", "16 unless given", TUNING),
    RULE("galore_target apollo_target", JOB_LIST, "optimizer.projected",
         "by name, with commas; all unless given", TUNING),
    RULE("galore_layerwise apollo_layerwise", JOB_SWITCH, "optimizer.in_backward",
         "on one device: a gradient goes as soon as it is there", TUNING),
    RULE("use_apollo", JOB_SWITCH, "optimizer.kind", "apollo", TUNING),
    RULE("use_badam", JOB_SWITCH, "optimizer.one_layer",
         "with badam_mode layer; ratio is a warning", TUNING),
    RULE("badam_mode", JOB_VALUE, "optimizer.one_layer", "layer unless given", TUNING),
    NEITHER("badam_start_block", JOB_VALUE, TUNING),
    NEITHER("badam_switch_mode", JOB_VALUE, TUNING),
    NEITHER("badam_switch_interval", JOB_VALUE, TUNING),
    NEITHER("badam_update_ratio", JOB_VALUE, TUNING),
    NEITHER("badam_mask_mode", JOB_VALUE, TUNING),
    NEITHER("badam_verbose", JOB_VALUE, TUNING),
    RULE("use_adam_mini", JOB_SWITCH, "optimizer.kind", "adam_mini, its moments in f32",
         TUNING),
    RULE("use_dora", JOB_SWITCH, "lora.dora", "with adapters", TUNING),
    RULE("use_unsloth", JOB_SWITCH, "stack.cross_entropy",
         "chunked, of texts; recompute.offload layer_input on one device", UNSLOTH),
    MEMORY("use_kt", JOB_SWITCH, NULL,
           "KTransformers keeps experts in host memory: all are on the device here", MODEL),
    LLAMAFACTORY_MCA_ROWS,
    RULE("ray_num_workers", JOB_VALUE, "cluster", "ranks, with USE_RAY=1", TUNING),
    RULE("additional_target lora_modules_to_save", JOB_LIST, "lora.modules_to_save",
         "embed_tokens, lm_head; others warn", TUNING),
    MEMORY("mixture_of_depths", JOB_VALUE, NULL, NULL, MODEL),
    IDLE("upcast_lmhead_output", JOB_SWITCH,
         "f32 logits take the place of those that the loss would make, and the 16-bit ones go: "
         "they are counted all the same",
         CHECKPOINTING),
    MEMORY("shift_attn", JOB_SWITCH, NULL, "attention is of whole sequences here", MODEL),
    RULE("use_asft_loss", JOB_SWITCH, "workload.colocated.reference",
         "1, unless adapters are trained; copies of logits for the divergence warn", TUNING),
    TIME("fp8", JOB_SWITCH, NULL, "products stay in the activations' format here", MODEL),
    NEITHER("fp8_backend", JOB_VALUE, MODEL),
    RULE("deepspeed", JOB_VALUE, NULL, "its file, or one that LLaMA-Factory brings along",
         TUNING),
    RULE("freeze_trainable_layers", JOB_VALUE, "frozen.layers",
         "of freeze: all but so many last ones, -n first ones; 2 unless given", TUNING),
    RULE("freeze_trainable_modules", JOB_LIST, "frozen.modules",
         "the others, by name, with commas; all unless given", TUNING),
    RULE("freeze_extra_modules", JOB_LIST, "frozen.modules",
         "embed_tokens, lm_head, which are frozen otherwise", TUNING),
    RULE("freeze_vision_tower", JOB_VALUE, "workload.encoder.train",
         "of a vision model, on unless turned off; off: all, of adapters lora.encoder", TUNING),
    RULE("freeze_multi_modal_projector", JOB_VALUE, "workload.encoder.train",
         "on unless turned off: none; off: projector", TUNING),
    RULE("freeze_language_model", JOB_VALUE, "frozen.modules",
         "of a vision model without adapters: all of it", TUNING),
    RULE("train_mm_proj_only", JOB_VALUE, "frozen.modules",
         "the projector alone, of older releases", TUNING),
    RULE("use_llama_pro", JOB_SWITCH, "frozen.layers",
         "of freeze: the last of every so many layers are trained", TUNING),
    NEITHER("pref_beta", JOB_VALUE, TUNING),
    NEITHER("pref_loss", JOB_VALUE, TUNING),
    NEITHER("upcast_layernorm", JOB_SWITCH, MODEL),
    NEITHER("use_reentrant_gc", JOB_SWITCH, MODEL),
    NEITHER("trust_remote_code", JOB_SWITCH, MODEL),
    RULE("moe_aux_loss_coef", JOB_VALUE, "stack.balance_loss", "above 0: masked", MODEL),
    NEITHER("rope_scaling", JOB_VALUE, MODEL),
    NEITHER("loraplus_lr_ratio", JOB_VALUE, TUNING),
    NEITHER("template", JOB_VALUE, DATA),
    NEITHER("dataset", JOB_VALUE, DATA),
    NEITHER("dataset_dir", JOB_VALUE, DATA),
    NEITHER("eval_dataset", JOB_VALUE, DATA),
    NEITHER("max_samples", JOB_VALUE, DATA),
    NEITHER("overwrite_cache", JOB_SWITCH, DATA),
    NEITHER("preprocessing_num_workers", JOB_VALUE, DATA),
    NEITHER("val_size", JOB_VALUE, DATA),
    RULE("do_train", JOB_SWITCH, NULL, "not beside infer_backend and do_predict: refused",
         TUNING),
    RULE("infer_backend", JOB_VALUE, NULL, "alone: a job that serves, refused", MODEL),
    RULE("do_predict", JOB_SWITCH, NULL, "alone: a job that trains nothing, refused", TUNING),
    NEITHER("plot_loss", JOB_SWITCH, TUNING),
    NEITHER("ddp_timeout", JOB_VALUE, TUNING),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

/* Those of its folder examples/deepspeed that matter. */
#define STAGE2 "stage: 2, reduce_bucket_size: 5e8"
#define STAGE3                                                                                 \
    "stage: 3, sub_group_size: 1e9, reduce_bucket_size: auto, stage3_prefetch_bucket_size: "   \
    "auto, stage3_max_live_parameters: 1e9"
#define HALF "bf16: {enabled: auto}, fp16: {enabled: auto}"
#define TO_HOST "offload_optimizer: {device: cpu}"
static const struct trainer_file files[] = {
    {"ds_z0_config.json", "{zero_optimization: {stage: 0, reduce_bucket_size: 5e8}, " HALF "}"},
    {"ds_z2_config.json", "{zero_optimization: {" STAGE2 "}, " HALF "}"},
    {"ds_z2_autotp_config.json",
     "{zero_optimization: {" STAGE2 "}, tensor_parallel: {autotp_size: 2}, " HALF "}"},
    {"ds_z2_offload_config.json", "{zero_optimization: {" STAGE2 ", " TO_HOST "}, " HALF "}"},
    {"ds_z3_config.json", "{zero_optimization: {" STAGE3 "}, " HALF "}"},
    {"ds_z3_offload_config.json",
     "{zero_optimization: {" STAGE3 ", " TO_HOST ", offload_param: {device: cpu}}, " HALF "}"},
    {NULL, NULL}};

/* Ray's workers are the ranks (train/tuner.py), where nothing else says how many there are. */
static enum status llamafactory_prepare(struct job *job)
{
    uint64_t workers = 0;
    bool megatron;
    TRY(llamafactory_mca_take(job, &megatron));
    if (megatron)
        return STATUS_OK;
    TRY(trainer_read_files(job, files));
    TRY(job_count(job, "ray_num_workers", &workers));
    if (workers && !job->size.world && !job->size.per_node)
        job->size.world = workers;
    return STATUS_OK;
}

/* ---- in the trainer's words ---- */

/* Whether adapters alone are trained, or a part of the weights. */
static enum status tell_adapter(struct job *job, bool *adapters, bool *freezes)
{
    static const char flag[] = "finetuning_type";
    const char *type = "lora";
    TRY(job_word(job, flag, &type));
    *adapters = text_equal(type, "lora");
    *freezes = text_equal(type, "freeze");
    if (*adapters) {
        job_assume(job, "use_peft", "true", "finetuning_type: lora, finetuning_args.py");
        job_assume(job, "lora_r", "8", "lora_rank: 8, finetuning_args.py");
        return job->err->status;
    }
    if (!text_equal(type, "full") && !*freezes)
        job_warn(job, job_setting(job, flag)->mark,
                 "finetuning_type '%s' matters to memory and is not modelled: every weight is "
                 "trained here",
                 type);
    return STATUS_OK;
}

/* What is trained is raised to f32 unless a sharer does it, or pure_bf16 forbids
 * (adapter.py, init_adapter). */
static enum status tell_formats(struct job *job, bool adapters)
{
    bool pure = false, fp16 = false, turns = false;
    TRY(job_switch(job, "pure_bf16", &pure));
    TRY(job_switch(job, "use_badam", &turns));
    pure = pure || turns;
    TRY(job_switch(job, "fp16", &fp16));
    bool raised = !adapters && !pure && trainer_sharer(job) == TRAINER_WHOLE;
    job_assume(job, "torch_dtype",
               raised ? "float32"
               : fp16 ? "float16"
                      : "bfloat16",
               raised ? "trained weights in f32, adapter.py" : "the base's format, patcher.py");
    return job->err->status;
}

static enum status tell_base(struct job *job)
{
    static const char flag[] = "quantization_bit", method_flag[] = "quantization_method";
    const char *method = "bnb";
    uint64_t bits = 0;
    bool twice = true;
    TRY(job_count(job, flag, &bits));
    TRY(job_switch(job, "double_quantization", &twice));
    TRY(job_word(job, method_flag, &method));
    if (bits && !trainer_method_is_known(method, bits))
        job_warn(job, job_setting(job, method_flag)->mark,
                 "quantization_method '%s' of %" PRIu64 " bits matters to memory and is not "
                 "modelled: bitsandbytes stands in",
                 method, bits);
    return trainer_tell_bits(job, flag, bits, twice && text_equal(method, "bnb"));
}

/* use_galore and use_apollo in the trainer's words (trainer_utils.py). */
static enum status tell_projections(struct job *job)
{
    static const struct {
        const char *used, *name, *layerwise;
    } kinds[] = {{"use_galore", "galore_adamw", "galore_adamw_layerwise"},
                 {"use_apollo", "apollo_adamw", "apollo_adamw_layerwise"}};
    const char *rank = "16", *words[PLAN_NAMES], *joined = "";
    bool layerwise = false;
    size_t n = trainer_words(job, "galore_target", words);
    TRY(job_word(job, "galore_rank", &rank));
    TRY(job_switch(job, "galore_layerwise", &layerwise));
    for (size_t i = 0; i < n; i++)
        joined = arena_printf(job->arena, "%s%s%s", joined, i ? "|" : "", words[i]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool used = false;
        TRY(job_switch(job, kinds[i].used, &used));
        if (!used)
            continue;
        job_retell(job, kinds[i].used, "optim", layerwise ? kinds[i].layerwise : kinds[i].name);
        job_retell(job, kinds[i].used, "optim_args", arena_printf(job->arena, "rank=%s", rank));
        job_retell(job, kinds[i].used, "optim_target_modules",
                   n == 0 || text_starts(joined, "all")
                       ? "all-linear"
                       : arena_printf(job->arena, ".*(%s)", joined));
    }
    return job->err->status;
}

static enum status tell_rest(struct job *job)
{
    bool plain = false, muon = false;
    TRY(job_switch(job, "disable_gradient_checkpointing", &plain));
    TRY(job_switch(job, "use_muon", &muon));
    if (!plain)
        job_assume(job, "gradient_checkpointing", "true",
                   "disable_gradient_checkpointing: false, model_args.py");
    if (muon)
        job_retell(job, "use_muon", "optim", "muon");
    TRY(tell_projections(job));
    job_assume(job, "optim", "adamw_torch_fused", "optim: adamw_torch_fused, transformers");
    job_assume(job, "per_device_train_batch_size", "8",
               "per_device_train_batch_size: 8, transformers");
    return job->err->status;
}

/* BAdam's layer by layer: copies of a layer in f32 take its gradients and have states
 * (badam/block_optim.py 163329d7, _switch_trainable_params_single_gpu). */
static enum status set_turns(struct job *job, bool adapters)
{
    static const char flag[] = "use_badam";
    bool used = false;
    const char *mode = "layer";
    TRY(job_switch(job, flag, &used));
    TRY(job_word(job, "badam_mode", &mode));
    if (!used)
        return STATUS_OK;
    if (adapters || !text_equal(mode, "layer")) {
        job_warn(job, job_setting(job, flag)->mark,
                 "BAdam %s matters to memory and is not modelled: Adam's states of all that is "
                 "trained stand in",
                 adapters ? "of adapters" : "that masks gradients");
        return STATUS_OK;
    }
    job_set(job, "optimizer.one_layer", "true", flag);
    job_set(job, "precision.master", "f32", flag);
    job_set(job, "precision.moments", "f32", flag);
    return STATUS_OK;
}

/* Moments in f32 whatever the weights are (adam_mini/adam_mini.py). */
static enum status set_mini(struct job *job)
{
    static const char flag[] = "use_adam_mini";
    bool used = false;
    TRY(job_switch(job, flag, &used));
    if (used) {
        job_set(job, "optimizer.kind", "adam_mini", flag);
        job_set(job, "precision.moments", "f32", flag);
    }
    return job->err->status;
}

/* train/sft/workflow.py: create_ref_model; trainer_utils.py, asft_loss_func: the logits in f32,
 * shifted, and the reference's beside them. */
static enum status set_divergence(struct job *job)
{
    static const char flag[] = "use_asft_loss";
    bool used = false;
    TRY(job_switch(job, flag, &used));
    if (!used)
        return STATUS_OK;
    colocated_set_reference(job, flag, 1);
    job_warn(job, job_setting(job, flag)->mark,
             "the divergence's own copies of logits matter to memory and are not modelled: "
             "those of cross entropy stand in");
    return STATUS_OK;
}

static enum status set_stage(struct job *job)
{
    const char *stage = "sft";
    TRY(job_word(job, "stage", &stage));
    TRY(set_divergence(job));
    if (text_equal(stage, "dpo"))
        colocated_set_pairs(job, "stage", true);
    else if (text_equal(stage, "kto")) /* train/kto/trainer.py: no pairs */
        colocated_set_reference(job, "stage", COLOCATED_KTO_PASSES);
    else if (!text_equal(stage, "sft") && !text_equal(stage, "pt"))
        job_warn(job, job_setting(job, "stage")->mark,
                 "what stage '%s' holds beside the model matters to memory and is not "
                 "modelled: supervised training is planned",
                 stage);
    return STATUS_OK;
}

/* model/model_utils/unsloth.py: its layers, run again. */
static enum status set_unsloth(struct job *job, bool adapters)
{
    static const char flag[] = "use_unsloth";
    const char *stage = "sft";
    bool used = false;
    TRY(job_switch(job, flag, &used));
    TRY(job_word(job, "stage", &stage));
    bool texts = text_equal(stage, "sft") || text_equal(stage, "pt");
    return used ? unsloth_set_kernels(job, !adapters, texts, flag) : STATUS_OK;
}

/* llamafactory-cli chat, api and a prediction take such files, too. */
static enum status refuse_inference(struct job *job)
{
    static const char serves[] = "infer_backend", predicts[] = "do_predict";
    bool train = false, predict = false;
    TRY(job_switch(job, "do_train", &train));
    TRY(job_switch(job, predicts, &predict));
    if (train || (!predict && !job_given(job, serves)))
        return STATUS_OK;
    job_fail(job, predict ? predicts : serves,
             "'%s' without do_train: the job runs the model and does not train it",
             predict ? predicts : serves);
    return err_hint(job->err, "give the launch of the engine, as in vllm serve MODEL, or set "
                              "do_train: true");
}

/* ---- what is trained of freeze ---- */

struct chosen {
    struct arena *arena;
    bool language;               /* no weight of the language model is */
    uint64_t first, end, stride; /* layers */
    const char *modules[PLAN_NAMES], *extra[PLAN_NAMES];
    size_t n_modules, n_extra;
};

static bool trains_module(const struct chosen *c, const struct frozen_name *name)
{
    if (name->layer < c->first || name->layer >= c->end ||
        (name->layer - c->first) % c->stride != 0)
        return false;
    for (size_t i = 0; i < c->n_modules; i++) {
        bool all = text_equal(c->modules[i], "all");
        const char *part =
            arena_printf(c->arena, ".%" PRIu64 ".%s", name->layer, all ? "" : c->modules[i]);
        const struct frozen_words words = {&part, 1, MEET_HOLDS};
        if (frozen_meets(&words, name))
            return true;
    }
    return false;
}

/* adapter.py, _setup_freeze_tuning. */
static bool trains(const void *with, const struct frozen_name *name)
{
    const struct chosen *c = with;
    const struct frozen_words extra = {c->extra, c->n_extra, MEET_HOLDS};
    if (c->language)
        return false;
    return frozen_meets(&extra, name) ||
           (name->layer != FROZEN_NO_LAYER && trains_module(c, name));
}

static enum status choose_layers(struct job *job, uint64_t layers, struct chosen *c)
{
    static const char flag[] = "freeze_trainable_layers";
    int64_t n = 2;
    bool spread = false;
    TRY(job_integer(job, flag, &n));
    TRY(job_switch(job, "use_llama_pro", &spread));
    uint64_t most = n < 0 ? (uint64_t)-n : (uint64_t)n;
    c->stride = 1;
    c->first = n < 0 ? 0 : layers - lesser(layers, most);
    c->end = n < 0 ? lesser(layers, most) : layers;
    if (!spread)
        return STATUS_OK;
    if (n <= 0 || layers % most != 0)
        return job_fail(job, flag, "use_llama_pro needs a divisor of %" PRIu64 " layers",
                        layers);
    c->stride = layers / most;
    c->first = c->stride - 1;
    return STATUS_OK;
}

/* What is trained of a vision model's parts (model_utils/visual.py, get_forbidden_modules):
 * beside the layers of freeze its projector alone (adapter.py, _setup_freeze_tuning).
 * *language: its language model is not. */
static enum status set_encoder(struct job *job, bool adapters, bool freezes, bool *language)
{
    static const char tower_flag[] = "freeze_vision_tower",
                      projector_flag[] = "freeze_multi_modal_projector",
                      language_flag[] = "freeze_language_model";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool tower = true, projector = true, alone = false, known;
    *language = false;
    TRY(job_model(job, plan, &known));
    TRY(job_switch(job, tower_flag, &tower));
    TRY(job_switch(job, projector_flag, &projector));
    TRY(job_switch(job, language_flag, language));
    TRY(job_switch(job, "train_mm_proj_only", &alone));
    *language = (*language || alone) && known && plan->model.encoder.layers;
    projector = projector && !alone;
    if (!known || !plan->model.encoder.layers || (adapters && !*language && tower))
        return STATUS_OK;
    if (adapters && !*language) {
        job_set(job, "lora.encoder", "true", tower_flag);
        return STATUS_OK;
    }
    if (adapters && !tower && *language && !alone) {
        job_set(job, "lora.encoder", "true", tower_flag);
        job_set(job, "lora.language", "false", language_flag);
        return STATUS_OK;
    }
    if (adapters) {
        job_warn(job, job_setting(job, alone ? "train_mm_proj_only" : language_flag)->mark,
                 "adapters of an encoder alone matter to memory and are not modelled: the "
                 "language model has them here");
        return STATUS_OK;
    }
    job_set(job, "workload.encoder.train",
            !tower && !freezes && !alone ? "all"
            : projector                  ? "none"
                                         : "projector",
            "freeze_vision_tower freeze_multi_modal_projector train_mm_proj_only");
    return STATUS_OK;
}

static enum status set_frozen(struct job *job, bool language)
{
    static const char deciding[] = "freeze_trainable_layers freeze_trainable_modules "
                                   "freeze_extra_modules freeze_language_model "
                                   "train_mm_proj_only finetuning_type";
    static const char *const formats[] = {"bf16", "f16"};
    struct chosen *c = arena_alloc(job->arena, 1, sizeof *c);
    uint64_t layers = 0;
    bool fp16 = false;
    TRY(job_layers(job, &layers));
    TRY(choose_layers(job, layers, c));
    TRY(job_switch(job, "fp16", &fp16));
    c->arena = job->arena;
    c->language = language;
    c->n_modules = trainer_words(job, "freeze_trainable_modules", c->modules);
    c->n_extra = trainer_words(job, "freeze_extra_modules", c->extra);
    if (!c->n_modules)
        c->modules[c->n_modules++] = "all";
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights");
    bool raised = weights && text_equal(weights->words[0], "f32");
    return frozen_set(job, FROZEN_TRANSFORMERS, trains, c, deciding,
                      raised ? formats[fp16] : NULL);
}

static enum status llamafactory_finish(struct job *job)
{
    bool adapters, freezes, language, moved = false;
    TRY(refuse_inference(job));
    TRY(tell_adapter(job, &adapters, &freezes));
    TRY(tell_formats(job, adapters));
    TRY(tell_base(job));
    TRY(tell_rest(job));
    TRY(trainer_share(job));
    TRY(set_turns(job, adapters));
    TRY(set_mini(job));
    TRY(trainer_set_balance(job, "moe_aux_loss_coef", false));
    TRY(job_switch(job, "use_unsloth_gc", &moved));
    if (moved)
        trainer_offload(job, "use_unsloth_gc");
    TRY(set_unsloth(job, adapters));
    TRY(set_encoder(job, adapters, freezes, &language));
    if (freezes || (language && !adapters))
        TRY(set_frozen(job, language));
    return set_stage(job);
}

const struct job_framework job_llamafactory = {
    .name = "llamafactory",
    .title = "a LLaMA-Factory job",
    .stack = "fsdp",
    .source = "hiyouga/LLaMA-Factory 00577a85775a",
    .syntax = JOB_OVERRIDES,
    .sections = "fsdp_config. deepspeed.",
    .flags = flags,
    .n_flags = &n_flags,
    .shares = trainer_shares,
    .wrapped = true,
    .prepare = llamafactory_prepare,
    .finish = llamafactory_finish,
    .names = NAMES_HUB,
    .files = true,
    .own = "llamafactory",
    .telling = "stage finetuning_type template cutoff_len",
    .per_node = "NPROC_PER_NODE", /* llamafactory/launcher.py */
    .nodes = "NNODES",
    .trains = true,
};
