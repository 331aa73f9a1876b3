/* See run_step.h. */
#include "calib/run/run_step.h"

#include <inttypes.h>

#include "plan/engine.h"
#include "plan/pools.h"
#include "sim/serve/serve.h"

static const char *words(const struct plan *step, uint64_t all, const char *of,
                         struct arena *arena)
{
    uint64_t held = step->workload.micro_batch;
    if (step->workload.mode == MODE_PREFILL)
        return arena_printf(arena, "%" PRIu64 " prompts of %" PRIu64 " tokens", held,
                            step->workload.sequence_length);
    return arena_printf(arena, "decode of %" PRIu64 " sequence%s a rank, as predict has it%s",
                        held, held == 1 ? "" : "s",
                        held < all ? arena_printf(arena, ", of %" PRIu64 " %s", all, of) : "");
}

/* What a server does most: its decode steps, or the prompts that are all it has. */
static enum status take_served(struct plan *plan, struct arena *arena, const char **how,
                               struct err *err)
{
    struct plan *step = arena_alloc(arena, 1, sizeof *step);
    struct serve_load load;
    bool prompts = plan->workload.role == DUTY_PROMPTS;
    TRY(serve_load_of(plan, arena, &load, err));
    serve_step_plan(plan, prompts ? MODE_PREFILL : MODE_DECODE, load.sequences, step);
    *how = words(step, load.requests, "requests", arena);
    *plan = *step;
    return STATUS_OK;
}

static void take_held(struct plan *plan, struct arena *arena, const char **how)
{
    struct plan *room = arena_alloc(arena, 1, sizeof *room);
    const struct plan *held = serve_held(plan, room, NULL);
    uint64_t all = plan->workload.micro_batch;
    if (held == plan || held->workload.micro_batch == all)
        return;
    *how = words(held, all, "that are asked for: the others wait", arena);
    *plan = *held;
}

enum status run_take_step(struct plan *plan, struct arena *arena, const char **how,
                          struct err *err)
{
    struct plan *pool = arena_alloc(arena, 1, sizeof *pool);
    *how = NULL;
    if (!plan_is_engine(plan) || plan->workload.mode == MODE_TRAIN)
        return STATUS_OK;
    if (plan->prefill) {
        plan_pool(plan, DUTY_ANSWERS, plan_deployments(plan, DUTY_ANSWERS), pool);
        *plan = *pool;
    }
    if (plan->workload.mode == MODE_SERVE)
        return take_served(plan, arena, how, err);
    take_held(plan, arena, how);
    return STATUS_OK;
}
