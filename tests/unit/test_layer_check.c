/* Plans whose layer the host would compute differently than they say are refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "calib/run/run_share.h"
#include "plan/read/load.h"
#include "support/layer_case.h"
#include "work/layer/layer.h"

static void etp_of_others(struct plan *plan)
{
    plan->parallel.etp = 2; /* tp 1: the ranks of the group have tokens of their own */
}

static void etp_with_sp(struct plan *plan)
{
    plan->parallel.etp = plan->parallel.tp = 2;
    plan->parallel.sp = true;
}

static void etp_biases(struct plan *plan)
{
    plan->parallel.etp = plan->parallel.tp = 2;
    plan->model.moe.bias = true;
}

static void shared_with_sp(struct plan *plan)
{
    plan->parallel.tp = 2;
    plan->parallel.sp = true;
    plan->model.moe.shared_intermediate = 8;
}

static void beside_with_sp(struct plan *plan)
{
    plan->parallel.tp = 2;
    plan->parallel.sp = true;
    plan->model.residual_intermediate = 8;
}

static void named_experts(struct plan *plan)
{
    plan->model.layers = plan->model.moe.hash_layers = 3;
}

static void by_probability(struct plan *plan)
{
    plan->moe.path = PATH_CAPACITY;
    plan->moe.drop = DROP_PROBS;
}

static void fp8_activations(struct plan *plan)
{
    plan->precision.activations = DTYPE_FP8;
}

static void fp8_combine(struct plan *plan)
{
    plan->precision.combine = DTYPE_FP8_BLOCK;
}

static void int8_gradients(struct plan *plan)
{
    plan->precision.gradients = DTYPE_INT8;
}

static void int8_dispatch(struct plan *plan)
{
    plan->precision.dispatch = DTYPE_INT8;
}

static void integers(struct plan *plan)
{
    plan->precision.weights = DTYPE_INT8;
}

static void experts(struct plan *plan)
{
    plan->model.moe.experts = 65537;
}

static void per_token(struct plan *plan)
{
    plan->model.moe.experts = 256;
    plan->model.moe.top_k = 129;
}

static void ranks(struct plan *plan)
{
    plan->model.moe.experts = 1024;
    plan->parallel.ep = 1024;
}

static void blocks(struct plan *plan)
{
    plan->moe.path = PATH_BLOCK_SPARSE;
    plan->moe.alignment = 512;
}

static void odd_hidden(struct plan *plan)
{
    plan->moe.path = PATH_BLOCKWISE;
    plan->moe.cores = 2;
    plan->model.hidden = 17;
}

static void odd_inter(struct plan *plan)
{
    plan->moe.path = PATH_BLOCKWISE;
    plan->moe.cores = 2;
    plan->moe.shard = SHARD_I;
    plan->model.moe.intermediate = 13;
}

static void skip_on_i(struct plan *plan)
{
    plan->moe.path = PATH_BLOCKWISE;
    plan->moe.cores = 2;
    plan->moe.shard = SHARD_I;
    plan->moe.skip_weight = WEIGHT_SKIP_PING_PONG;
}

static void refusals_name_the_reason(void **state)
{
    (void)state;
    static const struct {
        void (*change)(struct plan *plan);
        const char *part;
    } cases[] = {
        {etp_of_others, "split by etp"},
        {etp_with_sp, "split by etp"},
        {etp_biases, "biases"},
        {named_experts, "table of the vocabulary"},
        {shared_with_sp, "shared experts split over ranks"},
        {beside_with_sp, "beside the experts"},
        {by_probability, "by probability"},
        {fp8_activations, "activations of this"},
        {fp8_combine, "combine in this"},
        {int8_gradients, "gradients of this"},
        {int8_dispatch, "dispatch in this"},
        {integers, "weights of this"},
        {experts, "65536 experts"},
        {per_token, "128 experts"},
        {ranks, "512 ranks"},
        {blocks, "256 rows"},
        {odd_hidden, "hidden size in halves"},
        {odd_inter, "intermediate size in halves"},
        {skip_on_i, "weights of every block"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct err err = {0};
        case_plan(&plan, PATH_RAGGED_A2A, 2);
        assert_int_equal(layer_check(&plan, &err), STATUS_OK);
        cases[i].change(&plan);
        assert_int_equal(layer_check(&plan, &err), STATUS_INPUT);
        if (!strstr(err.text, cases[i].part) || err.hint[0] == '\0')
            fail_msg("wanted \"%s\" in \"%s\", and a hint", cases[i].part, err.text);
    }
}

/* What tp and etp split over ranks with the same tokens is computed in part, and said so. */
static void shares_are_performed(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct layer_sample sample;
    struct case_result result;
    struct err err = {0};
    struct plan plan;
    case_plan(&plan, PATH_RAGGED_A2A, 2);
    assert_null(run_share(&plan, &arena));
    plan.parallel.tp = plan.parallel.etp = 2;
    plan.model.moe.shared_intermediate = 10;
    plan.model.residual_intermediate = 7;
    assert_string_equal(run_share(&plan, &arena),
                        "expert width 12 -> 6 (etp 2), shared width 10 -> 5 (tp 2), width "
                        "beside 7 -> 4 (tp 2); the sum over these ranks is not performed");
    case_sample(&plan, CASE_UNIFORM, &arena, &sample);
    struct case_options options = {.backward = true};
    assert_int_equal(case_run(&plan, &sample, &options, &result, &err), STATUS_OK);
    assert_true(checks_passed(&result.checks) && result.counts_equal);
    plan.moe.shared = SHARED_SP;
    plan.parallel.etp = 1;
    plan.model.residual_intermediate = 0;
    assert_null(run_share(&plan, &arena));
    arena_release(&arena);
}

/* Every rank has as many tokens as the others: what does not divide is refused. */
static void uneven_tokens_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *part;
    } cases[] = {
        {"workload: {sequence_length: 65}\nparallel: {cp: 2}\n", "not divisible by cp"},
        {"workload: {sequence_length: 65}\nparallel: {tp: 2, sp: true}\n", "not divisible by"},
        {"workload: {global_batch: 7}\n", "global_batch 7 is not divisible"},
        {"workload: {sequence_length: 64, tokens_per_step: 129}\n", "tokens_per_step 129"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct origins origins;
        struct err err = {0};
        char text[256];
        int n =
            snprintf(text, sizeof text, "model: olmoe-1b-7b\ncluster: host\nstack: host\n%s",
                     cases[i].settings);
        assert_int_equal(plan_load_text("plan.yaml", text, (size_t)n, NULL, 0, &arena, &plan,
                                        &origins, &err),
                         STATUS_INPUT);
        if (!strstr(err.text, cases[i].part) || err.hint[0] == '\0')
            fail_msg("wanted \"%s\" in \"%s\", and a hint", cases[i].part, err.text);
        arena_release(&arena);
    }
}

/* Exchange before set-up, and another set-up after the first. */
static void set_up_happens_once(void **state)
{
    (void)state;
    struct session session;
    struct err err = {0};
    struct session_options options = {.ranks = 2, .workers = 1, .plain_c = true};
    assert_int_equal(session_open(&session, &options, &err), STATUS_OK);
    struct transport *t = session.transport;
    assert_int_equal(t->ops->exchange(t, NULL, &err), STATUS_INPUT);
    assert_non_null(strstr(err.text, "before set-up"));
    err_clear(&err);
    assert_int_equal(session_setup(&session, 4096, &err), STATUS_OK);
    assert_int_equal(session_setup(&session, 4096, &err), STATUS_OK);
    assert_int_equal(session.snapshot.exchange_bytes, 4096);
    assert_int_equal(session_setup(&session, 8192, &err), STATUS_INPUT);
    assert_non_null(strstr(err.text, "frozen"));
    assert_int_equal(session.snapshot.exchange_bytes, 4096);
    session_close(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_the_reason),
        cmocka_unit_test(shares_are_performed),
        cmocka_unit_test(uneven_tokens_are_refused),
        cmocka_unit_test(set_up_happens_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
