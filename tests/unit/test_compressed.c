/* Layers with compressed entries beside a window, one head that is key and value, and
 * hyper-connections: the figures of layer-kinds.md 1.8 and 3, DeepSeek-V4-Flash and -Pro. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "base/unit.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "sim/serve/serving_cache.h"
#include "support/catalogue.h"
#include "support/listed.h"
#include "support/served.h"
#include "plan/mixer.h"
#include "work/list/shape.h"
#include "work/piece/cache.h"
#include "work/stack/stack.h"

static void load(const char *model, const char *stack, struct arena *arena, struct plan *plan)
{
    catalogue_plan(model, "h200-8x1", stack, arena, plan);
    plan->precision.kv_cache = DTYPE_BF16;
    plan->precision.activations = DTYPE_BF16;
    plan->workload.mode = MODE_DECODE;
}

static void parameters_are_those_of_the_page(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t all, active, module;
    } rows[] = {
        {"deepseek-v4-flash", 284332241239, 13799633239, 6609983350},
        {"deepseek-v4-pro", 1572997202915, 49779082211, 25840031286},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct params p;
        load(rows[i].model, "vllm", &arena, &plan);
        params_count(&plan.model, &p);
        uint64_t idle = plan.model.moe.experts - plan.model.moe.top_k;
        assert_int_equal(p.parameters, rows[i].all);
        assert_int_equal(p.parameters - p.moe_layers * idle * params_part_total(p.expert),
                         rows[i].active);
        plan.model.mtp_enabled = true;
        params_count(&plan.model, &p);
        assert_int_equal(params_part_total(p.mtp), rows[i].module);
        arena_release(&arena);
    }
}

/* Windows of all layers; entries of a token, of which 128 make whole ones; a whole sequence. */
static void sequences_keep_what_the_page_says(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t bounded, per_token, sequence;
    } rows[] = {
        {"deepseek-v4-flash", 5636096, 6880, 231079936},
        {"deepseek-v4-pro", 7995392, 9848, 330694656},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        uint64_t bounded = 0, entries = 0;
        load(rows[i].model, "vllm", &arena, &plan);
        for (unsigned m = 0; m < MIXER_COUNT; m++) {
            enum mixer mixer = (enum mixer)m;
            uint64_t layers = model_mixers(&plan.model, mixer);
            bounded += layers * (cache_layer_bytes(&plan, mixer, 32768) -
                                 cache_entry_bytes(&plan, mixer, 32768));
            entries += layers * cache_entry_bytes(&plan, mixer, 128);
        }
        assert_int_equal(bounded, rows[i].bounded);
        assert_int_equal(entries, 128 * rows[i].per_token);
        assert_int_equal(cache_sequence_bytes(&plan, 32768), rows[i].sequence);
        plan.parallel.tp = 8; /* the one head is on every rank */
        assert_int_equal(cache_sequence_bytes(&plan, 32768), rows[i].sequence);
        arena_release(&arena);
    }
}

/* Entries begin with a whole window; what the next are made of is there whatever the sequence,
 * in f32 in an engine: 8 rows of 4 x (512 + 128), 128 rows of 2 x 512. */
static void entries_are_of_whole_windows(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    load("deepseek-v4-flash", "vllm", &arena, &plan);
    assert_int_equal(cache_entry_bytes(&plan, MIXER_CSA, 3), 0);
    assert_int_equal(cache_entry_bytes(&plan, MIXER_CSA, 7), (512 + 128) * 2);
    assert_int_equal(cache_entry_bytes(&plan, MIXER_HCA, 127), 0);
    assert_int_equal(cache_entry_bytes(&plan, MIXER_HCA, 128), 512 * 2);
    assert_int_equal(cache_entry_bytes(&plan, MIXER_WINDOW, 4096), 0);
    assert_int_equal(cache_open_bytes(&plan, MIXER_CSA), 8 * 4 * (512 + 128) * 4);
    assert_int_equal(cache_open_bytes(&plan, MIXER_HCA), 128 * 2 * 512 * 4);
    assert_int_equal(cache_open_bytes(&plan, MIXER_WINDOW), 0);
    plan.stack.kind = STACK_GENERIC;
    assert_int_equal(cache_open_bytes(&plan, MIXER_HCA), 128 * 2 * 512 * 2);
    arena_release(&arena);
}

/* vLLM's and SGLang's: 448 in 8 bits, 64 in 16, 7 scales and a byte of padding; keys of the
 * indexer with an f32 scale. */
static void eight_bits_are_packed(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    load("deepseek-v4-flash", "vllm", &arena, &plan);
    plan.precision.kv_cache = DTYPE_FP8;
    assert_int_equal(cache_layer_bytes(&plan, MIXER_WINDOW, 1), 584);
    assert_int_equal(cache_entry_bytes(&plan, MIXER_CSA, 4), 584 + 132);
    assert_int_equal(cache_entry_bytes(&plan, MIXER_HCA, 128), 584);
    arena_release(&arena);
}

/* Every parameter stands once in 2 bytes, hyper-connections in 4, the tables of the first three
 * layers beside them; and the cache of 3 sequences is what their layers keep. */
static void a_list_holds_what_is_counted(void **state)
{
    (void)state;
    static const char *const models[] = {"deepseek-v4-flash", "deepseek-v4-pro"};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct params p;
        catalogue_plan(models[i], "h200-1x1", "vllm", &arena, &plan);
        plan.precision.weights = DTYPE_BF16;
        plan.precision.kv_cache = DTYPE_BF16;
        plan.workload.mode = MODE_DECODE;
        plan.workload.context_length = 32768;
        plan.workload.micro_batch = 3;
        params_count(&plan.model, &p);
        uint64_t streams = params_part_total(p.streams) * 2 * plan.model.layers +
                           params_part_total(p.streams_end);
        uint64_t tables = 3 * plan.model.vocab * plan.model.moe.top_k * 4;
        assert_int_equal(listed_category(&plan, CATEGORY_WEIGHTS),
                         2 * p.parameters + 2 * streams + tables);
        uint64_t each = cache_sequence_bytes(&plan, 32768);
        for (unsigned m = 0; m < MIXER_COUNT; m++)
            each += model_mixers(&plan.model, (enum mixer)m) *
                    cache_open_bytes(&plan, (enum mixer)m);
        assert_int_equal(listed_category(&plan, CATEGORY_KV_CACHE), 3 * each);
        arena_release(&arena);
    }
}

/* Over tp 8: q up, the groups of the output, shared experts, embedding and head are split, the
 * rest of a layer is whole; the stage's parameters in 16 bits are those the list holds. */
static void tensor_parallel_splits_heads_and_groups(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    bool overflow = false;
    load("deepseek-v4-flash", "vllm", &arena, &plan);
    const struct model *m = &plan.model;
    /* q down, kv; compressor; indexer's q, weights and compressor */
    uint64_t base = m->hidden * (1024 + 512);
    uint64_t index = 1024 * 64 * 128 + m->hidden * 64 + 4 * 128 * m->hidden;
    assert_int_equal(mixer_whole(m, MIXER_WINDOW, &overflow), base);
    assert_int_equal(mixer_whole(m, MIXER_HCA, &overflow), base + 2 * 512 * m->hidden);
    assert_int_equal(mixer_whole(m, MIXER_CSA, &overflow), base + 4 * 512 * m->hidden + index);
    assert_false(overflow);
    arena_release(&arena);
}

/* Twice the mean: a window of 128 in 4,096 tokens 2 x 128 - 128^2 / 4096; 32 entries of hca;
 * of 1,024 entries of csa 512, 2 x 512 - 512^2 / 1024. */
static void tokens_reach_a_window_and_entries(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    bool overflow = false;
    load("deepseek-v4-flash", "vllm", &arena, &plan);
    const struct model *m = &plan.model;
    assert_int_equal(params_reach(m, MIXER_WINDOW, 4096), 252);
    assert_int_equal(params_reach(m, MIXER_HCA, 4096), 252 + 32);
    assert_int_equal(params_reach(m, MIXER_CSA, 4096), 252 + 768);
    assert_int_equal(params_reach(m, MIXER_CSA, 1024), 240 + 256); /* all of 256 */
    /* products of 64 heads of 512 with what is reached, the indexer with 1,024 entries */
    assert_int_equal(mixer_flop(m, MIXER_HCA, 4096, &overflow), UINT64_C(64) * 1024 * 284);
    assert_int_equal(mixer_flop(m, MIXER_CSA, 4096, &overflow),
                     UINT64_C(64) * 1024 * 1020 + UINT64_C(64) * 128 * 1024);
    arena_release(&arena);
}

/* Per token, the layers' products without the experts': 2 a value of their matrices, and
 * attention's and the indexer's own. */
static uint64_t flop_of_layers(const struct model *model)
{
    struct params p;
    bool overflow = false;
    uint64_t sum = 0;
    params_count(model, &p);
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        uint64_t matrices = p.mixer[m].matrices + p.router.matrices + p.shared.matrices +
                            2 * p.streams.matrices;
        sum += model_mixers(model, (enum mixer)m) *
               (2 * matrices + mixer_flop(model, (enum mixer)m, 4096, &overflow));
    }
    assert_false(overflow);
    return sum;
}

static bool is_of_experts(const struct op *op)
{
    return op->module == MODULE_GATE_UP || op->module == MODULE_EXPERT_DOWN;
}

/* A prompt's list has the products that are counted, on one rank. */
static void the_list_multiplies_as_much(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct work work;
    struct err err = {0};
    uint64_t found = 0;
    load("deepseek-v4-flash", "vllm", &arena, &plan);
    plan.workload.mode = MODE_PREFILL;
    plan.workload.sequence_length = 4096;
    plan.workload.micro_batch = 2;
    plan.parallel.tp = plan.parallel.etp = 1;
    assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_OK);
    assert_int_equal(work_ops(&plan, &work, &err), STATUS_OK);
    uint64_t *values = listed_sizes(&plan, &work);
    for (size_t i = 0; i < work.n_ops; i++) {
        const struct op *op = &work.ops[i];
        if (segment_is_layer(op->segment) && !is_of_experts(op))
            found += values[op->flop.node] * values[work.use[op->segment].repeat.node];
    }
    assert_int_equal(found, 2 * 4096 * flop_of_layers(&plan.model));
    arena_release(&arena);
}

/* A block of vLLM's is as large as the pages of 256 tokens' entries and index keys, 64 rows of
 * 584 bytes padded to 37,440, and so on; of 32,768 tokens beside a step of 8,192 a sequence
 * takes 128 of them, (127 + 8192) / 64 + 1 in each of two groups of windows, (7 + 8192) / 4 + 1
 * and (127 + 8192) / 8 + 1 of open entries. SGLang's second pool takes its part of a block
 * (bytes_per_full_token of its DSV4PoolConfigurator, by its default ratio of tokens). */
static void pools_hold_entries_in_blocks(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct slots slots;
    struct cache_groups groups;
    load("deepseek-v4-flash", "vllm", &arena, &plan);
    plan.precision.kv_cache = DTYPE_FP8;
    snprintf(plan.stack.version, sizeof plan.stack.version, "0.33.0");
    slots_from_plan(&plan, &slots);
    cache_groups_of(&plan, &slots, &groups);
    assert_int_equal(groups.block_tokens, 256);
    assert_int_equal(groups.block_bytes, 21 * 37440 + 20 * 1728 + 21 * 8640); /* 1,002,240 */
    assert_int_equal(groups.slides[0].groups, 2); /* 22 and 21 of 43 layers */
    assert_int_equal(cache_groups_blocks(&plan, &groups, 32768, 8192),
                     128 + 2 * 131 + 2051 + 1041);
    load("deepseek-v4-flash", "sglang", &arena, &plan);
    plan.precision.kv_cache = DTYPE_FP8;
    plan.memory.window_ratio = 0.5;
    slots_from_plan(&plan, &slots);
    cache_groups_of(&plan, &slots, &groups);
    double token = 0.5 * 584 * 43 + 21 * (584 + 132) / 4.0 + 20 * 584 / 128.0 +
                   0.5 * 8 / 128 * 21 * 4 * (512 + 128) * 4;
    assert_int_equal(groups.block_bytes, (uint64_t)(256 * token));
    assert_int_equal(groups.kept_bytes, 20 * cache_open_bytes(&plan, MIXER_HCA));
    arena_release(&arena);
}

/* SGLang's windows have a tenth of the tokens unless told otherwise: 7,705.45 bytes a token in
 * all layers of DeepSeek-V4-Flash (with open entries in 16 bits its log says
 * "bytes_per_full_token=7033.45", of which 672 are half of these). Open entries of hca, of 256
 * requests, of two more and 128 rows, come off the pool first ("c128_state_fixed"). */
static void open_entries_have_a_pool(void **state)
{
    (void)state;
    static const double open = 0.1 * 8 / 128 * 21 * 4 * (512 + 128) * 4;
    static const char text[] =
        "model: deepseek-v4-flash\ncluster: h200-8x1\nstack: sglang\n"
        "parallel: {tp: 8}\nprecision: {kv_cache: fp8}\n"
        "memory: {fraction: 0.88}\nworkload: {mode: decode, queue: true%s}\n";
    struct arena arena = {0};
    struct plan plan;
    struct slots slots;
    struct cache_groups groups;
    load("deepseek-v4-flash", "sglang", &arena, &plan);
    plan.precision.kv_cache = DTYPE_FP8;
    slots_from_plan(&plan, &slots);
    cache_groups_of(&plan, &slots, &groups);
    double token = 0.1 * 584 * 43 + 21 * (584 + 132) / 4.0 + 20 * 584 / 128.0 + open;
    assert_int_equal(round(100 * (token - open / 2)), 703345);
    assert_int_equal(groups.block_bytes, (uint64_t)(256 * token));
    struct prediction all = predict_text(arena_printf(&arena, text, ""), &arena);
    struct prediction few =
        predict_text(arena_printf(&arena, text, ", max_num_seqs: 16"), &arena);
    const uint64_t each = 20 * 128 * 2 * 512 * 4;
    assert_int_equal(all.serving.state_bytes, (256 + 3) * each);
    assert_int_equal(few.serving.state_bytes, (16 + 3) * each);
    assert_int_equal(all.serving.cache_bytes + all.serving.state_bytes,
                     few.serving.cache_bytes + few.serving.state_bytes);
    assert_int_equal(all.serving.cache_blocks, all.serving.cache_bytes / groups.block_bytes);
    arena_release(&arena);
}

/* Before 0.33 a block of vLLM's has 22 tuples of pages, as the deeper group of windows has
 * layers, and since 0.26 a sequence beside both steps in flight. Two engines said so: of 0.22,
 * which wanted 6.66 GiB for 30,000 tokens beside a step of 16,384 (issue 44376), and of 0.26,
 * whose 7.71 GiB held 1.24 sequences of 121,344 (issue 51041; 1.10 here: its steps were not
 * said). */
static void earlier_pools_have_whole_tuples(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        uint64_t step, tokens, blocks;
        double gib; /* of one sequence; as printed: 6.66 */
    } rows[] = {
        {"0.22.0", 16384, 30000, 118 + 2 * 259 + 4099 + 2065, 6.661},
        {"0.26.0", 8192, 121344, 474 + 2 * 259 + 4099 + 2065, 7.010},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct slots slots;
        struct cache_groups groups;
        load("deepseek-v4-flash", "vllm", &arena, &plan);
        plan.precision.kv_cache = DTYPE_FP8;
        snprintf(plan.stack.version, sizeof plan.stack.version, "%s", rows[i].version);
        slots_from_plan(&plan, &slots);
        cache_groups_of(&plan, &slots, &groups);
        print_message("%s\n", rows[i].version);
        assert_int_equal(groups.block_bytes, 22 * (37440 + 8640 + 1728)); /* 1,051,776 */
        uint64_t flight = rows[i].step * (1 + engine_release(&plan)->plans_ahead);
        uint64_t blocks = cache_groups_blocks(&plan, &groups, rows[i].tokens, flight);
        assert_int_equal(blocks, rows[i].blocks);
        double gib = (double)(blocks * groups.block_bytes) / GIB;
        assert_true(gib > rows[i].gib - 5e-4 && gib < rows[i].gib + 5e-4);
        arena_release(&arena);
    }
}

/* What is not modelled is refused, with what to do. */
static void training_and_other_engines_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *stack;
        enum mode mode;
        const char *text, *hint;
    } cases[] = {
        {"primus", MODE_TRAIN, "training with attention", "use stack megatron"},
        {"fsdp", MODE_TRAIN, "training with attention", "prefill, decode or serve"},
        {"generic", MODE_TRAIN, "training with attention", "prefill, decode or serve"},
        {"host", MODE_TRAIN, "training with attention", "prefill, decode or serve"},
        {"trtllm", MODE_DECODE, "not modelled for stack trtllm", "vllm or sglang"},
        {"nxd", MODE_DECODE, "not modelled for stack nxd", "vllm or sglang"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        load("deepseek-v4-flash", cases[i].stack, &arena, &plan);
        plan.workload.mode = cases[i].mode;
        print_message("%s\n", cases[i].stack);
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_INPUT);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_non_null(strstr(err.hint, cases[i].hint));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_of_the_page),
        cmocka_unit_test(sequences_keep_what_the_page_says),
        cmocka_unit_test(entries_are_of_whole_windows),
        cmocka_unit_test(eight_bits_are_packed),
        cmocka_unit_test(a_list_holds_what_is_counted),
        cmocka_unit_test(tensor_parallel_splits_heads_and_groups),
        cmocka_unit_test(tokens_reach_a_window_and_entries),
        cmocka_unit_test(the_list_multiplies_as_much),
        cmocka_unit_test(pools_hold_entries_in_blocks),
        cmocka_unit_test(open_entries_have_a_pool),
        cmocka_unit_test(earlier_pools_have_whole_tuples),
        cmocka_unit_test(training_and_other_engines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
