/* Receive buffers of given size, and numbers that say how sure they are: the plans that showed
 * a bound that was none and a chance that was too large. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "calib/run/run.h"
#include "plan/read/load.h"
#include "report/predict/assumed.h"
#include "sim/step/evaluate.h"
#include "sim/answer/predict.h"

/* OLMoE on eight ranks, the hottest experts on the first: it receives 3.73 times the mean. */
#define OLMOE(micro_batch, more)                                                               \
    "model: olmoe-1b-7b\ncluster: h100-8x1\nstack: megatron\n"                                 \
    "workload: {mode: train, sequence_length: 4096, micro_batch: " micro_batch "}\n"           \
    "parallel: {ep: 8}\nprecision: {gradients: bf16, master: none, moments: bf16}\n"           \
    "moe:\n  path: deepep\n  routing: {distribution: zipf, alpha: 1}\n" more

struct answer {
    struct arena arena;
    struct plan plan;
    struct prediction prediction;
    const struct memory_report *memory;
};

static void ask(const char *text, const struct override *sets, size_t n, struct answer *a)
{
    struct err err = {0};
    struct origins origins;
    memset(a, 0, sizeof *a);
    if (plan_load_text("overflow.yaml", text, strlen(text), sets, n, &a->arena, &a->plan,
                       &origins, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    struct predict_options options = {.fixes = true, .origins = &origins};
    if (predict(&a->plan, &options, &a->arena, &a->prediction, &err))
        fail_msg("%s (%s)", err.text, err.hint);
    a->memory = &a->prediction.memory;
}

static void ask_buffer(const char *text, const char *buffer, struct answer *a)
{
    const struct override set = {"moe.buffer", buffer, "--set"};
    ask(text, &set, 1, a);
}

/* The same plan evaluated as sweeps, fixes and searches do. */
static struct evaluation evaluated(const struct plan *plan)
{
    struct evaluator evaluator = {0};
    struct evaluation out;
    evaluate(&evaluator, plan, 1, &out);
    evaluator_release(&evaluator);
    return out;
}

/* T K = 131072 rows are the mean; the fullest rank gets 490 thousand in every sample. */
static void buffer_smaller_than_the_rows_is_oom(void **state)
{
    (void)state;
    static const char *const small[] = {"0.5", "1", "2", "3.7"};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct answer a;
        ask_buffer(OLMOE("2", ""), small[i], &a);
        const struct memory_report *m = a.memory;
        double rows = 65536 * strtod(small[i], NULL);
        assert_int_equal(m->overflow.room_rows, (uint64_t)rows);
        assert_string_equal(verdict_name(m->verdict), "oom");
        assert_true(m->total_bytes < m->limit_bytes);
        assert_true(m->overflow.probability == 1);
        assert_non_null(m->small_wall);
        assert_ptr_equal(m->small_wall, m->wall);
        assert_int_equal(m->wall->dims[0], (uint64_t)rows);
        assert_true(m->expected_bytes == m->total_bytes && m->worst_bytes == m->total_bytes);
        for (size_t f = 0; f < m->n_fixes; f++)
            assert_null(strstr(m->fixes[f].set, "moe.buffer"));
        struct evaluation e = evaluated(&a.plan);
        assert_int_equal(e.verdict, VERDICT_OOM);
        assert_true(e.overflows && e.overflow.probability == 1);
        arena_release(&a.arena);
    }
}

static void buffer_larger_than_the_rows_has_a_bounded_chance(void **state)
{
    (void)state;
    struct answer a;
    ask_buffer(OLMOE("2", ""), "4", &a);
    assert_string_equal(verdict_name(a.memory->verdict), "fits");
    assert_true(a.memory->overflow.is_bound);
    assert_true(a.memory->overflow.probability > 0 && a.memory->overflow.probability < 1e-6);
    assert_int_equal(evaluated(&a.plan).verdict, VERDICT_FITS);
    arena_release(&a.arena);
    ask_buffer(OLMOE("2", ""), "8", &a); /* R min(K, e) / K: every row of every rank */
    assert_true(a.memory->overflow.probability == 0);
    arena_release(&a.arena);
}

/* Software that drops is judged by its bytes, and says what it drops: a rank with 3.73 times
 * its share loses 1.73 / 8 of all rows beside what other ranks lose. */
static void drops_are_said(void **state)
{
    (void)state;
    const struct override sets[] = {{"moe.buffer", "2", "--set"},
                                    {"stack.on_overflow", "drop", "--set"}};
    struct answer a;
    ask(OLMOE("2", ""), sets, 2, &a);
    assert_string_equal(verdict_name(a.memory->verdict), "fits");
    const struct routing_report *r = &a.prediction.moe.routing;
    double least = ((double)r->heaviest_rows_expected - 131072) / 524288;
    assert_true(r->drop_fraction >= least - 1e-4);
    assert_true(r->drop_fraction < least + 0.02);
    assert_true(a.memory->overflow.drop_fraction == r->drop_fraction);
    arena_release(&a.arena);
}

/* Balance is asserted: the distribution is not read, and a note says so. */
static void balanced_reads_no_distribution(void **state)
{
    (void)state;
    struct answer a;
    ask_buffer(OLMOE("2", ""), "balanced", &a);
    bool said = false;
    assert_string_equal(a.memory->sizing, "balanced");
    assert_true(a.prediction.moe.routing.rank_imbalance == 1);
    assert_int_equal(a.prediction.moe.routing.heaviest_rows_p99, 65536);
    for (size_t i = 0; i < a.prediction.n_notes; i++)
        said = said || strcmp(a.prediction.notes[i].key, "moe.routing.distribution") == 0;
    assert_true(said);
    arena_release(&a.arena);
}

static void sizing_says_what_the_total_is(void **state)
{
    (void)state;
    static const struct {
        const char *buffer, *sizing;
    } cases[] = {{"worst", "worst"}, {"exact", "p99"}, {"2", "factor"}, {"auto", "p99"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer a;
        ask_buffer(OLMOE("1", ""), cases[i].buffer, &a);
        assert_string_equal(a.memory->sizing, cases[i].sizing);
        arena_release(&a.arena);
    }
}

/* run refuses the rows that predict says have no room, and says so by the same function. */
static const char host[] = "model:\n  layers: 1\n  hidden: 64\n  vocab: 64\n"
                           "  dense_intermediate: 64\n"
                           "  attention: {kind: gqa, heads: 4, kv_heads: 4, head_dim: 16}\n"
                           "  moe: {experts: 16, top_k: 4, intermediate: 32}\n"
                           "cluster: host\nstack: host\n"
                           "workload: {sequence_length: 64, micro_batch: 1}\n"
                           "parallel: {ep: 2}\nmoe: {path: ragged_a2a}\n";

static enum status run_of(struct answer *a, struct err *err)
{
    struct run_options options = {.samples = 4, .dry_run = true};
    struct run_report report;
    assert_int_equal(run_host_plan(&a->plan, err), STATUS_OK);
    return run_perform(&a->plan, &options, NULL, &a->arena, &report, err);
}

static void run_and_predict_agree_on_room(void **state)
{
    (void)state;
    static const struct {
        const char *buffer;
        enum verdict verdict;
        enum status status;
    } cases[] = {{"0.9", VERDICT_OOM, STATUS_NOFIT},
                 {"1", VERDICT_OOM, STATUS_NOFIT},
                 {"2", VERDICT_FITS, STATUS_OK},
                 {"balanced", VERDICT_FITS, STATUS_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer a;
        struct err err = {0};
        ask_buffer(host, cases[i].buffer, &a);
        assert_int_equal(a.memory->verdict, cases[i].verdict);
        assert_int_equal(run_of(&a, &err), cases[i].status);
        arena_release(&a.arena);
    }
}

/* ---- how sure ---- */

/* Where the worst case fits nothing can run out; where it does not, the rows that would end the
 * step are far beyond any that a law of this kind gives, and the bound says how far. */
static void chance_is_zero_or_bounded(void **state)
{
    (void)state;
    struct answer a;
    ask(OLMOE("1", ""), NULL, 0, &a);
    assert_true(a.memory->worst_bytes < a.memory->limit_bytes);
    assert_true(a.memory->oom_probability == 0);
    arena_release(&a.arena);
    ask(OLMOE("2", ""), NULL, 0, &a);
    assert_string_equal(verdict_name(a.memory->verdict), "fits");
    assert_true(a.memory->worst_bytes > a.memory->limit_bytes);
    assert_int_equal(a.memory->oom_samples, 0);
    assert_true(a.memory->oom_probability > 0 && a.memory->oom_probability < 1e-9);
    arena_release(&a.arena);
}

/* Popularity drawn for every layer and step: eight seeds agree within the error that each
 * states of its own 99th percentile; drawn once, they need not. */
static void seeds_agree_within_the_stated_error(void **state)
{
    (void)state;
    enum { SEEDS = 8 };
    static const char *const seeds[SEEDS] = {"1", "2", "3", "4", "5", "6", "7", "8"};
    double p99[SEEDS], error[SEEDS], low = HUGE_VAL, high = 0;
    for (size_t i = 0; i < SEEDS; i++) {
        const struct override sets[] = {
            {"moe.routing.distribution", "lognormal", "--set"},
            {"moe.routing.seed", seeds[i], "--set"},
        };
        struct answer a;
        ask(OLMOE("2", ""), sets, 2, &a);
        p99[i] = (double)a.memory->p99_bytes;
        error[i] = (double)a.memory->p99_error_bytes;
        low = fmin(low, p99[i]);
        high = fmax(high, p99[i]);
        arena_release(&a.arena);
    }
    for (size_t i = 0; i < SEEDS; i++)
        for (size_t j = 0; j < i; j++)
            if (fabs(p99[i] - p99[j]) > hypot(error[i], error[j]))
                fail_msg("seeds %zu and %zu: p99 %g and %g, errors %g and %g", j + 1, i + 1,
                         p99[j], p99[i], error[j], error[i]);
    assert_true(high - low < 0.03 * high);
}

/* The printed equation of the limit is the one that is computed. */
static void limit_says_its_equation(void **state)
{
    (void)state;
    struct answer a;
    ask(OLMOE("1", ""), NULL, 0, &a);
    assert_string_equal(predict_assumed_limit(&a.plan, &a.arena),
                        "72.06 GiB = (79.10 - 1.00 context - 1.00 communication) / 1.07 "
                        "fragmentation");
    arena_release(&a.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffer_smaller_than_the_rows_is_oom),
        cmocka_unit_test(buffer_larger_than_the_rows_has_a_bounded_chance),
        cmocka_unit_test(drops_are_said),
        cmocka_unit_test(balanced_reads_no_distribution),
        cmocka_unit_test(sizing_says_what_the_total_is),
        cmocka_unit_test(run_and_predict_agree_on_room),
        cmocka_unit_test(chance_is_zero_or_bounded),
        cmocka_unit_test(seeds_agree_within_the_stated_error),
        cmocka_unit_test(limit_says_its_equation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
