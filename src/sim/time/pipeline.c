/* See pipeline.h. */
#include "sim/time/pipeline.h"

#include <math.h>
#include <stddef.h>

#include "base/checked.h"

struct task {
    enum task_kind kind;
    uint64_t chunk, micro; /* chunk: of the model, in a token's order */
};

/* A chunk's tasks end at end_s[(kind chunks + chunk) micro + m]; NAN: not yet. */
struct play {
    const struct pipeline *p;
    uint64_t chunks; /* of the model */
    double *end_s;
    double *task_s;              /* [TASK_KINDS][chunks] what a task takes */
    double *free_s;              /* [stages] */
    double *busy_s;              /* [stages] */
    struct pipeline_task *tasks; /* NULL: not kept */
    size_t n_tasks;
};

static double *end_of(const struct play *y, enum task_kind kind, uint64_t chunk, uint64_t micro)
{
    return &y->end_s[((uint64_t)kind * y->chunks + chunk) * y->p->micro_batches + micro];
}

/* When its rows are there; NAN: not yet. */
static double ready_s(const struct play *y, const struct task *t)
{
    const struct pipeline *p = y->p;
    double send = p->stages > 1 && p->overlapped ? p->send_s : 0;
    bool last = t->chunk + 1 == y->chunks;
    if (t->kind == TASK_FORWARD)
        return t->chunk ? *end_of(y, TASK_FORWARD, t->chunk - 1, t->micro) + send : 0;
    if (t->kind == TASK_WEIGHT)
        return *end_of(y, TASK_BACKWARD, t->chunk, t->micro);
    double own = *end_of(y, TASK_FORWARD, t->chunk, t->micro);
    if (last)
        return own;
    double after = *end_of(y, TASK_BACKWARD, t->chunk + 1, t->micro) + send;
    return own > after || isnan(own) ? own : after; /* NAN when either is */
}

bool pipeline_splits(const struct pipeline *p)
{
    return p->schedule == PIPELINE_ZERO_BUBBLE || p->schedule == PIPELINE_DUALPIPE;
}

static double task_s(const struct play *y, const struct task *t)
{
    const struct pipeline *p = y->p;
    double send = p->stages > 1 && !p->overlapped && t->kind != TASK_WEIGHT ? p->send_s : 0;
    double weight = pipeline_splits(p) ? p->weight_s[t->chunk] : 0;
    switch (t->kind) {
    case TASK_FORWARD:
        return p->forward_s[t->chunk] + send;
    case TASK_BACKWARD:
        return p->backward_s[t->chunk] - weight + send;
    case TASK_WEIGHT:
    case TASK_KINDS:
        break;
    }
    return weight;
}

static void run(struct play *y, const struct task *t, uint64_t stage, double ready)
{
    double s = y->task_s[(uint64_t)t->kind * y->chunks + t->chunk];
    double begin = ready > y->free_s[stage] ? ready : y->free_s[stage];
    y->free_s[stage] = begin + s;
    y->busy_s[stage] += s;
    *end_of(y, t->kind, t->chunk, t->micro) = begin + s;
    if (y->tasks)
        y->tasks[y->n_tasks++] =
            (struct pipeline_task){t->kind, stage, t->chunk, t->micro, begin, begin + s};
}

/* ---- orders that are fixed ---- */

/* Where a stage is in its order: forwards and backwards done. */
struct turn {
    uint64_t forwards, backwards, warmup;
};

static uint64_t warmup(const struct pipeline *p, uint64_t stage)
{
    uint64_t all = p->micro_batches * p->chunks;
    if (p->schedule == PIPELINE_GPIPE || p->inference)
        return all;
    if (p->chunks > 1)
        return lesser(all, 2 * (p->stages - stage - 1) + (p->chunks - 1) * p->stages);
    return lesser(all, p->stages - stage - 1);
}

/* A stage's tasks in one direction: which of its chunks, which micro-batch. The same on every
 * stage: stages micro-batches through each chunk in turn; the last group may be smaller. */
struct step {
    uint64_t chunk, micro;
};

static const struct step *steps_of(const struct pipeline *p, struct arena *arena)
{
    uint64_t n = 0;
    struct step *steps =
        arena_alloc(arena, (size_t)(p->micro_batches * p->chunks) + 1, sizeof *steps);
    uint64_t group = p->chunks == 1 ? p->micro_batches : p->stages;
    for (uint64_t first = 0; first < p->micro_batches; first += group)
        for (uint64_t chunk = 0; chunk < p->chunks; chunk++)
            for (uint64_t m = first; m < lesser(first + group, p->micro_batches); m++)
                steps[n++] = (struct step){chunk, m};
    return steps;
}

/* A stage's next task; false when it is done. */
static bool next(const struct pipeline *p, const struct step *steps, uint64_t stage,
                 const struct turn *t, struct task *task)
{
    uint64_t all = p->micro_batches * p->chunks;
    bool forward = t->forwards < all &&
                   (t->forwards < t->warmup || t->forwards - t->backwards <= t->warmup);
    if (!forward && (p->inference || t->backwards == all))
        return false;
    const struct step *at = &steps[forward ? t->forwards : t->backwards];
    uint64_t chunk = forward ? at->chunk : p->chunks - 1 - at->chunk;
    *task = (struct task){forward ? TASK_FORWARD : TASK_BACKWARD, chunk * p->stages + stage,
                          at->micro};
    return true;
}

static void play_in_order(struct play *y, struct arena *arena)
{
    const struct pipeline *p = y->p;
    const struct step *steps = steps_of(p, arena);
    struct turn *turns = arena_alloc(arena, p->stages, sizeof *turns);
    struct task task;
    for (uint64_t stage = 0; stage < p->stages; stage++)
        turns[stage] = (struct turn){.warmup = warmup(p, stage)};
    for (bool moved = true; moved;) {
        moved = false;
        for (uint64_t stage = 0; stage < p->stages; stage++)
            while (next(p, steps, stage, &turns[stage], &task)) {
                double ready = ready_s(y, &task);
                if (isnan(ready))
                    break;
                run(y, &task, stage, ready);
                turns[stage].forwards += task.kind == TASK_FORWARD;
                turns[stage].backwards += task.kind == TASK_BACKWARD;
                moved = true;
            }
    }
}

/* ---- what is ready first ---- */

/* The next micro-batch of each kind, of each of a stage's two chunks. */
struct lane {
    uint64_t chunk, first, end; /* its micro-batches */
    uint64_t done[TASK_KINDS];
};

enum { LANES = 2 };

struct greedy {
    struct lane lane[LANES];
    uint64_t n;
};

static void lanes_of(const struct pipeline *p, uint64_t stage, struct greedy *g)
{
    uint64_t half = (p->micro_batches + 1) / 2;
    bool two = p->schedule == PIPELINE_DUALPIPE && p->micro_batches > 1;
    *g = (struct greedy){.n = two ? 2 : 1};
    g->lane[0] = (struct lane){.chunk = stage, .end = two ? half : p->micro_batches};
    g->lane[1] =
        (struct lane){.chunk = p->stages - 1 - stage, .first = half, .end = p->micro_batches};
}

static uint64_t alive(const struct lane *l)
{
    return l->done[TASK_FORWARD] - l->done[TASK_BACKWARD];
}

/* Most micro-batches alive of a lane: what memory counts with (work/piece/stage). */
static uint64_t most_alive(const struct pipeline *p, uint64_t stage, uint64_t lane)
{
    if (p->schedule != PIPELINE_DUALPIPE)
        return p->stages;
    return lane ? stage + 1 : p->stages - stage;
}

/* Of a stage's candidates the one that can begin first, at equal times a backward before a
 * forward before a weight gradient. */
static bool choose(const struct play *y, uint64_t stage, const struct greedy *g,
                   struct task *best, double *begin, uint64_t *lane)
{
    static const enum task_kind order[] = {TASK_BACKWARD, TASK_FORWARD, TASK_WEIGHT};
    *begin = (double)INFINITY;
    for (unsigned k = 0; k < TASK_KINDS; k++)
        for (uint64_t i = 0; i < g->n; i++) {
            const struct lane *l = &g->lane[i];
            struct task t = {order[k], l->chunk, l->first + l->done[order[k]]};
            if (t.micro >= l->end ||
                (t.kind == TASK_FORWARD && alive(l) >= most_alive(y->p, stage, i)))
                continue;
            double rows = ready_s(y, &t), ready = fmax(rows, y->free_s[stage]);
            if (isnan(rows) || ready >= *begin)
                continue;
            *begin = ready;
            *best = t;
            *lane = i;
        }
    return *begin < (double)INFINITY;
}

static void play_ready(struct play *y, struct arena *arena)
{
    const struct pipeline *p = y->p;
    struct greedy *stages = arena_alloc(arena, p->stages, sizeof *stages);
    for (uint64_t s = 0; s < p->stages; s++)
        lanes_of(p, s, &stages[s]);
    for (;;) {
        struct task first = {0}, t;
        double begin, earliest = (double)INFINITY;
        uint64_t at = 0, at_lane = 0, lane = 0;
        for (uint64_t s = 0; s < p->stages; s++)
            if (choose(y, s, &stages[s], &t, &begin, &lane) && begin < earliest) {
                earliest = begin;
                first = t;
                at = s;
                at_lane = lane;
            }
        if (earliest == (double)INFINITY)
            return;
        run(y, &first, at, earliest);
        stages[at].lane[at_lane].done[first.kind]++;
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
    }
    for (uint64_t c = 0; c < y->chunks; c++)
        for (unsigned kind = 0; kind < (p->inference ? 1u : 2u); kind++)
            out->one_s += task_s(y, &(struct task){(enum task_kind)kind, c, 0});
}

static void play(const struct pipeline *p, struct arena *arena, struct pipeline_times *out)
{
    struct play y = {.p = p, .chunks = p->stages * p->chunks};
    unsigned kinds = p->inference ? 1 : pipeline_splits(p) ? TASK_KINDS : 2;
    size_t n = (size_t)(kinds * y.chunks * p->micro_batches);
    y.end_s = arena_alloc(arena, n, sizeof *y.end_s);
    y.task_s = arena_alloc(arena, kinds * y.chunks, sizeof *y.task_s);
    y.free_s = arena_alloc(arena, p->stages, sizeof *y.free_s);
    y.busy_s = arena_alloc(arena, p->stages, sizeof *y.busy_s);
    y.tasks = p->record ? arena_alloc(arena, n, sizeof *y.tasks) : NULL;
    for (size_t i = 0; i < n; i++)
        y.end_s[i] = (double)NAN;
    for (unsigned kind = 0; kind < kinds; kind++)
        for (uint64_t c = 0; c < y.chunks; c++)
            y.task_s[kind * y.chunks + c] =
                task_s(&y, &(struct task){(enum task_kind)kind, c, 0});
    if (pipeline_splits(p) && !p->inference)
        play_ready(&y, arena);
    else
        play_in_order(&y, arena);
    summarise(&y, out);
    out->tasks = y.tasks;
    out->n_tasks = y.n_tasks;
}

/* ---- without playing ---- */

/* Seconds of one micro-batch in a chunk, all its tasks; what its rows take forward. */
static double chunk_s(const struct play *y, uint64_t chunk, bool forward)
{
    const struct pipeline *p = y->p;
    double s = task_s(y, &(struct task){TASK_FORWARD, chunk, 0});
    if (forward || p->inference)
        return s;
    s += task_s(y, &(struct task){TASK_BACKWARD, chunk, 0});
    return s + (pipeline_splits(p) ? p->weight_s[chunk] : 0);
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
        double busy = 0;
        for (uint64_t c = s; c < y.chunks; c += p->stages)
            busy += (dual ? half : m) * chunk_s(&y, c, false);
        if (dual)
            busy += (m - half) * chunk_s(&y, p->stages - 1 - s, false);
        bool ends = !p->inference && !pipeline_splits(p);
        out->end_s = fmax(out->end_s, busy + (dual ? 0 : head) + (ends ? tail : 0));
        out->serial_s += busy;
        if (busy > out->busy_s) {
            out->busy_s = busy;
            out->busiest = s;
        }
        head += chunk_s(&y, s, true) + send;
        tail += chunk_s(&y, s, false) - chunk_s(&y, s, true) + send;
    }
    for (uint64_t c = 0; c < y.chunks; c++) {
        back = p->inference ? 0 : task_s(&y, &(struct task){TASK_BACKWARD, c, 0});
        out->one_s += chunk_s(&y, c, true) + back;
    }
    /* sums in another order than the play's */
    out->end_s = fmax(out->end_s, out->one_s) * (1 - 1e-9);
}

void pipeline_bound(const struct pipeline *p, struct pipeline_times *out)
{
    uint64_t over = p->chunks > 1 ? p->micro_batches % p->stages : 0;
    struct pipeline whole = *p;
    whole.micro_batches += over ? p->stages - over : 0;
    bound_whole(&whole, out);
    double share = (double)p->micro_batches / (double)whole.micro_batches;
    out->end_s = fmax(out->end_s * share, out->one_s * (1 - 1e-9));
    out->busy_s *= share;
    out->serial_s *= share;
}

/* The tasks of more micro-batches than there are, within the time of those. */
static void squeeze(struct pipeline_times *out, double share)
{
    for (size_t i = 0; i < out->n_tasks; i++) {
        out->tasks[i].begin_s *= share;
        out->tasks[i].end_s *= share;
    }
}

void pipeline_play(const struct pipeline *p, struct arena *arena, struct pipeline_times *out)
{
    uint64_t over = p->chunks > 1 ? p->micro_batches % p->stages : 0;
    if (!over) {
        play(p, arena, out);
        return;
    }
    /* interleaved orders need whole groups: one more is played, and its part of the whole taken
     * off, which keeps longer tasks from ending earlier */
    struct pipeline whole = *p;
    whole.micro_batches += p->stages - over;
    play(&whole, arena, out);
    double share = (double)p->micro_batches / (double)whole.micro_batches, end = out->end_s;
    out->end_s = fmax(end * share, out->one_s);
    squeeze(out, end > 0 ? out->end_s / end : 1);
    out->busy_s *= share;
    out->serial_s *= share;
}
