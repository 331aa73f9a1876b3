/* Pipelines played event by event, over all stages, in the order that memory counts with
 * (work/piece/stage): every stage runs its tasks in turn, a task begins when its rows arrived.
 *
 * 1F1B and interleaved 1F1B follow Megatron's order, GPipe all forwards first. Where a forward
 * runs beside a backward, one more is in front of them, and the last backwards are alone
 * (Megatron schedules.py, get_pp_rank_microbatches; combined_1f1b.py). Zero-bubble
 * splits weight gradients off and fills gaps with them, DualPipe feeds micro-batches from both
 * ends, a forward beside a backward where both are ready: there a stage takes, of what is
 * ready, a backward first, then a forward while no more micro-batches than memory counts with
 * are alive, then a weight gradient (Qi et al. 2023; DeepSeek's DualPipe). Pure. */
#ifndef MOEPLAN_SIM_TIME_PIPELINE_H
#define MOEPLAN_SIM_TIME_PIPELINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "plan/plan.h"

enum task_kind { TASK_FORWARD, TASK_BACKWARD, TASK_WEIGHT, TASK_KINDS };

/* What a stage did; weight: the part of a backward that waited. */
struct pipeline_task {
    enum task_kind kind;
    uint64_t stage, chunk, micro; /* chunk: of the model, in a token's order */
    double begin_s, end_s;        /* a send that its stage waits for included */
};

/* A forward beside a backward (sim/time/paired.h): both, what of them is exchanges that are
 * hidden, and how long before their end the rows and the gradients are there to be sent. */
struct pipeline_pair {
    double s, hidden_s, rows_s, gradients_s;
};

struct pipeline {
    bool record; /* keep the tasks */
    enum pipeline_schedule schedule;
    uint64_t stages, chunks; /* pp; vpp where it interleaves, else 1 */
    uint64_t
        group; /* micro-batches that a chunk takes in turn, no fewer than stages; 0: those */
    uint64_t micro_batches;
    /* of one micro-batch, by chunk of the model in the order a token meets them [stages
     * chunks]; weight_s: the part of backward_s that can wait */
    const double *forward_s, *backward_s, *weight_s;
    const struct pipeline_pair *pairs; /* [stages][chunks][chunks] by the stage's own chunks of
                                        * the forward and of the backward, under DualPipe
                                        * [stages][2][2] by its own and the other end's; NULL:
                                        * in turn */
    double send_s;                     /* rows to the next stage */
    bool overlapped; /* a send beside computation; otherwise its stage waits */
    bool inference;  /* forward only */
};

struct pipeline_times {
    double end_s;
    double busy_s;              /* of the busiest stage, its sends included unless overlapped */
    uint64_t busiest;           /* that stage, from 0 */
    double serial_s;            /* all tasks one after the other */
    struct pipeline_pair saved; /* of that stage: what its pairs are shorter than in turn */
    double one_s; /* one micro-batch through all chunks, forward and back: a lower bound */
    struct pipeline_task *tasks; /* in the order they were played; NULL: not kept */
    size_t n_tasks;
};

/* How many micro-batches a stage takes through a chunk: those from the other end are
 * DualPipe's, through the chunk that stands there. */
double pipeline_passes(const struct pipeline *pipeline, uint64_t stage, uint64_t chunk);

/* Weight gradients are tasks of their own. */
bool pipeline_splits(const struct pipeline *pipeline);

/* Memory from the arena. At least one stage and micro-batch; of more than 65,536 the rest is
 * taken on at the pace of the last ones played, unless tasks are kept. */
void pipeline_play(const struct pipeline *pipeline, struct arena *arena,
                   struct pipeline_times *out);

/* The same without playing: busy_s, busiest, serial_s and one_s as they are (of pairs no
 * more than they are, and nothing saved), end_s no more than
 * what any order of the tasks takes (a stage's first rows come through those before it, its
 * last ones go back through them). No memory, and no time that grows with the micro-batches. */
void pipeline_bound(const struct pipeline *pipeline, struct pipeline_times *out);

#endif
