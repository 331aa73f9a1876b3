/* What ms-swift's trainer and Megatron-SWIFT do alike; see swift.h. Sources: ms-swift
 * swift/arguments/rlhf_args.py, swift/rlhf_trainers, swift/megatron/trainers/rlhf_mixin.py. */
#include <inttypes.h>

#include "base/checked.h"
#include "plan/framework/colocated.h"
#include "plan/trainer/swift.h"
#include "plan/trainer/trainer.h"

/* ---- workers of Ray ---- */

enum status swift_refuse_ray(struct job *job)
{
    static const char flag[] = "use_ray";
    bool ray = false;
    TRY(job_switch(job, flag, &ray));
    for (size_t i = 0; i < job->n_settings; i++)
        ray = ray || text_starts(job->settings[i].name, "train.") ||
              text_starts(job->settings[i].name, "device_groups.");
    if (!ray)
        return STATUS_OK;
    job_fail(job, flag, "ms-swift's groups of Ray's workers are not read");
    return err_hint(job->err, "give the group that trains as a launch of its own, its ranks by "
                              "NPROC_PER_NODE and NNODES");
}

/* ---- preferences and rewards ---- */

static const char type_flag[] = "rlhf_type";

/* Names by rlhf_args.py; who has a reference: _set_default and RLHFArguments.__post_init__. */
static const struct swift_rlhf kinds[] = {
    {"dpo", true, true, false, false, NULL},
    {"orpo", true, false, false, false, NULL},
    {"simpo", true, false, false, false, NULL},
    {"cpo", true, false, false, false, NULL},
    {"kto", false, true, false, false, NULL},
    {"rm", true, false, false, true, NULL},
    {"grpo", false, true, true, false, NULL},
    {"gkd", false, false, true, false, NULL},
    {"ppo", false, true, true, false, "a value model and a reward model"},
};

/* "swift rlhf", "megatron rlhf", or the script that they start. */
static bool is_rlhf(const struct job *job)
{
    for (size_t i = 0; job->command && i < job->command->n; i++) {
        const char *text = job->command->items[i].text;
        if (text_equal(text, "rlhf") || text_ends(text, "/rlhf.py") || text_ends(text, ".rlhf"))
            return true;
    }
    return false;
}

enum status swift_read_rlhf(struct job *job, const struct swift_rlhf **rlhf)
{
    const char *name = "dpo";
    *rlhf = NULL;
    if (!is_rlhf(job) && !job_given(job, type_flag))
        return STATUS_OK;
    TRY(job_word(job, type_flag, &name));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal(kinds[i].name, name))
            *rlhf = &kinds[i];
    if (*rlhf)
        return STATUS_OK;
    job_fail(job, type_flag, "'%s' is no kind of ms-swift's that is read", name);
    return err_hint(job->err, "dpo, orpo, simpo, cpo, kto, rm, grpo, gkd or ppo");
}

/* ---- adapters ---- */

enum status swift_read_tuner(struct job *job, const char *unless, bool *adapters)
{
    static const char flag[] = "tuner_type";
    const char *type = unless;
    TRY(job_word(job, flag, &type));
    *adapters = !text_equal(type, "full");
    if (*adapters && !text_equal(type, "lora"))
        job_warn(job, job_setting(job, flag)->mark,
                 "%s '%s' matters to memory and is not modelled: lora stands in",
                 job_setting(job, flag)->name, type);
    return STATUS_OK;
}

void swift_tell_targets(struct job *job)
{
    static const char flag[] = "target_modules";
    const struct setting *s = job_setting(job, flag), *fits = job_setting(job, "target_regex");
    bool all = false, more = false;
    if (fits && !fits->trouble &&
        fits->n == 1) { /* which holds (tuner.py, get_target_modules) */
        job_retell(job, "target_regex", flag, fits->values[0]);
        return;
    }
    for (size_t i = 0; s && i < s->n; i++) {
        bool every = text_equal(s->values[i], "all-linear") || text_equal(s->values[i], "ALL");
        all = all || every;
        more = more || (!every && text_starts(s->values[i], "all-"));
    }
    if (more)
        job_warn(job, s->mark,
                 "adapters of the router or the embedding ('%s') matter to memory and are not "
                 "modelled: those of linear layers are planned",
                 s->said);
    if (all || more)
        job_retell(job, flag, flag, "all-linear");
}

enum status swift_set_adapter_format(struct job *job, bool adapters, const char *unless)
{
    static const char flag[] = "lora_dtype";
    const char *type = "None";
    TRY(job_word(job, flag, &type));
    const char *format = job_convert(job, "float32=f32 bfloat16=bf16 float16=f16", type);
    if (!format && !text_equal(type, "None"))
        return job_fail(job, flag, "'%s' is no format of adapters", type);
    format = format ? format : unless;
    if (format && adapters)
        job_set(job, "lora.format", format, flag);
    return STATUS_OK;
}

/* ---- how long sequences are ---- */

/* The model's own limit, 0 where it is not known (base_args.py: max_length is max_model_len).
 */
static enum status longest(struct job *job, uint64_t *length)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    const char *name = NULL;
    bool known;
    TRY(job_part(job, "model", plan, &known));
    TRY(job_word(job, "model", &name));
    uint64_t own = name ? model_name_positions(name, job->arena) : 0;
    *length = own ? own : known ? plan->model.max_position : 0;
    return STATUS_OK;
}

enum status swift_set_length(struct job *job, const struct swift_rlhf *rlhf)
{
    static const char length_flag[] = "max_length", answer_flag[] = "max_completion_length";
    uint64_t length = 0, answer = 512, pack = 0;
    bool packs = false, overflow = false;
    TRY(job_count(job, length_flag, &length));
    TRY(job_count(job, answer_flag, &answer));
    TRY(job_count(job, "packing_length", &pack));
    TRY(job_switch(job, "packing", &packs));
    bool given = job_given(job, length_flag);
    if (!length)
        TRY(longest(job, &length));
    if (!length)
        return STATUS_OK; /* nobody says it, of which there is a word elsewhere */
    job_assume(job, length_flag, arena_printf(job->arena, "%" PRIu64, length),
               "max_length: the model's longest, base_args.py");
    if (!given && !job_requested(job, "workload.sequence_length"))
        job_warn(job, job_place(job),
                 "no flag gives max_length, which matters to memory: the model's longest "
                 "sequence is planned; --set workload.sequence_length=4096 names another");
    bool generates = rlhf && rlhf->generates;
    if (generates)
        length = checked_add(length, answer, &overflow); /* beyond any limit of a key's */
    if (packs && pack)
        length = pack;
    job_set_count(job, "workload.sequence_length", length,
                  generates ? "max_completion_length max_length" : "packing_length max_length");
    return STATUS_OK;
}

/* transformers' layers on Megatron, too (arguments/megatron_args.py: of None, not freeze_vit).
 */
static enum status set_again(struct job *job, bool layers)
{
    static const char flag[] = "vit_gradient_checkpointing";
    bool again = job->framework != &job_swift && !layers;
    bool said = job_given(job, flag) || again;
    TRY(job_switch(job, flag, &again));
    if (said)
        job_set(job, "recompute.encoder", again ? "full" : "none",
                "vit_gradient_checkpointing freeze_vit");
    return STATUS_OK;
}

/* find_all_linears leaves out what is frozen of a vision model (pipelines/train/tuner.py,
 * get_multimodal_target_regex). */
static enum status set_adapted_encoder(struct job *job)
{
    static const char flag[] = "freeze_llm";
    bool frozen = false;
    TRY(job_switch(job, flag, &frozen));
    job_set(job, "lora.encoder", "true", "freeze_vit");
    if (frozen)
        job_set(job, "lora.language", "false", flag);
    return STATUS_OK;
}

/* Megatron-SWIFT's: nothing is made of what is seen (mcore-bridge model/mm_gpt_model.py). */
static enum status set_alone(struct job *job, bool *alone)
{
    static const char flag[] = "language_model_only";
    *alone = false;
    if (job->framework == &job_swift)
        return STATUS_OK;
    TRY(job_switch(job, flag, alone));
    if (*alone) {
        job_set_count(job, "model.encoder.layers", 0, flag);
        job_set_count(job, "model.encoder.audio", 0, flag);
    }
    return STATUS_OK;
}

enum status swift_set_encoder(struct job *job)
{
    static const char flags[] = "freeze_vit freeze_aligner";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool layers = true, projector = true, alone, known;
    TRY(set_alone(job, &alone));
    if (alone)
        return STATUS_OK;
    TRY(job_switch(job, "freeze_vit", &layers));
    TRY(job_switch(job, "freeze_aligner", &projector));
    TRY(job_part(job, "model", plan, &known));
    if (known && plan->model.encoder.layers)
        TRY(set_again(job, layers));
    if (!layers && draft_find(&job->draft, "lora.rank") && known &&
        plan->model.encoder.layers) {
        if (job->framework == &job_swift)
            TRY(set_adapted_encoder(job));
        else
            job_warn(job, job_setting(job, "freeze_vit")->mark,
                     "adapters of an encoder matter to memory and are not modelled of "
                     "Megatron: it is planned as frozen");
        return STATUS_OK;
    }
    if (known && plan->model.encoder.layers)
        job_set(job, "workload.encoder.train",
                !layers     ? "all"
                : projector ? "none"
                            : "projector",
                flags);
    return STATUS_OK;
}

/* ---- what stands beside the model ---- */

/* A frozen copy: beta 0 of grpo needs none, and of adapters the base is one. */
static enum status set_reference(struct job *job, const struct swift_rlhf *rlhf)
{
    double beta = 1;
    bool freed = false;
    TRY(job_real(job, "beta", &beta));
    TRY(job_switch(job, "reference_free", &freed));
    bool unused = freed || (text_equal(rlhf->name, "grpo") && !(beta > 0));
    if (rlhf->reference && !unused)
        colocated_set_reference(job, type_flag,
                                text_equal(rlhf->name, "kto") ? COLOCATED_KTO_PASSES : 1);
    return STATUS_OK;
}

/* gkd's: the student itself unless it is named; the base where adapters are trained of it. */
static enum status set_teacher(struct job *job)
{
    static const char flag[] = "teacher_model";
    const char *teacher = NULL, *student = "";
    bool away = false;
    TRY(job_word(job, flag, &teacher));
    TRY(job_word(job, "model", &student));
    TRY(job_switch(job, "offload_teacher_model", &away));
    if (!teacher || away || job_given(job, "teacher_model_server"))
        return STATUS_OK;
    if (text_equal(teacher, student)) {
        colocated_set_reference(job, flag, 1);
        return STATUS_OK;
    }
    if (job_requested(job, "workload.colocated.parameters")) {
        job_set_count(job, "workload.colocated.reference", 0, flag);
        return STATUS_OK;
    }
    job_set_count(job, "workload.colocated.reference", 1, flag);
    job_warn(job, job_setting(job, flag)->mark,
             "the teacher's own shape matters to memory and is not modelled: a copy of the "
             "student stands in; --set workload.colocated.reference=0 and "
             "--set workload.colocated.parameters=32e9 give its size");
    return STATUS_OK;
}

static enum status set_engine(struct job *job, const struct swift_rlhf *rlhf, bool vllm)
{
    static const char weights_flag[] = "offload_model", states_flag[] = "offload_optimizer";
    struct engine_beside engine = {
        .tp = 1,
        .fraction = 0.9,
        .sleep_flags = "sleep_level vllm_mode use_vllm",
        .tp_flag = "vllm_tensor_parallel_size",
        .fraction_flag = "vllm_gpu_memory_utilization",
    };
    const char *mode = "colocate";
    uint64_t level = 0, stages = 1;
    bool weights = false, states = false;
    struct away away = {0};
    TRY(job_switch(job, "use_vllm", &vllm));
    TRY(job_word(job, "vllm_mode", &mode));
    TRY(job_count(job, "sleep_level", &level));
    TRY(job_switch(job, weights_flag, &weights));
    TRY(job_switch(job, states_flag, &states));
    TRY(colocated_read(job, &engine));
    TRY(job_count(job, "vllm_pipeline_parallel_size", &stages));
    if (engine.tp && engine.tp < 100000 && stages && stages < 100000)
        engine.tp *= stages; /* each has a part of the layers */
    engine.sleeps = level > 0;
    engine.weights_flag = weights ? weights_flag : NULL;
    engine.states_flag = states ? states_flag : NULL;
    engine.kept_flag = level == 1 ? "sleep_level" : NULL;
    bool served = text_equal(mode, "server") || job_given(job, "vllm_server_host") ||
                  job_given(job, "vllm_server_base_url");
    /* all of a batch at once (rlhf_trainers/rollout_mixin.py, max_batch_size 0) */
    bool own = job->framework == &job_swift && text_equal(rlhf->name, "grpo");
    if (vllm && !served) {
        colocated_set(job, &engine, &away);
        TRY(colocated_set_format(job, "vllm_quantization", "fp8"));
    } else if (!served && own)
        TRY(trl_set_generation(job));
    else if (!vllm && !served)
        job_warn(job, job_place(job),
                 "the model that is trained generates by itself, whose cache matters to "
                 "memory and is not modelled: the update is planned");
    away_set(job, &away);
    return STATUS_OK;
}

/* swift/model/register.py, ModelLoader.get_model: a linear layer in place of the head, of the
 * layers of transformers; embedding leaves the head unread, generative_reranker as it is. */
enum status swift_set_task(struct job *job, const struct swift_rlhf *rlhf, bool megatron)
{
    static const char flag[] = "task_type";
    const char *task = rlhf && rlhf->scores ? "seq_cls" : "causal_lm";
    if (!rlhf || !rlhf->scores)
        TRY(job_word(job, flag, &task));
    bool scores = text_equal(task, "seq_cls") || text_equal(task, "reranker");
    const struct setting *s = job_setting(job, rlhf && rlhf->scores ? type_flag : flag);
    if (scores && !megatron)
        return trainer_set_labels(job, rlhf && rlhf->scores ? type_flag : flag, 1);
    if (!text_equal(task, "causal_lm"))
        job_warn(job, s ? s->mark : job_place(job),
                 "a model that is trained as '%s' matters to memory and is not modelled%s: the "
                 "head over the vocabulary and its logits stand in",
                 task, megatron ? " of Megatron" : "");
    return STATUS_OK;
}

/* A model that scores answers, as TRL's (rlhf_trainers/grpo_trainer.py: prepare_deepspeed). */
static enum status set_scorer(struct job *job)
{
    static const char flag[] = "reward_model";
    const struct setting *s = job_setting(job, flag);
    if (s && s->n == 1)
        return trl_set_reward(job, flag);
    if (s)
        job_warn(job, s->mark,
                 "several reward models matter to memory and are not modelled: give their "
                 "size, as in --set workload.colocated.parameters=16e9");
    return STATUS_OK;
}

enum status swift_set_beside(struct job *job, const struct swift_rlhf *rlhf, bool vllm)
{
    if (!rlhf)
        return STATUS_OK;
    const struct setting *s = job_setting(job, type_flag);
    bool packs = false;
    TRY(job_switch(job, "packing", &packs));
    if (rlhf->pairs && !packs) /* both answers' tokens are packed (template/base.py, encode) */
        colocated_set_pairs(job, type_flag, false);
    if (rlhf->missing)
        job_warn(job, s ? s->mark : job_place(job),
                 "what '%s' has (%s) matters to memory and is not modelled", rlhf->name,
                 rlhf->missing);
    TRY(set_reference(job, rlhf));
    TRY(set_scorer(job));
    if (text_equal(rlhf->name, "gkd"))
        TRY(set_teacher(job));
    return rlhf->generates ? set_engine(job, rlhf, vllm) : STATUS_OK;
}
