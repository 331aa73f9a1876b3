/* Laws of sizes, on random plans of every stack: more to do never takes less time, twice the
 * replicas compute what they did, micro-batches add up, what runs again is one forward pass of
 * the layers, a prompt meets what its tokens would have met one by one, and attention is the
 * same whatever its ranks do with the experts. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "sim/step/time.h"
#include "support/draws.h"
#include "support/listed.h"
#include "support/plans.h"
#include "support/shaped_plan.h"
#include "work/list/kernel.h"
#include "work/stack/stack.h"

enum { DRAWS = 300, TIMES = 3 };

/* ---- a plan and larger ones ---- */

/* A change that leaves the rules; *plan is another one. False: none. */
typedef bool (*grow_fn)(struct plan *plan, uint64_t times);

static bool is_timed(const struct plan *plan, const struct profile *profile,
                     struct step_time *out)
{
    struct evaluator evaluator = {0};
    char text[RULE_TEXT], hint[RULE_TEXT];
    bool timed = !rule_check(plan, text, hint) && time_step(&evaluator, plan, profile, out);
    evaluator_release(&evaluator);
    return timed;
}

/* Times of a plan grown once, twice, ... False where it may not grow, or its stack then runs
 * another path (Neuron's switch of decode goes by experts that are hit, not by time). */
static bool grown(struct plan *plan, uint64_t seed, grow_fn grow, struct step_time at[TIMES])
{
    struct arena arena = {0};
    struct err err = {0};
    struct profile profile;
    bool timed = plan_shaped(plan, (enum stack_kind)(seed % STACK_COUNT), seed);
    plan->moe.routing.samples = 5;
    timed = timed && profile_load(plan, &arena, &profile, &err) == STATUS_OK;
    for (uint64_t i = 0; timed && i < TIMES; i++) {
        struct plan larger = *plan;
        timed = grow(&larger, i + 1) && stack_path(&larger, NULL) == stack_path(plan, NULL) &&
                is_timed(&larger, &profile, &at[i]);
    }
    arena_release(&arena);
    return timed;
}

static void broken(uint64_t seed, const struct plan *plan, const char *law, double a, double b)
{
    fail_msg("seed %" PRIu64 ", %s, %s, %s: %s: %.12g, %.12g", seed,
             words_stack[plan->stack.kind], words_mode[plan->workload.mode],
             words_path[plan->moe.path], law, a, b);
}

/* What a law asks of a plan's times as it grows. */
typedef void (*judge_fn)(const struct plan *plan, uint64_t seed, const struct step_time *at,
                         const char *law);

static unsigned each_grown(grow_fn grow, judge_fn judge, const char *law)
{
    unsigned timed = 0;
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        struct step_time at[TIMES];
        if (!grown(&plan, seed, grow, at))
            continue;
        judge(&plan, seed, at, law);
        timed++;
    }
    return timed;
}

/* ---- more to do ---- */

static bool grow_batch(struct plan *plan, uint64_t times)
{
    struct workload *w = &plan->workload;
    w->micro_batch *= times;
    w->global_batch *= times;
    w->tokens_per_step *= times;
    return true;
}

/* Of chunks a sequence meets half of its last one in the mean, of its first all it has: the
 * one before the second is met as a whole. */
static bool grow_length(struct plan *plan, uint64_t times)
{
    struct workload *w = &plan->workload;
    if (w->tokens_per_step)
        return false;
    w->sequence_length *= times;
    w->context_length *= times;
    return true;
}

static void no_less(const struct plan *plan, uint64_t seed, const struct step_time *at,
                    const char *law)
{
    for (unsigned i = 1; i < TIMES; i++)
        if (at[i].step_s < at[i - 1].step_s * (1 - 1e-9))
            broken(seed, plan, law, at[i - 1].step_s, at[i].step_s);
}

static void more_never_takes_less(void **state)
{
    (void)state;
    draws_print(DRAWS);
    unsigned batches = each_grown(grow_batch, no_less, "more sequences"),
             lengths = each_grown(grow_length, no_less, "longer ones");
    draws_reach("batches", batches, draws_of(DRAWS) / 4.0);
    draws_reach("lengths", lengths, draws_of(DRAWS) / 8.0);
}

/* ---- more replicas ---- */

static bool grow_replicas(struct plan *plan, uint64_t times)
{
    struct workload *w = &plan->workload;
    plan->cluster.nodes *= times;
    w->global_batch *= times;
    w->tokens_per_step *= times;
    return w->mode == MODE_TRAIN && plan->cluster.mesh.n == 0 && !plan->parallel.dp_shard;
}

static void as_much(const struct plan *plan, uint64_t seed, const struct step_time *at,
                    const char *law)
{
    static const enum time_part computes[] = {TIME_PRODUCTS, TIME_ATTENTION, TIME_ELEMENTWISE,
                                              TIME_MOVES};
    (void)law;
    for (unsigned i = 0; i < sizeof computes / sizeof *computes; i++)
        for (unsigned k = 1; k < TIMES; k++) {
            double a = at[0].part_s[computes[i]], b = at[k].part_s[computes[i]];
            if (fabs(a - b) > 1e-9 * fmax(a, b))
                broken(seed, plan, time_part_name(computes[i]), a, b);
        }
}

static void replicas_compute_what_they_did(void **state)
{
    (void)state;
    draws_print(DRAWS);
    draws_reach("timed", each_grown(grow_replicas, as_much, "as much"), draws_of(DRAWS) / 8.0);
}

/* ---- more micro-batches ---- */

static bool grow_steps(struct plan *plan, uint64_t times)
{
    struct workload *w = &plan->workload;
    w->tokens_per_step = 0;
    w->global_batch = plan_dp(plan) * w->micro_batch * 2 * times;
    return w->mode == MODE_TRAIN && plan->parallel.pp == 1;
}

static void adds_up(const struct plan *plan, uint64_t seed, const struct step_time *at,
                    const char *law)
{
    double one = at[1].step_s - at[0].step_s, other = at[2].step_s - at[1].step_s;
    if (fabs(one - other) > 1e-9 * at[2].step_s)
        broken(seed, plan, law, one, other);
}

static void micro_batches_add_up(void **state)
{
    (void)state;
    const char *law = "two more micro-batches, and two";
    draws_print(DRAWS);
    draws_reach("timed", each_grown(grow_steps, adds_up, law), draws_of(DRAWS) / 10.0);
}

/* ---- what runs again ---- */

/* Rounds of blocks that cores share make again what they did not keep, under every kind; the
 * sum of a one-hot product is nothing that MaxText's backward reads. */
static bool is_apart_op(const struct plan *plan, const struct op *op)
{
    return text_ends(op->name, "_again") ||
           (plan->stack.kind == STACK_MAXTEXT && op->kernel == KERNEL_COMBINE);
}

/* FLOP of a rank's micro-step: of the layers' forward, and of what runs again. */
static bool flop_of(const struct plan *plan, uint64_t *layers, uint64_t *again)
{
    struct listed l;
    *again = *layers = 0;
    if (!listed_plan(plan, &l))
        return false;
    bool sampled = listed_evaluate(&l, 0);
    for (size_t i = 0; sampled && i < l.work.n_ops; i++) {
        const struct op *op = &l.work.ops[i];
        uint64_t flop = listed_at(&l, op->layers) * listed_at(&l, op->flop);
        if (is_apart_op(plan, op))
            continue;
        *layers += op->phase == PHASE_FORWARD && segment_is_layer(op->segment) ? flop : 0;
        *again += op->phase == PHASE_RECOMPUTE ? flop : 0;
    }
    arena_release(&l.arena);
    return sampled;
}

/* What runs again though recompute is none, or does not though it is full. */
static bool is_apart_kind(const struct plan *plan, enum recompute kind)
{
    if (kind == RECOMPUTE_FULL) /* attention residuals read what sublayers gave: it is kept */
        return plan->model.residual_block > 0;
    return plan->stack.kind == STACK_MAXTEXT; /* a policy's names leave some results out */
}

static bool check_again(const struct plan *drawn, enum recompute kind, uint64_t seed)
{
    struct plan plan = *drawn;
    uint64_t layers, again;
    plan.recompute = (struct recompute_plan){.kind = kind};
    if (is_apart_kind(&plan, kind) || !flop_of(&plan, &layers, &again))
        return false;
    if (again != (kind == RECOMPUTE_FULL ? layers : 0))
        broken(seed, &plan, "of a forward, run again", (double)layers, (double)again);
    return true;
}

static void what_runs_again_is_a_forward(void **state)
{
    (void)state;
    unsigned full = 0, none = 0;
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        if (!plan_shaped(&plan, (enum stack_kind)(seed % STACK_COUNT), seed) ||
            plan.workload.mode != MODE_TRAIN)
            continue;
        full += check_again(&plan, RECOMPUTE_FULL, seed);
        none += check_again(&plan, RECOMPUTE_NONE, seed);
    }
    draws_reach("all run again", full, draws_of(DRAWS) / 8.0);
    draws_reach("none does", none, draws_of(DRAWS) / 8.0);
}

/* ---- prompts, token by token ---- */

enum { SHORT = 2048, LONG = 6144 };

/* FLOP of the core and the indexer in a kind of layers, of one sequence. */
static double met_flop(struct listed *l, enum segment segment, const char *name, uint64_t n)
{
    l->plan.workload.sequence_length = l->plan.workload.context_length = n;
    slots_set_numbers(&l->plan, &l->slots);
    assert_true(sizes_eval(&l->work.sizes, &l->slots, l->values));
    for (size_t i = 0; i < l->work.n_ops; i++)
        if (l->work.ops[i].segment == segment && text_equal(l->work.ops[i].name, name))
            return (double)listed_at(l, l->work.ops[i].flop);
    return 0;
}

/* Decode multiplies latents, a prompt expanded heads. */
static double widening(const struct plan *plan, const char *name)
{
    const struct attention *a = &plan->model.attention;
    if (a->kind != ATTENTION_MLA || !text_equal(name, "attention"))
        return 1;
    return (double)(2 * a->kv_lora_rank + a->qk_rope_head_dim) /
           (double)(a->qk_nope_head_dim + a->qk_rope_head_dim + a->v_head_dim);
}

static void check_prompt(const char *model, struct listed *prompt, struct listed *token,
                         enum segment segment, const char *name, unsigned *met)
{
    double whole =
               met_flop(prompt, segment, name, LONG) - met_flop(prompt, segment, name, SHORT),
           sum = 0;
    if (whole <= 0)
        return;
    for (uint64_t n = SHORT + 1; n <= LONG; n++)
        sum += met_flop(token, segment, name, n);
    sum /= widening(&prompt->plan, name);
    if (fabs(sum - whole) > 0.01 * whole)
        fail_msg("%s, %s, %s: %.9g FLOP of a prompt, %.9g token by token", model,
                 segment_name(segment), name, whole, sum);
    ++*met;
}

static void list_text(const char *text, const char *set, struct listed *l)
{
    struct arena arena = {0};
    struct plan plan;
    plan_set(text, set, &arena, &plan);
    assert_true(listed_plan(&plan, l));
    assert_true(listed_evaluate(l, 0));
    arena_release(&arena);
}

static void list_one(const char *model, const char *workload, struct listed *l)
{
    char text[256];
    snprintf(text, sizeof text, "model: %s\ncluster: h200\nstack: generic\nworkload: %s\n",
             model, workload);
    list_text(text, "moe.routing.samples=5", l);
}

/* Of chunks both ends lie at the end of one. Blocks: a token meets its own up to itself. */
static void prompts_meet_what_their_tokens_do(void **state)
{
    static const char *const models[] = {
        "llama-3.2-1b",  "deepseek-v2-lite", "gpt-oss-20b",  "gemma-4-e2b",
        "minimax-m3",    "deepseek-v3.2",    "llama4-scout", "glm-5.2",
        "mimo-v2-flash", "deepseek-v4-flash"};
    (void)state;
    unsigned met = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct listed prompt, token;
        list_one(models[i], "{mode: prefill, sequence_length: 2048}", &prompt);
        list_one(models[i], "{mode: decode, context_length: 2048}", &token);
        for (unsigned s = 0; s < SEGMENT_COUNT; s++) {
            check_prompt(models[i], &prompt, &token, (enum segment)s, "attention", &met);
            check_prompt(models[i], &prompt, &token, (enum segment)s, "index", &met);
        }
        arena_release(&prompt.arena);
        arena_release(&token.arena);
    }
    assert_in_range(met, 20, 200);
}

/* ---- experts over the same ranks ---- */

/* FLOP of a layer's mixer: projections, core and what chooses keys. */
static uint64_t mixer_flop_of(const struct listed *l)
{
    uint64_t flop = 0;
    for (size_t i = 0; i < l->work.n_ops; i++) {
        const struct op *op = &l->work.ops[i];
        if (segment_has_experts(op->segment) && op->module <= MODULE_PROJECTION)
            flop += listed_at(l, op->layers) * listed_at(l, op->flop);
    }
    return flop;
}

/* Over the ranks of tp, whole experts or parts of all: every rank has all tokens, and does the
 * same before they are reached. */
static void experts_leave_attention_alone(void **state)
{
    static const char *const models[] = {"deepseek-v3", "kimi-k2", "deepseek-v3.2",
                                         "qwen3-30b-a3b", "gpt-oss-120b"};
    static const char *const engines[] = {"vllm", "sglang", "trtllm"};
    static const char *const modes[] = {"{mode: prefill, sequence_length: 4096}",
                                        "{mode: decode, micro_batch: 16}"};
    (void)state;
    for (size_t i = 0; i < 5 * 3 * 2; i++) {
        struct listed whole, parts;
        const char *model = models[i % 5], *engine = engines[i / 5 % 3];
        char text[256];
        if (text_equal(model, "deepseek-v3.2") && text_equal(engine, "trtllm"))
            continue; /* not known there */
        snprintf(text, sizeof text, "model: %s\ncluster: h200-8x1\nstack: %s\nworkload: %s\n",
                 model, engine, modes[i / 15]);
        list_text(text, "parallel.tp=8 parallel.ep=8 moe.routing.samples=5", &whole);
        list_text(text, "parallel.tp=8 moe.routing.samples=5", &parts);
        if (mixer_flop_of(&whole) != mixer_flop_of(&parts))
            fail_msg("%s, %s, %s: %" PRIu64 " FLOP of attention over ep, %" PRIu64 " over etp",
                     model, engine, modes[i / 15], mixer_flop_of(&whole),
                     mixer_flop_of(&parts));
        arena_release(&whole.arena);
        arena_release(&parts.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_never_takes_less),
        cmocka_unit_test(replicas_compute_what_they_did),
        cmocka_unit_test(micro_batches_add_up),
        cmocka_unit_test(what_runs_again_is_a_forward),
        cmocka_unit_test(prompts_meet_what_their_tokens_do),
        cmocka_unit_test(experts_leave_attention_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
