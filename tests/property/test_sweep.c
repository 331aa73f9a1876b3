/* A point of a sweep is the plan that predict would be given: same verdict, same bytes, same
 * wall; and the rows of a sweep do not depend on the number of threads or on the order of
 * structures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "sim/answer/predict.h"
#include "sim/search/sweep.h"
#include "sim/step/time.h"
#include "support/drawn_plan.h"
#include "support/draws.h"
#include "support/plans.h"

enum { SEEDS = 60 };

static const char *const axes[][5] = {
    {"workload.micro_batch", "1", "3", "8", "64"},
    {"workload.sequence_length", "64", "256", "1000", "8192"},
    {"moe.capacity_factor", "0.5", "1.25", "2", "100"},
    {"memory.fraction", "0.5", "0.8", "0.96", "1"},
    {"moe.path", "capacity", "ragged_a2a", "deepep", "masked"},
    {"parallel.ep", "1", "2", "4", "3"},
    {"parallel.tp", "1", "2", "4", "8"},
    {"parallel.pp", "1", "2", "4", "8"},
    {"parallel.zero", "0", "1", "2", "3"},
    {"recompute.kind", "none", "selective", "full", "none"},
    {"moe.buffer", "worst", "exact", "balanced", "1.5"},
    {"stack.kind", "maxtext", "generic", "megatron", "vllm"},
    {"moe.routing.alpha", "0", "0.5", "1", "2"},
    {"workload.mode", "train", "prefill", "train", "prefill"},
    {"workload.global_batch", "96", "192", "384", "768"}, /* not drawn */
};

enum { N_AXES = sizeof axes / sizeof *axes, N_DRAWN = N_AXES - 1 };

static enum status apply(void *context, size_t value, struct plan *plan, struct err *err)
{
    const char *const *axis = axes[*(const size_t *)context];
    const struct field *field = schema_find(axis[0]);
    return schema_set(field, plan, axis[1 + value], false, (struct mark){.file = axis[0]}, err);
}

static void sweep_init(struct sweep *sweep, const struct plan *base, size_t which[3],
                       struct arena *arena)
{
    *sweep = (struct sweep){.base = base, .n_axes = 3};
    for (size_t i = 0; i < 3; i++) {
        struct err err = {0};
        if (sweep_axis_init(&sweep->axes[i], base, 4, evaluate_is_slot(axes[which[i]][0]),
                            apply, &which[i], arena, &err) != STATUS_OK)
            fail_msg("%s", err.text);
    }
}

/* One line per point: all that predict's record says about the same things. */
static size_t write_row(const void *context, const size_t indices[SWEEP_AXES],
                        const struct plan *plan, const struct evaluation *result, char *out,
                        size_t room)
{
    (void)context;
    (void)plan;
    return (size_t)snprintf(
        out, room, "%zu %zu %zu %d %s %llu %llu %s\n", indices[0], indices[1], indices[2],
        result->valid, result->valid ? verdict_name(result->verdict) : "-",
        (unsigned long long)result->peak.total_bytes,
        (unsigned long long)result->peak.state_bytes, result->wall ? result->wall->name : "-");
}

static enum status collect(void *context, const char *bytes, size_t n, uint64_t done,
                           struct err *err)
{
    (void)done;
    (void)err;
    text_append_n(context, bytes, n);
    return STATUS_OK;
}

static const char *rows_of(const struct sweep *sweep, unsigned threads, struct arena *arena)
{
    struct text text = {.arena = arena};
    struct err err = {0};
    const struct sweep_output output = {
        .row = write_row, .row_room = 256, .write = collect, .write_context = &text};
    struct pool *pool = threads ? pool_create(threads) : NULL;
    assert_int_equal(sweep_run(sweep, pool, &output, &err), STATUS_OK);
    pool_free(pool);
    return text_string(&text);
}

/* ---- less than all rows ---- */

/* Batches of any size: chunk borders fall everywhere. */
static uint64_t uneven_pace(void *context, uint64_t last)
{
    (void)context;
    return last % 23 + 17;
}

/* Tokens per second by one profile, whatever the sweep varies. */
static double speed_of(const void *context, const struct plan *plan,
                       const struct evaluation *result, bool most)
{
    struct step_time step;
    if (most)
        return result->by && time_least(result->by, plan, result->by->structure, context, &step)
                   ? time_tokens_per_s_per_device(plan, &step)
                   : HUGE_VAL;
    return result->by && time_evaluated(result->by, plan, context, &step)
               ? time_tokens_per_s_per_device(plan, &step)
               : 0;
}

static const char *reduced(const struct sweep *sweep, struct sweep_keep keep,
                           struct sweep_part part, unsigned threads,
                           const struct profile *profile, struct arena *arena)
{
    struct text text = {.arena = arena};
    struct err err = {0};
    const struct sweep_output output = {.row = write_row,
                                        .row_room = 256,
                                        .write = collect,
                                        .write_context = &text,
                                        .pace = uneven_pace,
                                        .part = part,
                                        .keep = keep,
                                        .speed = speed_of,
                                        .speed_context = profile};
    struct pool *pool = pool_create(threads);
    assert_int_equal(sweep_run(sweep, pool, &output, &err), STATUS_OK);
    pool_free(pool);
    return text_string(&text);
}

enum { POINTS = 64 };

/* All points, one by one. */
struct all {
    unsigned verdict[POINTS];
    bool fits[POINTS];
    struct sweep_best best[POINTS];
    char row[POINTS][256];
};

/* The same of a plan by itself. */
static double speed_alone(const struct plan *plan, const struct profile *profile)
{
    struct evaluator evaluator = {0};
    struct step_time step;
    bool timed = time_step(&evaluator, plan, profile, &step);
    evaluator_release(&evaluator);
    return timed ? time_tokens_per_s_per_device(plan, &step) : 0;
}

static void look_at_all(const struct sweep *sweep, const struct sweep_keep *keep,
                        const struct profile *profile, struct all *all)
{
    for (uint64_t point = 0; point < POINTS; point++) {
        struct evaluator evaluator = {0};
        struct evaluation result;
        struct plan plan;
        size_t indices[SWEEP_AXES] = {0};
        sweep_indices(sweep, point, indices);
        sweep_plan(sweep, indices, &plan);
        evaluate(&evaluator, &plan, 1, &result);
        all->verdict[point] = sweep_verdict(&result);
        all->fits[point] = sweep_can_be_best(keep, &result);
        all->best[point] =
            (struct sweep_best){.bytes = result.peak.total_bytes, .point = point, .speed = 0};
        if (profile && all->fits[point])
            all->best[point].speed = speed_alone(&plan, profile);
        write_row(NULL, indices, &plan, &result, all->row[point], sizeof all->row[point]);
        evaluator_release(&evaluator);
    }
}

static bool is_edge(const struct all *all, uint64_t point)
{
    uint64_t at = point % 4;
    return (at > 0 && all->verdict[point - 1] != all->verdict[point]) ||
           (at < 3 && all->verdict[point + 1] != all->verdict[point]);
}

/* As fast in less memory, or faster in as much, or the same and earlier. */
static bool is_beaten(const struct all *all, uint64_t point)
{
    const struct sweep_best *a = &all->best[point];
    for (uint64_t other = 0; other < POINTS; other++) {
        const struct sweep_best *b = &all->best[other];
        bool better = b->bytes < a->bytes || b->speed > a->speed || other < point;
        if (all->fits[other] && other != point && b->bytes <= a->bytes &&
            b->speed >= a->speed && better)
            return true;
    }
    return false;
}

static uint64_t rank_of(const struct all *all, uint64_t point)
{
    const struct sweep_best *a = &all->best[point];
    uint64_t before = 0;
    for (uint64_t other = 0; other < POINTS; other++) {
        const struct sweep_best *b = &all->best[other];
        bool tie = b->speed == a->speed &&
                   (b->bytes < a->bytes || (b->bytes == a->bytes && other < point));
        before += all->fits[other] && (b->speed > a->speed || tie);
    }
    return before;
}

static void check_reduced(const struct sweep *sweep, struct arena *arena)
{
    struct all all;
    const struct sweep_keep edge = {.reduce = REDUCE_BOUNDARY};
    const struct sweep_keep pareto = {.reduce = REDUCE_PARETO};
    const struct sweep_keep top = {.reduce = REDUCE_TOP, .top = 5};
    struct text edges = {.arena = arena}, joined = {.arena = arena};
    struct profile profile;
    struct err err = {0};
    assert_int_equal(profile_load(sweep->base, arena, &profile, &err), STATUS_OK);
    if (draws_one_thread())
        look_at_all(sweep, &pareto, &profile, &all);
    const char *best = reduced(sweep, pareto, (struct sweep_part){0}, 2, &profile, arena);
    const char *fastest = reduced(sweep, top, (struct sweep_part){0}, 2, &profile, arena);
    for (uint64_t point = 0; draws_one_thread() && point < POINTS; point++) {
        const char *row = all.row[point];
        if (is_edge(&all, point))
            text_append(&edges, all.row[point]);
        bool stays = all.fits[point] && !is_beaten(&all, point);
        assert_int_equal(strstr(best, row) != NULL, stays);
        assert_int_equal(strstr(fastest, row) != NULL,
                         all.fits[point] && rank_of(&all, point) < top.top);
    }
    for (uint64_t part = 1; part <= 5; part++)
        text_append(&joined,
                    reduced(sweep, edge, (struct sweep_part){part, 5}, 2, &profile, arena));
    const char *whole = reduced(sweep, edge, (struct sweep_part){0}, 3, &profile, arena);
    assert_string_equal(text_string(&joined), whole);
    if (draws_one_thread())
        assert_string_equal(whole, text_string(&edges));
}

/* The same line from predict. */
static const char *predicted_row(const struct sweep *sweep, uint64_t point, struct arena *arena)
{
    size_t indices[SWEEP_AXES] = {0};
    struct plan plan;
    struct prediction p;
    struct err err = {0};
    char text[RULE_TEXT], hint[RULE_TEXT];
    const struct predict_options options = {.memory_only = true};
    sweep_indices(sweep, point, indices);
    sweep_plan(sweep, indices, &plan);
    bool valid = !rule_check(&plan, text, hint) &&
                 predict(&plan, &options, arena, &p, &err) == STATUS_OK;
    if (!valid)
        return arena_printf(arena, "%zu %zu %zu 0 - 0 0 -\n", indices[0], indices[1],
                            indices[2]);
    return arena_printf(
        arena, "%zu %zu %zu 1 %s %llu %llu %s\n", indices[0], indices[1], indices[2],
        verdict_name(p.memory.verdict), (unsigned long long)p.memory.total_bytes,
        (unsigned long long)p.memory.state_bytes, p.memory.wall ? p.memory.wall->name : "-");
}

static uint64_t compare_sweep(const struct plan *base, uint64_t seed, size_t which[3])
{
    struct arena arena = {0};
    struct sweep sweep;
    uint64_t valid = 0;
    sweep_init(&sweep, base, which, &arena);
    const char *rows = rows_of(&sweep, 0, &arena);
    assert_string_equal(rows_of(&sweep, 2, &arena), rows);
    if (!draws_one_thread())
        valid = sweep_points(&sweep);
    check_reduced(&sweep, &arena);
    for (uint64_t point = 0; draws_one_thread() && point < sweep_points(&sweep); point++) {
        struct arena scratch = {0};
        const char *row = predicted_row(&sweep, point, &scratch);
        if (strncmp(rows, row, strlen(row)) != 0)
            fail_msg("seed %llu, axes %s %s %s, point %llu: swept %.*s predicted %s",
                     (unsigned long long)seed, axes[which[0]][0], axes[which[1]][0],
                     axes[which[2]][0], (unsigned long long)point, (int)strcspn(rows, "\n"),
                     rows, row);
        valid += strstr(row, " 1 ") != NULL;
        rows += strlen(row);
        arena_release(&scratch);
    }
    arena_release(&arena);
    return valid;
}

static void points_equal_predictions(void **state)
{
    (void)state;
    uint64_t valid = 0;
    draws_print(SEEDS);
    for (uint64_t seed = 1; seed <= draws_of(SEEDS); seed++) {
        struct rng rng;
        struct plan base;
        rng_init(&rng, draws_seed(seed), 77, 0, 0, 0);
        if (seed % 3 == 0)
            drawn_plan(seed, 4 * SEEDS, &base);
        else
            base = seed % 3 == 1 ? plan_small(4) : plan_deepseek(8, 8);
        base.moe.routing.samples = 8;
        base.workload.context_length = 128;
        /* an engine's profile run, which a sweep does not ask for, within 64 bits */
        base.workload.max_num_batched_tokens = base.workload.max_num_seqs = 0;
        size_t which[3] = {rng_below(&rng, N_DRAWN), 0, 0};
        for (unsigned i = 1; i < 3; i++)
            which[i] = (which[i - 1] + 1 + rng_below(&rng, N_DRAWN / 3)) % N_DRAWN;
        valid += compare_sweep(&base, seed, which);
    }
    printf("%llu of %u points are valid plans\n", (unsigned long long)valid,
           draws_of(SEEDS) * 64);
    draws_reach("valid", valid, draws_of(SEEDS) * 8.0);
}

/* ---- what stays within a structure ---- */

/* Points that differ in sizes alone are evaluated by what moves (sim/memory/steady.h): as each
 * of them by itself, where nothing is kept yet. */
static void sizes_alone_move(void **state)
{
    (void)state;
    static const size_t slots[] = {0, 1, 2, 3};
    uint64_t valid = 0;
    if (!draws_one_thread())
        skip();
    draws_print(4 * SEEDS);
    for (uint64_t seed = 1; seed <= draws_of(4 * SEEDS); seed++) {
        struct arena arena = {0};
        struct plan base;
        struct sweep sweep;
        struct all all;
        const struct sweep_keep keep = {.reduce = REDUCE_NOTHING};
        drawn_plan(seed, 4 * SEEDS, &base);
        base.moe.routing.samples = 8;
        if (seed % 4 == 0)
            base.workload.global_batch = 384;
        size_t which[3] = {slots[seed % 4], slots[(seed + 1) % 4], slots[(seed + 2) % 4]};
        sweep_init(&sweep, &base, which, &arena);
        const char *rows = rows_of(&sweep, 0, &arena);
        look_at_all(&sweep, &keep, NULL, &all);
        for (uint64_t point = 0; point < POINTS; point++) {
            if (strncmp(rows, all.row[point], strlen(all.row[point])) != 0)
                fail_msg("seed %llu: swept %.*s alone %s", (unsigned long long)seed,
                         (int)strcspn(rows, "\n"), rows, all.row[point]);
            rows += strlen(all.row[point]);
            valid += all.verdict[point] != SWEEP_INVALID;
        }
        arena_release(&arena);
    }
    printf("%llu points of sizes alone\n", (unsigned long long)valid);
    draws_reach("valid", valid, draws_of(4 * SEEDS) * 20.0);
}

/* ---- what depends on the micro-batch and is no product of it ---- */

static size_t axis_of(const char *key)
{
    size_t i = 0;
    while (i < N_AXES && strcmp(axes[i][0], key) != 0)
        i++;
    assert_in_range(i, 0, N_AXES - 1);
    return i;
}

/* Chunks of a fused loss are powers of two, a graph of a whole step reads as many batches as
 * the global batch leaves, and micro-batches in flight are no more than those; a trainer gives
 * way to an engine where its own peak is lower. */
static void steps_follow_the_micro_batch(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "stack.cross_entropy=fused",
        "stack.cross_entropy=fused model=qwen3-30b-a3b stack=fsdp",
        "stack.graphs=full",
        "stack.graphs=partial cluster=h200-8x8 parallel.pp=8 moe.path=ragged_a2a",
        "moe.paged_stash=true moe.buffer=1.5 model=qwen3-next-80b-a3b parallel.pp=2",
        ("model=qwen3-30b-a3b workload.colocated.engine=asleep workload.colocated.fraction=0.4 "
         "workload.colocated.away=[weights,states] precision.gradients=f32"),
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct arena arena = {0};
        struct plan plan;
        size_t which[3] = {axis_of("workload.micro_batch"), axis_of("workload.sequence_length"),
                           axis_of("workload.global_batch")};
        plan_set("model: deepseek-v3\ncluster: h200-8x4\nstack: megatron\n"
                 "workload: {global_batch: 384}\nparallel: {ep: 8, zero: 1}\n",
                 sets[i], &arena, &plan);
        assert_in_range(compare_sweep(&plan, i, which), 24, 64);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_alone_move),
        cmocka_unit_test(steps_follow_the_micro_batch),
        cmocka_unit_test(points_equal_predictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
