/* SGLang's flags for what it keeps of sequences: caches in host memory, states of recurrent
 * layers, the format of sparse attention's cache. Sources as in sglang.c. */
#include <string.h>

#include "plan/engine.h"
#include "plan/serving/sglang.h"
#include "plan/layers.h"

/* Sparse attention keeps its cache in fp8 on Blackwell unless told otherwise (server_args.py,
 * "KV cache dtype for DeepSeek DSA"), with entries beside a window on every device
 * (arg_groups/deepseek_v4_hook.py), and in no other format but bf16 (arg_groups/overrides.py).
 */
enum status sglang_set_sparse_cache(struct job *job)
{
    struct plan *model = arena_alloc(job->arena, 1, sizeof *model);
    struct plan *cluster = arena_alloc(job->arena, 1, sizeof *cluster);
    static const char words[] = "auto=auto bf16=bf16 bfloat16=bf16 fp8_e4m3=fp8";
    const char *cache = "auto";
    bool named, sized;
    TRY(job_word(job, "kv-cache-dtype", &cache));
    TRY(job_part(job, "model", model, &named));
    TRY(job_part(job, "cluster", cluster, &sized));
    bool entries = named && model->model.attention.kind == ATTENTION_SHARED_KV;
    bool sparse = named && model->model.indexer.heads > 0;
    if ((entries || (sparse && model->model.attention.kind == ATTENTION_MLA)) &&
        !job_convert(job, words, cache))
        return job_fail(job, "kv-cache-dtype",
                        "SGLang keeps a cache of sparse attention in bfloat16 or fp8_e4m3, not "
                        "in '%s'",
                        cache);
    if (text_equal(cache, "auto") && entries)
        draft_set(&job->draft, "precision.kv_cache", "fp8", (struct mark){0},
                  "default of sglang for entries beside a window");
    else if (text_equal(cache, "auto") && sized && sparse &&
             plan_generation(cluster) == GENERATION_SM100)
        draft_set(&job->draft, "precision.kv_cache", "fp8", (struct mark){0},
                  "default of sglang for sparse attention on Blackwell");
    return STATUS_OK;
}

static const char tables_flag[] = "ple-offload-embedding";

/* Where nothing is said they are as plan/read/follow.c has it. */
static enum status set_tables(struct job *job)
{
    bool away = true;
    TRY(job_switch(job, tables_flag, &away));
    if (job_given(job, tables_flag))
        job_set(job, "memory.ngram_host", away ? "true" : "false", tables_flag);
    return STATUS_OK;
}

enum status sglang_set_host_cache(struct job *job)
{
    bool enabled = false;
    double ratio = 2, gigabytes = 0;
    TRY(job_switch(job, "enable-hierarchical-cache", &enabled));
    TRY(job_real(job, "hicache-ratio", &ratio));
    TRY(job_real(job, "hicache-size", &gigabytes));
    TRY(set_tables(job));
    if (!enabled)
        return STATUS_OK;
    if (gigabytes > 0 && gigabytes < 1e6)
        job_set(job, "memory.host_cache", arena_printf(job->arena, "%.0f B", gigabytes * 1e9),
                "hicache-size");
    else
        job_set(job, "memory.host_cache_ratio", arena_printf(job->arena, "%g", ratio),
                "hicache-ratio enable-hierarchical-cache");
    return STATUS_OK;
}

/* Held before all else: 4 GiB, or what the environment says (arg_groups/memory_hook.py). */
static void set_symmetric(struct job *job)
{
    static const char name[] = "SGLANG_SYMM_MEM_PREALLOC_GB_SIZE";
    const struct shell_word *word = job_environment_word(job, name);
    bool number = word && word->text[0] && !word->text[strspn(word->text, "0123456789")];
    if (number)
        draft_set(&job->draft, "memory.reserve", arena_printf(job->arena, "%s GiB", word->text),
                  word->mark, name);
    else
        job_set(job, "memory.reserve", "4 GiB", "enable-symm-mem");
}

/* On AMD the memory that AITER's attention wants is taken off the fraction, unless other
 * kernels attend or the environment says to leave a given one (arg_groups/attention_hook.py).
 */
static enum status set_attention(struct job *job)
{
    static const char honor[] = "SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION";
    const struct shell_word *word = job_environment_word(job, honor);
    struct plan *cluster = arena_alloc(job->arena, 1, sizeof *cluster);
    const char *backend = "aiter";
    bool known;
    TRY(job_word(job, "attention-backend", &backend));
    TRY(job_part(job, "cluster", cluster, &known));
    if (!known || plan_generation(cluster) != GENERATION_GFX942)
        return STATUS_OK;
    bool honored = word && (text_equal(word->text, "1") || text_equal(word->text, "true")) &&
                   job_given(job, "mem-fraction-static");
    if (!text_equal(backend, "aiter"))
        job_set(job, "memory.attention_share", "1", "attention-backend");
    else if (honored)
        draft_set(&job->draft, "memory.attention_share", "1", word->mark, honor);
    return STATUS_OK;
}

/* States of recurrent layers, of each running sequence the prefix cache's beside its own. */
enum status sglang_set_states(struct job *job)
{
    const char *format = "float32", *strategy = "auto";
    bool plain = false, serial = false, alike = false, symmetric = false, known;
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    TRY(job_word(job, "mamba-ssm-dtype", &format));
    TRY(job_word(job, "mamba-scheduler-strategy", &strategy));
    TRY(job_switch(job, "disable-radix-cache", &plain));
    TRY(job_switch(job, "disable-overlap-schedule", &serial));
    TRY(job_switch(job, "disable-hybrid-swa-memory", &alike));
    TRY(job_part(job, "model", plan, &known));
    TRY(set_attention(job));
    TRY(job_switch(job, "enable-symm-mem", &symmetric));
    if (symmetric)
        set_symmetric(job);
    if (alike)
        job_set(job, "memory.window_ratio", "1", "disable-hybrid-swa-memory");
    if (!known || !model_mixers(&plan->model, MIXER_LINEAR))
        return STATUS_OK;
    const char *state = job_convert(job, "float32=f32 bfloat16=bf16 float16=f16", format);
    const struct shell_word *word = job_environment_word(job, "SGLANG_MAMBA_SSM_DTYPE");
    const char *other =
        word ? job_convert(job, "float32=f32 bfloat16=bf16 float16=f16", word->text) : NULL;
    if (!job_given(job, "mamba-ssm-dtype") && other)
        draft_set(&job->draft, "model.linear.state", other, word->mark,
                  "SGLANG_MAMBA_SSM_DTYPE");
    if (!state)
        return job_fail(job, "mamba-ssm-dtype", "takes float32, bfloat16 or float16, not '%s'",
                        format);
    if (job_given(job, "mamba-ssm-dtype"))
        job_set(job, "model.linear.state", state, "mamba-ssm-dtype");
    bool turns = text_equal(strategy, "extra_buffer");
    bool one = text_equal(strategy, "extra_buffer_lazy");
    bool none = text_equal(strategy, "no_buffer") || (text_equal(strategy, "auto") && serial);
    if (plain)
        job_set(job, "memory.state_copies", "1", "disable-radix-cache");
    else if (turns || one)
        job_set(job, "memory.state_copies", serial || one ? "4" : "5",
                "mamba-scheduler-strategy");
    else if (none)
        job_set(job, "memory.state_copies", "3",
                "mamba-scheduler-strategy disable-overlap-schedule");
    return STATUS_OK;
}

void sglang_write_host_cache(struct job_writer *writer)
{
    const struct memory *m = &writer->plan->memory;
    if (writer->plan->model.ngram.tables && !m->ngram_host)
        writer_flag(writer, "no-ple-offload-embedding", NULL);
    if (!m->host_cache_bytes && !(m->host_cache_ratio > 0))
        return;
    writer_flag(writer, "enable-hierarchical-cache", NULL);
    bool size = m->host_cache_bytes > 0;
    double value = size ? (double)m->host_cache_bytes / 1e9 : m->host_cache_ratio;
    writer_flag(writer, size ? "hicache-size" : "hicache-ratio",
                arena_printf(writer->arena, "%.10g", value));
}

void sglang_write_states(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    uint64_t copies = plan->memory.state_copies;
    const char *const formats[] = {"float32", "bfloat16", "float16"};
    const enum dtype kinds[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    if (plan->memory.attention_share == 1)
        writer_flag(writer, "attention-backend", "triton");
    for (unsigned i = 1; i < 3; i++)
        if (model_mixers(&plan->model, MIXER_LINEAR) && plan->model.linear.state == kinds[i])
            writer_flag(writer, "mamba-ssm-dtype", formats[i]);
    if (copies == 1)
        writer_flag(writer, "disable-radix-cache", NULL);
    else if (copies == 3)
        writer_flag(writer, "mamba-scheduler-strategy", "no_buffer");
    else if (copies == 4 || copies == 5)
        writer_flag(writer, "mamba-scheduler-strategy", "extra_buffer");
    if (copies == 4)
        writer_flag(writer, "disable-overlap-schedule", NULL);
}
