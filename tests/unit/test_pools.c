/* Plans whose prefill is apart: what the part `prefill` changes and what it may not; a pool of
 * it is, to the byte, the plan of its servers alone; requests over both pools, by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/job/job.h"
#include "plan/pools.h"
#include "plan/read/load.h"
#include "plan/read/show.h"
#include "sim/answer/predict.h"
#include "sim/serve/serve_pools.h"
#include "sim/step/evaluate.h"
#include "sim/step/serve_time.h"
#include "support/played.h"
#include "support/settings.h"

#define HEAD "model: deepseek-v3\ncluster: h200-8x2\nstack: sglang\n"
#define SERVED                                                                                 \
    HEAD "workload: {mode: serve, input_length: 512, output_length: 64}\nparallel: {tp: 8}\n"

static enum status load(const char *text, const char *sets, struct arena *arena,
                        struct plan *plan, struct err *err)
{
    struct override *overrides = arena_alloc(arena, 8, sizeof *overrides);
    size_t n = settings_split(sets, arena, overrides, 8);
    return plan_load_text("plan.yaml", text, strlen(text), overrides, n, arena, plan, NULL,
                          err);
}

static void read_plan(const char *text, const char *sets, struct arena *arena,
                      struct plan *plan)
{
    struct err err = {0};
    if (load(text, sets, arena, plan, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
}

/* ---- the part ---- */

static void a_part_changes_what_it_says(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    read_plan(SERVED "prefill:\n  cluster: {nodes: 1}\n  parallel: {tp: 4}\n"
                     "  stack: {graphs: none}\n  workload: {max_num_seqs: 7}\n",
              "workload.concurrency=9 prefill.memory.fraction=0.5", &arena, &plan);
    const struct plan *prefill = plan.prefill;
    assert_non_null(prefill);
    assert_int_equal(plan.cluster.nodes, 2);
    assert_int_equal(prefill->cluster.nodes, 1);
    assert_int_equal(plan.parallel.tp, 8);
    assert_int_equal(prefill->parallel.tp, 4);
    assert_int_equal(prefill->stack.graphs, GRAPHS_NONE);
    assert_int_not_equal(plan.stack.graphs, GRAPHS_NONE);
    assert_int_equal(prefill->workload.max_num_seqs, 7);
    assert_int_equal(plan.workload.max_num_seqs, 0);
    assert_true(prefill->memory.fraction == 0.5 && plan.memory.fraction == 0);
    assert_int_equal(prefill->workload.concurrency, 9);
    assert_int_equal(plan.workload.role, DUTY_ANSWERS);
    assert_int_equal(prefill->workload.role, DUTY_PROMPTS);
    assert_int_equal(prefill->workload.mode, MODE_SERVE);
    assert_null(prefill->prefill);
    arena_release(&arena);
}

/* What `show` prints of both is the same plan again. */
static void what_is_shown_loads_again(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan, again;
    struct text text = {.arena = &arena}, twice = {.arena = &arena};
    read_plan(SERVED "prefill:\n  cluster: h100-8x1\n  parallel: {tp: 4}\n"
                     "  workload: {max_num_seqs: 7}\n",
              "", &arena, &plan);
    plan_print(&plan, &text);
    read_plan(text_string(&text), "", &arena, &again);
    plan_print(&again, &twice);
    assert_string_equal(text_string(&text), text_string(&twice));
    assert_int_equal(again.prefill->parallel.tp, 4);
    assert_int_equal(again.prefill->cluster.nodes, 1);
    arena_release(&arena);
}

static void a_cluster_of_its_own_replaces_the_plans(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    read_plan(SERVED "prefill: {cluster: h100-8x1}\n", "", &arena, &plan);
    assert_string_equal(plan.prefill->cluster_name, "h100-8x1");
    assert_string_equal(plan.cluster_name, "h200-8x2");
    read_plan(SERVED, "prefill.cluster=h100-8x1 cluster=h200-8x1", &arena, &plan);
    assert_string_equal(plan.prefill->cluster_name, "h100-8x1");
    assert_int_equal(plan.cluster.nodes, 1);
    read_plan(SERVED, "", &arena, &plan);
    assert_null(plan.prefill);
    arena_release(&arena);
}

/* A decode step beside a step of prompts; as a served plan these are the room of a step. */
static void steps_of_both_are_of_their_own(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    static const char text[] = HEAD
        "workload: {mode: decode, micro_batch: 8, context_length: 1024, queue: true}\n"
        "parallel: {tp: 8}\nprefill: {workload: {sequence_length: 4096, micro_batch: 2}}\n";
    read_plan(text, "", &arena, &plan);
    assert_int_equal(plan.prefill->workload.mode, MODE_PREFILL);
    assert_int_equal(plan.prefill->workload.sequence_length, 4096);
    read_plan(text, "workload.mode=serve", &arena, &plan);
    assert_int_equal(plan.prefill->workload.mode, MODE_SERVE);
    assert_int_equal(plan.prefill->workload.max_num_batched_tokens, 8192);
    assert_int_equal(plan.workload.max_num_batched_tokens, 0);
    arena_release(&arena);
}

static void a_part_is_held_to_the_rules(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sets, *where, *error;
    } rows[] = {
        {SERVED "prefill: 3\n", "", "plan.yaml:6:10", "'prefill' takes a mapping, not"},
        {SERVED "prefill:\n  parallel: {tp: 3}\n", "", "plan.yaml:7:14", "3"},
        {SERVED "prefill:\n  paralel: {tp: 4}\n", "", "plan.yaml:7:3", "paralel"},
        {SERVED "prefill: {model: mixtral-8x7b}\n", "", "plan.yaml:6:18",
         "servers that prefill and that decode share model and stack"},
        {SERVED "prefill: {stack: vllm}\n", "", "plan.yaml:6:18", "share model and stack"},
        {SERVED "prefill: {}\n", "prefill.stack=vllm", "", "share model and stack"},
        {SERVED "prefill: {workload: {role: answers}}\n", "", "plan.yaml:6:22",
         "servers of the part `prefill` have workload.role: prompts"},
        {SERVED "prefill: {}\n", "workload.role=prompts", "",
         "with a part `prefill` the plan itself decodes"},
        {HEAD "workload: {mode: train}\nprefill: {}\n", "", "plan.yaml:4:12",
         "a plan with a part `prefill` is of a served model"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct err err = {0};
        assert_int_equal(load(rows[i].text, rows[i].sets, &arena, &plan, &err), STATUS_INPUT);
        if (!strstr(err.text, rows[i].error))
            fail_msg("row %zu: '%s' is not in '%s'", i, rows[i].error, err.text);
        if (rows[i].where[0])
            assert_string_equal(err.where, rows[i].where);
        arena_release(&arena);
    }
}

/* ---- bytes ---- */

static void predict_plan(const struct plan *plan, struct arena *arena, struct prediction *out)
{
    struct err err = {0};
    const struct predict_options options = {.memory_only = true};
    if (predict(plan, &options, arena, out, &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
}

static void assert_same_pool(const char *name, const struct pool_report *pool,
                             const struct prediction *alone)
{
    const struct memory_report *m = &pool->memory;
    print_message("%s, %s\n", name, pool->name);
    assert_int_equal(m->total_bytes, alone->memory.total_bytes);
    assert_int_equal(m->state_bytes, alone->memory.state_bytes);
    assert_int_equal(m->limit_bytes, alone->memory.limit_bytes);
    assert_int_equal(m->verdict, alone->memory.verdict);
    assert_int_equal(pool->serving.cache_bytes, alone->serving.cache_bytes);
    assert_int_equal(pool->serving.cache_tokens, alone->serving.cache_tokens);
    assert_int_equal(pool->serving.sequences, alone->serving.sequences);
}

static void read_job(const char *file, unsigned line, const char *sets, struct arena *arena,
                     struct plan *plan)
{
    struct err err = {0};
    struct job_result result = {0};
    struct override *overrides = arena_alloc(arena, 8, sizeof *overrides);
    const struct job_request request = {.sets = overrides,
                                        .n_sets = settings_split(sets, arena, overrides, 8),
                                        .line = line,
                                        .all_sets = true};
    job_read(file, &request, arena, &result, &err);
    assert_string_equal(err.text, "");
    plan_load_tree(file, result.root, NULL, 0, true, arena, plan, NULL, &err);
    assert_string_equal(err.text, "");
}

/* Launches read alone, by their lines, and the plan of both. */
static void pools_are_their_servers_alone(void **state)
{
    (void)state;
    static const struct {
        const char *file, *sets;
        unsigned prefill, decode;
        uint64_t n_prefill, n_decode;
    } rows[] = {
        {"tests/jobs/pools/sglang.sh", "", 6, 10, 2, 1},
        {"tests/jobs/pools/vllm.sh", "", 3, 6, 1, 1},
        {"tests/jobs/pools/trtllm.sh", "", 13, 19, 2, 1},
        {"tests/jobs/pools/dynamo.yaml", "", 28, 18, 3, 2},
        {"tests/jobs/pools/leader-worker.yaml", "cluster=h200", 17, 40, 2, 1},
        {"tests/jobs/pools/llm-d.yaml", "", 43, 25, 2, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan *plans = arena_alloc(&arena, 3, sizeof *plans);
        struct prediction *found = arena_alloc(&arena, 3, sizeof *found);
        read_job(rows[i].file, 0, rows[i].sets, &arena, &plans[0]);
        read_job(rows[i].file, rows[i].prefill, rows[i].sets, &arena, &plans[1]);
        read_job(rows[i].file, rows[i].decode, rows[i].sets, &arena, &plans[2]);
        for (size_t j = 0; j < 3; j++)
            predict_plan(&plans[j], &arena, &found[j]);
        assert_int_equal(found[0].n_pools, 2);
        assert_int_equal(found[0].pools[0].deployments, rows[i].n_prefill);
        assert_int_equal(found[0].pools[1].deployments, rows[i].n_decode);
        assert_same_pool(rows[i].file, &found[0].pools[0], &found[1]);
        assert_same_pool(rows[i].file, &found[0].pools[1], &found[2]);
        arena_release(&arena);
    }
}

/* Sweeps and searches ask for the same bytes as predict: those of the pool with less to spare.
 */
static void sweeps_see_both_pools(void **state)
{
    (void)state;
    static const char *const files[] = {"tests/jobs/pools/recipe.yaml",
                                        "tests/jobs/pools/sglang.sh",
                                        "tests/jobs/pools/trtllm.yaml"};
    struct evaluator evaluator = {0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct arena arena = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct prediction *found = arena_alloc(&arena, 1, sizeof *found);
        struct evaluation result;
        read_job(files[i], 0, "", &arena, plan);
        predict_plan(plan, &arena, found);
        evaluate(&evaluator, plan, i, &result);
        assert_true(result.valid);
        assert_int_equal(result.peak.total_bytes, found->memory.total_bytes);
        assert_int_equal(result.limit_bytes, found->memory.limit_bytes);
        arena_release(&arena);
    }
    evaluator_release(&evaluator);
}

/* A step of so many tokens leaves servers that prefill no cache: they do not start, although
 * they hold less than those that decode, which fit. */
static void a_pool_that_does_not_start_does_not_fit(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct prediction *found = arena_alloc(&arena, 1, sizeof *found);
    struct evaluator evaluator = {0};
    struct evaluation result;
    read_plan("model: qwen3-30b-a3b\ncluster: h200-2x1\nstack: sglang\nparallel: {tp: 2}\n"
              "workload: {mode: serve, input_length: 3000, output_length: 500, "
              "concurrency: 256}\n"
              "prefill: {workload: {max_num_batched_tokens: 1000000000}}\n",
              "", &arena, &plan);
    predict_plan(&plan, &arena, found);
    evaluate(&evaluator, &plan, 0, &result);
    assert_int_equal(found->pools[1].memory.verdict, VERDICT_FITS);
    assert_true(found->pools[0].memory.total_bytes < found->pools[1].memory.total_bytes);
    assert_int_equal(found->memory.verdict, VERDICT_OOM);
    assert_int_equal(result.verdict, VERDICT_OOM);
    evaluator_release(&evaluator);
    arena_release(&arena);
}

/* What TensorRT-LLM's scripts for Slurm are given says the same, and what requests ask for. */
static void slurm_describes_both_pools(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan *plans = arena_alloc(&arena, 2, sizeof *plans);
    struct prediction *found = arena_alloc(&arena, 2, sizeof *found);
    read_job("tests/jobs/pools/slurm.yaml", 0, "", &arena, &plans[0]);
    const struct workload *w = &plans[0].workload;
    assert_int_equal(w->mode, MODE_SERVE);
    assert_int_equal(w->input_length, 1024);
    assert_int_equal(w->output_length, 512);
    assert_int_equal(w->concurrency, 64);
    read_job("tests/jobs/pools/trtllm.yaml", 0,
             "workload.mode=serve workload.input_length=1024 workload.output_length=512 "
             "workload.concurrency=64",
             &arena, &plans[1]);
    for (size_t i = 0; i < 2; i++)
        predict_plan(&plans[i], &arena, &found[i]);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(found[0].pools[i].memory.total_bytes,
                         found[1].pools[i].memory.total_bytes);
        assert_int_equal(found[0].pools[i].serving.cache_bytes,
                         found[1].pools[i].serving.cache_bytes);
        assert_int_equal(found[0].pools[i].deployments, found[1].pools[i].deployments);
    }
    arena_release(&arena);
}

/* What a server that prefills may take is the device but what lies outside the engine, whatever
 * its pool's fraction: TensorRT-LLM's is of what weights and a step leave, and SGLang's leaves
 * its steps the rest. It has as much as the same server as a whole. */
static void servers_that_prefill_have_the_engines_limit(void **state)
{
    (void)state;
    static const char *const files[] = {
        "tests/jobs/trtllm/dynamo-prefill.sh", "tests/jobs/sglang/prefill.sh",
        "tests/jobs/trtllm/dynamo-prefill.sh", "tests/jobs/sglang/prefill.sh"};
    static const char *const sets[] = {"", "cluster=h200", "memory.fraction=0.3",
                                       "cluster=h200 memory.fraction=0.9"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct arena arena = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct prediction *found = arena_alloc(&arena, 1, sizeof *found);
        read_job(files[i], 0, sets[i], &arena, plan);
        predict_plan(plan, &arena, found);
        assert_int_equal(plan->workload.mode, MODE_PREFILL);
        assert_int_equal(found->memory.limit_bytes,
                         plan_usable_memory(plan) - engine_outside(plan));
        assert_int_equal(found->memory.verdict, VERDICT_FITS);
        arena_release(&arena);
    }
}

/* The file that trtllm-serve disaggregated takes, and the same servers by three launches. */
static void a_description_is_its_launches(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan *plans = arena_alloc(&arena, 2, sizeof *plans);
    struct prediction *found = arena_alloc(&arena, 2, sizeof *found);
    read_job("tests/jobs/pools/trtllm.yaml", 0, "", &arena, &plans[0]);
    read_job("tests/jobs/pools/trtllm.sh", 0, "", &arena, &plans[1]);
    for (size_t i = 0; i < 2; i++)
        predict_plan(&plans[i], &arena, &found[i]);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(found[0].pools[i].memory.total_bytes,
                         found[1].pools[i].memory.total_bytes);
        assert_int_equal(found[0].pools[i].deployments, found[1].pools[i].deployments);
        assert_int_equal(found[0].pools[i].devices, found[1].pools[i].devices);
    }
    arena_release(&arena);
}

/* Requests in flight are shared out: three servers of 24 are three of eight each. */
static void served_pools_share_requests_out(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan *plans = arena_alloc(&arena, 2, sizeof *plans);
    struct prediction *found = arena_alloc(&arena, 2, sizeof *found);
    static const char cluster[] = "cluster=h200-8x1 ";
    read_plan(SERVED "prefill: {}\n",
              arena_printf(&arena,
                           "%sworkload.concurrency=24 workload.deployments.prefill=2 "
                           "workload.deployments.decode=3",
                           cluster),
              &arena, &plans[0]);
    read_plan(SERVED,
              arena_printf(&arena, "%sworkload.concurrency=8 workload.role=answers", cluster),
              &arena, &plans[1]);
    for (size_t i = 0; i < 2; i++)
        predict_plan(&plans[i], &arena, &found[i]);
    assert_same_pool("served", &found[0].pools[1], &found[1]);
    read_plan(SERVED,
              arena_printf(&arena, "%sworkload.concurrency=12 workload.role=prompts", cluster),
              &arena, &plans[1]);
    predict_plan(&plans[1], &arena, &found[1]);
    assert_same_pool("served", &found[0].pools[0], &found[1]);
    arena_release(&arena);
}

/* A server that prefills on another device is priced by that device's profile: by what both
 * pools there have, not by that of who decodes. */
static void a_pool_is_priced_by_its_own_device(void **state)
{
    (void)state;
    static const char text[] =
        "model: deepseek-v3\ncluster: h200-8x1\nstack: trtllm\n"
        "workload: {mode: serve, input_length: 512, output_length: 64}\nparallel: {tp: 8}\n"
        "prefill: {cluster: b200-8x1}\n";
    static const char *const sets[] = {"", "cluster=b200-8x1", "prefill.cluster=h200-8x1"};
    static const char *const own[] = {"trtllm-serve-blackwell", NULL, NULL};
    struct arena arena = {0};
    struct serve_server *servers = arena_alloc(&arena, 3, sizeof *servers);
    struct plan *plans = arena_alloc(&arena, 3, sizeof *plans);
    struct profile profiles[3];
    for (size_t i = 0; i < 3; i++) {
        struct err err = {0};
        read_plan(text, sets[i], &arena, &plans[i]);
        assert_int_equal(profile_load(&plans[i], &arena, &profiles[i], &err), STATUS_OK);
        assert_int_equal(profiles[i].prefill != NULL, own[i] != NULL);
        if (own[i])
            assert_string_equal(profiles[i].prefill->name, own[i]);
        const struct serve_ask ask = {.profile = &profiles[i]};
        assert_int_equal(serve_server_price(&plans[i], DUTY_PROMPTS, &ask, &servers[i], &err),
                         STATUS_OK);
        serve_pool_release(&servers[i].pool);
    }
    assert_true(servers[0].prefill_s > 0);
    assert_close(servers[0].prefill_s, servers[1].prefill_s, 1e-12);
    assert_true(servers[0].prefill_s < servers[2].prefill_s);
    arena_release(&arena);
}

/* ---- requests over both ---- */

/* 1 ms a prompt token; 10 ms a step, whatever its sequences. Who decodes has no prompts. */
static const struct step_costs answers_costs = {.decode = {.n = 1, .x = {1}, .y = {0.01}}};
static const struct rates rates = {.request_s = 0};

static struct serve_times play(const char *sets)
{
    struct arena arena = {0};
    struct plan plan, *pools = arena_alloc(&arena, 2, sizeof *pools);
    struct serve_times out = {.present = true};
    read_plan(HEAD "workload: {mode: serve, input_length: 200, output_length: 101}\n"
                   "parallel: {tp: 8}\nprefill: {}\n",
              arena_printf(&arena, "cluster=h200-8x1 cluster.node.link_latency=0s %s", sets),
              &arena, &plan);
    plan_pool(&plan, DUTY_PROMPTS, 1, &pools[0]);
    plan_pool(&plan, DUTY_ANSWERS, 1, &pools[1]);
    const struct serve_load one = {.replicas = 1, .sequences = 4};
    struct serve_pool prefill = {.game = {&pools[0], &one, &played_costs, &rates}};
    struct serve_pool decode = {.game = {&pools[1], &one, &answers_costs, &rates}};
    const struct serve_pools game = {&plan, &prefill, &decode};
    serve_pools_play(&game, &out);
    serve_pool_release(&prefill);
    serve_pool_release(&decode);
    arena_release(&arena);
    return out;
}

/* A server of one role by itself, eight in flight: of those that prefill 200 tokens in 0.2 s a
 * request, one after the other, each waits for eight; one that decodes has no prompts in its
 * steps. */
static void servers_alone_do_their_part(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "workload: {mode: serve, input_length: 200, output_length: 101, concurrency: 8}\n"
             "parallel: {tp: 8}\n";
    const struct serve_load load = {.replicas = 1, .requests = 8, .sequences = 8};
    struct arena arena = {0};
    struct plan *plans = arena_alloc(&arena, 2, sizeof *plans);
    struct serve_times times[2];
    static const char *const roles[] = {"prompts", "answers"};
    const struct step_costs *const costs[] = {&played_costs, &answers_costs};
    for (size_t i = 0; i < 2; i++) {
        read_plan(text,
                  arena_printf(&arena,
                               "cluster=h200-8x1 workload.role=%s "
                               "workload.max_num_batched_tokens=200",
                               roles[i]),
                  &arena, &plans[i]);
        const struct serve_game game = {&plans[i], &load, costs[i], &rates};
        serve_play(&game, &times[i]);
    }
    assert_close(times[0].requests_per_s, 5, 1e-9);
    assert_close(times[0].tokens_per_s, 1000, 1e-9); /* of prompts */
    assert_close(times[0].ttft_p50_s, 1.6, 1e-9);
    assert_close(times[1].tpot_s, 0.01, 1e-9);
    assert_close(times[1].requests_per_s, 8, 1e-9);
    assert_close(times[1].tokens_per_s, 808, 1e-9);
    arena_release(&arena);
}

/* A server that prefills answers a prompt of 200 tokens in 0.2 s, five a second; one that
 * decodes has four sequences in steps of 10 ms, of 100 further tokens each: four a second. Four
 * of the one and five of the other balance: twenty a second, of 9 x 8 devices 20 x 101 / 72
 * tokens. */
static void pools_balance_by_their_rates(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "workload: {mode: serve, input_length: 200, output_length: 101, concurrency: 64}\n"
             "parallel: {tp: 8}\n";
    const struct serve_load load = {.replicas = 1, .requests = 64, .sequences = 4};
    struct arena arena = {0};
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    struct serve_alone alone[2];
    static const char *const roles[] = {"prompts", "answers"};
    const struct step_costs *const costs[] = {&played_costs, &answers_costs};
    for (size_t i = 0; i < 2; i++) {
        read_plan(text, arena_printf(&arena, "cluster=h200-8x1 workload.role=%s", roles[i]),
                  &arena, plan);
        const struct serve_apart_side side = {plan, &load, costs[i], 0};
        serve_alone_of(&side, &alone[i]);
    }
    assert_close(alone[0].per_s, 5, 1e-9);
    assert_close(alone[0].latency_s, 0.2, 1e-9);
    assert_close(alone[1].per_s, 4, 1e-9);
    assert_close(alone[1].latency_s, 0.01, 1e-9);
    arena_release(&arena);
    struct serve_times t = play("workload.concurrency=64 workload.deployments.prefill=4 "
                                "workload.deployments.decode=5");
    assert_close(t.requests_per_s, 20, 1e-9);
    assert_close(t.apart.prefill_busy, 1, 1e-9);
    assert_close(t.apart.decode_busy, 1, 1e-9);
    assert_close(t.apart.tokens_per_s_per_device, 20.0 * 101 / 72, 1e-9);
}

/* Far apart, each request is alone: 0.2 s of prompt, what of the transfer nothing hides, then
 * 10 ms a token. Five prompts a second, four answers of a second: 1 : 0.8 balances. */
static void requests_alone_see_both_pools(void **state)
{
    (void)state;
    struct serve_times t = play("workload.request_rate=0.01");
    assert_true(t.apart.present);
    assert_close(t.ttft_p50_s, 0.2 + t.apart.exposed_s, 1e-9);
    assert_close(t.tpot_s, 0.01, 1e-9);
    assert_close(t.latency_s, 1.2 + t.apart.exposed_s, 1e-9);
    assert_close(t.apart.prefill_per_decode, 0.8, 1e-9);
    assert_string_equal(t.queue, "stable");
    assert_int_equal(t.apart.fewest_prefill, 1);
    assert_int_equal(t.apart.fewest_decode, 1);
    assert_string_equal(t.apart.limited_by, "decode");
}

/* 22 a second need five that prefill and six that decode; of those that are said, four do not
 * keep up. */
static void rates_ask_for_servers(void **state)
{
    (void)state;
    struct serve_times t = play("workload.request_rate=22");
    assert_int_equal(t.apart.fewest_prefill, 5);
    assert_int_equal(t.apart.fewest_decode, 6);
    assert_int_equal(t.apart.prefill, 5);
    assert_int_equal(t.apart.decode, 6);
    assert_close(t.apart.prefill_busy, 22.0 / 25, 1e-3);
    struct serve_times less = play("workload.request_rate=22 workload.deployments.prefill=4 "
                                   "workload.deployments.decode=9");
    assert_string_equal(less.queue, "overloaded");
    assert_string_equal(less.apart.limited_by, "prefill");
    assert_true(isinf(less.ttft_s));
    assert_int_equal(less.apart.fewest_prefill, 5);
}

/* A limit below a prompt's own time is kept by no number; one that queues break takes more
 * servers than keep up, and fewer devices than one pool's limit asks of both. */
static void limits_ask_for_more(void **state)
{
    (void)state;
    struct serve_times none = play("workload.request_rate=22 workload.limit.ttft=100ms");
    assert_int_equal(none.apart.fewest_prefill, 0);
    struct serve_times tight = play("workload.request_rate=22 workload.limit.ttft=300ms");
    assert_true(tight.apart.fewest_prefill > 5);
    assert_true(tight.apart.fewest_decode >= 6);
    assert_true(tight.within >= 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_changes_what_it_says),
        cmocka_unit_test(what_is_shown_loads_again),
        cmocka_unit_test(a_cluster_of_its_own_replaces_the_plans),
        cmocka_unit_test(steps_of_both_are_of_their_own),
        cmocka_unit_test(a_part_is_held_to_the_rules),
        cmocka_unit_test(pools_are_their_servers_alone),
        cmocka_unit_test(sweeps_see_both_pools),
        cmocka_unit_test(a_pool_that_does_not_start_does_not_fit),
        cmocka_unit_test(slurm_describes_both_pools),
        cmocka_unit_test(servers_that_prefill_have_the_engines_limit),
        cmocka_unit_test(a_description_is_its_launches),
        cmocka_unit_test(served_pools_share_requests_out),
        cmocka_unit_test(a_pool_is_priced_by_its_own_device),
        cmocka_unit_test(servers_alone_do_their_part),
        cmocka_unit_test(pools_balance_by_their_rates),
        cmocka_unit_test(requests_alone_see_both_pools),
        cmocka_unit_test(rates_ask_for_servers),
        cmocka_unit_test(limits_ask_for_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
