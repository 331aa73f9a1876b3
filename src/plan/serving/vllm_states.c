/* vLLM's flags for the states of recurrent layers: their formats, and how many the prefix cache
 * keeps. Read at config/cache.py, layers/mamba/mamba_utils.py (MambaStateDtypeCalculator: the
 * state's auto is the columns' format) and models/config.py (MambaModelConfig: prefix caching
 * keeps all states of models that support it, Mamba's, and aligned ones of others);
 * for tables of n-grams that are in host memory; and for a second cache there (config/cache.py,
 * kv_offloading_size: GiB over all ranks of tensor parallelism and stages). */
#include <stdlib.h>

#include "base/unit.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "plan/serving/vllm.h"

static const char formats[] = "auto=none float32=f32 bfloat16=bf16 float16=f16";

static enum status set_format(struct job *job, const char *flag, const char *key)
{
    const char *said = NULL;
    TRY(job_word(job, flag, &said));
    const char *format = said ? job_convert(job, formats, said) : NULL;
    if (said && !format)
        return job_fail(job, flag, "takes auto, float32, bfloat16 or float16, not '%s'", said);
    if (said && !text_equal(format, "none"))
        job_set(job, key, format, flag);
    return STATUS_OK;
}

static bool is_mamba(const struct plan *plan)
{
    return plan->model.linear.kind == LINEAR_MAMBA2 || plan->model.linear.kind == LINEAR_MAMBA1;
}

/* none, all or align: as said, or as prefix caching has it. Releases that cache states by
 * default align those of all models, and keep no more where caching is off (MambaModelConfig).
 */
static enum status find_mode(struct job *job, const struct plan *plan, const char **mode)
{
    bool aligns = engine_release(plan)->caches_states, caching = engine_caches_states(plan);
    *mode = "none";
    TRY(job_switch(job, "enable-prefix-caching", &caching));
    if (caching || job_given(job, "mamba-block-size"))
        *mode = is_mamba(plan) && !aligns ? "all" : "align";
    TRY(job_word(job, "mamba-cache-mode", mode));
    if (!text_equal(*mode, "none") && !text_equal(*mode, "all") && !text_equal(*mode, "align"))
        return job_fail(job, "mamba-cache-mode", "takes none, all or align, not '%s'", *mode);
    if (aligns && caching == text_equal(*mode, "none"))
        *mode = caching ? "align" : "none";
    return STATUS_OK;
}

static enum status set_mode(struct job *job, const struct plan *plan, const char *mode)
{
    static const char flags[] = "mamba-block-size mamba-cache-mode enable-prefix-caching";
    bool aligned = text_equal(mode, "align");
    uint64_t block = 0;
    TRY(job_count(job, "mamba-block-size", &block));
    if (text_equal(mode, "all"))
        job_set_count(job, "memory.state_block", block ? block : plan->model.linear.chunk,
                      flags);
    else if (aligned != engine_caches_states(plan))
        job_set_count(job, "memory.state_copies", aligned ? 2 : 1, flags);
    return STATUS_OK;
}

enum status vllm_set_states(struct job *job)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    const char *mode;
    bool known;
    uint64_t block = 0;
    TRY(job_part(job, "model", plan, &known));
    TRY(job_count(job, "mamba-block-size", &block));
    if (block % 8 != 0)
        return job_fail(job, "mamba-block-size", "is a multiple of 8");
    if (!known || !model_mixers(&plan->model, MIXER_LINEAR))
        return STATUS_OK;
    TRY(set_format(job, "mamba-ssm-cache-dtype", "model.linear.state"));
    TRY(set_format(job, "mamba-cache-dtype", "model.linear.conv_state"));
    TRY(vllm_set_stack(job, plan));
    TRY(find_mode(job, plan, &mode));
    return set_mode(job, plan, mode);
}

void vllm_write_states(struct job_writer *writer)
{
    static const char *const words[] = {
        [DTYPE_F32] = "float32", [DTYPE_BF16] = "bfloat16", [DTYPE_F16] = "float16"};
    const struct plan *plan = writer->plan;
    const struct linear *l = &plan->model.linear;
    enum dtype columns = l->conv_state ? l->conv_state : plan->precision.activations;
    if (!model_mixers(&plan->model, MIXER_LINEAR))
        return;
    if (l->conv_state && l->conv_state <= DTYPE_F16)
        writer_flag(writer, "mamba-cache-dtype", words[l->conv_state]);
    if (l->state != columns && l->state && l->state <= DTYPE_F16)
        writer_flag(writer, "mamba-ssm-cache-dtype", words[l->state]);
    if (plan->memory.state_block) {
        writer_flag(writer, "mamba-cache-mode", "all");
        writer_count(writer, "mamba-block-size", plan->memory.state_block);
    } else if (engine_caches_states(plan)) {
        if (plan->memory.state_copies == 1)
            writer_flag(writer, "no-enable-prefix-caching", NULL);
    } else if (plan->memory.state_copies == 2) {
        writer_flag(writer, "mamba-cache-mode", "align");
    }
}

/* Before engram-config (0.30) a variable said it, of the release that brought the tables
 * (model_executor/layers/ple_offload_layer.py). */
enum status vllm_set_tables(struct job *job)
{
    static const char flag[] = "engram-config.cpu-offload", name[] = "VLLM_PLE_CPU_OFFLOAD";
    const struct shell_word *word = job_environment_word(job, name);
    bool away = false;
    TRY(job_switch(job, flag, &away));
    if (away)
        job_set(job, "memory.ngram_host", "true", flag);
    else if (word && !word->trouble && strtol(word->text, NULL, 10) != 0)
        draft_set(&job->draft, "memory.ngram_host", "true", word->mark, name);
    return STATUS_OK;
}

void vllm_write_tables(struct job_writer *writer)
{
    if (writer->plan->memory.ngram_host && writer->plan->model.ngram.tables)
        writer_flag(writer, "engram-config", "'{\"cpu_offload\": true}'");
}

enum status vllm_set_host_cache(struct job *job)
{
    double gib = 0;
    uint64_t ranks = job_drafted(job, "parallel.tp", 1) * job_drafted(job, "parallel.pp", 1);
    TRY(job_real(job, "kv-offloading-size", &gib));
    if (gib > 0 && gib < 1e6 && ranks)
        job_set(job, "memory.host_cache",
                arena_printf(job->arena, "%.0f B", gib * GIB / (double)ranks),
                "kv-offloading-size tensor-parallel-size pipeline-parallel-size");
    return STATUS_OK;
}

void vllm_write_host_cache(struct job_writer *writer)
{
    const struct parallel *p = &writer->plan->parallel;
    double bytes = (double)writer->plan->memory.host_cache_bytes * (double)(p->tp * p->pp);
    if (bytes > 0)
        writer_flag(writer, "kv-offloading-size",
                    arena_printf(writer->arena, "%.12g", bytes / GIB));
}
