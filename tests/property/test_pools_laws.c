/* Laws of plans whose prefill is apart: what is exported is read again as the same plan, both
 * pools of it; a change that is said to make a plan fit does so when it is read with it, to the
 * byte, and leaves the other pool as it was; deployments that are said to keep limits keep
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/data/profile.h"
#include "plan/job/job.h"
#include "plan/pools.h"
#include "plan/read/load.h"
#include "sim/answer/predict.h"
#include "support/plans.h"

static const char *const stacks[] = {"sglang", "vllm", "trtllm"};

enum { STACKS = sizeof stacks / sizeof *stacks };

#define SERVE                                                                                  \
    "workload: {mode: serve, input_length: 2000, output_length: 500, concurrency: 64}\n"

/* Plans; the stack goes on top. */
static const char *const texts[] = {
    "model: deepseek-v3\ncluster: h200-8x1\n" SERVE "parallel: {tp: 8}\n"
    "prefill: {parallel: {tp: 4}, cluster: h200-4x1}\n",
    "model: deepseek-v3\ncluster: h200-8x2\n" SERVE "parallel: {tp: 1, dp: 16, ep: 16}\n"
    "prefill: {parallel: {tp: 8, dp: 1, ep: 1}, cluster: {nodes: 1},\n"
    "  workload: {max_num_batched_tokens: 16384}}\n",
    "model: qwen3-30b-a3b\ncluster: h100-4x1\n"
    "workload: {mode: decode, micro_batch: 64, context_length: 8192, queue: true,\n"
    "  deployments: {prefill: 3, decode: 2}}\n"
    "parallel: {tp: 4}\nmemory: {fraction: 0.8}\n"
    "prefill: {parallel: {tp: 2}, cluster: {node: {devices: 2}},\n"
    "  workload: {sequence_length: 4096, micro_batch: 1}, memory: {fraction: 0.7}}\n",
    "model: qwen3-30b-a3b\ncluster: h100-2x1\n" SERVE "parallel: {tp: 2}\n"
    "prefill: {}\n",
};

enum { TEXTS = sizeof texts / sizeof *texts };

static struct plan *read_plan(size_t text, const char *stack, const char *sets,
                              struct arena *arena)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    plan_set(texts[text], arena_printf(arena, "stack=%s %s", stack, sets), arena, plan);
    return plan;
}

/* ---- launches ---- */

static void assert_reads_back(const struct plan *plan, const char *launch, struct arena *arena)
{
    struct err err = {0};
    struct plan *again = arena_alloc(arena, 1, sizeof *again);
    struct job_result job = {0};
    const struct job_request request = {0};
    job_read_text("launch", launch, strlen(launch), &request, arena, &job, &err);
    assert_string_equal(err.text, "");
    plan_load_tree("launch", job.root, NULL, 0, true, arena, again, NULL, &err);
    assert_string_equal(err.text, "");
    plan_assert_same(plan, again, arena);
    assert_non_null(again->prefill);
    plan_assert_same(plan->prefill, again->prefill, arena);
}

static void launches_read_back(void **state)
{
    (void)state;
    /* what says which servers they are */
    static const char *const words[STACKS][2] = {
        {"--disaggregation-mode prefill", "--disaggregation-mode decode"},
        {"\"kv_role\": \"kv_producer\"", "\"kv_role\": \"kv_consumer\""},
        {"context_servers:", "generation_servers:"}};
    for (size_t i = 0; i < TEXTS * STACKS; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct text launch = {.arena = &arena};
        size_t text = i / STACKS, stack = i % STACKS;
        struct plan *plan = read_plan(text, stacks[stack], "", &arena);
        print_message("plan %zu on %s\n", text, stacks[stack]);
        job_export(plan, stacks[stack], &arena, &launch, &err);
        assert_string_equal(err.text, "");
        for (unsigned j = 0; j < 2; j++)
            assert_non_null(strstr(text_string(&launch), words[stack][j]));
        assert_reads_back(plan, text_string(&launch), &arena);
        arena_release(&arena);
    }
}

/* ---- fixes ---- */

static struct prediction *predict_plan(const struct plan *plan, bool fixes, bool timed,
                                       struct arena *arena)
{
    struct err err = {0};
    struct profile *profile = arena_alloc(arena, 1, sizeof *profile);
    struct prediction *out = arena_alloc(arena, 1, sizeof *out);
    assert_int_equal(profile_load(plan, arena, profile, &err), STATUS_OK);
    const struct time_ask time = {.profile = profile};
    const struct predict_options options = {
        .memory_only = true, .fixes = fixes, .time = timed ? &time : NULL};
    if (predict(plan, &options, arena, out, &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
    return out;
}

#define SMALL "cluster.device.memory=32GiB prefill.cluster.device.memory=32GiB "

static const struct {
    size_t text;
    const char *sets;
    bool lacks[2]; /* prefill, decode */
} short_of[] = {
    {0, "", {true, false}},
    {3, SMALL, {true, true}},
    {3, SMALL "prefill.cluster.node.devices=4 prefill.parallel.tp=4", {false, true}},
    {3,
     SMALL "cluster.node.devices=4 parallel.tp=4 prefill.cluster.node.devices=2 "
           "prefill.parallel.tp=2 workload.deployments.prefill=2 workload.deployments.decode=3",
     {true, false}},
    {2, "cluster.device.memory=14GiB prefill.cluster.device.memory=80GiB", {false, true}},
    {2, "prefill.cluster.device.memory=24GiB", {true, false}},
};

static void fixes_fit(void **state)
{
    (void)state;
    size_t checked = 0;
    for (size_t i = 0; i < sizeof short_of / sizeof *short_of * STACKS; i++) {
        struct arena arena = {0};
        size_t row = i / STACKS;
        const char *stack = stacks[i % STACKS], *sets = short_of[row].sets;
        const struct plan *plan = read_plan(short_of[row].text, stack, sets, &arena);
        const struct prediction *p = predict_plan(plan, true, false, &arena);
        for (unsigned j = 0; j < 2; j++)
            assert_int_equal(predict_lacks_memory(&p->pools[j].memory), short_of[row].lacks[j]);
        assert_true(p->memory.n_fixes > 0);
        for (size_t j = 0; j < p->memory.n_fixes; j++) {
            const struct fix *fix = &p->memory.fixes[j];
            const char *with = arena_printf(&arena, "%s %s", sets, fix->set);
            print_message("plan %zu on %s: %s\n", short_of[row].text, stack, with);
            const struct plan *changed = read_plan(short_of[row].text, stack, with, &arena);
            const struct prediction *q = predict_plan(changed, false, false, &arena);
            assert_int_equal(q->memory.total_bytes, fix->total_bytes);
            assert_int_equal(q->memory.verdict, fix->verdict);
            for (unsigned k = 0; k < 2; k++) {
                assert_false(predict_lacks_memory(&q->pools[k].memory));
                if (!short_of[row].lacks[k] && !strstr(fix->set, "workload.concurrency"))
                    assert_int_equal(q->pools[k].memory.total_bytes,
                                     p->pools[k].memory.total_bytes);
            }
            checked++;
        }
        arena_release(&arena);
    }
    assert_true(checked > 20);
}

/* Deployments that miss a limit, of requests in flight and of those that arrive. */
static void limits_are_kept(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "workload.concurrency=512 workload.limit.ttft=600ms workload.deployments.prefill=1 "
        "workload.deployments.decode=4",
        "workload.concurrency=512 workload.limit.ttft=600ms workload.deployments.prefill=4 "
        "workload.deployments.decode=1",
        "workload.concurrency=512 workload.limit.ttft=100ms",
        "workload.concurrency=1 workload.request_rate=40 workload.limit.ttft=900ms "
        "workload.deployments.prefill=1 workload.deployments.decode=4",
    };
    size_t found = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        const char *sets =
            arena_printf(&arena, "prefill.cluster=h200-8x1 prefill.parallel.tp=8 %s", rows[i]);
        const struct plan *plan = read_plan(0, "sglang", sets, &arena);
        const struct prediction *p = predict_plan(plan, true, true, &arena);
        if (p->n_limit_fixes) {
            const struct fix *fix = p->limit_fixes;
            print_message("%s: %s\n", rows[i], fix->set);
            const struct plan *changed =
                read_plan(0, "sglang", arena_printf(&arena, "%s %s", sets, fix->set), &arena);
            const struct prediction *q = predict_plan(changed, true, true, &arena);
            const struct serve_times *t = &q->time.serving;
            assert_int_equal(q->n_limit_fixes, 0);
            assert_true(t->queue ? t->within >= plan->workload.limit.share
                                 : t->ttft_s <= plan->workload.limit.ttft_s);
            assert_true(t->apart.tokens_per_s_per_device == fix->tokens_per_s_per_device);
            found++;
        }
        arena_release(&arena);
    }
    assert_true(found >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_read_back),
        cmocka_unit_test(fixes_fit),
        cmocka_unit_test(limits_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
