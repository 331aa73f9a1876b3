/* Layers put together in other ways: Step-3's queries of a low rank, LongCat-Flash's choices
 * that compute nothing and experts added behind the next layer, networks beside their mixers
 * (Phi-2, GPT-J, Falcon). Worked from vLLM models/step3_text.py and longcat_flash.py,
 * transformers models/{longcat_flash,phi,gpt_neox,falcon}. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/hf/import_hf.h"
#include "plan/layers.h"
#include "plan/params.h"
#include "plan/source.h"
#include "plan/speculation.h"
#include "support/catalogue.h"
#include "support/plans.h"
#include "work/list/work.h"

static void count(const char *model, struct plan *plan, struct params *params)
{
    struct arena arena = {0};
    catalogue_plan(model, NULL, NULL, &arena, plan);
    params_count(&plan->model, params);
    arena_release(&arena);
}

/* Bytes of one copy of the first buffer of that name in layers of a kind; 0: it is not there.
 */
static uint64_t bytes_in(const struct plan_built *b, enum layer_kind kind, const char *name)
{
    for (size_t i = 0; i < b->work.n_buffers; i++) {
        const struct buffer *buffer = &b->work.buffers[i];
        if (buffer->segment == segment_of_kind(kind) && text_equal(buffer->name, name))
            return b->values[buffer->bytes.node];
    }
    return 0;
}

/* All that one layer of a kind saves for backward. */
static uint64_t saved_in(const struct plan_built *b, enum layer_kind kind)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < b->work.n_buffers; i++) {
        const struct buffer *buffer = &b->work.buffers[i];
        if (buffer->segment == segment_of_kind(kind) && buffer->life == LIFE_SAVED)
            sum += b->values[buffer->bytes.node];
    }
    return sum;
}

static uint64_t state_of(const struct plan_built *b, const char *name)
{
    return b->values[plan_buffer(&b->work, name)->all.node];
}

/* ---- Step-3: H 7168, 64 heads of 256 from a rank of 2048, one head of keys and values ---- */

enum { H3 = 7168, RANK = 2048, Q3 = 64 * 256, KV3 = 2 * 256 };

/* 316B and 38B, as its publisher rounds them; without the vision encoder. */
static void step3_has_its_parameters(void **state)
{
    (void)state;
    struct plan plan;
    struct params p;
    count("step3", &plan, &p);
    uint64_t attention = H3 * (RANK + KV3) + RANK + RANK * Q3 + Q3 * H3;
    uint64_t expert = 3 * H3 * 5120, dense = 3 * UINT64_C(7168) * 18432;
    uint64_t moe = 48 * expert + 48 * H3 + expert;
    assert_int_equal(params_part_total(p.mixer[MIXER_FULL]), attention);
    assert_int_equal(p.whole[MIXER_FULL], H3 * RANK);
    assert_int_equal(p.parameters, 61 * (attention + 2 * H3) + 5 * dense + 56 * moe +
                                       2 * UINT64_C(128815) * H3 + H3);
    assert_int_equal(p.parameters, 316294538240);
    assert_int_equal(p.active, 37916976128);
}

#define STEP3 "model: step3\ncluster: h200-8x1\n"

/* What leads to q, k and v is whole on every rank (ReplicatedLinear), q and the output are
 * split; a token has 1,024 bytes of cache in a layer. */
static void engines_keep_the_rank_whole(void **state)
{
    (void)state;
    static const char *const stacks[] = {"stack=vllm", "stack=sglang", "stack=trtllm"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct plan_built b;
        plan_build(STEP3 "workload: {mode: decode, context_length: 4096, micro_batch: 16}\n"
                         "parallel: {tp: 8}\n",
                   stacks[i], false, &b);
        uint64_t whole = H3 * (RANK + KV3), split = RANK * Q3 + Q3 * H3;
        print_message("%s\n", stacks[i]);
        assert_int_equal(state_of(&b, "attention_weights"), 61 * 2 * (whole + split / 8));
        assert_int_equal(state_of(&b, "kv_cache"), 61 * UINT64_C(16) * 4096 * 2 * KV3);
        arena_release(&b.arena);
    }
}

/* Beside what every layer saves: the rank and its norm. */
static void training_saves_the_rank(void **state)
{
    (void)state;
    struct plan_built b;
    plan_build(STEP3 "stack: fsdp\nworkload: {mode: train, sequence_length: 1024}\n"
                     "parallel: {zero: 3}\n",
               "cluster.nodes=16 recompute=none", false, &b);
    assert_int_equal(bytes_in(&b, KIND_MOE, "q_latent"), 1024 * 2 * RANK);
    assert_int_equal(bytes_in(&b, KIND_MOE, "q_latent_norm_out"), 1024 * 2 * RANK);
    assert_int_equal(bytes_in(&b, KIND_MOE, "q"), 1024 * 2 * Q3);
    assert_int_equal(bytes_in(&b, KIND_MOE, "k"), 1024 * KV3);
    /* of a dense layer: two casts of norms in f32, rows before and behind both, q, context and
     * statistics, k and v, rank and norm, four tensors of the network */
    uint64_t token =
        2 * 4 * H3 + 4 * 2 * H3 + 2 * 2 * Q3 + 4 * 64 + 2 * KV3 + 2 * 2 * RANK + 4 * 2 * 18432;
    assert_int_equal(saved_in(&b, KIND_DENSE), 1024 * token);
    arena_release(&b.arena);
}

/* ---- LongCat-Flash: H 6144, 28 layers of two attention blocks, 512 experts and 256 more ----
 */

/* The hub counts 561,862,880,256 elements: with the module, which has the embedding once more.
 * 27B are active on average, by its publisher: of 12 choices 8 have weights. */
static void longcat_has_its_parameters(void **state)
{
    (void)state;
    enum { H = 6144 };
    struct plan plan;
    struct params p;
    count("longcat-flash", &plan, &p);
    assert_int_equal(p.parameters, 560664980480);
    assert_int_equal(params_part_total(p.router), 768 * H + 768);
    assert_int_equal(model_choices(&plan.model), 8);
    uint64_t attention = H * 1536 + 1536 + 1536 * 64 * 192 + H * (512 + 64) + 512 +
                         512 * 64 * 256 + 64 * 128 * H;
    uint64_t network = 3 * UINT64_C(6144) * 12288, expert = 3 * UINT64_C(6144) * 2048;
    uint64_t vectors = 2 * (1536 + 512); /* norms are no matrices */
    assert_int_equal(p.active,
                     28 * (2 * attention - vectors + 2 * network + 768 * H + 8 * expert) +
                         UINT64_C(131072) * H);
    assert_in_range(p.active, 26500000000, 27500000000);
    plan.model.mtp_enabled = true;
    params_count(&plan.model, &p);
    assert_int_equal(p.parameters + UINT64_C(131072) * H, 561862880256);
}

/* ---- LongCat-Flash-Lite: H 3072, 14 such layers, 12 tables of n-grams in its embedding ----
 */

#define LITE "model: longcat-flash-lite\ncluster: h200-8x1\nparallel: {tp: 8}\n"

/* 68.5B parameters, 31.4B of them of n-grams, 2.9B to 4.5B active, by its publisher. */
static void lite_has_its_parameters(void **state)
{
    (void)state;
    enum { H = 3072, V = 131072, RATIO = 78, HEADS = 12 };
    struct plan plan;
    struct params p;
    uint64_t rows = 0;
    count("longcat-flash-lite", &plan, &p);
    for (uint64_t i = 0; i < HEADS; i++)
        rows += RATIO * V + 2 * i + 1;
    assert_int_equal(p.ngram_table, rows * (H / HEADS));
    assert_in_range(p.ngram_table, 31350000000, 31450000000);
    assert_int_equal(params_part_total(p.ngrams), HEADS * (H / HEADS) * H);
    assert_in_range(p.parameters, 68500000000, 68600000000);
    uint64_t expert = 3 * UINT64_C(3072) * 1024, few = 0, all = 12;
    assert_int_equal(model_choices(&plan.model), 8);
    assert_in_range(p.active + 14 * expert * few - 14 * expert * 8, 2850000000, 2950000000);
    assert_in_range(p.active + 14 * expert * all - 14 * expert * 8, 4450000000, 4550000000);
}

/* Over tp in 16 bits, whatever the checkpoint has. A step makes 12 rows of a token and their
 * mean; vLLM copies them beside the token's own, and embeds nothing in its profile run. */
static void engines_embed_ngrams(void **state)
{
    (void)state;
    static const struct {
        const char *set, *kept;
        uint64_t copies, kept_bytes;
    } cases[] = {
        {"stack=vllm precision.weights=fp8_block", "embedded_rows", 2, 8192 * 3072 * 2},
        {"stack=sglang workload.max_num_seqs=32", "ngram_tokens", 1, 32 * 8192 * 4},
    };
    const uint64_t row = 8192 * 3072 * 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_built b;
        plan_build(LITE "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1}\n",
                   cases[i].set, false, &b);
        print_message("%s\n", cases[i].set);
        assert_int_equal(state_of(&b, "ngram_tables"), (122683536 / 8) * UINT64_C(512));
        assert_int_equal(state_of(&b, "ngram_projections"), 3072 * 3072 * 2);
        assert_int_equal(state_of(&b, cases[i].kept), cases[i].kept_bytes);
        assert_int_equal(state_of(&b, "ngrams_projected"), cases[i].copies * 12 * row);
        arena_release(&b.arena);
    }
}

static void profile_run_embeds_nothing(void **state)
{
    (void)state;
    struct plan_built b;
    plan_build(LITE "stack: vllm\n"
                    "workload: {mode: prefill, scenario: profile_run, sequence_length: 8192,"
                    " micro_batch: 1}\n",
               "", false, &b);
    assert_null(plan_find(&b.work, "ngrams_projected"));
    assert_non_null(plan_find(&b.work, "embedded_rows"));
    arena_release(&b.arena);
}

/* Each row by a matrix of its own. */
static void ngrams_are_multiplied(void **state)
{
    (void)state;
    struct plan_built b;
    uint64_t flop = 0;
    plan_build(LITE "stack: vllm\nworkload: {mode: decode, context_length: 4096}\n",
               "workload.micro_batch=1", true, &b);
    for (size_t i = 0; i < b.work.n_ops; i++)
        if (strcmp(b.work.ops[i].name, "ngram_projection") == 0)
            flop += b.values[b.work.ops[i].flop.node];
    assert_int_equal(flop, 2 * 3072 * 3072);
    arena_release(&b.arena);
}

/* Of a ratio that is no whole number, by older names; an index that two layers share is not. */
static void older_names_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        enum status status;
    } cases[] = {{"MLA", STATUS_OK}, {"LSA", STATUS_INPUT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct node *root = NULL;
        struct model model;
        const char *text = arena_printf(
            &arena,
            "{\"architectures\": [\"LongcatCausalLM\"], \"hidden_size\": 100,"
            " \"num_layers\": 2, \"vocab_size\": 1000, \"num_attention_heads\": 4,"
            " \"oe_vocab_size_ratio\": 1.5005, \"oe_neighbor_num\": 3, \"oe_split_num\": 4,"
            " \"attention_method\": \"%s\"}",
            cases[i].method);
        assert_int_equal(
            source_read_text("config.json", text, strlen(text), &arena, &root, &err),
            STATUS_OK);
        assert_int_equal(import_hf_model(root, &model, &err), cases[i].status);
        if (cases[i].status == STATUS_OK) {
            assert_int_equal(model.ngram.heads, 8);
            assert_int_equal(model.ngram.width, 96);
            assert_int_equal(model.ngram.rows, 8 * 1500 + 64);
        }
        arena_release(&arena);
    }
}

/* Its class leaves the module's weights out (vLLM models/longcat_flash_ngram.py). */
static void vllm_has_no_module_of_it(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    plan_set(LITE "stack: vllm\nworkload: {mode: decode, context_length: 4096}\n",
             "model.mtp_enabled=true", &arena, &plan);
    assert_int_equal(plan_modules(&plan), 0);
    plan.stack.kind = STACK_SGLANG;
    assert_int_equal(plan_modules(&plan), 1);
    arena_release(&arena);
}

/* Router and cache: 768 choices, and latents of 56 attention blocks. */
static void engines_hold_all_choices(void **state)
{
    (void)state;
    static const char *const stacks[] = {"stack=vllm", "stack=sglang", "stack=trtllm"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct plan_built b;
        plan_build("model: longcat-flash\ncluster: h200-8x2\n"
                   "workload: {mode: prefill, sequence_length: 4096, micro_batch: 1}\n"
                   "parallel: {tp: 16}\n",
                   stacks[i], false, &b);
        print_message("%s\n", stacks[i]);
        assert_int_equal(state_of(&b, "router_weights"), 28 * 768 * 6144 * 2);
        assert_int_equal(state_of(&b, "kv_cache"), 56 * UINT64_C(4096) * 576 * 2);
        /* rows that the experts of the layer before gave, and a copy of what they read */
        assert_int_equal(bytes_in(&b, KIND_DENSE, "shortcut"), 4096 * 6144 * 2);
        assert_int_equal(bytes_in(&b, KIND_MOE, "moe_input_copy"), 4096 * 6144 * 2);
        assert_int_equal(bytes_in(&b, KIND_MOE, "shortcut"), 0);
        arena_release(&b.arena);
    }
}

/* transformers' loop computes 8 rows of a token and keeps 4 as they are; its layer, which runs
 * again whole, is two of ours. */
static void training_computes_some_choices(void **state)
{
    (void)state;
    struct plan_built b;
    const char *text = "model: longcat-flash\ncluster: h200-8x32\nstack: fsdp\n"
                       "workload: {mode: train, sequence_length: 1024}\nparallel: {zero: 3}\n";
    plan_build(text, "recompute=none", false, &b);
    assert_int_equal(bytes_in(&b, KIND_MOE, "identity_rows"), 1024 * 4 * 6144 * 2);
    assert_int_equal(bytes_in(&b, KIND_MOE, "expert_input"), 1024 * 8 * 6144 * 2);
    assert_int_equal(bytes_in(&b, KIND_MOE, "router_logits"), 1024 * 768 * 2);
    assert_int_equal(bytes_in(&b, KIND_DENSE, "shortcut"), 1024 * 6144 * 2);
    arena_release(&b.arena);
    plan_build(text, "recompute=full", false, &b);
    const struct buffer *input = plan_buffer(&b.work, "layer_input");
    assert_true(input->some); /* of every other layer */
    arena_release(&b.arena);
}

/* ---- networks beside their mixers ---- */

/* Of a token of Phi-2, H 2560: the layer's input and its norm's rows, q, k, v, context and
 * statistics, what the activation reads and gives. In turn the network would have an input and
 * a norm's rows of its own; beside each other with two norms the latter alone. */
static void one_norm_saves_what_two_would(void **state)
{
    (void)state;
    enum { H = 2560, I = 10240, T = 1024 };
    const uint64_t token = 2 * 2 * H + 4 * 2 * H + 4 * 32 + 2 * 2 * I;
    static const struct {
        const char *set;
        uint64_t more;
    } rows[] = {{"model.side_by_side=true", 0},
                {"model.side_by_side=true model.norms_per_layer=2", 2 * H},
                {"model.side_by_side=false model.norms_per_layer=2", 2 * 2 * H}};
    static const char *const stacks[] = {"fsdp", "deepspeed"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < 2; j++) {
            struct plan_built b;
            struct arena arena = {0};
            const char *text = arena_join(
                &arena,
                "model: phi-2\ncluster: h100-8x1\nrecompute: none\nparallel: {zero: 3}\n"
                "workload: {mode: train, sequence_length: 1024}\nstack: ",
                stacks[j]);
            plan_build(text, rows[i].set, true, &b);
            print_message("%s, %s\n", stacks[j], rows[i].set);
            assert_int_equal(saved_in(&b, KIND_DENSE), T * (token + rows[i].more));
            arena_release(&b.arena);
            arena_release(&arena);
        }
}

/* Run again whole, a layer keeps its input alone. */
static void one_input_is_kept(void **state)
{
    (void)state;
    struct plan_built b;
    plan_build("model: phi-2\ncluster: h100-8x1\nstack: fsdp\nparallel: {zero: 3}\n"
               "workload: {mode: train, sequence_length: 1024}\n",
               "recompute=full", true, &b);
    assert_int_equal(saved_in(&b, KIND_DENSE), 1024 * 2 * 2560);
    assert_int_equal(bytes_in(&b, KIND_DENSE, "attention_result"), 1024 * 2 * 2560);
    arena_release(&b.arena);
}

/* Engines have the mixer's result beside the network, and its rows where it has a norm. */
static void engines_add_both_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t hidden, network;
    } rows[] = {{"model=falcon-7b", 4544, 0}, {"model=falcon-40b", 8192, 8192}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan_built b;
        plan_build("model: falcon-7b\ncluster: h100-8x1\nstack: vllm\n"
                   "workload: {mode: prefill, sequence_length: 2048, micro_batch: 1}\n",
                   rows[i].model, true, &b);
        assert_int_equal(bytes_in(&b, KIND_DENSE, "attention_result"),
                         2048 * 2 * rows[i].hidden);
        assert_int_equal(bytes_in(&b, KIND_DENSE, "network_hidden"),
                         2048 * 2 * rows[i].network);
        arena_release(&b.arena);
    }
}

static const struct op *op_named(const struct work *work, const char *name, enum phase phase)
{
    for (size_t i = 0; i < work->n_ops; i++)
        if (work->ops[i].phase == phase && text_equal(work->ops[i].name, name))
            return &work->ops[i];
    return NULL;
}

/* The network's product reads the rows of attention's norm, and both results are added before
 * the layer's input is. */
static void ops_read_the_same_rows(void **state)
{
    (void)state;
    struct plan_built b;
    plan_build("model: phi-2\ncluster: h100-8x1\nstack: fsdp\nparallel: {zero: 3}\n"
               "workload: {mode: train, sequence_length: 1024}\n",
               "recompute=none", true, &b);
    const struct op *norm = op_named(&b.work, "attention_norm", PHASE_FORWARD);
    const struct op *up = op_named(&b.work, "mlp_gate_up", PHASE_FORWARD);
    assert_non_null(norm);
    assert_non_null(up);
    assert_int_equal(op_buffer(&b.work, norm, ROLE_DST), op_buffer(&b.work, up, ROLE_SRC));
    assert_null(op_named(&b.work, "mlp_norm", PHASE_FORWARD));
    assert_non_null(op_named(&b.work, "add_both_results", PHASE_FORWARD));
    assert_null(op_named(&b.work, "add_mlp_input", PHASE_FORWARD));
    arena_release(&b.arena);
}

/* ---- networks without a gate ---- */

/* Eager frameworks keep two tensors of their width, not four: relu2 of Nemotron-3's experts
 * saves what relu gives and its square. */
static void plain_networks_save_two(void **state)
{
    (void)state;
    struct plan_built b;
    plan_build("model: nemotron-3-nano\ncluster: h200-8x2\nstack: fsdp\nparallel: {zero: 3}\n"
               "workload: {mode: train, sequence_length: 1024}\n",
               "recompute=none", false, &b);
    uint64_t rows = 1024 * 6 * 2;
    assert_int_equal(bytes_in(&b, KIND_FFN_MOE, "expert_gate"), rows * 1856);
    assert_int_equal(bytes_in(&b, KIND_FFN_MOE, "expert_silu"), rows * 1856);
    assert_int_equal(bytes_in(&b, KIND_FFN_MOE, "expert_up"), 0);
    assert_int_equal(bytes_in(&b, KIND_FFN_MOE, "expert_product"), 0);
    assert_int_equal(bytes_in(&b, KIND_FFN_MOE, "shared_product"), 0);
    arena_release(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step3_has_its_parameters),
        cmocka_unit_test(engines_keep_the_rank_whole),
        cmocka_unit_test(training_saves_the_rank),
        cmocka_unit_test(longcat_has_its_parameters),
        cmocka_unit_test(lite_has_its_parameters),
        cmocka_unit_test(engines_embed_ngrams),
        cmocka_unit_test(profile_run_embeds_nothing),
        cmocka_unit_test(ngrams_are_multiplied),
        cmocka_unit_test(older_names_are_read),
        cmocka_unit_test(vllm_has_no_module_of_it),
        cmocka_unit_test(engines_hold_all_choices),
        cmocka_unit_test(training_computes_some_choices),
        cmocka_unit_test(one_norm_saves_what_two_would),
        cmocka_unit_test(one_input_is_kept),
        cmocka_unit_test(engines_add_both_at_once),
        cmocka_unit_test(ops_read_the_same_rows),
        cmocka_unit_test(plain_networks_save_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
