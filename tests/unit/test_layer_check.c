/* Plans whose layer the host would compute differently than they say are refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/layer_case.h"
#include "work/layer.h"

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
        cmocka_unit_test(set_up_happens_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
