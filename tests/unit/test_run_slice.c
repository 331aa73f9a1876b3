/* The promise of the list: what predict prices under stack host is what run performs, op by op;
 * names, FLOPs, bytes over links and bytes in memory by category, for every path, forward and
 * backward, four laws of routing, on 1, 2, 4 and 8 ranks; and each rank by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "calib/run/run.h"
#include "sim/answer/predict.h"
#include "support/layer_case.h"
#include "work/path/path.h"

static void route(struct plan *plan, unsigned law)
{
    static const enum distribution laws[] = {DISTRIBUTION_UNIFORM, DISTRIBUTION_ZIPF,
                                             DISTRIBUTION_LOGNORMAL, DISTRIBUTION_HOT_RANK};
    plan->moe.routing.distribution = laws[law % 4];
    plan->moe.routing.alpha = 1;
    plan->moe.routing.sigma = 1;
    plan->moe.routing.share = 0.5;
}

static void perform(const struct plan *plan, const struct run_options *options,
                    struct arena *arena, struct run_report *report)
{
    struct session session;
    struct err err = {0};
    struct session_options open = {.ranks = plan->parallel.ep,
                                   .workers = 2,
                                   .rank = options->rank,
                                   .transport =
                                       options->alone ? TRANSPORT_SHARE : TRANSPORT_LOCAL};
    assert_int_equal(session_open(&session, &open, &err), STATUS_OK);
    if (run_perform(plan, options, &session, arena, report, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    session_close(&session);
}

static void predict_all(const struct plan *plan, const struct ops_ask *ask, struct arena *arena,
                        struct prediction *prediction)
{
    struct err err = {0};
    const struct predict_options options = {.memory_only = true, .ops = ask, .workers = 2};
    if (predict(plan, &options, arena, prediction, &err) != STATUS_OK)
        fail_msg("%s: %s", words_path[plan->moe.path], err.text);
    assert_true(prediction->has_ops);
    assert_true(prediction->has_slice);
}

static void compare_ops(const struct plan *plan, const struct slice_report *slice,
                        const struct run_report *report)
{
    assert_int_equal(slice->n, report->n_ops);
    for (size_t i = 0; i < slice->n; i++) {
        const struct op_report *ours = &slice->ops[i];
        const struct run_op *theirs = &report->ops[i];
        if (strcmp(ours->name, theirs->name) != 0 || ours->flop != theirs->flop ||
            ours->bytes_sent != theirs->bytes_sent ||
            ours->bytes_received != theirs->bytes_received || ours->rows != theirs->rows ||
            ours->bytes != theirs->bytes)
            fail_msg(
                "%s, %llu ranks: predict lists '%s' with %llu FLOP, %llu bytes, %llu sent; "
                "run performs '%s' with %llu, %llu and %llu",
                words_path[plan->moe.path], (unsigned long long)plan->parallel.ep, ours->name,
                (unsigned long long)ours->flop, (unsigned long long)ours->bytes,
                (unsigned long long)ours->bytes_sent, theirs->name,
                (unsigned long long)theirs->flop, (unsigned long long)theirs->bytes,
                (unsigned long long)theirs->bytes_exchanged);
    }
}

static void compare(const struct plan *plan, bool backward)
{
    struct arena arena = {0};
    struct prediction prediction;
    struct run_report report;
    const struct ops_ask ask = {.data = NULL};
    predict_all(plan, &ask, &arena, &prediction);
    perform(plan,
            &(struct run_options){
                .backward = backward, .repeat = 1, .samples = 1, .band_percent = -1},
            &arena, &report);
    const struct slice_report *slice = &prediction.slice;
    assert_int_equal(report.verdict, RUN_AGREES);
    assert_int_equal(slice->ranks, report.ranks);
    compare_ops(plan, slice, &report);
    assert_true(slice->peak_bytes == report.memory.measured_peak_bytes);
    for (unsigned i = 0, c = 0; i < report.memory.n_categories; i++, c++) {
        while (strcmp(category_name((enum category)c), report.memory.categories[i].name) != 0)
            c++;
        assert_true(slice->category[c] == report.memory.categories[i].measured_bytes);
    }
    arena_release(&arena);
}

static void predicted_slice_is_performed(void **state)
{
    (void)state;
    unsigned law = 0;
    for (unsigned p = 0; p < CASE_PATHS; p++)
        for (unsigned backward = 0; backward < 2; backward++)
            for (uint64_t ranks = 1; ranks <= 8; ranks *= 2) {
                struct plan plan;
                if ((backward && !path_system_of(case_paths[p])->backward) ||
                    (ranks > 1 && strcmp(words_path[case_paths[p]], "selective") == 0))
                    continue;
                case_plan(&plan, case_paths[p], ranks);
                plan.workload.mode = backward ? MODE_TRAIN : MODE_PREFILL;
                route(&plan, law++);
                compare(&plan, backward);
            }
    assert_in_range(law, 80, 200);
}

/* Of a rank performed alone: the ops of the whole step's list for that rank. */
static void compare_rank(const struct plan *plan, uint64_t rank)
{
    struct arena arena = {0};
    struct prediction prediction;
    struct run_report report;
    const struct ops_ask ask = {.named = true, .rank = rank};
    predict_all(plan, &ask, &arena, &prediction);
    perform(plan,
            &(struct run_options){.alone = true,
                                  .rank = rank,
                                  .backward = path_system_of(plan->moe.path)->backward,
                                  .repeat = 1,
                                  .samples = 1,
                                  .band_percent = -1},
            &arena, &report);
    for (size_t i = 0; i < report.n_ops; i++) {
        const struct run_op *theirs = &report.ops[i];
        bool found = strstr(theirs->name, "d_x") != NULL; /* named after its input */
        for (size_t j = 0; j < prediction.ops.n && !found; j++) {
            const struct op_report *ours = &prediction.ops.ops[j];
            found = ours->segment == SEGMENT_MOE && strcmp(ours->name, theirs->name) == 0 &&
                    ours->flop == theirs->flop && ours->rows == theirs->rows &&
                    ours->bytes == theirs->bytes && ours->bytes_sent == theirs->bytes_exchanged;
        }
        if (!found)
            fail_msg("%s, rank %llu: the list has no '%s' of %llu FLOP that touches %llu bytes "
                     "and sends %llu",
                     words_path[plan->moe.path], (unsigned long long)rank, theirs->name,
                     (unsigned long long)theirs->flop, (unsigned long long)theirs->bytes,
                     (unsigned long long)theirs->bytes_exchanged);
    }
    arena_release(&arena);
}

static void every_ranks_step_holds_what_it_performs(void **state)
{
    (void)state;
    for (size_t p = 0; p < CASE_PATHS; p++)
        for (uint64_t rank = 0; rank < 4; rank++) {
            struct plan plan;
            if (case_paths[p] == PATH_SELECTIVE) /* of one rank */
                continue;
            case_plan(&plan, case_paths[p], 4);
            plan.workload.mode =
                path_system_of(case_paths[p])->backward ? MODE_TRAIN : MODE_PREFILL;
            route(&plan, (unsigned)rank);
            compare_rank(&plan, rank);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicted_slice_is_performed),
        cmocka_unit_test(every_ranks_step_holds_what_it_performs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
