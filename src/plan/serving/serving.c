/* See serving.h. */
#include "plan/serving/serving.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/unit.h"
#include "plan/engine.h"
#include "plan/schema/schema.h"

static enum status set_checkpoint(struct job *job, const char *name, const char *model)
{
    const char *weights = model_name_format(name);
    if (!weights && (strstr(name, "GGUF") || strstr(name, "gguf")))
        job_warn(job, job_place(job),
                 "which of GGUF's formats '%s' is stored in matters to memory and is not read: "
                 "--set precision.weights=int4_32 comes near Q4",
                 name);
    if (!weights)
        weights = model ? model_name_weights(model) : "bf16";
    draft_set(&job->draft, "precision.weights", weights, (struct mark){0},
              "as the checkpoint stores them");
    return STATUS_OK;
}

enum status serving_degree(struct job *job, const char *flag, uint64_t *degree)
{
    TRY(job_count(job, flag, degree));
    if (*degree && *degree <= 100000)
        return STATUS_OK;
    return job_fail(job, flag,
                    "'%s' is a degree of parallelism, from 1 to 100000, not %" PRIu64, flag,
                    *degree);
}

enum status serving_positive(struct job *job, const char *const *flags)
{
    for (; *flags; flags++) {
        const struct setting *s = job_setting(job, *flags);
        if (s && s->n == 1 && s->values[0][0] &&
            strspn(s->values[0], "0") == strlen(s->values[0]))
            return job_fail(job, *flags, "'%s' is from 1 on, not 0", *flags);
    }
    return STATUS_OK;
}

/* 0 is the plan's word for the engine's own, and none of an engine's. */
static enum status check_fraction(struct job *job)
{
    const struct draft_item *f = draft_find(&job->draft, "memory.fraction");
    if (!f || !f->n || strtod(f->words[0], NULL) > 0)
        return STATUS_OK;
    return err_at(job->err, f->mark, "a fraction of memory is above 0 and at most 1, not '%s'",
                  f->words[0]);
}

/* A folder that is not here may hold what its name to clients says, if that is known. */
static const char *served_as(struct job *job, const char *path, struct mark mark)
{
    const struct setting *s = job_setting(job, "served-model-name");
    const char *served = s && s->n == 1 && !s->trouble ? s->values[0] : NULL;
    if (!served || !strchr(path, '/') || !model_name_from(NAMES_HUB, served, job->arena))
        return path;
    job_warn(job, mark, "what '%s' holds is not here: it is taken for '%s', as it is served",
             path, served);
    return served;
}

enum status serving_set_model(struct job *job, const char *flag)
{
    TRY(check_fraction(job));
    const char *name = NULL;
    struct mark mark = job->mark;
    const struct setting *s = job_setting(job, flag);
    TRY(job_word(job, flag, &name));
    if (s)
        mark = s->mark;
    if (!name && job->positional) {
        name = job->positional->text;
        mark = job->positional->mark;
    }
    const struct draft_item *given = draft_find(&job->draft, "model");
    if (given)
        return set_checkpoint(job, name ? name : "", given->words[0]);
    if (!name && job->n_words && job->words[0].trouble && job->words[0].text[0] != '-') {
        err_at(job->err, job->words[0].mark, "the model is not known: %s",
               job->words[0].trouble);
        return err_hint(job->err, "name it, as in --set model=qwen3-30b-a3b%s",
                        job_given_hint(job, job->words[0].trouble));
    }
    if (!name)
        return STATUS_OK;
    const char *model = model_name_or_folder(name, job->arena);
    if (!model && job->described)
        return set_checkpoint(job, name, NULL);
    if (!model) {
        name = served_as(job, name, mark);
        model = model_name_from(NAMES_HUB, name, job->arena);
    }
    if (!model)
        return job_unknown_model(job, mark, name);
    draft_set(&job->draft, "model", model, mark, name);
    uint64_t positions = model_name_positions(name, job->arena);
    if (positions)
        draft_set_count(&job->draft, "model.max_position", positions, mark, name);
    return set_checkpoint(job, name, model);
}

/* Formats that the engines call alike. */
static const char quantizations[] =
    "fp8=fp8 modelopt=fp8 modelopt_fp8=fp8 compressed-tensors=fp8 w8a8_fp8=fp8_channel "
    "modelopt_fp4=nvfp4 nvfp4=nvfp4 mxfp4=mxfp4 mxfp8=mxfp8 experts_int8=int8 w8a8_int8=int8 "
    "awq=int4 awq_marlin=int4 gptq=int4 gptq_marlin=int4 moe_wna16=int4 w4afp8=int4 "
    "bitsandbytes=nf4";

static const char cache_words[] =
    "auto=bf16 bfloat16=bf16 bf16=bf16 float16=f16 fp8=fp8 fp8_e4m3=fp8 fp8_e5m2=fp8 "
    "fp8_inc=fp8 fp8_ds_mla=fp8 fp8_per_token_head=fp8 mxfp8=mxfp8 nvfp4=nvfp4 "
    "nvfp4_4over6=nvfp4 nvfp4_ds_mla=nvfp4 fp4_e2m1=nvfp4 fp4_mx_block16=nvfp4 int8=int8 "
    "int8_per_token_head=int8 "
    "int4_per_token_head=int4";

const char *serving_cache_format(const struct job *job, const char *word)
{
    return job_convert(job, cache_words, word);
}

const char *serving_quantized(const struct job *job, const char *word)
{
    return job_convert(job, quantizations, word);
}

/* A name for how a checkpoint is stored, not a format: what its own name or configuration says
 * is more. */
static bool is_stored(const char *quantization, const char *weights, const char *stored)
{
    static const char *const containers[] = {"compressed-tensors", "modelopt", "quark"};
    bool wide = text_equal(stored, "bf16") || text_equal(stored, "f16");
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        if (text_equal(quantization, containers[i]) && !wide)
            return true;
    return weights && text_equal(weights, "fp8") && text_starts(stored, "fp8");
}

/* Routed experts alone are quantised (vLLM quantization/experts_int8.py: linear layers are
 * unquantised). */
void serving_name_parts(struct job *job, const char *flags)
{
    static const char *const parts[] = {"attention", "linear",   "indexer", "dense",
                                        "shared",    "residual", "latent"};
    job_set_list(job, "precision.plain", parts, sizeof parts / sizeof *parts, flags);
}

static enum status set_quantized(struct job *job)
{
    const char *quantization = "";
    TRY(job_word(job, "quantization", &quantization));
    if (text_equal(quantization, "None")) /* vLLM engine/arg_utils.py, optional_type */
        quantization = "";
    const char *weights = serving_quantized(job, quantization);
    const struct draft_item *stored = draft_find(&job->draft, "precision.weights");
    if (text_equal(quantization, "experts_int8"))
        serving_name_parts(job, "quantization");
    if (stored && is_stored(quantization, weights, stored->words[0]))
        return STATUS_OK;
    if (weights)
        job_set(job, "precision.weights", weights, "quantization");
    if (quantization[0] && !weights)
        job_warn(job, job_setting(job, "quantization")->mark,
                 "quantization '%s' matters to memory and is not modelled", quantization);
    return STATUS_OK;
}

enum status serving_set_formats(struct job *job, bool quantized)
{
    static const char dtypes[] = "auto=bf16 bfloat16=bf16 float16=f16 half=f16 float=f32 "
                                 "float32=f32";
    const char *dtype = "auto", *cache = "auto";
    TRY(job_word(job, "dtype", &dtype));
    TRY(job_word(job, "kv-cache-dtype", &cache));
    const char *as = job_convert(job, dtypes, dtype), *kept = serving_cache_format(job, cache);
    if (!as)
        return job_fail(job, "dtype", "'%s' is no format", dtype);
    job_set(job, "precision.activations", as, "dtype");
    if (kept)
        job_set(job, "precision.kv_cache", text_equal(cache, "auto") ? as : kept,
                "kv-cache-dtype");
    else
        job_warn(job, job_setting(job, "kv-cache-dtype")->mark,
                 "a cache in '%s' matters to memory and is not modelled", cache);
    return quantized ? STATUS_OK : set_quantized(job);
}

enum status serving_range(struct job *job, const char *flag, uint64_t *least, uint64_t *most)
{
    const struct setting *s = job_given(job, flag) ? job_setting(job, flag) : NULL;
    for (size_t i = 0; s && i < s->n; i++) {
        char *end;
        unsigned long long size = strtoull(s->values[i], &end, 10);
        if (!s->values[i][0] || *end || size > 1000000)
            return job_fail(job, flag, "takes sizes up to 1000000, not '%s'", s->values[i]);
        *least = size < *least ? size : *least;
        *most = size > *most ? size : *most;
    }
    return STATUS_OK;
}

enum status serving_largest(struct job *job, const char *flag, uint64_t *most)
{
    uint64_t least = UINT64_MAX;
    return serving_range(job, flag, &least, most);
}

enum status serving_set_adapters(struct job *job, struct serving_adapters *a)
{
    bool enabled = false;
    TRY(job_switch(job, "enable-lora", &enabled));
    TRY(job_count(job, a->slots_flag, &a->slots));
    TRY(job_count(job, "max-lora-rank", &a->rank));
    a->enabled = a->enabled || enabled;
    if (!a->enabled || !a->rank)
        return STATUS_OK;
    job_set_count(job, "lora.slots", a->slots,
                  arena_printf(job->arena, "%s %s", a->slots_flag, a->origin));
    job_set_count(job, "lora.rank", a->rank,
                  arena_printf(job->arena, "max-lora-rank %s", a->origin));
    return STATUS_OK;
}

bool serving_write_adapters(struct job_writer *writer, const char *slots_flag)
{
    const struct lora *lora = &writer->plan->lora;
    if (!lora->slots || !lora->rank)
        return false;
    writer_flag(writer, "enable-lora", NULL);
    writer_count(writer, slots_flag, lora->slots);
    writer_count(writer, "max-lora-rank", lora->rank);
    return true;
}

enum status serving_set_batch(struct job *job, uint64_t sequences, const char *flag)
{
    uint64_t pp = job_drafted(job, "parallel.pp", 1);
    job_set_count(job, "workload.micro_batch", ceil_div(sequences, pp ? pp : 1), flag);
    if (pp > 1 || sequences == 1) /* a step of one sequence does not say that it is all */
        job_set_count(job, "workload.max_num_seqs", sequences, flag);
    job_set(job, "workload.queue", "true", "");
    return STATUS_OK;
}

enum status serving_set_context(struct job *job, const char *flag)
{
    if (job_given(job, flag))
        return STATUS_OK;
    TRY(serving_own_context(job, flag));
    return serving_fit_context(job, flag);
}

enum status serving_fit_context(struct job *job, const char *flag)
{
    const struct draft_item *mode = draft_find(&job->draft, "workload.mode");
    bool decodes = mode && mode->n == 1 && text_equal(mode->words[0], "decode");
    if (decodes && job_drafted(job, "workload.context_length", 0) &&
        !job_requested(job, "workload.context_length"))
        draft_set(&job->draft, "workload.fit_context", "true", (struct mark){0},
                  arena_printf(job->arena, "--%s is not said", flag));
    return STATUS_OK;
}

enum status serving_own_context(struct job *job, const char *flag)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    TRY(job_part(job, "model", plan, &known));
    uint64_t longest =
        job_drafted(job, "model.max_position", known ? plan->model.max_position : 0);
    if (longest)
        draft_set_count(&job->draft, "workload.context_length", longest, (struct mark){0},
                        arena_printf(job->arena, "the model's own; --%s", flag));
    return STATUS_OK;
}

enum status serving_set_offload(struct job *job, const char *flag)
{
    double gib = 0;
    TRY(job_real(job, flag, &gib));
    if (!(gib >= 0 && gib < 1e6))
        return job_fail(job, flag, "takes GiB up to 1000000, not %g", gib);
    if (gib > 0)
        job_set(job, "memory.weight_offload", arena_printf(job->arena, "%.0f B", gib * GIB),
                flag);
    return STATUS_OK;
}

/* "rope_parameters" since transformers 5, before it "rope_scaling". */
static const char *const ropes[] = {".rope_scaling", ".rope_parameters"};

enum { ROPES = sizeof ropes / sizeof *ropes };

static const char *rope_factor(struct job *job, const char *prefix, size_t rope)
{
    return arena_printf(job->arena, "%s%s.factor", prefix, ropes[rope]);
}

static bool scales_rope(struct job *job, const char *prefix)
{
    for (size_t i = 0; i < ROPES; i++)
        if (job_given(job, rope_factor(job, prefix, i)))
            return true;
    return false;
}

static enum status set_rope(struct job *job, const char *prefix, size_t rope)
{
    const char *factor = rope_factor(job, prefix, rope);
    const char *original =
        arena_printf(job->arena, "%s%s.original_max_position_embeddings", prefix, ropes[rope]);
    uint64_t first = 0;
    double times = 0;
    TRY(job_real(job, factor, &times));
    TRY(job_count(job, original, &first));
    double all = times * (double)first;
    if (all >= 1 && all < 1e9)
        job_set_count(job, "model.max_position", (uint64_t)all, factor);
    return STATUS_OK;
}

enum status serving_set_overrides(struct job *job, const char *prefix)
{
    const char *layers = arena_join(job->arena, prefix, ".num_hidden_layers");
    const char *longest = arena_join(job->arena, prefix, ".max_position_embeddings");
    uint64_t n = 0, positions = 0;
    TRY(job_count(job, layers, &n));
    TRY(job_count(job, longest, &positions));
    if (n)
        job_set_count(job, "model.layers", n, layers);
    if (positions)
        job_set_count(job, "model.max_position", positions, longest);
    for (size_t i = 0; i < ROPES; i++)
        TRY(set_rope(job, prefix, i));
    return STATUS_OK;
}

/* The context that a flag asks for and the model's own; both 0 where one is not known, or the
 * user says otherwise. */
static enum status read_contexts(struct job *job, const char *flag, uint64_t *said,
                                 uint64_t *most)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    TRY(job_count(job, flag, said));
    TRY(job_part(job, "model", plan, &known));
    *most = job_drafted(job, "model.max_position", known ? plan->model.max_position : 0);
    if (!*most || job_requested(job, "model.max_position") ||
        job_requested(job, "workload.context_length"))
        *said = *most = 0;
    return STATUS_OK;
}

static bool is_allowed(const struct job *job, const char *variable)
{
    static const char *const on[] = {"1", "true", "True", "yes", "y"};
    const struct shell_word *word = job_environment_word(job, variable);
    for (size_t i = 0; word && i < sizeof on / sizeof *on; i++)
        if (text_equal(word->text, on[i]))
            return true;
    return false;
}

enum status serving_limit_context(struct job *job, const char *flag, const char *prefix,
                                  const char *variable)
{
    uint64_t said = 0, most = 0;
    TRY(read_contexts(job, flag, &said, &most));
    if (said <= most || is_allowed(job, variable) || scales_rope(job, prefix))
        return STATUS_OK;
    job_fail(job, flag,
             "a context of %" PRIu64 " tokens is more than the model's %" PRIu64
             ", which the engine refuses",
             said, most);
    return err_hint(job->err,
                    "up to %" PRIu64 ", %s=1 in front of the launch, or positions that a "
                    "scaled rope has (--set model.max_position=%" PRIu64 ")",
                    most, variable, said);
}

enum status serving_cut_context(struct job *job, const char *flag, const char *variable)
{
    uint64_t said = 0, most = 0;
    TRY(read_contexts(job, flag, &said, &most));
    if (said <= most || is_allowed(job, variable))
        return STATUS_OK;
    job_warn(job, job_setting(job, flag)->mark,
             "a context of %" PRIu64 " tokens is more than the model's %" PRIu64
             ", which the engine takes in its place (%s=1 keeps it)",
             said, most, variable);
    return serving_own_context(job, flag);
}

void serving_write_offload(struct job_writer *writer)
{
    uint64_t bytes = writer->plan->memory.weight_offload_bytes;
    if (bytes)
        writer_flag(writer, "cpu-offload-gb",
                    arena_printf(writer->arena, "%.10g", (double)bytes / GIB));
}

uint64_t serving_sequences(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    if (w->max_num_seqs || w->mode == MODE_SERVE)
        return w->max_num_seqs;
    return w->micro_batch * plan->parallel.pp;
}

/* A served plan says what requests hold in place of a context. */
static const struct plan *with_context(const struct job_writer *writer)
{
    struct plan *plan = arena_alloc(writer->arena, 1, sizeof *plan);
    *plan = *writer->plan;
    struct workload *w = &plan->workload;
    w->context_length = greater(w->context_length, w->input_length + w->output_length);
    return plan;
}

enum status serving_write_begin(struct job_writer *writer)
{
    if (writer->plan->workload.mode == MODE_SERVE)
        writer->plan = with_context(writer);
    if (writer->plan->workload.mode != MODE_TRAIN)
        return STATUS_OK;
    err_set(writer->err, STATUS_INPUT, "%s serves: workload.mode is train",
            writer->framework->name);
    return err_hint(writer->err, "set workload.mode to prefill, decode or serve");
}

/* SGLang has no word fp8, which format it is (arg_groups/fields/model.py). */
static void write_cache_format(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    bool sglang = plan->stack.kind == STACK_SGLANG, vllm = plan->stack.kind == STACK_VLLM;
    bool blocks = sglang && plan_generation(plan) != GENERATION_SM100;
    const struct {
        enum dtype format;
        const char *word;
    } words[] = {
        {DTYPE_FP8, sglang ? "fp8_e4m3" : "fp8"},
        {DTYPE_NVFP4, blocks ? "fp4_mx_block16" : "nvfp4"},
        {DTYPE_MXFP8, sglang ? "mxfp8" : NULL},
        {DTYPE_INT8, vllm ? "int8_per_token_head" : NULL},
        {DTYPE_INT4, vllm ? "int4_per_token_head" : NULL},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (plan->precision.kv_cache == words[i].format && words[i].word)
            writer_flag(writer, "kv-cache-dtype", words[i].word);
}

void serving_write_formats(struct job_writer *writer)
{
    static const char *const dtypes[] = {
        [DTYPE_F32] = "float32", [DTYPE_BF16] = "bfloat16", [DTYPE_F16] = "float16"};
    const struct precision *p = &writer->plan->precision;
    if (p->activations == DTYPE_F32 || p->activations == DTYPE_F16)
        writer_flag(writer, "dtype", dtypes[p->activations]);
    write_cache_format(writer);
    const char *stored = model_name_weights(writer->plan->model_name);
    const char *wanted = words_dtype[p->weights];
    static const enum dtype named[] = {DTYPE_FP8, DTYPE_NVFP4, DTYPE_MXFP4, DTYPE_MXFP8};
    for (size_t i = 0; i < 4; i++)
        if (p->weights == named[i] && !text_equal(stored, wanted))
            writer_flag(writer, "quantization", wanted);
}
