/* Path blockwise with everything its kernels can skip or share: the vectors of seed-systems.md
 * B3 and B4 through the executor, and every combination on every number of ranks; B7's loads of
 * path selective. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "plan/schema/schema.h"
#include "sim/moe/decode.h"
#include "support/layer_case.h"
#include "work/piece/block_loop.h"

static void run_in(struct session *session, const struct plan *plan,
                   const struct layer_sample *sample, const char *name, bool backward,
                   struct case_result *result)
{
    struct err err = {0};
    struct case_options options = {.backward = backward};
    if (case_run_in(session, plan, sample, &options, result, &err) != STATUS_OK)
        fail_msg("%s: %s", name, err.text);
    case_expect(result, name);
}

static void begin(struct session *session, uint64_t ranks)
{
    struct err err = {0};
    struct session_options options = {
        .ranks = ranks, .workers = ranks == 2 ? 2 : 1, .plain_c = true};
    if (session_open(session, &options, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void run(const struct plan *plan, const struct layer_sample *sample, const char *name,
                bool backward, struct case_result *result)
{
    struct session session;
    begin(&session, sample->R);
    run_in(&session, plan, sample, name, backward, result);
    session_close(&session);
}

/* ---- B3: loads of weights ---- */

/* One rank; expert e has blocks[e] full blocks of 2 rows. */
static struct layer_sample full_blocks(struct plan *plan, const uint64_t *blocks,
                                       uint64_t experts, struct arena *arena)
{
    uint64_t tokens = 0, at = 0;
    for (uint64_t e = 0; e < experts; e++)
        tokens += 2 * blocks[e];
    case_plan(plan, PATH_BLOCKWISE, 1);
    plan->model.moe.experts = experts;
    plan->model.moe.top_k = 1;
    plan->model.moe.router.normalize = false;
    plan->workload.sequence_length = tokens;
    plan->moe.block_size = 2;
    plan->moe.skip_dynamic = true;
    int32_t *ids = arena_alloc(arena, tokens, sizeof *ids);
    for (uint64_t e = 0; e < experts; e++)
        for (uint64_t i = 0; i < 2 * blocks[e]; i++)
            ids[at++] = (int32_t)e;
    struct layer_sample sample = {
        .R = 1, .T = tokens, .K = 1, .logical = experts, .local = experts, .ids = ids};
    case_sample_contiguous(&sample, arena);
    return sample;
}

static void weight_loads_of_the_seed(void **state)
{
    (void)state;
    static const uint64_t sequence[] = {2, 1, 2}, counts[] = {5, 1, 3, 3};
    static const struct {
        const uint64_t *blocks;
        uint64_t experts, cores;
        enum weight_skip skip;
        uint64_t executed, loads;
    } cases[] = {
        {sequence, 3, 1, WEIGHT_SKIP_NONE, 5, 5},
        {sequence, 3, 1, WEIGHT_SKIP_HI_LO, 5, 3},
        {sequence, 3, 2, WEIGHT_SKIP_NONE, 6, 6}, /* the cores in step: an empty block more */
        {sequence, 3, 2, WEIGHT_SKIP_PING_PONG, 6, 5},
        {sequence, 3, 2, WEIGHT_SKIP_HI_LO, 6, 3},
        {counts, 4, 1, WEIGHT_SKIP_NONE, 12, 12},
        {counts, 4, 1, WEIGHT_SKIP_PING_PONG, 12, 4},
        {counts, 4, 2, WEIGHT_SKIP_NONE, 12, 12},
        {counts, 4, 2, WEIGHT_SKIP_PING_PONG, 12, 7},
        {counts, 4, 2, WEIGHT_SKIP_HI_LO, 12, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct case_result result;
        struct layer_sample sample =
            full_blocks(&plan, cases[i].blocks, cases[i].experts, &arena);
        plan.moe.cores = cases[i].cores;
        plan.moe.shard = SHARD_BLOCK;
        plan.moe.skip_weight = cases[i].skip;
        char name[64];
        snprintf(name, sizeof name, "vector %zu", i);
        run(&plan, &sample, name, false, &result);
        assert_int_equal(result.loads.counted.blocks_executed, cases[i].executed);
        assert_int_equal(result.loads.counted.weight_loads, cases[i].loads);
        /* 3 H I elements of 4 bytes each time */
        assert_int_equal(result.loads.counted.weight_bytes, cases[i].loads * 3 * 16 * 12 * 4);
        arena_release(&arena);
    }
}

/* ---- B3: how many blocks run ---- */

/* Rows of an expert of which `blocks` blocks of 4 hold one row each at least. */
static void dynamic_while_runs_what_holds_tokens(void **state)
{
    (void)state;
    /* 19 tokens, 8 experts, blocks of 4: N = (19 + 8 x 3) / 4 = 10 */
    static const int32_t six[19] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5};
    static const int32_t five[19] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4};
    static const struct {
        const int32_t *ids;
        bool dynamic;
        enum static_blocks fixed;
        uint64_t cores, ranks_blocks, executed;
    } cases[] = {
        {six, false, STATIC_BLOCKS_NXD, 1, 6, 10},
        {six, true, STATIC_BLOCKS_NXD, 1, 6, 6},    /* max(ceil(19 / 4) = 5, 6) */
        {six, true, STATIC_BLOCKS_KERNEL, 1, 6, 6}, /* max(10 - 8, 6) */
        {six, true, STATIC_BLOCKS_NXD, 2, 6, 6},
        {five, true, STATIC_BLOCKS_NXD, 1, 5, 5},
        {five, true, STATIC_BLOCKS_NXD, 2, 5, 6}, /* pairs */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct case_result result;
        struct block_loop wanted;
        case_plan(&plan, PATH_BLOCKWISE, 1);
        plan.workload.sequence_length = 19;
        plan.model.moe.top_k = 1;
        plan.model.moe.router.normalize = false;
        plan.moe.skip_dynamic = cases[i].dynamic;
        plan.moe.static_blocks = cases[i].fixed;
        plan.moe.cores = cases[i].cores;
        plan.moe.shard = SHARD_BLOCK;
        struct layer_sample sample = {
            .R = 1, .T = 19, .K = 1, .logical = 8, .local = 8, .ids = cases[i].ids};
        case_sample_contiguous(&sample, &arena);
        block_loop_of(&plan, &sample, 0, &wanted);
        assert_int_equal(wanted.provisioned, 10);
        assert_int_equal(wanted.valid, cases[i].ranks_blocks);
        run(&plan, &sample, "dynamic while", false, &result);
        assert_int_equal(result.loads.counted.blocks_executed, cases[i].executed);
        assert_int_equal(result.loads.counted.token_rows, 4 * cases[i].executed);
        plan.moe.skip_token = true;
        run(&plan, &sample, "dynamic while, tokens skipped", false, &result);
        assert_int_equal(result.loads.counted.token_rows, 19);
        arena_release(&arena);
    }
}

/* With few blocks filled the static ones are more: ceil(ceil(T K / R) / B), or N - e. */
static void static_blocks_run_without_tokens(void **state)
{
    (void)state;
    for (unsigned fixed = 0; fixed < 2; fixed++) {
        struct arena arena = {0};
        struct plan plan;
        struct case_result result;
        struct layer_sample sample;
        case_plan(&plan, PATH_BLOCKWISE, 8);
        plan.moe.skip_dynamic = true;
        plan.moe.static_blocks = (enum static_blocks)fixed;
        case_sample(&plan, CASE_ONE_RANK, &arena, &sample);
        run(&plan, &sample, "static blocks", false, &result);
        struct block_loop empty;
        block_loop_of(&plan, &sample, 0, &empty);
        assert_int_equal(empty.valid, 0);
        /* 48 rows, B 4, R 8, e 1: ceil(6 / 4) = 2, and 12 - 1 */
        assert_int_equal(empty.executed, fixed == STATIC_BLOCKS_NXD ? 2 : 11);
        arena_release(&arena);
    }
}

/* ---- B4: what crosses ---- */

/* T 24, K 2, H 16, I 12, B 4: the elements of the table, twice for both cores, in f32. */
static void bytes_between_cores(void **state)
{
    (void)state;
    static const char *const names[] = {"h", "i", "block"};
    for (unsigned shard = 0; shard < 3; shard++) {
        for (uint64_t top_k = 1; top_k <= 2; top_k++) {
            struct arena arena = {0};
            struct plan plan;
            struct case_result result;
            struct layer_sample sample;
            case_plan(&plan, PATH_BLOCKWISE, 1);
            plan.model.moe.top_k = top_k;
            plan.model.moe.router.normalize = top_k > 1;
            plan.moe.cores = 2;
            plan.moe.shard = (enum shard)shard;
            case_sample(&plan, CASE_ZIPF, &arena, &sample);
            run(&plan, &sample, names[shard], true, &result);
            struct block_cost cost =
                blocks_shard_cost((enum shard)shard, 24, top_k, 16, 12, 4, false);
            uint64_t n = result.loads.counted.blocks_executed;
            uint64_t all = shard == SHARD_BLOCK ? n : 2 * n; /* loads of one core */
            assert_true(n > 0);
            assert_int_equal(result.loads.counted.core_bytes,
                             2 * 4 * (n * cost.sent + cost.sent_once));
            assert_int_equal(result.loads.counted.weight_bytes, 4 * all * cost.weights);
            assert_int_equal(result.loads.counted.token_bytes, 4 * all * cost.tokens);
            arena_release(&arena);
        }
    }
}

/* ---- B7: loads of path selective ---- */

/* The sets of K of 4 experts, K 1 or 2. */
static unsigned expert_sets(uint64_t top_k, int32_t sets[6][2])
{
    unsigned n = 0;
    for (int32_t a = 0; a < 4; a++)
        for (int32_t b = top_k > 1 ? a + 1 : a; b < (top_k > 1 ? 4 : a + 1); b++) {
            sets[n][0] = a;
            sets[n++][1] = b;
        }
    return n;
}

static uint64_t loads_of(struct session *session, uint64_t top_k, const int32_t *ids,
                         bool dedup)
{
    struct arena arena = {0};
    struct plan plan;
    struct case_result result;
    case_plan(&plan, PATH_SELECTIVE, 1);
    plan.model.moe.experts = 4;
    plan.model.moe.top_k = top_k;
    plan.model.moe.router.normalize = top_k > 1;
    plan.workload.sequence_length = 2;
    plan.moe.dedup = dedup;
    struct layer_sample sample = {
        .R = 1, .T = 2, .K = top_k, .logical = 4, .local = 4, .ids = ids};
    case_sample_contiguous(&sample, &arena);
    run_in(session, &plan, &sample, "selective", false, &result);
    assert_int_equal(result.loads.counted.weight_bytes,
                     result.loads.counted.weight_loads * 3 * 16 * 12 * 4);
    arena_release(&arena);
    return result.loads.counted.weight_loads;
}

/* E 4, two tokens: the mean over all their choices is 1.75 distinct experts with K 1, 3 with K
 * 2; without deduplication every token loads its K. */
static void distinct_experts_are_loaded_once(void **state)
{
    (void)state;
    static const double wanted[] = {1.75, 3};
    struct session session;
    begin(&session, 1);
    for (uint64_t top_k = 1; top_k <= 2; top_k++) {
        int32_t sets[6][2], ids[4];
        unsigned n = expert_sets(top_k, sets);
        uint64_t sum = 0;
        for (unsigned i = 0; i < n * n; i++) {
            for (uint64_t k = 0; k < top_k; k++) {
                ids[k] = sets[i / n][k];
                ids[top_k + k] = sets[i % n][k];
            }
            sum += loads_of(&session, top_k, ids, true);
            assert_int_equal(loads_of(&session, top_k, ids, false), 2 * top_k);
        }
        double mean = (double)sum / (n * n);
        assert_true(mean >= wanted[top_k - 1] && mean <= wanted[top_k - 1]);
    }
    session_close(&session);
}

/* On any number of ranks the same bits as with deduplication, and T K loads in all: what
 * sim/moe/decode predicts for one rank. */
static void loads_by_token_change_no_bit(void **state)
{
    (void)state;
    for (uint64_t ranks = 1; ranks <= 8; ranks *= 2) {
        struct session session;
        begin(&session, ranks);
        for (unsigned routing = 0; routing < CASE_ROUTINGS; routing++) {
            struct arena arena = {0};
            struct plan plan;
            struct case_result first, second;
            struct layer_sample sample;
            case_plan(&plan, PATH_SELECTIVE, ranks);
            case_sample(&plan, (enum case_routing)routing, &arena, &sample);
            run_in(&session, &plan, &sample, "once", true, &first);
            plan.moe.dedup = false;
            run_in(&session, &plan, &sample, "by token", true, &second);
            assert_true(first.out_hash == second.out_hash);
            assert_int_equal(second.loads.counted.weight_loads, 24 * 2);
            struct decode decode;
            decode_of(&(struct decode_ask){.experts = 8,
                                           .top_k = 2,
                                           .local = 8,
                                           .batch = 24,
                                           .expert_bytes =
                                               decode_expert_bytes(DTYPE_F32, 16, 12, true),
                                           .threshold = 1},
                      &decode);
            assert_int_equal(second.loads.counted.weight_bytes, decode.bytes_selective);
            arena_release(&arena);
        }
        session_close(&session);
    }
}

/* ---- everything with everything ---- */

struct choice {
    uint64_t cores;
    enum shard shard;
    enum weight_skip weight;
    bool token, dynamic;
    enum static_blocks fixed;
};

/* Number i of the combinations; false for those that say the same as another, or nothing. */
static bool choose(unsigned i, struct choice *c)
{
    *c = (struct choice){.cores = 1 + i % 2,
                         .shard = (enum shard)(i / 2 % 3),
                         .weight = (enum weight_skip)(i / 6 % 3),
                         .token = i / 18 % 2,
                         .dynamic = i / 36 % 3 > 0,
                         .fixed = (enum static_blocks)(i / 36 % 3 == 2)};
    return c->cores == 2 ? c->shard != SHARD_I || c->weight == WEIGHT_SKIP_NONE
                         : c->shard == SHARD_H;
}

static void apply(const struct choice *c, struct plan *plan)
{
    plan->moe.cores = c->cores;
    plan->moe.shard = c->shard;
    plan->moe.skip_weight = c->weight;
    plan->moe.skip_token = c->token;
    plan->moe.skip_dynamic = c->dynamic;
    plan->moe.static_blocks = c->fixed;
}

/* One core gives the same bits whatever it skips. */
static void check_bits(const struct choice *c, const char *name, uint64_t hash, uint64_t *first)
{
    if (c->cores != 1)
        return;
    *first = *first ? *first : hash;
    if (hash != *first)
        fail_msg("%s: other bits than without skipping", name);
}

static void every_combination(void **state)
{
    (void)state;
    unsigned done = 0;
    for (unsigned routing = 0; routing < CASE_ROUTINGS; routing++) {
        for (uint64_t ranks = 1; ranks <= 8; ranks *= 2) {
            uint64_t first = 0;
            struct session session;
            begin(&session, ranks);
            for (unsigned i = 0; i < 108; i++) {
                struct arena arena = {0};
                struct plan plan;
                struct choice c;
                struct case_result result;
                struct layer_sample sample;
                char name[128];
                if (!choose(i, &c))
                    continue;
                case_plan(&plan, PATH_BLOCKWISE, ranks);
                apply(&c, &plan);
                case_sample(&plan, (enum case_routing)routing, &arena, &sample);
                snprintf(name, sizeof name, "%d cores, shard %s, skip %s%s%s, %s, %d ranks",
                         (int)c.cores, words_shard[c.shard], words_weight_skip[c.weight],
                         c.token ? " token" : "", c.dynamic ? " dynamic" : "",
                         case_routing_name((enum case_routing)routing), (int)ranks);
                run_in(&session, &plan, &sample, name, done++ % 4 == 0, &result);
                check_bits(&c, name, result.out_hash, &first);
                arena_release(&arena);
            }
            session_close(&session);
        }
    }
    assert_int_equal(done, 16 * (18 + 18 * 2 + 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weight_loads_of_the_seed),
        cmocka_unit_test(dynamic_while_runs_what_holds_tokens),
        cmocka_unit_test(static_blocks_run_without_tokens),
        cmocka_unit_test(bytes_between_cores),
        cmocka_unit_test(distinct_experts_are_loaded_once),
        cmocka_unit_test(loads_by_token_change_no_bit),
        cmocka_unit_test(every_combination),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
