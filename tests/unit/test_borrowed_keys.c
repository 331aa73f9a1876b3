/* Gemma-4 E2B and E4B: layers that read keys and values of earlier ones, and embeddings of the
 * layers. Worked from transformers' configuration of the variants and its modules
 * (models/gemma4/convert_gemma4_weights.py at 0f3f0632, modular_gemma4.py at 033b1a82). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/layers.h"
#include "plan/rule/rule.h"
#include "sim/serve/serving_cache.h"
#include "support/catalogue.h"
#include "support/listed.h"
#include "support/plans.h"
#include "plan/mixer.h"
#include "work/list/shape.h"
#include "work/list/work.h"
#include "work/piece/cache.h"
#include "work/piece/dims.h"
#include "work/piece/stage.h"

/* The two, with layers that have a window and all of its own, all but that, and those that
 * borrow of either. */
static const struct variant {
    const char *model;
    uint64_t hidden, inter, wide, layers, kv_heads;
    uint64_t window, full, window_borrow, borrow;
} variants[] = {
    {"gemma-4-e2b", 1536, 6144, 12288, 35, 1, 12, 3, 16, 4},
    {"gemma-4-e4b", 2560, 10240, 10240, 42, 2, 20, 4, 15, 3},
};

enum { VARIANTS = 2, VOCAB = 262144, WIDTH = 256, HEADS = 8 };

/* Keys, values and the norm of keys in a layer with heads of d. */
static uint64_t keys_of(const struct variant *v, uint64_t d)
{
    return 2 * v->kv_heads * d * v->hidden + d;
}

/* What the last layers have of these in the checkpoint, where nothing reads it. */
static uint64_t unread(const struct variant *v)
{
    return v->window_borrow * keys_of(v, 256) + v->borrow * keys_of(v, 512);
}

static uint64_t table_of(const struct variant *v)
{
    return VOCAB * v->layers * WIDTH;
}

/* The language model, layer by layer. */
static uint64_t text_of(const struct variant *v)
{
    const uint64_t h = v->hidden;
    uint64_t q256 = 2 * HEADS * 256 * h + 256, q512 = 2 * HEADS * 512 * h + 512;
    uint64_t embedded = 2 * WIDTH * h + h, norms = 4 * h + 1; /* and the layer's factor */
    uint64_t own = v->window + v->full, borrowing = v->window_borrow + v->borrow;
    return VOCAB * h + h + table_of(v) + v->layers * WIDTH * h + WIDTH +
           v->layers * (embedded + norms) + (v->window + v->window_borrow) * q256 +
           (v->full + v->borrow) * q512 + v->window * keys_of(v, 256) +
           v->full * keys_of(v, 512) + 3 * h * (own * v->inter + borrowing * v->wide);
}

/* SigLIP's likes: 16 layers of 768 with four norms, patches, positions; and the product to the
 * tokens' width. */
static uint64_t vision_of(const struct variant *v)
{
    const uint64_t e = 768;
    uint64_t layer = 4 * e * e + 3 * e * 3072 + 4 * e + 2 * 64;
    return 16 * layer + e * e + 2 * 10240 * e + e * v->hidden;
}

/* 12 layers of 1,024: two networks, attention with relative positions, a convolution of 5 by
 * channel, norms; before them two of 3 x 3, behind them a product with a bias; and the product
 * to the tokens' width. */
static uint64_t audio_of(const struct variant *v)
{
    const uint64_t h = 1024;
    uint64_t network = 2 * 4 * h * h + 2 * h, attention = 5 * h * h + h / 8,
             convolution = 3 * h * h + 5 * h + 2 * h;
    uint64_t layer = 2 * network + attention + convolution + 3 * h;
    uint64_t before = 9 * 128 + 128 + 9 * 128 * 32 + 32 + 32 * 32 * h;
    return 12 * layer + before + h * 1536 + 1536 + 1536 * v->hidden;
}

/* ---- parameters ---- */

/* The text model is what the text checkpoint in GGUF has (4,647,450,147 and 7,518,069,290, with
 * 256 frequencies of rotary positions), but for the matrices that nothing reads; with both
 * encoders it is what safetensors count (5,123,178,051 and 7,996,156,490; bounds of clipped
 * products are no elements there). */
static void counts_are_the_checkpoints(void **state)
{
    (void)state;
    static const uint64_t gguf[] = {4647450147, 7518069290}, all[] = {5123178051, 7996156490};
    static const uint64_t active[] = {2279759139, 4644441130};
    for (size_t i = 0; i < VARIANTS; i++) {
        const struct variant *v = &variants[i];
        struct arena arena = {0};
        struct plan plan;
        struct params p;
        catalogue_plan(v->model, NULL, NULL, &arena, &plan);
        params_count(&plan.model, &p);
        print_message("%s\n", v->model);
        assert_int_equal(p.parameters, text_of(v) + vision_of(v) + audio_of(v));
        assert_int_equal(p.layer_table, table_of(v));
        assert_int_equal(params_encoder(&p), vision_of(v) + audio_of(v));
        assert_int_equal(audio_of(v), 304824608 + 1536 * v->hidden);
        assert_int_equal(gguf[i], text_of(v) + unread(v) + 256);
        assert_int_equal(all[i], p.parameters + unread(v));
        /* "effective": all but the table of the layers' embeddings */
        assert_int_equal(text_of(v) - table_of(v), active[i]);
        assert_true(p.active < active[i] && active[i] - p.active < 1000000); /* vectors */
        arena_release(&arena);
    }
}

static void mixers_have_their_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        const struct variant *v = &variants[i];
        struct arena arena = {0};
        struct plan plan;
        struct params p;
        catalogue_plan(v->model, NULL, NULL, &arena, &plan);
        params_count(&plan.model, &p);
        const struct model *m = &plan.model;
        assert_int_equal(model_mixers(m, MIXER_WINDOW), v->window);
        assert_int_equal(model_mixers(m, MIXER_FULL), v->full);
        assert_int_equal(model_mixers(m, MIXER_WINDOW_BORROW), v->window_borrow);
        assert_int_equal(model_mixers(m, MIXER_BORROW), v->borrow);
        assert_int_equal(params_part_total(p.mixer[MIXER_WINDOW]) -
                             params_part_total(p.mixer[MIXER_WINDOW_BORROW]),
                         keys_of(v, 256));
        assert_int_equal(params_part_total(p.mixer[MIXER_FULL]) -
                             params_part_total(p.mixer[MIXER_BORROW]),
                         keys_of(v, 512));
        assert_int_equal(p.borrow_mlp.matrices, 3 * v->hidden * v->wide);
        bool overflow = false; /* they attend as their kind does */
        assert_int_equal(mixer_flop(m, MIXER_BORROW, 4096, &overflow), 2 * HEADS * 512 * 4096);
        assert_int_equal(mixer_flop(m, MIXER_WINDOW_BORROW, 4096, &overflow),
                         2 * HEADS * 256 * (1024 - 64));
        arena_release(&arena);
    }
}

/* ---- the cache ---- */

/* Of layers with keys of their own alone: 2 nk d b of a token in full ones, of 512 tokens at
 * most in window layers. */
static void only_owners_cache(void **state)
{
    (void)state;
    static const uint64_t token[] = {6144, 16384}, bounded[] = {6291456, 20971520};
    for (size_t i = 0; i < VARIANTS; i++) {
        const struct variant *v = &variants[i];
        struct arena arena = {0};
        struct plan plan;
        catalogue_plan(v->model, NULL, NULL, &arena, &plan);
        plan.precision.kv_cache = plan.precision.activations = DTYPE_BF16;
        assert_int_equal(v->full * 2 * v->kv_heads * 512 * 2, token[i]);
        assert_int_equal(v->window * 512 * 2 * v->kv_heads * 256 * 2, bounded[i]);
        assert_int_equal(cache_layer_bytes(&plan, MIXER_BORROW, 32768), 0);
        assert_int_equal(cache_layer_bytes(&plan, MIXER_WINDOW_BORROW, 32768), 0);
        assert_int_equal(cache_sequence_bytes(&plan, 32768), bounded[i] + 32768 * token[i]);
        arena_release(&arena);
    }
}

/* vLLM's groups are of three layers, E4B's of four: one full, five of windows or four. */
static void groups_are_of_owners(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        const struct variant *v = &variants[i];
        struct arena arena = {0};
        struct plan plan;
        struct slots slots;
        struct cache_groups groups;
        catalogue_plan(v->model, "h100-8x1", "vllm", &arena, &plan);
        slots_from_plan(&plan, &slots);
        cache_groups_of(&plan, &slots, &groups);
        assert_int_equal(groups.layers, v->full);
        assert_int_equal(groups.groups[MIXER_FULL], 1);
        assert_int_equal(groups.groups[MIXER_WINDOW], v->window / v->full);
        assert_int_equal(groups.times[MIXER_WINDOW], 2);
        assert_int_equal(groups.block_bytes, v->full * 16 * 2 * v->kv_heads * 512 * 2);
        arena_release(&arena);
    }
}

/* ---- lists ---- */

struct sums {
    uint64_t saved, weights, cache;
};

static uint64_t bytes_of(const struct work *work, const uint64_t *values, const char *name,
                         enum segment segment)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < work->n_buffers; i++)
        if (text_equal(work->buffers[i].name, name) && work->buffers[i].segment == segment)
            sum += values[work->buffers[i].all.node];
    return sum;
}

static void build(const struct plan *plan, struct arena *arena, struct work *work)
{
    struct err err = {0};
    if (work_build(plan, arena, work, &err))
        fail_msg("%s (%s)", err.text, err.hint);
}

static struct sums sum_up(const struct plan *plan, enum layer_kind kind)
{
    struct arena arena = {0};
    struct work work;
    struct sums sums = {0};
    build(plan, &arena, &work);
    uint64_t *values = listed_sizes(plan, &work);
    for (size_t i = 0; i < work.n_buffers; i++) {
        const struct buffer *b = &work.buffers[i];
        uint64_t bytes = values[b->all.node];
        bool saved = b->segment == segment_of_kind(kind) && b->life == LIFE_SAVED;
        sums.saved += saved ? bytes : 0;
        sums.weights += b->category == CATEGORY_WEIGHTS ? bytes : 0;
        sums.cache += b->category == CATEGORY_KV_CACHE ? bytes : 0;
    }
    arena_release(&arena);
    return sums;
}

/* Of a token, in eager transformers: three norms' casts (4 H each), inputs of attention, of its
 * norm, of the network, of its norm, and of the layer's gate (2 H each), what the norm of
 * queries and keys reads, q, context, statistics, four tensors of the network and three of the
 * layer's embedding. A layer that borrows has no k and v among these. */
static void training_saves_no_borrowed_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        const struct variant *v = &variants[i];
        const struct {
            enum layer_kind kind;
            uint64_t head, inter;
            bool own;
        } rows[] = {{KIND_WINDOW_DENSE, 256, v->inter, true},
                    {KIND_DENSE, 512, v->inter, true},
                    {KIND_WINDOW_BORROW_DENSE, 256, v->wide, false},
                    {KIND_BORROW_DENSE, 512, v->wide, false}};
        struct arena arena = {0};
        struct plan plan;
        catalogue_plan(v->model, "h100-8x8", "fsdp", &arena, &plan);
        plan_trains(&plan);
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            uint64_t q = HEADS * rows[j].head, kv = 2 * v->kv_heads * rows[j].head;
            uint64_t bytes = 22 * v->hidden + 2 * 3 * q + 4 * HEADS + 8 * rows[j].inter +
                             2 * 3 * WIDTH + (rows[j].own ? 2 * 2 * kv : 0);
            print_message("%s, %s\n", v->model, kind_name(rows[j].kind));
            assert_int_equal(sum_up(&plan, rows[j].kind).saved / 4096, bytes);
        }
        arena_release(&arena);
    }
}

/* Over tp transformers splits heads and networks; what a layer does with its own embeddings,
 * their table and the projection to them are whole on every rank. */
static void transformers_splits_heads_and_networks(void **state)
{
    (void)state;
    const struct variant *v = &variants[1];
    struct arena arena = {0};
    struct plan plan;
    struct params p;
    struct stage stage;
    catalogue_plan(v->model, "h100-8x8", "fsdp", &arena, &plan);
    plan_trains(&plan);
    plan.parallel.tp = 2;
    uint64_t q = HEADS * 256 / 2, kv = 2 * 256;
    uint64_t bytes =
        22 * v->hidden + 2 * 3 * q + 4 * HEADS / 2 + 8 * v->inter / 2 + 2 * 3 * WIDTH;
    assert_int_equal(sum_up(&plan, KIND_WINDOW_DENSE).saved / 4096, bytes + 2 * 2 * kv);
    assert_int_equal(sum_up(&plan, KIND_WINDOW_BORROW_DENSE).saved / 4096, bytes);
    plan.model.encoder = (struct encoder){0};
    params_count(&plan.model, &p);
    stage_at(&plan, 0, 0, &p, &stage);
    uint64_t split = VOCAB * v->hidden + 3 * v->hidden * v->inter * v->layers +
                     (v->window + v->window_borrow) * 2 * HEADS * 256 * v->hidden +
                     (v->full + v->borrow) * 2 * HEADS * 512 * v->hidden +
                     2 * v->kv_heads * v->hidden * (v->window * 256 + v->full * 512);
    assert_int_equal(stage.dense_parameters - (text_of(v) - split), split / 2);
    arena_release(&arena);
}

/* Embeddings of all layers are there from forward to backward, with what their norm saves; keys
 * and values that are lent stay where their layers run again. */
static void the_ends_keep_what_layers_read(void **state)
{
    (void)state;
    static const char *const stacks[] = {"fsdp", "deepspeed", "generic"};
    for (size_t i = 0; i < VARIANTS; i++)
        for (size_t j = 0; j < sizeof stacks / sizeof *stacks; j++) {
            const struct variant *v = &variants[i];
            struct arena arena = {0};
            struct plan plan;
            struct work work;
            catalogue_plan(v->model, "h100-8x8", stacks[j], &arena, &plan);
            plan_trains(&plan);
            uint64_t all = 4096 * v->layers * WIDTH, lent = 2 * v->kv_heads * (256 + 512);
            for (unsigned again = 0; again < 2; again++) {
                plan.recompute.kind = again ? RECOMPUTE_FULL : RECOMPUTE_NONE;
                build(&plan, &arena, &work);
                const uint64_t *values = listed_sizes(&plan, &work);
                print_message("%s, %s\n", v->model, stacks[j]);
                assert_int_equal(bytes_of(&work, values, "layer_embeddings", SEGMENT_EMBED),
                                 2 * all);
                assert_int_equal(
                    bytes_of(&work, values, "layer_embeddings_norm_in", SEGMENT_EMBED),
                    (j < 2 ? 4 : 2) * all);
                assert_int_equal(bytes_of(&work, values, "lent_keys", SEGMENT_EMBED),
                                 again ? 4096 * 2 * lent : 0);
                assert_int_equal(
                    bytes_of(&work, values, "d_lent_keys", segment_of_kind(KIND_BORROW_DENSE)),
                    4096 * 2 * lent);
            }
            arena_release(&arena);
        }
}

/* ---- engines ---- */

/* Every parameter stands once, in 2 bytes, and those that nothing reads. Over tp vLLM splits
 * the table, SGLang does not. */
/* Over four ranks of cp AutoModel's ring holds keys and values of all ranks before a rank's
 * own: of three in full layers, of one in windows of 512 where a rank has 1,024 tokens and of
 * two where it has 256; backward holds them again, all their gradients and in f32 that of
 * queries. Embeddings are made of the whole context. */
static void a_ring_holds_all_chunks(void **state)
{
    (void)state;
    const struct variant *v = &variants[1];
    struct arena arena = {0};
    struct plan plan;
    struct work work;
    catalogue_plan(v->model, "h100-8x8", "fsdp", &arena, &plan);
    plan_trains(&plan);
    plan.parallel.cp = 4;
    build(&plan, &arena, &work);
    const uint64_t *values = listed_sizes(&plan, &work);
    const uint64_t full = 2 * v->kv_heads * 512 * 2 * 1024, window = full / 2;
    const enum segment f = segment_of_kind(KIND_DENSE), w = segment_of_kind(KIND_WINDOW_DENSE);
    assert_int_equal(bytes_of(&work, values, "ring_kv_chunks", f), 3 * full);
    assert_int_equal(bytes_of(&work, values, "ring_kv_chunks_again", f), 3 * full);
    assert_int_equal(bytes_of(&work, values, "d_ring_kv_chunks", f), 4 * full);
    assert_int_equal(bytes_of(&work, values, "d_ring_q", f), 4 * 1024 * HEADS * 512);
    assert_int_equal(bytes_of(&work, values, "ring_kv_chunks", w), window);
    assert_int_equal(bytes_of(&work, values, "d_ring_kv_chunks", w), 2 * window);
    assert_int_equal(bytes_of(&work, values, "whole_embedded", SEGMENT_EMBED),
                     2 * 4096 * v->hidden);
    assert_int_equal(bytes_of(&work, values, "whole_layer_embedding_rows", SEGMENT_EMBED),
                     2 * 4096 * v->layers * WIDTH);
    plan.workload.sequence_length = 1024;
    build(&plan, &arena, &work);
    values = listed_sizes(&plan, &work);
    assert_int_equal(bytes_of(&work, values, "ring_kv_chunks", w), 2 * window / 4);
    arena_release(&arena);
}

static void an_engine_holds_every_parameter(void **state)
{
    (void)state;
    static const char *const stacks[] = {"vllm", "sglang"};
    for (size_t i = 0; i < VARIANTS; i++)
        for (size_t j = 0; j < 2; j++) {
            const struct variant *v = &variants[i];
            struct arena arena = {0};
            struct plan plan;
            struct params p;
            struct work work;
            catalogue_plan(v->model, "h200-1x1", stacks[j], &arena, &plan);
            plan.precision.weights = DTYPE_BF16;
            params_count(&plan.model, &p);
            print_message("%s, %s\n", v->model, stacks[j]);
            assert_int_equal(sum_up(&plan, KIND_DENSE).weights, 2 * (p.parameters + unread(v)));
            catalogue_plan(v->model, "h100-4x1", stacks[j], &arena, &plan);
            plan.parallel.tp = 4;
            build(&plan, &arena, &work);
            const uint64_t *values = listed_sizes(&plan, &work);
            assert_int_equal(bytes_of(&work, values, "layer_embedding_table", SEGMENT_STEP),
                             2 * table_of(v) / (j ? 1 : 4));
            arena_release(&arena);
        }
}

/* ---- limits ---- */

static void expect_broken(const struct plan *plan, const char *said)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    const struct rule *rule = rule_check(plan, text, hint);
    assert_non_null(rule);
    assert_string_equal(rule->key, "model.layer_types");
    if (!strstr(text, said))
        fail_msg("'%s' lacks '%s'", text, said);
}

static void what_is_not_modelled_is_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan, other;
    struct err err = {0};
    struct work work;
    catalogue_plan("gemma-4-e4b", "h100-8x8", "fsdp", &arena, &plan);
    plan_trains(&plan);
    other = plan;
    other.model.layer_types = (struct enum_list){2, {LAYER_WINDOW, LAYER_BORROW}};
    expect_broken(&other, "layer 2 is of type borrow, and no layer before it is of type full");
    other.model.layer_types = (struct enum_list){2, {LAYER_FULL, LAYER_WINDOW_BORROW}};
    expect_broken(&other, "layer 2 is of type window_borrow");
    other = plan;
    other.parallel.pp = 2;
    expect_broken(&other, "pipeline stages");
    other = plan;
    other.parallel.tp = 4;
    expect_broken(&other, "key and value heads that parallel.tp does not divide");
    other.stack.kind = STACK_DEEPSPEED;
    expect_broken(&other, "tensor parallelism in training on this stack");
    other = plan;
    other.parallel.cp = 2;
    other.stack.kind = STACK_DEEPSPEED;
    expect_broken(&other, "a split context on this stack");
    other = plan;
    other.model.layer_types = (struct enum_list){0};
    other.model.residual_streams = 2;
    expect_broken(&other, "embeddings of layers with copies");
    static const char *const stacks[] = {"megatron", "torchtitan", "maxtext", "primus"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        catalogue_plan("gemma-4-e2b", "h100-8x8", stacks[i], &arena, &plan);
        plan_trains(&plan);
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_INPUT);
        assert_non_null(strstr(err.text, "not modelled for stack"));
    }
    arena_release(&arena);
}

/* A model none of whose layers borrows is one of its own layers. */
static void a_wide_network_is_the_borrowers_alone(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    catalogue_plan("gemma-4-e2b", "h100-8x8", "fsdp", &arena, &plan);
    assert_int_equal(model_dense_width(&plan.model, MIXER_WINDOW_BORROW), 12288);
    assert_int_equal(model_dense_width(&plan.model, MIXER_FULL), 6144);
    assert_false(dims_projects_kv(&plan, MIXER_BORROW));
    plan.stack.kind = STACK_VLLM;
    assert_true(dims_projects_kv(&plan, MIXER_BORROW));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_the_checkpoints),
        cmocka_unit_test(mixers_have_their_parameters),
        cmocka_unit_test(only_owners_cache),
        cmocka_unit_test(groups_are_of_owners),
        cmocka_unit_test(training_saves_no_borrowed_keys),
        cmocka_unit_test(transformers_splits_heads_and_networks),
        cmocka_unit_test(the_ends_keep_what_layers_read),
        cmocka_unit_test(a_ring_holds_all_chunks),
        cmocka_unit_test(an_engine_holds_every_parameter),
        cmocka_unit_test(what_is_not_modelled_is_refused),
        cmocka_unit_test(a_wide_network_is_the_borrowers_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
