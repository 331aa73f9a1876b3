/* Qwen3.8-Flash-Next: gated copies of the residual, chosen blocks with one key each, a table of
 * n-grams. Its parameters by the checkpoint's own count, what a rank loads and what its pool
 * holds by the log of a deployment on 8 H100. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/hf/import_hf.h"
#include "plan/params.h"
#include "plan/read/load.h"
#include "plan/source.h"
#include "sim/serve/serving.h"
#include "support/plans.h"
#include "support/served.h"
#include "work/piece/cache.h"
#include "work/stack/stack.h"

#define MODEL "model: qwen3.8-flash-next\ncluster: h100-8x1\nstack: vllm\n"
#define DECODE MODEL "workload: {mode: decode, context_length: 262144}\n"

enum { H = 2560, COPIES = 4 * H, RANK = 320, WIDE = H + COPIES };

/* 179,999,981,424 parameters in BF16, its card says (huggingface.co/Qwen/Qwen3.8-Flash-Next).
 */
static void parameters_are_the_checkpoints(void **state)
{
    (void)state;
    struct plan_built b;
    struct params params;
    plan_build(DECODE, "model.mtp_enabled=true", false, &b);
    params_count(&b.plan.model, &params);
    assert_int_equal(params.parameters, 179999981424);
    assert_int_equal(params.ngram_table, UINT64_C(320001536) * 160);
    assert_int_equal(params_part_total(params.streams),
                     2 * COPIES * RANK + 4 * COPIES + COPIES);
    assert_int_equal(params_part_total(params.streams_end), 2 * COPIES * RANK + COPIES);
    assert_int_equal(params_part_total(params.ngrams), H * WIDE + 3 * COPIES + 4 * COPIES);
    assert_int_equal(params_part_total(params.layer_norms), 0);
    arena_release(&b.arena);
}

/* Sixteen primes from 20,000,000 on; of a second table the sixteen after them. */
static void rows_are_primes(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        uint64_t tables, rows, heads, width, gap;
    } cases[] = {
        {"\"ple_layer_ids\": [2], \"ple_embed_dim\": 2560", 1, 320001536, 16, 2560, 3},
        /* 11 + 13 and 17 + 19, filled up to 40 */
        {"\"ple_layer_ids\": [2, 4], \"heads_per_ngram\": 2, \"ngram_size\": 2,"
         " \"ngram_vocab_size_base\": 10, \"make_ngram_vocab_size_divisible_by\": 8",
         2, 40, 2, 64, 2},
        {"\"ple_layer_ids\": []", 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct node *root = NULL;
        struct model model;
        const char *text = arena_printf(
            &arena,
            "{\"model_type\": \"qwen4_exp_text\", \"num_hidden_layers\": 4, \"hidden_size\": "
            "64,"
            " \"vocab_size\": 100, \"num_attention_heads\": 8, \"num_key_value_heads\": 2,"
            " \"head_dim\": 8, \"num_experts\": 4, \"num_experts_per_tok\": 2,"
            " \"indexer_n_heads\": 4, \"indexer_head_dim\": 8, \"indexer_budget\": 16,"
            " \"indexer_compress_ratio\": 4, %s}",
            cases[i].keys);
        assert_int_equal(
            source_read_text("config.json", text, strlen(text), &arena, &root, &err),
            STATUS_OK);
        assert_int_equal(import_hf_model(root, &model, &err), STATUS_OK);
        const struct ngram *g = &model.ngram;
        if (g->tables != cases[i].tables || g->rows != cases[i].rows ||
            g->heads != cases[i].heads || g->width != cases[i].width || g->gap != cases[i].gap)
            fail_msg("%s: %ju tables of %ju rows, %ju heads, %ju wide, %ju apart",
                     cases[i].keys, (uintmax_t)g->tables, (uintmax_t)g->rows,
                     (uintmax_t)g->heads, (uintmax_t)g->width, (uintmax_t)g->gap);
        assert_true(model.indexer.pooled);
        assert_int_equal(model_mixers(&model, MIXER_BLOCKS), 1);
        assert_int_equal(model_mixers(&model, MIXER_LINEAR), 3);
        arena_release(&arena);
    }
}

/* The FP8 checkpoint has 172.78 GiB: routed experts and the table in 8 bits, all else in 16. */
static void eight_bits_are_experts_and_table(void **state)
{
    (void)state;
    static const char set[] = "cluster=h200-8x1 cluster.node.devices=1 model.mtp_enabled=false "
                              "precision.weights=fp8_block";
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(DECODE, set, false, &b);
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        if (buffer->category == CATEGORY_WEIGHTS)
            sum += b.values[buffer->bytes.node] * b.values[buffer->count.node];
    }
    /* its prediction module: a layer's experts in 8 bits, the rest of 2,607,150,848 in 16 */
    double module = (double)(2 * UINT64_C(2607150848) - UINT64_C(512) * 3 * H * 640);
    assert_true(fabs(((double)sum + module) / (172.78 * 1073741824) - 1) < 0.001);
    assert_non_null(plan_find(&b.work, "ngram_tables"));
    arena_release(&b.arena);
}

/* A deployment's log on 8 H100, TP 8 with experts whole, states in bf16, prefixes cached, the
 * encoder left out: 23.41 GiB loaded, 3,197,331 tokens in 39.18 GiB and 2,048,645
 * in 25.1, 12.20 and 7.81 sequences of 262,144 (github.com,
 * Qwen3.8-Flash-Next-FP8/results/base-util082). The blocks of both are of 208 tokens, 1,270 a
 * sequence: 1,261 that grow, and two for each of three groups of states and of the
 * convolution's columns, one of the ring. */
#define DEPLOYED                                                                               \
    "parallel.tp=8 parallel.ep=8 precision.weights=fp8_block model.linear.state=bf16 "         \
    "model.encoder.layers=0 stack.experts=triton memory.state_copies=2 "                       \
    "stack.version='0.33' workload.max_num_batched_tokens=8192 "

static void pool_is_the_logs(void **state)
{
    (void)state;
    static const struct {
        const char *blocks;
        uint64_t tokens, sequences;
    } cases[] = {{"memory.cache_blocks=15490", 3197331, 12},
                 {"memory.cache_blocks=9925", 2048645, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan plan;
        struct serving_report r;
        plan_set(DECODE, arena_join(&arena, DEPLOYED, cases[i].blocks), &arena, &plan);
        assert_int_equal(serving_of(&plan, &arena, &r, &err), STATUS_OK);
        assert_int_equal(r.block_tokens, 208);
        assert_int_equal(r.cache_tokens, cases[i].tokens);
        assert_int_equal(r.sequences, cases[i].sequences);
        double loaded = (double)r.weights_bytes / 1073741824;
        assert_true(fabs(loaded / 23.41 - 1) < 0.01);
        arena_release(&arena);
    }
}

/* With states in f32 over four ranks blocks have 784 tokens (LMCache's service, pull request
 * 5042 there). */
static void blocks_hold_a_state(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct slots slots;
    struct serving_report r = {.cache_bytes = (uint64_t)10 << 30, .context_tokens = 8192};
    plan_set(DECODE, "parallel.tp=4", &arena, &plan);
    slots_from_plan(&plan, &slots);
    serving_count(&plan, &slots, &r);
    assert_int_equal(r.block_tokens, 784);
    /* a key of 128 in 16 bits for four tokens; columns of nine tokens, of all copies */
    assert_int_equal(cache_layer_bytes(&plan, MIXER_BLOCKS, 4), 4 * 2 * 256 * 2 + 256);
    assert_int_equal(cache_ngram_bytes(&plan), 9 * COPIES * 2);
    arena_release(&arena);
}

static void tables_may_be_on_the_host(void **state)
{
    (void)state;
    struct plan_built b;
    plan_build(DECODE, "parallel.tp=4 memory.ngram_host=true", false, &b);
    assert_null(plan_find(&b.work, "ngram_tables"));
    assert_int_equal(b.work.n_host, 1);
    assert_int_equal(b.values[b.work.host[0].bytes.node], UINT64_C(80000384) * 320);
    assert_non_null(plan_find(&b.work, "ngram_rows"));
    arena_release(&b.arena);
}

/* SGLang's are there unless it is told otherwise, on AMD on the device. */
static void sglang_has_tables_on_the_host(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        bool away;
    } rows[] = {
        {"stack=sglang parallel.tp=4", true},
        {"stack=sglang parallel.tp=4 memory.ngram_host=false", false},
        {"stack=sglang parallel.tp=8 cluster=mi355x-8x1", false},
        {"parallel.tp=4", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan_built b;
        plan_build(DECODE, rows[i].set, false, &b);
        assert_int_equal(plan_find(&b.work, "ngram_tables") == NULL, rows[i].away);
        arena_release(&b.arena);
    }
}

/* Of one token: the gates' two products at both sites of a layer and one at the end, what
 * projects the n-grams. */
static void gates_are_multiplied(void **state)
{
    (void)state;
    struct plan_built b;
    uint64_t gates = 0, ngrams = 0;
    plan_build(DECODE, "workload.micro_batch=1 workload.context_length=4096", true, &b);
    for (size_t i = 0; i < b.work.n_ops; i++) {
        const struct op *op = &b.work.ops[i];
        uint64_t flop = b.values[op->flop.node] * b.values[op->layers.node];
        if (strstr(op->name, "gate_down_") || strstr(op->name, "gate_up_"))
            gates += flop;
        if (strcmp(op->name, "ngram_projection") == 0)
            ngrams += flop;
    }
    assert_int_equal(gates, 2 * (UINT64_C(96) * COPIES * (2 * RANK + 4) + COPIES * 2 * RANK));
    assert_int_equal(ngrams, 2 * H * WIDE);
    arena_release(&b.arena);
}

static void training_is_refused(void **state)
{
    (void)state;
    static const char *const stacks[] = {"stack=megatron", "stack=fsdp", "stack=generic"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan plan;
        plan_set(MODEL "workload: {mode: train, sequence_length: 4096, micro_batch: 1}\n",
                 stacks[i], &arena, &plan);
        assert_int_equal(stack_mixes(&plan, &err), STATUS_INPUT);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_the_checkpoints),
        cmocka_unit_test(rows_are_primes),
        cmocka_unit_test(eight_bits_are_experts_and_table),
        cmocka_unit_test(pool_is_the_logs),
        cmocka_unit_test(blocks_hold_a_state),
        cmocka_unit_test(tables_may_be_on_the_host),
        cmocka_unit_test(sglang_has_tables_on_the_host),
        cmocka_unit_test(gates_are_multiplied),
        cmocka_unit_test(training_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
