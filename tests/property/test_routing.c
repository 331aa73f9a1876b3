/* Laws of routing on random shapes: rows are conserved, experts distinct, results independent
 * of threads and order, capacity E / K drops nothing, EP 1 equals unsharded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/pool.h"
#include "base/rng.h"
#include "work/rows/router.h"
#include "work/rows/rows.h"
#include "support/draws.h"

enum { CASES = 60, SEED = 20251 };

static uint64_t between(struct rng *rng, uint64_t low, uint64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

/* A random shape and distribution; the same for the same number. */
static struct rows_spec random_spec(unsigned number)
{
    static const uint64_t group_counts[] = {1, 2, 4, 8};
    struct rng rng;
    rng_init(&rng, draws_seed(SEED), 0, number, 0, 0);
    struct rows_spec spec = {.tokens = between(&rng, 1, 200)};
    spec.ranks = (uint64_t)1 << between(&rng, 0, 3);
    spec.experts = 8 * between(&rng, 1, 12);
    spec.top_k = between(&rng, 1, 8);
    spec.ranks_per_node = between(&rng, 1, spec.ranks);
    spec.routing = (struct routing){.distribution = (enum distribution)between(&rng, 0, 4),
                                    .alpha = 3 * rng_uniform(&rng),
                                    .sigma = 2 * rng_uniform(&rng),
                                    .concentration = 0.1 + 2 * rng_uniform(&rng),
                                    .share = rng_uniform(&rng),
                                    .placement = (enum placement)between(&rng, 0, 1),
                                    .seed = rng_u64(&rng)};
    spec.scenario = (enum scenario)between(&rng, 0, 3);
    spec.router = (struct router){.score = (enum router_score)between(&rng, 0, 2),
                                  .bias = between(&rng, 0, 1) == 1,
                                  .groups = group_counts[between(&rng, 0, 3)]};
    spec.router.top_groups = spec.router.groups > 1 ? between(&rng, 1, spec.router.groups) : 1;
    if (spec.router.top_groups * (spec.experts / spec.router.groups) < spec.top_k)
        spec.router.top_groups = spec.router.groups;
    if (between(&rng, 0, 3) == 0) {
        spec.redundant = 8;
        spec.routing.placement = PLACEMENT_EPLB;
    }
    return spec;
}

static void prepare(const struct rows_spec *spec, unsigned number, struct arena *arena,
                    struct rows *rows)
{
    struct err err = {0};
    if (rows_prepare(spec, arena, rows, &err) != STATUS_OK)
        fail_msg("seed %d case %u: %s", SEED, number, err.text);
}

static void rows_are_conserved(void **state)
{
    (void)state;
    for (unsigned number = 0; number < CASES; number++) {
        struct rows_spec spec = random_spec(number);
        struct arena arena = {0};
        struct rows rows;
        struct rows_scratch scratch;
        struct rows_step step;
        prepare(&spec, number, &arena, &rows);
        rows_scratch_init(&rows, &arena, &scratch);
        rows_step_init(&rows, ROWS_WANT_RECEIVED | ROWS_WANT_MATRIX | ROWS_WANT_PAIRS, &arena,
                       &step);
        rows_sample_step(&rows, number, &scratch, &step);
        uint64_t expert = 0, rank = 0, replica = 0, all = spec.tokens * spec.ranks * spec.top_k;
        for (uint64_t e = 0; e < spec.experts; e++) {
            expert += step.expert[e];
            assert_true(step.expert[e] <= spec.tokens * spec.ranks);
        }
        for (uint64_t r = 0; r < spec.ranks; r++) {
            uint64_t sent = 0, pairs = 0;
            rank += step.rank[r];
            for (uint64_t p = 0; p < rows.map.replicas; p++)
                sent += step.matrix[r * rows.map.replicas + p];
            assert_int_equal(sent, spec.tokens * spec.top_k);
            for (uint64_t s = 0; s < spec.ranks; s++)
                pairs += step.pairs[s * spec.ranks + r];
            assert_int_equal(pairs, step.received[r]);
            assert_true(step.received[r] <= step.rank[r]);
            struct rows_ceilings most =
                rows_ceilings(spec.tokens, spec.ranks, spec.top_k, rows.map.held[r]);
            assert_true(step.received[r] <= most.tokens && step.rank[r] <= most.rows);
        }
        for (uint64_t p = 0; p < rows.map.replicas; p++)
            replica += step.replica[p];
        if (expert != all || rank != all || replica != all)
            fail_msg("seed %d case %u: %lu %lu %lu of %lu rows", SEED, number, expert, rank,
                     replica, all);
        arena_release(&arena);
    }
}

static void experts_are_distinct(void **state)
{
    (void)state;
    for (unsigned number = 0; number < CASES; number++) {
        struct rows_spec spec = random_spec(number);
        struct arena arena = {0};
        struct rows rows;
        struct rows_scratch scratch;
        int32_t ids[200 * 8];
        prepare(&spec, number, &arena, &rows);
        rows_scratch_init(&rows, &arena, &scratch);
        rows_sample_tokens(&rows, 1, spec.ranks - 1, 0, spec.tokens, &scratch, ids);
        for (uint64_t t = 0; t < spec.tokens; t++)
            for (uint64_t a = 0; a < spec.top_k; a++)
                for (uint64_t b = 0; b < a; b++)
                    if (ids[t * spec.top_k + a] == ids[t * spec.top_k + b])
                        fail_msg("seed %d case %u token %lu: expert %d twice", SEED, number, t,
                                 ids[t * spec.top_k + a]);
        arena_release(&arena);
    }
}

/* Tokens are the same one by one, in pieces, and in any order. */
static void tokens_do_not_depend_on_order(void **state)
{
    (void)state;
    for (unsigned number = 0; number < CASES; number++) {
        struct rows_spec spec = random_spec(number);
        struct arena arena = {0};
        struct rows rows;
        struct rows_scratch scratch;
        int32_t whole[200 * 8], piece[200 * 8];
        prepare(&spec, number, &arena, &rows);
        rows_scratch_init(&rows, &arena, &scratch);
        rows_sample_tokens(&rows, 2, 0, 0, spec.tokens, &scratch, whole);
        for (uint64_t t = spec.tokens; t-- > 0;)
            rows_sample_tokens(&rows, 2, 0, t, 1, &scratch, piece + t * spec.top_k);
        assert_memory_equal(whole, piece, spec.tokens * spec.top_k * sizeof *whole);
        arena_release(&arena);
    }
}

struct steps {
    const struct rows *rows;
    struct rows_scratch scratch[4];
    struct rows_step step[16];
};

static void run_step(void *arg, size_t task, unsigned worker)
{
    struct steps *steps = arg;
    rows_sample_step(steps->rows, task, &steps->scratch[worker], &steps->step[task]);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    struct pool *pools[3] = {NULL, pool_create(2), pool_create(4)};
    for (unsigned number = 0; number < 10; number++) {
        struct rows_spec spec = random_spec(number);
        struct arena arena = {0};
        struct rows rows;
        struct steps steps[3];
        prepare(&spec, number, &arena, &rows);
        for (int i = 0; i < 3; i++) {
            steps[i].rows = &rows;
            for (int w = 0; w < 4; w++)
                rows_scratch_init(&rows, &arena, &steps[i].scratch[w]);
            for (int s = 0; s < 16; s++)
                rows_step_init(&rows, ROWS_WANT_RECEIVED, &arena, &steps[i].step[s]);
            pool_run(pools[i], 16, run_step, &steps[i]);
        }
        for (int i = 1; i < 3; i++)
            for (int s = 0; s < 16; s++) {
                assert_memory_equal(steps[0].step[s].replica, steps[i].step[s].replica,
                                    rows.map.replicas * sizeof(uint64_t));
                assert_memory_equal(steps[0].step[s].received, steps[i].step[s].received,
                                    spec.ranks * sizeof(uint64_t));
            }
        arena_release(&arena);
    }
    pool_free(pools[1]);
    pool_free(pools[2]);
}

static void full_capacity_drops_nothing(void **state)
{
    (void)state;
    for (unsigned number = 0; number < CASES; number++) {
        struct rows_spec spec = random_spec(number);
        struct arena arena = {0};
        struct rows rows;
        struct rows_scratch scratch;
        int32_t ids[200 * 8];
        prepare(&spec, number, &arena, &rows);
        rows_scratch_init(&rows, &arena, &scratch);
        uint64_t *counts = arena_alloc(&arena, spec.experts, sizeof *counts);
        rows_sample_tokens(&rows, 0, 0, 0, spec.tokens, &scratch, ids);
        uint64_t capacity = router_capacity(spec.tokens, spec.top_k, spec.experts,
                                            (double)spec.experts / (double)spec.top_k);
        for (uint64_t i = 0; i < spec.tokens * spec.top_k; i++)
            assert_in_range(++counts[ids[i]], 1, capacity);
        arena_release(&arena);
    }
}

/* With one rank everything stays; and a rank's own tokens do not depend on how many ranks the
 * experts lie on (hot ranks excepted: they are about ranks). */
static void one_rank_is_unsharded(void **state)
{
    (void)state;
    for (unsigned number = 0; number < CASES; number++) {
        struct rows_spec spec = random_spec(number);
        if (spec.routing.distribution == DISTRIBUTION_HOT_RANK ||
            spec.scenario == SCENARIO_PROFILE_RUN)
            continue;
        struct arena arena = {0};
        struct rows many, one;
        struct rows_scratch scratch;
        struct rows_step step;
        int32_t ids[200 * 8], same[200 * 8];
        prepare(&spec, number, &arena, &many);
        rows_scratch_init(&many, &arena, &scratch);
        rows_sample_tokens(&many, 0, 0, 0, spec.tokens, &scratch, ids);
        spec.ranks = spec.ranks_per_node = 1;
        prepare(&spec, number, &arena, &one);
        rows_scratch_init(&one, &arena, &scratch);
        rows_sample_tokens(&one, 0, 0, 0, spec.tokens, &scratch, same);
        assert_memory_equal(ids, same, spec.tokens * spec.top_k * sizeof *ids);
        rows_step_init(&one, ROWS_WANT_RECEIVED, &arena, &step);
        rows_sample_step(&one, 0, &scratch, &step);
        assert_int_equal(step.rank[0], spec.tokens * spec.top_k);
        assert_int_equal(step.received[0], spec.tokens);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_conserved),
        cmocka_unit_test(experts_are_distinct),
        cmocka_unit_test(tokens_do_not_depend_on_order),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(full_capacity_drops_nothing),
        cmocka_unit_test(one_rank_is_unsharded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
