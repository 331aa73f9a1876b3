/* See step_draft.h. */
#include "sim/time/step_draft.h"

#include <math.h>

#include "plan/speculation.h"

/* Tokens of each sequence that a pass of the draft takes: a prompt, or all that a step
 * verified, once; one of every branch for each further token that it proposes (vLLM
 * v1/spec_decode/eagle.py, propose; SGLang speculative/eagle_worker.py, draft_forward). None
 * runs in halves (SGLang batch_overlap/two_batch_overlap.py, is_draft_worker; vLLM's proposers
 * have no micro-batches), or beside its exchanges (models/deepseek_v2.py, is_nextn). Layers of
 * a block draft all of it in the first pass (v1/worker/gpu/spec_decode/dspark). */
static void pass_plan(const struct plan *plan, enum draft_pass pass, struct plan *out)
{
    const struct workload *w = &plan->workload;
    plan_draft(plan, pass == DRAFT_FIRST ? w->tokens_per_sequence : w->speculation.branches,
               out);
    out->moe.overlap = out->moe.overlap_single = false;
}

static double passes_of(const struct plan *plan, enum draft_pass pass)
{
    bool decodes = plan->workload.mode == MODE_DECODE && !plan_drafts_blocks(plan);
    return pass == DRAFT_FIRST ? 1
           : decodes           ? (double)plan->workload.speculation.tokens - 1
                               : 0;
}

/* They have no routing of their own: balanced. */
enum status step_draft_build(struct stepper *s, const struct plan *plan,
                             const struct profile *profile, struct arena *arena,
                             struct err *err)
{
    struct plan *draft = arena_alloc(arena, DRAFT_PASSES, sizeof *draft);
    s->draft = arena_alloc(arena, DRAFT_PASSES, sizeof *s->draft);
    for (unsigned i = 0; i < DRAFT_PASSES; i++) {
        pass_plan(plan, (enum draft_pass)i, &draft[i]);
        s->draft[i] = (struct stepper){.routing = s->routing};
        TRY(stepper_build(&s->draft[i], &draft[i], profile, arena, err));
    }
    return STATUS_OK;
}

void step_draft_turn(struct stepper *s, const struct plan *plan)
{
    for (unsigned i = 0; i < DRAFT_PASSES; i++) {
        struct plan draft;
        pass_plan(plan, (enum draft_pass)i, &draft);
        stepper_turn(&s->draft[i], &draft);
    }
}

/* In what the step was composed in: that is no longer needed. */
static bool time_pass(struct stepper *s, enum draft_pass pass, struct step_time *out)
{
    struct stepper *draft = &s->draft[pass];
    struct plan plan;
    pass_plan(&s->plan, pass, &plan);
    stepper_follow(draft, &plan);
    draft->scratch = s->scratch;
    bool ok = stepper_time(draft, NULL, out);
    s->scratch = draft->scratch;
    draft->scratch = (struct arena){0};
    return ok;
}

static void add_passes(struct step_time *out, const struct step_time *draft, double passes)
{
    double *const longer[] = {&out->step_s,  &out->part_s[TIME_DRAFT],
                              &out->beat_s,  &out->first_s,
                              &out->least_s, &out->most_s};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        *longer[i] += passes * draft->step_s;
    out->executed_flop += passes * draft->executed_flop;
}

bool step_draft_add(struct stepper *s, struct step_time *out)
{
    for (unsigned i = 0; i < DRAFT_PASSES; i++) {
        double passes = passes_of(&s->plan, (enum draft_pass)i);
        struct step_time draft;
        if (passes > 0 && !time_pass(s, (enum draft_pass)i, &draft))
            return false;
        if (passes > 0)
            add_passes(out, &draft, passes);
    }
    return isfinite(out->step_s);
}
