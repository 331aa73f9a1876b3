/* SGLang's flags for CUDA graphs, of answers and of prompts. Read at 0.5.23
 * arg_groups/cuda_graph_hook.py, parse_cuda_graph_config: switches, below them words for one
 * phase, below these --cuda-graph-config; the later holds. */
#include "plan/serving/serving.h"
#include "plan/serving/sglang.h"

/* full, breakable, disabled; before 0.5.23 tc_piecewise */
static const char backends[] =
    "full=full breakable=partial tc_piecewise=partial piecewise=partial disabled=none";

static enum status set_switch(struct job *job, const char *flag, const char *key,
                              const char *word)
{
    bool on = false;
    TRY(job_switch(job, flag, &on));
    if (on)
        job_set(job, key, word, flag);
    return STATUS_OK;
}

static enum status set_backend(struct job *job, const char *flag, const char *key)
{
    const char *word = NULL;
    TRY(job_word(job, flag, &word));
    const char *graphs = word ? job_convert(job, backends, word) : NULL;
    if (word && !graphs)
        return job_fail(job, flag, "takes full, breakable or disabled, not '%s'", word);
    if (graphs)
        job_set(job, key, graphs, flag);
    return STATUS_OK;
}

/* Of a list the largest, which the engine takes in place of the other number. */
static enum status set_largest(struct job *job, const char *most_flag, const char *list_flag,
                               const char *key)
{
    uint64_t most = 0, largest = 0;
    TRY(job_count(job, most_flag, &most));
    TRY(serving_largest(job, list_flag, &largest));
    if (most || largest)
        job_set_count(job, key, largest ? largest : most, largest ? list_flag : most_flag);
    return STATUS_OK;
}

enum status sglang_set_graphs(struct job *job)
{
    static const char answers[] = "stack.graphs", prompts[] = "stack.prompt_graphs";
    bool all = false, decode = false;
    TRY(job_switch(job, "disable-cuda-graph", &all));
    TRY(job_switch(job, "disable-decode-cuda-graph", &decode));
    if (decode && !all)
        job_set(job, prompts, "partial", "disable-decode-cuda-graph");
    TRY(set_switch(job, "disable-cuda-graph", answers, "none"));
    TRY(set_switch(job, "disable-decode-cuda-graph", answers, "none"));
    TRY(set_switch(job, "enable-piecewise-cuda-graph", prompts, "partial"));
    TRY(set_switch(job, "disable-prefill-cuda-graph", prompts, "none"));
    TRY(set_backend(job, "cuda-graph-config.decode.backend", answers));
    TRY(set_backend(job, "cuda-graph-config.prefill.backend", prompts));
    TRY(set_largest(job, "cuda-graph-max-bs", "cuda-graph-bs", "stack.graph_batch"));
    TRY(set_largest(job, "cuda-graph-config.decode.max-bs", "cuda-graph-config.decode.bs",
                    "stack.graph_batch"));
    return set_largest(job, "cuda-graph-config.prefill.max-bs", "cuda-graph-config.prefill.bs",
                       "stack.prompt_graph_tokens");
}

void sglang_write_graphs(struct job_writer *writer)
{
    static const char *const words[] = {
        [GRAPHS_NONE] = "disabled", [GRAPHS_PARTIAL] = "breakable", [GRAPHS_FULL] = "full"};
    const struct stack *stack = &writer->plan->stack;
    if (stack->graphs == GRAPHS_NONE)
        writer_flag(writer, "disable-cuda-graph", NULL);
    if (stack->graphs == GRAPHS_PARTIAL || stack->graphs == GRAPHS_FULL)
        writer_flag(writer, "cuda-graph-backend-decode", words[stack->graphs]);
    if (stack->prompt_graphs != GRAPHS_AUTO)
        writer_flag(writer, "cuda-graph-backend-prefill", words[stack->prompt_graphs]);
    if (stack->prompt_graph_tokens)
        writer_count(writer, "cuda-graph-max-bs-prefill", stack->prompt_graph_tokens);
}
