/* Runs on local ranks: verdicts, what is compared, what is refused, how plans are divided. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "calib/run/run.h"
#include "base/pool.h"
#include "sim/step/slice.h"
#include "calib/run/run_fix.h"
#include "calib/run/run_shrink.h"
#include "calib/run/run_step.h"
#include "plan/derive.h"
#include "plan/read/load.h"
#include "support/layer_case.h"

/* The example with settings "a=b", ... applied; its rules hold. */
static void load(struct plan *plan, struct arena *arena, size_t n,
                 const struct override *overrides)
{
    struct err err = {0};
    if (plan_load("examples/host-small.yaml", overrides, n, arena, plan, NULL, &err) !=
        STATUS_OK)
        fail_msg("%s", err.text);
}

static void run(const struct plan *plan, const struct run_options *options, struct arena *arena,
                struct run_report *report)
{
    struct session session;
    struct err err = {0};
    struct session_options open = {.ranks = slice_kind_of(plan)->ranks(plan),
                                   .workers = 2,
                                   .rank = options->rank,
                                   .transport =
                                       options->alone ? TRANSPORT_SHARE : TRANSPORT_LOCAL};
    struct run_options all = *options;
    all.samples = all.samples ? all.samples : 1;
    all.band_percent = -1;
    assert_int_equal(session_open(&session, &open, &err), STATUS_OK);
    if (run_perform(plan, &all, &session, arena, report, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    session_close(&session);
}

static const struct run_op *op_named(const struct run_report *report, const char *name)
{
    for (size_t i = 0; i < report->n_ops; i++)
        if (strcmp(report->ops[i].name, name) == 0)
            return &report->ops[i];
    fail_msg("no op \"%s\"", name);
    return NULL;
}

/* 24 tokens of 2 experts each, E 8, on 2 ranks: every row is computed once. */
static void performed_layer_agrees_with_its_prediction(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report report;
    case_plan(&plan, PATH_RAGGED_A2A, 2);
    run(&plan, &(struct run_options){.repeat = 3}, &arena, &report);
    assert_int_equal(report.verdict, RUN_AGREES);
    assert_true(report.memory.equal);
    assert_true(report.memory.measured_peak_bytes == report.memory.predicted_peak_bytes);
    assert_int_equal(report.rows.routed, 48);
    assert_int_equal(report.rows.computed, 48);
    assert_int_equal(report.rows.dropped, 0);
    /* gate and up: 48 rows x 2 x 16 x 24 */
    assert_int_equal(op_named(&report, "gate_up")->flop, 48 * 2 * 16 * 24);
    assert_int_equal(op_named(&report, "gate_up")->samples, 3);
    assert_true(report.time.measured_s > 0);
    assert_true(report.time.low_s <= report.time.p50_s &&
                report.time.p50_s <= report.time.high_s);
    arena_release(&arena);
}

static void every_routing_sample_is_checked_and_measured(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report report;
    case_plan(&plan, PATH_CAPACITY, 2);
    run(&plan, &(struct run_options){.repeat = 2, .samples = 3}, &arena, &report);
    assert_int_equal(report.verdict, RUN_AGREES);
    assert_int_equal(report.time.samples, 6);
    /* of one sample, not of all: 8 experts of 4 slots on 2 ranks */
    assert_int_equal(report.rows.routed, 48);
    assert_int_equal(report.rows.computed, 64);
    assert_in_range(report.rows.dropped, 1, 16);
    arena_release(&arena);
}

static void null_backend_measures_the_harness_alone(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report report;
    case_plan(&plan, PATH_RAGGED_A2A, 2);
    run(&plan, &(struct run_options){.backend = BACKEND_NULL, .repeat = 3}, &arena, &report);
    assert_int_equal(report.verdict, RUN_METERED); /* of results nothing is known */
    assert_true(report.memory.equal);
    assert_int_equal(report.rows.computed, 0);
    assert_true(report.time.measured_s > 0); /* and it has no rate */
    assert_false(isfinite(report.time.ratio) || isfinite(report.ops[0].flop_per_s));
    arena_release(&arena);
}

static void plan_that_does_not_fit_is_not_performed(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report report;
    const struct override large[] = {{"workload.sequence_length", "65536", "--set"},
                                     {"workload.micro_batch", "4", "--set"},
                                     {"model.hidden", "65536", "--set"}};
    load(&plan, &arena, 3, large);
    run(&plan, &(struct run_options){0}, &arena, &report);
    assert_int_equal(report.verdict, RUN_OOM);
    assert_int_equal(report.memory.measured_peak_bytes, 0);
    assert_true(report.memory.predicted_peak_bytes > report.memory.limit_bytes);
    for (size_t i = 0; i < report.n_fixes; i++)
        assert_true(report.fixes[i].predicted_peak_bytes <= report.memory.limit_bytes);
    assert_true(report.n_fixes > 0);
    arena_release(&arena);
}

static void dry_run_predicts_what_a_run_meters(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report dry, real;
    struct err err = {0};
    case_plan(&plan, PATH_MASKED, 4);
    run(&plan, &(struct run_options){.repeat = 1}, &arena, &real);
    struct run_options options = {.dry_run = true, .samples = 1, .band_percent = -1};
    assert_int_equal(run_perform(&plan, &options, NULL, &arena, &dry, &err), STATUS_OK);
    assert_int_equal(dry.verdict, RUN_DRY);
    uint64_t scratch = 4 * KERNEL_SCRATCH_FLOATS; /* of one worker */
    assert_true(dry.memory.predicted_peak_bytes - dry.machine.cpus * scratch ==
                real.memory.measured_peak_bytes - real.snapshot.workers * scratch);
    arena_release(&arena);
}

/* ---- one rank alone ---- */

static void shares_of_all_ranks_are_the_whole(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report full, share;
    case_plan(&plan, PATH_DEEPEP, 4);
    run(&plan, &(struct run_options){.repeat = 1, .backward = true}, &arena, &full);
    uint64_t *flop = arena_alloc(&arena, full.n_ops, sizeof *flop);
    uint64_t *exchanged = arena_alloc(&arena, full.n_ops, sizeof *exchanged);
    uint64_t routed = 0;
    for (uint64_t rank = 0; rank < 4; rank++) {
        struct run_options options = {
            .repeat = 1, .backward = true, .alone = true, .rank = rank};
        run(&plan, &options, &arena, &share);
        assert_int_equal(share.verdict, RUN_AGREES);
        assert_true(share.memory.equal);
        assert_int_equal(share.rank, rank);
        assert_int_equal(share.ranks, 4);
        assert_int_equal(share.n_ops, full.n_ops);
        double tokens = share.time.tokens_per_s * share.time.measured_s;
        assert_true(tokens > 5.999 && tokens < 6.001);
        routed += share.rows.routed;
        for (size_t i = 0; i < full.n_ops; i++) {
            flop[i] += share.ops[i].flop;
            exchanged[i] += share.ops[i].bytes_exchanged;
        }
    }
    assert_int_equal(routed, full.rows.routed);
    for (size_t i = 0; i < full.n_ops; i++) {
        assert_int_equal(flop[i], full.ops[i].flop);
        assert_int_equal(exchanged[i], full.ops[i].bytes_exchanged);
    }
    arena_release(&arena);
}

static uint64_t dry_peak(const struct plan *plan, struct run_options options,
                         struct arena *arena, struct run_report *report)
{
    struct err err = {0};
    options.dry_run = true;
    options.samples = 1;
    options.band_percent = -1;
    assert_int_equal(run_perform(plan, &options, NULL, arena, report, &err), STATUS_OK);
    return report->memory.predicted_peak_bytes;
}

static bool proposes(const struct plan *plan, uint64_t limit_bytes, const char *set,
                     struct arena *arena, struct run_report *report)
{
    struct run_options options = {.samples = 1};
    struct slice_ranks ranks = {0, plan->parallel.ep, pool_cpus(), 1};
    report->n_fixes = 0;
    run_find_fixes(plan, &options, limit_bytes, ranks, arena, report);
    for (size_t i = 0; i < report->n_fixes; i++)
        if (strcmp(report->fixes[i].set, set) == 0)
            return true;
    return false;
}

static void one_rank_is_proposed_when_it_fits(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report report;
    const struct override eight[] = {{"cluster", "host-8x1", "--set"},
                                     {"parallel.ep", "8", "--set"}};
    load(&plan, &arena, 2, eight);
    struct run_options one = {.alone = true};
    uint64_t share = dry_peak(&plan, one, &arena, &report);
    uint64_t all = dry_peak(&plan, (struct run_options){0}, &arena, &report);
    assert_true(share < all);
    assert_true(proposes(&plan, share, "--rank 0", &arena, &report));
    assert_false(proposes(&plan, share - 1, "--rank 0", &arena, &report));
    arena_release(&arena);
}

static void a_rank_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct plan plan;
    struct err err = {0};
    case_plan(&plan, PATH_RAGGED_A2A, 4);
    struct run_options options = {.alone = true, .rank = 3};
    assert_int_equal(run_check_rank(&plan, &options, &err), STATUS_OK);
    options.rank = 4;
    assert_int_equal(run_check_rank(&plan, &options, &err), STATUS_USAGE);
    options.alone = false;
    assert_int_equal(run_check_rank(&plan, &options, &err), STATUS_OK);
}

static void band_judges_time_alone(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report report;
    struct session session;
    struct err err = {0};
    struct session_options open = {.ranks = 1, .workers = 1};
    struct run_options options = {.samples = 1, .repeat = 1, .band_percent = 1e-9};
    case_plan(&plan, PATH_RAGGED_A2A, 1);
    assert_int_equal(session_open(&session, &open, &err), STATUS_OK);
    assert_int_equal(run_perform(&plan, &options, &session, &arena, &report, &err), STATUS_OK);
    assert_int_equal(report.verdict, RUN_DISAGREES);
    assert_true(checks_passed(&report.checks));
    assert_false(report.time.within);
    session_close(&session);
    arena_release(&arena);
}

/* ---- collective matmuls ---- */

/* 10 tokens, H 48, F 96 on 4 ranks: 3/4 of [10, 48] in f32 leave every rank. */
static void performed_matmul_agrees_with_its_prediction(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report report;
    case_matmul(&plan, BLOCK_REDUCE_SCATTER_MATMUL, COLLECTIVE_RING, 4);
    plan.cluster.node.link_latency = 1;
    run(&plan, &(struct run_options){.repeat = 3, .samples = 2}, &arena, &report);
    assert_int_equal(report.verdict, RUN_AGREES);
    assert_true(report.memory.equal);
    assert_false(report.routed);
    assert_int_equal(op_named(&report, "project_out")->flop, 4 * 2 * 10 * 24 * 48);
    assert_int_equal(op_named(&report, "send_out")->bytes_exchanged, 4 * 10 * 48 * 4 * 3 / 4);
    /* three hops of a second by four ranks on two workers */
    double predicted_s = op_named(&report, "send_out")->predicted_s;
    assert_true(predicted_s > 5.9 && predicted_s < 6.1);
    assert_int_equal(report.time.samples, 6);
    assert_int_equal(report.checks.n, 8);
    assert_true(report.time.tokens_per_s * report.time.measured_s > 9.99 &&
                report.time.tokens_per_s * report.time.measured_s < 10.01);
    arena_release(&arena);
}

static void a_matmul_that_does_not_fit_is_divided(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report report;
    struct err err = {0};
    const char *how;
    const struct override large[] = {{"workload.sequence_length", "16777216", "--set"},
                                     {"workload.micro_batch", "1024", "--set"}};
    if (plan_load("examples/host-collective.yaml", large, 2, &arena, &plan, NULL, &err) !=
        STATUS_OK)
        fail_msg("%s", err.text);
    run(&plan, &(struct run_options){0}, &arena, &report);
    assert_int_equal(report.verdict, RUN_OOM);
    assert_true(report.n_fixes == 1 &&
                strncmp(report.fixes[0].set, "--shrink", strlen("--shrink")) == 0);
    assert_int_equal(run_shrink(&plan, 1 << 20, &arena, &how, &err), STATUS_OK);
    assert_string_equal(how, "sequence_length 16777216 -> 16");
    assert_int_equal(plan.parallel.tp, 4);
    arena_release(&arena);
}

static void a_matmul_has_no_backward(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct run_report report;
    struct err err = {0};
    case_matmul(&plan, BLOCK_ALLGATHER_MATMUL, COLLECTIVE_RING, 2);
    struct run_options options = {
        .backward = true, .dry_run = true, .samples = 1, .band_percent = -1};
    assert_int_equal(run_perform(&plan, &options, NULL, &arena, &report, &err), STATUS_INPUT);
    assert_string_equal(err.text, "block \"allgather_matmul\" has no backward on the host");
    plan.precision.weights = DTYPE_MXFP4;
    assert_int_equal(run_host_plan(&plan, &err), STATUS_INPUT);
    arena_release(&arena);
}

/* ---- dividing plans ---- */

static void shrinking_keeps_the_experts_of_a_rank(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct err err = {0};
    const char *how;
    const struct override eight[] = {{"cluster", "host-8x1", "--set"},
                                     {"parallel.ep", "8", "--set"},
                                     {"model.moe.experts", "64", "--set"},
                                     {"workload.sequence_length", "100", "--set"}};
    load(&plan, &arena, 4, eight);
    assert_int_equal(run_shrink(&plan, 4, &arena, &how, &err), STATUS_OK);
    assert_int_equal(plan.parallel.ep, 2);
    assert_int_equal(plan.model.moe.experts, 16);
    assert_int_equal(plan_local_experts(&plan), 8);
    assert_int_equal(plan_tokens(&plan), 25);
    assert_string_equal(how, "ep 8 -> 2, experts 64 -> 16, sequence_length 100 -> 25");
    arena_release(&arena);
}

static void shrinking_by_what_does_not_divide_ranks_divides_tokens(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct err err = {0};
    const char *how;
    const struct override eight[] = {{"cluster", "host-8x1", "--set"},
                                     {"parallel.ep", "8", "--set"},
                                     {"workload.sequence_length", "100", "--set"}};
    load(&plan, &arena, 3, eight);
    assert_int_equal(run_shrink(&plan, 3, &arena, &how, &err), STATUS_OK);
    assert_int_equal(plan.parallel.ep, 8);
    assert_int_equal(plan_tokens(&plan), 34);
    arena_release(&arena);
}

static void shrinking_lowers_top_k_to_the_experts_left(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct err err = {0};
    const char *how;
    const struct override sixteen[] = {{"cluster", "host-16x1", "--set"},
                                       {"parallel.ep", "16", "--set"}};
    load(&plan, &arena, 2, sixteen);
    assert_int_equal(run_shrink(&plan, 16, &arena, &how, &err), STATUS_OK);
    assert_int_equal(plan.model.moe.experts, 1);
    assert_int_equal(plan.model.moe.top_k, 1);
    assert_int_equal(run_shrink(&plan, 0, &arena, &how, &err), STATUS_USAGE);
    arena_release(&arena);
}

/* ---- the plan as it is run ---- */

/* Of a server's requests those are performed that its cache holds, as predict times them: of 64
 * of 8,192 tokens the pool of 17,992 blocks that vLLM keeps beside Qwen3-235B-A22B on eight
 * H100 holds 35, and with a profile run of as many tokens as it prefills, 15,320 blocks, 29. */
static void a_servers_step_is_of_what_its_cache_holds(void **state)
{
    (void)state;
    static const char text[] = "model: qwen3-235b-a22b\ncluster: h100-8x1\nstack: vllm\n"
                               "workload: {micro_batch: 64, context_length: 8192}\n"
                               "parallel: {tp: 8}\n";
    const struct override serves[] = {{"workload.mode", "serve", "--set"},
                                      {"workload.concurrency", "64", "--set"},
                                      {"workload.input_length", "7168", "--set"}};
    const struct override queues[] = {{"workload.queue", "true", "--set"}};
    const struct {
        const struct override *sets;
        size_t n;
        uint64_t sequences;
        const char *how;
    } cases[] = {
        {NULL, 0, 64, NULL},
        {queues, 1, 35, "decode of 35 sequences a rank, as predict has it, of 64"},
        {serves, 3, 29, "decode of 29 sequences a rank, as predict has it, of 64 requests"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        const char *how;
        assert_int_equal(plan_load_text("plan.yaml", text, strlen(text), cases[i].sets,
                                        cases[i].n, &arena, plan, NULL, &err),
                         STATUS_OK);
        assert_int_equal(run_take_step(plan, &arena, &how, &err), STATUS_OK);
        assert_int_equal(plan->workload.mode, MODE_DECODE);
        assert_int_equal(plan->workload.micro_batch, cases[i].sequences);
        assert_int_equal(how != NULL, cases[i].how != NULL);
        if (how)
            assert_memory_equal(how, cases[i].how, strlen(cases[i].how));
        arena_release(&arena);
    }
}

static void a_dense_model_has_nothing_to_run(void **state)
{
    (void)state;
    struct plan plan;
    struct err err = {0};
    case_plan(&plan, PATH_AUTO, 1);
    plan.stack.kind = STACK_MAXTEXT;
    plan.stack.static_shapes = true;
    assert_int_equal(run_host_plan(&plan, &err), STATUS_OK);
    assert_int_equal(plan.moe.path, PATH_RAGGED_A2A); /* maxtext's own choice */
    assert_int_equal(plan.moe.buffer, SIZING_WORST);
    assert_int_equal(plan.stack.kind, STACK_HOST);
    plan.model.dense_layers = plan.model.layers;
    assert_int_equal(run_host_plan(&plan, &err), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(performed_layer_agrees_with_its_prediction),
        cmocka_unit_test(every_routing_sample_is_checked_and_measured),
        cmocka_unit_test(null_backend_measures_the_harness_alone),
        cmocka_unit_test(plan_that_does_not_fit_is_not_performed),
        cmocka_unit_test(dry_run_predicts_what_a_run_meters),
        cmocka_unit_test(shares_of_all_ranks_are_the_whole),
        cmocka_unit_test(one_rank_is_proposed_when_it_fits),
        cmocka_unit_test(a_rank_that_is_not_there_is_refused),
        cmocka_unit_test(band_judges_time_alone),
        cmocka_unit_test(performed_matmul_agrees_with_its_prediction),
        cmocka_unit_test(a_matmul_that_does_not_fit_is_divided),
        cmocka_unit_test(a_matmul_has_no_backward),
        cmocka_unit_test(shrinking_keeps_the_experts_of_a_rank),
        cmocka_unit_test(shrinking_by_what_does_not_divide_ranks_divides_tokens),
        cmocka_unit_test(shrinking_lowers_top_k_to_the_experts_left),
        cmocka_unit_test(a_servers_step_is_of_what_its_cache_holds),
        cmocka_unit_test(a_dense_model_has_nothing_to_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
