/* See run_summary.h. */
#include "calib/run/run_summary.h"

#include <math.h>
#include <string.h>

#include "calib/run/run_block.h"
#include "sim/step/ops.h"
#include "sim/time/price.h"

void run_summary_init(struct run_summary *s, const struct plan *plan, const struct slice *list,
                      const struct profile *profile, uint64_t samples, struct arena *arena,
                      struct run_report *report)
{
    size_t n = list->work.n_ops;
    *s = (struct run_summary){.plan = plan,
                              .list = list,
                              .report = report,
                              .samples = samples,
                              .room = samples * MEASURE_SAMPLES};
    pricing_init(&s->pricing, plan, plan->moe.path, profile, NULL);
    s->flop = arena_alloc(arena, n, sizeof *s->flop);
    s->bytes = arena_alloc(arena, n, sizeof *s->bytes);
    s->sent = arena_alloc(arena, n, sizeof *s->sent);
    s->rows = arena_alloc(arena, n, sizeof *s->rows);
    s->received = arena_alloc(arena, n, sizeof *s->received);
    s->predicted_s = arena_alloc(arena, n, sizeof *s->predicted_s);
    s->overhead_s = arena_alloc(arena, n, sizeof *s->overhead_s);
    s->op_s = arena_alloc(arena, n * s->room, sizeof *s->op_s);
    s->step_s = arena_alloc(arena, s->room, sizeof *s->step_s);
    report->ops = arena_alloc(arena, n, sizeof *report->ops);
}

/* ---- prediction ---- */

/* A worker is as fast as a device of the plan. All workers take from the work of all ranks, so
 * its sum counts and not the fullest rank; of an exchange the slowest rank does, and of ranks
 * on GPUs, which have all of one while they run. */
static double process_s(const struct run_summary *s, const struct slice *list,
                        const struct op *op)
{
    double slowest = 0, sum = 0;
    for (uint64_t i = 0; i < list->n; i++) {
        double rank_s = price_of(&s->pricing, &list->work, op, list->values[i]).s;
        slowest = fmax(slowest, rank_s);
        sum += rank_s;
    }
    double shared = sum / (double)list->workers;
    bool links = op->kind == OP_EXCHANGE || op->kind == OP_COLLECTIVE;
    return s->in_turn ? slowest : links ? fmax(slowest, shared) : shared;
}

static void keep_peak(struct run_summary *s, const struct slice *list)
{
    struct arena arena = {0};
    struct memory_peak peak;
    struct run_memory *memory = &s->report->memory;
    slice_peak(list, &arena, &peak);
    arena_release(&arena);
    if (peak.total_bytes <= memory->predicted_peak_bytes)
        return;
    memory->predicted_peak_bytes = peak.total_bytes;
    memory->n_categories = 0;
    for (unsigned c = 0; c < CATEGORY_COUNT; c++)
        if (peak.category[c])
            memory->categories[memory->n_categories++] =
                (struct run_category){category_name((enum category)c), peak.category[c], 0};
}

static void predict_rows(struct run_summary *s, const struct slice *list)
{
    struct run_rows *rows = &s->report->rows;
    *rows = (struct run_rows){.smallest = UINT64_MAX};
    for (uint64_t i = 0; i < list->n; i++) {
        uint64_t n = list->slots[i].value[SLOT_ROWS];
        rows->routed += n;
        rows->largest = n > rows->largest ? n : rows->largest;
        rows->smallest = n < rows->smallest ? n : rows->smallest;
    }
}

void run_summary_predict(struct run_summary *s, const struct slice *list)
{
    for (size_t o = 0; o < list->work.n_ops; o++) {
        const struct op *op = &list->work.ops[o];
        for (uint64_t i = 0; i < list->n; i++) {
            const uint64_t *values = list->values[i];
            s->flop[o] += values[op->flop.node];
            s->bytes[o] += values[op->bytes_read.node] + values[op->bytes_written.node];
            s->sent[o] += values[op->bytes_sent.node];
            s->received[o] += values[op->bytes_received.node];
            s->rows[o] += ops_rows(&list->work, op, values);
        }
        s->predicted_s[o] += process_s(s, list, op);
    }
    keep_peak(s, list);
    predict_rows(s, list);
    run_loads_predict(s->plan, list->sample, list->first, list->n, &s->report->loads);
}

/* ---- measurement ---- */

void run_summary_measure(struct run_summary *s, const struct measurement *measured,
                         struct measurement *overhead)
{
    for (size_t i = 0; i < measured->n_samples && s->n < s->room; i++, s->n++) {
        for (size_t o = 0; o < measured->n_ops; o++)
            s->op_s[o * s->room + s->n] = measured->op_s[o * MEASURE_SAMPLES + i];
        s->step_s[s->n] = measured->step_s[i];
    }
    for (size_t o = 0; o < overhead->n_ops; o++)
        s->overhead_s[o] =
            measure_spread(overhead->op_s + o * MEASURE_SAMPLES, overhead->n_samples).p50_s;
    s->idle_s = measure_spread(overhead->step_s, overhead->n_samples).p50_s;
    s->report->time.steps = measured->steps;
    s->report->time.clock_s = measured->clock_s;
    s->measured = true;
}

/* The router's weight has two dimensions, an expert's three. */
static bool is_expert_product(const struct work *work, const struct op *op)
{
    bool product = kernel_is_product((enum kernel)op->kernel) ||
                   op->kernel == KERNEL_EXPANDED_GEMM || op->kernel == KERNEL_SDD;
    return product && work->buffers[op_buffer(work, op, ROLE_WEIGHT)].n_dims == 3;
}

/* Rows of a buffer [..., width]. */
static uint64_t buffer_rows(const struct buffer *buffer, const uint64_t *values)
{
    uint64_t rows = 1;
    for (unsigned i = 0; i + 1 < buffer->n_dims; i++)
        rows *= values[buffer->dims[i].node];
    return rows;
}

/* Rows of the first product over experts, and those reserved for it. */
void run_summary_count(struct run_summary *s, const struct execution *x)
{
    struct run_rows *rows = &s->report->rows;
    size_t o = 0;
    rows->dropped = rows->computed = rows->allocated = 0; /* of the last sample */
    run_loads_count(x, &s->report->loads);
    while (o < x->work->n_ops && !is_expert_product(x->work, &x->work->ops[o]))
        o++;
    for (uint64_t i = 0; i < x->n_ranks; i++) {
        const struct rank_state *rank = &x->ranks[i];
        for (size_t n = 0; n < x->work->n_ops; n++)
            rows->dropped += rank->counts[n].dropped;
        if (o == x->work->n_ops)
            continue;
        const struct op *op = &x->work->ops[o];
        bool grouped = kernel_is_product((enum kernel)op->kernel);
        uint16_t counted = op_buffer(x->work, op, grouped ? ROLE_DST : ROLE_SRC);
        rows->computed += rank->counts[o].rows;
        uint64_t sharers = grouped && op->args.gemm.split ? rank->values[op->groups.node] : 1;
        rows->allocated += buffer_rows(&x->work->buffers[counted], rank->values) / sharers *
                           rank->values[op->trips.node];
    }
}

void run_summary_meter(struct run_summary *s, const struct execution *x,
                       const struct memory_peak *peak)
{
    struct run_memory *memory = &s->report->memory;
    const uint64_t *metered = x->profile + (size_t)peak->tick * CATEGORY_COUNT;
    s->performed = true;
    s->report->buffers = x->meter.n_allocations;
    if (x->meter.peak_bytes <= memory->measured_peak_bytes)
        return;
    memory->measured_peak_bytes = x->meter.peak_bytes;
    for (unsigned i = 0, c = 0; peak->tick != WORK_NONE && c < CATEGORY_COUNT; c++)
        if (i < memory->n_categories &&
            strcmp(memory->categories[i].name, category_name((enum category)c)) == 0)
            memory->categories[i++].measured_bytes = metered[c];
}

void run_summary_resident(struct run_summary *s, uint64_t bytes)
{
    struct run_memory *memory = &s->report->memory;
    if (bytes > memory->resident_growth_bytes)
        memory->resident_growth_bytes = bytes;
}

/* ---- all processes ---- */

static enum status join_ops(struct run_summary *s, struct transport *t, struct err *err)
{
    size_t n = s->list->work.n_ops;
    TRY(t->ops->sum(t, s->flop, n, err));
    TRY(t->ops->sum(t, s->bytes, n, err));
    TRY(t->ops->sum(t, s->sent, n, err));
    TRY(t->ops->sum(t, s->rows, n, err));
    TRY(t->ops->sum(t, s->received, n, err));
    return t->ops->max(t, s->predicted_s, n, err);
}

static enum status join_rows(struct run_rows *rows, struct transport *t, struct err *err)
{
    uint64_t sums[] = {rows->routed, rows->dropped, rows->computed, rows->allocated};
    double extremes[] = {(double)rows->largest, -(double)rows->smallest};
    TRY(t->ops->sum(t, sums, 4, err));
    TRY(t->ops->max(t, extremes, 2, err));
    *rows = (struct run_rows){.routed = sums[0],
                              .dropped = sums[1],
                              .computed = sums[2],
                              .allocated = sums[3],
                              .largest = (uint64_t)extremes[0],
                              .smallest = (uint64_t)-extremes[1]};
    return STATUS_OK;
}

static bool is_memory_equal(const struct checks *checks)
{
    for (unsigned i = 0; i < checks->n; i++)
        if (strncmp(checks->check[i].name, "metered", 7) == 0 && !checks->check[i].passed)
            return false;
    return true;
}

/* Bytes are whole numbers below 2^53: exact as doubles. */
static enum status join_memory(struct run_memory *memory, struct transport *t, struct err *err)
{
    double most[] = {(double)memory->predicted_peak_bytes, (double)memory->measured_peak_bytes,
                     (double)memory->resident_growth_bytes};
    TRY(t->ops->max(t, most, 3, err));
    memory->predicted_peak_bytes = (uint64_t)most[0];
    memory->measured_peak_bytes = (uint64_t)most[1];
    memory->resident_growth_bytes = (uint64_t)most[2];
    return STATUS_OK;
}

/* The process whose products lost most; one without a gauge says nothing. */
static enum status join_gauge(struct run_time *time, struct transport *t, struct err *err)
{
    double slowest = time->products_flop_per_s > 0 ? -time->products_flop_per_s : -HUGE_VAL;
    TRY(t->ops->max(t, &slowest, 1, err));
    if (time->products_flop_per_s > 0)
        time->products_flop_per_s = -slowest;
    return STATUS_OK;
}

static enum status join(struct run_summary *s, struct transport *t, struct err *err)
{
    TRY(join_ops(s, t, err));
    TRY(join_rows(&s->report->rows, t, err));
    TRY(run_loads_join(&s->report->loads, t, err));
    TRY(join_gauge(&s->report->time, t, err));
    return join_memory(&s->report->memory, t, err);
}

/* ---- the report ---- */

/* Not finite, and so left out of what is printed, where b is 0. */
static double quotient(double a, double b)
{
    return b > 0 ? a / b : (double)NAN;
}

static void fill_times(struct run_summary *s, size_t o, struct run_op *row)
{
    struct spread spread = measure_spread(s->op_s + o * s->room, s->n);
    row->measured_s = row->p50_s = spread.p50_s;
    row->p99_s = spread.p99_s;
    row->low_s = spread.low_s;
    row->high_s = spread.high_s;
    row->overhead_s = s->overhead_s[o];
    row->samples = s->n;
    row->ratio = quotient(row->measured_s, row->predicted_s);
    double bytes = (double)row->bytes + (double)row->bytes_exchanged;
    row->flop_per_s = row->flop ? quotient((double)row->flop, row->measured_s) : (double)NAN;
    row->bytes_per_s = bytes > 0 ? quotient(bytes, row->measured_s) : (double)NAN;
}

static void fill_op(struct run_summary *s, size_t o)
{
    const struct op *op = &s->list->work.ops[o];
    struct run_op *row = &s->report->ops[s->report->n_ops++];
    *row = (struct run_op){.name = op->name,
                           .kind = op_kind_name(op->kind),
                           .phase = phase_name(op->phase),
                           .flop = s->flop[o] / s->samples,
                           .bytes = s->bytes[o] / s->samples,
                           .rows = s->rows[o] / s->samples,
                           .bytes_sent = s->sent[o] / s->samples,
                           .bytes_received = s->received[o] / s->samples,
                           .bytes_exchanged = s->sent[o] / s->samples,
                           .predicted_s = s->predicted_s[o] / (double)s->samples,
                           .measured_s = (double)NAN,
                           .p50_s = (double)NAN,
                           .p99_s = (double)NAN,
                           .low_s = (double)NAN,
                           .high_s = (double)NAN,
                           .overhead_s = (double)NAN,
                           .ratio = (double)NAN,
                           .flop_per_s = (double)NAN,
                           .bytes_per_s = (double)NAN};
    if (s->report->staged && op->kind == OP_EXCHANGE) { /* not timed */
        row->predicted_s = (double)NAN;
        return;
    }
    s->report->time.predicted_s += row->predicted_s;
    if (s->measured)
        fill_times(s, o, row);
}

static void fill_time(struct run_summary *s)
{
    struct run_time *time = &s->report->time;
    time->measured_s = time->p50_s = time->p99_s = time->low_s = time->high_s = (double)NAN;
    time->ratio = time->overhead_s = time->tokens_per_s = (double)NAN;
    if (!s->measured)
        return;
    struct spread spread = measure_spread(s->step_s, s->n);
    time->measured_s = time->p50_s = spread.p50_s;
    time->p99_s = spread.p99_s;
    time->low_s = spread.low_s;
    time->high_s = spread.high_s;
    time->ratio = quotient(time->measured_s, time->predicted_s);
    time->overhead_s = s->idle_s;
    time->samples = s->n;
    uint64_t tokens = slice_kind_of(s->plan)->tokens(s->plan);
    if (s->report->alone)
        tokens /= s->report->ranks;
    time->tokens_per_s = (double)tokens / time->measured_s;
}

static void fill_rows(struct run_rows *rows)
{
    double kept = (double)(rows->routed - rows->dropped);
    if (rows->computed == 0) /* not performed */
        kept = 0;
    rows->exact_factor = quotient((double)rows->computed, kept);
    rows->allocated_factor = quotient((double)rows->allocated, kept);
}

enum status run_summary_close(struct run_summary *s, struct session *session, struct err *err)
{
    if (session)
        TRY(join(s, session->transport, err));
    s->report->memory.equal = s->performed && is_memory_equal(&s->report->checks);
    for (size_t o = 0; o < s->list->work.n_ops; o++)
        if (measure_is_work(&s->list->work.ops[o]))
            fill_op(s, o);
    fill_time(s);
    fill_rows(&s->report->rows);
    return STATUS_OK;
}
