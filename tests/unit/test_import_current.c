/* Configurations of current models as their repositories have them, which no model file stands
 * beside: hybrids, latent experts, MoE, dense, multimodal. Their parameters are the published
 * ones, or what is left out is named. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/hf/import_hf.h"
#include "plan/hf/import_hf_quant.h"
#include "work/list/params.h"

static void read(const char *name, struct arena *arena, struct model *model, struct text *notes)
{
    struct err err = {0};
    struct node *root = NULL;
    const char *path = arena_printf(arena, "tests/configs/%s.json", name);
    if (source_read_file(path, arena, &root, &err) || import_hf_model(root, model, &err) ||
        import_hf_quant(root, arena, model, notes, &err))
        fail_msg("%s: %s (%s)", name, err.text, err.hint);
    import_hf_notes(root, model, notes);
}

/* Published: to the last one where the shared page counts them (layer-kinds.md 3; Gemma's with
 * the 64 rows that config.json has more than its vocabulary and its encoder: 27,432,406,640 in
 * all), or the checkpoint has them, encoder included (Mistral's), else as model cards round. */
static void parameters_are_published_or_named(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double published, within;
        const char *noted; /* the one field that is named; "": none */
    } rows[] = {
        {"granite-4.0-h-small", 32207337984, 0, ""},
        {"nemotron-3-ultra", 549308993536, 0, ""},
        /* SigLIP: 416,866,032, and 6,194,304 of the projector */
        {"gemma-3-27b-it", 27009002240 + 64 * 5376 + 416866032 + 6194304, 0, ""},
        {"mistral-small-3.1-24b", 24011361280, 0, ""},
        {"ling-flash-2.0", 103e9, 0.01, ""},
        {"olmo-3-32b", 32.2e9, 0.01, ""},
        {"nemotron-nano-9b-v2", 8.89e9, 0.01, ""},
        {"phi-4-mini", 3.84e9, 0.01, ""},
        {"qwen3.5-35b-a3b", 35e9, 0.01, ""},
        {"kimi-vl-a3b", 16.4e9, 0.01, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct model model = {0};
        struct params p;
        struct text notes = {.arena = &arena};
        read(rows[i].name, &arena, &model, &notes);
        params_count(&model, &p);
        print_message("%s: %llu parameters\n", rows[i].name, (unsigned long long)p.parameters);
        assert_true(fabs((double)p.parameters / rows[i].published - 1) <= rows[i].within);
        const char *said = text_string(&notes);
        if (rows[i].noted[0])
            assert_int_equal(strncmp(said + 1, rows[i].noted, strlen(rows[i].noted)), 0);
        else
            assert_string_equal(said, "");
        arena_release(&arena);
    }
}

/* Kimi-K3's keys, its formats, and what of it is not modelled. */
static void kimi_k3_says_what_is_left_out(void **state)
{
    (void)state;
    static const enum weight_part plain[] = {PART_ATTENTION, PART_LINEAR, PART_DENSE,
                                             PART_SHARED, PART_LATENT};
    struct arena arena = {0};
    struct model model = {0};
    struct text notes = {.arena = &arena};
    read("kimi-k3", &arena, &model, &notes);
    assert_true(model.attention.output_gate && model.linear.full_rank_gate);
    assert_true(model.moe.latent_norm);
    assert_int_equal(model.moe.latent_size, 3584);
    assert_int_equal(model.checkpoint, DTYPE_MXFP4);
    assert_int_equal(model.plain.n, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(model.plain.value[i], plain[i]);
    const char *said = text_string(&notes);
    assert_int_equal(model.residual_block, 12);
    assert_non_null(strstr(said, "'activation_situ_beta' (line 13): SiTU is taken for SiLU"));
    unsigned lines = 0;
    for (; *said; said++)
        lines += *said == '\n';
    assert_int_equal(lines, 1);
    arena_release(&arena);
}

static void granite_has_experts_behind_every_mixer(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    struct params p;
    struct text notes = {.arena = &arena};
    read("granite-4.0-h-small", &arena, &model, &notes);
    params_count(&model, &p);
    assert_int_equal(p.layers[KIND_LINEAR_MOE], 36);
    assert_int_equal(p.layers[KIND_MOE], 4);
    assert_int_equal(model.moe.shared_intermediate, 1536);
    /* layer-kinds.md 3, without norms and vectors */
    assert_int_equal(p.active / 10000000, 880);
    arena_release(&arena);
}

/* What a checkpoint is quantised to may stand beside its config.json alone. */
static void the_file_beside_says_the_format(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct model model = {0};
    struct text notes = {.arena = &arena};
    read("quantised/config", &arena, &model, &notes);
    assert_int_equal(model.checkpoint, DTYPE_NVFP4);
    assert_int_equal(model.plain.n, 1);
    assert_int_equal(model.plain.value[0], PART_ATTENTION_OUT);
    assert_non_null(strstr(text_string(&notes), "'kv_cache_quant_algo' (hf_quant_config.json"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_published_or_named),
        cmocka_unit_test(kimi_k3_says_what_is_left_out),
        cmocka_unit_test(granite_has_experts_behind_every_mixer),
        cmocka_unit_test(the_file_beside_says_the_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
