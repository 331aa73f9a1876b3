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
#include "plan/schema.h"
#include "support/beside.h"

#define FOLDER "tests/jobs/"

/* ---- what each job says ---- */

static const struct {
    const char *file;
    const char *sets; /* "key=value key=value" of the command line */
    const char *keys; /* the same, of the plan */
    unsigned warnings;
} jobs[] = {
    {"megatron/mixtral.sh", "",
     "parallel.tp=2 parallel.pp=4 parallel.vpp=2 parallel.ep=4 parallel.etp=2 parallel.sp=true "
     "parallel.schedule=interleaved parallel.zero=1 moe.path=ragged_a2a workload.micro_batch=1 "
     "workload.global_batch=256 precision.gradients=f32 precision.master=f32 cluster.nodes=4 "
     "cluster.node.devices=8 model.moe.intermediate=14336 model.attention.kv_heads=8",
     1},
    {"megatron/deepseek-v2-lite.sh", "",
     "parallel.pp=2 parallel.ep=8 moe.path=deepep recompute.kind=selective cluster.nodes=2 "
     "model.dense_layers=1 model.attention.kind=mla model.attention.qk_rope_head_dim=64",
     0},
    {"megatron/qwen3-drop-and-pad.sh", "",
     "parallel.ep=16 moe.path=capacity moe.capacity_factor=1 moe.drop=probs "
     "recompute.kind=full "
     "precision.compute=fp8 precision.weights=bf16 model.dense_intermediate=6144 "
     "cluster.nodes=2",
     1},
    {"megatron/fsdp.sh", "",
     "parallel.zero=3 precision.gradients=bf16 precision.master=f32 precision.moments=bf16 "
     "optimizer.precision_aware=native "
     "moe.library=hybrid_ep parallel.ep=32 stack.cross_entropy=in_place cluster.nodes=8",
     1},
    {"megatron/first-and-last.slurm", "",
     "parallel.pp=8 model.dense_layers=3 model.mtp_enabled=true stack.vocab_multiple=1 "
     "model.moe.router.scale=2.5 moe.dispatch_sms=24 precision.gradients=bf16 cluster.nodes=8",
     0},
    {"megatron/sections.yaml", "",
     "parallel.tp=2 parallel.sp=true parallel.ep=8 parallel.etp=2 workload.micro_batch=1 "
     "model.attention.kv_heads=8 model.vocab=32000 moe.path=ragged_a2a parallel.zero=1",
     0},
    {"megatron/yaml-cfg.sh", "cluster=h100",
     "parallel.tp=2 workload.micro_batch=1 workload.global_batch=128 cluster.nodes=2", 0},
    {"bridge/qwen3-script.sh", "",
     "parallel.ep=16 workload.micro_batch=1 workload.global_batch=1024 model.layers=48 "
     "cluster.nodes=2 precision.gradients=bf16 parallel.zero=1",
     1},
    {"bridge/recipe.sh", "",
     "parallel.ep=8 recompute.kind=selective workload.global_batch=512 model.layers=48", 1},
    {"bridge/anchors.yaml", "",
     "parallel.tp=2 parallel.sp=true parallel.ep=8 workload.sequence_length=4096 "
     "precision.gradients=f32",
     1},
    {"bridge/sizes.yaml", "",
     "parallel.ep=64 precision.recipe=mxfp8 precision.quantized_params=true "
     "precision.weights=bf16 precision.compute=fp8 moe.library=hybrid_ep "
     "model.moe.experts=128 model.attention.head_dim=128 model.moe.glu=true parallel.vpp=1",
     0},
    {"bridge/pipeline.sh", "",
     "parallel.pp=8 parallel.vpp=2 parallel.ep=16 workload.global_batch=2048 cluster.nodes=32",
     2},
    {"maxtext/seed000.yml", "",
     "parallel.ep=8 parallel.zero=3 workload.micro_batch=8 workload.sequence_length=4096 "
     "moe.path=deepep precision.weights=bf16 precision.gradients=bf16 precision.moments=bf16 "
     "precision.master=none recompute.kind=full",
     0},
    {"maxtext/mixtral-compile.sh", "",
     "parallel.zero=3 workload.sequence_length=2048 workload.micro_batch=8 moe.path=ragged_a2a "
     "moe.matmul=megablox moe.buffer=worst recompute.kind=full precision.weights=f32 "
     "cluster.name=tpu-v5p-4x4x4",
     0},
    {"maxtext/mixtral-dropping.sh", "",
     "parallel.tp=4 parallel.zero=3 workload.micro_batch=48 moe.path=capacity "
     "moe.capacity_factor=1.25 recompute.kind=save",
     0},
    {"maxtext/written-out.yml", "",
     "parallel.pp=4 parallel.vpp=4 parallel.ep=2 workload.micro_batch=4 model.hidden=4096 "
     "workload.global_batch=256 precision.compute=fp8 recompute.kind=save",
     1},
    {"maxtext/two-files.sh", "",
     "parallel.cp=2 parallel.ep=4 workload.micro_batch=8 workload.sequence_length=4096 "
     "moe.path=allgather precision.weights=bf16",
     1},
    {"torchtitan/deepseek-16b.toml", "",
     "parallel.ep=8 parallel.etp=1 parallel.zero=3 workload.micro_batch=4 "
     "recompute.kind=selective stack.compiled=false moe.path=ragged_a2a model.layers=27",
     0},
    {"torchtitan/inline.toml", "",
     "parallel.ep=8 parallel.zero=3 workload.micro_batch=4 precision.weights=f32 "
     "recompute.kind=selective moe.path=ragged_a2a",
     0},
    {"torchtitan/override.sh", "",
     "parallel.tp=2 parallel.sp=true recompute.kind=full workload.micro_batch=4 "
     "cluster.node.devices=8",
     0},
    {"torchtitan/module.sh", "",
     "parallel.ep=8 workload.micro_batch=4 workload.sequence_length=4096", 1},
    {"torchtitan/pipeline.toml", "",
     "parallel.pp=8 parallel.zero=3 parallel.dp_shard=4 workload.micro_batch=1 "
     "workload.global_batch=128 "
     "parallel.schedule=interleaved precision.weights=bf16 precision.gradients=f32 "
     "precision.compute=fp8",
     0},
    {"vllm/deepseek-tp8.sh", "",
     "parallel.tp=8 parallel.sp=false parallel.ep=8 workload.mode=decode "
     "workload.micro_batch=128 "
     "workload.context_length=8192 moe.path=auto precision.kv_cache=fp8 "
     "precision.weights=fp8_block",
     0},
    {"vllm/wide-ep.sh", "",
     "parallel.dp=16 parallel.ep=16 parallel.etp=1 moe.path=deepep_ll moe.redundant_experts=32 "
     "cluster.nodes=2 memory.fraction=0.85 precision.dispatch=fp8_block",
     0},
    {"vllm/config-file.sh", "",
     "parallel.tp=4 parallel.etp=4 parallel.ep=1 memory.fraction=0.85 precision.weights=fp8 "
     "workload.context_length=32768",
     0},
    {"vllm/module.sh", "",
     "parallel.tp=2 parallel.etp=2 workload.sequence_length=16384 workload.micro_batch=512 "
     "stack.graphs=none "
     "precision.weights=mxfp4",
     3},
    {"vllm/speculative.sh", "",
     "parallel.tp=4 parallel.ep=4 workload.tokens_per_sequence=3 moe.routing.placement=strided "
     "precision.weights=fp8_block",
     2},
    {"sglang/qwen3.sh", "",
     "parallel.tp=8 parallel.sp=true parallel.ep=8 moe.path=allgather memory.fraction=0.8 "
     "workload.micro_batch=128",
     0},
    {"sglang/decode.sh", "",
     "parallel.tp=1 parallel.dp=16 parallel.ep=16 moe.path=deepep_ll workload.mode=decode "
     "workload.micro_batch=128 cluster.nodes=2 moe.redundant_experts=32",
     1},
    {"sglang/prefill.sh", "",
     "parallel.tp=8 parallel.etp=8 workload.mode=prefill workload.sequence_length=16384 "
     "workload.micro_batch=1",
     0},
    {"sglang/config.sh", "",
     "parallel.tp=4 memory.fraction=0.9 precision.kv_cache=fp8 workload.micro_batch=256", 0},
    {"sglang/deepep-flags.sh", "",
     "parallel.tp=8 parallel.dp=4 parallel.ep=32 moe.path=deepep moe.overlap=true "
     "workload.sequence_length=16384 workload.tokens_per_sequence=4 cluster.nodes=4",
     1},
    {"trtllm/attention-dp.sh", "",
     "parallel.tp=1 parallel.dp=8 parallel.ep=8 parallel.etp=1 moe.path=allgather "
     "memory.fraction=0.85 memory.cache_block=32 precision.kv_cache=fp8 "
     "stack.experts=trtllm_gen workload.max_num_seqs=256 workload.micro_batch=256 "
     "workload.max_num_batched_tokens=4096 workload.context_length=8192",
     0},
    {"deepspeed/zero2.json", "cluster=h100-8x1 model=mixtral-8x7b",
     "parallel.zero=2 workload.micro_batch=2 workload.global_batch=128 precision.master=f32 "
     "precision.gradients=bf16",
     0},
    {"deepspeed/zero3-auto.json", "cluster=h100-8x1 model=mixtral-8x7b workload.micro_batch=1",
     "parallel.zero=3 optimizer.offload=1", 0},
    {"deepspeed/experts.json", "cluster=h100-8x2 model=mixtral-8x7b",
     "parallel.ep=4 workload.micro_batch=4 workload.global_batch=64 moe.path=ragged_a2a", 0},
    {"deepspeed/trainer.sh", "",
     "parallel.zero=3 workload.micro_batch=1 recompute.kind=full precision.weights=bf16 "
     "workload.sequence_length=4096 model.layers=48",
     0},
    {"deepspeed/heredoc.sh", "",
     "parallel.tp=2 parallel.zero=1 workload.micro_batch=1 precision.gradients=f32 "
     "cluster.nodes=2",
     0},
};

enum { JOBS = sizeof jobs / sizeof *jobs };

/* "a=1 b=2" as overrides; how many. */
static size_t split(const char *text, struct arena *arena, struct override *overrides)
{
    size_t n = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, " "), key = strcspn(at, "=");
        const char *whole = arena_strndup(arena, at, length);
        overrides[n++] = (struct override){arena_strndup(arena, at, key), whole + key + 1,
                                           arena_printf(arena, "--set %s", whole)};
        at += length + (at[length] == ' ');
    }
    return n;
}

static struct job_result read_job(const char *file, const char *sets, struct arena *arena)
{
    struct err err = {0};
    struct job_result result = {0};
    struct override *overrides = arena_alloc(arena, 16, sizeof *overrides);
    const struct job_request request = {
        .sets = overrides, .n_sets = split(sets, arena, overrides), .all_sets = true};
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

static unsigned count_warnings(const struct job_result *job)
{
    unsigned n = 0;
    for (size_t i = 0; i < job->notes.n; i++)
        n += job->notes.items[i].warning;
    return n;
}

static void jobs_say_what_their_flags_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < JOBS; i++) {
        struct arena arena = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct override *expected = arena_alloc(&arena, 32, sizeof *expected);
        print_message("%s\n", jobs[i].file);
        struct job_result job = read_job(jobs[i].file, jobs[i].sets, &arena);
        size_t folder = strcspn(jobs[i].file, "/");
        assert_memory_equal(job.framework, jobs[i].file, folder);
        load(jobs[i].file, &job, &arena, plan);
        size_t n = split(jobs[i].keys, &arena, expected);
        for (size_t j = 0; j < n; j++) {
            const char *got = arena_printf(&arena, "%s=%s", expected[j].key,
                                           value(plan, expected[j].key, &arena));
            assert_string_equal(
                got, arena_printf(&arena, "%s=%s", expected[j].key, expected[j].value));
        }
        assert_int_equal(count_warnings(&job), jobs[i].warnings);
        arena_release(&arena);
    }
}

/* Every file in the folders is in the table. */
static void no_job_is_forgotten(void **state)
{
    (void)state;
    static const char *const folders[] = {"megatron", "bridge", "maxtext",  "torchtitan",
                                          "vllm",     "sglang", "deepspeed"};
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
                known = text_equal(jobs[j].file, name);
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

/* Lists are compared as they print, so they stand apart from the table's words. */
static void lists_are_taken_over(void **state)
{
    (void)state;
    static const struct {
        const char *file, *key, *expected;
    } lists[] = {
        {"megatron/deepseek-v2-lite.sh", "parallel.stages", "[13, 14]"},
        {"megatron/deepseek-v2-lite.sh", "recompute.modules", "[moe_act, layernorm]"},
        {"megatron/first-and-last.slurm", "parallel.stages", "[7, 8, 8, 8, 8, 8, 8, 6]"},
        {"bridge/pipeline.sh", "parallel.stages",
         "[3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2]"},
        {"bridge/recipe.sh", "recompute.modules", "[moe_act]"},
        {"maxtext/mixtral-dropping.sh", "recompute.save", "[query_proj, key_proj, value_proj]"},
        {"maxtext/written-out.yml", "recompute.save", "[query_proj, context]"},
        {"torchtitan/deepseek-16b.toml", "recompute.modules", "[op]"},
        {"torchtitan/inline.toml", "recompute.modules", "[\"2\"]"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct arena arena = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct job_result job = read_job(lists[i].file, "", &arena);
        load(lists[i].file, &job, &arena, plan);
        assert_string_equal(value(plan, lists[i].key, &arena), lists[i].expected);
        arena_release(&arena);
    }
}

/* The MaxText configuration of the seed's runs is the seed's plan, but for what only names it
 * and moe.buffer, which is auto there and by name here. */
static void a_configuration_is_the_plan_it_was(void **state)
{
    (void)state;
    static const char *const other[] = {"name", "moe.buffer"};
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
        if (text_equal(key, other[0]) || text_equal(key, other[1]))
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_say_what_their_flags_say),
        cmocka_unit_test(no_job_is_forgotten),
        cmocka_unit_test(what_is_printed_loads_to_the_same_plan),
        cmocka_unit_test(lists_are_taken_over),
        cmocka_unit_test(a_configuration_is_the_plan_it_was),
        cmocka_unit_test(bad_jobs_are_refused_word_for_word),
        cmocka_unit_test(nothing_is_run),
        cmocka_unit_test(logs_are_refused_by_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
