/* A pipeline being played: what its orders that are fixed (pipeline.c) and those of what is
 * ready first (pipeline_ready.c) share. */
#ifndef MOEPLAN_SIM_TIME_PIPELINE_PLAY_H
#define MOEPLAN_SIM_TIME_PIPELINE_PLAY_H

#include <stddef.h>

#include "sim/time/pipeline.h"

struct task {
    enum task_kind kind;
    uint64_t chunk, micro; /* chunk: of the model, in a token's order */
};

struct play {
    const struct pipeline *p;
    uint64_t chunks;             /* of the model */
    double *task_s;              /* [TASK_KINDS][chunks] what a task takes */
    double *free_s;              /* [stages] */
    double *busy_s;              /* [stages] */
    struct pipeline_pair *saved; /* [stages] */
    struct pipeline_task *tasks; /* NULL: not kept */
    size_t n_tasks;
};

static inline double pipeline_task_s(const struct play *y, const struct task *t)
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

/* Chunks whose forwards and backwards a stage may pair: its own, under DualPipe that of the
 * other end as the second. */
static inline uint64_t pipeline_sides(const struct pipeline *p)
{
    return p->schedule == PIPELINE_DUALPIPE ? 2 : p->chunks;
}

/* Such a chunk's place in the model. */
static inline uint64_t pipeline_side_chunk(const struct pipeline *p, uint64_t stage,
                                           uint64_t side)
{
    if (p->schedule == PIPELINE_DUALPIPE)
        return side ? p->stages - 1 - stage : stage;
    return side * p->stages + stage;
}

static inline const struct pipeline_pair *
pipeline_pair_at(const struct pipeline *p, uint64_t stage, uint64_t forward, uint64_t backward)
{
    const uint64_t sides = pipeline_sides(p);
    return &p->pairs[(stage * sides + forward) * sides + backward];
}

static inline void pipeline_keep(struct play *y, const struct pipeline_task *task)
{
    if (y->tasks)
        y->tasks[y->n_tasks++] = *task;
}

static inline double pipeline_later(double x, double y)
{
    return x > y ? x : y;
}

/* A stage runs both beside each other from begin_s on (their times are set here), drawn one
 * behind the other; sets when the rows and the gradients are there: behind both where the stage
 * waits for its sends. */
void pipeline_run_pair(struct play *play, const struct pipeline_pair *pair,
                       struct pipeline_task *forward, struct pipeline_task *backward,
                       double *rows_s, double *gradients_s);

/* Zero-bubble's and DualPipe's tasks. What a stage ends is waited for by itself and its
 * neighbours alone. */
void pipeline_play_ready(struct play *play, struct arena *arena);

#endif
