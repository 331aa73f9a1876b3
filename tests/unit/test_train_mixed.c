/* Training of DeepSeek-V4 and of Kimi-K3's attention residuals in Megatron, worked from what
 * its autograd functions save (train_shared.c, train_residual.c name the files). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/catalogue.h"
#include "support/listed.h"
#include "work/list/work.h"

enum { TOKENS = 4096 };

static void trains(const char *model, const char *cluster, struct arena *arena,
                   struct plan *plan)
{
    catalogue_plan(model, cluster, "megatron", arena, plan);
    plan->workload = (struct workload){.mode = MODE_TRAIN,
                                       .sequence_length = TOKENS,
                                       .micro_batch = 1,
                                       .tokens_per_sequence = 1,
                                       .steps = 1};
    plan->recompute = (struct recompute_plan){0};
    plan->stack.attention = BACKEND_FLASH;
    plan->stack.graphs = GRAPHS_NONE;
    plan->precision.activations = DTYPE_BF16;
}

static void build(const struct plan *plan, struct arena *arena, struct work *work)
{
    struct err err = {0};
    *work = (struct work){0};
    if (work_build(plan, arena, work, &err))
        fail_msg("%s (%s)", err.text, err.hint);
}

/* Bytes a token saves in a layer of a kind, but for what experts and their routing save. */
static uint64_t saved(const struct plan *plan, enum layer_kind kind)
{
    struct arena arena = {0};
    struct work work;
    build(plan, &arena, &work);
    const uint64_t *values = listed_sizes(plan, &work);
    uint64_t sum = 0;
    for (size_t i = 0; i < work.n_buffers; i++) {
        const struct buffer *b = &work.buffers[i];
        bool counts = b->category == CATEGORY_ATTENTION || b->category == CATEGORY_ACTIVATION ||
                      b->category == CATEGORY_CHECKPOINT || strstr(b->name, "place");
        if (b->segment == segment_of_kind(kind) && b->life == LIFE_SAVED && counts)
            sum += values[b->all.node];
    }
    arena_release(&arena);
    return sum / TOKENS;
}

/* Of the buffers with this name in a segment, all copies. */
static uint64_t named(const struct plan *plan, const char *name, enum segment segment)
{
    struct arena arena = {0};
    struct work work;
    build(plan, &arena, &work);
    const uint64_t *values = listed_sizes(plan, &work);
    uint64_t sum = 0;
    for (size_t i = 0; i < work.n_buffers; i++)
        if (!strcmp(work.buffers[i].name, name) && work.buffers[i].segment == segment)
            sum += values[work.buffers[i].all.node];
    arena_release(&arena);
    return sum;
}

/* DeepSeek-V4-Flash: H 4096 in 4 copies, 64 heads of 512, ranks 1024, 8 groups to 1024 each, a
 * window of 128; csa keeps 512 places of entries of 4 tokens, hca those of 4096 / 128, in
 * blocks of 64. Per token, in 2 bytes unless it says else. */
enum { H = 4096, HEADS = 64, HEAD = 512, Q = HEADS * HEAD };

static uint64_t site(void)
{
    uint64_t mixes = 4 * 4 + 2 * 4; /* twice in f32 with a norm and a square, once in 16 bits */
    return 2 * 4 * H + 2 * H + 2 * H + 2 * H + 4 * (2 * mixes + 1 + 16) + 2 * mixes;
}

static uint64_t window(void)
{
    return 2 * 1024 * 2 + 2 * Q * 3 + 2 * HEAD * 2 + 4 * 128 + 4 + 4 * HEADS + 2 * 8 * 1024;
}

static void a_layer_saves_copies_and_entries(void **state)
{
    (void)state;
    const uint64_t csa = 2 * HEAD / 4 + 4 * 512 + 4 * 2 * 2 * HEAD + 2 * HEAD / 4 +
                         4 * 2 * 2 * 128 + 2 * 128 / 4 + 2 * 64 * 128 + 2 * 64 + 2 * 128 / 4;
    const uint64_t hca = 2 * HEAD / 128 + 4 * 64 + 4 * 2 * HEAD + 2 * HEAD / 128;
    struct arena arena = {0};
    struct plan plan;
    trains("deepseek-v4-flash", "b200-8x8", &arena, &plan);
    assert_int_equal(site(), 57652);
    assert_int_equal(window(), 219908);
    /* mappings and places: 115,304 of both sites */
    assert_int_equal(saved(&plan, KIND_WINDOW_MOE), 2 * site() + window());
    assert_int_equal(saved(&plan, KIND_CSA_MOE), 2 * site() + window() + csa);
    assert_int_equal(saved(&plan, KIND_HCA_MOE), 2 * site() + window() + hca);
    /* four copies of H between the layers, in the head, on the way to the next stage */
    enum segment kind = segment_of_kind(KIND_CSA_MOE);
    assert_int_equal(named(&plan, "layer_input", kind), TOKENS * 2 * 4 * H);
    assert_int_equal(named(&plan, "head_residual", SEGMENT_HEAD), TOKENS * 2 * 4 * H);
    assert_int_equal(named(&plan, "routing_tables", SEGMENT_STEP), 3 * 129280 * 6 * 4);
    plan.parallel.pp = 2;
    assert_int_equal(named(&plan, "pipeline_gradient", SEGMENT_STEP), TOKENS * 2 * 4 * H);
    arena_release(&arena);
}

/* In mxfp8 a saved copy has 33/32 bytes an element. Two of H where entries keep the row in 16
 * bits, q_up's of the latent in place of its 16 bits, one more of the indexer's queries; the
 * output's groups and the projection behind them save what they are given. With delayed scaling
 * the projection keeps its copy alone. */
static void a_recipe_keeps_copies(void **state)
{
    (void)state;
    const uint64_t h = H + H / 32, q = 1024 + 1024 / 32;
    struct arena arena = {0};
    struct plan plan;
    trains("deepseek-v4-flash", "b200-8x8", &arena, &plan);
    const uint64_t window = saved(&plan, KIND_WINDOW_MOE), csa = saved(&plan, KIND_CSA_MOE),
                   hca = saved(&plan, KIND_HCA_MOE);
    plan.precision.recipe = RECIPE_MXFP8;
    assert_int_equal(saved(&plan, KIND_CSA_MOE), csa + 2 * h - 2 * 1024 + q + q);
    assert_int_equal(saved(&plan, KIND_HCA_MOE), hca + 2 * h - 2 * 1024 + q);
    assert_int_equal(saved(&plan, KIND_WINDOW_MOE), window - 2 * 1024 + q);
    plan.precision.recipe = RECIPE_FP8_DELAYED;
    assert_int_equal(saved(&plan, KIND_HCA_MOE), hca + 2 * H - 1024 - 8 * 1024);
    arena_release(&arena);
}

/* Of one layer of type csa in copies of two bytes an element and 1/16: queries down and up,
 * the head, the projection and the indexer's queries; not entries, the indexer's weights, nor
 * the output's groups. */
static void entries_are_made_outside_a_recipe(void **state)
{
    (void)state;
    const uint64_t of_all = H * 1024 + 1024 * Q + H * HEAD + 8 * 1024 * H,
                   index = 1024 * 64 * 128, shared = 3 * H * 2048;
    struct arena arena = {0};
    struct plan plan;
    trains("deepseek-v4-flash", "b200-8x8", &arena, &plan);
    plan.precision.recipe = RECIPE_MXFP8;
    assert_int_equal(named(&plan, "quantized_weights", SEGMENT_STEP),
                     (43 * (of_all + shared) + 21 * index) * 2 * 33 / 32);
    arena_release(&arena);
}

static void words(struct word_list *list, const char *const *names, unsigned n)
{
    list->n = n;
    for (unsigned i = 0; i < n; i++)
        snprintf(list->word[i], sizeof list->word[i], "%s", names[i]);
}

/* Megatron-Bridge's adapters of DeepSeek-V4 (recipes/deepseek/deepseek_v4.py), rank 32: of one
 * layer A and B of six matrices, of each expert of two. The indexer trains no more: its sums
 * and the gradients of its loss go; what a low rank of 32 makes of six inputs stays. */
static void adapters_stand_beside_named_matrices(void **state)
{
    (void)state;
    static const char *const bridge[] = {"linear_q_down_proj", "linear_q_up_proj",
                                         "linear_kv_proj",     "linear_proj",
                                         "linear_fc1",         "linear_fc2"};
    static const char *const output[] = {"linear_proj"}, *const up[] = {"mla_up_proj"};
    const uint64_t index = 4 * 2 * 2 * 128 + 2 * 128 / 4 + 2 * 64 * 128 + 2 * 64 + 2 * 128 / 4;
    const uint64_t layer = (H + 1024) + (1024 + Q) + (H + HEAD) + (8 * 1024 + H) +
                           (H + 2 * 2048) + (2048 + H),
                   expert = (H + 2 * 2048) + (2048 + H);
    struct arena arena = {0};
    struct plan plan;
    trains("deepseek-v4-flash", "b200-8x8", &arena, &plan);
    plan.parallel.ep = 8;
    const uint64_t csa = saved(&plan, KIND_CSA_MOE);
    plan.lora = (struct lora){.rank = 32, .format = DTYPE_BF16};
    words(&plan.lora.targets, bridge, 6);
    assert_int_equal(saved(&plan, KIND_CSA_MOE), csa - index + 6 * 2 * 32);
    assert_int_equal(named(&plan, "adapters", SEGMENT_STEP), 2 * 32 * 43 * layer);
    assert_int_equal(named(&plan, "expert_adapters", SEGMENT_STEP),
                     2 * 32 * UINT64_C(43) * (256 / 8) * expert);
    /* rows that no adapted product reads go, unless mla_up_proj is made again of them */
    words(&plan.lora.targets, output, 1);
    assert_int_equal(saved(&plan, KIND_CSA_MOE), csa - index - 2 * 2 * H - 2 * 1024 + 2 * 32);
    const uint64_t made = 2 * Q * 2 + 2 * HEAD;
    plan.recompute.kind = RECOMPUTE_SELECTIVE;
    words(&plan.recompute.modules, up, 1);
    assert_int_equal(saved(&plan, KIND_CSA_MOE), csa - index - 2 * H + 2 * 32 - made);
    arena_release(&arena);
}

/* mla_up_proj makes queries and what their norm and the head's read again; mhc every row,
 * norm and copy of a chunk at once: 43 layers have 86 of each, the last copies stay. */
static void modules_run_again(void **state)
{
    (void)state;
    static const char *const up[] = {"mla_up_proj"}, *const mhc[] = {"mhc"};
    struct arena arena = {0};
    struct plan plan;
    trains("deepseek-v4-flash", "b200-8x8", &arena, &plan);
    uint64_t all = saved(&plan, KIND_CSA_MOE), window_all = saved(&plan, KIND_WINDOW_MOE);
    plan.recompute.kind = RECOMPUTE_SELECTIVE;
    words(&plan.recompute.modules, up, 1);
    assert_int_equal(all - saved(&plan, KIND_CSA_MOE), 2 * 2 * Q + 2 * HEAD);
    assert_int_equal(window_all - saved(&plan, KIND_WINDOW_MOE), 2 * 2 * Q + 2 * 2 * HEAD);
    words(&plan.recompute.modules, mhc, 1);
    assert_int_equal(all - saved(&plan, KIND_CSA_MOE), 2 * 2 * 4 * H + 2 * 2 * 2 * H);
    enum segment kind = segment_of_kind(KIND_HCA_MOE);
    assert_int_equal(named(&plan, "streams_again", kind), 85 * (uint64_t)TOKENS * 2 * 4 * H);
    assert_int_equal(named(&plan, "rows_again", kind), 172 * (uint64_t)TOKENS * 2 * H);
    assert_int_equal(named(&plan, "chunk_inputs", SEGMENT_STEP), TOKENS * 2 * 4 * H);
    arena_release(&arena);
}

/* Kimi-K3, H 7168: the weighed row before a mixer and a network, two f32 numbers of each of 8
 * sums and of the one that is begun, and one of all; gradients of the sums, and of all anew. */
static void block_sums_are_weighed(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan, plain;
    const uint64_t row = 2 * 7168;
    trains("kimi-k3", "b300-8x32", &arena, &plan);
    plain = plan;
    plain.model.residual_block = 0;
    enum segment kind = segment_of_kind(KIND_LINEAR_MOE);
    assert_int_equal(saved(&plan, KIND_LINEAR_MOE) - saved(&plain, KIND_LINEAR_MOE),
                     2 * (row + 4 * (2 * 9 + 1)));
    assert_int_equal(named(&plan, "d_block_sums", kind), TOKENS * 8 * row);
    assert_int_equal(named(&plan, "d_mlp_values", kind), TOKENS * 9 * row);
    assert_int_equal(named(&plan, "head_residual", SEGMENT_HEAD), TOKENS * row);
    assert_int_equal(named(&plan, "d_head_residual", SEGMENT_HEAD), TOKENS * 9 * row);
    /* of 93 layers 24, 23, 23, 23: the second takes two sums over, of three micro-batches */
    plan.parallel.pp = 4;
    plan.parallel.stage = 2;
    plan.workload.global_batch = 64 * 16;
    assert_int_equal(named(&plan, "received_block_sums", SEGMENT_STEP), 3 * 2 * TOKENS * row);
    assert_int_equal(named(&plan, "pipeline_gradient", SEGMENT_STEP), TOKENS * (4 + 1) * row);
    arena_release(&arena);
}

static void expect_refused(const struct plan *plan, const char *said, const char *hint)
{
    struct arena arena = {0};
    struct work work = {0};
    struct err err = {0};
    assert_int_equal(work_build(plan, &arena, &work, &err), STATUS_INPUT);
    if (!strstr(err.text, said) || !strstr(err.hint, hint))
        fail_msg("'%s' (%s) lacks '%s' (%s)", err.text, err.hint, said, hint);
    arena_release(&arena);
}

static void what_megatron_refuses_is_refused(void **state)
{
    (void)state;
    static const char *const mhc[] = {"mhc"}, *const core[] = {"moe_act", "core_attn"};
    struct arena arena = {0};
    struct plan plan, other;
    trains("deepseek-v4-flash", "b200-8x8", &arena, &plan);
    other = plan;
    other.parallel.tp = 2;
    expect_refused(&other, "not split over tp", "parallel.tp");
    other = plan;
    other.parallel.cp = 2;
    expect_refused(&other, "split context", "parallel.cp");
    other = plan;
    other.recompute.kind = RECOMPUTE_SELECTIVE;
    expect_refused(&other, "core_attn", "mla_up_proj");
    words(&other.recompute.modules, core, 2);
    expect_refused(&other, "core_attn", "mla_up_proj");
    other = plan;
    other.stack.attention = BACKEND_UNFUSED;
    expect_refused(&other, "without its kernels", "flash");
    other = plan;
    other.model.mtp_enabled = true;
    expect_refused(&other, "prediction modules", "mtp_enabled");
    other = plan;
    other.stack.graphs = GRAPHS_PARTIAL;
    expect_refused(&other, "CUDA graphs", "none");
    trains("deepseek-v3", "b200-8x8", &arena, &plan);
    plan.recompute.kind = RECOMPUTE_SELECTIVE;
    words(&plan.recompute.modules, mhc, 1);
    expect_refused(&plan, "the model has none", "without it");
    arena_release(&arena);
}

/* Bytes that the ops with this name read. */
static uint64_t read_by(const struct work *work, const uint64_t *values, const char *name)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < work->n_ops; i++)
        if (!strcmp(work->ops[i].name, name))
            sum += values[work->ops[i].bytes_read.node];
    if (!sum)
        fail_msg("no op %s", name);
    return sum;
}

/* What weighs copies, or sums, reads them all, and in backward again with the row's gradient.
 */
static void steps_read_copies_and_sums(void **state)
{
    (void)state;
    static const struct {
        const char *model, *name, *back;
        uint64_t columns, row;
    } rows[] = {{"deepseek-v4-flash", "collapse_head", "back_collapse_head", 4 * H, H},
                {"kimi-k3", "weigh_head", "back_weigh_head", 9 * 7168, 7168}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        trains(rows[i].model, "b200-8x8", &arena, &plan);
        build(&plan, &arena, &work);
        assert_int_equal(work_ops(&plan, &work, &err), STATUS_OK);
        const uint64_t *values = listed_sizes(&plan, &work);
        uint64_t mixes = i ? 0 : 4 * 4;
        assert_int_equal(read_by(&work, values, rows[i].name),
                         TOKENS * (2 * rows[i].columns + mixes));
        assert_int_equal(read_by(&work, values, rows[i].back),
                         TOKENS * (2 * rows[i].columns + 2 * rows[i].row + mixes));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_saves_copies_and_entries),
        cmocka_unit_test(a_recipe_keeps_copies),
        cmocka_unit_test(entries_are_made_outside_a_recipe),
        cmocka_unit_test(adapters_stand_beside_named_matrices),
        cmocka_unit_test(modules_run_again),
        cmocka_unit_test(block_sums_are_weighed),
        cmocka_unit_test(what_megatron_refuses_is_refused),
        cmocka_unit_test(steps_read_copies_and_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
