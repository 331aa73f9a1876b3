/* See frozen.h. */
#include "plan/frozen.h"

#include "plan/derive.h"
#include "plan/layers.h"

static bool names(const struct plan *plan, enum frozen_part part)
{
    const struct enum_list *list = &plan->frozen.modules;
    for (uint64_t i = 0; i < list->n; i++)
        if (list->value[i] == part)
            return true;
    return false;
}

bool plan_trains_one_layer(const struct plan *plan)
{
    return plan_is_huggingface(plan) && plan->workload.mode == MODE_TRAIN &&
           plan->lora.rank == 0 && plan->optimizer.one_layer;
}

bool plan_freezes(const struct plan *plan)
{
    bool has = plan_is_huggingface(plan) || plan_is_megatron(plan);
    bool some = plan->frozen.layers + plan->frozen.modules.n > 0;
    return has && plan->workload.mode == MODE_TRAIN && plan->lora.rank == 0 &&
           (some || plan_trains_one_layer(plan));
}

uint64_t plan_frozen_layers(const struct plan *plan)
{
    return plan_freezes(plan) ? plan->frozen.layers : 0;
}

bool plan_draws_layers(const struct plan *plan)
{
    const uint64_t n = plan->optimizer.active_layers;
    return plan->stack.kind == STACK_FSDP && plan->workload.mode == MODE_TRAIN &&
           plan->lora.rank == 0 && n > 0 && n < plan->model.layers;
}

bool plan_adapts_some(const struct plan *plan)
{
    bool has = plan_is_huggingface(plan) && plan->workload.mode == MODE_TRAIN;
    return has && plan->lora.rank > 0 &&
           (plan->lora.layers.n > 0 || (!plan->lora.language && plan->model.encoder.layers));
}

bool plan_adapts_layer(const struct plan *plan, uint64_t layer)
{
    const struct number_list *layers = &plan->lora.layers;
    if (!plan_adapts_some(plan))
        return true;
    if (!plan->lora.language && plan->model.encoder.layers)
        return false;
    for (uint64_t i = 0; i < layers->n; i++)
        if (layers->value[i] == layer)
            return true;
    return layers->n == 0;
}

/* Whether something before the first layer is trained beside the adapters, or experts of all
 * layers are: backward goes through all of them. */
static bool trains_below(const struct plan *plan)
{
    const struct enum_list *saved = &plan->lora.saved;
    for (uint64_t i = 0; i < saved->n; i++)
        if (saved->value[i] == SAVED_EMBED_TOKENS)
            return true;
    return plan->lora.encoder || plan_embeds_layers(plan) ||
           plan_lists(&plan->lora.targets, "experts.gate_up_proj") ||
           plan_lists(&plan->lora.targets, "experts.down_proj");
}

static uint64_t first_adapted(const struct plan *plan)
{
    uint64_t first = 0;
    if (plan->recompute.kind == RECOMPUTE_FULL || trains_below(plan))
        return 0;
    while (first + 1 < plan->model.layers && !plan_adapts_layer(plan, first))
        first++;
    return first;
}

uint64_t plan_first_back(const struct plan *plan)
{
    if (plan_adapts_some(plan))
        return first_adapted(plan);
    bool through = plan_is_megatron(plan) && plan->recompute.kind == RECOMPUTE_FULL;
    return through ? 0 : plan_frozen_layers(plan);
}

bool plan_freezes_part(const struct plan *plan, enum frozen_part part)
{
    if (!plan_freezes(plan))
        return false;
    bool one = plan_trains_one_layer(plan), tied = model_ties_head(&plan->model);
    bool embedding = one || names(plan, FROZEN_EMBED_TOKENS) || plan->frozen.layers > 0;
    bool head = one || names(plan, FROZEN_LM_HEAD);
    if (part == FROZEN_EMBED_TOKENS)
        return embedding || (tied && head);
    if (part == FROZEN_LM_HEAD)
        return head || (tied && embedding);
    return names(plan, part);
}
