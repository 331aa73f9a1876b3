/* Sweeps; see sweep.h. */
#include "sim/sweep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PLAN_WORDS = sizeof(struct plan) / 8, CHUNK = 2048, EVALUATORS = 64 };

_Static_assert(sizeof(struct plan) % 8 == 0, "a plan is a whole number of words");
_Static_assert(sizeof(struct plan) / 8 <= UINT16_MAX, "word numbers fit 16 bits");

static uint64_t plan_word(const struct plan *plan, size_t word)
{
    uint64_t value;
    memcpy(&value, (const char *)plan + 8 * word, 8);
    return value;
}

static enum status mark_changes(const struct plan *base, size_t n_values, sweep_apply *apply,
                                void *context, bool changed[PLAN_WORDS], struct err *err)
{
    for (size_t value = 0; value < n_values; value++) {
        struct plan plan = *base;
        TRY(apply(context, value, &plan, err));
        for (size_t word = 0; word < PLAN_WORDS; word++)
            changed[word] = changed[word] || plan_word(&plan, word) != plan_word(base, word);
    }
    return STATUS_OK;
}

enum status sweep_axis_init(struct sweep_axis *axis, const struct plan *base, size_t n_values,
                            bool slot, sweep_apply *apply, void *context, struct arena *arena,
                            struct err *err)
{
    bool changed[PLAN_WORDS] = {false};
    TRY(mark_changes(base, n_values, apply, context, changed, err));
    *axis = (struct sweep_axis){.n_values = n_values, .slot = slot};
    for (size_t word = 0; word < PLAN_WORDS; word++)
        axis->n_words += changed[word];
    axis->words = arena_alloc(arena, axis->n_words + 1, sizeof *axis->words);
    axis->patches = arena_alloc(arena, n_values * axis->n_words + 1, sizeof *axis->patches);
    for (size_t word = 0, i = 0; word < PLAN_WORDS; word++)
        if (changed[word])
            axis->words[i++] = (uint16_t)word;
    for (size_t value = 0; value < n_values; value++) {
        struct plan plan = *base;
        TRY(apply(context, value, &plan, err));
        for (size_t i = 0; i < axis->n_words; i++)
            axis->patches[value * axis->n_words + i] = plan_word(&plan, axis->words[i]);
    }
    return STATUS_OK;
}

uint64_t sweep_points(const struct sweep *sweep)
{
    uint64_t points = 1;
    for (size_t i = 0; i < sweep->n_axes; i++)
        if (__builtin_mul_overflow(points, sweep->axes[i].n_values, &points))
            return UINT64_MAX;
    return points;
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
    const uint64_t *words = axis->patches + value * axis->n_words;
    for (size_t i = 0; i < axis->n_words; i++)
        memcpy((char *)plan + 8 * (size_t)axis->words[i], &words[i], 8);
}

void sweep_plan(const struct sweep *sweep, const size_t indices[SWEEP_AXES], struct plan *plan)
{
    *plan = *sweep->base;
    for (size_t i = 0; i < sweep->n_axes; i++)
        patch(&sweep->axes[i], indices[i], plan);
}

/* ---- chunks ---- */

/* One thread's evaluators, by structure, and its plan. */
struct worker {
    struct evaluator evaluators[EVALUATORS];
    struct plan plan;
};

struct chunk {
    char *bytes;
    size_t used;
};

struct run {
    const struct sweep *sweep;
    const struct sweep_output *output;
    struct worker *workers;
    struct chunk *chunks;
    uint64_t first, points; /* of the batch: first point; of the sweep: all */
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

/* The next point; only the axes that move are patched, and those after them, which may have
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
    for (size_t i = moved; i < sweep->n_axes; i++)
        patch(&sweep->axes[i], indices[i], plan);
}

static void run_chunk(void *arg, size_t task, unsigned number)
{
    struct run *run = arg;
    const struct sweep *sweep = run->sweep;
    struct worker *worker = &run->workers[number];
    struct chunk *chunk = &run->chunks[task];
    uint64_t point = run->first + (uint64_t)task * CHUNK;
    uint64_t end = run->points - point < CHUNK ? run->points : point + CHUNK;
    size_t indices[SWEEP_AXES] = {0};
    chunk->used = 0;
    sweep_indices(sweep, point, indices);
    sweep_plan(sweep, indices, &worker->plan);
    while (point < end) {
        struct evaluation result;
        uint64_t structure = structure_of(sweep, indices);
        struct evaluator *evaluator = &worker->evaluators[structure % EVALUATORS];
        evaluator->routing = sweep->routing;
        evaluate(evaluator, &worker->plan, structure, &result);
        chunk->used +=
            run->output->row(run->output->row_context, indices, &worker->plan, &result,
                             chunk->bytes + chunk->used, run->output->row_room);
        if (++point < end)
            advance(sweep, indices, &worker->plan);
    }
}

static enum status run_batches(struct run *run, struct pool *pool, size_t n_chunks,
                               struct err *err)
{
    while (run->first < run->points) {
        uint64_t left = (run->points - run->first + CHUNK - 1) / CHUNK;
        size_t n = left < n_chunks ? (size_t)left : n_chunks;
        pool_run(pool, n, run_chunk, run);
        for (size_t i = 0; i < n; i++) {
            run->first += run->points - run->first < CHUNK ? run->points - run->first : CHUNK;
            TRY(run->output->write(run->output->write_context, run->chunks[i].bytes,
                                   run->chunks[i].used, run->first, err));
        }
    }
    return STATUS_OK;
}

enum status sweep_run(const struct sweep *sweep, struct pool *pool,
                      const struct sweep_output *output, struct err *err)
{
    size_t n_workers = pool_size(pool), n_chunks = 8 * n_workers;
    struct arena arena = {0};
    struct run run = {.sweep = sweep, .output = output, .points = sweep_points(sweep)};
    run.workers = arena_alloc(&arena, n_workers, sizeof *run.workers);
    run.chunks = arena_alloc(&arena, n_chunks, sizeof *run.chunks);
    for (size_t i = 0; i < n_chunks; i++)
        run.chunks[i].bytes = arena_alloc(&arena, CHUNK, output->row_room);
    enum status status = run_batches(&run, pool, n_chunks, err);
    for (size_t i = 0; i < n_workers; i++)
        for (size_t j = 0; j < EVALUATORS; j++)
            evaluator_release(&run.workers[i].evaluators[j]);
    arena_release(&arena);
    return status;
}
