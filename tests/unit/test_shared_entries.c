/* DeepSeek-V4.1-Flash: entries of keys that later layers read, choices among those of an
 * earlier layer, keys of an indexer that are made of entries, tables of n-grams without a
 * convolution. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/engine.h"
#include "plan/mixer.h"
#include "plan/params.h"
#include "plan/speculation.h"
#include "sim/serve/serving_cache.h"
#include "support/catalogue.h"
#include "support/listed.h"
#include "support/plans.h"
#include "work/list/shape.h"
#include "work/piece/cache.h"
#include "work/stack/stack.h"

static const char flash[] = "deepseek-v4.1-flash";

static void load(const char *cluster, const char *stack, enum dtype cache, struct arena *arena,
                 struct plan *plan)
{
    catalogue_plan(flash, cluster, stack, arena, plan);
    plan->precision.kv_cache = cache;
    plan->precision.activations = DTYPE_BF16;
    plan->workload.mode = MODE_DECODE;
}

/* 552B of the layers and ends, 196B of the tables and 0.3B of what projects them, and 16B that
 * a token of an answer is multiplied by (the publisher's); an encoder of 0.97 GB. */
static void parameters_are_the_published_ones(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct params p;
    load("b200-8x1", "vllm", DTYPE_FP8, &arena, &plan);
    params_count(&plan.model, &p);
    const uint64_t encoder = 485268480, rows = params_part_total(p.ngrams);
    const uint64_t rest = p.parameters - p.ngram_table - rows - encoder;
    assert_int_equal(p.ngram_table, UINT64_C(768022850) * 256);
    assert_int_equal(rows, UINT64_C(2) * 6144 * 5 * 5120 + 2 * 2 * 4 * 5120);
    assert_int_equal(rest, UINT64_C(551566165104));
    assert_int_equal(rest - p.embedding - 40 * (384 - 6) * params_part_total(p.expert),
                     UINT64_C(15815918704));
    arena_release(&arena);
}

/* The files' 288.778 GB of experts and 202.758 of tables, and of the rest but the encoder 9.532
 * (audits of their headers): 8 bits and a byte of scale for 1,024, 16 bits of what makes
 * entries and weighs the indexer's heads, 32 of streams, sinks and biases of the router. */
static void the_checkpoint_is_as_large_as_published(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct params p;
    load("b200-8x1", "vllm", DTYPE_FP8, &arena, &plan);
    params_count(&plan.model, &p);
    const struct model *m = &plan.model;
    const uint64_t eight = 40 * (UINT64_C(126615552) + p.shared.matrices) +
                           8 * UINT64_C(1280) * 4096 + 4 * 512 * 128;
    const uint64_t made = (3 * 2 + 1) * UINT64_C(512) * 5120, heads = 8 * 32 * 5120;
    const uint64_t wide = 80 * params_part_total(p.streams) + 40 * (64 + 2 * 384);
    const uint64_t norms = 40 * (1280 + 512) + 4 * (512 + 128) + 81 * 5120;
    const uint64_t half = made + heads + 40 * p.router.matrices + norms + 2 * m->vocab * 5120;
    assert_int_equal(40 * 384 * p.expert.matrices / 32 * 17, UINT64_C(288777830400));
    assert_int_equal(p.ngram_table / 32 * 33, UINT64_C(202758032400));
    assert_int_equal((eight / 1024 * 1025 + 2 * half + 4 * wide) / 1000000, 9531);
    arena_release(&arena);
}

/* What layers of each type have beside queries, one head and the output: kv and its gate, the
 * latent of one token alone, the indexer's q, weights and key of 512. */
static void layers_have_what_their_type_makes(void **state)
{
    (void)state;
    static const uint64_t rest = 126615552, part = 512 * 5120;
    static const uint64_t choice = 1280 * 4096 + 32 * 5120, key = 512 * 128;
    static const struct {
        enum mixer mixer;
        uint64_t matrices, norms;
    } rows[] = {
        {MIXER_WINDOW, 0, 0},
        {MIXER_CSA, 2 * 512 * 5120 + 1280 * 4096 + 32 * 5120 + 512 * 128, 512 + 128},
        {MIXER_CSA_REUSE, 0, 0},
        {MIXER_TSA, 512 * 5120 + 1280 * 4096 + 32 * 5120 + 512 * 128, 512 + 128},
        {MIXER_TSA_CHOOSE, 1280 * 4096 + 32 * 5120, 0},
        {MIXER_TSA_REUSE, 0, 0},
    };
    struct arena arena = {0};
    struct plan plan;
    bool overflow = false;
    load("b200-8x1", "vllm", DTYPE_FP8, &arena, &plan);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct params_part p = mixer_parameters(&plan.model, rows[i].mixer, &overflow);
        print_message("mixer %u\n", (unsigned)rows[i].mixer);
        assert_int_equal(p.matrices, rest + rows[i].matrices);
        assert_int_equal(p.norms, 1280 + 512 + rows[i].norms);
        assert_int_equal(p.biases, 64); /* sinks */
    }
    plan.model.attention.entry_keys = false; /* keys from a compressor of their own, biases */
    struct params_part own = mixer_parameters(&plan.model, MIXER_TSA, &overflow);
    assert_int_equal(own.matrices, rest + part + choice + 128 * 5120);
    assert_int_equal(own.biases, 64 + 512 + 128);
    assert_int_equal(key, 65536);
    arena_release(&arena);
}

/* Of 16 bits 1,024 bytes an entry and 256 of its key, in three layers for two tokens and in one
 * for each; 128 tokens' windows in all 40. In 8 bits 528 on Blackwell, 584 elsewhere, and 132
 * (vLLM models/deepseek_v41/attention.py). A ring of 8 rows of kv and gate in f32. */
static void sequences_hold_entries_once(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    static const struct {
        const char *cluster;
        uint64_t row;
    } rows[] = {{"b200-8x1", 528}, {"h200-8x1", 584}};
    load("b200-8x1", "vllm", DTYPE_BF16, &arena, &plan);
    assert_int_equal(cache_sequence_bytes(&plan, 65536),
                     UINT64_C(65536) * 1280 * 5 / 2 + UINT64_C(40) * 128 * 1024);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        load(rows[i].cluster, "vllm", DTYPE_FP8, &arena, &plan);
        assert_int_equal(cache_sequence_bytes(&plan, 65536),
                         65536 * (rows[i].row + 132) * 5 / 2 + 40 * 128 * rows[i].row);
        assert_int_equal(cache_entry_bytes(&plan, MIXER_CSA_REUSE, 65536), 0);
        assert_int_equal(cache_layer_bytes(&plan, MIXER_TSA_CHOOSE, 65536), 128 * rows[i].row);
        assert_int_equal(cache_open_bytes(&plan, MIXER_CSA), 8 * 2 * 512 * 4);
        assert_int_equal(cache_open_bytes(&plan, MIXER_TSA), 0);
    }
    plan.workload.speculation = (struct speculation){.tokens = 7, .method = DRAFT_NGRAM};
    assert_int_equal(cache_open_bytes(&plan, MIXER_CSA), 16 * 2 * 512 * 4);
    arena_release(&arena);
}

/* FLOP of the forward op of that name in layers of a kind, of a token; 0: there is none. */
static uint64_t flop_of(struct plan *plan, struct arena *arena, const char *name,
                        enum layer_kind kind)
{
    struct work work;
    struct err err = {0};
    uint64_t flop = 0;
    if (work_build(plan, arena, &work, &err) || work_ops(plan, &work, &err))
        fail_msg("%s", err.text);
    uint64_t *values = listed_sizes(plan, &work);
    for (size_t i = 0; i < work.n_ops; i++)
        if (work.ops[i].segment == segment_of_kind(kind) && text_equal(work.ops[i].name, name))
            flop += values[work.ops[i].flop.node];
    return flop;
}

/* A token behind 40,000 others scores half as many entries, all of them, or 16,384 that an
 * earlier layer left; it meets a window and 512 entries in every layer but the first two. */
static void steps_choose_among_fewer(void **state)
{
    (void)state;
    static const uint64_t index = 2 * 32 * 128, core = 2 * 64 * 2 * 512;
    static const struct {
        enum layer_kind kind;
        const char *op;
        uint64_t flop;
    } rows[] = {
        {KIND_CSA_MOE, "index", index * 20000},
        {KIND_CSA_REUSE_MOE, "index", 0},
        {KIND_TSA_MOE, "index", index * 40000},
        {KIND_TSA_CHOOSE_MOE, "index", index * 16384},
        {KIND_TSA_REUSE_MOE, "index", 0},
        {KIND_WINDOW_MOE, "attention", core * 128},
        {KIND_CSA_REUSE_MOE, "attention", core * (128 + 512)},
        {KIND_TSA_CHOOSE_MOE, "attention", core * (128 + 512)},
        {KIND_CSA_MOE, "entry_compress", UINT64_C(2) * 5120 * 2 * 512},
        {KIND_TSA_MOE, "entry_compress", UINT64_C(2) * 5120 * 512},
        {KIND_TSA_CHOOSE_MOE, "entry_compress", 0},
        {KIND_TSA_MOE, "index_entry_k", UINT64_C(2) * 512 * 128},
        {KIND_TSA_CHOOSE_MOE, "index_weights", UINT64_C(2) * 5120 * 32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        load("b200-8x1", "generic", DTYPE_BF16, &arena, &plan);
        plan.workload.context_length = 40000;
        plan.workload.micro_batch = 1;
        plan.workload.tokens_per_sequence = 1;
        print_message("%s of %s\n", rows[i].op, kind_name(rows[i].kind));
        assert_int_equal(flop_of(&plan, &arena, rows[i].op, rows[i].kind), rows[i].flop);
        arena_release(&arena);
    }
}

/* What a token multiplies by attention as the model's count has it: of a sequence of 65,536 the
 * choice among 16,384 is of 2 x 16,384 - 16,384^2 / 65,536 in the mean, twice. */
static void counts_agree_with_steps(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    bool overflow = false;
    load("b200-8x1", "generic", DTYPE_BF16, &arena, &plan);
    const struct model *m = &plan.model;
    const uint64_t index = 32 * 128, met = 2 * 128 + 2 * 512 - 4;
    assert_int_equal(params_reach(m, MIXER_TSA_REUSE, 65536), met);
    assert_int_equal(params_reach(m, MIXER_CSA_REUSE, 65536), met - 4);
    assert_int_equal(mixer_flop(m, MIXER_TSA_CHOOSE, 65536, &overflow) -
                         mixer_flop(m, MIXER_TSA_REUSE, 65536, &overflow),
                     index * (2 * 16384 - 16384 / 4));
    assert_int_equal(mixer_flop(m, MIXER_CSA, 65536, &overflow) -
                         mixer_flop(m, MIXER_CSA_REUSE, 65536, &overflow),
                     index * 32768);
    arena_release(&arena);
}

/* Tables over tp by rows, in bytes with a scale of 32; host memory where vLLM is told so. */
static void tables_go_over_ranks(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    uint64_t weights[2];
    for (int away = 0; away < 2; away++) {
        load("h200-8x1", "vllm", DTYPE_FP8, &arena, &plan);
        plan.parallel.tp = 8;
        plan.parallel.ep = 8;
        plan.parallel.etp = 1;
        plan.memory.ngram_host = away;
        weights[away] = listed_category(&plan, CATEGORY_WEIGHTS);
    }
    const uint64_t part = (UINT64_C(384011425) + 7) / 8;
    assert_int_equal(weights[0] - weights[1], 2 * (part * 256 + (part + 31) / 32 * 256));
    arena_release(&arena);
}

static uint64_t state_of(const struct plan_built *b, const char *name)
{
    return b->values[plan_buffer(&b->work, name)->all.node];
}

/* The files' 7.933 GB (audits of their headers), where 8 bits have a byte of scale for 1,024;
 * by engines for 32. 128 experts a layer, main_proj of three rows, a Markov head in 16 bits. */
static void layers_for_blocks_have_their_bytes(void **state)
{
    (void)state;
    enum { H = 5120, I = 2304, V = 129280, RANK = 256, N = 3 };
    const uint64_t experts = N * UINT64_C(128) * 3 * H * I;
    const uint64_t layers = N * (UINT64_C(126615552) + 3 * H * I), joined = 3 * H * H;
    const uint64_t head = 2 * (2 * V * RANK + H + RANK) + 2 * H;
    struct plan_built b;
    struct params p;
    plan_build("model: deepseek-v4.1-flash\ncluster: b200-8x1\nstack: vllm\n"
               "workload: {mode: decode, context_length: 4096, micro_batch: 1}\n",
               "cluster.node.devices=1 workload.speculation.tokens=5", false, &b);
    params_count(&b.plan.model, &p);
    const uint64_t wide = 2 * N * params_part_total(p.streams) + N * (64 + 128);
    const uint64_t half = N * (128 * H + 1280 + 512 + 2 * H) + H;
    const uint64_t small = 2 * half + 4 * wide;
    const double held = (double)state_of(&b, "draft_weights");
    const uint64_t filed = experts / 32 * 17 + (layers + joined) / 1024 * 1025 + small + head;
    assert_int_equal(state_of(&b, "draft_entry_weights"), joined / 32 * 33 + head);
    assert_int_equal((filed + 500000) / 1000000, 7933);
    assert_true(fabs(held / (double)(experts / 32 * 17 + layers / 32 * 33 + small) - 1) < 1e-4);
    arena_release(&b.arena);
}

/* Three more layers with windows in the pool; a block is drafted in one pass. */
static void blocks_are_drafted_at_once(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan, draft;
    struct slots slots;
    struct cache_groups before, after;
    load("b200-8x1", "vllm", DTYPE_FP8, &arena, &plan);
    plan.workload.speculation = (struct speculation){.tokens = 5, .method = DRAFT_NGRAM};
    slots_from_plan(&plan, &slots);
    cache_groups_of(&plan, &slots, &before);
    plan.workload.speculation.method = DRAFT_DSPARK;
    cache_groups_of(&plan, &slots, &after);
    assert_true(plan_holds_draft(&plan) && !plan_drafts_itself(&plan));
    assert_true(after.slides[0].groups * after.block_bytes >=
                before.slides[0].groups * before.block_bytes);
    plan_draft(&plan, 6, &draft);
    assert_int_equal(draft.model.layers, 3);
    assert_int_equal(draft.model.moe.experts, 128);
    assert_int_equal(draft.model.moe.top_k, 3);
    assert_int_equal(draft.model.ngram.tables, 0);
    assert_int_equal(cache_sequence_bytes(&draft, 65536), 3 * 128 * 528);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_the_published_ones),
        cmocka_unit_test(the_checkpoint_is_as_large_as_published),
        cmocka_unit_test(layers_have_what_their_type_makes),
        cmocka_unit_test(sequences_hold_entries_once),
        cmocka_unit_test(steps_choose_among_fewer),
        cmocka_unit_test(counts_agree_with_steps),
        cmocka_unit_test(tables_go_over_ranks),
        cmocka_unit_test(layers_for_blocks_have_their_bytes),
        cmocka_unit_test(blocks_are_drafted_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
