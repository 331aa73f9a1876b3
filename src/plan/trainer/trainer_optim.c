/* Optimizers by their names in transformers' `optim` list and in what frameworks around its
 * Trainer add: what each keeps, in whose format, and what of it is not counted. Read at
 * huggingface/transformers 0a14d8d782ad (trainer_optimizer.py, training_args.py). */
#include <string.h>

#include "base/number.h"
#include "plan/framework/frozen_names.h"
#include "plan/trainer/trainer.h"
#include "plan/schema/schema.h"

/* The first of several is written. */
static const char trainer_optimizers[] =
    "adamw_torch_fused=adam adamw_bnb_8bit=adam8bit lion_32bit=lion lion_8bit=lion8bit "
    "adafactor=adafactor sgd=sgd Muon=muon AdamW=adam Adam=adam FusedAdam=adam OneBitAdam=adam "
    "Lion=lion SGD=sgd adamw_torch=adam adamw_hf=adam adamw_apex_fused=adam "
    "adamw_8bit=adam8bit paged_adamw_8bit=adam8bit paged_adamw_32bit=adam paged_adamw=adam "
    "adamw_torch_8bit=adam8bit ao_adamw_8bit=adam8bit ao_adamw_fp8=adam8bit "
    "adamw_torch_npu_fused=adam adamw_torch_xla=adam adamw_anyprecision=adam "
    "paged_lion_32bit=lion paged_lion_8bit=lion8bit lion_pytorch=lion muon=muon "
    "adamw_torch_4bit=adam4bit ao_adamw_4bit=adam4bit ademamix=ademamix "
    "paged_ademamix_32bit=ademamix ademamix_8bit=ademamix8bit "
    "paged_ademamix_8bit=ademamix8bit rmsprop=rmsprop "
    "rmsprop_bnb=rmsprop rmsprop_bnb_32bit=rmsprop rmsprop_bnb_8bit=rmsprop8bit "
    "stable_adamw=kahan_adam optimi_adamw=kahan_adam schedule_free_adamw=schedule_free "
    "schedule_free_radam=schedule_free schedule_free_sgd=sgd galore_adamw=galore "
    "galore_adamw_8bit=galore8bit apollo_adamw=apollo lomo=lomo adalomo=adalomo "
    "galore_adamw_layerwise=galore galore_adamw_8bit_layerwise=galore8bit "
    "apollo_adamw_layerwise=apollo";

/* Names whose states stand in for those of a name that is not read, and what is missing. */
static const struct {
    const char *name, *as, *why;
} alike[] = {
    {"galore_adafactor", "galore_adamw",
     "of projected gradients it keeps sums per row and column"},
    {"galore_adafactor_layerwise", "galore_adamw",
     "of projected gradients it keeps sums per row and column, and gradients go as soon as "
     "they are there"},
};

static bool holds(const char *name, const char *word)
{
    return strstr(name, word) != NULL;
}

/* bitsandbytes makes states in f32 or in bytes, whatever the weights are (optim/optimizer.py,
 * init_state). */
static bool is_bitsandbytes(const char *name)
{
    bool other = text_starts(name, "adamw_torch") || text_starts(name, "ao_") ||
                 text_starts(name, "galore_");
    return !other && (holds(name, "8bit") || holds(name, "paged") || holds(name, "bnb") ||
                      text_equal(name, "lion_32bit") || text_equal(name, "ademamix"));
}

/* What stands behind "rank=" in "rank=64, update_proj_gap=50" of optim_args; NULL: nothing. */
static const char *optim_arg(struct job *job, const char *name)
{
    const struct setting *s = job_setting(job, "optim_args");
    const char *found = NULL;
    for (size_t i = 0; s && i < s->n; i++) {
        const char *at = s->values[i] ? strstr(s->values[i], name) : NULL;
        found = at ? at + strlen(name) : found;
    }
    return found;
}

/* torch's SGD has momentum where optim_args asks for it. */
static bool has_momentum(struct job *job)
{
    return job_given(job, "optim_args.momentum") || optim_arg(job, "momentum=");
}

/* Those of adapters are small. */
static void warn_of_pages(struct job *job, const char *flag)
{
    job_warn(job, job_setting(job, flag)->mark,
             "states of a paged optimizer go to the host where the device is full, which "
             "matters to memory and time: they are counted on the device");
}

static bool is_deepspeed(struct job *job)
{
    return job->framework == &job_deepspeed ||
           (job->framework != &job_fsdp && trainer_sharer(job) == TRAINER_DEEPSPEED);
}

/* Of optim_args, or a setting of its own. */
static enum status read_rank(struct job *job, uint64_t *rank)
{
    const char *given = optim_arg(job, "rank=");
    if (given) {
        given += strspn(given, " "); /* transformers takes blanks out first */
        const char *word = arena_strndup(job->arena, given, strcspn(given, ", "));
        if (!number_count(word, rank))
            return job_fail(job, "optim_args",
                            "'optim_args' has a rank that is no whole number: '%s'", word);
    }
    TRY(job_count(job, "optim_args.rank", rank));
    return STATUS_OK;
}

static bool targets(const void *with, const struct frozen_name *name)
{
    const struct frozen_words *words = with;
    for (size_t i = 0; i < words->n; i++)
        if (words->words[i] && text_starts(words->words[i], "all"))
            return name->layer != FROZEN_NO_LAYER;
    return frozen_meets(words, name);
}

/* Linear layers whose names hold a word of optim_target_modules, or match it
 * (trainer_pt_utils.py, check_target_module_exists); router and stacked experts are none. */
static enum status set_projections(struct job *job, const char *flag, bool apollo)
{
    static const char words_flag[] = "optim_target_modules";
    static const enum frozen_part linear[] = {FROZEN_ATTENTION, FROZEN_DENSE_MLP,
                                              FROZEN_SHARED_EXPERTS};
    const struct frozen_words given = frozen_words_of(job, words_flag, MEET_HOLDS),
                              matched = frozen_words_of(job, words_flag, MEET_MATCHES);
    uint64_t rank = apollo ? 1 : 128;
    enum frozen_found held[FROZEN_PARTS], match[FROZEN_PARTS];
    const char *parts[3];
    size_t n = 0;
    TRY(read_rank(job, &rank));
    job_set_count(job, "optimizer.rank", rank, "optim_args optim");
    TRY(frozen_finds(job, FROZEN_TRANSFORMERS, targets, &given, held));
    TRY(frozen_finds(job, FROZEN_TRANSFORMERS, targets, &matched, match));
    for (size_t i = 0; i < 3; i++) {
        const char *part = words_frozen[linear[i]];
        enum frozen_found most =
            held[linear[i]] > match[linear[i]] ? held[linear[i]] : match[linear[i]];
        if (most == FROZEN_SOME)
            job_warn(job, job_setting(job, words_flag)->mark,
                     "of %s some matrices are projected and others are not, which matters to "
                     "memory: all of them are planned with moments of their own",
                     part);
        if (most == FROZEN_ALL || !given.n)
            parts[n++] = part;
    }
    job_set_list(job, "optimizer.projected", parts, n, given.n ? words_flag : flag);
    return STATUS_OK;
}

/* Of a shard, or beside adapters, such states are others. */
static bool is_whole(struct job *job, bool alone)
{
    uint64_t world = 0;
    bool known = job_world(job, &world) == STATUS_OK;
    return !draft_find(&job->draft, "lora.rank") && job_drafted(job, "parallel.zero", 0) == 0 &&
           !is_deepspeed(job) && (!alone || (known && world == 1));
}

/* Optimizers that step weights which every rank has whole: kind, rank and parts; others stand
 * in where ranks share them. */
static enum status set_whole(struct job *job, const char *flag, const char *name)
{
    bool apollo = text_starts(name, "apollo"), lomo = holds(name, "lomo");
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        if (text_equal(name, alike[i].name)) {
            job_warn(job, job_setting(job, flag)->mark,
                     "optimizer '%s' matters to memory and is not modelled: %s; %s stands in",
                     name, alike[i].why, alike[i].as);
            name = alike[i].as;
        }
    bool hooks = text_ends(name, "_layerwise");
    if (!is_whole(job, lomo || hooks)) {
        job_warn(job, job_setting(job, flag)->mark,
                 "what '%s' keeps of weights that ranks share out, or beside adapters, matters "
                 "to memory and is not modelled: Adam's states stand in",
                 name);
        return STATUS_OK;
    }
    job_set(job, "optimizer.kind", job_convert(job, trainer_optimizers, name), flag);
    if (hooks)
        job_set(job, "optimizer.in_backward", "true", flag);
    return lomo ? STATUS_OK : set_projections(job, flag, apollo);
}

enum status trainer_set_optimizer(struct job *job, const char *flag)
{
    const char *name = "";
    TRY(job_word(job, flag, &name));
    if (text_starts(name, "galore_") || text_starts(name, "apollo_") || holds(name, "lomo"))
        return set_whole(job, flag, name);
    TRY(job_set_optimizer(job, flag, trainer_optimizers));
    if (text_starts(name, "paged_") && !draft_find(&job->draft, "lora.rank"))
        warn_of_pages(job, flag);
    if ((text_equal(name, "rmsprop") || text_equal(name, "rmsprop_bnb")) && has_momentum(job))
        job_warn(job, job_setting(job, "optim_args")->mark,
                 "momentum beside RMSprop's squares matters to memory and is not modelled");
    if (text_equal(name, "rmsprop") || text_equal(name, "schedule_free_adamw") ||
        text_equal(name, "schedule_free_radam")) /* theirs by default, on devices */
        job_set(job, "optimizer.step", "foreach", flag);
    return STATUS_OK;
}

/* Format of the adapters, where they are trained. */
static const char *adapter_format(struct job *job)
{
    const struct draft_item *format = draft_find(&job->draft, "lora.format");
    if (!draft_find(&job->draft, "lora.rank"))
        return NULL;
    return format ? format->words[0] : "f32"; /* the plan's, and PEFT's */
}

/* What backward keeps of the adapters' inputs: FSDP2's policy and DeepSpeed cast adapters to
 * the 16 bits of the rows, so that nothing is cast (PEFT tuners/lora/layer.py,
 * _cast_input_dtype). */
static enum status set_inputs(struct job *job, const char *adapters, bool deepspeed)
{
    static const char flag[] = "lora_dropout", key[] = "lora.inputs";
    const struct draft_item *rows = draft_find(&job->draft, "precision.activations");
    bool apart = !deepspeed && job_drafted(job, "parallel.zero", 0) == 0 && rows &&
                 !text_equal(rows->words[0], adapters);
    double dropout = 0;
    TRY(job_real(job, flag, &dropout));
    if (dropout > 0)
        job_set(job, key, "dropped", flag);
    else if (apart || draft_find(&job->draft, key))
        job_set(job, key, apart ? "copied" : "shared", "use_peft");
    return STATUS_OK;
}

enum status trainer_set_states(struct job *job)
{
    static const char flag[] = "optim", key[] = "precision.moments";
    const char *name = "", *adapters = adapter_format(job);
    bool deepspeed = is_deepspeed(job);
    if (!deepspeed || !trainer_decides(job, "optimizer.type"))
        TRY(job_word(job, flag, &name));
    /* torch's optimizers make states like what they step; DeepSpeed hands them f32 partitions
     */
    if (adapters && !deepspeed)
        job_set(job, key, adapters, "use_peft");
    if (adapters && !deepspeed && !text_equal(adapters, "f32")) /* of f32 they are f32 */
        job_set(job, "precision.gradients", adapters, "use_peft");
    if (adapters)
        TRY(set_inputs(job, adapters, deepspeed));
    bool bytes = holds(name, "8bit");
    if (is_bitsandbytes(name) && !bytes)
        job_set(job, key, "f32", flag);
    if (is_bitsandbytes(name) && bytes && !deepspeed && !adapters)
        job_set(job, "optimizer.plain_embedding", "true", flag);
    if (text_equal(name, "adamw_anyprecision"))
        job_set(job, key, "f32", flag); /* momentum_dtype, variance_dtype */
    if (text_equal(name, "sgd") && !has_momentum(job))
        job_set(job, key, "none", flag);
    return STATUS_OK;
}

/* Of several names the first, but for what one of them says besides. */
void trainer_write_optimizer(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    enum optimizer_kind kind = plan->optimizer.kind;
    bool fsdp = writer->framework == &job_fsdp;
    const char *name =
        writer_word(writer, trainer_optimizers, writer_value(writer, "optimizer.kind"));
    if (fsdp && kind == OPTIMIZER_ADAM && plan->optimizer.step == STEP_FOREACH)
        name = "adamw_torch";
    if (fsdp && kind == OPTIMIZER_ADAM8BIT && !plan->optimizer.plain_embedding)
        name = "adamw_torch_8bit"; /* torchao's */
    if (name)
        writer_flag(writer, "optim", name);
    if (kind == OPTIMIZER_SGD && plan->precision.moments != DTYPE_NONE)
        writer_flag(writer, "optim_args", "momentum=0.9");
}
