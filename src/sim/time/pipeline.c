/* See pipeline.h. */
#include "sim/time/pipeline_play.h"

#include <math.h>

#include "base/checked.h"

bool pipeline_splits(const struct pipeline *p)
{
    return p->schedule == PIPELINE_ZERO_BUBBLE || p->schedule == PIPELINE_DUALPIPE;
}

/* ---- orders that are fixed ---- */

/* Micro-batches that go through a chunk in turn. */
static uint64_t group_of(const struct pipeline *p)
{
    return p->group > p->stages ? p->group : p->stages;
}

/* A stage's tasks in one direction: which of its chunks, which micro-batch. The same on every
 * stage: a group through each chunk in turn; the last group may be smaller. A
 * stage's rows at a place of this order come from its neighbour's at the same place, those of
 * the first stage from the last one's of the chunk before, `group` places back. */
struct place {
    uint64_t chunk, micro, group;
};

static const struct place *places_of(const struct pipeline *p, struct arena *arena)
{
    uint64_t n = 0;
    struct place *places =
        arena_alloc(arena, (size_t)(p->micro_batches * p->chunks) + 1, sizeof *places);
    uint64_t whole = p->chunks == 1 ? p->micro_batches : group_of(p);
    for (uint64_t first = 0; first < p->micro_batches; first += whole) {
        uint64_t group = lesser(whole, p->micro_batches - first);
        for (uint64_t chunk = 0; chunk < p->chunks; chunk++)
            for (uint64_t m = 0; m < group; m++)
                places[n++] = (struct place){chunk, first + m, group};
    }
    return places;
}

/* A stage in one direction: its tasks that have ended, and what they are made of. */
struct side {
    uint64_t n;
    double *end_s;           /* [places] when they ended */
    const struct side *from; /* the neighbour that its rows come from */
    bool wraps;              /* that is the other end of the pipeline */
    const double *task_s;    /* [chunks] what one of a place's chunk takes */
};

/* Where a stage is in its order. */
struct turn {
    struct side forward, backward;
    uint64_t warmup;
};

struct orders {
    struct play *y;
    const struct place *places;
    uint64_t n;
    struct turn *turns; /* [stages] */
    double send_s;
};

static uint64_t warmup(const struct pipeline *p, uint64_t stage)
{
    uint64_t all = p->micro_batches * p->chunks;
    if (p->schedule == PIPELINE_GPIPE || p->inference)
        return all;
    if (p->chunks > 1)
        return lesser(all, 2 * (p->stages - stage - 1) + (p->chunks - 1) * group_of(p));
    return lesser(all, p->stages - stage - 1);
}

#define NOT_YET (-(double)INFINITY)

/* When the rows of a side's next task are there. A backward's own forward has ended: a warm-up
 * is as many forwards ahead as its chunk is places away. */
static inline double rows_ready_s(const struct orders *o, const struct side *side)
{
    uint64_t at = side->n;
    if (side->wraps) {
        if (!o->places[at].chunk)
            return 0;
        at -= o->places[at].group;
    }
    return at < side->from->n ? side->from->end_s[at] + o->send_s : NOT_YET;
}

static void keep_place(const struct orders *o, uint64_t stage, bool forward, double begin_s,
                       double end_s)
{
    const struct pipeline *p = o->y->p;
    const struct turn *t = &o->turns[stage];
    const struct place *place = &o->places[forward ? t->forward.n : t->backward.n];
    uint64_t own = forward ? place->chunk : p->chunks - 1 - place->chunk;
    pipeline_keep(o->y, &(struct pipeline_task){forward ? TASK_FORWARD : TASK_BACKWARD, stage,
                                                own * p->stages + stage, place->micro, begin_s,
                                                end_s});
}

void pipeline_run_pair(struct play *y, const struct pipeline_pair *pair,
                       struct pipeline_task *f, struct pipeline_task *b, double *rows_s,
                       double *gradients_s)
{
    const struct pipeline *p = y->p;
    const uint64_t stage = f->stage;
    double forward_s = y->task_s[f->chunk];
    double turn_s = forward_s + y->task_s[y->chunks + b->chunk];
    double sends_s = p->stages > 1 && !p->overlapped ? 2 * p->send_s : 0;
    double s = pair->s + sends_s, begin = f->begin_s, end = begin + s;
    f->end_s = b->begin_s = begin + (turn_s > 0 ? s * forward_s / turn_s : 0);
    b->end_s = end;
    pipeline_keep(y, f);
    pipeline_keep(y, b);
    y->free_s[stage] = end;
    y->busy_s[stage] += s;
    y->saved[stage].s += turn_s - s;
    y->saved[stage].hidden_s += pair->hidden_s;
    *rows_s = end - (p->overlapped ? pair->rows_s : 0);
    *gradients_s = end - (p->overlapped ? pair->gradients_s : 0);
}

/* False while rows are on their way. */
static bool pair_run(const struct orders *o, uint64_t stage)
{
    struct turn *t = &o->turns[stage];
    struct play *y = o->y;
    const struct pipeline *p = y->p;
    struct side *f = &t->forward, *b = &t->backward;
    double rows = rows_ready_s(o, f), gradients = rows_ready_s(o, b);
    if (rows == NOT_YET || gradients == NOT_YET)
        return false;
    const struct place *ahead = &o->places[f->n], *behind = &o->places[b->n];
    uint64_t back = p->chunks - 1 - behind->chunk;
    struct pipeline_task forward = {
        .kind = TASK_FORWARD,
        .stage = stage,
        .chunk = pipeline_side_chunk(p, stage, ahead->chunk),
        .micro = ahead->micro,
        .begin_s = pipeline_later(pipeline_later(rows, gradients), y->free_s[stage])};
    struct pipeline_task backward = {.kind = TASK_BACKWARD,
                                     .stage = stage,
                                     .chunk = pipeline_side_chunk(p, stage, back),
                                     .micro = behind->micro};
    pipeline_run_pair(y, pipeline_pair_at(p, stage, ahead->chunk, back), &forward, &backward,
                      &f->end_s[f->n], &b->end_s[b->n]);
    f->n++;
    b->n++;
    return true;
}

/* A stage's next task in one direction; false while its rows are on their way. */
static inline bool side_run(const struct orders *o, uint64_t stage, bool forward)
{
    struct turn *t = &o->turns[stage];
    struct play *y = o->y;
    struct side *side = forward ? &t->forward : &t->backward;
    double ready = rows_ready_s(o, side);
    if (ready == NOT_YET)
        return false;
    double s = side->task_s[o->places[side->n].chunk];
    double begin = pipeline_later(ready, y->free_s[stage]), end = begin + s;
    y->free_s[stage] = side->end_s[side->n] = end;
    y->busy_s[stage] += s;
    if (y->tasks)
        keep_place(o, stage, forward, begin, end);
    side->n++;
    return true;
}

/* Runs a stage until it waits for rows or is done; whether it ran at all. */
static bool turn_run(const struct orders *o, uint64_t stage)
{
    struct turn *t = &o->turns[stage];
    const uint64_t n_backwards = o->y->p->inference ? 0 : o->n;
    for (bool ran = false;; ran = true) {
        bool forward = t->forward.n < o->n && t->forward.n - t->backward.n <= t->warmup;
        if ((!forward && t->backward.n == n_backwards) || !side_run(o, stage, forward))
            return ran;
    }
}

/* The same in pairs, once as many forwards are ahead; backwards alone when there are no more.
 */
static bool turn_run_paired(const struct orders *o, uint64_t stage)
{
    struct turn *t = &o->turns[stage];
    for (bool ran = false;; ran = true) {
        bool more = t->forward.n < o->n, alone = t->forward.n - t->backward.n <= t->warmup;
        if (t->backward.n == o->n)
            return ran;
        if (more && !alone ? !pair_run(o, stage) : !side_run(o, stage, more))
            return ran;
    }
}

static void turn_init(const struct orders *o, uint64_t stage, struct arena *arena)
{
    const struct play *y = o->y;
    const struct pipeline *p = y->p;
    struct turn *t = &o->turns[stage];
    bool first = stage == 0, last = stage + 1 == p->stages;
    double *end_s = arena_take(arena, 2 * o->n, sizeof *end_s);
    double *task_s = arena_take(arena, 2 * p->chunks, sizeof *task_s);
    for (uint64_t i = 0; i < p->chunks; i++) {
        uint64_t back = (p->chunks - 1 - i) * p->stages + stage;
        task_s[i] = y->task_s[i * p->stages + stage];
        task_s[p->chunks + i] = p->inference ? 0 : y->task_s[y->chunks + back];
    }
    t->warmup = warmup(p, stage);
    t->forward = (struct side){0, end_s, &o->turns[first ? p->stages - 1 : stage - 1].forward,
                               first, task_s};
    t->backward = (struct side){0, end_s + o->n, &o->turns[last ? 0 : stage + 1].backward, last,
                                task_s + p->chunks};
}

static void play_in_order(struct play *y, struct arena *arena)
{
    const struct pipeline *p = y->p;
    struct orders o = {.y = y,
                       .places = places_of(p, arena),
                       .n = p->micro_batches * p->chunks,
                       .turns = arena_alloc(arena, p->stages, sizeof *o.turns),
                       .send_s = p->stages > 1 && p->overlapped ? p->send_s : 0};
    for (uint64_t stage = 0; stage < p->stages; stage++)
        turn_init(&o, stage, arena);
    bool (*run)(const struct orders *, uint64_t) = p->pairs ? turn_run_paired : turn_run;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint64_t stage = 0; stage < p->stages; stage++)
            moved |= run(&o, stage);
    }
}

/* ---- all of it ---- */

static void summarise(const struct play *y, struct pipeline_times *out)
{
    const struct pipeline *p = y->p;
    *out = (struct pipeline_times){0};
    for (uint64_t s = 0; s < p->stages; s++) {
        out->end_s = fmax(out->end_s, y->free_s[s]);
        out->serial_s += y->busy_s[s];
        if (y->busy_s[s] <= out->busy_s)
            continue;
        out->busy_s = y->busy_s[s];
        out->busiest = s;
        out->saved = y->saved[s];
    }
    for (uint64_t c = 0; c < y->chunks; c++)
        for (unsigned kind = 0; kind < (p->inference ? 1u : 2u); kind++)
            out->one_s += pipeline_task_s(y, &(struct task){(enum task_kind)kind, c, 0});
}

static void play(const struct pipeline *p, struct arena *arena, struct pipeline_times *out)
{
    struct play y = {.p = p, .chunks = p->stages * p->chunks};
    unsigned kinds = p->inference ? 1 : pipeline_splits(p) ? TASK_KINDS : 2;
    size_t n = (size_t)(kinds * y.chunks * p->micro_batches);
    y.task_s = arena_alloc(arena, kinds * y.chunks, sizeof *y.task_s);
    y.free_s = arena_alloc(arena, p->stages, sizeof *y.free_s);
    y.busy_s = arena_alloc(arena, p->stages, sizeof *y.busy_s);
    y.saved = arena_alloc(arena, p->stages, sizeof *y.saved);
    y.tasks = p->record ? arena_alloc(arena, n, sizeof *y.tasks) : NULL;
    for (unsigned kind = 0; kind < kinds; kind++)
        for (uint64_t c = 0; c < y.chunks; c++)
            y.task_s[kind * y.chunks + c] =
                pipeline_task_s(&y, &(struct task){(enum task_kind)kind, c, 0});
    if (pipeline_splits(p) && !p->inference)
        pipeline_play_ready(&y, arena);
    else
        play_in_order(&y, arena);
    summarise(&y, out);
    out->tasks = y.tasks;
    out->n_tasks = y.n_tasks;
}

/* Micro-batches that are played; of more than these the last are like those before. */
enum { PLAYED = 1 << 16 };

/* ---- without playing ---- */

/* The most by which any pair of a stage is shorter than in turn: no two tasks are shorter by
 * more in all. */
static double most_saved_s(const struct play *y, uint64_t stage)
{
    const struct pipeline *p = y->p;
    const uint64_t sides = pipeline_sides(p);
    double most = 0, sends = p->stages > 1 && !p->overlapped ? 2 * p->send_s : 0;
    for (uint64_t f = 0; p->pairs && f < sides; f++)
        for (uint64_t b = 0; b < sides; b++) {
            const struct task ahead = {TASK_FORWARD, pipeline_side_chunk(p, stage, f), 0},
                              behind = {TASK_BACKWARD, pipeline_side_chunk(p, stage, b), 0};
            most = fmax(most, pipeline_task_s(y, &ahead) + pipeline_task_s(y, &behind) - sends -
                                  pipeline_pair_at(p, stage, f, b)->s);
        }
    return most;
}

/* Seconds of one micro-batch in a chunk, all its tasks; what its rows take forward, no less
 * beside another's. */
static double chunk_s(const struct play *y, uint64_t chunk, bool forward)
{
    const struct pipeline *p = y->p;
    double s = pipeline_task_s(y, &(struct task){TASK_FORWARD, chunk, 0});
    if (forward || p->inference)
        return s;
    s += pipeline_task_s(y, &(struct task){TASK_BACKWARD, chunk, 0});
    return s + (pipeline_splits(p) ? p->weight_s[chunk] : 0);
}

double pipeline_passes(const struct pipeline *p, uint64_t stage, uint64_t chunk)
{
    bool dual = p->schedule == PIPELINE_DUALPIPE && p->micro_batches > 1 && !p->inference;
    uint64_t other = dual ? p->micro_batches / 2 : 0;
    return (double)((chunk % p->stages == stage ? p->micro_batches - other : 0) +
                    (chunk % p->stages == p->stages - 1 - stage ? other : 0));
}

/* A stage has its chunks c with c mod stages; under DualPipe also that of the other end. The
 * first rows of any come through all chunks before its first one; where weight gradients do not
 * wait, the last ones go back through them. */
static void bound_whole(const struct pipeline *p, struct pipeline_times *out)
{
    const struct play y = {.p = p, .chunks = p->stages * p->chunks};
    bool dual = p->schedule == PIPELINE_DUALPIPE && p->micro_batches > 1 && !p->inference;
    double m = (double)p->micro_batches, send = p->overlapped ? p->send_s : 0;
    double half = floor((m + 1) / 2), head = 0, tail = 0, back = 0;
    *out = (struct pipeline_times){0};
    for (uint64_t s = 0; s < p->stages; s++) {
        double saved = most_saved_s(&y, s), ahead = chunk_s(&y, s, true);
        double own = chunk_s(&y, s, false) - saved;
        double busy = (dual ? half : m) * own;
        for (uint64_t c = s + p->stages; c < y.chunks; c += p->stages)
            busy += (dual ? half : m) * (chunk_s(&y, c, false) - saved);
        if (dual)
            busy += (m - half) * (chunk_s(&y, p->stages - 1 - s, false) - saved);
        bool ends = !p->inference && !pipeline_splits(p);
        out->end_s = fmax(out->end_s, busy + (dual ? 0 : head) + (ends ? tail : 0));
        out->serial_s += busy;
        if (busy > out->busy_s) {
            out->busy_s = busy;
            out->busiest = s;
        }
        head += ahead + send;
        tail += own - ahead + send;
    }
    for (uint64_t c = 0; c < y.chunks; c++) {
        back = p->inference ? 0 : pipeline_task_s(&y, &(struct task){TASK_BACKWARD, c, 0});
        out->one_s += chunk_s(&y, c, true) + back;
    }
    /* sums in another order than the play's */
    out->end_s = fmax(out->end_s, out->one_s) * (1 - 1e-9);
}

/* Micro-batches that the last group of an interleaved order lacks: one of fewer than stages
 * waits for itself. */
static uint64_t lacking(const struct pipeline *p)
{
    uint64_t over = p->chunks > 1 ? p->micro_batches % group_of(p) : 0;
    return over && over < p->stages ? group_of(p) - over : 0;
}

/* What tasks add up to, of fewer or more micro-batches. */
static void scale(struct pipeline_times *out, double share)
{
    double *const sums[] = {&out->busy_s, &out->serial_s, &out->saved.s, &out->saved.hidden_s};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] *= share;
}

void pipeline_bound(const struct pipeline *p, struct pipeline_times *out)
{
    struct pipeline whole = *p;
    whole.micro_batches += lacking(p);
    bound_whole(&whole, out);
    double share = (double)p->micro_batches / (double)whole.micro_batches;
    out->end_s = fmax(out->end_s * share, out->one_s * (1 - 1e-9));
    scale(out, share);
}

/* The tasks of more micro-batches than there are, within the time of those. */
static void squeeze(struct pipeline_times *out, double share)
{
    for (size_t i = 0; i < out->n_tasks; i++) {
        out->tasks[i].begin_s *= share;
        out->tasks[i].end_s *= share;
    }
}

static void play_whole(const struct pipeline *p, struct arena *arena,
                       struct pipeline_times *out)
{
    if (!lacking(p)) {
        play(p, arena, out);
        return;
    }
    /* interleaved orders need whole groups: one more is played, and its part of the whole taken
     * off, which keeps longer tasks from ending earlier */
    struct pipeline whole = *p;
    whole.micro_batches += lacking(p);
    play(&whole, arena, out);
    double share = (double)p->micro_batches / (double)whole.micro_batches, end = out->end_s;
    out->end_s = fmax(end * share, out->one_s);
    squeeze(out, end > 0 ? out->end_s / end : 1);
    scale(out, share);
}

void pipeline_play(const struct pipeline *p, struct arena *arena, struct pipeline_times *out)
{
    uint64_t round = 2 * group_of(p); /* both ends of DualPipe, interleaved groups */
    uint64_t most = PLAYED - PLAYED % round, less = most / 2 - most / 2 % round;
    if (p->record || p->micro_batches <= PLAYED || !less) {
        play_whole(p, arena, out);
        return;
    }
    /* behind its beginning a pipeline takes as long for each round as for the one before */
    struct pipeline part = *p;
    struct pipeline_times begun;
    part.micro_batches = less;
    play_whole(&part, arena, &begun);
    part.micro_batches = most;
    play_whole(&part, arena, out);
    double share = (double)p->micro_batches / (double)most;
    out->end_s +=
        (double)(p->micro_batches - most) * (out->end_s - begun.end_s) / (double)(most - less);
    scale(out, share);
}
