/* Job files of the frameworks: each of tests/jobs gives the keys its framework's documentation
 * says, what is printed of it loads again to the same plan, and bad ones are refused word for
 * word (tests/jobs/bad; MOEPLAN_REWRITE=1 writes the messages: read them). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>

#include "plan/job/job.h"
#include "plan/job/reader.h"
#include "plan/read/catalog.h"
#include "plan/schema/schema.h"
#include "support/beside.h"
#include "support/job_cases.h"
#include "support/settings.h"

#define FOLDER "tests/jobs/"

#define JOBS job_cases_n
#define jobs job_cases

static struct job_result read_job(const char *file, const char *sets, struct arena *arena)
{
    struct err err = {0};
    struct job_result result = {0};
    struct override *overrides = arena_alloc(arena, 16, sizeof *overrides);
    const struct job_request request = {.sets = overrides,
                                        .n_sets = settings_split(sets, arena, overrides, 16),
                                        .all_sets = true};
    job_read(arena_printf(arena, FOLDER "%s", file), &request, arena, &result, &err);
    assert_string_equal(err.text, "");
    return result;
}

static void load(const char *file, const struct job_result *job, struct arena *arena,
                 struct plan *plan)
{
    struct err err = {0};
    plan_load_tree(file, job->root, NULL, 0, true, arena, plan, NULL, &err);
    assert_string_equal(err.text, "");
}

static const char *value(const struct plan *plan, const char *key, struct arena *arena)
{
    struct text text = {.arena = arena};
    assert_non_null(schema_find(key));
    schema_print(schema_find(key), plan, &text);
    return text_string(&text);
}

/* "4GiB" of a list of settings as it is printed: "4 GiB". */
static const char *with_unit(const char *value, struct arena *arena)
{
    size_t digits = strspn(value, "0123456789.");
    bool unit = text_equal(value + digits, "GiB") || text_equal(value + digits, "GB") ||
                text_ends(value + digits, "FLOP/s");
    return digits && unit ? arena_printf(arena, "%.*s %s", (int)digits, value, value + digits)
                          : value;
}

static unsigned count_warnings(const struct job_result *job)
{
    unsigned n = 0;
    for (size_t i = 0; i < job->notes.n; i++)
        n += job->notes.items[i].warning;
    return n;
}

/* The table's settings have blanks between them, and none in lists. */
static const char *without_blanks(const char *text, struct arena *arena)
{
    char *out = arena_strdup(arena, text), *end = out;
    for (const char *at = text; *at; at++)
        if (*at != ' ' || at == text || at[-1] != ',')
            *end++ = *at;
    *end = '\0';
    return out;
}

static void jobs_say_what_their_flags_say(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (size_t i = 0; i < JOBS; i++) {
        struct arena arena = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct override *expected = arena_alloc(&arena, 32, sizeof *expected);
        print_message("%s\n", jobs[i].file);
        struct job_result job = read_job(jobs[i].file, jobs[i].sets, &arena);
        size_t folder = strcspn(jobs[i].file, "/");
        assert_memory_equal(job.framework, jobs[i].file, folder);
        load(jobs[i].file, &job, &arena, plan);
        size_t n = settings_split(jobs[i].keys, &arena, expected, 32);
        for (size_t j = 0; j < n; j++) {
            const char *got =
                arena_printf(&arena, "%s=%s", expected[j].key,
                             without_blanks(value(plan, expected[j].key, &arena), &arena));
            const char *wanted = arena_printf(&arena, "%s=%s", expected[j].key,
                                              with_unit(expected[j].value, &arena));
            wrong += !text_equal(got, wanted);
            if (!text_equal(got, wanted))
                print_error("%s: %s, not %s\n", jobs[i].file, got, wanted);
        }
        wrong += count_warnings(&job) != jobs[i].warnings;
        if (count_warnings(&job) != jobs[i].warnings)
            print_error("%s: %u warnings, not %u\n", jobs[i].file, count_warnings(&job),
                        jobs[i].warnings);
        arena_release(&arena);
    }
    assert_int_equal(wrong, 0);
}

/* Every file in the folders is in the table, and one of each folder below. */
static void no_job_is_forgotten(void **state)
{
    (void)state;
    static const char *const folders[] = {
        "megatron",     "bridge",         "maxtext",   "torchtitan", "vllm",
        "sglang",       "deepspeed",      "fsdp",      "trtllm",     "axolotl",
        "llamafactory", "slime",          "automodel", "verl",       "primus",
        "swift",        "megatron-swift", "nemo-rl",   "openrlhf"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct arena arena = {0};
        size_t n = 0;
        DIR *folder = opendir(arena_printf(&arena, FOLDER "%s", folders[i]));
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));) {
            bool known = entry->d_name[0] == '.';
            n += !known;
            const char *name = arena_printf(&arena, "%s/%s", folders[i], entry->d_name);
            for (size_t j = 0; j < JOBS && !known; j++)
                known = text_equal(jobs[j].file, name) ||
                        text_starts(jobs[j].file, arena_printf(&arena, "%s/", name));
            if (!known)
                fail_msg("%s is not tested", name);
        }
        closedir(folder);
        assert_true(n >= 5);
        arena_release(&arena);
    }
}

static void what_is_printed_loads_to_the_same_plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < JOBS; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan *tree = arena_alloc(&arena, 2, sizeof *tree), *yaml = tree + 1;
        struct text text = {.arena = &arena};
        print_message("%s\n", jobs[i].file);
        struct job_result job = read_job(jobs[i].file, jobs[i].sets, &arena);
        load("plan.yaml", &job, &arena, tree);
        draft_print(&job.draft, jobs[i].file, &text);
        plan_load_text("plan.yaml", text.data, text.length, NULL, 0, &arena, yaml, NULL, &err);
        assert_string_equal(err.text, "");
        assert_memory_equal(tree, yaml, sizeof *tree);
        arena_release(&arena);
    }
}

/* What the table sets for a file. */
static const char *sets_of(const char *file)
{
    for (size_t i = 0; i < JOBS; i++)
        if (text_equal(jobs[i].file, file))
            return jobs[i].sets;
    return "";
}

/* Lists are compared as they print, so they stand apart from the table's words. */
static const struct {
    const char *file, *key, *expected;
} lists[] = {
    {"megatron/deepseek-v2-lite.sh", "parallel.stages", "[13, 14]"},
    {"megatron/deepseek-v2-lite.sh", "recompute.modules", "[moe_act, layernorm]"},
    {"megatron/deepseek-v4.sh", "recompute.modules", "[moe_act, mhc, mla_up_proj]"},
    {"megatron/deepseek-v4.sh", "parallel.stages", "[6, 6, 6, 5, 5, 5, 5, 5]"},
    {"megatron/first-and-last.slurm", "parallel.stages", "[7, 8, 8, 8, 8, 8, 8, 6]"},
    {"bridge/pipeline.sh", "parallel.stages",
     "[3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2]"},
    {"bridge/recipe.sh", "recompute.modules", "[moe_act]"},
    {"maxtext/mixtral-dropping.sh", "recompute.save", "[query_proj, key_proj, value_proj]"},
    {"maxtext/written-out.yml", "recompute.save", "[query_proj, context]"},
    {"maxtext/written-out.yml", "recompute.offload", "[mlpwo]"},
    {"maxtext/deepseek-custom.yml", "recompute.offload", "[decoder_layer_input, mlpwi_0]"},
    {"maxtext/slices.sh", "recompute.offload",
     "[query_proj, key_proj, value_proj, out_proj, mlpwi, mlpwo]"},
    {"torchtitan/deepseek-16b.toml", "recompute.modules", "[op]"},
    {"torchtitan/inline.toml", "recompute.modules", "[\"2\"]"},
    {"torchtitan/deepseek-671b.toml", "parallel.stages",
     "[3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2]"},
    {"torchtitan/parts.toml", "parallel.stages", "[12, 15]"},
    {"bridge/container.py", "parallel.stages",
     "[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1]"},
    {"bridge/recipe-alone.sh", "parallel.stages",
     "[5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5]"},
    {"bridge/pretrain-fields.py", "recompute.modules", "[moe_act, layernorm]"},
    {"bridge/lists.yaml", "parallel.stages",
     "[3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2]"},
    {"megatron/gpt-oss-windows.slurm", "model.layer_types", "[window, full]"},
    {"megatron/gpt-oss-windows.slurm", "stack.graph_modules", "[attn, moe_router]"},
    {"megatron/layer-pattern.sh", "model.layer_types",
     "[linear, dense, linear, dense, linear, dense, linear, full, dense]"},
    {"megatron/linear.sh", "model.layer_types", "[linear, linear, linear, full]"},
    {"bridge/performance.sh", "stack.graph_modules", "[attn, moe_router]"},
    {"bridge/adapter.sh", "lora.targets", "[linear_qkv, linear_proj]"},
    {"maxtext/mixtral-out-proj.sh", "recompute.save", "[out_proj]"},
    {"maxtext/windows.yml", "model.layer_types", "[window]"},
    {"axolotl/qlora-fsdp.yaml", "lora.targets",
     "[q_proj, v_proj, k_proj, o_proj, experts.gate_up_proj, experts.down_proj]"},
    {"axolotl/expression.yaml", "lora.targets",
     "[q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, "
     "experts.gate_up_proj, experts.down_proj]"},
    {"swift/target-regex.sh", "lora.targets", "[k_proj, v_proj]"},
    {"swift/galore-embedding.sh", "optimizer.projected",
     "[attention, dense_mlp, embed_tokens]"},
    {"swift/target-regex.sh", "lora.layers", "[30, 31, 32, 33, 34, 35]"},
    {"axolotl/eager.yaml", "lora.host", "[layers]"},
    {"unsloth/last-layers.py", "lora.host", "[embed_tokens]"},
    {"axolotl/eager.yaml", "lora.layers", "[40, 41, 42, 43, 44, 45, 46, 47]"},
    {"axolotl/last-layers.yaml", "lora.layers", "[28, 29, 30, 31]"},
    {"axolotl/rank-pattern.yaml", "lora.ranks", "[64, 0, 8]"},
    {"trl/ranks.py", "lora.targets", "[all-linear, o_proj]"},
    {"trl/ranks.py", "lora.ranks", "[0, 4]"},
    {"fsdp/each-batch.sh", "precision.accumulated", "none"},
    {"unsloth/last-layers.py", "lora.layers", "[28, 29, 30, 31, 32, 33, 34, 35]"},
    {"trl/skipped.py", "lora.layers",
     "[16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]"},
    {"fsdp/fsdp2.yaml", "recompute.offload", "[layer_input]"},
    {"trl/every-layer.py", "recompute.offload", "[layer_input]"},
    {"trl/skipped.py", "lora.targets", "[gate_proj, up_proj]"},
    {"trl/skipped.py", "precision.plain", "[attention]"},
    {"axolotl/stacked-experts.yaml", "lora.targets",
     "[q_proj, in_proj_qkv, out_proj, experts.gate_up_proj, experts.down_proj]"},
    {"llamafactory/lora-sft.yaml", "lora.targets", "[q_proj, v_proj]"},
    {"llamafactory/freeze-mlp.yaml", "frozen.modules", "[norms, attention]"},
    {"swift/trainable.sh", "frozen.modules", "[embed_tokens, lm_head, norms, router, experts]"},
    {"slime/train-experts.sh", "frozen.modules",
     "[embed_tokens, lm_head, norms, attention, router]"},
    {"axolotl/unfrozen.yml", "frozen.modules", "[norms, router]"},
    {"axolotl/unfrozen-rows.yml", "frozen.modules", "[norms, dense_mlp]"},
    {"slime/deepseek-r1.sh", "parallel.stages", "[16, 16, 16, 13]"},
    {"megatron/counted-chunks.sh", "parallel.stages",
     "[3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3]"},
    {"slime/lora.sh", "lora.targets", "[linear_qkv, linear_proj, linear_fc1, linear_fc2]"},
    {"slime/lora.sh", "workload.colocated.away", "[weights, states]"},
    {"automodel/launch.slurm", "lora.targets", "[q_proj, v_proj]"},
    {"verl/grpo-megatron-235b.sh", "parallel.stages", "[11, 12, 12, 12, 12, 12, 12, 11]"},
    {"verl/lora-megatron.sh", "recompute.modules", "[core_attn, moe_act]"},
    {"swift/lora.sh", "lora.targets",
     "[q_proj, k_proj, v_proj, o_proj, experts.gate_up_proj, experts.down_proj]"},
    {"swift/grpo-turns.sh", "workload.colocated.away", "[weights, states]"},
    {"megatron-swift/full.slurm", "parallel.stages", "[25, 23]"},
    {"megatron-swift/grpo.sh", "recompute.modules", "[core_attn, moe]"},
    {"megatron-swift/sft.yaml", "lora.targets", "[linear_qkv, linear_proj]"},
    {"verl/turns.sh", "workload.colocated.away", "[weights, states, reference]"},
    {"verl/grpo-megatron-235b.sh", "workload.colocated.away", "[weights, states, reference]"},
    {"verl/states-away.sh", "workload.colocated.away", "[states]"},
    {"verl/critic-away.sh", "workload.colocated.away", "[weights, states, critic]"},
    {"verl/dapo-megatron.sh", "workload.colocated.away", "[]"},
    {"nemo-rl/grpo-qwen3-30b.yaml", "workload.colocated.away",
     "[weights, states, engine, reference]"},
    {"swift/grpo.sh", "workload.colocated.away", "[engine]"},
    {"nemo-rl/grpo-qwen3-30b.yaml", "parallel.stages", "[11, 13, 13, 11]"},
    {"nemo-rl/dpo.sh", "workload.colocated.away", "[reference]"},
    {"nemo-rl/lora.yaml", "lora.targets", "[q_proj, v_proj]"},
};

static void lists_are_taken_over(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct arena arena = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct job_result job = read_job(lists[i].file, sets_of(lists[i].file), &arena);
        load(lists[i].file, &job, &arena, plan);
        assert_string_equal(value(plan, lists[i].key, &arena), lists[i].expected);
        arena_release(&arena);
    }
}

/* The MaxText configuration of the seed's runs is the seed's plan, but for what only names it,
 * for moe.buffer, which is auto there and by name here, and for checkpoints, which MaxText
 * writes behind the next steps unless it is told otherwise. */
static void a_configuration_is_the_plan_it_was(void **state)
{
    (void)state;
    static const char *const other[] = {"name", "moe.buffer", "workload.async_checkpoint"};
    struct arena arena = {0};
    struct err err = {0};
    size_t n;
    const struct field *fields = schema_fields(&n);
    struct plan *job = arena_alloc(&arena, 2, sizeof *job), *example = job + 1;
    struct job_result read = read_job("maxtext/seed000.yml", "", &arena);
    load("seed000.yml", &read, &arena, job);
    plan_load("examples/seed000-primus-turbo.yaml", NULL, 0, &arena, example, NULL, &err);
    assert_string_equal(err.text, "");
    for (size_t i = 0; i < n; i++) {
        const char *key = fields[i].key;
        if (text_equal(key, other[0]) || text_equal(key, other[1]) || text_equal(key, other[2]))
            continue;
        assert_string_equal(arena_printf(&arena, "%s: %s", key, value(job, key, &arena)),
                            arena_printf(&arena, "%s: %s", key, value(example, key, &arena)));
    }
    arena_release(&arena);
}

/* ---- bad files ---- */

static void check_bad(const char *name, struct arena *arena)
{
    struct err err = {0};
    struct job_result result = {0};
    const struct job_request request = {0};
    const char *file = arena_printf(arena, FOLDER "bad/%s", name);
    enum status status = job_read(file, &request, arena, &result, &err);
    if (status == STATUS_OK) {
        struct plan plan;
        status = plan_load_tree(file, result.root, NULL, 0, true, arena, &plan, NULL, &err);
    }
    assert_int_equal(status, STATUS_INPUT);
    beside_check(file, &err, arena);
}

static void bad_jobs_are_refused_word_for_word(void **state)
{
    (void)state;
    struct arena arena = {0};
    size_t n = 0;
    DIR *folder = opendir(FOLDER "bad");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.' || text_ends(entry->d_name, ".expected"))
            continue;
        check_bad(entry->d_name, &arena);
        n++;
    }
    closedir(folder);
    assert_true(n >= 40);
    arena_release(&arena);
}

/* ---- Megatron-Bridge's words ---- */

/* The plan of one launch of Bridge on an 8 x H100 node. */
static void bridge_plan(const char *words, struct arena *arena, struct plan *plan)
{
    struct err err = {0};
    struct job_result result = {0};
    const struct override set = {"cluster", "h100-8x1", "--set cluster=h100-8x1"};
    const struct job_request request = {.sets = &set, .n_sets = 1};
    const char *text =
        arena_printf(arena,
                     "torchrun --nproc-per-node=8 scripts/training/run_recipe.py %s "
                     "model.expert_model_parallel_size=8 train.micro_batch_size=1 "
                     "train.global_batch_size=8\n",
                     words);
    job_read_text("job.sh", text, strlen(text), &request, arena, &result, &err);
    assert_string_equal(err.text, "");
    load("job.sh", &result, arena, plan);
}

/* The longest beginning of a recipe's name that a model has: lite is not its elder. */
static void recipes_name_their_models(void **state)
{
    (void)state;
    static const char *const recipes[][2] = {
        {"qwen3_30b_a3b_pretrain_config", "qwen3-30b-a3b"},
        {"qwen3_235b_a22b_sft_config", "qwen3-235b-a22b"},
        {"qwen3_vl_30b_a3b_finetune_config", "qwen3-vl-30b-a3b"},
        {"qwen3_vl_235b_a22b_finetune_config", "qwen3-vl-235b-a22b"},
        {"deepseek_v2_pretrain_config", "deepseek-v2"},
        {"deepseek_v2_lite_pretrain_config", "deepseek-v2-lite"},
        {"deepseek_v3_pretrain_config_32nodes", "deepseek-v3"},
        {"gpt_oss_20b_peft_config", "gpt-oss-20b"},
        {"gpt_oss_120b_sft_config", "gpt-oss-120b"},
        {"glm45_355b_pretrain_config", "glm-4.5"},
        {"glm45_air_106b_peft_config", "glm-4.5-air"},
        {"kimi_k2_pretrain_config", "kimi-k2"},
        {"moonlight_16b_pretrain_config", "moonlight-16b-a3b"},
        {"mixtral_8x7b_pretrain_config", "mixtral-8x7b"},
        {"olmoe_7b_pretrain_config", "olmoe-1b-7b"},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        struct arena arena = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        print_message("%s\n", recipes[i][0]);
        bridge_plan(arena_printf(&arena, "--recipe %s", recipes[i][0]), &arena, plan);
        assert_string_equal(plan->model_name, recipes[i][1]);
        arena_release(&arena);
    }
}

/* The language model stays trained: freeze_vision_projection alone freezes nothing of the
 * encoder that a plan could say. */
static void frozen_parts_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        enum encoder_training train;
    } rows[] = {
        {"", ENCODER_ALL},
        {"model.freeze_vision_model=false", ENCODER_ALL},
        {"model.freeze_vision_projection=true", ENCODER_ALL},
        {"model.freeze_vision_model=true", ENCODER_PROJECTOR},
        {"model.freeze_vision_model=True model.freeze_vision_projection=False",
         ENCODER_PROJECTOR},
        {"model.freeze_vision_model=true model.freeze_vision_projection=true", ENCODER_FROZEN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        print_message("%s\n", rows[i].words);
        bridge_plan(
            arena_printf(&arena, "--recipe qwen3_vl_30b_a3b_finetune_config %s", rows[i].words),
            &arena, plan);
        assert_int_equal(plan->workload.encoder.train, rows[i].train);
        arena_release(&arena);
    }
}

/* Every model of the catalogue that is on the hub is found by its name there, in any case. */
static void models_have_their_names(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct catalog_item *items;
    size_t n;
    catalog_list(CATALOG_MODEL, &arena, &items, &n);
    assert_true(n > 40);
    for (size_t i = 0; i < n; i++) {
        const char *id = model_name_to(NAMES_HUB, items[i].name);
        if (text_starts(items[i].name, "primus-")) /* of seed 000 */
            continue;
        if (!id || !text_equal(model_name_from(NAMES_HUB, id, &arena), items[i].name))
            fail_msg("%s is not found as %s", items[i].name, id ? id : "anything");
    }
    static const char *const others[][2] = {{"deepseek-v32", "deepseek-v3.2"},
                                            {"deepseek-v3-0324", "deepseek-v3"},
                                            {"deepseek-v3-8b", NULL},
                                            {"qwen3-30b-a3b-4b", NULL}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *found = model_name_from(NAMES_HUB, others[i][0], &arena);
        assert_true(found ? text_equal(found, others[i][1] ? others[i][1] : "")
                          : !others[i][1]);
    }
    arena_release(&arena);
}

/* A script that would leave a mark if anything in it ran. */
static void nothing_is_run(void **state)
{
    (void)state;
    static const char script[] =
        "touch moeplan-was-here; $(touch moeplan-was-here)\n"
        "X=`touch moeplan-was-here` bash -c 'touch moeplan-was-here'\n"
        "vllm serve deepseek-ai/DeepSeek-V3 -tp 8 $(touch moeplan-was-here)\n";
    struct arena arena = {0};
    struct err err = {0};
    struct job_result result = {0};
    const struct override set = {"cluster", "h100", "--set cluster=h100"};
    const struct job_request request = {.sets = &set, .n_sets = 1};
    remove("moeplan-was-here");
    enum status status =
        job_read_text("job.sh", script, sizeof script - 1, &request, &arena, &result, &err);
    assert_int_equal(status, STATUS_OK);
    assert_null(fopen("moeplan-was-here", "r"));
    arena_release(&arena);
}

/* Ten megabytes are refused by their size, at once. */
/* A container has its own environment, and none of the one before it. */
static void containers_share_no_environment(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    struct job_result job = read_job("pools/llm-d.yaml", "", &arena);
    load("llm-d.yaml", &job, &arena, plan);
    assert_int_equal(plan->moe.path, PATH_DEEPEP_LL);
    assert_int_equal(plan->prefill->moe.path, PATH_ALLGATHER);
    arena_release(&arena);
}

static void logs_are_refused_by_size(void **state)
{
    (void)state;
    char file[] = "/tmp/moeplan-log-XXXXXX";
    struct arena arena = {0};
    struct err err = {0};
    struct job_result result = {0};
    const struct job_request request = {0};
    FILE *out = fdopen(mkstemp(file), "w");
    assert_non_null(out);
    for (int i = 0; i < 200000; i++)
        fputs("iteration 1000/500000 | elapsed time per iteration\n", out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(job_read(file, &request, &arena, &result, &err), STATUS_INPUT);
    assert_string_equal(err.text, "larger than the limit of 1048576 bytes");
    remove(file);
    arena_release(&arena);
}

/* A row behind another of the same name is never read. */
static void a_flag_stands_in_its_table_once(void **state)
{
    (void)state;
    for (size_t f = 0; job_frameworks[f]; f++) {
        const struct job_framework *framework = job_frameworks[f];
        for (size_t i = 0; i < *framework->n_flags; i++) {
            const struct job_flag *flag = &framework->flags[i];
            for (const char *at = flag->names; *at;) {
                size_t length = strcspn(at, " ");
                const struct job_flag *found = job_flag_find(framework, at, length);
                if (found != flag)
                    fail_msg("%s: %.*s stands twice", framework->name, (int)length, at);
                at += length + (at[length] == ' ');
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_say_what_their_flags_say),
        cmocka_unit_test(no_job_is_forgotten),
        cmocka_unit_test(what_is_printed_loads_to_the_same_plan),
        cmocka_unit_test(lists_are_taken_over),
        cmocka_unit_test(a_configuration_is_the_plan_it_was),
        cmocka_unit_test(bad_jobs_are_refused_word_for_word),
        cmocka_unit_test(models_have_their_names),
        cmocka_unit_test(recipes_name_their_models),
        cmocka_unit_test(frozen_parts_are_read),
        cmocka_unit_test(nothing_is_run),
        cmocka_unit_test(containers_share_no_environment),
        cmocka_unit_test(logs_are_refused_by_size),
        cmocka_unit_test(a_flag_stands_in_its_table_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
