/* See task_spans.h. */
#include "sim/time/task_spans.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "work/list/kernel.h"

enum { ROUNDS = 32 /* of a loop that are drawn one by one */ };

struct layout {
    const struct step_parts *parts;
    const struct chunk_time *chunk;
    enum task_kind kind;
    double share[TIME_PARTS]; /* of a collective's seconds that computation waits for */
    double total[TIME_PARTS]; /* seconds of collectives, while they are only counted */
    bool counts;
    double now_s; /* end of the compute stream */
    double free_s[SPAN_STREAMS];
    const char *part; /* the layer at hand */
    struct span_list *out;
};

static enum span_stream stream_of(enum time_part part)
{
    return part == TIME_EXCHANGE ? SPAN_EXPERTS
           : part == TIME_TENSOR ? SPAN_TENSOR
                                 : SPAN_SHARDS;
}

static void add(struct layout *l, enum span_stream stream, size_t op, const char *name,
                double begin, double seconds)
{
    const struct op *ops = l->parts->s->work.ops;
    const struct span span = {.op = name ? name : ops[op].name,
                              .part = l->part,
                              .phase = op == SIZE_MAX ? NULL : phase_name(ops[op].phase),
                              .stream = stream,
                              .number = op,
                              .begin_s = begin,
                              .end_s = begin + seconds};
    if (seconds > 0 && !l->counts)
        span_add(l->out, &span);
}

static void add_in_turn(struct layout *l, enum span_stream stream, size_t op, const char *name,
                        double seconds)
{
    add(l, stream, op, name, l->now_s, seconds);
    l->now_s += fmax(seconds, 0);
}

/* Beside computation but for `waits` seconds. */
static void add_beside(struct layout *l, enum span_stream stream, size_t op, double seconds,
                       double waits)
{
    double begin = fmax(l->now_s, l->free_s[stream]);
    add(l, stream, op, NULL, begin, seconds);
    l->free_s[stream] = begin + seconds;
    l->now_s += waits;
}

/* `times`: of what the list says: parts of a layer, rounds of a loop. */
static void add_op(struct layout *l, size_t i, double times)
{
    const struct stepper *s = l->parts->s;
    const struct op *op = &s->work.ops[i];
    enum profile_item item = price_item(op, s->values);
    enum time_part part = stretch_part(item, op->group);
    double seconds = times * stretch_share(s, op) * s->op_s[i];
    if (profile_item_class(item) == PROFILE_COLLECTIVE) {
        l->total[part] += seconds;
        add_beside(l, stream_of(part), i, seconds, l->share[part] * seconds);
    } else if (profile_item_class(item) == PROFILE_OFFLOAD) {
        add_beside(l, SPAN_COPIES, i, seconds, 0);
    } else {
        add_in_turn(l, SPAN_COMPUTE, i, NULL, seconds);
    }
    if (step_graphs(&s->plan) != GRAPHS_FULL && l->kind != TASK_WEIGHT)
        add_in_turn(l, SPAN_HOST, i, "wait for the device",
                    times * stretch_share(s, op) * (double)s->values[op->host_syncs.node] *
                        s->pricing.rates.sync_s);
}

/* A round's own ops, those of the next that run ahead before them. */
static void add_rounds(struct layout *l, size_t first, size_t end, double times)
{
    const struct stepper *s = l->parts->s;
    uint64_t trips = s->values[s->work.ops[first].trips.node];
    uint64_t rounds = trips > 1 && trips <= ROUNDS ? trips : 1;
    for (uint64_t round = 0; round <= rounds; round++)
        for (unsigned ahead = 2; ahead-- > 0;)
            for (size_t i = first; i < end; i++) {
                bool runs = ahead ? round < rounds : round > 0;
                if (runs && s->work.ops[i].ahead == (ahead > 0))
                    add_op(l, i, times / (double)rounds);
            }
}

static bool is_of(const struct layout *l, const struct op *op, enum segment segment)
{
    bool forward = op->phase == PHASE_FORWARD, weight = op->kernel == KERNEL_WGRAD;
    bool splits = pipeline_splits(&l->parts->pipe);
    if (op->segment != segment || stretch_is_once(l->parts->s, op) || op->group == GROUP_PP ||
        !l->parts->s->values[op->layers.node])
        return false;
    if (l->kind == TASK_FORWARD)
        return forward;
    return !forward && (!splits || weight == (l->kind == TASK_WEIGHT));
}

/* One layer of a kind, or a part of one. */
static void add_layer(struct layout *l, enum segment segment, double times)
{
    const struct stepper *s = l->parts->s;
    const struct op *ops = s->work.ops;
    unsigned pass = l->kind == TASK_FORWARD ? PASS_FORWARD : PASS_BACKWARD;
    for (size_t i = 0, end; i < s->work.n_ops; i = end) {
        end = i + 1;
        if (!is_of(l, &ops[i], segment))
            continue;
        while (ops[i].loop && end < s->work.n_ops && ops[end].loop == ops[i].loop &&
               is_of(l, &ops[end], segment))
            end++;
        if (ops[i].loop)
            add_rounds(l, i, end, times);
        else
            add_op(l, i, times);
    }
    if (segment_has_experts(segment) && l->kind != TASK_WEIGHT &&
        stretch_s(stretches_at(&l->parts->all, segment, pass)) > 0)
        add_in_turn(l, SPAN_COMPUTE, SIZE_MAX, "fixed by the profile",
                    times * s->pricing.rates.layer_s);
}

/* All layers of the task, those of a kind in a row. */
static void add_layers(struct layout *l)
{
    for (unsigned i = 0; i < SEGMENT_COUNT; i++) {
        bool forward = l->kind == TASK_FORWARD;
        enum segment segment = (enum segment)(forward ? i : SEGMENT_COUNT - 1 - i);
        double left = l->chunk->layers[forward ? PASS_FORWARD : PASS_BACKWARD][segment];
        for (uint64_t layer = 1; left > 1e-9; layer++, left -= 1) {
            l->part = segment_is_layer(segment) ? arena_printf(l->out->arena, "%s %" PRIu64,
                                                               segment_name(segment), layer)
                                                : segment_name(segment);
            add_layer(l, segment, fmin(left, 1));
        }
    }
    l->part = NULL;
}

/* ---- within the task's time ---- */

/* Nothing on a stream ends after the task: what is beside computation may begin earlier. */
static void pull(struct layout *l, enum span_stream stream, size_t first, double end)
{
    struct span *spans = l->out->items;
    double sum = 0, bound = end;
    for (size_t i = first; i < l->out->n; i++)
        sum += spans[i].stream == stream ? spans[i].end_s - spans[i].begin_s : 0;
    double share = sum > end && sum > 0 ? end / sum : 1;
    for (size_t i = l->out->n; i-- > first;) {
        if (spans[i].stream != (unsigned)stream)
            continue;
        double s = share * (spans[i].end_s - spans[i].begin_s);
        spans[i].end_s = fmin(bound, spans[i].begin_s + s);
        spans[i].begin_s = fmax(0, spans[i].end_s - s);
        bound = spans[i].begin_s;
    }
}

/* Rounding, and what loops hide of collectives that are not exchanges. */
static void stretch_to(struct layout *l, size_t first, double from, double to)
{
    for (size_t i = first; i < l->out->n && from > 0; i++) {
        l->out->items[i].begin_s *= to / from;
        l->out->items[i].end_s *= to / from;
    }
}

static const struct stretch *pass_of(const struct layout *l)
{
    return &l->chunk->pass[l->kind == TASK_FORWARD ? PASS_FORWARD : PASS_BACKWARD];
}

/* The part of each kind of collective that is in the task's time. */
static void find_shares(struct layout *l)
{
    static const enum time_part parts[] = {TIME_EXCHANGE, TIME_TENSOR, TIME_SHARDING};
    l->counts = true;
    add_layers(l);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double all = l->total[parts[i]];
        l->share[parts[i]] = all > 0 ? fmin(1, fmax(0, pass_of(l)->part_s[parts[i]] / all)) : 0;
    }
    l->counts = false;
    l->now_s = 0;
    memset(l->free_s, 0, sizeof l->free_s);
}

static struct layout layout_of(const struct step_parts *parts, uint64_t chunk,
                               enum task_kind kind, struct span_list *out)
{
    struct layout l = {
        .parts = parts, .chunk = &parts->chunks[chunk], .kind = kind, .out = out};
    find_shares(&l);
    return l;
}

static void finish(struct layout *l, size_t first, double end)
{
    stretch_to(l, first, l->now_s, end);
    for (unsigned stream = 0; stream < SPAN_STREAMS; stream++)
        if (stream != SPAN_COMPUTE && stream != SPAN_HOST)
            pull(l, (enum span_stream)stream, first, end);
}

void task_spans(const struct step_parts *parts, uint64_t chunk, enum task_kind kind,
                struct span_list *out)
{
    struct layout l = layout_of(parts, chunk, kind, out);
    double weight = pipeline_splits(&parts->pipe) ? parts->weight_s[chunk] : 0;
    add_layers(&l);
    if (kind != TASK_WEIGHT)
        add_in_turn(&l, SPAN_HOST, SIZE_MAX, "launches and copies",
                    pass_of(&l)->part_s[TIME_HOST] - pass_of(&l)->sync_s);
    out->end_s = kind == TASK_FORWARD    ? parts->forward_s[chunk]
                 : kind == TASK_BACKWARD ? parts->backward_s[chunk] - weight
                                         : weight;
    finish(&l, 0, out->end_s);
}

void layer_spans(const struct step_parts *parts, uint64_t chunk, enum segment segment,
                 struct span_list *out)
{
    unsigned kinds = parts->pipe.inference ? 1 : pipeline_splits(&parts->pipe) ? 3 : 2;
    for (unsigned kind = 0; kind < kinds; kind++) {
        struct layout l = layout_of(parts, chunk, (enum task_kind)kind, out);
        size_t first = out->n;
        add_layer(&l, segment, 1);
        finish(&l, first, l.now_s);
        for (size_t i = first; i < out->n; i++) {
            out->items[i].begin_s += out->end_s;
            out->items[i].end_s += out->end_s;
        }
        out->end_s += l.now_s;
    }
}

/* ---- once a step ---- */

void update_spans(const struct step_parts *parts, uint64_t stage, enum update_part part,
                  double begin_s, struct span_list *out)
{
    const struct stepper *s = parts->s;
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        double seconds = stretch_once_s(s, i);
        if (!stretch_is_once(s, op) || stretch_update(s, i) != part || seconds <= 0)
            continue;
        const struct span span = {.op = op->name,
                                  .phase = phase_name(op->phase),
                                  .rank = stage,
                                  .stream = part == UPDATE_WORK ? SPAN_COMPUTE : SPAN_STEP,
                                  .number = i,
                                  .begin_s = begin_s,
                                  .end_s = begin_s + seconds};
        span_add(out, &span);
        begin_s = span.end_s;
    }
}
