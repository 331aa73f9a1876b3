/* Layer kinds: the worked numbers of layer-kinds.md section 3: parameters of one mixer, what a
 * sequence keeps, what a training step saves. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/layers.h"
#include "support/catalogue.h"
#include "support/listed.h"
#include "work/list/kernel.h"
#include "plan/mixer.h"
#include "work/list/shape.h"
#include "work/piece/cache.h"

static void load(const char *model, struct arena *arena, struct plan *plan)
{
    catalogue_plan(model, NULL, NULL, arena, plan);
    plan->precision.kv_cache = DTYPE_BF16;
    plan->precision.activations = DTYPE_BF16;
    plan->workload.mode = MODE_DECODE;
    plan->parallel.tp = 1;
}

static void parameters_of_one_mixer(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t parameters;
    } rows[] = {
        {"qwen3-next-80b-a3b", 33718464},
        {"kimi-linear-48b-a3b", 39514272},
        {"kimi-k3", 443740384},
        {"minimax-text-01", 251666432},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        bool overflow = false;
        load(rows[i].model, &arena, &plan);
        struct params_part part = mixer_parameters(&plan.model, MIXER_LINEAR, &overflow);
        print_message("%s\n", rows[i].model);
        assert_int_equal(params_part_total(part), rows[i].parameters);
        arena_release(&arena);
    }
}

/* The page counts the norm before a Mamba-2 layer with it. */
static void mamba2_counts_its_norm(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    bool overflow = false;
    load("nemotron-3-nano", &arena, &plan);
    struct params_part part = mixer_parameters(&plan.model, MIXER_LINEAR, &overflow);
    assert_int_equal(params_part_total(part), 38742208);
    arena_release(&arena);
}

/* Kimi-K3's gates are matrices [H, heads x 128]: 7168 x 96 x 128 each, where KDA's low rank had
 * 128 x (H + 96 x 128). */
static void kimi_k3_has_gates_of_full_rank(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    bool overflow = false;
    load("kimi-k3", &arena, &plan);
    const uint64_t gate = 7168 * 96 * 128;
    const enum mixer mixers[] = {MIXER_LINEAR, MIXER_FULL};
    uint64_t with[2], without[2];
    for (unsigned i = 0; i < 2; i++)
        with[i] = params_part_total(mixer_parameters(&plan.model, mixers[i], &overflow));
    assert_int_equal(mixer_whole(&plan.model, MIXER_LINEAR, &overflow), 128 * 7168);
    plan.model.linear.full_rank_gate = plan.model.attention.output_gate = false;
    for (unsigned i = 0; i < 2; i++)
        without[i] = params_part_total(mixer_parameters(&plan.model, mixers[i], &overflow));
    assert_int_equal(with[0] - without[0], gate - 128 * (7168 + 96 * 128));
    assert_int_equal(with[1], 232196096);
    assert_int_equal(with[1] - without[1], gate);
    assert_int_equal(mixer_whole(&plan.model, MIXER_LINEAR, &overflow), 2 * 128 * 7168);
    arena_release(&arena);
}

static void indexers_have_their_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t parameters;
    } rows[] = {{"deepseek-v3.2", 13959424}, {"glm-5", 9371904}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        bool overflow = false;
        load(rows[i].model, &arena, &plan);
        uint64_t own = params_part_total(mixer_parameters(&plan.model, MIXER_FULL, &overflow)) -
                       params_part_total(mixer_parameters(&plan.model, MIXER_REUSE, &overflow));
        assert_int_equal(own, rows[i].parameters);
        arena_release(&arena);
    }
}

/* All layers of the model, or those that keep every token, of one sequence. */
static uint64_t layers_bytes(const struct plan *plan, uint64_t tokens, bool growing_only)
{
    uint64_t sum = 0;
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        if (!growing_only || m == MIXER_FULL || m == MIXER_REUSE)
            sum += model_mixers(&plan->model, (enum mixer)m) *
                   cache_layer_bytes(plan, (enum mixer)m, tokens);
    return sum;
}

/* bytes of one linear or bounded layer at 32,768 tokens, of a token in the growing layers, and
 * of the whole sequence, caches in bf16 */
static void sequences_keep_what_the_page_says(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        enum mixer mixer;
        enum dtype state;
        uint64_t one, per_token, sequence;
    } rows[] = {
        {"qwen3-next-80b-a3b", MIXER_LINEAR, DTYPE_F32, 2146304, 24576, 882573312},
        {"qwen3.5-397b-a17b", MIXER_LINEAR, DTYPE_F32, 4268032, 30720, 1198694400},
        {"kimi-linear-48b-a3b", MIXER_LINEAR, DTYPE_F32, 2170880, 8064, 307658752},
        /* 3 x 12288 x 3 x 2 + 96 x 128^2 x 4; 24 layers of 576 x 2 */
        {"kimi-k3", MIXER_LINEAR, DTYPE_F32, 6512640, 27648, 1355341824},
        {"nemotron-3-nano", MIXER_LINEAR, DTYPE_F32, 2134016, 6144, 250408960},
        {"nemotron-3-super", MIXER_LINEAR, DTYPE_F32, 4255744, 8192, 438665216},
        {"jamba-1.5-large", MIXER_LINEAR, DTYPE_BF16, 622592, 36864, 1247182848},
        {"minimax-text-01", MIXER_LINEAR, DTYPE_BF16, 2097152, 40960, 1488977920},
        {"gpt-oss-120b", MIXER_WINDOW, DTYPE_BF16, 262144, 36864, 1212678144},
        {"llama4-maverick", MIXER_CHUNK, DTYPE_BF16, 33554432, 49152, 2818572288},
        {"deepseek-v3.2", MIXER_LINEAR, DTYPE_BF16, 0, 78324, 2566520832},
        {"glm-5", MIXER_LINEAR, DTYPE_BF16, 0, 100152, 3281780736},
        {"glm-5.2", MIXER_LINEAR, DTYPE_BF16, 0, 92628, 3035234304},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        load(rows[i].model, &arena, &plan);
        plan.model.linear.state = rows[i].state;
        print_message("%s\n", rows[i].model);
        if (rows[i].one)
            assert_int_equal(cache_layer_bytes(&plan, rows[i].mixer, 32768), rows[i].one);
        assert_int_equal(layers_bytes(&plan, 1, true), rows[i].per_token);
        assert_int_equal(layers_bytes(&plan, 32768, false), rows[i].sequence);
        arena_release(&arena);
    }
}

/* ---- what training saves ---- */

/* Statistics of the norms, 4 bytes each, are not counted. */
static void training_saves_what_the_page_says(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        enum layer_kind kind;
        uint64_t bytes;
        unsigned norms;
    } rows[] = {
        /* norms read parts of one product's output, which stays whole: v beside q and k */
        {"qwen3-next-80b-a3b", KIND_MOE, 52292 + 2 * 512, 1},
        {"qwen3-next-80b-a3b", KIND_LINEAR_MOE, 78468, 1},
        {"qwen3.5-397b-a17b", KIND_LINEAR_MOE, 148740, 1},
        {"kimi-linear-48b-a3b", KIND_LINEAR_MOE, 100420, 1},
        /* one latent of 128 where Kimi-Linear has two: 2 (2 H + 10 P + 128 + 128 n) + 18 n */
        {"kimi-k3", KIND_LINEAR_MOE, 300996, 1},
        /* 2 (2 H + 2 x 1536 + 576 + 512 + n (192 + 192 + 128 + 128)), statistics of n heads,
         * and of the gate the sigmoid and the product, 2 x 2 n 128 */
        {"kimi-k3", KIND_MOE, 160256 + 49152, 0},
        {"nemotron-3-nano", KIND_LINEAR, 55972, 1},
        {"nemotron-3-super", KIND_LINEAR, 102692, 1},
        {"jamba-1.5-large", KIND_LINEAR_MOE, 232576, 0},
        {"minimax-text-01", KIND_LINEAR_MOE, 188424, 2},
        {"gpt-oss-120b", KIND_WINDOW_MOE, 30212, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        catalogue_plan(rows[i].model, "h100-8x8", "megatron", &arena, &plan);
        plan.workload = (struct workload){.mode = MODE_TRAIN,
                                          .sequence_length = 4096,
                                          .micro_batch = 1,
                                          .tokens_per_sequence = 1,
                                          .steps = 1};
        plan.recompute = (struct recompute_plan){0};
        plan.stack.attention = BACKEND_FLASH;
        print_message("%s\n", rows[i].model);
        assert_int_equal(listed_saved(&plan, rows[i].kind, NULL) / 4096 + 4 * rows[i].norms,
                         rows[i].bytes);
        arena_release(&arena);
    }
}

/* FLOP of the forward product of that name in a list; 0: there is none. */
static uint64_t product_flop(const struct work *work, const uint64_t *values, const char *name)
{
    for (size_t i = 0; i < work->n_ops; i++)
        if (work->ops[i].kernel == KERNEL_GEMM && text_equal(work->ops[i].name, name))
            return values[work->ops[i].flop.node];
    return 0;
}

/* 2 x 4096 tokens x the matrix: low ranks of both gates, or of the decay's alone. */
static void gates_are_products_of_their_matrices(void **state)
{
    (void)state;
    static const struct {
        const char *model, *product;
        uint64_t elements;
    } rows[] = {
        {"kimi-linear-48b-a3b", "gates_down", 2304 * 256},
        {"kimi-linear-48b-a3b", "decay_up", 128 * 4096},
        {"kimi-linear-48b-a3b", "output_gate_up", 128 * 4096},
        {"kimi-linear-48b-a3b", "output_gate", 0},
        {"kimi-linear-48b-a3b", "attention_gate", 0},
        {"kimi-k3", "gates_down", 7168 * 128},
        {"kimi-k3", "decay_up", 128 * 12288},
        {"kimi-k3", "output_gate_up", 0},
        {"kimi-k3", "output_gate", 7168 * 12288},
        {"kimi-k3", "attention_gate", 7168 * 12288},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        catalogue_plan(rows[i].model, "h100-8x8", "megatron", &arena, &plan);
        plan.workload = (struct workload){.mode = MODE_TRAIN,
                                          .sequence_length = 4096,
                                          .micro_batch = 1,
                                          .tokens_per_sequence = 1,
                                          .steps = 1};
        if (work_build(&plan, &arena, &work, &err) != STATUS_OK ||
            work_ops(&plan, &work, &err) != STATUS_OK)
            fail_msg("%s", err.text);
        uint64_t *values = listed_sizes(&plan, &work);
        print_message("%s %s\n", rows[i].model, rows[i].product);
        assert_int_equal(product_flop(&work, values, rows[i].product),
                         UINT64_C(2) * 4096 * rows[i].elements);
        arena_release(&arena);
    }
}

/* On one rank of an engine every parameter of a 16-bit model stands once, in 2 bytes; graphs'
 * copies of MLA aside, which none of these has. */
static void an_engine_holds_every_parameter(void **state)
{
    (void)state;
    static const char *const models[] = {
        "qwen3-next-80b-a3b", "nemotron-3-nano", "jamba-v0.1",      "minimax-text-01",
        "llama-3.1-8b",       "qwen3-32b",       "falcon-h1-0.5b",  "falcon-mamba-7b",
        "mamba-codestral-7b", "llama4-scout",    "nemotron-3-super"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct params params;
        struct err err = {0};
        uint64_t sum = 0;
        catalogue_plan(models[i], "h200-1x1", "vllm", &arena, &plan);
        print_message("%s\n", models[i]);
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_OK);
        uint64_t *values = listed_sizes(&plan, &work);
        for (size_t b = 0; b < work.n_buffers; b++)
            if (work.buffers[b].category == CATEGORY_WEIGHTS)
                sum += values[work.buffers[b].all.node];
        params_count(&plan.model, &params);
        assert_int_equal(sum, 2 * params.parameters);
        arena_release(&arena);
    }
}

/* Two stacks refuse recurrences, and say whether it is the software that has none. */
static void stacks_without_recurrences_say_why(void **state)
{
    (void)state;
    static const struct {
        const char *model, *stack, *why;
    } cases[] = {
        {"qwen3-next-80b-a3b", "maxtext", "what MaxText keeps of a gated delta net"},
        {"kimi-linear-48b-a3b", "maxtext", "MaxText itself has none but"},
        {"kimi-k3", "maxtext", "MaxText itself has none but"},
        {"jamba-v0.1", "maxtext", "MaxText itself has none but"},
        {"qwen3-next-80b-a3b", "nxd", "NxD itself has softmax attention alone"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        catalogue_plan(cases[i].model, "h100-8x1", cases[i].stack, &arena, &plan);
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_INPUT);
        assert_non_null(strstr(err.text, "recurrent layers are not modelled"));
        assert_non_null(strstr(err.hint, cases[i].why));
        arena_release(&arena);
    }
}

/* Counted one after another, or at once: any first and last layer of any order of layers. */
static void layers_are_counted_at_once(void **state)
{
    (void)state;
    enum { LAYERS = 40 };
    static const struct model models[] = {
        {.dense_layers = 3},
        {.moe_every = 4},
        {.moe_every = 3,
         .layer_types = {4, {LAYER_WINDOW, LAYER_WINDOW, LAYER_LINEAR, LAYER_FULL}}},
        {.dense_layers = 5, .layer_types = {3, {LAYER_CHUNK, LAYER_FULL, LAYER_CHUNK}}},
        {.dense_layers = 2,
         .layer_types = {5, {LAYER_LINEAR, LAYER_MOE, LAYER_FULL, LAYER_MOE, LAYER_DENSE}}},
    };
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (uint64_t first = 0; first < LAYERS; first++) {
            uint64_t one_by_one[KIND_COUNT] = {0};
            for (uint64_t end = first + 1; end <= LAYERS; end++) {
                uint64_t at_once[KIND_COUNT] = {0};
                model_layers(&models[m], end - 1, end, one_by_one);
                model_layers(&models[m], first, end, at_once);
                assert_memory_equal(at_once, one_by_one, sizeof at_once);
            }
        }
    /* moe_every 3, layers W W L F ...: of 12 layers, experts in 2 L, 5 W, 8 W, 11 F */
    uint64_t count[KIND_COUNT] = {0};
    model_layers(&models[2], 0, 12, count);
    assert_int_equal(count[KIND_LINEAR_MOE], 1);
    assert_int_equal(count[KIND_WINDOW_MOE], 2);
    assert_int_equal(count[KIND_MOE], 1);
    assert_int_equal(count[KIND_WINDOW_DENSE], 4);
    assert_int_equal(count[KIND_LINEAR_DENSE], 2);
    assert_int_equal(count[KIND_DENSE], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_counted_at_once),
        cmocka_unit_test(parameters_of_one_mixer),
        cmocka_unit_test(mamba2_counts_its_norm),
        cmocka_unit_test(kimi_k3_has_gates_of_full_rank),
        cmocka_unit_test(indexers_have_their_parameters),
        cmocka_unit_test(sequences_keep_what_the_page_says),
        cmocka_unit_test(training_saves_what_the_page_says),
        cmocka_unit_test(gates_are_products_of_their_matrices),
        cmocka_unit_test(an_engine_holds_every_parameter),
        cmocka_unit_test(stacks_without_recurrences_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
