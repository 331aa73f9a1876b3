/* Fixes: each is what it says when it is applied to the plan, and several are proposed only
 * when none suffices alone, each of them needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/read/load.h"
#include "sim/answer/predict.h"
#include "support/plans.h"
#include "support/settings.h"

enum { SETTINGS_MAX = 8 };

/* Predicts the text with the settings of a fix ("a=1 b=2"; "" for none) but the one at `but`;
 * *n: how many there were. STATUS_INPUT when what is left breaks a rule. */
static enum status predict_but(const char *text, const char *settings, size_t but, bool fixes,
                               struct arena *arena, struct prediction *prediction, size_t *n,
                               struct err *err)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct predict_options options = {.fixes = fixes};
    struct override sets[SETTINGS_MAX];
    size_t used = *n = settings_split(settings, arena, sets, SETTINGS_MAX);
    if (but < used) /* all but that one */
        memmove(&sets[but], &sets[but + 1], (--used - but) * sizeof *sets);
    enum status status =
        plan_load_text("fix.yaml", text, strlen(text), sets, used, arena, plan, NULL, err);
    return status ? status : predict(plan, &options, arena, prediction, err);
}

static size_t predict_with(const char *text, const char *settings, bool fixes,
                           struct arena *arena, struct prediction *prediction)
{
    struct err err = {0};
    size_t n;
    if (predict_but(text, settings, SIZE_MAX, fixes, arena, prediction, &n, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    return n;
}

/* What Megatron's launcher wants beside states on the host, whether or not memory does. */
static bool goes_with_offload(const char *settings, size_t at, struct arena *arena)
{
    struct override sets[SETTINGS_MAX];
    size_t n = settings_split(settings, arena, sets, SETTINGS_MAX);
    return at < n && strstr(settings, "optimizer.offload=1") &&
           (!strcmp(sets[at].key, "optimizer.precision_aware") ||
            !strcmp(sets[at].key, "optimizer.offload_params") || /* FSDP2 moves both */
            !strcmp(sets[at].key, "parallel.zero"));
}

/* Without one of its settings the plan is marginal at best where it fits with them, or stays
 * above the limit, or is no plan, or the setting says what follows from the others (an engine's
 * experts over its ranks). */
static void check_needed(const char *text, const struct fix *fix, size_t settings,
                         struct arena *arena)
{
    for (size_t but = 0; settings > 1 && but < settings; but++) {
        struct prediction rest;
        struct err err = {0};
        size_t n;
        if (!goes_with_offload(fix->set, but, arena) &&
            predict_but(text, fix->set, but, false, arena, &rest, &n, &err) == STATUS_OK &&
            rest.memory.total_bytes != fix->total_bytes)
            assert_true(rest.memory.verdict > fix->verdict ||
                        rest.memory.total_bytes > rest.memory.limit_bytes);
    }
}

/* Grouped by kind, but for the devices that go before what changes the result when there is
 * nothing else; within one what fits before what is marginal, and fastest first. */
static void check_order(const struct memory_report *memory)
{
    for (size_t i = 1; i < memory->n_fixes; i++) {
        const struct fix *a = &memory->fixes[i - 1], *b = &memory->fixes[i];
        assert_true(a->kind <= b->kind || (i == 1 && a->kind == FIX_DEVICES));
        assert_true(a->kind != b->kind || a->verdict <= b->verdict);
        assert_true(a->kind != b->kind || a->verdict != b->verdict ||
                    a->seconds_per_token <= b->seconds_per_token);
        assert_int_not_equal(strcmp(a->set, b->set), 0);
    }
    if (memory->n_fixes > 1 && memory->fixes[0].kind == FIX_NUMERICS)
        for (size_t i = 1; i < memory->n_fixes; i++)
            assert_int_equal(memory->fixes[i].kind, FIX_NUMERICS);
}

/* But those of what waits and whether the engine starts. */
static size_t count_notes(const struct prediction *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_notes; i++)
        n += strcmp(p->notes[i].key, "workload.queue") != 0;
    return n;
}

/* The fixes are what they say; the largest number of settings that one has. `known`: one that
 * must be among them ("kind: set"), or NULL. */
static size_t check_known(const char *text, const char *known, size_t *n)
{
    struct arena arena = {0};
    struct prediction plan, fixed;
    size_t most = 0;
    bool found = !known;
    predict_with(text, "", true, &arena, &plan);
    assert_string_equal(verdict_name(plan.memory.verdict), "oom");
    check_order(&plan.memory);
    for (size_t i = 0; i < plan.memory.n_fixes; i++) {
        const struct fix *fix = &plan.memory.fixes[i];
        size_t settings = predict_with(text, fix->set, false, &arena, &fixed);
        const char *line = arena_printf(&arena, "%s: %s", fix_kind_name(fix->kind), fix->set);
        print_message("%s\n", line);
        assert_int_equal(fixed.memory.verdict, fix->verdict);
        assert_int_equal(fixed.memory.total_bytes, fix->total_bytes);
        assert_int_not_equal(fix->verdict, VERDICT_OOM);
        assert_true(fix->note[0] != '\0');
        /* no path that its software has not */
        assert_int_equal(count_notes(&fixed), count_notes(&plan));
        if (fixed.moe.has_routing)
            assert_true(fix->drop_fraction == fixed.moe.routing.drop_fraction);
        assert_true(fix->drop_fraction == 0 || fix->kind >= FIX_NUMERICS);
        check_needed(text, fix, settings, &arena);
        found = found || strcmp(line, known) == 0;
        most = settings > most ? settings : most;
    }
    if (!found)
        fail_msg("not among the fixes: %s", known);
    *n = plan.memory.n_fixes;
    arena_release(&arena);
    return most;
}

static size_t check_fixes(const char *text, size_t *n)
{
    return check_known(text, NULL, n);
}

static void one_change_where_one_suffices(void **state)
{
    (void)state;
    size_t n;
    assert_int_equal(check_fixes("model: qwen3-30b-a3b\n"
                                 "cluster: h200-8x1\n",
                                 &n),
                     2); /* more devices, and experts over them */
    assert_in_range(n, 2, 64);
}

static void several_changes_where_none_suffices(void **state)
{
    (void)state;
    size_t n;
    assert_in_range(check_fixes("model: deepseek-v3\n"
                                "cluster: h200-8x8\n",
                                &n),
                    2, 4);
    assert_in_range(n, 2, 64);
}

static void skewed_routing_is_sampled_before_a_fix_is_named(void **state)
{
    (void)state;
    size_t n;
    check_fixes("model: deepseek-v3\n"
                "cluster: h200-8x8\n"
                "stack: megatron\n"
                "parallel: {ep: 64, zero: 1}\n"
                "precision: {gradients: bf16, master: none, moments: bf16}\n"
                "moe: {path: deepep, routing: {distribution: zipf, samples: 50}}\n",
                &n);
    assert_in_range(n, 1, 64);
}

static void nothing_where_nothing_helps(void **state)
{
    (void)state;
    size_t n;
    check_fixes("model: deepseek-v3\n"
                "cluster: h100\n"
                "workload: {sequence_length: 20000000}\n",
                &n);
    assert_int_equal(n, 0);
}

#define QWEN_EP                                                                                \
    "model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: megatron\n"                               \
    "workload: {sequence_length: 4096}\nparallel: {ep: 8, zero: 1}\n"

/* Plans of practice and the change that a practitioner makes. */
static const struct known {
    const char *text, *fix;
} plans[] = {
    {"model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: megatron\n"
     "parallel: {ep: 8, zero: 0}\n"
     "precision: {master: f32, moments: f32, gradients: f32}\n"
     "workload: {sequence_length: 2048}\n",
     "numerics: recompute.kind=full precision.moments=bf16"},
    {"model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: megatron\n"
     "parallel: {ep: 8, zero: 0}\n"
     "precision: {master: f32, moments: f32, gradients: f32}\n",
     "throughput: recompute.kind=full parallel.zero=2"},
    /* whole gradients wait: 2 bytes of 8.03 billion parameters, less an f32 eighth, 11.2 GiB */
    {"model: llama-3.1-8b\ncluster: {base: a100-40gb, node: {devices: 8}}\nstack: fsdp\n"
     "recompute: full\nworkload: {sequence_length: 8192, global_batch: 64}\n",
     "throughput: precision.accumulated=none"},
    {"model: qwen3-235b-a22b\ncluster: h100-8x8\nstack: megatron\n"
     "parallel: {zero: 0}\nprecision: {master: none, moments: bf16, gradients: bf16}\n",
     "throughput: parallel.ep=2 parallel.pp=16 recompute.kind=full"},
    {"model: kimi-k2\ncluster: h200-8x2\nstack: vllm\n"
     "workload: {mode: decode, micro_batch: 64}\nparallel: {ep: 16}\n"
     "precision: {weights: bf16, kv_cache: bf16}\n",
     "numerics: precision.weights=mxfp4"},
    {"model: olmoe-1b-7b\ncluster: h100-8x1\nworkload: {micro_batch: 4}\n"
     "parallel: {ep: 8}\nmoe: {routing: {distribution: zipf, alpha: 1, samples: 50}}\n",
     "free: moe.routing.placement=eplb"},
    {"model: qwen3-30b-a3b\ncluster: h100-8x1\n"
     "parallel: {zero: 0}\n",
     "layout: parallel.etp=8"},
    {"model: qwen3-30b-a3b\ncluster: h100-8x1\n"
     "parallel: {zero: 0}\n",
     "layout: parallel.ep=8"},
    {"model: mixtral-8x7b\ncluster: h100-8x1\n"
     "parallel: {ep: 8, zero: 1}\nrecompute: none\nworkload: {micro_batch: 2}\n"
     "precision: {master: none, moments: bf16, gradients: bf16}\n",
     "throughput: recompute.kind=full"},
    {"model: deepseek-v2-lite\ncluster: h100-8x1\nstack: megatron\n"
     "parallel: {ep: 8, zero: 1}\nworkload: {micro_batch: 4}\n"
     "precision: {master: none, moments: bf16, gradients: bf16}\n",
     "throughput: recompute.offload=[expert_fc1,moe_act]"},
    {"model: deepseek-v2-lite\ncluster: h100-8x1\nstack: megatron\n"
     "parallel: {ep: 8, zero: 1}\nworkload: {micro_batch: 4}\n"
     "precision: {master: none, moments: bf16, gradients: bf16}\n",
     "throughput: recompute.kind=selective recompute.modules=[core_attn,moe,layernorm]"},
    {"model: deepseek-v3\ncluster: mi355x-8x8\nstack: maxtext\n"
     "workload: {micro_batch: 8}\nparallel: {ep: 8, zero: 3}\n"
     "moe: {path: ragged_a2a}\nrecompute: full\nprecision: {weights: bf16, gradients: bf16, "
     "master: none, moments: bf16}\n",
     "throughput: workload.micro_batch=6"},
    {"model: qwen3-next-80b-a3b\ncluster: h100-8x8\nstack: megatron\n"
     "parallel: {tp: 2, ep: 8, etp: 1, pp: 2}\nworkload: {sequence_length: 12288}\n",
     "throughput: recompute.kind=full parallel.zero=1"},
    {"model: mixtral-8x7b\ncluster: h100\nstack: vllm\nworkload: {mode: decode}\n"
     "precision: {weights: bf16}\n",
     "devices: cluster.node.devices=2 parallel.ep=2"},
    {"model: mixtral-8x7b\ncluster: h100-2x1\nstack: vllm\n"
     "workload: {mode: decode, micro_batch: 32, context_length: 8192}\nparallel: {ep: 2}\n"
     "precision: {weights: bf16, kv_cache: bf16}\n",
     "numerics: precision.kv_cache=fp8"},
    /* eleven nodes, and marginal, before several changes were tried on more of them */
    {"model: llama-3.1-70b\ncluster: h100-8x1\nstack: megatron\n"
     "workload: {sequence_length: 8192}\nparallel: {tp: 8}\n",
     "devices: cluster.nodes=4 parallel.pp=4 recompute.kind=full"},
    /* a dp that is said forbade every other number of devices but with cp over all of them */
    {"model: mixtral-8x7b\ncluster: h100-8x1\nstack: torchtitan\n"
     "workload: {sequence_length: 8192, micro_batch: 2}\nparallel: {dp: 8}\n"
     "recompute: none\n",
     "devices: cluster.nodes=2 recompute.kind=full parallel.dp=16"},
    {"model: mixtral-8x7b\ncluster: h100-8x1\nstack: fsdp\n"
     "workload: {sequence_length: 2048, micro_batch: 2}\n",
     "throughput: optimizer.offload=1 optimizer.offload_params=true"},
    {"model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: deepspeed\n"
     "workload: {sequence_length: 4096, micro_batch: 3}\nparallel: {zero: 3}\n",
     "throughput: recompute.kind=full optimizer.offload=1"},
    {"model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: deepspeed\n"
     "workload: {sequence_length: 4096, micro_batch: 3}\nparallel: {zero: 3}\n",
     "throughput: recompute.kind=full workload.micro_batch=1"},
    /* Megatron's own offloading was never among them; it ends no search for what is faster */
    {QWEN_EP, "throughput: optimizer.offload=1 optimizer.precision_aware=native"},
    {QWEN_EP, "throughput: recompute.kind=full parallel.zero=2"},
    {"model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: megatron\n"
     "workload: {sequence_length: 4096}\nparallel: {ep: 8}\n",
     "throughput: optimizer.offload=1 optimizer.precision_aware=native parallel.zero=1"},
    {QWEN_EP "optimizer: {precision_aware: native}\n", "throughput: optimizer.offload=1"},
    {"model: deepseek-v3\ncluster: mi300x-8x16\nstack: primus\n"
     "workload: {sequence_length: 4096, micro_batch: 2, global_batch: 256}\n"
     "parallel: {pp: 8, ep: 8, zero: 1}\nrecompute: {kind: full, layers: 3}\n"
     "moe: {path: ragged_a2a, routing: {samples: 50}}\n",
     "throughput: recompute.layers=0"},
    /* an engine's part and the trainer's states are more than a device has */
    {"model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: fsdp\n"
     "workload: {sequence_length: 2048, colocated: {engine: asleep, tp: 2, fraction: 0.85}}\n",
     "throughput: workload.colocated.away=[weights,states]"},
    /* what vLLM itself says where no request of max_model_len fits */
    {"model: gpt-oss-120b\ncluster: h100\nstack: vllm\n"
     "workload: {mode: decode, context_length: 131072, micro_batch: 1024, queue: true}\n",
     "numerics: workload.context_length=93984"},
    /* the frozen base of adapters, as TRL loads it */
    {"model: qwen3-30b-a3b\ncluster: h100\nstack: fsdp\n"
     "lora: {rank: 16}\nprecision: {weights: f32}\nrecompute: full\n",
     "numerics: precision.weights=bf16"},
    /* collectives' buffers, which one device alone has none of, come with the others */
    {"model: qwen3-30b-a3b\ncluster: h100\nstack: megatron\n",
     "devices: cluster.node.devices=8 cluster.nodes=2 parallel.pp=16"},
};

static void the_fix_of_practice_is_among_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        size_t n;
        print_message("---- %s", plans[i].text);
        check_known(plans[i].text, plans[i].fix, &n);
    }
}

/* What is missing on a host too small for the states is missing; and no software moves what its
 * own rules refuse: DeepSpeed without shards, Megatron what another optimizer than Adam keeps,
 * or Megatron-FSDP. */
static void states_stay_where_they_cannot_go(void **state)
{
    (void)state;
    static const struct {
        const char *text, *set;
        const char *with; /* what else a fix that moves them has to set */
    } rows[] = {
        {QWEN_EP, "cluster.node.host_memory=100GiB", NULL},
        {"model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: deepspeed\n"
         "workload: {sequence_length: 4096, micro_batch: 3}\n",
         "parallel.zero=3 cluster.node.host_memory=100GiB", NULL},
        {"model: llama-3.1-70b\ncluster: h100-8x2\nstack: megatron\nparallel: {tp: 8}\n",
         "parallel.zero=1 cluster.node.host_memory=100GiB", NULL},
        {"model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: deepspeed\n", "parallel.zero=0",
         "parallel.zero="},
        {QWEN_EP, "parallel.zero=3 parallel.ep=1 workload.sequence_length=8192", NULL},
        {QWEN_EP, "optimizer.kind=lion workload.sequence_length=8192", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction plan;
        predict_with(rows[i].text, rows[i].set, true, &arena, &plan);
        assert_int_not_equal(plan.memory.n_fixes, 0);
        for (const struct fix *fix = plan.memory.fixes;
             fix < plan.memory.fixes + plan.memory.n_fixes; fix++)
            if (strstr(fix->set, "optimizer.offload=") &&
                !(rows[i].with && strstr(fix->set, rows[i].with)))
                fail_msg("%s%s: %s", rows[i].text, rows[i].set, fix->set);
        arena_release(&arena);
    }
}

/* No engine drops rows: moe.path=capacity was among the fixes, and experts both spread and
 * split, which vLLM's flags cannot say. */
static void an_engine_keeps_to_what_it_has(void **state)
{
    (void)state;
    size_t n;
    check_known("model: glm-5.2\ncluster: h100-8x2\nstack: vllm\n"
                "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1, "
                "scenario: profile_run, context_length: 202752}\n"
                "parallel: {tp: 1, ep: 16}\nmoe: {path: allgather}\n"
                "precision: {weights: fp8_block}\nmemory: {fraction: 0.95}\n",
                "layout: parallel.tp=16 parallel.ep=16", &n);
}

/* Where an engine's plan names no degree of its experts, one follows from the ranks: a fix that
 * lays the ranks otherwise names what it was evaluated with. */
static void degrees_that_would_follow_are_named(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "model: jamba-v0.1\ncluster: a100-8x2\nstack: sglang\nparallel: {tp: 2}\n"
        "workload: {mode: prefill, micro_batch: 64, context_length: 4096}\n",
        "model: mixtral-8x22b\ncluster: h200-8x1\nstack: sglang\nparallel: {tp: 2}\n"
        "workload: {mode: decode, micro_batch: 1024, context_length: 4096}\n",
        "model: mixtral-8x7b\ncluster: h100-8x1\nstack: trtllm\nparallel: {tp: 1}\n"
        "workload: {mode: prefill, micro_batch: 16, context_length: 4096}\n",
        "model: grok-1\ncluster: h100-8x4\nstack: trtllm\nparallel: {tp: 1}\n"
        "workload: {mode: prefill, micro_batch: 16}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena = {0};
        struct prediction plan, fixed;
        predict_with(texts[i], "", true, &arena, &plan);
        assert_in_range(plan.memory.n_fixes, 2, 64);
        for (size_t j = 0; j < plan.memory.n_fixes; j++) {
            const struct fix *fix = &plan.memory.fixes[j];
            predict_with(texts[i], fix->set, false, &arena, &fixed);
            assert_int_equal(fixed.memory.verdict, fix->verdict);
            assert_int_equal(fixed.memory.total_bytes, fix->total_bytes);
        }
        arena_release(&arena);
    }
}

/* The bytes and the rate of a fix are those of all the sequences it lets in, and not of the one
 * that the plan as given has room for: what predict says where the fix is applied. (The note
 * that the engine does not start goes with it: hence not check_known.) */
static void what_waits_is_let_in(void **state)
{
    (void)state;
    const char *text = "model: deepseek-v3\ncluster: h100-8x1\nstack: vllm\n"
                       "workload: {mode: decode, micro_batch: 128, queue: true, "
                       "context_length: 32768}\nparallel: {tp: 8, ep: 8}\n";
    struct arena arena = {0};
    struct prediction plan, fixed;
    predict_with(text, "", true, &arena, &plan);
    assert_int_equal(plan.memory.verdict, VERDICT_OOM);
    assert_in_range(plan.memory.n_fixes, 2, 64); /* devices, and weights of fewer bits */
    check_order(&plan.memory);
    for (size_t i = 0; i < plan.memory.n_fixes; i++) {
        const struct fix *fix = &plan.memory.fixes[i];
        predict_with(text, fix->set, false, &arena, &fixed);
        assert_int_equal(fixed.memory.verdict, fix->verdict);
        assert_int_equal(fixed.memory.total_bytes, fix->total_bytes);
        assert_true(fixed.serving.sequences > 1);
    }
    arena_release(&arena);
}

/* Whether the plan says that its engine's own pool holds all of the step. */
static bool says_pool_holds(const struct prediction *p)
{
    bool said = false;
    for (size_t i = 0; i < p->n_notes; i++)
        said |= strstr(p->notes[i].text, "as a server the engine's own pool holds all") != NULL;
    return said;
}

/* gpt-oss-120b on one H100: nine sequences of 8,192 tokens are above what a plan's reserves
 * leave and within the pool that vLLM measures itself, which costs nothing; 32 are above both,
 * and some wait. */
static void an_engine_may_let_sequences_wait(void **state)
{
    (void)state;
    const char *text = "model: gpt-oss-120b\ncluster: h100\nstack: vllm\n"
                       "workload: {mode: decode, context_length: 8192, micro_batch: 32}\n";
    static const char *const sets[] = {"workload.micro_batch=9", "workload.micro_batch=32"};
    struct arena arena = {0};
    struct prediction plan, fixed;
    for (size_t i = 0; i < 2; i++) {
        size_t queues = 0;
        predict_with(text, sets[i], true, &arena, &plan);
        assert_int_equal(plan.memory.verdict, VERDICT_OOM);
        for (size_t f = 0; f < plan.memory.n_fixes; f++) {
            bool queue = strcmp(plan.memory.fixes[f].set, "workload.queue=true") == 0;
            queues += queue;
            if (queue)
                assert_int_equal(plan.memory.fixes[f].kind, i ? FIX_THROUGHPUT : FIX_FREE);
        }
        assert_int_equal(queues, 1);
        assert_int_equal(says_pool_holds(&plan), i == 0);
        predict_with(text, arena_printf(&arena, "%s workload.queue=true", sets[i]), false,
                     &arena, &fixed);
        assert_int_equal(fixed.memory.verdict, VERDICT_FITS);
        assert_int_equal(fixed.batch, i ? fixed.serving.running : 9);
    }
    arena_release(&arena);
}

/* SGLang's own fraction keeps 4.5 MiB for every sequence of a graph on each attention replica:
 * of 512 x 64 it leaves nothing, and what to give is said and proposed, without a pool that
 * leaves a full step too little. */
static void a_fraction_of_nothing_is_given_another(void **state)
{
    (void)state;
    static const char *const keys[] = {"memory.fraction=0.7", "stack.graph_batch=256"};
    const char *text =
        "model: deepseek-v3\ncluster: {base: h200, nodes: 8, node: {devices: 8}}\n"
        "stack: sglang\nparallel: {tp: 1, ep: 64, dense_apart: true}\n"
        "moe: {path: deepep_ll}\n"
        "workload: {mode: serve}\nprecision: {weights: fp8_block}\n";
    struct arena arena = {0};
    struct prediction plan, fixed;
    predict_with(text, "", true, &arena, &plan);
    assert_int_equal(plan.memory.verdict, VERDICT_OOM);
    assert_non_null(strstr(plan.notes[0].text, "keeps 170.0 for steps and decode graphs of 512 "
                                               "sequences on 64 attention replicas"));
    assert_non_null(strstr(plan.notes[0].text, "--mem-fraction-static"));
    assert_int_equal(plan.memory.n_fixes, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(plan.memory.fixes[i].set, keys[i]);
        predict_with(text, keys[i], false, &arena, &fixed);
        assert_int_equal(fixed.memory.verdict, VERDICT_FITS);
        assert_in_range(fixed.serving.sequences, 100, 1000);
    }
    arena_release(&arena);
}

/* SGLang takes 0.99 of what is free and starts; a full prefill of 131,072 tokens runs out in
 * either mode, whoever asks, unless requests have few tokens. A smaller pool and smaller steps
 * are what helps. */
static void a_pool_that_leaves_no_prefill_is_smaller(void **state)
{
    (void)state;
    const char *text = "model: glm-4.6\ncluster: h200-8x1\nstack: sglang\nmoe: {shared: sp}\n"
                       "parallel: {tp: 8, ep: 8}\nprecision: {weights: fp8_block}\n"
                       "memory: {fraction: 0.99}\n"
                       "workload: {mode: serve, concurrency: 64, input_length: 8192,\n"
                       "  output_length: 1024, max_num_batched_tokens: 131072}\n";
    static const struct {
        const char *set;
        bool fits;
    } cases[] = {
        {"workload.mode=serve", false},
        {"workload.concurrency=1", true},
        {"workload.max_num_batched_tokens=8192", true},
        {"memory.fraction=0.88", true},
        {"workload.mode=decode workload.context_length=9216 workload.queue=true", false},
    };
    struct arena arena = {0};
    struct prediction plan;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        predict_with(text, cases[i].set, true, &arena, &plan);
        assert_true((plan.memory.verdict == VERDICT_FITS) == cases[i].fits);
        const char *said = plan.n_notes ? plan.notes[0].text : "";
        bool named = strstr(said, "takes 14.29 GiB more than its pool leaves") != NULL;
        assert_true(named == !cases[i].fits);
        struct plan *loaded = arena_alloc(&arena, 1, sizeof *loaded);
        struct evaluator evaluator = {0};
        struct evaluation evaluation;
        plan_set(text, cases[i].set, &arena, loaded);
        evaluate(&evaluator, loaded, 0, &evaluation);
        assert_int_equal(evaluation.verdict, plan.memory.verdict);
        evaluator_release(&evaluator);
        if (cases[i].fits)
            continue;
        assert_string_equal(plan.memory.fixes[0].set, "memory.fraction=0.88");
        assert_string_equal(plan.memory.fixes[1].set, "workload.max_num_batched_tokens=8192");
    }
    arena_release(&arena);
}

/* Above 64 nodes counts only double: that search had no end. */
static void many_nodes_end(void **state)
{
    (void)state;
    size_t n;
    check_fixes("model: llama-3.1-405b\ncluster: h100-8x128\nstack: megatron\n"
                "workload: {sequence_length: 8192}\nparallel: {tp: 8, sp: true, pp: 8, vpp: 8, "
                "cp: 2, zero: 1}\n",
                &n);
    assert_in_range(n, 2, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_is_let_in),
        cmocka_unit_test(an_engine_may_let_sequences_wait),
        cmocka_unit_test(a_fraction_of_nothing_is_given_another),
        cmocka_unit_test(one_change_where_one_suffices),
        cmocka_unit_test(several_changes_where_none_suffices),
        cmocka_unit_test(skewed_routing_is_sampled_before_a_fix_is_named),
        cmocka_unit_test(the_fix_of_practice_is_among_them),
        cmocka_unit_test(nothing_where_nothing_helps),
        cmocka_unit_test(states_stay_where_they_cannot_go),
        cmocka_unit_test(an_engine_keeps_to_what_it_has),
        cmocka_unit_test(degrees_that_would_follow_are_named),
        cmocka_unit_test(a_pool_that_leaves_no_prefill_is_smaller),
        cmocka_unit_test(many_nodes_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
