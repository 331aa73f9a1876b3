/* Layers of two halves by hand, the laws of what they take, and steps that engines run so. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "plan/halves.h"
#include "sim/answer/notes.h"
#include "sim/time/halves.h"
#include "sim/time/step_halves.h"
#include "support/timed.h"

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-12 * fabs(expected) + 1e-15)
        fail_msg("%.15g is not %.15g", got, expected);
}

/* ---- by hand ---- */

/* Both halves: 1 s until attention's core, 1 s from there to the exchange, 2 s of experts. */
static void fill(struct half_layer half[2], double exchange, double shared, double output)
{
    for (unsigned i = 0; i < 2; i++)
        half[i] = (struct half_layer){.node_s = {[HALF_BEFORE] = 1,
                                                 [HALF_ATTENTION] = 1,
                                                 [HALF_SHARED] = shared,
                                                 [HALF_DISPATCH] = exchange,
                                                 [HALF_EXPERTS] = 2,
                                                 [HALF_COMBINE] = exchange,
                                                 [HALF_OUTPUT] = output}};
}

/* Exchanges of 1 s: a 0-2, its dispatch 2-3 beside b 2-4, b's 4-5 beside a's experts 4-6,
 * combine 6-7 beside b's experts 6-8, b's combine 8-9: 9 s of 12 in turn; the next layer begins
 * at 8, as long as products last. Of 4 s: dispatch 2-6, 6-10, combine 10-14, 14-18; the next
 * layer's dispatch at 18, as long as links are busy. */
static void prompts_by_hand(void **state)
{
    static const enum halves_order alike[] = {HALVES_SGLANG_PROMPTS, HALVES_VLLM_NORMAL,
                                              HALVES_VLLM_SLOTS};
    struct half_layer half[2];
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        fill(half, 1, 0, 0);
        near(halves_turn_s(half), 12);
        near(halves_links_s(half), 4);
        near(halves_layers_s(half, alike[i], 1), 9);
        near(halves_layers_s(half, alike[i], 2), 17);
        near(halves_layers_s(half, alike[i], 61), 9 + 60 * 8);
        fill(half, 4, 0, 0);
        near(halves_layers_s(half, alike[i], 1), 18);
        near(halves_layers_s(half, alike[i], 2), 34);
        fill(half, 0, 0, 0);
        near(halves_layers_s(half, alike[i], 7), 7 * 8);
    }
}

/* Shared experts of 1 s. a 0-2; dispatch 2-3 beside its shared experts; b's projections 3-4;
 * a's experts 4-6; its combine 6-7 beside b's attention; b's dispatch 7-8 beside its shared
 * experts; its experts 8-10, combine 10-11, for which it waits: 11 of 14. With a second layer
 * a's projections 8-9 come between, its attention beside b's combine: 21. */
static void decode_by_hand(void **state)
{
    struct half_layer half[2];
    (void)state;
    fill(half, 1, 1, 0);
    near(halves_layers_s(half, HALVES_SGLANG_SHARED, 1), 11);
    near(halves_layers_s(half, HALVES_SGLANG_SHARED, 2), 21);
    /* vLLM: a 0-2, b 2-4, experts 4-6, 6-8, shared experts 8-10 beside b's combine 8-9 */
    near(halves_layers_s(half, HALVES_VLLM_NORMAL, 1), 10);
    near(halves_layers_s(half, HALVES_VLLM_NORMAL, 2), 20);
    /* none, but 1 s of output: a 0-2, dispatch 2-3 beside b 2-3, experts 3-5, combine 5-6
     * beside b's attention, output 6-7, b's dispatch 7-8, experts 8-10, combine 10-11, output
     * 11-12 */
    fill(half, 1, 0, 1);
    near(halves_layers_s(half, HALVES_SGLANG_PLAIN, 1), 12);
    near(halves_layers_s(half, HALVES_SGLANG_PLAIN, 2), 22);
}

/* One batch: projections and attention 0-2, dispatch 2-4, shared experts 2-3, gate and up 4-5,
 * down 5-6, combine 6-8, output 8-9: 9 s of 10 in turn; 8 with the combine beside down 5-6; on
 * Blackwell shared experts are beside the combine. The next layer needs all of it. */
static void single_by_hand(void **state)
{
    static const struct {
        enum halves_order order;
        double layer_s;
    } rows[] = {
        {HALVES_SINGLE_HOPPER, 9}, {HALVES_SINGLE_DOWN, 8}, {HALVES_SINGLE_BLACKWELL, 9}};
    const struct half_layer half[2] = {{.node_s = {[HALF_BEFORE] = 1,
                                                   [HALF_ATTENTION] = 1,
                                                   [HALF_SHARED] = 1,
                                                   [HALF_DISPATCH] = 2,
                                                   [HALF_EXPERTS] = 1,
                                                   [HALF_DOWN] = 1,
                                                   [HALF_COMBINE] = 2,
                                                   [HALF_OUTPUT] = 1}}};
    (void)state;
    near(halves_turn_s(half), 10);
    for (unsigned i = 0; i < 3; i++) {
        near(halves_layers_s(half, rows[i].order, 1), rows[i].layer_s);
        near(halves_layers_s(half, rows[i].order, 5), 5 * rows[i].layer_s);
    }
}

/* ---- laws ---- */

/* Nodes that an order issues. */
static bool issues(enum halves_order order, unsigned half, unsigned node)
{
    bool single = order >= HALVES_SINGLE_HOPPER;
    if (node == HALF_SHARED && order == HALVES_SGLANG_PLAIN)
        return false;
    return single ? half == 0 : node != HALF_DOWN;
}

static void draw(struct rng *rng, enum halves_order order, struct half_layer half[2])
{
    for (unsigned i = 0; i < 2; i++)
        for (unsigned node = 0; node < HALF_NODES; node++)
            half[i].node_s[node] =
                issues(order, i, node) && rng_below(rng, 5) ? rng_uniform(rng) : 0;
}

/* One half alone, of which shared experts may run beside anything, and in one order the second
 * product beside the combine. */
static double chain_s(const struct half_layer *half, enum halves_order order)
{
    double s = 0;
    for (unsigned node = 0; node < HALF_NODES; node++)
        if (node != HALF_SHARED && (node != HALF_DOWN || order != HALVES_SINGLE_DOWN))
            s += half->node_s[node];
    return s;
}

static void orders_keep_their_bounds(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, 7, 0, 0, 0, 0);
    for (unsigned i = 0; i < 4000; i++) {
        enum halves_order order = (enum halves_order)rng_below(&rng, HALVES_ORDERS);
        struct half_layer half[2];
        double n = 1 + (double)rng_below(&rng, 6);
        draw(&rng, order, half);
        double turn = n * halves_turn_s(half), links = n * halves_links_s(half);
        double chain = n * fmax(chain_s(&half[0], order), chain_s(&half[1], order));
        double least = fmax(fmax(turn - links, links), chain);
        double took = halves_layers_s(half, order, n);
        if (took < least * (1 - 1e-12) || took > turn * (1 + 1e-12))
            fail_msg("draw %u, order %d: %.9g s, bounds %.9g and %.9g", i, (int)order, took,
                     least, turn);
        unsigned which = (unsigned)rng_below(&rng, 2),
                 node = (unsigned)rng_below(&rng, HALF_NODES);
        if (issues(order, which, node))
            half[which].node_s[node] += rng_uniform(&rng);
        assert_true(halves_layers_s(half, order, n) >= took * (1 - 1e-12));
    }
}

/* ---- steps ---- */

static const char plan_text[] =
    "model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\n"
    "workload: {mode: decode, micro_batch: 128, context_length: 4096}\n"
    "parallel: {tp: 1, ep: 16}\nmoe: {path: deepep_ll}\n"
    "precision: {weights: fp8_block, dispatch: fp8_block, kv_cache: bf16}\n";

static double step_s(const char *set, bool *halves)
{
    struct timed t;
    timed_open(&t, plan_text, set);
    double s = t.step.step_s;
    if (halves)
        *halves = t.s.halves;
    assert_true(t.step.least_s <= s * (1 + 1e-9) && s <= t.step.most_s * (1 + 1e-9));
    timed_close(&t);
    return s;
}

/* Below its threshold vLLM runs one batch, to the last bit; from it on two halves. SGLang has
 * halves of any two sequences, and no graphs of prompts beside the option. */
static void thresholds_decide(void **state)
{
    static const struct {
        const char *set;
        bool halves;
    } rows[] = {
        {"workload.micro_batch=31", false},
        {"workload.micro_batch=32", true},
        {"workload.micro_batch=64 moe.overlap_decode=65", false},
        {"workload.micro_batch=2 moe.overlap_decode=2", true},
        {"workload.micro_batch=1 moe.overlap_decode=0", false},
        {"stack=sglang workload.micro_batch=2", true},
        {"stack=sglang workload.micro_batch=1", false},
        {"workload.mode=prefill moe.path=deepep workload.sequence_length=512 "
         "workload.micro_batch=1",
         true},
        {"workload.mode=prefill moe.path=deepep workload.sequence_length=511 "
         "workload.micro_batch=1",
         false},
        {"stack=sglang workload.mode=prefill moe.path=deepep workload.sequence_length=64 "
         "workload.micro_batch=1",
         true},
        {"stack=sglang workload.mode=prefill moe.path=deepep_ll workload.sequence_length=64 "
         "workload.micro_batch=1 stack.prompt_graphs=none",
         false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        bool halves, none;
        double both = step_s(arena_join(&arena, rows[i].set, " moe.overlap=true"), &halves);
        double one = step_s(rows[i].set, &none);
        if (halves != rows[i].halves || none)
            fail_msg("%s: halves %d", rows[i].set, (int)halves);
        if (!halves && both != one)
            fail_msg("%s: %.17g is not %.17g", rows[i].set, both, one);
        arena_release(&arena);
    }
}

/* Few tokens read all weights twice for nothing; many hide their exchanges. */
static void few_tokens_lose(void **state)
{
    static const char few[] = "stack=sglang workload.micro_batch=8",
                      few_halves[] = "stack=sglang workload.micro_batch=8 moe.overlap=true";
    static const char many[] = "stack=sglang workload.mode=prefill moe.path=deepep "
                               "workload.sequence_length=4096 workload.micro_batch=2",
                      many_halves[] = "stack=sglang workload.mode=prefill moe.path=deepep "
                                      "workload.sequence_length=4096 workload.micro_batch=2 "
                                      "moe.overlap=true";
    (void)state;
    assert_true(step_s(few_halves, NULL) > step_s(few, NULL));
    assert_true(step_s(many_halves, NULL) < step_s(many, NULL));
}

/* Shared experts and the second product hide exchanges of one batch, where SGLang sends slots.
 */
static void one_batch_hides_its_own(void **state)
{
    static const char plain[] = "stack=sglang",
                      single[] = "stack=sglang moe.overlap_single=true",
                      normal[] = "stack=sglang moe.path=deepep",
                      no_slots[] = "stack=sglang moe.path=deepep moe.overlap_single=true";
    bool halves;
    (void)state;
    assert_true(step_s(single, &halves) < step_s(plain, NULL));
    assert_false(halves);
    assert_true(step_s(no_slots, NULL) == step_s(normal, NULL));
}

/* What op_s says of layers in halves is the sum of both; exchanges hide no more than they are;
 * what is left is no less than the products. */
static void ops_are_of_both(void **state)
{
    struct timed t;
    (void)state;
    timed_open(&t, plan_text, "moe.overlap=true");
    double links = 0, layers = (double)t.s.values[t.s.work.use[SEGMENT_MOE].repeat.node];
    for (size_t i = 0; i < t.s.work.n_ops; i++) {
        const struct op *op = &t.s.work.ops[i];
        if (step_halves_run(&t.s, (enum segment)op->segment))
            near(t.s.op_s[i], t.s.half_s[0][i] + t.s.half_s[1][i]);
        if (op->segment == SEGMENT_MOE && op->group == GROUP_EP)
            links += t.s.op_s[i];
    }
    double hidden = step_halves_hidden_s(&t.s, SEGMENT_MOE, layers);
    assert_true(layers > 1 && hidden > 0 && hidden <= layers * links * (1 + 1e-12));
    timed_close(&t);
}

/* Odd numbers: 33 sequences are 16 and 17; one prompt is cut, three whole ones by vLLM alone.
 */
static void plans_of_halves(void **state)
{
    struct timed t;
    struct plan a, b;
    (void)state;
    timed_open(&t, plan_text, "workload.micro_batch=33 moe.overlap=true");
    plan_half(&t.s.plan, 0, &a);
    plan_half(&t.s.plan, 1, &b);
    assert_int_equal(a.workload.micro_batch, 16);
    assert_int_equal(b.workload.micro_batch, 17);
    timed_close(&t);
    timed_open(&t, plan_text,
               "stack=sglang workload.mode=prefill moe.path=deepep workload.micro_batch=25 "
               "workload.sequence_length=100 moe.overlap=true moe.overlap_balance=0.47");
    plan_half(&t.s.plan, 0, &a);
    plan_half(&t.s.plan, 1, &b);
    assert_int_equal(a.workload.micro_batch, 13);
    assert_int_equal(b.workload.micro_batch, 12);
    assert_int_equal(a.workload.sequence_length, 100);
    timed_close(&t);
    timed_open(&t, plan_text,
               "stack=sglang workload.mode=prefill moe.path=deepep workload.micro_batch=3 "
               "workload.sequence_length=100 moe.overlap=true");
    plan_half(&t.s.plan, 0, &a);
    assert_int_equal(a.workload.micro_batch, 3);
    assert_int_equal(a.workload.sequence_length, 50);
    timed_close(&t);
}

/* 20 of 132 SMs are DeepEP's; low latency and SGLang's decode steps keep none. */
static void exchanges_keep_units(void **state)
{
    static const struct {
        const char *set;
        uint64_t sms;
    } rows[] = {{"moe.overlap=true", 0},
                {"moe.overlap=true moe.path=deepep", 20},
                {"stack=sglang moe.overlap=true moe.path=deepep", 0},
                {"stack=sglang moe.overlap=true moe.path=deepep workload.mode=prefill "
                 "workload.sequence_length=256",
                 20}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct timed t;
        timed_open(&t, plan_text, rows[i].set);
        assert_int_equal(plan_half_sms(&t.s.plan), rows[i].sms);
        timed_close(&t);
    }
}

/* What the answer says of moe.overlap. */
static void notes_say_so(void **state)
{
    static const struct {
        const char *set, *says;
    } rows[] = {
        {"moe.overlap=true", "unvalidated"},
        {"stack=sglang moe.overlap=true", "unvalidated"},
        {"stack=sglang moe.overlap_single=true", "unvalidated"},
        {"moe.overlap=true workload.micro_batch=8", "too few tokens"},
        {"moe.overlap=true moe.path=allgather", "with DeepEP and data parallelism alone"},
        {"stack=sglang moe.overlap=true moe.path=allgather", "with DeepEP alone"},
        {"", NULL},
        {"stack=sglang moe.overlap_single=true moe.path=deepep", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct timed t;
        struct note notes[NOTES_ENGINE];
        const char *text = NULL;
        timed_open(&t, plan_text, rows[i].set);
        size_t n = notes_engine(&t.plan, &t.arena, notes);
        for (size_t k = 0; k < n; k++)
            if (strncmp(notes[k].key, "moe.overlap", 11) == 0)
                text = notes[k].text;
        if (!text != !rows[i].says || (text && !strstr(text, rows[i].says)))
            fail_msg("%s: %s", rows[i].set, text ? text : "nothing");
        timed_close(&t);
    }
}

/* No run of a profile was of halves: outside of all of them. */
static void no_run_is_like_it(void **state)
{
    struct timed t;
    (void)state;
    timed_open(&t, plan_text, "");
    assert_false(profile_is_unlike(&t.profile, &t.s.plan));
    timed_close(&t);
    timed_open(&t, plan_text, "moe.overlap=true");
    assert_true(profile_is_unlike(&t.profile, &t.s.plan));
    timed_close(&t);
    timed_open(&t, plan_text, "stack=sglang moe.overlap_single=true");
    assert_true(profile_is_unlike(&t.profile, &t.s.plan));
    timed_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_by_hand),
        cmocka_unit_test(decode_by_hand),
        cmocka_unit_test(single_by_hand),
        cmocka_unit_test(one_batch_hides_its_own),
        cmocka_unit_test(orders_keep_their_bounds),
        cmocka_unit_test(thresholds_decide),
        cmocka_unit_test(few_tokens_lose),
        cmocka_unit_test(ops_are_of_both),
        cmocka_unit_test(plans_of_halves),
        cmocka_unit_test(exchanges_keep_units),
        cmocka_unit_test(notes_say_so),
        cmocka_unit_test(no_run_is_like_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
