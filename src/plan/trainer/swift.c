/* ms-swift's trainer: swift sft, pt and rlhf, HuggingFace's Trainer on DeepSpeed, FSDP2 or
 * neither, with defaults of its own. Its flags are in swift_table.c. Read at
 * modelscope/ms-swift 00e9ca865296 (swift/arguments/sft_args.py) and 0037257ce866
 * (swift/trainers/arguments.py). */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/trainer/swift.h"
#include "plan/trainer/trainer.h"

/* Those of its folder swift/config, older swift/llm/ds_config, that matter (sft_args.py takes
 * them by name). */
#define BUCKETS "reduce_bucket_size: 2e8"
#define STAGE3                                                                                 \
    "stage: 3, sub_group_size: 1e9, reduce_bucket_size: auto, stage3_prefetch_bucket_size: "   \
    "auto, stage3_max_live_parameters: 1e9"
#define HALF "bf16: {enabled: auto}, fp16: {enabled: auto}"
#define TO_HOST "offload_optimizer: {device: cpu}"
#define NAMED(name, settings)                                                                  \
    {name, settings},                                                                          \
    {                                                                                          \
        name ".json", settings                                                                 \
    }
static const struct trainer_file files[] = {
    NAMED("zero0", "{zero_optimization: {stage: 0, " BUCKETS "}, " HALF "}"),
    NAMED("zero1", "{zero_optimization: {stage: 1, " BUCKETS "}, " HALF "}"),
    NAMED("zero2", "{zero_optimization: {stage: 2, " BUCKETS "}, " HALF "}"),
    NAMED("zero2_offload",
          "{zero_optimization: {stage: 2, " BUCKETS ", " TO_HOST "}, " HALF "}"),
    NAMED("zero3", "{zero_optimization: {" STAGE3 "}, " HALF "}"),
    NAMED("zero3_offload", "{zero_optimization: {" STAGE3 ", " TO_HOST
                           ", offload_param: {device: cpu}}, " HALF "}"),
    {NULL, NULL}};

static const struct trainer_file shardings[] = {
    {"fsdp2", "{fsdp: full_shard auto_wrap, fsdp_config: {fsdp_version: 2, "
              "reshard_after_forward: true, auto_wrap_policy: TRANSFORMER_BASED_WRAP, "
              "activation_checkpointing: true}}"},
    {NULL, NULL}};

/* ---- how many ranks ---- */

/* Without NPROC_PER_NODE or a launcher one process has all devices, and layers are spread over
 * them (swift/cli/main.py; device_map of utils.py). */
static enum status refuse_spread(struct job *job)
{
    static const char name[] = "CUDA_VISIBLE_DEVICES";
    const struct shell_word *word = job_environment_word(job, name);
    bool alone =
        job->entry > 1 && text_equal(text_base_name(job->words[job->entry - 2].text), "swift");
    const struct job_size *size = &job->size;
    if (!word || !strchr(word->text, ',') || !alone || size->nodes || size->per_node)
        return STATUS_OK;
    err_at(job->err, word->mark,
           "one process has the devices of %s=%s, and spreads its layers over them one after "
           "the other, which is not read",
           name, word->text);
    return err_hint(job->err,
                    "NPROC_PER_NODE in front of the launch starts a rank on each; one "
                    "device in %s plans one",
                    name);
}

/* ---- FSDP ---- */

/* What a file says in place of the flag's own word, which names it. */
static const char *words_of_file(const struct job *job)
{
    const char *words = "full_shard auto_wrap";
    for (size_t i = 0; i < job->n_settings; i++) {
        const struct setting *s = &job->settings[i];
        if (s->layer == JOB_FILE + 1 && s->n == 1 && text_equal(s->name, "fsdp"))
            words = s->values[0];
    }
    return words;
}

/* "fsdp2" that it brings along, a file, or its text: the trainer's words, and what holds for
 * them (sft_args.py, _init_fsdp). */
static enum status read_fsdp(struct job *job)
{
    static const char flag[] = "fsdp";
    const struct setting *s = job_setting(job, flag);
    const char *name = "";
    if (!s)
        return STATUS_OK;
    if (s->n == 1)
        TRY(job_word(job, flag, &name));
    const struct trainer_file *known = trainer_known(shardings, name);
    job_assume(job, "fsdp_version", "2", "fsdp_version: 2, sft_args.py");
    if (name[0] == '{')
        TRY(job_flag_text(job, flag, JOB_FILE + 1));
    else if (known)
        TRY(trainer_add_known(job, known, JOB_FILE + 1));
    else if (text_ends(name, ".json"))
        TRY(job_need_file(job, flag, name, JOB_FILE + 1));
    else
        return job->err->status; /* words of the trainer's own */
    job_retell(job, flag, flag, words_of_file(job));
    return job->err->status;
}

/* ---- in the trainer's words ---- */

/* Flags that are another's by another name. */
static enum status tell_names(struct job *job)
{
    static const char *const others[][2] = {
        {"model", "model_name_or_path"},
        {"batch_size", "per_device_train_batch_size"},
        {"context_parallel_size", "sequence_parallel_size"},
        {"sequence_parallel_size", "cp_size"},
        {"zero_hpz_partition_size", "zero_optimization.zero_hpz_partition_size"},
        {"deepspeed_autotp_size", "tensor_parallel.autotp_size"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *value = NULL;
        TRY(job_word(job, others[i][0], &value));
        if (value && !text_equal(value, "1"))
            job_retell(job, others[i][0], others[i][1], value);
    }
    return job->err->status;
}

static enum status swift_prepare(struct job *job)
{
    if (job->shell)
        TRY(refuse_spread(job));
    TRY(trainer_read_files(job, files));
    TRY(swift_refuse_ray(job));
    TRY(read_fsdp(job));
    return tell_names(job);
}

static enum status tell_adapter(struct job *job)
{
    bool adapters;
    TRY(swift_read_tuner(job, "lora", &adapters));
    if (!adapters)
        return STATUS_OK;
    job_assume(job, "use_peft", "true", "tuner_type: lora, base_args.py");
    job_assume(job, "lora_r", "8", "lora_rank: 8, tuner_args.py");
    job_assume(job, "lora_dropout", "0.05", "lora_dropout: 0.05, tuner_args.py");
    swift_tell_targets(job);
    return job->err->status;
}

/* Weights are loaded in torch_dtype, the checkpoint's unless given, and products are in it, or
 * in fp16 beside f32 (model_args.py, _init_mixed_precision). */
static enum status tell_formats(struct job *job)
{
    static const char flag[] = "torch_dtype";
    const char *type = "bfloat16";
    TRY(job_word(job, flag, &type));
    bool half = text_equal(type, "bfloat16");
    job_assume(job, flag, "bfloat16", "torch_dtype: the checkpoint's, model_args.py");
    job_assume(job, half ? "bf16" : "fp16", "true", "by torch_dtype, model_args.py");
    return job->err->status;
}

static enum status tell_base(struct job *job, const char **method)
{
    static const char method_flag[] = "quant_method", bits_flag[] = "quant_bits";
    uint64_t bits = 0;
    bool twice = true;
    *method = NULL;
    TRY(job_word(job, method_flag, method));
    TRY(job_count(job, bits_flag, &bits));
    TRY(job_switch(job, "bnb_4bit_use_double_quant", &twice));
    const struct setting *s = job_setting(job, bits_flag);
    if (s && !*method && text_equal(s->name, "quantization_bit"))
        *method = "bnb"; /* ms-swift 2 */
    if (s && !*method)
        job_warn(job, s->mark,
                 "quant_bits without quant_method loads weights as the checkpoint has them");
    if (!*method || text_equal(*method, "fp8"))
        return STATUS_OK;
    if (!trainer_method_is_known(*method, bits))
        job_warn(job, job_setting(job, method_flag)->mark,
                 "quant_method '%s' matters to memory and is not modelled: bitsandbytes stands "
                 "in",
                 *method);
    twice = twice && text_equal(*method, "bnb");
    return trainer_tell_bits(job, bits_flag, bits, twice);
}

/* By the optimizer's name, or Q-GaLore's in 8 bits (swift/optimizers/galore/utils.py,
 * get_optimizer), whose projections are in 16 bits unless they are quantised, too. */
static enum status tell_galore_kind(struct job *job)
{
    static const char flag[] = "galore_quantization", proj_flag[] = "galore_proj_quant";
    const char *optim = "";
    bool quantised = false, proj = false;
    TRY(job_word(job, "optim", &optim));
    TRY(job_switch(job, flag, &quantised));
    TRY(job_switch(job, proj_flag, &proj));
    bool eight = quantised || strstr(optim, "8bit");
    if (quantised && proj)
        job_warn(job, job_setting(job, proj_flag)->mark,
                 "projections in few bits matter to memory and are not modelled: they are "
                 "planned in 16");
    job_retell(job, "use_galore", "optim",
               text_equal(optim, "adafactor") ? "galore_adafactor"
               : eight                        ? "galore_adamw_8bit"
                                              : "galore_adamw");
    return job->err->status;
}

static enum status tell_galore(struct job *job, bool *embedding)
{
    static const char flag[] = "use_galore";
    const char *rank = "128", *words[PLAN_NAMES], *joined = "";
    bool used = false;
    size_t n = trainer_words(job, "galore_target_modules", words);
    TRY(job_switch(job, flag, &used));
    TRY(job_word(job, "galore_rank", &rank));
    if (!used)
        return STATUS_OK;
    TRY(tell_galore_kind(job));
    job_retell(job, flag, "optim_args", arena_printf(job->arena, "rank=%s", rank));
    for (size_t i = 0; i < n; i++)
        joined = arena_printf(job->arena, "%s%s%s", joined, i ? "|" : "", words[i]);
    job_retell(job, flag, "optim_target_modules",
               n ? arena_printf(job->arena, ".*(%s)", joined) : "all-linear");
    TRY(job_switch(job, "galore_with_embedding", embedding));
    return job->err->status;
}

static enum status tell_rest(struct job *job, bool *embedding)
{
    static const char flag[] = "optimizer";
    const char *plugin = NULL;
    TRY(job_word(job, flag, &plugin));
    if (plugin && text_starts(plugin, "muon"))
        job_retell(job, flag, "optim", "muon");
    else if (plugin && !text_equal(plugin, "lorap") && !text_equal(plugin, "multimodal"))
        job_warn(job, job_setting(job, flag)->mark,
                 "optimizer '%s' matters to memory and is not modelled: Adam's states stand in",
                 plugin);
    TRY(tell_galore(job, embedding));
    job_assume(job, "gradient_checkpointing", "true",
               "gradient_checkpointing: true, trainers/arguments.py");
    job_assume(job, "per_device_train_batch_size", "1",
               "per_device_train_batch_size: 1, trainers/arguments.py");
    job_assume(job, "optim", "adamw_torch_fused", "optim: adamw_torch_fused, transformers");
    return job->err->status;
}

/* ---- behind the trainer ---- */

/* As many steps as make 16 sequences, of grpo one, unless given (arguments.py, __post_init__).
 */
static enum status set_steps(struct job *job, const struct swift_rlhf *rlhf)
{
    uint64_t micro = job_drafted(job, "workload.micro_batch", 0), world, steps = 1;
    uint64_t model = job_drafted(job, "parallel.tp", 1) * job_drafted(job, "parallel.cp", 1);
    TRY(job_world(job, &world));
    if (trainer_decides(job, "gradient_accumulation_steps") ||
        draft_find(&job->draft, "workload.global_batch") || !micro || micro > 16 || !world ||
        !model || world > 1000000)
        return STATUS_OK;
    if (!rlhf || !text_equal(rlhf->name, "grpo"))
        steps = (16 + micro * world - 1) / (micro * world);
    if (steps > 1 && world % model == 0)
        job_set_count(job, "workload.global_batch", micro * steps * (world / model), "");
    return STATUS_OK;
}

/* The table of the embedding beside what galore projects (optimizers/galore/utils.py). */
static void set_projected(struct job *job, bool embedding)
{
    static const char key[] = "optimizer.projected", flag[] = "galore_with_embedding";
    const struct draft_item *item = draft_find(&job->draft, key);
    const char *words[PLAN_NAMES];
    size_t n = item ? item->n : 0;
    if (!embedding)
        return;
    for (size_t i = 0; i < n && i + 1 < PLAN_NAMES; i++)
        words[i] = item->words[i];
    if (!item) { /* the plan's own */
        static const char *const own[] = {"attention", "dense_mlp", "shared_experts"};
        for (n = 0; n < sizeof own / sizeof *own; n++)
            words[n] = own[n];
    }
    words[n++] = "embed_tokens";
    job_set_list(job, key, words, n, flag);
}

static enum status set_formats(struct job *job, const char *method)
{
    bool adapters = draft_find(&job->draft, "lora.rank") != NULL;
    TRY(swift_set_adapter_format(job, adapters, NULL));
    TRY(trainer_set_states(job));
    if (method && text_equal(method, "fp8") && adapters)
        job_set(job, "precision.weights", "fp8_block", "quant_method");
    return STATUS_OK;
}

static enum status set_loss(struct job *job)
{
    bool cut = false, packs = false;
    TRY(job_switch(job, "use_cce", &cut));
    TRY(job_switch(job, "padding_free", &packs));
    TRY(job_switch(job, "packing", &packs));
    if (cut)
        job_set(job, "stack.cross_entropy", "fused", "use_cce");
    return trainer_set_balance(job, "router_aux_loss_coef", packs);
}

/* The head is run over answers and the token before them (grpo_trainer.py, logits_to_keep + 1);
 * of sequences cut over ranks nothing of that was read. */
static enum status set_logits(struct job *job, const struct swift_rlhf *rlhf)
{
    static const char answer_flag[] = "max_completion_length";
    const struct draft_item *loss = draft_find(&job->draft, "stack.cross_entropy");
    bool fused = loss && text_equal(loss->words[0], "fused"), overflow = false;
    uint64_t answer = 512;
    if (!rlhf || !text_equal(rlhf->name, "grpo") || fused)
        return STATUS_OK;
    TRY(job_count(job, answer_flag, &answer));
    if (job_drafted(job, "parallel.cp", 1) == 1)
        job_set_count(job, "workload.logits_to_keep", checked_add(answer, 1, &overflow),
                      answer_flag);
    else
        job_warn(job, job_place(job),
                 "logits of prompts, which grpo does not make, matter to memory: they are "
                 "counted here");
    return STATUS_OK;
}

/* Stage 3 gathers what it hands to an engine, all of it or in so many parts (rollout_mixin.py,
 * _move_full_model_to_vllm). */
static void warn_of_gathering(struct job *job)
{
    const struct draft_item *engine = draft_find(&job->draft, "workload.colocated.engine");
    if (engine && job_drafted(job, "parallel.zero", 0) == 3 &&
        !draft_find(&job->draft, "lora.rank") && !job_given(job, "move_model_batches"))
        job_warn(job, job_place(job),
                 "without move_model_batches every rank gathers the whole model for the "
                 "engine, which matters to memory and is not modelled");
}

/* Where Triton's kernels are installed a checkpoint in mxfp4 stays so, elsewhere it is read in
 * 16 bits (transformers quantizers/quantizer_mxfp4.py): ms-swift says 42 GB of its example of
 * gpt-oss-20b in pull request 5277, and 22 in the file (examples/models/gpt_oss/train.sh). */
static void warn_of_mxfp4(struct job *job, const char *method)
{
    const struct draft_item *model = draft_find(&job->draft, "model");
    const char *name = NULL;
    job_path(job, "model", &name);
    bool widened = name && (strstr(name, "bf16") || strstr(name, "BF16"));
    if (model && model->n == 1 && !widened && !method &&
        !job_requested(job, "precision.weights") && draft_find(&job->draft, "lora.rank") &&
        text_equal(model_name_weights(model->words[0]), "mxfp4"))
        job_warn(job, job_setting(job, "model")->mark,
                 "whether Triton's kernels are installed, with which the base stays in mxfp4, "
                 "matters to memory and is not said: it is planned in 16 bits; --set "
                 "precision.weights=mxfp4");
}

/* swift/model/register.py, load_by_unsloth: its layers, whose loss gives logits all the same
 * (UNSLOTH_RETURN_LOGITS). */
static enum status set_backend(struct job *job)
{
    static const char flag[] = "tuner_backend";
    const char *backend = "peft";
    TRY(job_word(job, flag, &backend));
    if (!text_equal(backend, "unsloth"))
        return STATUS_OK;
    return unsloth_set_kernels(job, !draft_find(&job->draft, "lora.rank"), false, flag);
}

static enum status swift_finish(struct job *job)
{
    const struct swift_rlhf *rlhf;
    const char *method;
    bool embedding = false;
    TRY(swift_read_rlhf(job, &rlhf));
    TRY(job_set_model(job, "model"));
    TRY(tell_adapter(job));
    TRY(tell_formats(job));
    TRY(tell_base(job, &method));
    TRY(tell_rest(job, &embedding));
    TRY(swift_set_length(job, rlhf));
    TRY(trainer_share(job));
    set_projected(job, embedding);
    TRY(trainer_set_drawn(job, "lisa_activated_layers"));
    TRY(trainer_set_offloading(job, "activation_cpu_offload"));
    TRY(set_steps(job, rlhf));
    TRY(set_formats(job, method));
    TRY(set_backend(job));
    TRY(set_loss(job));
    TRY(swift_set_encoder(job));
    TRY(swift_set_frozen(job, false));
    TRY(swift_set_beside(job, rlhf, false));
    TRY(swift_set_task(job, rlhf, false));
    warn_of_gathering(job);
    warn_of_mxfp4(job, method);
    return set_logits(job, rlhf);
}

const struct job_framework job_swift = {
    .name = "swift",
    .title = "an ms-swift job",
    .stack = "fsdp",
    .source = "modelscope/ms-swift 00e9ca865296",
    .syntax = JOB_DASHES,
    .sections = "fsdp_config. deepspeed.",
    .flags = swift_flags,
    .n_flags = &swift_n_flags,
    .shares = trainer_shares,
    .wrapped = true,
    .prepare = swift_prepare,
    .finish = swift_finish,
    .names = NAMES_HUB,
    .files = true,
    .own = "ms-swift",
    .telling = "model load mcore_model",
    .per_node = "NPROC_PER_NODE",
    .nodes = "NNODES",
    .trains = true,
};
