/* TensorRT-LLM's settings for a server that has a part of requests, for graphs of prompts and
 * for a second cache in host memory. Read at llmapi/llm_args.py 00043967
 * (CacheTransceiverConfig, TorchLlmArgs, KvCacheConfig) and commands/serve.py. */
#include <inttypes.h>

#include "plan/layers.h"
#include "plan/serving/serving.h"
#include "plan/serving/trtllm.h"

/* The C++ transceiver holds buffers, the Python one sends in place: which of them runs is said,
 * or follows: the first with other backends than NIXL, and in releases that gave its buffers a
 * size. */
static enum status holds_buffers(struct job *job, bool *holds)
{
    const char *backend = "", *runtime = "";
    static const char size[] = "cache-transceiver-config.max-tokens-in-buffer";
    TRY(job_word(job, "cache-transceiver-config.backend", &backend));
    TRY(job_word(job, "cache-transceiver-config.transceiver-runtime", &runtime));
    bool own = text_equal(backend, "UCX") || text_equal(backend, "MPI") ||
               text_equal(backend, "MOONCAKE") || text_equal(backend, "ucx") ||
               text_equal(backend, "mpi") || text_equal(backend, "mooncake");
    bool python = text_equal(runtime, "PYTHON") || text_equal(runtime, "B10");
    *holds = !python && (own || text_equal(runtime, "CPP") || job_given(job, size));
    return STATUS_OK;
}

/* By the server's word, or the step that it is planned for. */
static enum status set_role(struct job *job)
{
    static const char roles[] = "context=prompts CONTEXT=prompts prefill=prompts "
                                "generation=answers GENERATION=answers decode=answers";
    static const char origin[] =
        "server-role disaggregation-mode cache-transceiver-config.backend";
    const char *said = NULL;
    bool holds;
    TRY(job_word(job, "disaggregation-mode", &said));
    TRY(job_word(job, "server-role", &said));
    TRY(holds_buffers(job, &holds));
    const char *role = said ? job_convert(job, roles, said) : NULL;
    if (holds)
        job_set(job, "workload.role", role ? role : "answers", origin);
    return STATUS_OK;
}

/* Whole blocks (cacheTransBuffer.cpp). */
static enum status set_buffers(struct job *job)
{
    static const char flag[] = "cache-transceiver-config.max-tokens-in-buffer";
    uint64_t tokens = 0, block = 32;
    TRY(job_count(job, flag, &tokens));
    TRY(job_count(job, "kv-cache-config.tokens-per-block", &block));
    if (block && tokens % block != 0)
        return job_fail(job, flag,
                        "%" PRIu64 " tokens are no multiple of a block's %" PRIu64
                        ", which TensorRT-LLM refuses",
                        tokens, block);
    if (tokens)
        job_set_count(job, "memory.transfer_tokens", tokens, flag);
    return STATUS_OK;
}

static enum status set_prompt_graphs(struct job *job)
{
    static const char list[] = "prefill-capture-num-tokens",
                      word_flag[] = "prefill-cuda-graph-backend",
                      older[] = "torch-compile-config.enable-piecewise-cuda-graph";
    const char *word = NULL;
    bool pieces = false;
    uint64_t most = 0;
    TRY(job_word(job, word_flag, &word));
    TRY(job_switch(job, older, &pieces));
    TRY(serving_largest(job, list, &most));
    const char *graphs =
        word ? job_convert(job, "disabled=none piecewise=partial breakable=partial", word)
             : NULL;
    if (word && !graphs)
        return job_fail(job, word_flag, "takes disabled, piecewise or breakable, not '%s'",
                        word);
    if (graphs || pieces)
        job_set(job, "stack.prompt_graphs", graphs ? graphs : "partial",
                graphs ? word_flag : older);
    if (most)
        job_set_count(job, "stack.prompt_graph_tokens", most, list);
    return STATUS_OK;
}

/* _torch/pyexecutor/_util.py, configure_kv_cache_capacity: at most so many bytes, of what a
 * cache of images' rows leaves; mapping.py, pp_layers: layers of each stage. */
static enum status set_pool(struct job *job)
{
    static const char bytes_flag[] = "kv-cache-config.max-gpu-total-bytes",
                      stages_flag[] = "pp-partition",
                      images_flag[] = "multimodal-config.encoder-cache-max-bytes";
    const struct setting *stages = job_setting(job, stages_flag);
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    uint64_t most = 0, images = 0;
    bool known;
    TRY(job_count(job, images_flag, &images));
    TRY(job_part(job, "model", plan, &known));
    if (images && known && plan->model.encoder.layers)
        job_set(job, "memory.reserve", arena_printf(job->arena, "%" PRIu64 " B", images),
                images_flag);
    TRY(job_count(job, bytes_flag, &most));
    if (most)
        job_set(job, "memory.cache_bytes", arena_printf(job->arena, "%" PRIu64 " B", most),
                bytes_flag);
    if (stages && stages->n && !stages->trouble)
        job_set_list(job, "parallel.stages", stages->values, stages->n, stages_flag);
    return STATUS_OK;
}

/* Of recurrent layers (llmapi/llm_args.py, KvCacheConfig.mamba_ssm_cache_dtype). */
static enum status set_states(struct job *job)
{
    static const char flag[] = "kv-cache-config.mamba-ssm-cache-dtype";
    const char *format = "auto";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    TRY(job_word(job, flag, &format));
    TRY(job_part(job, "model", plan, &known));
    const char *state = job_convert(job, "float32=f32 bfloat16=bf16 float16=f16", format);
    if (!state && !text_equal(format, "auto"))
        return job_fail(job, flag, "takes auto, float32, bfloat16 or float16, not '%s'",
                        format);
    if (state && known && model_mixers(&plan->model, MIXER_LINEAR))
        job_set(job, "model.linear.state", state, flag);
    return STATUS_OK;
}

enum status trtllm_set_parts(struct job *job)
{
    static const char host[] = "kv-cache-config.host-cache-size",
                      text_flag[] = "disable-mm-encoder";
    uint64_t bytes = 0;
    bool text = false;
    TRY(set_role(job));
    TRY(set_buffers(job));
    TRY(set_prompt_graphs(job));
    TRY(job_count(job, host, &bytes));
    TRY(job_switch(job, text_flag, &text));
    TRY(set_pool(job));
    TRY(set_states(job));
    if (bytes)
        job_set(job, "memory.host_cache", arena_printf(job->arena, "%" PRIu64 " B", bytes),
                host);
    if (text)
        job_set_count(job, "workload.encoder.limit", 0, text_flag);
    return serving_set_overrides(job, "model-kwargs");
}

static void write_pool(struct job_writer *writer)
{
    static const char *const formats[] = {"float32", "bfloat16", "float16"};
    static const enum dtype kinds[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    const struct plan *plan = writer->plan;
    if (plan->memory.cache_bytes)
        writer_count(writer, "kv-cache-config.max-gpu-total-bytes", plan->memory.cache_bytes);
    if (plan->parallel.stages.n)
        writer_setting(writer, "pp_partition", writer_value(writer, "parallel.stages"));
    for (size_t i = 0; i < 3 && model_mixers(&plan->model, MIXER_LINEAR); i++)
        if (plan->model.linear.state == kinds[i])
            writer_flag(writer, "kv-cache-config.mamba-ssm-cache-dtype", formats[i]);
}

void trtllm_write_parts(struct job_writer *writer)
{
    static const char *const words[] = {[GRAPHS_NONE] = "disabled",
                                        [GRAPHS_PARTIAL] = "piecewise",
                                        [GRAPHS_FULL] = "piecewise"};
    const struct plan *plan = writer->plan;
    if (plan->workload.role != DUTY_ALL) {
        writer_flag(writer, "server-role",
                    plan->workload.role == DUTY_PROMPTS ? "context" : "generation");
        writer_flag(writer, "cache-transceiver-config.backend", "DEFAULT");
        writer_flag(writer, "cache-transceiver-config.transceiver-runtime", "CPP");
    }
    if (plan->memory.transfer_tokens)
        writer_count(writer, "cache-transceiver-config.max-tokens-in-buffer",
                     plan->memory.transfer_tokens);
    if (plan->stack.prompt_graphs != GRAPHS_AUTO)
        writer_flag(writer, "prefill-cuda-graph-backend", words[plan->stack.prompt_graphs]);
    if (plan->stack.prompt_graph_tokens)
        writer_flag(
            writer, "prefill-capture-num-tokens",
            arena_printf(writer->arena, "[%" PRIu64 "]", plan->stack.prompt_graph_tokens));
    write_pool(writer);
    if (plan->memory.host_cache_bytes)
        writer_count(writer, "kv-cache-config.host-cache-size", plan->memory.host_cache_bytes);
    if (!plan->workload.encoder.limit)
        writer_flag(writer, "disable-mm-encoder", "true");
}
