/* See step_spans.h. The ops of one task stand in task_spans.c. */
#include "sim/time/step_spans.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/time/shards.h"
#include "sim/time/task_spans.h"

static const char *const streams[] = {
#define SPAN_STREAM_TEXT(name, text) text,
    SPAN_STREAM_LIST(SPAN_STREAM_TEXT)
#undef SPAN_STREAM_TEXT
};

const char *span_stream_name(enum span_stream stream)
{
    return streams[stream];
}

enum time_part span_part(const struct stepper *s, const struct span *span)
{
    if (span->stream == SPAN_HOST)
        return TIME_HOST;
    if (span->stream == SPAN_SENDS || span->stream == SPAN_RETURNS)
        return TIME_PIPELINE;
    if (span->number == SIZE_MAX)
        return TIME_FIXED;
    const struct op *op = &s->work.ops[span->number];
    return stretch_part(price_item(op, s->values), op->group);
}

static void list_init(struct span_list *out, uint64_t stages)
{
    const char **ranks = arena_alloc(out->arena, stages, sizeof *ranks);
    for (uint64_t i = 0; i < stages; i++)
        ranks[i] = stages == 1 ? "a rank"
                               : arena_printf(out->arena, "a rank of stage %" PRIu64, i + 1);
    out->streams = streams;
    out->ranks = ranks;
    out->n_ranks = stages;
}

/* ---- tasks ---- */

struct builder {
    const struct step_parts *parts;
    struct span_list *out;
    struct span_list *task;    /* [chunks][TASK_KINDS] their ops, begun at 0 */
    uint64_t chunks, detailed; /* micro-batches whose ops are there */
    double begin_s;            /* of the pipeline */
    double *sent_s;            /* [stages][2] when a link of overlapped sends is free */
};

static struct span_list *task_of(const struct builder *b, uint64_t chunk, enum task_kind kind)
{
    return &b->task[chunk * TASK_KINDS + kind];
}

/* Ops of every task; how many spans one micro-batch has. */
static size_t fill_tasks(struct builder *b)
{
    const struct pipeline *p = &b->parts->pipe;
    bool weights = pipeline_splits(p);
    size_t n = 0;
    b->task = arena_alloc(b->out->arena, b->chunks * TASK_KINDS, sizeof *b->task);
    for (uint64_t chunk = 0; chunk < b->chunks; chunk++)
        for (unsigned kind = 0; kind < TASK_KINDS; kind++) {
            struct span_list *task = task_of(b, chunk, (enum task_kind)kind);
            task->arena = b->out->arena;
            if ((kind != TASK_FORWARD && p->inference) || (kind == TASK_WEIGHT && !weights))
                continue;
            task_spans(b->parts, chunk, (enum task_kind)kind, task);
            n += task->n + 1;
        }
    return n;
}

static const char *const kind_names[] = {"forward", "backward", "weight gradients"};

/* The rows go on: beside computation, when the stack overlaps, else at the task's end. */
static void add_send(struct builder *b, const struct pipeline_task *t, const struct span *task)
{
    const struct pipeline *p = &b->parts->pipe;
    bool forward = t->kind == TASK_FORWARD;
    bool last = forward ? t->chunk + 1 == b->chunks : t->chunk == 0;
    struct span send = *task;
    if (t->kind == TASK_WEIGHT || p->stages == 1 || p->send_s <= 0 || (last && p->overlapped))
        return;
    double *free_s = &b->sent_s[2 * t->stage + !forward];
    send.op = forward ? "send activations" : "send gradients";
    send.stream = forward ? SPAN_SENDS : SPAN_RETURNS;
    send.begin_s = p->overlapped ? task->end_s : task->end_s - p->send_s;
    send.end_s = send.begin_s + p->send_s;
    send.begin_s = fmax(send.begin_s, *free_s);
    if (send.end_s <= send.begin_s)
        return;
    *free_s = send.end_s;
    span_add(b->out, &send);
}

static void add_task(struct builder *b, const struct pipeline_task *t)
{
    const struct span_list *ops = task_of(b, t->chunk, t->kind);
    const struct pipeline *p = &b->parts->pipe;
    double wait = p->stages > 1 && !p->overlapped && t->kind != TASK_WEIGHT ? p->send_s : 0;
    struct span task = {.op = kind_names[t->kind],
                        .phase = kind_names[t->kind],
                        .rank = t->stage,
                        .stream = SPAN_TASKS,
                        .iteration = t->micro,
                        .number = SIZE_MAX,
                        .begin_s = b->begin_s + t->begin_s,
                        .end_s = b->begin_s + t->end_s};
    if (p->chunks > 1)
        task.part = arena_printf(b->out->arena, "chunk %" PRIu64, t->chunk + 1);
    span_add(b->out, &task);
    add_send(b, t, &task);
    /* a squeezed pipeline has shorter tasks */
    double whole = ops->end_s + wait, share = whole > 0 ? (t->end_s - t->begin_s) / whole : 0;
    for (size_t i = 0; i < ops->n && t->micro < b->detailed; i++) {
        struct span one = ops->items[i];
        one.rank = t->stage;
        one.iteration = t->micro;
        one.begin_s = task.begin_s + share * one.begin_s;
        one.end_s = task.begin_s + share * one.end_s;
        span_add(b->out, &one);
    }
}

/* A micro-batch through all chunks in one direction, its tasks `share` as long as alone. */
static double add_pass(struct builder *b, uint64_t micro, bool back, double share, double at)
{
    for (uint64_t i = 0; i < b->chunks; i++) {
        uint64_t chunk = back ? b->chunks - 1 - i : i;
        double s = back ? b->parts->backward_s[chunk] : b->parts->forward_s[chunk];
        const struct pipeline_task t = {
            back ? TASK_BACKWARD : TASK_FORWARD, 0, chunk, micro, at, at + share * s};
        add_task(b, &t);
        at = t.end_s;
    }
    return at;
}

/* What a forward and a backward beside it take of both in turn. */
static double pair_share(const struct builder *b)
{
    const struct pipeline *p = &b->parts->pipe;
    double turn = 0, both = 0;
    for (uint64_t i = 0; i < b->chunks; i++) {
        turn += b->parts->forward_s[i] + b->parts->backward_s[i];
        both += p->pairs[i * p->chunks + i].s;
    }
    return turn > 0 ? both / turn : 1;
}

/* Without stages: forward through all chunks and back, one micro-batch after another; in pairs
 * the next one's forward beside it. */
static double add_alone(struct builder *b)
{
    const struct pipeline *p = &b->parts->pipe;
    uint64_t ahead = p->pairs ? 1 : 0, last = p->micro_batches;
    double at = 0, share = p->pairs ? pair_share(b) : 1;
    for (uint64_t m = 0; m < last + ahead; m++) {
        bool paired = ahead && m > 0 && m < last;
        if (m < last)
            at = add_pass(b, m, false, paired ? share : 1, at);
        if (!p->inference && m >= ahead)
            at = add_pass(b, m - ahead, true, paired ? share : 1, at);
    }
    return at;
}

static double add_tasks(struct builder *b)
{
    const struct pipeline_times *times = &b->parts->times;
    if (b->parts->pipe.stages == 1)
        return b->begin_s + add_alone(b);
    for (size_t i = 0; i < times->n_tasks; i++)
        add_task(b, &times->tasks[i]);
    return b->begin_s + times->end_s;
}

/* ---- what the step does once ---- */

static void add_once(struct builder *b, uint64_t stage, const char *phase, const char *name,
                     double begin, double end)
{
    const struct span task = {.op = name,
                              .phase = phase,
                              .rank = stage,
                              .stream = SPAN_TASKS,
                              .number = SIZE_MAX,
                              .begin_s = begin,
                              .end_s = end};
    if (end > begin)
        span_add(b->out, &task);
}

/* Reductions end when the update begins; gathers come with the next forward, which is drawn as
 * this step's where they may run beside it. */
static void add_end(struct builder *b, uint64_t stage, double done)
{
    const struct step_parts *parts = b->parts;
    const struct stretches *all = &parts->all;
    bool beside = shards_of_step(&parts->s->plan, UPDATE_GATHER);
    double update = done + parts->reduce_s, end = update + all->update_s;
    update_spans(parts, stage, UPDATE_REDUCE, update - all->reduce_s, b->out);
    update_spans(parts, stage, UPDATE_WORK, update, b->out);
    update_spans(parts, stage, UPDATE_GATHER, beside ? 0 : end, b->out);
    add_once(b, stage, "update", "update", update, end);
    end += beside ? 0 : parts->gather_s;
    add_once(b, stage, "update", "graph launch", end, end + parts->graphs_s);
    end += parts->graphs_s;
    add_once(b, stage, "update", "fixed by the profile", end, end + parts->fixed_s);
}

void step_spans(const struct step_parts *parts, const struct step_time *step, size_t most,
                struct span_list *out)
{
    const struct pipeline *p = &parts->pipe;
    struct builder b = {.parts = parts, .out = out, .chunks = p->stages * p->chunks};
    list_init(out, p->stages);
    b.sent_s = arena_alloc(out->arena, 2 * p->stages, sizeof *b.sent_s);
    size_t each = fill_tasks(&b);
    b.detailed = each ? most / each : 0;
    b.detailed = b.detailed ? b.detailed : 1;
    if (b.detailed < p->micro_batches)
        out->about = arena_printf(out->arena,
                                  "ops of %" PRIu64 " of %" PRIu64
                                  " micro-batches are here, of the others their tasks",
                                  b.detailed, p->micro_batches);
    if (shards_of_step(&parts->s->plan, UPDATE_GATHER))
        b.begin_s = parts->gather_s;
    for (uint64_t stage = 0; stage < p->stages; stage++)
        add_once(&b, stage, "forward", "reference", b.begin_s, b.begin_s + parts->reference_s);
    b.begin_s += parts->reference_s;
    double done = add_tasks(&b);
    for (uint64_t stage = 0; stage < p->stages; stage++)
        add_end(&b, stage, done);
    out->end_s = step->step_s;
    span_sort(out);
}

void step_spans_draft(struct span_list *step, double step_s)
{
    const struct span passes = {.op = "draft",
                                .phase = "forward",
                                .stream = SPAN_TASKS,
                                .number = SIZE_MAX,
                                .begin_s = step->end_s,
                                .end_s = step_s};
    span_add(step, &passes);
    step->end_s = step_s;
    span_sort(step);
}

/* ---- one layer ---- */

void step_spans_layer(const struct step_parts *parts, enum segment segment,
                      struct span_list *out)
{
    const struct pipeline *p = &parts->pipe;
    list_init(out, 1);
    for (uint64_t chunk = 0; chunk < p->stages * p->chunks; chunk++) {
        if (parts->chunks[chunk].layers[PASS_FORWARD][segment] <= 0)
            continue;
        layer_spans(parts, chunk, segment, out);
        span_sort(out);
        return;
    }
}
