/* Scripts in Python that train by Unsloth: its own defaults around TRL's trainers, layers run
 * again with their inputs in host memory, and a loss of parts. Read at unslothai/unsloth
 * 0050c73e05ca (models/loader.py, rl.py, vision.py, llama.py) and unsloth-zoo 002a0c99f6f3
 * (fused_losses/cross_entropy_loss.py), 0355f6f171c9 (training_utils.py). */
#include <inttypes.h>
#include <math.h>

#include "base/checked.h"
#include "base/text.h"
#include "plan/framework/colocated.h"
#include "plan/trainer/script.h"

#define LOADER "unsloth unsloth/models/loader.py"
#define LAYERS "unsloth unsloth/models/llama.py"
#define VISION "unsloth unsloth/models/vision.py"
#define RL "unsloth unsloth/models/rl.py"
#define CHECKPOINTS "unsloth unsloth/models/_utils.py, skip_checkpointing"
#define TILES "unsloth-zoo unsloth_zoo/tiled_mlp.py"
#define MOE "unsloth-zoo unsloth_zoo/temporary_patches/moe_bnb.py"

static const struct job_flag flags[] = {
    SCRIPT_ROWS,
    RULE("model_max_seq_length", JOB_VALUE, "workload.sequence_length",
         "of from_pretrained, 2048 unless given: the trainer's max_length gives way to it",
         LOADER),
    RULE("full_finetuning", JOB_VALUE, "lora.rank", "no adapters, the weights in 16 bits",
         LOADER),
    RULE("float32_mixed_precision", JOB_VALUE, "precision.weights", "f32 with full_finetuning",
         VISION),
    RULE("load_in_4bit", JOB_VALUE, "precision.weights",
         "nf4_double, on unless given; stacked experts too (lora.experts quantised)", MOE),
    RULE("use_gradient_checkpointing", JOB_VALUE, "recompute.offload",
         "unsloth, which holds unless given: layer_input on one device; True: on the device; "
         "False: none",
         LAYERS),
    RULE("fast_inference", JOB_VALUE, "workload.colocated.engine",
         "awake; with UNSLOTH_VLLM_STANDBY asleep", LOADER),
    RULE("gpu_memory_utilization", JOB_VALUE, "workload.colocated.fraction",
         "0.5 unless given, with fast_inference", LOADER),
    RULE(SCRIPT_STANDBY, JOB_SWITCH, "workload.colocated.engine", "asleep", LOADER),
    RULE("finetune_vision_layers", JOB_VALUE, "lora.encoder",
         "on unless turned off, where the model has an encoder", VISION),
    RULE("finetune_attention_modules", JOB_VALUE, "lora.targets", "false: not theirs", VISION),
    RULE("finetune_mlp_modules", JOB_VALUE, "lora.targets", "false: not theirs", VISION),
    RULE("finetune_language_layers", JOB_VALUE, "lora.language",
         "false: the encoder's layers alone have adapters", VISION),
    RULE("finetune_last_n_layers", JOB_VALUE, "lora.layers", "without layers_to_transform",
         LAYERS),
    RULE("load_in_fp8", JOB_VALUE, "precision.weights", "True: fp8_channel; block: fp8_block",
         LOADER),
    MEMORY("offload_layers", JOB_VALUE, NULL, "all layers are on the device here", LAYERS),
    RULE("checkpoint_skip_layers", JOB_VALUE, "recompute.layers",
         "all but so many; max: none run again; auto warns", CHECKPOINTS),
    MEMORY("finetune_audio_layers", JOB_VALUE, "false", "an audio encoder is frozen here",
           VISION),
    DIRECT("resize_model_vocab", JOB_VALUE, "model.vocab", NULL, NULL, LOADER),
    RULE("offload_embedding", JOB_VALUE, "lora.host",
         "True: embed_tokens, on one device beside adapters, where the head is another matrix; "
         "newer releases' auto is planned as False",
         VISION),
    RULE("unsloth_tiled_mlp", JOB_VALUE, "recompute.mlp_tiles",
         "sequence / hidden size, rounded up; of experts a warning", TILES),
    RULE("qat_scheme", JOB_VALUE, "precision.fake_weights",
         "int4, int8, int8-int4, fp8-fp8, fp8-int4; others warn",
         "unsloth unsloth/models/_utils.py"),
    MEMORY("unsloth_num_chunks", JOB_VALUE, "-1", "the loss of TRL's trainer stands in", RL),
    MEMORY("unsloth_logit_chunk_multiplier", JOB_VALUE, NULL,
           "the loss of TRL's trainer stands in", RL),
    MEMORY("unsloth_grpo_mini_batch", JOB_VALUE, NULL, "the loss of TRL's trainer stands in",
           RL),
    DIRECT("context_parallel_size parallelism_config_cp_size", JOB_VALUE, "parallel.cp", NULL,
           "1", RL),
    TIME("context_parallel_backend", JOB_VALUE, "ring", "rings are planned", RL),
    NEITHER("context_parallel_rotate_method", JOB_VALUE, RL),
    NEITHER("load_in_16bit", JOB_VALUE, LOADER),
    NEITHER("max_lora_rank", JOB_VALUE, LOADER),
    NEITHER("float8_kv_cache", JOB_VALUE, LOADER),
    NEITHER("disable_log_stats", JOB_VALUE, LOADER),
    NEITHER("rope_scaling", JOB_VALUE, LOADER),
    NEITHER("fix_tokenizer", JOB_VALUE, LOADER),
    NEITHER("use_exact_model_name", JOB_VALUE, LOADER),
    NEITHER("text_only", JOB_VALUE, LOADER),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

/* ---- before the trainer's defaults ---- */

/* Of texts the trainer cuts at what the model was loaded for; a smaller max_seq_length of its
 * own holds, max_length does not (rl.py). */
static enum status tell_length(struct job *job)
{
    static const char model_flag[] = "model_max_seq_length", flag[] = "max_seq_length";
    uint64_t length = 2048, own = UINT64_MAX;
    job_assume(job, model_flag, "2048", "max_seq_length: 2048, loader.py");
    TRY(job_count(job, model_flag, &length));
    const struct setting *s = job_setting(job, flag);
    if (s && text_equal(s->name, flag))
        TRY(job_count(job, flag, &own));
    const struct setting *model = job_setting(job, model_flag);
    if (script_trains(job, "DPO GRPO RLOO ORPO CPO KTO") || (model && model->trouble) ||
        own <= length)
        return STATUS_OK;
    if (s)
        job_retell(job, flag, flag, arena_printf(job->arena, "%" PRIu64, length));
    else
        job_retell(job, model_flag, flag, arena_printf(job->arena, "%" PRIu64, length));
    return job->err->status;
}

/* Its own defaults of TRL's configurations (rl.py, replacements); GRPO's batch becomes the
 * answers of a prompt where steps of it make no whole number of prompts. */
static enum status tell_batch(struct job *job)
{
    static const char flag[] = "per_device_train_batch_size";
    uint64_t micro = 4, steps = 2, answers = 8;
    if (!script_is_trl(job))
        return STATUS_OK;
    job_assume(job, flag, "4", "per_device_train_batch_size: 4, rl.py");
    job_assume(job, "gradient_accumulation_steps", "2",
               "gradient_accumulation_steps: 2, rl.py");
    job_assume(job, "optim", "adamw_8bit", "optim: adamw_8bit, rl.py");
    if (!script_trains(job, "GRPO"))
        return STATUS_OK;
    job_assume(job, "beta", "0.001", "beta: 0.001, rl.py");
    job_assume(job, "vllm_mode", "colocate", "vllm_mode: colocate, rl.py");
    TRY(job_count(job, flag, &micro));
    TRY(job_count(job, "gradient_accumulation_steps", &steps));
    TRY(job_count(job, "num_generations", &answers));
    uint64_t ranks = job->size.world ? job->size.world : 1;
    bool overflow = false;
    uint64_t all = checked_mul(checked_mul(micro, steps, &overflow), ranks, &overflow);
    if (answers && !overflow && all % answers != 0 && !job_given(job, "steps_per_generation") &&
        !job_given(job, "generation_batch_size"))
        job_retell(job, flag, flag, arena_printf(job->arena, "%" PRIu64, answers));
    return job->err->status;
}

static enum status tell_formats(struct job *job, bool full, bool four)
{
    const char *loaded = "bfloat16";
    bool raised = false;
    TRY(job_word(job, "torch_dtype", &loaded));
    TRY(job_switch(job, "float32_mixed_precision", &raised));
    bool half = text_equal(loaded, "float16");
    job_assume(job, "torch_dtype", "bfloat16", "dtype: None, loader.py");
    if (full && (raised || half)) /* training_utils.py */
        job_retell(job, "torch_dtype", "torch_dtype", "float32");
    if (!job_given(job, "fp16"))
        job_assume(job, half ? "fp16" : "bf16", "true", "as the model is loaded, rl.py");
    if (four)
        job_assume(job, "use_bnb_nested_quant", "true",
                   "bnb_4bit_use_double_quant: true, llama.py");
    return job->err->status;
}

/* Adapters of all linear layers unless told, or none of full_finetuning. */
static void tell_adapter(struct job *job, bool full)
{
    static const char all[] = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj";
    if (full && job_given(job, "use_peft"))
        job_retell(job, "use_peft", "use_peft", "false");
    if (full || !job_given(job, "use_peft"))
        return;
    job_assume(job, "lora_r", "16", "r: 16, llama.py");
    job_assume(job, "lora_target_modules", all, "target_modules: all seven, llama.py");
}

/* Whether layers run again, and whether their inputs wait in host memory. */
static enum status tell_recompute(struct job *job, bool *offloads)
{
    static const char own[] = "use_gradient_checkpointing", flag[] = "gradient_checkpointing";
    const char *kind = "unsloth";
    bool again = true;
    TRY(job_word(job, own, &kind));
    TRY(job_switch(job, flag, &again));
    bool off = text_equal(kind, "false");
    *offloads = again && text_equal(kind, "unsloth");
    job_assume(job, own, "unsloth", "use_gradient_checkpointing: unsloth, llama.py");
    job_assume(job, flag, off ? "false" : "true", "for_training, rl.py");
    if (off && again)
        job_retell(job, own, flag, "false");
    return job->err->status;
}

static bool is_off(const char *word)
{
    return text_equal(word, "false") || text_equal(word, "False");
}

static enum status read_bits(struct job *job, bool full, bool *four)
{
    bool eight = false;
    const char *mode = "false";
    TRY(job_switch(job, "load_in_8bit", &eight));
    TRY(job_word(job, "load_in_fp8", &mode));
    const bool eighths = !is_off(mode);
    if (!full && !eight && !eighths && !job_given(job, "load_in_4bit"))
        job_assume(job, "load_in_4bit", "true", "load_in_4bit: true, loader.py");
    TRY(job_switch(job, "load_in_4bit", four));
    if ((full || eight || eighths) && *four)
        job_retell(job, "load_in_4bit", "load_in_4bit", "false");
    *four = *four && !full && !eight && !eighths;
    return job->err->status;
}

/* torchao's, a scale of each row or of blocks (models/loader_utils.py,
 * _get_fp8_mode_and_check_settings), beside adapters alone. */
static enum status set_fp8(struct job *job)
{
    static const char flag[] = "load_in_fp8";
    const char *mode = "false";
    TRY(job_word(job, flag, &mode));
    if (is_off(mode) || !draft_find(&job->draft, "lora.rank"))
        return STATUS_OK;
    job_set(job, "precision.weights", text_equal(mode, "block") ? "fp8_block" : "fp8_channel",
            flag);
    job_set(job, "lora.plain_format", "bf16", flag);
    return STATUS_OK;
}

static enum status tell_all(struct job *job)
{
    bool full = false, four = false, offloads;
    TRY(job_switch(job, "full_finetuning", &full));
    TRY(read_bits(job, full, &four));
    TRY(tell_length(job));
    TRY(tell_batch(job));
    TRY(tell_formats(job, full, four));
    tell_adapter(job, full);
    return tell_recompute(job, &offloads);
}

static enum status unsloth_prepare(struct job *job)
{
    return script_prepare(job, tell_all);
}

/* ---- behind the rest ---- */

/* Parts of the loss: those whose 16 bytes a logit and what all of them share fit into 4 GiB,
 * in multiples of four (get_chunk_size; of half the free memory where that is less, which
 * makes more of them). */
static enum status set_loss(struct job *job, bool full, const char *flag)
{
    static const char key[] = "stack.loss_chunks";
    const double most = 4, logit = 16, gib = 1 << 30;
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known, overflow = false;
    TRY(job_model(job, plan, &known));
    const uint64_t rows =
        checked_mul(job_planned(job, "workload.micro_batch", 1),
                    job_planned(job, "workload.sequence_length", 1), &overflow);
    if (!known || overflow || !rows || rows > 1000000000)
        return STATUS_OK;
    const double vocab = (double)plan->model.vocab, hidden = (double)plan->model.hidden;
    double fixed = 2 * hidden * ((double)rows + (full ? 2 * vocab : 0)) / gib;
    double left = fixed < most ? most - fixed : most;
    double parts = (double)rows * vocab * logit / gib / left;
    parts = parts <= 1 ? 1 : 4 * ceil(parts / 4 - 1e-9);
    parts = fmin(fmin(parts, (double)rows), 1e6);
    job_set(job, "stack.cross_entropy", "chunked", flag);
    job_set_count(job, key, (uint64_t)parts, flag);
    return STATUS_OK;
}

/* "gate_proj" of a model whose experts are one parameter: theirs, and of what else is so called
 * (get_moe_target_parameters); "gate_up_proj" theirs alone. */
static enum status set_targets(struct job *job)
{
    static const char flag[] = "lora_target_modules";
    static const char *const wide[] = {"gate_proj", "up_proj", "down_proj"};
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    const struct model_moe *moe = &plan->model.moe;
    const char *words[PLAN_NAMES], *out[PLAN_NAMES + 2];
    bool known, found[2] = {false, false}, attention = true, mlp = true, four = false;
    size_t n = trainer_words(job, flag, words), n_out = 0;
    TRY(job_model(job, plan, &known));
    TRY(job_switch(job, "finetune_attention_modules", &attention));
    TRY(job_switch(job, "finetune_mlp_modules", &mlp));
    bool whole =
        !known || !moe->experts || moe->shared_intermediate || plan->model.dense_layers;
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < 3 && !text_ends(words[i], wide[at]))
            at++;
        bool network = at < 3;
        if ((network && !mlp) || (!network && !attention))
            continue;
        found[at == 2] = found[at == 2] || network;
        bool alone = known && moe->experts && text_ends(words[i], "gate_up_proj");
        if (!network || (whole && !alone))
            out[n_out++] = words[i];
    }
    bool experts = known && moe->experts && !job_given(job, "lora_target_parameters");
    if (experts && found[0])
        out[n_out++] = "experts.gate_up_proj";
    if (experts && found[1])
        out[n_out++] = "experts.down_proj";
    if (n_out && !text_equal(words[0], "all-linear"))
        job_set_list(job, "lora.targets", out, n_out, flag);
    TRY(job_switch(job, "load_in_4bit", &four));
    if (known && moe->experts && four)
        job_set(job, "lora.experts", "quantised", "load_in_4bit");
    return STATUS_OK;
}

/* Without a dropout its kernels keep the one input of q, k and v, of gate and up, in 16 bits
 * (unsloth/kernels/fast_lora.py). */
static void set_inputs(struct job *job)
{
    const struct draft_item *inputs = draft_find(&job->draft, "lora.inputs");
    if (inputs && !text_equal(inputs->words[0], "dropped"))
        job_set(job, "lora.inputs", "shared", "lora_dropout use_peft");
}

enum status unsloth_set_kernels(struct job *job, bool full, bool supervised, const char *flag)
{
    uint64_t ranks;
    TRY(job_world(job, &ranks));
    if (ranks <= 1)
        trainer_offload(job, flag);
    set_inputs(job);
    return supervised ? set_loss(job, full, flag) : STATUS_OK;
}

/* vLLM made the base's weights, and the trainer reads them where they are. */
static enum status set_engine(struct job *job)
{
    static const char flag[] = "fast_inference";
    bool fast = false;
    struct away none = {0};
    struct engine_beside engine = {.tp = 1,
                                   .fraction = 0.5,
                                   .sleep_flags = SCRIPT_STANDBY " fast_inference",
                                   .tp_flag = "vllm_tensor_parallel_size",
                                   .fraction_flag = "gpu_memory_utilization"};
    TRY(job_switch(job, flag, &fast));
    TRY(job_switch(job, SCRIPT_STANDBY, &engine.sleeps));
    if (!fast)
        return STATUS_OK;
    TRY(colocated_read(job, &engine));
    colocated_set(job, &engine, &none);
    if (!engine.sleeps)
        job_warn(job, job_setting(job, flag)->mark,
                 "the base's weights, which vLLM and the trainer share, matter to memory and "
                 "are counted in both: the answer is too large by them");
    return STATUS_OK;
}

/* Layers that keep what they have made: evenly spread ones, as good as the last. */
static enum status set_skipped(struct job *job)
{
    static const char flag[] = "checkpoint_skip_layers";
    const struct draft_item *again = draft_find(&job->draft, "recompute.kind");
    const char *word = "0";
    uint64_t n = 0, layers = 0;
    TRY(job_word(job, flag, &word));
    TRY(job_layers(job, &layers));
    if (!again || !text_equal(again->words[0], "full"))
        return STATUS_OK;
    if (text_equal(word, "auto")) {
        job_warn(job, job_setting(job, flag)->mark,
                 "how many layers checkpoint_skip_layers 'auto' leaves alone is not known and "
                 "matters to memory: all run again here");
        return STATUS_OK;
    }
    if (!text_equal(word, "max"))
        TRY(job_count(job, flag, &n));
    if (text_equal(word, "max") || (layers && n >= layers))
        job_set(job, "recompute.kind", "none", flag);
    else if (n && layers && !draft_find(&job->draft, "lora.layers"))
        job_set_count(job, "recompute.layers", layers - n, flag);
    else if (n)
        job_warn(
            job, job_setting(job, flag)->mark,
            "'%s' beside adapters of some layers matters to memory and is not modelled: all "
            "layers run again here",
            flag);
    return STATUS_OK;
}

/* Its layers' input asks for a gradient, run again or not (unsloth_zoo/training_utils.py,
 * prepare_model_for_training). */
static void warn_of_layers(struct job *job, bool offloads)
{
    const struct draft_item *again = draft_find(&job->draft, "recompute.kind"),
                            *layers = draft_find(&job->draft, "lora.layers");
    if (layers && !offloads && again && text_equal(again->words[0], "none"))
        job_warn(
            job, job_place(job),
            "below the first layer that has adapters Unsloth keeps what backward reads, too, "
            "which matters to memory and is not modelled: backward ends there here");
}

/* _resolve_offload_embedding: not of several ranks, nor a table that is the head's. */
static enum status set_waiting(struct job *job)
{
    static const char flag[] = "offload_embedding";
    static const char *const table = "embed_tokens";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    const char *mode = "false";
    uint64_t ranks;
    bool known;
    TRY(job_word(job, flag, &mode));
    TRY(job_model(job, plan, &known));
    TRY(job_world(job, &ranks));
    if (!is_off(mode) && !text_equal(mode, "auto") && ranks <= 1 && known &&
        !plan->model.tied_embeddings && draft_find(&job->draft, "lora.rank"))
        job_set_list(job, "lora.host", &table, 1, flag);
    return STATUS_OK;
}

static enum status set_encoder(struct job *job)
{
    static const char flag[] = "finetune_vision_layers",
                      language_flag[] = "finetune_language_layers";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known, trains = true, language = true;
    TRY(job_switch(job, language_flag, &language));
    TRY(job_model(job, plan, &known));
    TRY(job_switch(job, flag, &trains));
    if (!known || !plan->model.encoder.layers || !draft_find(&job->draft, "lora.rank"))
        return STATUS_OK;
    job_set(job, "workload.encoder.train", "none", flag);
    if (trains && job_given(job, language_flag))
        job_set(job, "lora.encoder", "true", flag);
    if (trains && !language)
        job_set(job, "lora.language", "false", language_flag);
    return STATUS_OK;
}

/* Rounding of linear layers by torchao (_prepare_model_for_qat), whose integers have scales in
 * the weights' format (QATConfig of a configuration that names none). */
static enum status set_rounding(struct job *job)
{
    static const char flag[] = "qat_scheme";
    static const char weights[] =
        "int4=int4 int8=int_16 cactus=int_16 int8-int4=int_16 fp8-fp8=fp8 fp8-int4=fp8_int4";
    static const char inputs[] = "int8-int4=int8_16 fp8-fp8=fp8 fp8-int4=fp8";
    const char *scheme = NULL;
    TRY(job_word(job, flag, &scheme));
    if (!scheme)
        return STATUS_OK;
    const char *weight = job_convert(job, weights, scheme),
               *input = job_convert(job, inputs, scheme);
    if (weight)
        job_set(job, "precision.fake_weights", weight, flag);
    else
        job_warn(job, job_setting(job, flag)->mark,
                 "'%s' matters to memory and is not modelled: nothing is rounded here", scheme);
    if (weight && input)
        job_set(job, "precision.fake_inputs", input, flag);
    return STATUS_OK;
}

static enum status unsloth_finish(struct job *job)
{
    bool full = false, offloads;
    uint64_t ranks;
    TRY(job_switch(job, "full_finetuning", &full));
    TRY(tell_recompute(job, &offloads));
    TRY(trainer_tell_last(job, "finetune_last_n_layers"));
    TRY(trainer_share(job));
    TRY(set_fp8(job));
    TRY(set_rounding(job));
    TRY(trainer_set_tiles(job, "unsloth_tiled_mlp", NULL,
                          job_drafted(job, "workload.micro_batch", 1)));
    TRY(job_world(job, &ranks));
    /* of several ranks its own recomputation is taken out again (vision.py, post_patch_model)
     */
    if (offloads && ranks <= 1)
        trainer_offload(job, "use_gradient_checkpointing");
    if (draft_find(&job->draft, "lora.rank"))
        TRY(set_targets(job));
    set_inputs(job);
    TRY(set_encoder(job));
    TRY(set_skipped(job));
    warn_of_layers(job, offloads);
    TRY(set_waiting(job));
    TRY(set_engine(job));
    if (!script_trains(job, "GRPO RLOO DPO ORPO CPO KTO"))
        TRY(set_loss(job, full, SCRIPT_CONFIG));
    return script_set_trainer(job);
}

const struct job_framework job_unsloth = {
    .name = "unsloth",
    .title = "a script of Unsloth",
    .stack = "fsdp",
    .source = "unslothai/unsloth 0050c73e05ca, unsloth-zoo 002a0c99f6f3",
    .syntax = JOB_DASHES,
    .sections = "fsdp_config. deepspeed.",
    .flags = flags,
    .n_flags = &n_flags,
    .shares = trainer_shares,
    .wrapped = true,
    .python = script_read,
    .python_is = script_is_unsloth,
    .prepare = unsloth_prepare,
    .finish = unsloth_finish,
    .names = NAMES_HUB,
    .trains = true,
};
