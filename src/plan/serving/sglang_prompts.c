/* Prompts whose tokens some ranks of tp share out in attention (--attn-cp-size with
 * --enable-prefill-cp). Of DeepSeek's models SGLang sets more than it is asked for (0.5.23
 * arg_groups/model_overrides/deepseek_v2.py and deepseek_v4_hook.py). */
#include <inttypes.h>

#include "plan/serving/serving.h"
#include "plan/serving/sglang.h"

static const char ranks_flag[] = "attn-cp-size", on_flag[] = "enable-prefill-cp",
                  older_flag[] = "enable-nsa-prefill-context-parallel",
                  all_flags[] = "attn-cp-size enable-prefill-cp "
                                "enable-nsa-prefill-context-parallel";

/* Tokens in turn, where heads may be split, too; else two runs of a prompt each. */
static enum status takes_turns(struct job *job, bool *turns)
{
    const char *strategy = "zigzag", *older = "in-seq-split";
    TRY(job_word(job, "cp-strategy", &strategy));
    TRY(job_word(job, "nsa-prefill-cp-mode", &older));
    *turns = text_equal(strategy, "interleave") || text_equal(older, "round-robin-split");
    return STATUS_OK;
}

/* What models of DeepSeek's kinds run with: all ranks of a replica, dense networks whole on
 * each, and DeepEP. */
static enum status set_layout(struct job *job, uint64_t replica, bool older,
                              struct sglang_prompts *prompts)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known, turns, asked = prompts->ranks > 1;
    TRY(takes_turns(job, &turns));
    TRY(job_part(job, "model", plan, &known));
    enum attention_kind kind = plan->model.attention.kind;
    bool latent = known && kind == ATTENTION_MLA, shared = known && kind == ATTENTION_SHARED_KV;
    bool sparse = latent && plan->model.indexer.heads > 0;
    if (shared || (sparse && !(turns && asked)) || (older && !asked))
        prompts->ranks = replica; /* others say how many, or share nothing out */
    prompts->spreads = latent && !(sparse && turns);
    prompts->dense_whole = shared || prompts->spreads;
    return STATUS_OK;
}

enum status sglang_set_prompts(struct job *job, uint64_t replica,
                               struct sglang_prompts *prompts)
{
    bool on = false, older = false;
    *prompts = (struct sglang_prompts){.ranks = 1};
    TRY(job_switch(job, on_flag, &on));
    TRY(job_switch(job, older_flag, &older));
    TRY(serving_degree(job, ranks_flag, &prompts->ranks));
    if (on || older)
        TRY(set_layout(job, replica, older, prompts));
    else if (prompts->ranks > 1)
        job_warn(job, job_setting(job, ranks_flag)->mark,
                 "without --enable-prefill-cp every rank of --attn-cp-size has whole prompts, "
                 "which matters to time and is not modelled: they are shared out here");
    if (replica % prompts->ranks != 0)
        return job_fail(job, ranks_flag,
                        "%" PRIu64 " does not divide the %" PRIu64 " ranks of a replica of "
                        "attention",
                        prompts->ranks, replica);
    if (prompts->ranks > 1)
        job_set_count(job, "parallel.attention_cp", prompts->ranks, all_flags);
    return STATUS_OK;
}

/* Tokens in turn where an indexer or a compressor chooses: the others' launches run two parts
 * of a prompt. */
void sglang_write_prompts(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    bool turns = plan->model.indexer.heads || plan->model.attention.kind == ATTENTION_SHARED_KV;
    if (plan->parallel.attention_cp <= 1)
        return;
    writer_count(writer, "attn-cp-size", plan->parallel.attention_cp);
    writer_flag(writer, "enable-prefill-cp", NULL);
    writer_flag(writer, "cp-strategy", turns ? "interleave" : "zigzag");
}
