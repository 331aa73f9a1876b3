/* What is ready first; see pipeline_play.h. */
#include <math.h>

#include "sim/time/pipeline_play.h"

/* A chunk's tasks end at end_s[(kind chunks + chunk) micro + m]; NAN: not yet. */
struct ready {
    struct play *y;
    double *end_s;
    double send_s;
    struct choice *choices; /* [stages] */
};

static double *end_of(const struct ready *r, enum task_kind kind, uint64_t chunk,
                      uint64_t micro)
{
    return &r->end_s[((uint64_t)kind * r->y->chunks + chunk) * r->y->p->micro_batches + micro];
}

/* When its rows are there; NAN: not yet. */
static double ready_s(const struct ready *r, const struct task *t)
{
    double send = r->send_s;
    bool last = t->chunk + 1 == r->y->chunks;
    if (t->kind == TASK_FORWARD)
        return t->chunk ? *end_of(r, TASK_FORWARD, t->chunk - 1, t->micro) + send : 0;
    if (t->kind == TASK_WEIGHT)
        return *end_of(r, TASK_BACKWARD, t->chunk, t->micro);
    double own = *end_of(r, TASK_FORWARD, t->chunk, t->micro);
    if (last)
        return own;
    double after = *end_of(r, TASK_BACKWARD, t->chunk + 1, t->micro) + send;
    return own > after || isnan(own) ? own : after; /* NAN when either is */
}

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

/* A stage's task that is next; begin_s infinite: none is ready. */
struct choice {
    struct greedy lanes;
    struct task task;
    double begin_s;
    uint64_t lane;
};

/* Of a stage's candidates the one that can begin first, at equal times a backward before a
 * forward before a weight gradient. */
static void choose(const struct ready *r, uint64_t stage, struct choice *c)
{
    static const enum task_kind order[] = {TASK_BACKWARD, TASK_FORWARD, TASK_WEIGHT};
    const struct play *y = r->y;
    c->begin_s = (double)INFINITY;
    for (unsigned k = 0; k < TASK_KINDS; k++)
        for (uint64_t i = 0; i < c->lanes.n; i++) {
            const struct lane *l = &c->lanes.lane[i];
            struct task t = {order[k], l->chunk, l->first + l->done[order[k]]};
            if (t.micro >= l->end ||
                (t.kind == TASK_FORWARD && alive(l) >= most_alive(y->p, stage, i)))
                continue;
            double rows = ready_s(r, &t), begin = fmax(rows, y->free_s[stage]);
            if (isnan(rows) || begin >= c->begin_s)
                continue;
            c->begin_s = begin;
            c->task = t;
            c->lane = i;
        }
}

/* Returns when it ends. */
static double run(struct play *y, const struct task *t, uint64_t stage, double ready)
{
    double s = y->task_s[(uint64_t)t->kind * y->chunks + t->chunk];
    double begin = pipeline_later(ready, y->free_s[stage]), end = begin + s;
    y->free_s[stage] = end;
    y->busy_s[stage] += s;
    pipeline_keep(y, &(struct pipeline_task){t->kind, stage, t->chunk, t->micro, begin, end});
    return end;
}

/* The forward that may run beside a stage's next backward: of the other direction before its
 * own (DualPipe dualpipe.py, _forward_backward_chunk). NULL: none is ready when that begins. */
static struct lane *partner(const struct ready *r, uint64_t stage, struct choice *c)
{
    const struct pipeline *p = r->y->p;
    if (!p->pairs || c->lanes.n < LANES || c->task.kind != TASK_BACKWARD)
        return NULL;
    for (uint64_t i = 0; i < LANES; i++) {
        uint64_t side = i ? c->lane : 1 - c->lane;
        struct lane *l = &c->lanes.lane[side];
        struct task t = {TASK_FORWARD, l->chunk, l->first + l->done[TASK_FORWARD]};
        if (t.micro < l->end && alive(l) < most_alive(p, stage, side) &&
            ready_s(r, &t) <= c->begin_s) /* not NAN */
            return l;
    }
    return NULL;
}

static void run_both(const struct ready *r, uint64_t stage, const struct choice *c,
                     const struct lane *l)
{
    struct pipeline_task forward = {.kind = TASK_FORWARD,
                                    .stage = stage,
                                    .chunk = l->chunk,
                                    .micro = l->first + l->done[TASK_FORWARD],
                                    .begin_s = c->begin_s},
                         backward = {.kind = TASK_BACKWARD,
                                     .stage = stage,
                                     .chunk = c->task.chunk,
                                     .micro = c->task.micro};
    const struct pipeline_pair *pair =
        pipeline_pair_at(r->y->p, stage, (uint64_t)(l - c->lanes.lane), c->lane);
    pipeline_run_pair(r->y, pair, &forward, &backward,
                      end_of(r, TASK_FORWARD, forward.chunk, forward.micro),
                      end_of(r, TASK_BACKWARD, backward.chunk, backward.micro));
}

static uint64_t earliest(const struct ready *r)
{
    uint64_t at = 0;
    for (uint64_t s = 1; s < r->y->p->stages; s++)
        if (r->choices[s].begin_s < r->choices[at].begin_s)
            at = s;
    return at;
}

void pipeline_play_ready(struct play *y, struct arena *arena)
{
    const struct pipeline *p = y->p;
    size_t n = (size_t)(TASK_KINDS * y->chunks * p->micro_batches);
    struct ready r = {.y = y,
                      .end_s = arena_take(arena, n, sizeof *r.end_s),
                      .send_s = p->stages > 1 && p->overlapped ? p->send_s : 0,
                      .choices = arena_alloc(arena, p->stages, sizeof *r.choices)};
    for (size_t i = 0; i < n; i++)
        r.end_s[i] = (double)NAN;
    for (uint64_t s = 0; s < p->stages; s++) {
        lanes_of(p, s, &r.choices[s].lanes);
        choose(&r, s, &r.choices[s]);
    }
    for (;;) {
        uint64_t at = earliest(&r);
        struct choice *c = &r.choices[at];
        if (c->begin_s == (double)INFINITY)
            return;
        struct lane *beside = partner(&r, at, c);
        if (beside)
            run_both(&r, at, c, beside);
        else
            *end_of(&r, c->task.kind, c->task.chunk, c->task.micro) =
                run(y, &c->task, at, c->begin_s);
        if (beside)
            beside->done[TASK_FORWARD]++;
        c->lanes.lane[c->lane].done[c->task.kind]++;
        for (uint64_t s = at ? at - 1 : 0; s <= at + 1 && s < p->stages; s++)
            choose(&r, s, &r.choices[s]);
    }
}
