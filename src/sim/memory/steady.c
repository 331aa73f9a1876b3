/* See steady.h. */
#include "sim/memory/steady.h"

#include <string.h>

#include "plan/derive.h"

enum { ASKED = 2 }; /* plans of a structure that are evaluated without */

static bool is_kept(const struct steady *steady)
{
    return steady->arena && steady->asked > ASKED;
}

void steady_next(struct steady *steady, uint64_t enough)
{
    steady->enough = enough;
    steady->beyond = false;
    if (steady->asked <= ASKED)
        steady->asked++;
}

/* ---- stages ---- */

/* Forgets the stages of another pipeline. */
static void same_pipeline(struct steady *s, const struct plan *plan)
{
    uint64_t pp = plan->parallel.pp, vpp = plan->parallel.vpp;
    uint64_t micro_batches = plan_micro_batches(plan);
    uint64_t group = plan_interleaved_group(plan, micro_batches);
    if (s->pp == pp && s->vpp == vpp && s->group == group && s->micro_batches == micro_batches)
        return;
    if (pp > s->stage_room) {
        s->of = arena_alloc(s->arena, pp, sizeof *s->of);
        s->stage_room = pp;
    }
    for (uint64_t i = 0; i < pp; i++)
        s->of[i].moments = 0;
    s->pp = pp;
    s->vpp = vpp;
    s->group = group;
    s->micro_batches = micro_batches;
}

void steady_book_open(struct steady_book *book, const struct plan *plan, struct arena *arena)
{
    book->arena = arena;
    book->of = arena_alloc(arena, plan->parallel.pp, sizeof *book->of);
}

/* Keeps stages in `of`, which has none yet. */
static void keep_stages(struct steady_stage *of, struct arena *arena, unsigned moments,
                        const struct stage *stages)
{
    of->moments = moments;
    if (of->moments > of->room) {
        of->stages = arena_take(arena, of->moments, sizeof *of->stages);
        of->room = of->moments;
    }
    memcpy(of->stages, stages, of->moments * sizeof *of->stages);
}

unsigned steady_stages(struct steady *s, const struct plan *plan, uint64_t index,
                       const struct params *params, struct stage room[STAGE_MOMENTS],
                       const struct stage **stages)
{
    struct arena *arena = s->arena;
    struct steady_stage *of;
    if (is_kept(s)) {
        same_pipeline(s, plan);
        of = s->of;
    } else if (s->book && s->book->of) {
        of = s->book->of;
        arena = s->book->arena;
    } else {
        *stages = room;
        return stage_moments(plan, index, params, room);
    }
    of += index;
    if (!of->moments)
        keep_stages(of, arena, stage_moments(plan, index, params, room), room);
    *stages = of->stages;
    return of->moments;
}

/* ---- sizes and sums ---- */

bool steady_sizes(struct steady *s, const struct work *work, const struct slots *slots,
                  uint64_t *values)
{
    if (!is_kept(s))
        return sizes_eval(&work->sizes, slots, values);
    return sizes_eval_moving(&work->sizes, &s->sizes, slots, s->arena, values);
}

void steady_fold(struct steady *s, const struct work *work, const uint64_t *values,
                 unsigned schedule, struct memory_peak *peak)
{
    if (!is_kept(s) || schedule >= STEADY_SCHEDULES) {
        memory_fold(work, values, schedule, peak);
        return;
    }
    if (s->turn[schedule] != s->sizes.turn) {
        s->turn[schedule] = s->sizes.turn;
        memory_keep(work, values, s->sizes.moves, schedule, s->arena, &s->kept[schedule]);
    }
    if (s->kept[schedule].usable)
        memory_fold_kept(&s->kept[schedule], values, peak);
    else
        memory_fold(work, values, schedule, peak);
}
