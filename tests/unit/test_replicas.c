/* Experts split over several replicas of attention (ep 1, etp = tp x dp), worked out by hand:
 * what a rank holds, multiplies and sends, for DeepSeek-V3 under SGLang's dp attention and
 * gpt-oss-120b under vLLM's data parallelism. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/derive.h"
#include "sim/answer/predict.h"
#include "sim/step/ops.h"
#include "support/plans.h"
#include "work/stack/stack.h"

#define SGLANG                                                                                 \
    "model: deepseek-v3\ncluster: h200-8x1\nstack: sglang\nparallel: {ep: 1}\n"                \
    "workload: {mode: decode, micro_batch: 64, context_length: 4096}\n"
#define VLLM                                                                                   \
    "model: gpt-oss-120b\ncluster: h200-4x1\nstack: vllm\nparallel: {ep: 1}\n"                 \
    "workload: {mode: decode, micro_batch: 64, context_length: 4096}\n"

/* ---- what a rank holds ---- */

static uint64_t held(const char *text, const char *set, const char *name)
{
    struct arena arena = {0};
    struct plan plan;
    struct work work;
    struct slots slots;
    struct err err = {0};
    plan_set(text, set, &arena, &plan);
    if (work_build(&plan, &arena, &work, &err) != STATUS_OK)
        fail_msg("%s: %s", set, err.text);
    slots_from_plan(&plan, &slots);
    uint64_t *values = arena_alloc(&arena, work.sizes.n, sizeof *values);
    assert_true(sizes_eval(&work.sizes, &slots, values));
    const struct buffer *buffer = plan_buffer(&work, name);
    uint64_t bytes = values[buffer->bytes.node] * values[buffer->count.node];
    arena_release(&arena);
    return bytes;
}

/* fp8 with an f32 scale per 128 x 128 block */
static uint64_t matrix(uint64_t rows, uint64_t columns)
{
    return rows * columns + (rows + 127) / 128 * ((columns + 127) / 128) * 4;
}

static uint64_t network(uint64_t hidden, uint64_t width)
{
    return 2 * matrix(hidden, width) + matrix(width, hidden);
}

/* tp 8 dp 8 on 8 H200: experts, dense and shared networks and the head as under tp 8, attention
 * and embedding whole on every rank. */
static void sglang_splits_networks_and_not_attention(void **state)
{
    (void)state;
    const uint64_t hidden = 7168;
    const struct {
        const char *name;
        uint64_t bytes;
        bool as_tensor; /* the same bytes as under tp 8 */
    } cases[] = {
        {"expert_weights", 58 * 256 * network(hidden, 2048 / 8), true},
        {"dense_mlp_weights", 3 * network(hidden, 18432 / 8), true},
        {"shared_expert_weights", 58 * network(hidden, 2048 / 8), true},
        {"head_weights", 129280 / 8 * hidden * 2, true},
        {"router_weights", 58 * hidden * 256 * 2, true},
        {"embedding_weights", 129280 * hidden * 2, false},
        {"attention_weights",
         61 * (matrix(hidden, 1536) + matrix(1536, 128 * 192) + matrix(hidden, 576) +
               matrix(512, 128 * 256) + matrix(128 * 128, hidden)),
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t joined = held(SGLANG, "parallel.tp=1", cases[i].name);
        uint64_t tensor = held(SGLANG, "parallel.tp=8", cases[i].name);
        if (joined != cases[i].bytes || (joined == tensor) != cases[i].as_tensor)
            fail_msg("%s: %ju B, by hand %ju, under tp 8 %ju", cases[i].name, (uintmax_t)joined,
                     (uintmax_t)cases[i].bytes, (uintmax_t)tensor);
    }
    /* rows of 8 x 64 tokens, and logits of all of them */
    assert_int_equal(held(SGLANG, "parallel.tp=1", "joined_hidden"), 512 * hidden * 2);
    assert_int_equal(held(SGLANG, "parallel.tp=1", "router_scores"), 512 * 256 * 4);
    assert_int_equal(held(SGLANG, "parallel.tp=1", "expert_out"), 512 * 8 * hidden * 2);
    assert_int_equal(held(SGLANG, "parallel.tp=1", "logits_joined"),
                     UINT64_C(512) * 129280 * 2);
    assert_int_equal(held(SGLANG, "parallel.tp=1", "moe_output"), 64 * hidden * 2);
}

/* vLLM joins the tokens of the routed experts alone: -tp 1 -dp 4 and -tp 2 -dp 2 hold the same
 * of those, a tp rank its part of the rest. */
static void vllm_splits_experts_alone(void **state)
{
    (void)state;
    uint64_t experts = held(VLLM, "parallel.tp=4", "expert_weights");
    assert_int_equal(held(VLLM, "parallel.tp=1", "expert_weights"), experts);
    assert_int_equal(held(VLLM, "parallel.tp=2", "expert_weights"), experts);
    assert_int_equal(held(VLLM, "parallel.tp=1", "head_weights"), 201088 * 2880 * 2);
    assert_int_equal(held(VLLM, "parallel.tp=2", "head_weights"), 201088 / 2 * 2880 * 2);
    /* the choice is made of 64 tokens, and gathered with them */
    assert_int_equal(held(VLLM, "parallel.tp=2", "router_scores"), 64 * 128 * 4);
    assert_int_equal(held(VLLM, "parallel.tp=2", "joined_hidden"), 2 * 64 * 2880 * 2);
    assert_int_equal(held(VLLM, "parallel.tp=1", "joined_hidden"), 4 * 64 * 2880 * 2);
    assert_int_equal(held(VLLM, "parallel.tp=1", "joined_gates"), 4 * 64 * 4 * 4);
    assert_int_equal(held(VLLM, "parallel.tp=1", "joined_indices"), 4 * 64 * 4 * 4);
    /* deepseek-v3: dense and shared networks over tp alone, whole here (tp 1) */
    assert_int_equal(held(SGLANG, "stack=vllm parallel.tp=1", "dense_mlp_weights"),
                     3 * network(7168, 18432));
    assert_int_equal(held(SGLANG, "stack=vllm parallel.tp=1", "shared_expert_weights"),
                     58 * network(7168, 2048));
    assert_int_equal(held(SGLANG, "stack=trtllm parallel.tp=1", "expert_weights"),
                     58 * 256 * network(7168, 2048 / 8));
    assert_int_equal(held(SGLANG, "stack=trtllm parallel.tp=1", "dense_mlp_weights"),
                     3 * network(7168, 18432));
}

/* Shared experts whole (58 x 44,050,944 B of DeepSeek-V3) or in parts: SGLang behind DeepEP and
 * on AMD, where they are experts more of each rank, vLLM where tp ranks share tokens out; over
 * all ranks where the tokens are gathered, or are on every one. */
static void shared_experts_are_whole_where_tokens_are_apart(void **state)
{
    (void)state;
    const uint64_t whole = 58 * network(7168, 2048), eighth = 58 * network(7168, 256);
    const struct {
        const char *set;
        uint64_t bytes;
    } cases[] = {
        {"parallel.tp=8 parallel.ep=8", eighth},
        {"parallel.tp=8 parallel.ep=8 parallel.sp=true moe.path=deepep_ll", whole},
        {"parallel.tp=8 parallel.ep=8 parallel.sp=true moe.path=deepep_ll moe.shared=tp",
         eighth},
        {"parallel.tp=1 parallel.ep=8 moe.path=deepep", whole},
        {"parallel.tp=1 parallel.ep=8 moe.path=allgather", eighth},
        {"parallel.tp=1 parallel.ep=8 moe.path=allgather moe.shared=sp", whole},
        {"parallel.tp=4 parallel.ep=8 parallel.sp=true moe.path=allgather", eighth},
        {"cluster=mi355x-8x1 parallel.tp=8 parallel.ep=8", whole},
        {"cluster=mi355x-8x1 parallel.tp=8 parallel.ep=8 moe.shared=tp", eighth},
        {"cluster=mi355x-8x1 parallel.tp=8", eighth},
        {"stack=vllm parallel.tp=8 parallel.ep=8", eighth},
        {"stack=vllm parallel.tp=4 parallel.ep=8 parallel.sp=true", whole},
        {"stack=trtllm parallel.tp=1 parallel.ep=8", whole},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = held(SGLANG, cases[i].set, "shared_expert_weights");
        if (bytes != cases[i].bytes)
            fail_msg("%s: %ju B, by hand %ju", cases[i].set, (uintmax_t)bytes,
                     (uintmax_t)cases[i].bytes);
    }
    assert_int_equal(network(7168, 2048), 44050944);
}

/* ---- what a rank does ---- */

struct step_ops {
    struct arena arena;
    struct plan plan;
    struct ops_report report;
};

static void list(const char *text, const char *set, struct step_ops *s)
{
    struct err err = {0};
    struct work work;
    struct slots slots;
    const struct ops_ask ask = {.sample = 0};
    memset(s, 0, sizeof *s);
    plan_set(text, set, &s->arena, &s->plan);
    if (work_build(&s->plan, &s->arena, &work, &err) != STATUS_OK)
        fail_msg("%s: %s", set, err.text);
    slots_from_plan(&s->plan, &slots);
    if (ops_of(&s->plan, &ask, &work, &slots, &s->arena, &s->report, &err) != STATUS_OK)
        fail_msg("%s: %s", set, err.text);
}

static const struct op_report *find(const struct step_ops *s, const char *name,
                                    enum segment segment)
{
    for (size_t i = 0; i < s->report.n; i++)
        if (text_equal(s->report.ops[i].name, name) && s->report.ops[i].segment == segment)
            return &s->report.ops[i];
    return NULL;
}

static const struct op_report *moe(const struct step_ops *s, const char *name)
{
    const struct op_report *op = find(s, name, SEGMENT_MOE);
    if (!op)
        fail_msg("no op '%s'", name);
    return op;
}

/* 512 tokens x top-8 rows over all experts of width 256, whatever routing chooses; the FLOPs of
 * all ranks together are those of the tokens. */
static void every_rank_multiplies_all_rows(void **state)
{
    (void)state;
    static const char *const sets[] = {"parallel.tp=1",
                                       "parallel.tp=2",
                                       "parallel.tp=4",
                                       "stack=vllm parallel.tp=2",
                                       "stack=trtllm parallel.tp=1",
                                       "parallel.tp=1 moe.routing.distribution=zipf"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct step_ops s;
        list(SGLANG, sets[i], &s);
        uint64_t ranks = plan_world(&s.plan), dp = plan_dp(&s.plan), all = dp * 64;
        const struct op_report *up = moe(&s, "gate_up"), *down = moe(&s, "down");
        assert_int_equal(up->rows, all * 8);
        assert_int_equal(up->n, 2 * 2048 / ranks);
        assert_int_equal(ranks * (up->flop + down->flop), 2 * 3 * 7168 * 2048 * all * 8);
        bool networks = s.plan.stack.kind == STACK_SGLANG;
        const struct op_report *router = moe(&s, "router"), *shared = moe(&s, "shared_down");
        assert_int_equal(router->rows, networks ? all : 64);
        assert_int_equal(shared->rows, networks ? all : 64);
        assert_int_equal(ranks * shared->flop, 2 * 7168 * UINT64_C(2048) * all);
        const struct op_report *mlp = find(&s, "mlp_down", SEGMENT_DENSE);
        assert_int_equal(ranks * mlp->flop, 2 * 7168 * UINT64_C(18432) * all);
        arena_release(&s.arena);
    }
}

/* SGLang's dp attention beside whole experts: shared experts take the rows that were gathered
 * for the routed ones, and their sums go back with theirs. */
static void gathered_tokens_are_gathered_once(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "parallel.tp=1 parallel.ep=8 moe.path=allgather",
        "parallel.tp=4 parallel.ep=8 parallel.sp=true moe.path=allgather",
        "model=qwen3.5-397b-a17b parallel.tp=1 parallel.ep=8 moe.path=allgather"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct step_ops s;
        unsigned collectives = 0;
        list(SGLANG, sets[i], &s);
        const struct model_moe *m = &s.plan.model.moe;
        const uint64_t hidden = s.plan.model.hidden;
        const struct op_report *shared = moe(&s, "shared_down");
        /* 64 sequences of a replica: of 2 replicas, or of 8 */
        assert_int_equal(shared->rows, 64 * plan_dp(&s.plan));
        assert_int_equal(moe(&s, "router")->rows, 64 / s.plan.parallel.tp);
        assert_int_equal(moe(&s, "attention_norm")->rows, 64 / s.plan.parallel.tp);
        assert_int_equal(8 * shared->flop, 2 * hidden * m->shared_intermediate * shared->rows);
        for (size_t k = 0; k < s.report.n; k++)
            collectives += s.report.ops[k].segment == SEGMENT_MOE &&
                           strstr(s.report.ops[k].name, "shared") && s.report.ops[k].bytes_sent;
        assert_int_equal(collectives, 0);
        arena_release(&s.arena);
    }
}

/* Gathered over dp replicas and scattered again, (dp - 1) T H each way; with tp > 1 the sums
 * are those of one collective over all ranks (layer_replicas.c). */
static void what_is_sent_has_a_closed_form(void **state)
{
    (void)state;
    const uint64_t row = 7168 * 2, own = 64 * row;
    for (uint64_t tp = 1; tp <= 4; tp *= 2) {
        char set[64];
        struct step_ops s;
        uint64_t dp = 8 / tp;
        snprintf(set, sizeof set, "parallel.tp=%ju", (uintmax_t)tp);
        list(SGLANG, set, &s);
        assert_int_equal(moe(&s, "join_moe_x")->bytes_sent, (dp - 1) * own);
        assert_int_equal(moe(&s, "part_moe")->bytes_sent, (dp - 1) * own);
        uint64_t whole = 8 * own / tp; /* of all replicas, reduced and scattered over 8 ranks,
                                        * then gathered over the tp ranks of one */
        uint64_t sent = moe(&s, "part_moe")->bytes_sent;
        if (tp > 1)
            sent += moe(&s, "reduce_moe_sum")->bytes_sent;
        assert_int_equal(sent, whole - whole / 8 + (tp - 1) * (own / tp));
        arena_release(&s.arena);
    }
}

/* Rows of experts on a latent width travel on it where the experts alone are joined (vLLM),
 * and as tokens where all networks are (SGLang); the products are the same. */
static void latent_rows_are_joined(void **state)
{
    (void)state;
    static const char *const stacks[] = {"model=nemotron-3-super stack=vllm parallel.tp=1",
                                         "model=nemotron-3-super parallel.tp=1"};
    for (size_t i = 0; i < 2; i++) {
        struct step_ops s;
        list(SGLANG, stacks[i], &s);
        const struct model *m = &s.plan.model;
        const struct op_report *up = NULL, *join = NULL;
        for (size_t k = 0; k < s.report.n; k++) {
            const struct op_report *op = &s.report.ops[k];
            up = text_equal(op->name, "gate_up") ? op : up;
            join = text_equal(op->name, "join_moe_x") ? op : join;
        }
        assert_true(up && join && m->moe.latent_size && m->moe.latent_size < m->hidden);
        assert_int_equal(up->rows, 512 * m->moe.top_k);
        assert_int_equal(up->k, m->moe.latent_size);
        assert_int_equal(join->bytes_sent, 7 * 64 * 2 * (i ? m->hidden : m->moe.latent_size));
        arena_release(&s.arena);
    }
}

/* Where prompts are uneven SGLang fills the buffer of all tokens by an all-reduce. */
static void sglang_reduces_what_prompts_bring(void **state)
{
    (void)state;
    static const char prefill[] = "parallel.tp=1 workload.mode=prefill workload.micro_batch=1 "
                                  "workload.sequence_length=1024";
    struct step_ops s;
    list(SGLANG, prefill, &s);
    uint64_t whole = 8 * 1024 * UINT64_C(7168) * 2;
    assert_int_equal(moe(&s, "join_moe_x")->bytes_sent, 2 * (whole - whole / 8));
    assert_int_equal(moe(&s, "part_moe")->bytes_sent, 2 * (whole - whole / 8));
    arena_release(&s.arena);
}

/* ---- what is predicted ---- */

static void tell(const char *text, const char *set, struct arena *arena, struct plan *plan,
                 struct prediction *prediction)
{
    struct predict_options options = {0};
    struct err err = {0};
    plan_set(text, set, arena, plan);
    if (predict(plan, &options, arena, prediction, &err) != STATUS_OK)
        fail_msg("%s: %s", set, err.text);
}

/* Each rank has a slice of every expert: no routing makes one fuller than another. */
static void routing_moves_no_bytes(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct prediction even, uneven;
    tell(SGLANG, "parallel.tp=1", &arena, &plan, &even);
    tell(SGLANG, "parallel.tp=1 moe.routing.distribution=zipf moe.routing.alpha=1.2", &arena,
         &plan, &uneven);
    assert_int_equal(even.memory.total_bytes, uneven.memory.total_bytes);
    assert_int_equal(even.memory.total_bytes, even.memory.worst_bytes);
    assert_true(even.moe.routing.rows == uneven.moe.routing.rows);
    assert_true(uneven.moe.routing.rank_imbalance == 1);
    arena_release(&arena);
}

/* vLLM profiles max_num_batched_tokens on every replica: 8 x 8192 tokens reach the experts, a
 * Triton workspace of 65536 x 8 rows of max(I, H) and max(2 I, H), 14 GiB (engines.md 1.5). */
static void the_profile_run_joins_all_replicas(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct prediction joined, tensor;
    tell(SGLANG, "stack=vllm parallel.tp=8", &arena, &plan, &tensor);
    tell(SGLANG, "stack=vllm parallel.tp=1", &arena, &plan, &joined);
    static const char profile[] =
        "stack=vllm parallel.tp=1 workload.mode=prefill workload.micro_batch=1 "
        "workload.sequence_length=8192 workload.scenario=profile_run";
    uint64_t rows = UINT64_C(65536) * 8 * 7168 * 2;
    assert_int_equal(held(SGLANG, profile, "workspace13"), rows);
    assert_int_equal(held(SGLANG, profile, "workspace2"), rows);
    assert_true(joined.serving.present && tensor.serving.present);
    assert_true(joined.serving.activation_bytes >
                tensor.serving.activation_bytes + 7 * (2 * rows / 8));
    arena_release(&arena);
}

/* SGLang's dp without dp attention: engines of their own, each as if it stood alone. */
static void engines_beside_each_other_are_alone(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct prediction two, one;
    static const char text[] = "model: qwen3-30b-a3b\ncluster: h100-4x1\nstack: sglang\n"
                               "parallel: {tp: 2, ep: 1, etp: 2}\nworkload: {mode: decode, "
                               "micro_batch: 16, context_length: 8192}\n";
    tell(text, "", &arena, &plan, &two);
    assert_int_equal(plan_dp(&plan), 2);
    assert_int_equal(plan_engine_replicas(&plan), 1);
    tell(text, "cluster.node.devices=2", &arena, &plan, &one);
    assert_int_equal(two.memory.total_bytes, one.memory.total_bytes);
    assert_int_equal(two.serving.cache_bytes, one.serving.cache_bytes);
    assert_int_equal(two.serving.cache_tokens, one.serving.cache_tokens);
    arena_release(&arena);
}

/* tp 8 with experts over 4 x 2 ranks: a quarter of them, half of each. Every rank has all
 * tokens, and what is summed is one all-reduce over the eight: over 4 and then over 2. */
static void experts_lie_both_ways(void **state)
{
    (void)state;
    static const char set[] = "stack=trtllm parallel.tp=8 parallel.ep=4 parallel.etp=2 "
                              "moe.buffer=balanced";
    struct step_ops s;
    assert_int_equal(held(SGLANG, set, "expert_weights"), 58 * 64 * network(7168, 1024));
    assert_int_equal(held(SGLANG, set, "residual"), 64 * 7168 * 2);
    assert_int_equal(held(SGLANG, set, "fused_out"), 64 * 7168 * 2);
    list(SGLANG, set, &s);
    const struct op_report *up = moe(&s, "gate_up"), *down = moe(&s, "down");
    assert_int_equal(up->n, 2 * 1024);
    assert_int_equal(8 * (up->flop + down->flop), UINT64_C(2) * 3 * 7168 * 2048 * 64 * 8);
    assert_int_equal(moe(&s, "shared_down")->rows, 64);
    uint64_t whole = 64 * 7168 * 2;
    assert_int_equal(2 * moe(&s, "scatter_routed_out")->bytes_sent +
                         moe(&s, "reduce_etp_sum")->bytes_sent,
                     2 * (whole - whole / 8));
    arena_release(&s.arena);
}

/* With whole experts on every rank too (--ep 8), and under DeepEP: dense networks over all
 * ranks unless --moe-dense-tp-size 1, the head unless --enable-dp-lm-head. 3 dense layers of
 * width 18432 / 8, a head of 129280 / 8 columns in 16 bits. */
static void dense_networks_are_shared_out_beside_whole_experts(void **state)
{
    (void)state;
    static const char *const whole[] = {"parallel.ep=8 parallel.etp=1",
                                        "parallel.ep=8 parallel.etp=1 moe.path=deepep_ll"};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        const char *dense = arena_printf(&arena, "%s parallel.dense_apart=true", whole[i]);
        const char *head = arena_printf(&arena, "%s parallel.head_apart=true", whole[i]);
        assert_int_equal(held(SGLANG, whole[i], "dense_mlp_weights"), 3 * network(7168, 2304));
        assert_int_equal(held(SGLANG, whole[i], "head_weights"), 16160 * 7168 * 2);
        assert_int_equal(held(SGLANG, dense, "dense_mlp_weights"), 3 * network(7168, 18432));
        assert_int_equal(held(SGLANG, dense, "head_weights"), 16160 * 7168 * 2);
        assert_int_equal(held(SGLANG, head, "dense_mlp_weights"), 3 * network(7168, 2304));
        assert_int_equal(held(SGLANG, head, "head_weights"), UINT64_C(129280) * 7168 * 2);
        arena_release(&arena);
    }
}

#define DENSE                                                                                  \
    "model: qwen3-32b\ncluster: h200-8x1\nstack: sglang\nparallel: {tp: 1}\n"                  \
    "workload: {mode: decode, micro_batch: 64, context_length: 4096}\n"

/* dp 8 of a dense model: eight engines, or, where etp joins them, attention of each and one
 * network of all: 64 layers of 3 x 5120 x 25600 / 8, a head of 151936 / 8 columns. */
static void dense_replicas_join_when_asked(void **state)
{
    (void)state;
    static const char joined[] = "parallel.etp=8", apart[] = "";
    const uint64_t network = UINT64_C(64) * 3 * 5120 * 25600 * 2, head = 151936 * 5120 * 2;
    const uint64_t attention = UINT64_C(64) * 2 * 5120 * (64 + 8) * 128 * 2;
    assert_int_equal(held(DENSE, apart, "dense_mlp_weights"), network);
    assert_int_equal(held(DENSE, joined, "dense_mlp_weights"), network / 8);
    assert_int_equal(held(DENSE, joined, "head_weights"), head / 8);
    assert_int_equal(held(DENSE, joined, "attention_weights"), attention);
    assert_int_equal(held(DENSE, "parallel.etp=8 stack=vllm", "dense_mlp_weights"), network);
    struct step_ops s;
    list(DENSE, joined, &s);
    const struct op_report *up = find(&s, "mlp_gate_up", SEGMENT_DENSE);
    const struct op_report *join = find(&s, "join_mlp_in", SEGMENT_DENSE);
    assert_true(up && join);
    assert_int_equal(up->rows, 8 * 64);
    assert_int_equal(up->flop, UINT64_C(2) * 8 * 64 * 5120 * 2 * 25600 / 8);
    assert_int_equal(join->bytes_sent, 7 * 64 * 5120 * 2);
    arena_release(&s.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_replicas_join_when_asked),
        cmocka_unit_test(dense_networks_are_shared_out_beside_whole_experts),
        cmocka_unit_test(sglang_splits_networks_and_not_attention),
        cmocka_unit_test(vllm_splits_experts_alone),
        cmocka_unit_test(shared_experts_are_whole_where_tokens_are_apart),
        cmocka_unit_test(every_rank_multiplies_all_rows),
        cmocka_unit_test(gathered_tokens_are_gathered_once),
        cmocka_unit_test(what_is_sent_has_a_closed_form),
        cmocka_unit_test(latent_rows_are_joined),
        cmocka_unit_test(sglang_reduces_what_prompts_bring),
        cmocka_unit_test(engines_beside_each_other_are_alone),
        cmocka_unit_test(experts_lie_both_ways),
        cmocka_unit_test(routing_moves_no_bytes),
        cmocka_unit_test(the_profile_run_joins_all_replicas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
