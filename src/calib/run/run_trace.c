/* See run_trace.h. */
#include "calib/run/run_trace.h"

#include <inttypes.h>
#include <math.h>

#include "exec/measure.h"
#include "exec/stopwatch.h"

enum { TRACK_STEPS, TRACK_OPS, TRACKS };

static const char *const tracks[TRACKS] = {"steps", "ops"};

struct recording {
    const struct work *work;
    struct span_list list; /* of this process */
    uint64_t step;
    double begin_s;
};

static void record(void *context, size_t op, uint64_t iteration, double begin_s, double end_s)
{
    struct recording *r = context;
    (void)iteration;
    if (!measure_is_work(&r->work->ops[op]))
        return;
    span_add(&r->list, &(struct span){.stream = TRACK_OPS,
                                      .iteration = r->step,
                                      .number = op,
                                      .begin_s = begin_s - r->begin_s,
                                      .end_s = end_s - r->begin_s});
}

/* What a span says, in numbers that processes can exchange. */
enum { MEMBERS = 5 };

static void to_numbers(const struct span *span, double *at)
{
    at[0] = span->stream;
    at[1] = (double)span->iteration;
    at[2] = span->number == SIZE_MAX ? -1 : (double)span->number;
    at[3] = span->begin_s;
    at[4] = span->end_s;
}

static void add_numbers(const struct work *work, uint64_t process, const double *at,
                        struct span_list *out)
{
    bool op = at[2] >= 0;
    struct span span = {.op = "step",
                        .rank = process,
                        .stream = (unsigned)at[0],
                        .iteration = (uint64_t)at[1],
                        .number = op ? (size_t)at[2] : SIZE_MAX,
                        .begin_s = at[3],
                        .end_s = at[4]};
    if (op) {
        span.op = work->ops[span.number].name;
        span.phase = phase_name(work->ops[span.number].phase);
    }
    out->end_s = fmax(out->end_s, span.end_s);
    span_add(out, &span);
}

/* All spans of all processes, in every process: what one does not have is below all numbers. */
static enum status gather(const struct execution *x, const struct span_list *own,
                          struct span_list *out, struct err *err)
{
    struct transport *t = x->session->transport;
    uint64_t n = t->alone ? 1 : t->n_ranks / t->n_local;
    uint64_t mine = t->alone ? 0 : t->first / t->n_local;
    double most = (double)own->n;
    TRY(t->ops->max(t, &most, 1, err));
    size_t each = (size_t)most * MEMBERS;
    double *all = arena_alloc(out->arena, n * each + 1, sizeof *all);
    for (size_t i = 0; i < n * each; i++)
        all[i] = -HUGE_VAL;
    for (size_t i = 0; i < own->n; i++)
        to_numbers(&own->items[i], all + mine * each + i * MEMBERS);
    TRY(t->ops->max(t, all, n * each, err));
    const char **names = arena_alloc(out->arena, n, sizeof *names);
    for (uint64_t process = 0; process < n; process++) {
        uint64_t first = t->alone ? t->first : process * t->n_local;
        names[process] =
            t->n_local == 1
                ? arena_printf(out->arena, "rank %" PRIu64, first)
                : arena_printf(out->arena, "ranks %" PRIu64 " to %" PRIu64 ", one process",
                               first, first + t->n_local - 1);
        for (size_t i = 0; i < (size_t)most; i++)
            if (all[process * each + i * MEMBERS] >= 0)
                add_numbers(x->work, process, all + process * each + i * MEMBERS, out);
    }
    out->ranks = names;
    out->n_ranks = n;
    return STATUS_OK;
}

enum status run_trace(struct execution *x, struct span_list *out, struct err *err)
{
    struct recording r = {.work = x->work, .list = {.arena = out->arena}};
    const struct recorder recorder = {&r, record};
    enum status status = STATUS_OK;
    TRY(execution_step(x, NULL, NULL, err)); /* whatever came before is over */
    x->recorder = &recorder;
    r.begin_s = stopwatch_now_s();
    for (r.step = 0; r.step < RUN_TRACE_STEPS && status == STATUS_OK; r.step++) {
        struct span step = {.stream = TRACK_STEPS, .iteration = r.step, .number = SIZE_MAX};
        step.begin_s = stopwatch_now_s() - r.begin_s;
        status = execution_step(x, NULL, NULL, err);
        step.end_s = stopwatch_now_s() - r.begin_s;
        span_add(&r.list, &step);
    }
    x->recorder = NULL;
    TRY(status);
    out->streams = tracks;
    TRY(gather(x, &r.list, out, err));
    span_sort(out);
    return STATUS_OK;
}
