/* Drafts of engines' launches: what proposes tokens, of which sizes and in which formats. */
#include "plan/serving/serving.h"

#include "plan/schema/schema.h"

/* Of a draft model; a module's are the model's (SGLang arg_groups/serving_hook.py,
 * handle_missing_default_values, and mem_cache/kv_cache_dtype.py; vLLM config/speculative.py).
 */
static enum status set_format(struct job *job, const struct serving_draft *draft,
                              const char *flag, const char *key,
                              const char *(*format_of)(const struct job *, const char *))
{
    const char *word = NULL;
    if (flag)
        TRY(job_word(job, flag, &word));
    if (!word || text_equal(word, "auto") || text_equal(word, "None"))
        return STATUS_OK;
    const char *format = text_equal(word, "unquant") ? "bf16" : format_of(job, word);
    if (format && draft->method == DRAFT_MODEL)
        job_set(job, key, format, flag);
    else if (draft->method != DRAFT_NGRAM)
        job_warn(job, job_setting(job, flag)->mark,
                 "'%s' of a %s matters to memory and is not modelled", word,
                 format ? "module, which has the model's formats," : "draft");
    return STATUS_OK;
}

static enum status set_formats(struct job *job, const struct serving_draft *draft)
{
    TRY(set_format(job, draft, draft->weights_flag, "workload.speculation.weights",
                   serving_quantized));
    return set_format(job, draft, draft->cache_flag, "workload.speculation.kv_cache",
                      serving_cache_format);
}

/* Why a draft cannot be said in a plan; NULL: it can. */
static enum status refuse_draft(struct job *job, const struct serving_draft *draft,
                                const char **why)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    TRY(job_part(job, "model", plan, &known));
    *why = NULL;
    if (draft->method == DRAFT_MTP && !(known && plan->model.mtp_layers))
        *why = "moeplan knows no prediction module of this model: its weights matter to memory "
               "and are not modelled";
    else if (draft->method == DRAFT_DSPARK && !(known && plan->model.dspark.layers))
        *why =
            "moeplan knows no layers of this model that draft blocks: their weights matter to "
            "memory and are not modelled";
    else if (draft->method != DRAFT_NGRAM && job_drafted(job, "parallel.pp", 1) > 1)
        *why = "a draft beside pipeline stages matters to memory and is not modelled";
    return STATUS_OK;
}

enum status serving_set_draft(struct job *job, const struct serving_draft *draft)
{
    const char *why = NULL, *path = NULL, *name = NULL;
    struct mark mark = job_setting(job, draft->tokens_flag)->mark;
    TRY(refuse_draft(job, draft, &why));
    if (why) {
        job_warn(job, mark, "%s", why);
        return STATUS_OK;
    }
    job_set_count(job, "workload.speculation.tokens", draft->tokens, draft->tokens_flag);
    job_set(job, "workload.speculation.method", words_draft[draft->method], draft->tokens_flag);
    TRY(set_formats(job, draft));
    if (draft->method != DRAFT_MODEL)
        return STATUS_OK;
    TRY(job_word(job, draft->model_flag, &path));
    name = path ? model_name_from(NAMES_HUB, path, job->arena) : NULL;
    if (name)
        job_set(job, "workload.speculation.model", name, draft->model_flag);
    else
        job_warn(job, mark,
                 "the draft's checkpoint is not known here: its weights and cache matter to "
                 "memory; give workload.speculation.layers and the sizes beside it");
    return STATUS_OK;
}

const char *serving_draft_path(const struct plan *plan)
{
    const struct speculation *s = &plan->workload.speculation;
    const char *path = s->model[0] ? model_name_to(NAMES_HUB, s->model) : NULL;
    return path ? path : s->model;
}
