/* See frozen.h. */
#include "plan/frozen.h"

#include "plan/derive.h"

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

uint64_t plan_first_back(const struct plan *plan)
{
    bool through = plan_is_megatron(plan) && plan->recompute.kind == RECOMPUTE_FULL;
    return through ? 0 : plan_frozen_layers(plan);
}

bool plan_freezes_part(const struct plan *plan, enum frozen_part part)
{
    if (!plan_freezes(plan))
        return false;
    bool one = plan_trains_one_layer(plan), tied = plan->model.tied_embeddings;
    bool embedding = one || names(plan, FROZEN_EMBED_TOKENS) || plan->frozen.layers > 0;
    bool head = one || names(plan, FROZEN_LM_HEAD);
    if (part == FROZEN_EMBED_TOKENS)
        return embedding || (tied && head);
    if (part == FROZEN_LM_HEAD)
        return head || (tied && embedding);
    return names(plan, part);
}
