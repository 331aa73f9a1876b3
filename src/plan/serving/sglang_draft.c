/* Drafts of SGLang's launches: algorithms, steps and modules (arg_groups/speculative_hook.py).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "plan/schema/schema.h"
#include "plan/serving/serving.h"
#include "plan/serving/sglang.h"

/* NEXTN, and EAGLE without a draft, run the model's own module (server_args.py). */
static enum draft_method method_of(struct job *job, const char *algorithm)
{
    bool model = job_given(job, "speculative-draft-model-path");
    if (text_equal(algorithm, "NGRAM"))
        return DRAFT_NGRAM;
    if (text_equal(algorithm, "DSPARK") && !model)
        return DRAFT_DSPARK;
    bool module = text_equal(algorithm, "NEXTN") || (text_equal(algorithm, "EAGLE") && !model);
    return module ? DRAFT_MTP : DRAFT_MODEL;
}

/* EAGLE's draft has the model's embedding and head, of a map's words a head of its own;
 * EAGLE-3's the embedding, and a map of its own (speculative/eagle_worker_v2.py, init_token_map
 * and init_lm_head). How many words a map has is in its file; published ones say it in their
 * names. */
static enum status set_ends_of_draft(struct job *job, const char *algorithm)
{
    static const char map[] = "speculative-token-map", shares[] = "workload.speculation.shares";
    bool eagle = text_equal(algorithm, "EAGLE"), third = text_equal(algorithm, "EAGLE3");
    const char *file = NULL;
    TRY(job_word(job, map, &file));
    if (eagle || third)
        job_set(job, shares, third || file ? "embedding" : "ends", "speculative-algorithm");
    if (!file || !eagle)
        return STATUS_OK;
    const char *end = strrchr(file, '.'), *from = end ? end : file + strlen(file);
    while (from > file && from[-1] >= '0' && from[-1] <= '9')
        from--;
    uint64_t words = strtoull(from, NULL, 10);
    if (words)
        job_set_count(job, "workload.speculation.vocab", words, map);
    else
        job_warn(job, job_setting(job, map)->mark,
                 "how many words '%s' keeps matters to memory: workload.speculation.vocab says "
                 "it",
                 file);
    return STATUS_OK;
}

static const char steps_flag[] = "speculative-num-steps",
                  verified_flag[] = "speculative-num-draft-tokens",
                  block_flag[] = "speculative-dspark-block-size";

/* A block is drafted in one step, whatever --speculative-num-steps says, and verified with one
 * token more (speculative_hook.py, _handle_dspark). */
static enum status read_block(struct job *job, uint64_t *verified)
{
    uint64_t block = 0;
    TRY(job_count(job, verified_flag, verified));
    TRY(job_count(job, block_flag, &block));
    if (!block)
        return STATUS_OK;
    *verified = block + 1;
    job_set_count(job, "workload.tokens_per_sequence", *verified, block_flag);
    return STATUS_OK;
}

/* Steps of a draft, and tokens that a step of the model verifies, one more where the draft is
 * no tree. Where a launch says neither: 3 and 4 of modules and of whole models, 5 and 8 of
 * Llama's and Grok's drafts, which have none (speculative_hook.py, _handle_eagle_family,
 * _auto_choose_speculative_params). */
static enum status read_steps(struct job *job, const char *algorithm, uint64_t *steps,
                              uint64_t *verified)
{
    enum draft_method method = method_of(job, algorithm);
    bool auto_steps = method == DRAFT_MTP || text_equal(algorithm, "STANDALONE");
    uint64_t width = 0;
    if (method == DRAFT_DSPARK)
        return read_block(job, verified);
    TRY(job_count(job, verified_flag, verified));
    TRY(job_count(job, steps_flag, steps));
    TRY(job_count(job, "speculative-eagle-topk", &width));
    if (auto_steps && !job_given(job, steps_flag) && !job_given(job, verified_flag))
        *steps = 3;
    bool chain = width == 1 || !job_given(job, steps_flag);
    if (method == DRAFT_NGRAM || !*steps || !chain || *verified == *steps + 1)
        return STATUS_OK;
    if (job_given(job, verified_flag))
        job_warn(job, job_setting(job, verified_flag)->mark,
                 "SGLang verifies a token more than --speculative-num-steps where "
                 "--speculative-eagle-topk is 1: %" PRIu64,
                 *steps + 1);
    *verified = *steps + 1;
    job_set_count(job, "workload.tokens_per_sequence", *verified,
                  "speculative-num-steps speculative-algorithm");
    return STATUS_OK;
}

/* Prediction modules in memory: the first, or one a step with multi-layer EAGLE, which MiMo-V2
 * and Step-3.5, whose modules have windows, have by default (0.5.23
 * speculative/multi_layer_eagle_worker_v2.py, draft_runners;
 * arg_groups/model_overrides/mimo_v2.py, overrides.py). */
static enum status set_modules(struct job *job, const char *algorithm, uint64_t steps)
{
    static const char flag[] = "enable-multi-layer-eagle";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known, several = false;
    TRY(job_part(job, "model", plan, &known));
    TRY(job_switch(job, flag, &several));
    bool drafts_by_layers = known && plan->model.mtp_window && text_equal(algorithm, "EAGLE");
    several = several || drafts_by_layers;
    uint64_t modules = several ? lesser(steps, plan->model.mtp_layers) : 1;
    if (known && plan->model.mtp_layers > 1)
        job_set_count(job, "model.mtp_layers", modules,
                      "enable-multi-layer-eagle speculative-num-steps speculative-algorithm");
    return STATUS_OK;
}

/* The last token of a step is the model's own; a tree has more of them than steps. */
enum status sglang_set_draft(struct job *job)
{
    const char *algorithm = "";
    uint64_t verified = 0, steps = 0;
    TRY(job_word(job, "speculative-algorithm", &algorithm));
    if (algorithm[0])
        TRY(read_steps(job, algorithm, &steps, &verified));
    const char *told = job_given(job, verified_flag) ? verified_flag
                       : job_given(job, block_flag)  ? block_flag
                       : job_given(job, steps_flag)  ? steps_flag
                                                     : "speculative-algorithm";
    const struct serving_draft draft = {steps && steps < verified ? steps : verified - 1,
                                        method_of(job, algorithm),
                                        told,
                                        "speculative-draft-model-path",
                                        "speculative-draft-model-quantization",
                                        "speculative-draft-kv-cache-dtype"};
    if (verified > 1 && algorithm[0]) {
        TRY(serving_set_draft(job, &draft));
        if (draft.method == DRAFT_MTP)
            TRY(set_modules(job, algorithm, draft.tokens));
        return draft.method == DRAFT_MODEL ? set_ends_of_draft(job, algorithm) : STATUS_OK;
    }
    if (algorithm[0])
        job_warn(job, job_setting(job, "speculative-algorithm")->mark,
                 "a draft without --speculative-num-draft-tokens matters to memory and is not "
                 "modelled");
    return STATUS_OK;
}

void sglang_write_draft(struct job_writer *writer)
{
    static const char *const algorithms[] = {"NGRAM", "NEXTN", "STANDALONE", "DSPARK"};
    const struct speculation *s = &writer->plan->workload.speculation;
    const char *path = serving_draft_path(writer->plan);
    if (!s->tokens || (s->method == DRAFT_MODEL && !path[0]))
        return;
    writer_flag(writer, "speculative-algorithm", algorithms[s->method]);
    writer_count(writer, s->method == DRAFT_DSPARK ? block_flag : steps_flag, s->tokens);
    if (s->method == DRAFT_MODEL)
        writer_flag(writer, "speculative-draft-model-path", path);
    if (s->weights == DTYPE_FP8)
        writer_flag(writer, "speculative-draft-model-quantization", "fp8");
    if (s->kv_cache == DTYPE_BF16 || s->kv_cache == DTYPE_FP8)
        writer_flag(writer, "speculative-draft-kv-cache-dtype",
                    s->kv_cache == DTYPE_FP8 ? "fp8_e4m3" : "bf16");
}
