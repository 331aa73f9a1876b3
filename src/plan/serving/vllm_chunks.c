/* Chunks that a launch's environment sets (vLLM envs.py): the tokens that fused experts take at
 * once, and those of a round of the low-latency dispatch. Later releases read neither
 * (engines.md 1.1). */
#include <string.h>

#include "plan/engine.h"
#include "plan/serving/vllm.h"

/* What the user says, or the image's tag; "": that of the stack's file. */
static const char *version_of(const struct job *job)
{
    static const char key[] = "stack.version";
    const struct draft_item *item = draft_find(job->asked, key);
    for (size_t i = 0; i < job->request->n_sets; i++)
        if (text_equal(job->request->sets[i].key, key))
            return job->request->sets[i].value;
    item = item ? item : draft_find(&job->draft, key);
    return item && item->n ? item->words[0] : "";
}

enum status vllm_set_stack(struct job *job, struct plan *plan)
{
    struct plan *stack = arena_alloc(job->arena, 1, sizeof *stack);
    const char *version = version_of(job);
    TRY(job_part_named(job, "stack", job->framework->stack, job_place(job), stack));
    plan->stack = stack->stack;
    if (version[0])
        snprintf(plan->stack.version, sizeof plan->stack.version, "%s", version);
    return STATUS_OK;
}

enum status vllm_release(struct job *job, const struct engine_release **release)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    TRY(vllm_set_stack(job, plan));
    *release = engine_release(plan);
    return STATUS_OK;
}

static enum status set_chunk(struct job *job, const char *name, const char *key, bool is_read)
{
    const struct shell_word *word = job_environment_word(job, name);
    if (!word)
        return STATUS_OK;
    if (!is_read) {
        job_warn(job, word->mark,
                 "'%s' is of earlier releases, and not counted: --set stack.version=0.11, if "
                 "this is one",
                 name);
        return STATUS_OK;
    }
    if (word->text[0] && strspn(word->text, "0") == strlen(word->text))
        return err_at(job->err, word->mark, "'%s' is from 1 on, not 0", name);
    draft_set(&job->draft, key, word->text, word->mark, name);
    return STATUS_OK;
}

/* Experts behind DeepEP are a modular kernel, which asks first whether to cut at all; others
 * cut whatever it says (fused_moe/modular_kernel.py, fused_moe.py). */
static bool cuts(const struct job *job, const char *path)
{
    static const char name[] = "VLLM_ENABLE_FUSED_MOE_ACTIVATION_CHUNKING";
    const struct shell_word *word = job_environment_word(job, name);
    return !word || !text_equal(word->text, "0") || !text_starts(path, "deepep");
}

enum status vllm_set_chunks(struct job *job, const char *path)
{
    const struct engine_release *release;
    TRY(vllm_release(job, &release));
    if (release->expert_chunk && !cuts(job, path)) {
        draft_set_count(&job->draft, "moe.expert_tokens", 1000000000, (struct mark){0},
                        "VLLM_ENABLE_FUSED_MOE_ACTIVATION_CHUNKING");
    } else {
        TRY(set_chunk(job, "VLLM_FUSED_MOE_CHUNK_SIZE", "moe.expert_tokens",
                      release->expert_chunk > 0));
    }
    if (!text_equal(path, "deepep_ll"))
        return STATUS_OK;
    return set_chunk(job, "VLLM_MOE_DP_CHUNK_SIZE", "moe.dispatch_tokens",
                     release->low_latency_tokens > 0);
}
