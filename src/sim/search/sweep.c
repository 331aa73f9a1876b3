/* Sweeps; see sweep.h. */
#include "sim/search/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "sim/search/plan_words.h"

enum { CHUNK = 2048, EVALUATORS = 64, BANKS = 64 };

_Static_assert(PLAN_WORDS <= UINT16_MAX, "word numbers fit 16 bits");

/* The bytes that are not zero, whole. */
static uint64_t whole_bytes(uint64_t bits)
{
    uint64_t mask = 0;
    for (unsigned shift = 0; shift < 64; shift += 8)
        mask |= bits >> shift & 0xff ? UINT64_C(0xff) << shift : 0;
    return mask;
}

/* Marks the bytes where a plan differs, and makes it the base again. */
static void mark_and_restore(const struct plan *base, struct plan *plan,
                             uint64_t changed[PLAN_WORDS])
{
    size_t word = plan_words_differ(base, plan, 0);
    for (; word < PLAN_WORDS; word = plan_words_differ(base, plan, word + 1)) {
        uint64_t bits = plan_word(plan, word) ^ plan_word(base, word);
        if (bits & ~changed[word])
            changed[word] |= whole_bytes(bits);
        plan_word_set(plan, word, plan_word(base, word));
    }
}

static enum status mark_changes(const struct plan *base, size_t n_values, sweep_apply *apply,
                                void *context, uint64_t changed[PLAN_WORDS], struct err *err)
{
    struct plan plan = *base;
    for (size_t value = 0; value < n_values; value++) {
        TRY(apply(context, value, &plan, err));
        mark_and_restore(base, &plan, changed);
    }
    return STATUS_OK;
}

/* The patches within the bytes that change. */
static enum status record(struct sweep_axis *axis, const struct plan *base,
                          const uint64_t changed[PLAN_WORDS], sweep_apply *apply, void *context,
                          struct arena *arena, struct err *err)
{
    for (size_t word = 0; word < PLAN_WORDS; word++)
        axis->n_words += changed[word] != 0;
    axis->words = arena_alloc(arena, axis->n_words + 1, sizeof *axis->words);
    axis->masks = arena_alloc(arena, axis->n_words + 1, sizeof *axis->masks);
    axis->patches =
        arena_alloc(arena, axis->n_values * axis->n_words + 1, sizeof *axis->patches);
    for (size_t word = 0, i = 0; word < PLAN_WORDS; word++)
        if (changed[word]) {
            axis->masks[i] = changed[word];
            axis->words[i++] = (uint16_t)word;
        }
    struct plan plan = *base;
    for (size_t value = 0; value < axis->n_values; value++) {
        TRY(apply(context, value, &plan, err));
        for (size_t i = 0; i < axis->n_words; i++) {
            size_t word = axis->words[i];
            axis->patches[value * axis->n_words + i] = plan_word(&plan, word) & axis->masks[i];
            plan_word_set(&plan, word, plan_word(base, word));
        }
    }
    return STATUS_OK;
}

/* What is set to the value that the base has is set all the same: of a plan without any bit
 * of the base it changes whatever the first left out. */
enum status sweep_axis_init(struct sweep_axis *axis, const struct plan *base, size_t n_values,
                            bool slot, sweep_apply *apply, void *context, struct arena *arena,
                            struct err *err)
{
    uint64_t changed[PLAN_WORDS] = {0};
    struct plan inverse = *base;
    for (size_t i = 0; i < sizeof inverse; i++)
        ((unsigned char *)&inverse)[i] ^= 0xff;
    *axis = (struct sweep_axis){.n_values = n_values, .slot = slot};
    TRY(mark_changes(base, n_values, apply, context, changed, err));
    TRY(mark_changes(&inverse, n_values, apply, context, changed, err));
    return record(axis, base, changed, apply, context, arena, err);
}

enum status sweep_joint_init(struct sweep_axis *axis, const struct plan *base, size_t n_values,
                             sweep_apply *apply, void *context, struct arena *arena,
                             struct err *err)
{
    uint64_t changed[PLAN_WORDS] = {0};
    *axis = (struct sweep_axis){.n_values = n_values};
    TRY(mark_changes(base, n_values, apply, context, changed, err));
    return record(axis, base, changed, apply, context, arena, err);
}

uint64_t sweep_points(const struct sweep *sweep)
{
    uint64_t points = 1;
    for (size_t i = 0; i < sweep->n_axes; i++)
        if (__builtin_mul_overflow(points, sweep->axes[i].n_values, &points))
            return UINT64_MAX;
    return points;
}

void sweep_part_range(uint64_t points, struct sweep_part part, uint64_t *first, uint64_t *end)
{
    uint64_t of = part.of ? part.of : 1;
    uint64_t number = part.of ? part.part - 1 : 0, each = points / of, more = points % of;
    *first = number * each + (number < more ? number : more);
    *end = *first + each + (number < more);
}

void sweep_indices(const struct sweep *sweep, uint64_t point, size_t indices[SWEEP_AXES])
{
    for (size_t i = sweep->n_axes; i-- > 0;) {
        indices[i] = point % sweep->axes[i].n_values;
        point /= sweep->axes[i].n_values;
    }
}

static void patch(const struct sweep_axis *axis, size_t value, struct plan *plan)
{
    if (!axis->n_words) /* then there are no patches */
        return;
    const uint64_t *words = axis->patches + value * axis->n_words;
    for (size_t i = 0; i < axis->n_words; i++) {
        size_t at = axis->words[i];
        plan_word_set(plan, at, (plan_word(plan, at) & ~axis->masks[i]) | words[i]);
    }
}

static void patch_joint(const struct sweep *sweep, const size_t indices[SWEEP_AXES],
                        struct plan *plan)
{
    size_t value = 0;
    for (size_t i = 0; i < sweep->n_axes; i++)
        if (sweep->joined[i])
            value = value * sweep->axes[i].n_values + indices[i];
    patch(&sweep->joint, value, plan);
}

void sweep_plan(const struct sweep *sweep, const size_t indices[SWEEP_AXES], struct plan *plan)
{
    *plan = *sweep->base;
    patch_joint(sweep, indices, plan);
    for (size_t i = 0; i < sweep->n_axes; i++)
        patch(&sweep->axes[i], indices[i], plan);
}

/* ---- chunks ---- */

/* One thread's evaluators, by structure, what they sampled, and its plan. */
struct worker {
    struct evaluator evaluators[EVALUATORS];
    struct demand_bank banks[BANKS];
    struct plan plan;
    struct sweep_best best[CHUNK];
};

struct chunk {
    char *bytes;
    size_t used;
    uint64_t counts[SWEEP_VERDICTS];
    struct sweep_best *best; /* [CHUNK] the first n_best; their rows are in bytes */
    size_t n_best;
};

struct run {
    const struct sweep *sweep;
    const struct sweep_output *output;
    struct worker *workers;
    size_t n_evaluators; /* that each uses */
    struct chunk *chunks;
    uint64_t first, each;    /* of the batch: first point, points of a chunk */
    uint64_t begin, end;     /* of the run: first point, and one past the last */
    struct sweep_best *best; /* [n_best] of the points so far; rows from malloc */
    size_t n_best, room;
};

/* Points with the same values on all axes that rebuild share a structure. */
static uint64_t structure_of(const struct sweep *sweep, const size_t indices[SWEEP_AXES])
{
    uint64_t number = 0;
    for (size_t i = 0; i < sweep->n_axes; i++)
        if (!sweep->axes[i].slot)
            number = number * sweep->axes[i].n_values + indices[i];
    return number;
}

/* How many lists are worth holding: those of the structures between a point and the next of its
 * own, when an axis of mere numbers moves outside them, while they can be held; else that of a
 * point and of its neighbour. What is held beyond that pushes the list at hand out of the CPU's
 * cache. */
static size_t evaluators_of(const struct sweep *sweep)
{
    uint64_t structures = 1, again = 1;
    for (size_t i = sweep->n_axes; i-- > 0 && structures < 2 * EVALUATORS;) {
        const struct sweep_axis *axis = &sweep->axes[i];
        if (!axis->slot)
            structures *= lesser(axis->n_values, 2 * EVALUATORS);
        else if (axis->n_values > 1)
            again = structures;
    }
    return again < 2 * EVALUATORS ? (size_t)greater(2, lesser(again, EVALUATORS)) : 2;
}

/* The next point; only the axes that move are patched, and those above them, which may have
 * been overwritten. */
static void advance(const struct sweep *sweep, size_t indices[SWEEP_AXES], struct plan *plan)
{
    size_t moved = sweep->n_axes;
    while (moved-- > 0) {
        if (++indices[moved] < sweep->axes[moved].n_values)
            break;
        indices[moved] = 0;
    }
    if (moved >= sweep->n_axes)
        moved = 0;
    bool joint = false;
    for (size_t i = moved; i < sweep->n_axes; i++)
        joint = joint || sweep->joined[i];
    if (joint) {
        patch_joint(sweep, indices, plan);
        moved = 0;
    }
    for (size_t i = moved; i < sweep->n_axes; i++)
        patch(&sweep->axes[i], indices[i], plan);
}

static void evaluate_plan(const struct run *run, struct worker *worker,
                          const size_t indices[SWEEP_AXES], const struct plan *plan,
                          struct evaluation *result)
{
    uint64_t structure = structure_of(run->sweep, indices);
    struct evaluator *evaluator = &worker->evaluators[structure % run->n_evaluators];
    evaluator->routing = run->sweep->routing;
    evaluator->banks = worker->banks;
    evaluator->n_banks = BANKS;
    evaluate(evaluator, plan, structure, result);
}

static size_t put_row(const struct run *run, struct chunk *chunk,
                      const size_t indices[SWEEP_AXES], const struct plan *plan,
                      const struct evaluation *result)
{
    const struct sweep_output *output = run->output;
    size_t n = output->row(output->row_context, indices, plan, result,
                           chunk->bytes + chunk->used, output->row_room);
    chunk->used += n;
    return n;
}

/* A point out of turn. */
static void look_at(const struct run *run, struct worker *worker, uint64_t point,
                    size_t indices[SWEEP_AXES], struct plan *plan, struct evaluation *result)
{
    sweep_indices(run->sweep, point, indices);
    sweep_plan(run->sweep, indices, plan);
    evaluate_plan(run, worker, indices, plan, result);
}

static size_t put_point(const struct run *run, struct worker *worker, struct chunk *chunk,
                        uint64_t point)
{
    size_t indices[SWEEP_AXES] = {0};
    struct plan plan;
    struct evaluation result;
    look_at(run, worker, point, indices, &plan, &result);
    return put_row(run, chunk, indices, &plan, &result);
}

static unsigned verdict_at(const struct run *run, struct worker *worker, uint64_t point)
{
    size_t indices[SWEEP_AXES] = {0};
    struct plan plan;
    struct evaluation result;
    look_at(run, worker, point, indices, &plan, &result);
    return sweep_verdict(&result);
}

/* ---- the boundary ---- */

/* Where along the last axis a point stands, and what its neighbour before it was. */
struct edge {
    uint64_t values; /* of the last axis */
    unsigned before;
    bool written; /* the point before */
};

static void edge_begin(const struct run *run, struct worker *worker, uint64_t point,
                       struct edge *edge)
{
    const struct sweep *sweep = run->sweep;
    *edge = (struct edge){.values = 1, .written = true};
    if (sweep->n_axes)
        edge->values = sweep->axes[sweep->n_axes - 1].n_values;
    if (point % edge->values)
        edge->before = verdict_at(run, worker, point - 1);
}

/* The point before, unless another chunk has written it, and this one, where they differ. */
static void edge_pass(const struct run *run, struct worker *worker, struct chunk *chunk,
                      uint64_t point, unsigned verdict, struct edge *edge)
{
    bool differs = point % edge->values && verdict != edge->before;
    if (differs && !edge->written)
        put_point(run, worker, chunk, point - 1);
    if (differs)
        put_point(run, worker, chunk, point);
    edge->before = verdict;
    edge->written = differs;
}

/* The neighbour of a chunk's last point is another chunk's. */
static void edge_end(const struct run *run, struct worker *worker, struct chunk *chunk,
                     uint64_t end, const struct edge *edge)
{
    if (!edge->written && end % edge->values && verdict_at(run, worker, end) != edge->before)
        put_point(run, worker, chunk, end - 1);
}

/* ---- the best ---- */

/* Whether a point is, by what its speed cannot exceed, one for close_best. */
static void see_best(const struct run *run, struct worker *worker, struct chunk *chunk,
                     const struct evaluation *result, uint64_t point)
{
    const struct sweep_output *output = run->output;
    if (!sweep_can_be_best(&output->keep, result))
        return;
    struct sweep_best best = {.bytes = result->peak.total_bytes, .point = point};
    best.speed = output->speed(output->speed_context, &worker->plan, result, true);
    if (!sweep_best_loses(&output->keep, run->best, run->n_best, &best))
        worker->best[chunk->n_best++] = best;
}

static double exact_speed(const struct run *run, struct worker *worker, uint64_t point)
{
    size_t indices[SWEEP_AXES] = {0};
    struct plan plan;
    struct evaluation result;
    look_at(run, worker, point, indices, &plan, &result);
    return run->output->speed(run->output->speed_context, &plan, &result, false);
}

static int by_most_speed(const void *a, const void *b)
{
    const struct sweep_best *x = a, *y = b;
    if (x->speed != y->speed)
        return x->speed > y->speed ? -1 : 1;
    return x->point < y->point ? -1 : x->point > y->point;
}

/* Of the points that were seen those that stay; exact speeds, which may take sampled routing,
 * only of those that could. The best of them stand at the front, the first `cut` cut. */
static void keep_best(const struct run *run, struct worker *worker, struct chunk *chunk)
{
    enum { PENDING = 32 };
    const struct sweep_keep *keep = &run->output->keep;
    struct sweep_best *best = worker->best;
    size_t seen = chunk->n_best, cut = 0, n = 0;
    if (seen)
        qsort(best, seen, sizeof *best, by_most_speed);
    for (size_t i = 0; i < seen; i++) {
        struct sweep_best point = best[i];
        if (sweep_best_loses(keep, best, cut, &point))
            continue;
        point.speed = exact_speed(run, worker, point.point);
        if (sweep_best_loses(keep, best, cut, &point) ||
            sweep_best_loses(keep, run->best, run->n_best, &point))
            continue;
        best[n++] = point;
        if (n - cut == PENDING || n < PENDING)
            cut = n = sweep_best_cut(keep, best, n);
    }
    chunk->n_best = sweep_best_cut(keep, best, n);
}

static void close_best(const struct run *run, struct worker *worker, struct chunk *chunk)
{
    keep_best(run, worker, chunk);
    for (size_t i = 0; i < chunk->n_best; i++) {
        struct sweep_best best = worker->best[i];
        best.row = chunk->bytes + chunk->used;
        best.length = put_point(run, worker, chunk, best.point);
        chunk->best[i] = best;
    }
}

/* A best point's row for keeps. */
static bool own_row(struct sweep_best *best)
{
    char *row = malloc(best->length);
    if (!row)
        return false;
    best->row = memcpy(row, best->row, best->length);
    return true;
}

static void cut_best(struct run *run)
{
    size_t kept = sweep_best_cut(&run->output->keep, run->best, run->n_best);
    for (size_t i = kept; i < run->n_best; i++)
        free(run->best[i].row);
    run->n_best = kept;
}

static enum status take_best(struct run *run, const struct chunk *chunk, struct err *err)
{
    size_t n = run->n_best + chunk->n_best;
    if (n > run->room) {
        struct sweep_best *larger = realloc(run->best, 2 * n * sizeof *larger);
        if (!larger)
            return err_set(err, STATUS_SYSTEM, "out of memory for %zu rows", n);
        run->best = larger;
        run->room = 2 * n;
    }
    for (size_t i = 0; i < chunk->n_best; i++) {
        struct sweep_best best = chunk->best[i];
        if (!own_row(&best))
            return err_set(err, STATUS_SYSTEM, "out of memory for %zu rows", n);
        run->best[run->n_best++] = best;
    }
    cut_best(run);
    return STATUS_OK;
}

/* ---- chunks ---- */

static bool keeps_best(const struct run *run)
{
    enum sweep_reduce reduce = run->output->keep.reduce;
    return reduce == REDUCE_PARETO || reduce == REDUCE_TOP;
}

static void take_point(const struct run *run, struct worker *worker, struct chunk *chunk,
                       const size_t indices[SWEEP_AXES], uint64_t point, struct edge *edge)
{
    struct evaluation result;
    evaluate_plan(run, worker, indices, &worker->plan, &result);
    unsigned verdict = sweep_verdict(&result);
    chunk->counts[verdict]++;
    switch (run->output->keep.reduce) {
    case REDUCE_NOTHING:
        put_row(run, chunk, indices, &worker->plan, &result);
        break;
    case REDUCE_BOUNDARY:
        edge_pass(run, worker, chunk, point, verdict, edge);
        break;
    case REDUCE_PARETO:
    case REDUCE_TOP:
        see_best(run, worker, chunk, &result, point);
        break;
    case REDUCE_COUNT:
        break;
    }
}

static void run_chunk(void *arg, size_t task, unsigned number)
{
    struct run *run = arg;
    const struct sweep *sweep = run->sweep;
    struct worker *worker = &run->workers[number];
    struct chunk *chunk = &run->chunks[task];
    uint64_t point = run->first + (uint64_t)task * run->each;
    uint64_t end = run->end - point < run->each ? run->end : point + run->each;
    bool edges = run->output->keep.reduce == REDUCE_BOUNDARY;
    size_t indices[SWEEP_AXES] = {0};
    struct edge edge = {0};
    chunk->used = chunk->n_best = 0;
    memset(chunk->counts, 0, sizeof chunk->counts);
    if (edges)
        edge_begin(run, worker, point, &edge);
    sweep_indices(sweep, point, indices);
    sweep_plan(sweep, indices, &worker->plan);
    while (point < end) {
        take_point(run, worker, chunk, indices, point, &edge);
        if (++point < end)
            advance(sweep, indices, &worker->plan);
    }
    if (edges)
        edge_end(run, worker, chunk, end, &edge);
    if (keeps_best(run))
        close_best(run, worker, chunk);
}

static enum status take_chunk(struct run *run, const struct chunk *chunk, struct err *err)
{
    const struct sweep_output *output = run->output;
    bool best = keeps_best(run);
    for (unsigned i = 0; output->counts && i < SWEEP_VERDICTS; i++)
        output->counts[i] += chunk->counts[i];
    if (best)
        TRY(take_best(run, chunk, err));
    return output->write(output->write_context, chunk->bytes, best ? 0 : chunk->used,
                         run->first - run->begin, err);
}

static enum status run_batches(struct run *run, struct pool *pool, size_t n_chunks,
                               struct err *err)
{
    const struct sweep_output *output = run->output;
    uint64_t last = 0;
    while (run->first < run->end) {
        uint64_t begin = run->first, wish = n_chunks * CHUNK;
        if (output->pace)
            wish = output->pace(output->write_context, last);
        if (wish > run->end - begin) /* few points are for all threads, too */
            wish = run->end - begin;
        wish = wish ? wish : 1;
        uint64_t share = (wish + n_chunks - 1) / n_chunks;
        run->each = share < CHUNK ? share : CHUNK;
        uint64_t most = wish < n_chunks ? wish : n_chunks;
        uint64_t left = (run->end - run->first + run->each - 1) / run->each;
        size_t n = (size_t)(left < most ? left : most);
        pool_run(pool, n, run_chunk, run);
        for (size_t i = 0; i < n; i++) {
            uint64_t more = run->end - run->first;
            run->first += more < run->each ? more : run->each;
            TRY(take_chunk(run, &run->chunks[i], err));
        }
        last = run->first - begin;
    }
    for (size_t i = 0; i < run->n_best; i++)
        TRY(output->write(output->write_context, run->best[i].row, run->best[i].length,
                          run->end - run->begin, err));
    return STATUS_OK;
}

static void release(struct run *run, size_t n_workers)
{
    for (size_t i = 0; i < n_workers; i++) {
        for (size_t j = 0; j < EVALUATORS;
             j++) /* those not used hold nothing: left untouched */
            if (run->workers[i].evaluators[j].n_banks)
                evaluator_release(&run->workers[i].evaluators[j]);
        demand_banks_release(run->workers[i].banks, BANKS);
    }
    for (size_t i = 0; i < run->n_best; i++)
        free(run->best[i].row);
    free(run->best);
}

enum status sweep_run(const struct sweep *sweep, struct pool *pool,
                      const struct sweep_output *output, struct err *err)
{
    size_t n_workers = pool_size(pool), n_chunks = 8 * n_workers;
    struct arena arena = {0};
    struct run run = {.sweep = sweep, .output = output};
    sweep_part_range(sweep_points(sweep), output->part, &run.begin, &run.end);
    run.first = run.begin;
    run.workers = arena_alloc(&arena, n_workers, sizeof *run.workers);
    /* the best are looked at again, in another order */
    run.n_evaluators = keeps_best(&run) ? EVALUATORS : evaluators_of(sweep);
    run.chunks = arena_alloc(&arena, n_chunks, sizeof *run.chunks);
    for (size_t i = 0; i < n_chunks; i++) {
        run.chunks[i].bytes = arena_take(&arena, CHUNK, output->row_room);
        if (keeps_best(&run))
            run.chunks[i].best = arena_take(&arena, CHUNK, sizeof *run.chunks[i].best);
    }
    enum status status = run_batches(&run, pool, n_chunks, err);
    release(&run, n_workers);
    arena_release(&arena);
    return status;
}
