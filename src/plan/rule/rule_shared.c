/* What ranks of an engine may share out in attention: the tokens of a cache, and those of
 * prompts. */
#include <inttypes.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "plan/rule/rule_parts.h"
#include "plan/speculation.h"

static bool shares_cache(const struct plan *plan)
{
    return plan_is_engine(plan) && engine_cache_ranks(plan) > 1;
}

/* What SGLang keeps whole on every rank all the same (0.5.23 model_executor/
 * pool_configurator.py: the keys of an indexer, and a draft's cache). */
static bool keeps_whole(const struct plan *plan)
{
    return plan->stack.kind == STACK_SGLANG &&
           (plan->model.indexer.heads || plan_drafts_itself(plan));
}

/* vLLM config/parallel.py and config/model.py, verify_with_parallel_config: only ranks that
 * would hold the same keys and values share them out; with as many SGLang's
 * (configs/model_config.py, get_num_kv_heads) gain nothing. */
static bool sharing_broken(const struct plan *plan, char *text, char *hint)
{
    const struct attention *a = &plan->model.attention;
    uint64_t dcp = plan->parallel.dcp, tp = plan->parallel.tp, kv = a->kv_heads;
    bool grouped = a->kind == ATTENTION_GQA && kv > 0;
    rule_say(hint, "a divisor of tp; with grouped queries of tp / kv_heads too");
    if (tp % dcp != 0)
        rule_say(text, "dcp %" PRIu64 " does not divide tp %" PRIu64, dcp, tp);
    else if (grouped && (dcp > tp / kv || a->heads / kv % dcp != 0))
        rule_say(text,
                 "dcp %" PRIu64 ": tp %" PRIu64 " ranks over %" PRIu64
                 " key and value heads do not hold the same that often",
                 dcp, tp, kv);
    else if (a->window || a->chunk)
        rule_say(text, "dcp %" PRIu64 ": layers with a window share nothing out", dcp);
    else if (keeps_whole(plan))
        rule_say(text,
                 "dcp %" PRIu64 ": an indexer's keys and a module's cache are whole on every "
                 "rank of sglang, which is not modelled",
                 dcp);
    else
        return false;
    return true;
}

static bool shares_prompts(const struct plan *plan)
{
    bool sglang = plan->stack.kind == STACK_SGLANG && plan->workload.mode != MODE_TRAIN;
    return engine_prompt_ranks(plan) > 1 || (sglang && plan->parallel.attention_cp > 1);
}

/* vLLM 0.33 v1/worker/gpu/pcp_manager.py, validate_config. */
static bool vllm_shares_no_prompt(const struct plan *plan, char *text)
{
    const struct speculation *s = &plan->workload.speculation;
    const char *beside = plan->model.attention.kind != ATTENTION_MLA ? "models without MLA"
                         : plan->parallel.pp > 1                     ? "pipeline stages"
                         : plan->lora.slots                          ? "adapters"
                         : plan_runs_draft(plan)                     ? "a draft model"
                         : s->tokens && s->method != DRAFT_MTP       ? "such a draft"
                                                                     : NULL;
    if (beside)
        rule_say(text, "vllm splits no prompts over ranks (cp %" PRIu64 ") beside %s",
                 plan->parallel.cp, beside);
    else if (plan->parallel.dcp > 1)
        rule_say(text, "cp %" PRIu64 " beside dcp %" PRIu64 " is not modelled",
                 plan->parallel.cp, plan->parallel.dcp);
    return beside || plan->parallel.dcp > 1;
}

/* SGLang 0.5.23 arg_groups/parallel_hook.py, handle_context_parallelism; lora/lora_manager.py.
 */
static bool prompts_broken(const struct plan *plan, char *text, char *hint)
{
    const struct parallel *p = &plan->parallel;
    rule_say(hint, "parallel.%s: 1", plan->stack.kind == STACK_VLLM ? "cp" : "attention_cp");
    if (plan->stack.kind == STACK_VLLM)
        return vllm_shares_no_prompt(plan, text);
    if (p->tp % p->attention_cp != 0) {
        rule_say(text, "attention_cp %" PRIu64 " does not divide tp %" PRIu64, p->attention_cp,
                 p->tp);
        return true;
    }
    const char *beside = p->dcp > 1         ? "parallel.dcp"
                         : plan->lora.slots ? "adapters"
                         : p->pp > 1        ? "pipeline stages, which is not modelled"
                         : plan_has_linear(plan)
                             ? "layers with a recurrence, which is not modelled"
                             : NULL;
    if (beside)
        rule_say(text,
                 "sglang splits no prompts over ranks (attention_cp %" PRIu64 ") beside %s",
                 p->attention_cp, beside);
    return beside;
}

static const struct rule rules[] = {
    {.name = "cache-splits",
     .key = "parallel.dcp",
     .shape = RULE_OTHER,
     .applies = shares_cache,
     .broken = sharing_broken,
     .also = {"parallel.tp", "model.attention.kv_heads"}},
    {.name = "prompt-splits",
     .key = "parallel.attention_cp",
     .shape = RULE_OTHER,
     .applies = shares_prompts,
     .broken = prompts_broken,
     .also = {"parallel.cp", "parallel.tp"}},
};

const struct rule_set rule_set_shared = {rules, sizeof rules / sizeof *rules};
