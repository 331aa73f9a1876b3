/* vLLM's drafts: --speculative-config and the flags that it has in single words, which take the
 * same names (config/speculative.py). */
#include <inttypes.h>
#include <string.h>

#include "plan/schema/schema.h"
#include "plan/serving/serving.h"
#include "plan/serving/vllm.h"
#include "plan/speculation.h"

static enum status check_draft_ranks(struct job *job)
{
    const char *flag = "speculative-config.draft_tensor_parallel_size";
    uint64_t tp = 1, own = 0;
    TRY(job_count(job, "tensor-parallel-size", &tp));
    TRY(job_count(job, flag, &own));
    if (own && own != tp)
        job_warn(job, job_setting(job, flag)->mark,
                 "a draft over %" PRIu64 " ranks of %" PRIu64 " matters to memory and is not "
                 "modelled: it is split as the model is, as vLLM's draft models have to be",
                 own, tp);
    return STATUS_OK;
}

/* Prediction modules that vLLM holds, whatever num_speculative_tokens says, which picks only
 * what runs them (config/speculative.py, use_multi_module_mtp). 0: not known. */
static enum status held_modules(struct job *job, uint64_t *held)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    TRY(job_part(job, "model", plan, &known));
    plan->stack.kind = STACK_VLLM;
    plan->model.mtp_enabled = true;
    *held = known ? plan_modules(plan) : 0;
    return STATUS_OK;
}

enum status vllm_draft_tokens(struct job *job, uint64_t *tokens)
{
    const char *method = NULL;
    uint64_t held;
    TRY(job_word(job, VLLM_DRAFT_METHOD, &method));
    TRY(job_count(job, VLLM_DRAFT_TOKENS, tokens));
    if (job_given(job, VLLM_DRAFT_TOKENS) || !method || text_equal(method, "suffix"))
        return STATUS_OK;
    TRY(held_modules(job, &held));
    if (strstr(method, "mtp"))
        *tokens = held;
    if (*tokens || strstr(method, "mtp"))
        return STATUS_OK;
    return job_fail(job, VLLM_DRAFT_METHOD,
                    "a draft without num_speculative_tokens, which vLLM refuses");
}

/* More tokens than modules are drafted in rounds of all modules (config/speculative.py, "must
 * be divisible by n_predict"). */
static enum status check_rounds(struct job *job, const struct serving_draft *draft)
{
    uint64_t held;
    TRY(held_modules(job, &held));
    if (held && draft->tokens > held && draft->tokens % held)
        return job_fail(job, draft->tokens_flag,
                        "%" PRIu64 " drafted tokens of %" PRIu64 " prediction modules, which "
                        "vLLM refuses: as many, fewer or a multiple",
                        draft->tokens, held);
    return STATUS_OK;
}

/* Without a method, a model is a draft (config/speculative.py). */
enum status vllm_set_draft(struct job *job, uint64_t tokens)
{
    const char *method = NULL, *model = NULL;
    struct serving_draft draft = {tokens,
                                  DRAFT_MODEL,
                                  job_given(job, VLLM_DRAFT_TOKENS) ? VLLM_DRAFT_TOKENS
                                                                    : VLLM_DRAFT_METHOD,
                                  "speculative-config.model",
                                  "speculative-config.quantization",
                                  "speculative-config.kv-cache-dtype"};
    TRY(job_word(job, VLLM_DRAFT_METHOD, &method));
    TRY(job_word(job, draft.model_flag, &model));
    if (!method && model &&
        text_equal(model, "[ngram]")) /* until 0.9, as --speculative-model */
        method = "ngram";
    if (method ? strstr(method, "mtp") != NULL : !job_given(job, draft.model_flag))
        draft.method = DRAFT_MTP;
    else if (method && text_equal(method, "dspark") && !job_given(job, draft.model_flag))
        draft.method = DRAFT_DSPARK;
    else if (method && (text_starts(method, "ngram") || text_equal(method, "suffix")))
        draft.method = DRAFT_NGRAM;
    if (tokens)
        TRY(check_draft_ranks(job));
    if (tokens && draft.method == DRAFT_MTP)
        TRY(check_rounds(job, &draft));
    return tokens ? serving_set_draft(job, &draft) : STATUS_OK;
}

void vllm_write_draft(struct job_writer *writer)
{
    static const char *const methods[] = {"ngram", "mtp", "draft_model", "dspark"};
    const struct workload *w = &writer->plan->workload;
    const struct speculation *s = &w->speculation;
    const char *path = serving_draft_path(writer->plan);
    uint64_t tokens = s->tokens ? s->tokens : w->tokens_per_sequence - 1;
    if (tokens)
        writer_count(writer, VLLM_DRAFT_TOKENS, tokens);
    if (!s->tokens || (s->method == DRAFT_MODEL && !path[0]))
        return;
    writer_flag(writer, VLLM_DRAFT_METHOD, methods[s->method]);
    if (s->method == DRAFT_MODEL)
        writer_flag(writer, "speculative-config.model", path);
    if (s->weights == DTYPE_FP8)
        writer_flag(writer, "speculative-config.quantization", "fp8");
    if (s->kv_cache == DTYPE_BF16 || s->kv_cache == DTYPE_FP8)
        writer_flag(writer, "speculative-config.kv-cache-dtype", words_dtype[s->kv_cache]);
}
