/* vLLM's drafts: --speculative-config and the flags that it has in single words, which take the
 * same names (config/speculative.py). */
#include <inttypes.h>
#include <string.h>

#include "plan/schema/schema.h"
#include "plan/serving/serving.h"
#include "plan/serving/vllm.h"

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

/* Prediction modules of the model as a class of vLLM's holds them: all that config.json counts,
 * whatever num_speculative_tokens says, which picks only what runs them (config/speculative.py,
 * use_multi_module_mtp). In 0.11, 0.19 and 0.33 the same (models/deepseek_mtp.py,
 * glm4_moe_mtp.py, step3p5_mtp.py: num_mtp_layers), but of MiMo-V2 and LongCat the first alone
 * (mimo_v2_mtp.py, longcat_flash_mtp.py). 0: not known. */
static enum status held_modules(struct job *job, uint64_t *held, uint64_t *all)
{
    static const char *const first[] = {"mimo-v2", "longcat"};
    const struct draft_item *model = draft_find(&job->draft, "model");
    const char *name = model && model->n ? model->words[0] : "";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    TRY(job_part(job, "model", plan, &known));
    *held = *all = known ? plan->model.mtp_layers : 0;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (*all && text_starts(name, first[i]))
            *held = 1;
    return STATUS_OK;
}

enum status vllm_draft_tokens(struct job *job, uint64_t *tokens)
{
    const char *method = NULL;
    uint64_t held, all;
    TRY(job_word(job, VLLM_DRAFT_METHOD, &method));
    TRY(job_count(job, VLLM_DRAFT_TOKENS, tokens));
    if (job_given(job, VLLM_DRAFT_TOKENS) || !method || text_equal(method, "suffix"))
        return STATUS_OK;
    TRY(held_modules(job, &held, &all));
    if (strstr(method, "mtp"))
        *tokens = held;
    if (*tokens || strstr(method, "mtp"))
        return STATUS_OK;
    return job_fail(job, VLLM_DRAFT_METHOD,
                    "a draft without num_speculative_tokens, which vLLM refuses");
}

/* More tokens than modules are drafted in rounds of all modules (config/speculative.py, "must
 * be divisible by n_predict"). */
static enum status set_modules(struct job *job, const struct serving_draft *draft)
{
    uint64_t held, all;
    TRY(held_modules(job, &held, &all));
    if (held && draft->tokens > held && draft->tokens % held)
        return job_fail(job, draft->tokens_flag,
                        "%" PRIu64 " drafted tokens of %" PRIu64 " prediction modules, which "
                        "vLLM refuses: as many, fewer or a multiple",
                        draft->tokens, held);
    if (held < all)
        job_set_count(job, "model.mtp_layers", held, draft->tokens_flag);
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
    else if (method && (text_starts(method, "ngram") || text_equal(method, "suffix")))
        draft.method = DRAFT_NGRAM;
    if (tokens)
        TRY(check_draft_ranks(job));
    if (tokens && draft.method == DRAFT_MTP)
        TRY(set_modules(job, &draft));
    return tokens ? serving_set_draft(job, &draft) : STATUS_OK;
}

void vllm_write_draft(struct job_writer *writer)
{
    static const char *const methods[] = {"ngram", "mtp", "draft_model"};
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
