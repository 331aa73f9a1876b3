/* Layers that choose blocks of keys, MiniMax-M3: the figures of layer-kinds.md 1.4 and of its
 * published checkpoint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/hf/import_hf.h"
#include "plan/layers.h"
#include "plan/speculation.h"
#include "sim/serve/serving_cache.h"
#include "support/catalogue.h"
#include "support/listed.h"
#include "plan/mixer.h"
#include "work/piece/cache.h"
#include "work/stack/stack.h"

static void load(const char *stack, enum mode mode, struct arena *arena, struct plan *plan)
{
    catalogue_plan("minimax-m3", "h200-8x1", stack, arena, plan);
    plan->precision.kv_cache = plan->precision.activations = DTYPE_BF16;
    plan->workload = (struct workload){.mode = mode,
                                       .sequence_length = 4096,
                                       .context_length = 32768,
                                       .micro_batch = 2,
                                       .tokens_per_sequence = 1,
                                       .steps = 1};
}

static enum status read(const char *path, struct arena *arena, struct model *model,
                        struct text *notes, struct err *err)
{
    struct node *root = NULL;
    TRY(source_read_file(path, arena, &root, err));
    TRY(import_hf_model(root, model, err));
    import_hf_notes(root, model, notes);
    return STATUS_OK;
}

/* Its config.json with the encoder is all of the checkpoint's 23,416 tensors, to the last
 * parameter: Hugging Face's own count, and NVIDIA-NeMo/Megatron-Bridge's verification of its
 * export. Without it the page's figure. */
static void parameters_are_those_of_the_checkpoint(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct model model = {0};
    struct text notes = {.arena = &arena};
    struct params p;
    if (read("tests/configs/minimax-m3.json", &arena, &model, &notes, &err))
        fail_msg("%s (%s)", err.text, err.hint);
    assert_string_equal(text_string(&notes), "");
    params_count(&model, &p);
    assert_int_equal(p.parameters, 427040140160);
    assert_int_equal(p.parameters - params_encoder(&p), 426174572928);
    assert_int_equal(p.layers[KIND_DENSE], 3);
    assert_int_equal(p.layers[KIND_BLOCKS_MOE], 57);
    assert_int_equal(p.mixer[MIXER_FULL].matrices, 6144 * 128 * (64 + 64 + 4 + 4));
    assert_int_equal(params_part_total(p.mixer[MIXER_BLOCKS]) -
                         params_part_total(p.mixer[MIXER_FULL]),
                     6144 * 128 * 5 + 2 * 128);
    arena_release(&arena);
}

#define FLAT                                                                                   \
    "{\"model_type\": \"minimax_m3_vl_text\", \"num_hidden_layers\": 3, \"hidden_size\": 64, " \
    "\"vocab_size\": 100, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, "            \
    "\"head_dim\": 16, \"intermediate_size\": 32, \"num_local_experts\": 8, "                  \
    "\"num_experts_per_tok\": 2, \"dense_intermediate_size\": 96, "                            \
    "\"shared_intermediate_size\": 32, "
#define LISTED                                                                                 \
    "\"moe_layer_freq\": [0, 1, 1], \"sparse_attention_config\": "                             \
    "{\"sparse_num_index_heads\": 2, \"sparse_index_dim\": 8, \"sparse_block_size\": 4, "      \
    "\"sparse_topk_blocks\": 3, \"sparse_attention_freq\": [0, 1, 1]"

static enum status read_text(const char *text, struct arena *arena, struct model *model,
                             struct err *err)
{
    struct node *root = NULL;
    TRY(source_read_text("config.json", text, strlen(text), arena, &root, err));
    return import_hf_model(root, model, err);
}

/* The checkpoint's names and those that transformers writes say the same model. */
static void both_dialects_are_read(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct model a = {0}, b = {0}, dense = {0};
    assert_int_equal(read_text(FLAT LISTED "}}", &arena, &a, &err), STATUS_OK);
    assert_int_equal(
        read_text(FLAT "\"index_n_heads\": 2, \"index_head_dim\": 8, \"index_block_size\": 4, "
                       "\"index_topk_blocks\": 3, \"mlp_layer_types\": [\"dense\", "
                       "\"sparse\", \"sparse\"], \"layer_types\": [\"full_attention\", "
                       "\"minimax_m3_sparse\", \"minimax_m3_sparse\"]}",
                  &arena, &b, &err),
        STATUS_OK);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(a.indexer.top_k, 12);
    assert_int_equal(a.dense_layers, 1);
    assert_int_equal(model_mixers(&a, MIXER_BLOCKS), 2);
    assert_int_equal(
        read_text(FLAT LISTED ", \"use_sparse_attention\": false}}", &arena, &dense, &err),
        STATUS_OK);
    assert_int_equal(model_mixers(&dense, MIXER_FULL), 3);
    assert_int_equal(dense.indexer.heads, 0);
    arena_release(&arena);
}

static void values_of_the_indexer_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct model model = {0};
    assert_int_equal(read_text(FLAT LISTED ", \"sparse_disable_index_value\": [0, 1, 0]}}",
                               &arena, &model, &err),
                     STATUS_INPUT);
    assert_string_equal(err.text,
                        "'sparse_disable_index_value' must be 1 where 'sparse_attention_freq' "
                        "is: values of the indexer are not modelled");
    assert_int_equal(strncmp(err.where, "config.json:1:", 14), 0);
    arena_release(&arena);
}

/* Twice the mean, a token's own counted half: one by one, of 16 blocks of 128. */
static void tokens_reach_their_own_block_and_others_whole(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 128, 2048, 2049, 4096, 5000, 131072};
    struct arena arena = {0};
    struct plan plan;
    bool overflow = false;
    load("vllm", MODE_PREFILL, &arena, &plan);
    const struct model *m = &plan.model;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint64_t sum = 0;
        for (uint64_t t = 0; t < lengths[i]; t++)
            sum += 2 * (t < 2048 ? t : 2048 - 128 + t % 128) + 1;
        assert_int_equal(params_reach(m, MIXER_BLOCKS, lengths[i]), sum / lengths[i]);
    }
    assert_int_equal(params_reach(m, MIXER_BLOCKS, 4096), 3008);
    assert_int_equal(params_reach(m, MIXER_FULL, 4096), 4096);
    assert_int_equal(mixer_flop(m, MIXER_FULL, 4096, &overflow), 64 * 256 * 4096);
    /* 64 heads with what is reached, 4 of the indexer with all */
    assert_int_equal(mixer_flop(m, MIXER_BLOCKS, 4096, &overflow),
                     64 * 256 * 3008 + 4 * 128 * 4096);
    arena_release(&arena);
}

/* Of a token 2 x 4 heads of 128 in 60 layers, and a key of 128 in 57; an 8-bit cache leaves the
 * keys of the indexer as they are. Over tp heads are split, its key is not. */
static void sequences_keep_all_tokens_and_a_key_of_each(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    load("vllm", MODE_DECODE, &arena, &plan);
    assert_int_equal(cache_layer_bytes(&plan, MIXER_FULL, 1), 2048);
    assert_int_equal(cache_layer_bytes(&plan, MIXER_BLOCKS, 1), 2048 + 256);
    assert_int_equal(cache_sequence_bytes(&plan, 1), 60 * 2048 + 57 * 256);
    assert_int_equal(cache_sequence_bytes(&plan, 32768), UINT64_C(137472) * 32768);
    plan.parallel.tp = 4;
    assert_int_equal(cache_layer_bytes(&plan, MIXER_BLOCKS, 1), 512 + 256);
    plan.parallel.tp = 8; /* heads are repeated */
    assert_int_equal(cache_layer_bytes(&plan, MIXER_BLOCKS, 1), 512 + 256);
    plan.parallel.tp = 1;
    plan.precision.kv_cache = DTYPE_FP8;
    assert_int_equal(cache_sequence_bytes(&plan, 1), 60 * 1024 + 57 * 256);
    arena_release(&arena);
}

static void a_list_holds_what_is_counted(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct params p;
    catalogue_plan("minimax-m3", "h200-1x1", "vllm", &arena, &plan);
    plan.workload.mode = MODE_DECODE;
    plan.workload.context_length = 32768;
    plan.workload.micro_batch = 3;
    params_count(&plan.model, &p);
    assert_int_equal(listed_category(&plan, CATEGORY_WEIGHTS), 2 * p.parameters);
    assert_int_equal(listed_category(&plan, CATEGORY_KV_CACHE),
                     3 * cache_sequence_bytes(&plan, 32768));
    /* one module as a model of its own, with the embedding and head that it shares */
    struct plan draft;
    plan.workload.speculation = (struct speculation){.tokens = 1, .method = DRAFT_MTP};
    plan_draft(&plan, 1, &draft);
    assert_int_equal(model_mixers(&draft.model, MIXER_BLOCKS), 1);
    plan.model.mtp_enabled = true;
    params_count(&plan.model, &p);
    assert_int_equal(params_part_total(p.mtp), 7 * UINT64_C(7491582592));
    arena_release(&arena);
}

/* Over tp 4 the queries of the indexer go with the heads that they choose for, its key is on
 * every rank. */
static void tensor_parallel_splits_the_choice_by_groups(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct dims d;
    struct work work;
    bool overflow = false;
    load("vllm", MODE_DECODE, &arena, &plan);
    plan.parallel.tp = 4;
    assert_int_equal(mixer_whole(&plan.model, MIXER_BLOCKS, &overflow), 128 * 6144);
    assert_int_equal(mixer_whole(&plan.model, MIXER_FULL, &overflow), 0);
    work_init(&work, &arena);
    dims_fill(&d, &plan, &work.sizes);
    dims_mixer(&d, MIXER_BLOCKS);
    uint64_t *values = listed_sizes(&plan, &work);
    assert_int_equal(values[d.width[COL_INDEX_Q].node], 128);
    assert_int_equal(values[d.width[COL_INDEX_K].node], 128);
    assert_int_equal(values[d.width[COL_INDEX_CHOSEN].node], 16);
    arena_release(&arena);
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
    struct params p;
    struct work work;
    struct err err = {0};
    uint64_t found = 0, counted = 0;
    bool overflow = false;
    load("vllm", MODE_PREFILL, &arena, &plan);
    plan.parallel.tp = plan.parallel.etp = 1;
    params_count(&plan.model, &p);
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        counted +=
            model_mixers(&plan.model, (enum mixer)m) *
            (2 * p.mixer[m].matrices + mixer_flop(&plan.model, (enum mixer)m, 4096, &overflow));
    counted += 57 * 2 * (p.router.matrices + p.shared.matrices);
    assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_OK);
    assert_int_equal(work_ops(&plan, &work, &err), STATUS_OK);
    uint64_t *values = listed_sizes(&plan, &work);
    for (size_t i = 0; i < work.n_ops; i++) {
        const struct op *op = &work.ops[i];
        if (segment_is_layer(op->segment) && !is_of_experts(op))
            found += values[op->flop.node] * values[work.use[op->segment].repeat.node];
    }
    assert_int_equal(found, 2 * 4096 * counted);
    arena_release(&arena);
}

/* A pool's block is a block of the choice, of both engines: 128 tokens of all layers. */
static void pools_hold_blocks_of_128(void **state)
{
    (void)state;
    static const char *const stacks[] = {"vllm", "sglang"};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct slots slots;
        struct cache_groups groups;
        load(stacks[i], MODE_DECODE, &arena, &plan);
        slots_from_plan(&plan, &slots);
        cache_groups_of(&plan, &slots, &groups);
        assert_int_equal(groups.block_tokens, 128);
        assert_int_equal(groups.block_bytes, 128 * 137472);
        assert_int_equal(cache_groups_blocks(&plan, &groups, 32768, 8192), 256);
        arena_release(&arena);
    }
}

/* As attention of grouped queries does: 2 (2 H + (2 x 64 + 2 x 4) 128) with statistics of 64
 * heads, the input of the norms of q and k (v beside them, which is of one product), and in
 * eager code the input of both of the layer's norms in f32; and 16 blocks of 4 groups, 4 bytes
 * each: what NeMo Automodel's msa.py saves for backward (q_indices). */
static void training_saves_the_choice(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    load("fsdp", MODE_TRAIN, &arena, &plan);
    plan.recompute = (struct recompute_plan){0};
    plan.stack.attention = BACKEND_FLASH;
    const uint64_t tokens = 2 * 4096, heads = (2 * 64 + 2 * 4) * 128;
    const uint64_t base = 2 * (2 * 6144 + heads) + 4 * 64 + 2 * (64 + 2 * 4) * 128 + 8 * 6144;
    assert_int_equal(listed_saved(&plan, KIND_DENSE, NULL), tokens * base);
    assert_int_equal(listed_saved(&plan, KIND_BLOCKS_MOE, NULL), tokens * (base + 256));
    assert_int_equal(listed_saved(&plan, KIND_BLOCKS_MOE, "chosen_keys"), tokens * 256);
    arena_release(&arena);
}

static void stacks_without_it_say_so(void **state)
{
    (void)state;
    static const struct {
        const char *stack;
        enum mode mode;
        const char *hint;
    } cases[] = {
        {"megatron", MODE_TRAIN, "full attention in its place"},
        {"torchtitan", MODE_TRAIN, "use stack fsdp, deepspeed or generic"},
        {"maxtext", MODE_TRAIN, "use stack fsdp, deepspeed or generic"},
        {"trtllm", MODE_DECODE, "vllm or sglang"},
        {"nxd", MODE_DECODE, "use stack fsdp, deepspeed or generic"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        load(cases[i].stack, cases[i].mode, &arena, &plan);
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_INPUT);
        assert_non_null(strstr(err.text, "attention to chosen blocks of keys is not modelled"));
        assert_non_null(strstr(err.hint, cases[i].hint));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_of_the_checkpoint),
        cmocka_unit_test(both_dialects_are_read),
        cmocka_unit_test(values_of_the_indexer_are_refused),
        cmocka_unit_test(tokens_reach_their_own_block_and_others_whole),
        cmocka_unit_test(sequences_keep_all_tokens_and_a_key_of_each),
        cmocka_unit_test(a_list_holds_what_is_counted),
        cmocka_unit_test(tensor_parallel_splits_the_choice_by_groups),
        cmocka_unit_test(the_list_multiplies_as_much),
        cmocka_unit_test(pools_hold_blocks_of_128),
        cmocka_unit_test(training_saves_the_choice),
        cmocka_unit_test(stacks_without_it_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
