/* Scripts in Python that make a trainer of transformers or TRL, and what they and Unsloth's
 * share. Read at huggingface/transformers 00349ae8 (training_args.py), trl 5b2c1fa76872 and
 * peft 00073fe85ca7 (tuners/lora/config.py, utils/constants.py). */
#include <string.h>

#include "base/text.h"
#include "plan/framework/colocated.h"
#include "plan/trainer/script.h"

static const struct job_flag flags[] = {
    SCRIPT_ROWS,
    RULE("quantization_config", JOB_VALUE, "precision.weights",
         "where the script makes it: BitsAndBytesConfig, Mxfp4Config, GPTQ, AWQ, HQQ, EETQ, "
         "quanto and fp8; others warn",
         TRAINER),
    RULE(SCRIPT_METHOD, JOB_VALUE, "precision.weights", "by its class and bits", QUANTIZERS),
    RULE(SCRIPT_METHOD_BITS, JOB_VALUE, "precision.weights", "with its class", QUANTIZERS),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

/* ---- what both kinds of scripts have ---- */

static const char *class_of(struct job *job, const char *flag)
{
    const struct setting *s = job_setting(job, flag);
    return s && s->n ? s->values[0] : "";
}

bool script_is_trl(struct job *job)
{
    const char *config = class_of(job, SCRIPT_CONFIG);
    return !strstr(config, "TrainingArguments") &&
           (config[0] || !text_equal(class_of(job, SCRIPT_TRAINER), "Trainer"));
}

bool script_trains(struct job *job, const char *kinds)
{
    const char *const classes[] = {class_of(job, SCRIPT_CONFIG), class_of(job, SCRIPT_TRAINER)};
    for (const char *at = kinds; *at;) {
        size_t n = strcspn(at, " ");
        for (size_t i = 0; i < 2; i++) {
            const char *class = classes[i] + (text_starts(classes[i], "Unsloth") ? 7 : 0);
            if (strncmp(class, at, n) == 0 &&
                (text_equal(class + n, "Config") || text_equal(class + n, "Trainer")))
                return true;
        }
        at += n + (at[n] == ' ');
    }
    return false;
}

enum status script_set_trainer(struct job *job)
{
    static const char known[] = "SFT GRPO RLOO DPO Reward";
    const char *trainer = class_of(job, SCRIPT_TRAINER);
    if (class_of(job, SCRIPT_SCORES)[0]) /* PretrainedConfig's num_labels: 2 */
        TRY(trainer_set_labels(job, SCRIPT_SCORES, 2));
    if (script_trains(job, "ORPO CPO")) {
        colocated_set_pairs(job, SCRIPT_TRAINER, false);
        return STATUS_OK;
    }
    if (trainer[0] && !script_trains(job, known) && !text_equal(trainer, "Trainer") &&
        !text_equal(trainer, "UnslothTrainer"))
        job_warn(job, job_setting(job, SCRIPT_TRAINER)->mark,
                 "what '%s' holds beside the model matters to memory and is not modelled: "
                 "supervised training is planned",
                 trainer);
    return STATUS_OK;
}

/* ---- what holds where no argument says it ---- */

/* TrainingArguments' own defaults, which TRL's configurations override (trl_assume). */
static void assume_arguments(struct job *job)
{
    static const char from[] = "gradient_checkpointing: false, training_args.py";
    if (!script_is_trl(job))
        job_assume(job, "gradient_checkpointing", "false", from);
    job_assume(job, "per_device_train_batch_size", "8",
               "per_device_train_batch_size: 8, training_args.py");
    job_assume(job, "optim", "adamw_torch_fused", "optim: adamw_torch_fused, training_args.py");
}

/* LoraConfig's: r 8, no dropout, and q_proj and v_proj in the models that are planned. */
static void assume_adapter(struct job *job)
{
    static const char *const targets[] = {"q_proj", "v_proj"};
    if (!job_given(job, "use_peft"))
        return;
    job_assume(job, "lora_r", "8", "r: 8, peft config.py");
    job_assume(job, "lora_dropout", "0", "lora_dropout: 0, peft config.py");
    if (!job_given(job, "lora_target_modules") && !job_given(job, "lora_target_parameters"))
        job_assume(job, "lora_target_modules",
                   arena_printf(job->arena, "%s,%s", targets[0], targets[1]),
                   "target_modules: q_proj, v_proj, peft constants.py");
}

static enum status read_launched(struct job *job)
{
    const char *path, *text;
    size_t length;
    TRY(script_launched(job, &path, &text, &length));
    return text ? script_read(job, path, text, length) : STATUS_OK;
}

enum status script_prepare(struct job *job, enum status (*own)(struct job *job))
{
    static const struct trainer_file none = {NULL, NULL};
    TRY(read_launched(job));
    if (own)
        TRY(own(job));
    assume_adapter(job);
    assume_arguments(job);
    return trainer_read_sharers(job, &none);
}

/* ---- of TRL ---- */

static enum status trl_script_prepare(struct job *job)
{
    return script_prepare(job, NULL);
}

/* PEFT casts what is not in few bits to f32 (utils/other.py, prepare_model_for_kbit_training),
 * and has layers run again unless told otherwise. */
static enum status tell_prepared(struct job *job, bool *prepared)
{
    TRY(job_switch(job, SCRIPT_PREPARED, prepared));
    if (*prepared && !job_given(job, "gradient_checkpointing"))
        job_assume(job, "gradient_checkpointing", "true", "prepare_model_for_kbit_training");
    return job->err->status;
}

/* A model is loaded in f32 unless told, until transformers 5 takes its checkpoint's format. */
static void tell_format(struct job *job)
{
    static const char flag[] = "torch_dtype";
    if (job_given(job, flag))
        return;
    job_assume(job, flag, "float32", "dtype: float32, transformers 4");
    if (!job_requested(job, "precision.weights") && !job_given(job, "load_in_4bit") &&
        !job_given(job, "load_in_8bit") && !job_given(job, SCRIPT_METHOD))
        job_warn(job, job_place(job),
                 "no argument gives torch_dtype, which matters to memory: float32 is planned, "
                 "transformers' before its release 5; since, it is the checkpoint's: --set "
                 "precision.weights=bf16");
}

/* A checkpoint in mxfp4 is read into 16 bits where it is told; adapters alone are trained
 * beside one that stays as it is. */
static enum status set_mxfp4(struct job *job)
{
    bool kept = false, widened = false;
    TRY(job_switch(job, SCRIPT_MXFP4, &kept));
    TRY(job_switch(job, SCRIPT_WIDENED, &widened));
    if (kept && !widened && draft_find(&job->draft, "lora.rank"))
        job_set(job, "precision.weights", "mxfp4", SCRIPT_MXFP4);
    else if (kept && !widened)
        job_warn(job, job_setting(job, SCRIPT_MXFP4)->mark,
                 "a base that stays in mxfp4 matters to memory and is not modelled: it is "
                 "planned in the format it computes in");
    return STATUS_OK;
}

/* Other ways of few bits, which leave what they do not reach as it is loaded: 4 bits of GPTQ
 * and AWQ with a scale per 128, of HQQ two numbers of 16 bits per 64, as many as nf4's f32; 8
 * bits with a scale an output; fp8 in blocks of 128. */
static enum status set_method(struct job *job)
{
    static const char flag[] = SCRIPT_METHOD;
    static const struct {
        const char *class, *bits, *format;
        bool usual; /* where no argument says the bits */
    } methods[] = {
        {"GPTQConfig", "4", "int4", true},
        {"GPTQConfig", "8", "fp8_channel", false},
        {"AwqConfig", "4", "int4", true},
        {"HqqConfig", "4", "nf4", true},
        {"EetqConfig", "int8", "fp8_channel", true},
        {"QuantoConfig", "int8", "fp8_channel", true},
        {"QuantoConfig", "float8", "fp8_channel", false},
        {"FbgemmFp8Config", "8", "fp8_channel", true},
        {"FineGrainedFP8Config", "8", "fp8_block", true},
    };
    const char *class = NULL, *bits = NULL, *format = NULL;
    TRY(job_word(job, flag, &class));
    TRY(job_word(job, SCRIPT_METHOD_BITS, &bits));
    for (size_t i = 0; class && i < sizeof methods / sizeof *methods; i++)
        if (text_equal(methods[i].class, class) &&
            (bits ? text_equal(methods[i].bits, bits) : methods[i].usual))
            format = methods[i].format;
    if (!class)
        return STATUS_OK;
    if (!format || !draft_find(&job->draft, "lora.rank")) {
        job_warn(job, job_setting(job, flag)->mark,
                 "a base by %s%s%s matters to memory and is not modelled%s: it is planned in "
                 "the format it computes in",
                 class, bits ? " of " : "", bits ? bits : "",
                 format ? " without adapters" : "");
        return STATUS_OK;
    }
    job_set(job, "precision.weights", format, flag);
    job_set(job, "lora.plain_format", "bf16", flag);
    return STATUS_OK;
}

/* One that the script does not make of a class that is known. */
static void warn_of_other(struct job *job)
{
    static const char flag[] = "quantization_config";
    if (job_given(job, flag))
        job_warn(job, job_setting(job, flag)->mark,
                 "'%s' is made of no class that is known, which matters to memory: the base is "
                 "planned in the format it is loaded in",
                 flag);
}

/* A model that one process loads over several devices: its layers in order, as many bytes on
 * each (accelerate utils/modeling.py, get_balanced_memory and infer_auto_device_map). It is one
 * copy, whose micro-batches come one after another (transformers trainer.py,
 * is_model_parallel); several processes are refused (accelerate accelerator.py,
 * prepare_model). */
static enum status spread_layers(struct job *job)
{
    static const char flag[] = "device_map";
    const char *map = class_of(job, flag);
    bool even = text_equal(map, "auto") || text_starts(map, "balanced");
    uint64_t world, micro = job_drafted(job, "workload.micro_batch", 0);
    TRY(job_world(job, &world));
    if (world <= 1 || trainer_sharer(job) != TRAINER_WHOLE ||
        (!even && !text_equal(map, "sequential")))
        return STATUS_OK;
    struct mark mark = job_setting(job, flag)->mark;
    const char *said = job_setting(job, flag)->said;
    if (job->size.world > 1 || !even) {
        job_warn(job, mark,
                 "device_map '%s' matters to memory and is not modelled%s: every "
                 "device has the whole model here",
                 map, even ? " of several processes, which Accelerate refuses" : "");
        return STATUS_OK;
    }
    draft_set_count(&job->draft, "parallel.pp", world, mark, said);
    if (micro)
        draft_set_count(&job->draft, "workload.global_batch", micro, mark, said);
    job_warn(job, mark,
             "device_map '%s' has micro-batches come one after another, which matters "
             "to time and is not modelled: a step is one of them here",
             map);
    return STATUS_OK;
}

static enum status trl_script_finish(struct job *job)
{
    bool prepared = false;
    TRY(tell_prepared(job, &prepared));
    tell_format(job);
    TRY(trainer_share(job));
    TRY(set_mxfp4(job));
    TRY(set_method(job));
    warn_of_other(job);
    if (prepared && draft_find(&job->draft, "lora.rank"))
        job_set(job, "lora.plain_format", "f32", SCRIPT_PREPARED);
    TRY(script_set_trainer(job));
    return spread_layers(job);
}

static bool is_trl(const char *text)
{
    return script_is(text) && !script_is_unsloth(text);
}

const struct job_framework job_trl = {
    .name = "trl",
    .title = "a script of TRL or transformers",
    .stack = "fsdp",
    .source = "huggingface/trl 5b2c1fa76872, transformers 00349ae8",
    .syntax = JOB_DASHES,
    .sections = "fsdp_config. deepspeed.",
    .flags = flags,
    .n_flags = &n_flags,
    .shares = trainer_shares,
    .wrapped = true,
    .python = script_read,
    .python_is = is_trl,
    .prepare = trl_script_prepare,
    .finish = trl_script_finish,
    .names = NAMES_HUB,
    .trains = true,
};
