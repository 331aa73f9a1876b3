/* Which kernels of an engine do the ops of a served step: what begins, reads and multiplies,
 * worked by hand from the engines' modules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/engine.h"
#include "sim/step/interval.h"
#include "sim/step/serve_time.h"
#include "sim/time/step_time.h"
#include "support/plans.h"
#include "support/timed.h"
#include "work/stack/stack.h"

static const char decode[] = "model: deepseek-r1\ncluster: b200-8x1\nstack: sglang\n"
                             "precision: {compute: fp8, kv_cache: fp8}\n"
                             "workload: {mode: decode, micro_batch: 16, context_length: 2048}\n"
                             "parallel: {tp: 8, ep: 1, etp: 8}\n";

/* Of a layer with experts. */
static const struct op *op_of(const struct timed *t, const char *name)
{
    for (size_t i = 0; i < t->s.work.n_ops; i++)
        if (t->s.work.ops[i].segment == SEGMENT_MOE && strcmp(t->s.work.ops[i].name, name) == 0)
            return &t->s.work.ops[i];
    fail_msg("no op %s", name);
    return NULL;
}

static struct price price(const struct timed *t, const char *name)
{
    return price_of(&t->s.pricing, &t->s.work, op_of(t, name), t->s.values);
}

/* Kernels that begin for an op: what it takes beyond its work, over what one takes. */
static double kernels(const struct timed *t, const char *name)
{
    struct price p = price(t, name);
    double each = t->s.pricing.rates.kernel[PROFILE_GEMM].overhead.value;
    return (p.s - fmax(p.compute_s, p.memory_s)) / each;
}

static void close_to(double found, double wanted)
{
    if (fabs(found - wanted) > 1e-6 * fabs(wanted) + 1e-12)
        fail_msg("%.9g, by hand %.9g", found, wanted);
}

/* SGLang's layer of DeepSeek-R1 in 8 bits, captured. */
static void kernels_of_a_layer_begin(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        double kernels;
    } rows[] = {
        {"attention_norm", 0},
        {"q_down", 1},
        {"kv_down", 0},
        {"q_latent_norm", 1},
        {"kv_latent_norm", 0},
        {"q_up", 1},
        {"absorb_q", 1},
        {"attention_out", 1},
        {"add_mlp_input", 0},
        {"mlp_norm", 0},
        {"router", 1},
        {"topk", 0},
        {"fan", 1},
        {"gate_up", 1},
        {"activation", 1},
        {"down", 1},
        {"fan_in", 1},
        {"shared_gate_up", 0},
        {"shared_activation", 0},
        {"shared_down", 0},
        {"add_shared", 1},
        {"add_layer_output", 0},
    };
    static const char *const nowhere[] = {"place", "fan_out", "mask_tail", "reduce_routed_out",
                                          "reduce_shared_sum"};
    struct timed t;
    timed_open(&t, decode, "workload.micro_batch=16");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (fabs(kernels(&t, rows[i].op) - rows[i].kernels) > 1e-6)
            fail_msg("%s: %.6f kernels, by hand %.0f", rows[i].op, kernels(&t, rows[i].op),
                     rows[i].kernels);
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        close_to(price(&t, nowhere[i]).s, 0);
    assert_true(price(&t, "reduce_etp_sum").s > 0);
    timed_close(&t);
}

/* With tensor and expert parallelism over the same ranks each has all tokens, however experts
 * are split; the list shares them out. */
static void every_rank_has_all_tokens(void **state)
{
    (void)state;
    static const char *const ops[] = {"attention_norm", "q_down",   "kv_down", "q_latent_norm",
                                      "add_mlp_input",  "mlp_norm", "router",  "add_shared"};
    struct timed split, whole;
    timed_open(&split, decode, "parallel.ep=8 parallel.etp=1 workload.micro_batch=64");
    timed_open(&whole, decode, "parallel.ep=1 parallel.etp=8 workload.micro_batch=64");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        assert_false(op_of(&whole, ops[i])->done & DONE_EVERYWHERE);
        close_to(price(&split, ops[i]).s, price(&whole, ops[i]).s);
    }
    assert_true(op_of(&split, "mlp_norm")->done & DONE_EVERYWHERE);
    close_to(price(&split, "scatter_shared").s, 0);
    assert_true(price(&split, "scatter_routed_out").s > 0);
    timed_close(&split);
    timed_close(&whole);
}

/* Between multiplications kernels of fp8_block apply scales; of 4 bits the device does. */
static void scales_of_blocks_cost_their_share(void **state)
{
    (void)state;
    struct timed t;
    timed_open(&t, decode, "workload.micro_batch=16");
    struct kernel_rates *k = &t.s.pricing.rates.kernel[PROFILE_GEMM];
    k->block_share = 1;
    double q_up = price(&t, "q_up").compute_s, router = price(&t, "router").compute_s;
    k->block_share = 0.25;
    close_to(price(&t, "q_up").compute_s, 4 * q_up);
    close_to(price(&t, "router").compute_s, router);
    timed_close(&t);
    timed_open(&t, decode, "precision.weights=nvfp4");
    t.s.pricing.rates.kernel[PROFILE_GEMM].block_share = 1;
    double out = price(&t, "attention_out").compute_s;
    t.s.pricing.rates.kernel[PROFILE_GEMM].block_share = 0.25;
    close_to(price(&t, "attention_out").compute_s, out);
    timed_close(&t);
}

static void few_tokens_are_reduced_and_beside(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        bool reduced, beside;
    } rows[] = {
        {"workload.micro_batch=1024", true, true},
        {"workload.micro_batch=1025", true, false},
        {"workload.micro_batch=2048", true, false},
        {"workload.micro_batch=2049", false, false},
        {"stack=trtllm workload.micro_batch=4096", true, true},
        {"stack=vllm workload.micro_batch=256", false, true},
        {"stack=vllm workload.micro_batch=257", false, false},
        {"cluster=mi300x-8x1 workload.micro_batch=16", false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        plan_set(decode, rows[i].set, &arena, &plan);
        if (engine_norm_reduced(&plan) != rows[i].reduced ||
            engine_parts_stream(&plan) != rows[i].beside)
            fail_msg("%s", rows[i].set);
        arena_release(&arena);
    }
}

static struct serve_times served(const char *text, const char *set)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct profile profile;
    struct serve_times times;
    plan_set(text, set, &arena, &plan);
    assert_int_equal(profile_load(&plan, &arena, &profile, &err), STATUS_OK);
    const struct serve_ask ask = {.profile = &profile};
    assert_int_equal(serve_times_of(&plan, &ask, &arena, &times, NULL, &err), STATUS_OK);
    arena_release(&arena);
    return times;
}

/* Tokens that experts are chosen for: those of requests; where ranks idle, or have fewer than
 * the fullest, one more whose copies fill the others' places (vLLM, TensorRT-LLM), each place
 * its own (SGLang's graphs), or nothing (DeepEP's mask, no graphs). */
static void idle_ranks_choose_few_experts(void **state)
{
    (void)state;
    static const char text[] = "model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\n"
                               "precision: {compute: fp8}\n"
                               "parallel: {tp: 1, ep: 16, etp: 1, attention_dp: 16}\n"
                               "workload: {mode: serve, concurrency: 4, input_length: 1024,\n"
                               "  output_length: 64}\n";
    static const struct {
        const char *set;
        uint64_t most, routed;
    } rows[] = {
        {"stack=vllm", 1, 4 + 1},
        {"stack=trtllm", 1, 4 + 1},
        {"stack=trtllm workload.concurrency=16", 1, 16},
        {"stack=trtllm workload.concurrency=20", 2, 20 + 1},
        {"stack=vllm workload.concurrency=31", 2, 32},
        {"stack=sglang", 1, 16},
        {"stack=sglang stack.graphs=none", 1, 4},
        {"stack=sglang moe.path=deepep_ll", 1, 4},
        {"stack=sglang moe.path=deepep_ll workload.concurrency=20", 2, 20},
        {"stack=vllm parallel.tp=16 parallel.attention_dp=1", 4, 4},
        {"stack=trtllm parallel.ep=1 parallel.etp=16", 1, 4 + 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        plan_set(text, rows[i].set, &arena, &plan);
        uint64_t routed = serve_timed_tokens(&plan, rows[i].most);
        if (routed != rows[i].routed)
            fail_msg("%s: %d, by hand %d", rows[i].set, (int)routed, (int)rows[i].routed);
        arena_release(&arena);
    }
}

/* Of one request on 16 ranks a token is no slower than of 16, and so many are answered as are
 * in flight; no more requests make a token quicker. (Beyond 16 SGLang answers fewer: a prompt
 * on one rank holds up all, and there are more of them.) */
static void fewer_requests_than_ranks_are_quicker(void **state)
{
    (void)state;
    static const char text[] = "model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\n"
                               "precision: {compute: fp8}\n"
                               "parallel: {tp: 1, ep: 16, etp: 1, attention_dp: 16}\n"
                               "workload: {mode: serve, concurrency: 4, input_length: 1024,\n"
                               "  output_length: 64}\n";
    static const char *const stacks[] = {"vllm", "sglang", "trtllm"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct arena arena = {0};
        struct serve_times before = {.tpot_s = 0};
        for (unsigned n = 1; n <= 24; n += n < 16 ? n : 4) {
            struct serve_times now = served(
                text, arena_printf(&arena, "stack=%s workload.concurrency=%u", stacks[i], n));
            close_to(now.latency_mean_s * now.requests_per_s, n); /* Little's law */
            assert_true(now.tpot_s >= before.tpot_s * (1 - 1e-9));
            assert_true(n > 16 || now.requests_per_s > before.requests_per_s);
            before = now;
        }
        arena_release(&arena);
    }
}

/* SGLang's auto mode sends prompts by DeepEP's normal kernels: as of a plan of these. */
static void prompts_go_by_normal_kernels(void **state)
{
    (void)state;
    static const char text[] = "model: deepseek-v3\ncluster: h200-8x2\nstack: sglang\n"
                               "precision: {compute: fp8}\n"
                               "parallel: {tp: 1, ep: 16, etp: 1, attention_dp: 16}\n"
                               "workload: {mode: serve, concurrency: 64, input_length: 1024,\n"
                               "  output_length: 64}\n";
    struct serve_times normal = served(text, "moe.path=deepep"),
                       fast = served(text, "moe.path=deepep_ll"),
                       vllm = served(text, "moe.path=deepep_ll stack=vllm");
    close_to(fast.prefill_step_s, normal.prefill_step_s);
    assert_true(fast.decode_step_s < normal.decode_step_s);
    assert_true(vllm.present);
}

/* Of 16 requests the cache holds 8 to their ends: TensorRT-LLM begins 8, SGLang more by the
 * part of answers that it reserves, and its first tokens come sooner. */
static void closed_loops_admit_as_engines_do(void **state)
{
    (void)state;
    static const char text[] = "model: gpt-oss-120b\ncluster: h200-2x1\nstack: sglang\n"
                               "parallel: {tp: 2, ep: 1, etp: 2}\n"
                               "memory: {cache_tokens: 18432}\n"
                               "workload: {mode: serve, concurrency: 16, input_length: 256,\n"
                               "  output_length: 2048}\n";
    struct serve_times sglang = served(text, "stack=sglang"),
                       trtllm = served(text, "stack=trtllm");
    assert_int_equal(sglang.sequences, trtllm.sequences);
    assert_true(sglang.waiting > 0 && trtllm.waiting > 0);
    assert_string_equal(sglang.capped, "the cache");
    assert_true(sglang.ttft_s / sglang.tpot_s < 0.8 * trtllm.ttft_s / trtllm.tpot_s);
}

/* AUTO of _torch/model_config.py (resolve_moe_backend): Triton's for gpt-oss on Hopper, the
 * generated kernels for it and for blocks of fp8 on Blackwell, CUTLASS else; before 1.3 CUTLASS
 * for gpt-oss too. */
static void auto_is_as_trtllm_resolves_it(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *weights;
        enum expert_backend expected;
        const char *release;
    } cases[] = {
        {"h200-8x1", "mxfp4", EXPERTS_TRITON_OAI, "stack.version=1.3"},
        {"h200-8x1", "fp8_block", EXPERTS_CUTLASS, "stack.version=1.3"},
        {"h200-8x1", "nvfp4", EXPERTS_MARLIN, "stack.version=1.3"},
        {"b200-8x1", "mxfp4", EXPERTS_TRTLLM_GEN, "stack.version=1.3"},
        {"b200-8x1", "fp8_block", EXPERTS_TRTLLM_GEN, "stack.version=1.3"},
        {"b200-8x1", "nvfp4", EXPERTS_CUTLASS, "stack.version=1.3"},
        {"b200-8x1", "bf16", EXPERTS_CUTLASS, "stack.version=1.3"},
        {"h200-8x1", "mxfp4", EXPERTS_TRITON_OAI, ""},
        {"h200-8x1", "mxfp4", EXPERTS_CUTLASS, "stack.version=1.2"},
        {"b200-8x1", "mxfp4", EXPERTS_CUTLASS, "stack.version=1.2"},
        {"b200-8x1", "fp8_block", EXPERTS_TRTLLM_GEN, "stack.version=1.2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        const char *set =
            arena_printf(&arena, "stack=trtllm cluster=%s precision.weights=%s %s",
                         cases[i].cluster, cases[i].weights, cases[i].release);
        plan_set(decode, set, &arena, &plan);
        print_message("%s\n", set);
        assert_int_equal(stack_experts(&plan, NULL), cases[i].expected);
        arena_release(&arena);
    }
}

/* A first token of 10 s, errors of 0.5 (request) and 0.25 (step): 10 / 1.5 to 10 x 1.5.
 * Outside, where a step has 0.75: as much wider as the step, 1.5 x 1.75 / 1.25 = 2.1; by a
 * constant of its own 1 + 2. Twice as much either way where nobody knows what a launch takes.
 */
static void first_tokens_have_widths_of_their_own(void **state)
{
    (void)state;
    static const double step = 0.25, request = 0.5, outside = 2;
    const struct constant rows[] = {
        {.of = PROFILE_STEP, .is = PROFILE_ERROR, .n = 1, .y = &step},
        {.of = PROFILE_REQUEST, .is = PROFILE_ERROR, .n = 1, .y = &request},
        {.of = PROFILE_REQUEST, .is = PROFILE_OUTSIDE, .n = 1, .y = &outside},
    };
    static const struct {
        size_t n;
        bool outside;
        double error, launch, expected;
    } cases[] = {{2, false, 0.25, 1, 1.5},
                 {2, true, 0.75, 1, 2.1},
                 {3, false, 0.25, 1, 1.5},
                 {3, true, 0.75, 1, 3},
                 {3, true, 0.75, 2, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct constant own[3];
        for (size_t k = 0; k < 3; k++) {
            own[k] = rows[k];
            own[k].path = own[k].compute = own[k].level = PROFILE_ANY;
        }
        const struct profile profile = {.constants = own, .n = cases[i].n};
        struct serve_times t = {.ttft_s = 10, .tpot_s = 1};
        double factor = cases[i].launch * (1 + cases[i].error);
        interval_served(&profile, cases[i].error, cases[i].outside, factor, factor, &t);
        assert_true(fabs(t.ttft_high_s - 10 * cases[i].expected) < 1e-9);
        assert_true(fabs(t.ttft_low_s - 10 / cases[i].expected) < 1e-9);
        assert_true(fabs(t.tpot_high_s - factor) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_a_layer_begin),
        cmocka_unit_test(every_rank_has_all_tokens),
        cmocka_unit_test(scales_of_blocks_cost_their_share),
        cmocka_unit_test(few_tokens_are_reduced_and_beside),
        cmocka_unit_test(idle_ranks_choose_few_experts),
        cmocka_unit_test(fewer_requests_than_ranks_are_quicker),
        cmocka_unit_test(prompts_go_by_normal_kernels),
        cmocka_unit_test(closed_loops_admit_as_engines_do),
        cmocka_unit_test(auto_is_as_trtllm_resolves_it),
        cmocka_unit_test(first_tokens_have_widths_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
