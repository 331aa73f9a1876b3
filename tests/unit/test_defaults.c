/* Defaults that stacks and checkpoints state, and the layout an engine's launch command gives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/read/load.h"
#include "plan/schema/schema.h"
#include "report/predict/assumed.h"
#include "sim/answer/predict.h"
#include "sim/search/search.h"
#include "work/stack/stack.h"

struct told {
    struct arena arena;
    struct plan plan;
    struct origins origins;
    struct prediction prediction;
};

static enum status load(const char *text, struct told *t, struct err *err)
{
    memset(t, 0, sizeof *t);
    return plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &t->arena, &t->plan,
                          &t->origins, err);
}

static void tell(const char *text, struct told *t)
{
    struct err err = {0};
    struct predict_options options = {0};
    if (load(text, t, &err) != STATUS_OK ||
        predict(&t->plan, &options, &t->arena, &t->prediction, &err) != STATUS_OK)
        fail_msg("%s: %s", text, err.text);
}

static void assert_key(struct told *t, const char *key, const char *expected)
{
    struct text value = {.arena = &t->arena};
    schema_print(schema_find(key), &t->plan, &value);
    if (!text_equal(text_string(&value), expected))
        fail_msg("%s is %s, not %s", key, text_string(&value), expected);
}

/* The same launches through the importer: tests/jobs and test_job. */
static void engines_resolve_as_their_launch_commands(void **state)
{
    (void)state;
    static const struct {
        const char *plan, *ep, *etp, *sp, *path;
    } cases[] = {
        {"cluster: h100\nstack: vllm\n", "1", "1", "false", "fused"},
        {"cluster: h100-8x1\nstack: vllm\nparallel: {tp: 8}\n", "1", "8", "false", "fused"},
        {"cluster: h100-8x1\nstack: sglang\nparallel: {tp: 8}\n", "1", "8", "false", "fused"},
        {"cluster: h100-8x1\nstack: vllm\nparallel: {tp: 8, ep: 8}\n", "8", "1", "false",
         "fused"},
        {"cluster: h100-8x1\nstack: vllm\nparallel: {ep: 8}\n", "8", "1", "false", "allgather"},
        {"cluster: h100-8x2\nstack: vllm\nparallel: {tp: 8, ep: 16}\n", "16", "1", "true",
         "allgather"},
        {"cluster: h100-8x1\nstack: vllm\nparallel: {ep: 8}\nmoe: {path: deepep_ll}\n", "8",
         "1", "false", "deepep_ll"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        struct told t;
        snprintf(text, sizeof text, "model: gpt-oss-120b\n%s", cases[i].plan);
        tell(text, &t);
        assert_key(&t, "workload.mode", "decode");
        assert_key(&t, "precision.weights", "mxfp4");
        assert_key(&t, "parallel.ep", cases[i].ep);
        assert_key(&t, "parallel.etp", cases[i].etp);
        assert_key(&t, "parallel.sp", cases[i].sp);
        assert_string_equal(words_path[stack_path(&t.plan, NULL)], cases[i].path);
        arena_release(&t.arena);
    }
}

/* 1.7 GiB on one device and 3.6 + 1 + 2.6 GiB at TP 8 stood here, which no engine allocates. */
static void nothing_is_kept_for_ranks_that_do_not_talk(void **state)
{
    (void)state;
    static const char *const plans[] = {
        "model: gpt-oss-120b\ncluster: h100\nstack: vllm\n",
        "model: gpt-oss-120b\ncluster: h100\nstack: sglang\n",
        "model: gpt-oss-120b\ncluster: h100-8x1\nstack: vllm\nparallel: {tp: 8}\n",
        "model: gpt-oss-120b\ncluster: h100-8x1\nstack: sglang\nparallel: {tp: 8}\n",
        "model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\nparallel: {tp: 8, ep: 8}\n",
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct told t;
        tell(plans[i], &t);
        const struct memory_report *m = &t.prediction.memory;
        for (size_t j = 0; j < m->n_buffers; j++)
            if (m->buffers[j].category == CATEGORY_COMMUNICATION)
                fail_msg("%s holds %s", plans[i], m->buffers[j].name);
        bool alone = plan_world(&t.plan) == 1;
        assert_true((plan_comm_bytes(&t.plan) == 0) == alone);
        arena_release(&t.arena);
    }
}

/* With tensor and expert parallelism over one set of ranks a rank multiplies its part of all
 * rows, and the batch is not counted once a rank. */
static void tokens_on_every_rank_are_counted_once(void **state)
{
    (void)state;
    struct told t;
    tell("model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\nparallel: {tp: 8, ep: 8}\n"
         "workload: {micro_batch: 64}\n",
         &t);
    assert_true(plan_tokens_everywhere(&t.plan));
    assert_int_equal(plan_tokens(&t.plan), 8); /* this rank's part of 64 */
    assert_int_equal(plan_token_ranks(&t.plan), 8);
    arena_release(&t.arena);
}

/* DeepSeek-V3 in its own fp8 on 16 H200: 671e9 bytes over 16 ranks and 2 x 128 x 128 scales,
 * 45 GiB a rank, not the 134.5 GiB of 16 bits. */
static void a_checkpoint_keeps_its_format(void **state)
{
    (void)state;
    struct told t;
    tell("model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\nparallel: {ep: 16}\n", &t);
    assert_key(&t, "precision.weights", "fp8_block");
    assert_int_equal(t.prediction.memory.verdict, VERDICT_FITS);
    struct text assumed = {.arena = &t.arena};
    predict_assumed_defaults(&t.plan, &t.origins, false, &assumed);
    assert_non_null(
        strstr(text_string(&assumed), "precision.weights fp8_block (the checkpoint's)"));
    arena_release(&t.arena);

    tell("model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\nparallel: {ep: 16}\n"
         "precision: {weights: bf16}\n",
         &t);
    assert_key(&t, "precision.weights", "bf16"); /* the plan's own word */
    arena_release(&t.arena);

    tell("model: deepseek-v3\ncluster: h200-8x2\nparallel: {ep: 16}\n", &t);
    assert_key(&t, "precision.weights", "bf16"); /* training */
    arena_release(&t.arena);
}

/* training-stacks.md section 1; the files of models/stacks cite the sources. */
static void trainers_default_as_their_software(void **state)
{
    (void)state;
    static const struct {
        const char *stack, *weights, *gradients, *master, *moments, *zero, *recompute;
    } cases[] = {
        {"megatron", "bf16", "f32", "f32", "f32", "0", "none"},
        {"primus", "bf16", "f32", "f32", "f32", "0", "none"},
        {"torchtitan", "f32", "f32", "none", "f32", "3", "selective"},
        {"maxtext", "f32", "f32", "none", "f32", "3", "full"},
        {"generic", "bf16", "bf16", "none", "bf16", "0", "none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256], said[64];
        struct told t;
        struct err err = {0};
        snprintf(text, sizeof text, "model: mixtral-8x7b\ncluster: h100-8x1\nstack: %s\n",
                 cases[i].stack);
        assert_int_equal(load(text, &t, &err), STATUS_OK);
        assert_key(&t, "precision.weights", cases[i].weights);
        assert_key(&t, "precision.gradients", cases[i].gradients);
        assert_key(&t, "precision.master", cases[i].master);
        assert_key(&t, "precision.moments", cases[i].moments);
        assert_key(&t, "parallel.zero", cases[i].zero);
        assert_key(&t, "recompute.kind", cases[i].recompute);
        struct text assumed = {.arena = &t.arena};
        predict_assumed_defaults(&t.plan, &t.origins, false, &assumed);
        bool own = !text_equal(cases[i].stack, "generic");
        snprintf(said, sizeof said, "precision.moments %s%s%s%s", cases[i].moments,
                 own ? " (" : "", own ? cases[i].stack : "", own ? ")" : "");
        if (!strstr(text_string(&assumed), said))
            fail_msg("'%s' does not say '%s'", text_string(&assumed), said);
        arena_release(&t.arena);
    }
}

static void a_plan_outweighs_its_stack(void **state)
{
    (void)state;
    struct told t;
    tell("model: mixtral-8x7b\ncluster: h100-8x1\nparallel: {zero: 1}\n"
         "stack: {base: torchtitan, defaults: {recompute: full}}\n",
         &t);
    assert_key(&t, "parallel.zero", "1");
    assert_key(&t, "precision.moments", "f32"); /* of the base */
    assert_key(&t, "recompute.kind", "full");   /* of the changed stack */
    arena_release(&t.arena);
}

static void defaults_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *plan, *error;
    } cases[] = {
        {"model: {base: olmoe-1b-7b, defaults: {recompute: full}}\ncluster: h100\n",
         "a model has no defaults"},
        {"model: olmoe-1b-7b\ncluster: h100\nstack: {base: generic, defaults: 3}\n",
         "'defaults' takes a mapping of the plan's keys, not a value"},
        {"model: olmoe-1b-7b\ncluster: h100\n"
         "stack: {base: generic, defaults: {model: dbrx}}\n",
         "'defaults' of a stack has no 'model'"},
        {"model: olmoe-1b-7b\ncluster: h100\n"
         "stack: {base: generic, defaults: {parallel: {zeros: 1}}}\n",
         "unknown key 'parallel.zeros'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told t;
        struct err err = {0};
        assert_int_equal(load(cases[i].plan, &t, &err), STATUS_INPUT);
        assert_string_equal(err.text, cases[i].error);
        arena_release(&t.arena);
    }
}

static uint64_t cache_of(const char *pp)
{
    char text[256];
    struct told t;
    snprintf(text, sizeof text,
             "model: kimi-k2\ncluster: h200-8x2\nstack: vllm\nparallel: {ep: %s}\n"
             "workload: {micro_batch: 64, context_length: 4096}\n",
             pp);
    tell(text, &t);
    uint64_t bytes = 0;
    const struct memory_report *m = &t.prediction.memory;
    for (size_t i = 0; i < m->n_buffers; i++)
        bytes += m->buffers[i].category == CATEGORY_KV_CACHE ? m->buffers[i].bytes : 0;
    arena_release(&t.arena);
    return bytes;
}

/* 61 layers over two stages are 31 and 30; both batches in flight have their tokens there. */
static void stages_cache_every_batch_in_flight(void **state)
{
    (void)state;
    uint64_t one = cache_of("16"), two = cache_of("8, pp: 2");
    assert_int_equal(one, UINT64_C(61) * 64 * 4096 * 576 * 2);
    assert_int_equal(two, UINT64_C(31) * 2 * 64 * 4096 * 576 * 2);
}

/* Of Kimi-K2's search every layout is one the engine can run. */
static void searches_propose_what_the_stack_runs(void **state)
{
    (void)state;
    struct told t;
    struct err err = {0};
    struct search_space space;
    struct search_result result;
    assert_int_equal(load("model: kimi-k2\ncluster: h200-8x2\nstack: vllm\n"
                          "parallel: {ep: 16}\n"
                          "workload: {micro_batch: 64, context_length: 4096}\n",
                          &t, &err),
                     STATUS_OK);
    search_space_default(&t.plan, &space);
    for (unsigned path = 1; path < paths_count(); path++)
        assert_true(space.value[SEARCH_PATH][path - 1] == path);
    const struct search_ask ask = {.plan = &t.plan, .space = &space, .best = 40};
    assert_int_equal(search_run(&ask, 1, &t.arena, &result, &err), STATUS_OK);
    assert_true(result.n_best > 5);
    for (size_t i = 0; i < result.n_best; i++) {
        const double *value = result.best[i].value;
        enum moe_path path = (enum moe_path)value[SEARCH_PATH];
        bool alone = value[SEARCH_EP] == 1;
        bool exchanges =
            path == PATH_ALLGATHER || path == PATH_DEEPEP || path == PATH_DEEPEP_LL;
        if (path != PATH_FUSED && (alone || !exchanges))
            fail_msg("layout %zu takes %s at ep %g", i, words_path[path], value[SEARCH_EP]);
    }
    arena_release(&t.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_resolve_as_their_launch_commands),
        cmocka_unit_test(nothing_is_kept_for_ranks_that_do_not_talk),
        cmocka_unit_test(tokens_on_every_rank_are_counted_once),
        cmocka_unit_test(a_checkpoint_keeps_its_format),
        cmocka_unit_test(trainers_default_as_their_software),
        cmocka_unit_test(a_plan_outweighs_its_stack),
        cmocka_unit_test(defaults_are_checked),
        cmocka_unit_test(stages_cache_every_batch_in_flight),
        cmocka_unit_test(searches_propose_what_the_stack_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
