/* plan/params: the published shapes' recomputed counts, and DeepSeek-V3's exact numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/csv.h"
#include "base/text.h"
#include "support/catalogue.h"
#include "support/plans.h"
#include "plan/derive.h"
#include "plan/params.h"

/* Training-model.md section 1: with the prediction module that the model was published with. */
static struct model deepseek_v3(void)
{
    struct model model = plan_deepseek(1, 8).model;
    model.mtp_layers = 1;
    return model;
}

static void deepseek_v3_is_exact(void **state)
{
    (void)state;
    struct params p;
    struct model model = deepseek_v3();
    params_count(&model, &p);
    assert_false(p.overflow);
    assert_int_equal(p.parameters, 671026419200);
    assert_int_equal(p.matrices, 671025397760);
    assert_int_equal(p.active_matrices, 37551276032);
    assert_int_equal(p.routed, 653908770816);
    assert_int_equal(p.mixer[MIXER_FULL].matrices, 187105280);
    assert_int_equal(p.expert.matrices, 44040192);
    assert_int_equal(p.active, 36624596992);
    assert_int_equal(p.mtp.matrices, 0);
    /* norms of 61 layers, low ranks included, and the last one; 58 selection biases */
    assert_int_equal(p.parameters - p.matrices, 61 * (2 * 7168 + 1536 + 512) + 7168 + 58 * 256);
}

static void useful_flop_matches_the_reference(void **state)
{
    (void)state;
    struct model model = deepseek_v3();
    /* 10.23 and 250.45 GFLOP per token, to the digits printed there */
    assert_int_equal((params_attention_flop(&model, 4096) + 5000000) / 10000000, 1023);
    assert_int_equal((params_flop_per_token(&model, 4096) + 5000000) / 10000000, 25045);
    assert_int_equal(params_flop_per_token(&model, 4096),
                     3 * params_forward_flop_per_token(&model, 4096));
}

/* 61 layers of 128 heads score 192 and weigh 128 columns of every token in the cache; a
 * prompt's token meets half of its sequence. */
static void a_decoded_token_meets_all_of_its_context(void **state)
{
    (void)state;
    struct plan plan = plan_deepseek(1, 8);
    const uint64_t products = UINT64_C(2) * 36624596992, core = 61 * 128 * (192 + 128);
    plan.workload.context_length = 6000;
    plan.workload.sequence_length = 4096;
    plan.workload.mode = MODE_DECODE;
    assert_int_equal(params_useful_flop_per_token(&plan), products + 2 * core * 6000);
    plan.workload.mode = MODE_PREFILL;
    assert_int_equal(params_useful_flop_per_token(&plan), products + core * 4096);
}

/* Tokens of answers are no module's work: only training multiplies by it. */
static void modules_are_useful_in_training_alone(void **state)
{
    (void)state;
    static const enum mode modes[] = {MODE_TRAIN, MODE_PREFILL, MODE_DECODE, MODE_SERVE};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct plan plan = plan_deepseek(1, 8);
        plan.model.mtp_layers = 1;
        plan.workload.mode = modes[i];
        uint64_t without = params_useful_flop_per_token(&plan);
        plan.model.mtp_enabled = true;
        if (modes[i] == MODE_TRAIN)
            assert_true(params_useful_flop_per_token(&plan) > without);
        else
            assert_int_equal(params_useful_flop_per_token(&plan), without);
    }
}

/* DeepSeek-V3.2's: queries of 64 x 128 from 1536, keys of 128 and 64 weights from 7168; scores
 * with half of the sequence on average, of queries by keys. No gradient passes the choice. */
static void indexers_have_no_backward(void **state)
{
    (void)state;
    struct plan plan = plan_deepseek(1, 8);
    plan.model.indexer = (struct indexer){.heads = 64, .head_dim = 128, .top_k = 2048};
    const uint64_t length = plan_attention_length(&plan);
    const uint64_t matrices = 64 * 128 * 1536 + (128 + 64) * 7168, scores = 64 * 128 * length;
    assert_int_equal(params_useful_flop_per_token(&plan),
                     params_flop_per_token(&plan.model, length) -
                         61 * (2 * 2 * matrices + 2 * scores));
    plan.lora.rank = 8; /* the matrices' own gradients are counted of none */
    assert_int_equal(params_useful_flop_per_token(&plan),
                     params_flop_per_token(&plan.model, length) -
                         (params_forward_flop_per_token(&plan.model, length) -
                          params_attention_flop(&plan.model, length)) -
                         61 * (2 * matrices + 2 * scores));
}

static void prediction_modules_count_only_when_enabled(void **state)
{
    (void)state;
    struct params without, with;
    struct model model = deepseek_v3();
    params_count(&model, &without);
    uint64_t flop = params_flop_per_token(&model, 4096);
    model.mtp_enabled = true;
    params_count(&model, &with);
    /* one MoE layer, the joining projection and three norms */
    uint64_t layer = 187105280 + 2048 + 2 * 7168 + UINT64_C(257) * 44040192 + 256 * 7168 + 256;
    assert_int_equal(with.parameters - without.parameters, layer + 2 * 7168 * 7168 + 3 * 7168);
    assert_int_equal(params_part_total(with.mtp), with.parameters - without.parameters);
    assert_int_equal(with.routed, without.routed);
    assert_true(params_flop_per_token(&model, 4096) > flop + 6 * with.head.matrices);
}

/* gpt-oss-120b: every kind of bias. Checkpoint size published as 116.83 G parameters. */
static void gpt_oss_counts_its_biases(void **state)
{
    (void)state;
    const struct model model = {
        .layers = 36,
        .moe_every = 1,
        .hidden = 2880,
        .vocab = 201088,
        .norms_per_layer = 2,
        .attention = {.kind = ATTENTION_GQA,
                      .heads = 64,
                      .kv_heads = 8,
                      .head_dim = 64,
                      .bias = true,
                      .output_bias = true,
                      .sinks = true},
        .moe = {.experts = 128,
                .top_k = 4,
                .intermediate = 2880,
                .glu = true,
                .bias = true,
                .router = {.linear_bias = true}},
    };
    struct params p;
    params_count(&model, &p);
    assert_int_equal(p.matrices, 116788838400);
    assert_int_equal(p.expert.biases, 2 * 2880 + 2880);
    assert_int_equal(p.mixer[MIXER_FULL].biases, 4096 + 2 * 512 + 2880 + 64);
    assert_int_equal(p.router.biases, 128);
    assert_int_equal(p.parameters, 116829156672);
}

static void absurd_models_overflow_and_say_so(void **state)
{
    (void)state;
    struct model model = deepseek_v3();
    model.hidden = UINT64_C(1) << 40;
    model.moe.intermediate = UINT64_C(1) << 40;
    struct params p;
    params_count(&model, &p);
    assert_true(p.overflow);
    assert_int_equal(params_flop_per_token(&model, UINT64_MAX), UINT64_MAX);
}

/* ---- every published shape with a recomputed count ---- */

static uint64_t cell(const struct csv *csv, size_t row, const char *column)
{
    const char *text = csv_cell(csv, row, column);
    assert_non_null(text);
    return strtoull(text, NULL, 10);
}

static struct model model_of_row(const struct csv *csv, size_t row)
{
    return (struct model){
        .layers = cell(csv, row, "layers"),
        .dense_layers = cell(csv, row, "dense_layers"),
        .hidden = cell(csv, row, "hidden"),
        .dense_intermediate = cell(csv, row, "dense_intermediate"),
        .residual_intermediate = cell(csv, row, "residual_intermediate"),
        .vocab = cell(csv, row, "vocab"),
        .tied_embeddings = text_equal(csv_cell(csv, row, "tied_embeddings"), "true"),
        .attention = {.kind = text_equal(csv_cell(csv, row, "attention.kind"), "mla")
                                  ? ATTENTION_MLA
                                  : ATTENTION_GQA,
                      .heads = cell(csv, row, "attention.heads"),
                      .kv_heads = cell(csv, row, "attention.kv_heads"),
                      .head_dim = cell(csv, row, "attention.head_dim"),
                      .q_lora_rank = cell(csv, row, "attention.q_lora_rank"),
                      .kv_lora_rank = cell(csv, row, "attention.kv_lora_rank"),
                      .qk_nope_head_dim = cell(csv, row, "attention.qk_nope_head_dim"),
                      .qk_rope_head_dim = cell(csv, row, "attention.qk_rope_head_dim"),
                      .v_head_dim = cell(csv, row, "attention.v_head_dim")},
        .moe = {.experts = cell(csv, row, "moe.experts"),
                .top_k = cell(csv, row, "moe.top_k"),
                .intermediate = cell(csv, row, "moe.intermediate"),
                .shared_intermediate = cell(csv, row, "moe.shared_intermediate"),
                .glu = true},
    };
}

static void published_shapes_give_their_counts(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    assert_int_equal(csv_read("models/published/model_shapes.csv", &arena, &csv, &err),
                     STATUS_OK);
    size_t n = 0;
    for (size_t row = 0; row < csv.n_rows; row++) {
        if (csv_cell(&csv, row, "matrices")[0] == '\0')
            continue;
        struct model model = model_of_row(&csv, row);
        struct params p;
        params_count(&model, &p);
        if (p.matrices != cell(&csv, row, "matrices") ||
            p.active_matrices != cell(&csv, row, "active_matrices"))
            fail_msg("%s: %llu matrices, %llu active", csv_cell(&csv, row, "model"),
                     (unsigned long long)p.matrices, (unsigned long long)p.active_matrices);
        n++;
    }
    assert_int_equal(n, 34);
    arena_release(&arena);
}

/* Shipped files of shapes whose counts the table of layer kinds has to the last parameter, with
 * an encoder's: 27 x 15,239,504, 4,424,832 of patches and positions, and a merger's 2 x 1,152 +
 * 4,608 x 4,608 + 4,608 + (4,608 + 1) x H. */
static void shipped_hybrids_have_their_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t parameters;
    } rows[] = {
        {"qwen3.5-397b-a17b", 396346350336 + 456010480},
        {"qwen3.5-122b-a10b", 122111526912 + 451290864},
        {"qwen3.5-35b-a3b", 34660610688 + 446571248},
        {"qwen3.5-27b", 26895998464 + 460730096},
        {"qwen1.5-moe-a2.7b", 14315784192},
        {"qwen2-57b-a14b", 57408658944},
        {"gemma-3-27b", 27432406640},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct params p;
        catalogue_plan(rows[i].name, NULL, NULL, &arena, &plan);
        params_count(&plan.model, &p);
        assert_int_equal(p.parameters, rows[i].parameters);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deepseek_v3_is_exact),
        cmocka_unit_test(useful_flop_matches_the_reference),
        cmocka_unit_test(modules_are_useful_in_training_alone),
        cmocka_unit_test(indexers_have_no_backward),
        cmocka_unit_test(a_decoded_token_meets_all_of_its_context),
        cmocka_unit_test(prediction_modules_count_only_when_enabled),
        cmocka_unit_test(gpt_oss_counts_its_biases),
        cmocka_unit_test(absurd_models_overflow_and_say_so),
        cmocka_unit_test(published_shapes_give_their_counts),
        cmocka_unit_test(shipped_hybrids_have_their_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
