/* See run_share.h. */
#include "calib/run/run_share.h"

#include <inttypes.h>

#include "base/text.h"
#include "plan/derive.h"

static void add(struct text *text, const char *name, uint64_t whole, uint64_t part,
                const char *axis, uint64_t ranks)
{
    if (whole == part)
        return;
    text_printf(text, "%s%s %" PRIu64 " -> %" PRIu64 " (%s %" PRIu64 ")",
                text->length ? ", " : "", name, whole, part, axis, ranks);
}

const char *run_share(const struct plan *plan, struct arena *arena)
{
    struct text text = {.arena = arena};
    const struct model *model = &plan->model;
    add(&text, "expert width", model->moe.intermediate, plan_expert_width(plan), "etp",
        plan->parallel.etp);
    add(&text, "shared width", model->moe.shared_intermediate, plan_shared_width(plan), "tp",
        plan->parallel.tp);
    add(&text, "width beside", model->residual_intermediate, plan_residual_width(plan), "tp",
        plan->parallel.tp);
    if (!text.length || plan->block.kind != BLOCK_MOE) /* a matmul is performed on all ranks */
        return NULL;
    text_printf(&text, "; the sum over these ranks is not performed");
    return text_string(&text);
}
