/* Exported launches read back as the plan they came from: every example on every stack that has
 * launch flags, and plans that use what only few say (stages, order, offload). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>

#include "plan/job/job.h"
#include "sim/answer/predict.h"
#include "support/plans.h"
#include "support/settings.h"
#include "work/stack/stack.h"

static const char *const stacks[] = {"maxtext", "megatron",  "torchtitan", "vllm",  "sglang",
                                     "trtllm",  "deepspeed", "fsdp",       "bridge"};
static const char *const endings[] = {"yml", "sh", "toml", "sh", "sh", "sh", "sh", "sh", "sh"};
static const bool serves[] = {[3] = true, [4] = true, [5] = true, [8] = false};

enum { STACKS = sizeof stacks / sizeof *stacks, SETS = 8 };

static void load(const char *file, const char *const *sets, const char *stack,
                 struct arena *arena, struct plan *plan)
{
    struct err err = {0};
    struct override overrides[SETS + 1];
    size_t n = 0;
    if (stack)
        overrides[n++] = (struct override){"stack", stack, "--set stack"};
    for (; sets && *sets; sets++)
        overrides[n++] = setting_of(*sets, arena);
    plan_load(file, overrides, n, arena, plan, NULL, &err);
    assert_string_equal(err.text, "");
}

static void assert_reads_back(const struct plan *plan, size_t stack, const char *launch,
                              struct arena *arena)
{
    struct err err = {0};
    struct plan *again = arena_alloc(arena, 1, sizeof *again);
    struct job_result job = {0};
    const struct job_request request = {0};
    bool described = plan->prefill && text_equal(stacks[stack], "trtllm");
    const char *name = arena_printf(arena, "launch.%s", described ? "yaml" : endings[stack]);
    job_read_text(name, launch, strlen(launch), &request, arena, &job, &err);
    assert_string_equal(err.text, "");
    plan_load_tree(name, job.root, NULL, 0, true, arena, again, NULL, &err);
    assert_string_equal(err.text, "");
    assert_string_equal(job.framework, stacks[stack]);
    plan_assert_same(plan, again, arena);
    if (plan->prefill)
        plan_assert_same(plan->prefill, again->prefill, arena);
}

/* What moeplan predicts of a stack's software, its launch asks for: refused is only what the
 * stack cannot run. */
static bool can_run(const struct plan *plan, size_t stack, struct arena *arena)
{
    const struct predict_options options = {.memory_only = true};
    struct prediction prediction;
    struct err err = {0};
    const char *key;
    if (predict(plan, &options, arena, &prediction, &err) != STATUS_OK)
        return false;
    return serves[stack] == (plan->workload.mode != MODE_TRAIN) && !stack_lacks(plan, &key);
}

static size_t check_example(const char *file)
{
    size_t n = 0;
    for (size_t i = 0; i < STACKS; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct text launch = {.arena = &arena};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        load(file, NULL, NULL, &arena, plan);
        if (plan->workload.mode == MODE_SERVE && !serves[i]) { /* no framework but an engine */
            arena_release(&arena);
            continue;
        }
        const char *stack = job_export_stack(stacks[i]);
        if (!text_starts(plan->stack_name, stack))
            load(file, NULL, stack, &arena, plan);
        print_message("%s as %s\n", file, stacks[i]);
        enum status status = job_export(plan, stacks[i], &arena, &launch, &err);
        if (can_run(plan, i, &arena))
            assert_int_equal(status, STATUS_OK);
        if (status == STATUS_OK)
            assert_reads_back(plan, i, text_string(&launch), &arena);
        n += status == STATUS_OK;
        arena_release(&arena);
    }
    return n;
}

static void examples_read_back(void **state)
{
    (void)state;
    struct arena arena = {0};
    size_t n = 0;
    DIR *folder = opendir("examples");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (text_ends(entry->d_name, ".yaml"))
            n += check_example(arena_printf(&arena, "examples/%s", entry->d_name));
    closedir(folder);
    assert_true(n >= 25);
    arena_release(&arena);
}

/* A launch says by flags what its stack has flags for: no "#moeplan" line for those keys. */
static const struct {
    const char *file;
    size_t stack;
    const char *sets[SETS + 1];
    const char *flags[SETS + 1]; /* that the launch holds */
    const char *silent;          /* keys, no line speaks of */
} cases[] = {
    {"examples/megatron-qwen3-30b-h100.yaml",
     1,
     {"parallel.tp=2", "parallel.sp=true", "parallel.pp=2", "parallel.stages=[23, 25]",
      "parallel.ep=4", "parallel.order=[tp, ep, cp, dp, pp]", "stack.wgrad_placeholders=false"},
     {"--tensor-model-parallel-size 2", "--sequence-parallel",
      "--no-gradient-accumulation-fusion", "--pipeline-model-parallel-layout 'Et*23|t*25L'",
      "--expert-model-parallel-size 4", "#moeplan parallel.order=[tp, ep, cp, dp, pp]"},
     "parallel.tp parallel.pp parallel.sp parallel.stages parallel.ep parallel.etp workload. "
     "precision. recompute. moe.path stack."},
    {"examples/megatron-qwen3-30b-h100.yaml",
     1,
     {"moe.path=capacity", "moe.capacity_factor=1.5", "moe.capacity_scope=batch",
      "recompute=full", "parallel.pp=2", "parallel.vpp=2", "parallel.schedule=interleaved",
      "parallel.ep=8"},
     {"--moe-expert-capacity-factor 1.5", "--moe-pad-expert-input-to-capacity",
      "--recompute-granularity full", "--num-virtual-stages-per-pipeline-rank 2"},
     "parallel. moe.path moe.capacity recompute."},
    {"examples/megatron-qwen3-30b-h100.yaml",
     1,
     {"precision.recipe=fp8_current", "precision.plain_first=1", "precision.plain_last=3"},
     {"--first-last-layers-bf16", "--num-layers-at-start-in-bf16 1",
      "--num-layers-at-end-in-bf16 3"},
     "precision."},
    {"examples/megatron-qwen3-30b-h100.yaml",
     8,
     {"parallel.tp=2", "parallel.sp=true", "parallel.pp=2", "parallel.stages=[23, 25]",
      "parallel.ep=4", "recompute.kind=selective", "recompute.modules=[moe_act, layernorm]",
      "precision.recipe=fp8_current"},
     {"--recipe qwen3_30b_a3b_pretrain_config", "model.tensor_model_parallel_size=2",
      "model.context_parallel_size=1", "model.sequence_parallel=true",
      "'model.pipeline_model_parallel_layout=\"Et*23|t*25L\"'",
      "'model.recompute_modules=[moe_act,layernorm]'", "bf16_with_fp8_current_scaling_mixed",
      "train.micro_batch_size=1"},
     "parallel. workload. recompute. moe.path model."},
    {"examples/seed000-primus-turbo.yaml",
     0,
     {"moe.path=capacity", "moe.capacity_factor=2", "parallel.tp=2", "parallel.ep=4",
      "recompute={save: [context, mlpwo]}"},
     {"sparse_matmul: false", "capacity_factor: 2", "ici_tensor_parallelism: 2",
      "ici_expert_parallelism: 4", "remat_policy: custom", "context: device"},
     "parallel. moe.path moe.capacity_factor recompute. precision. workload."},
    {"examples/seed000-primus-turbo.yaml",
     0,
     {"parallel.ep=4"},
     {"use_turbo_deepep_dispatch: true", "use_turbo_grouped_gemm: true", "megablox: false"},
     "parallel. moe.path moe.matmul"},
    {"examples/torchtitan-deepseek-16b-b200.yaml",
     2,
     {"parallel.tp=2", "parallel.etp=1", "parallel.ep=4", "parallel.zero=3", "recompute=full"},
     {"parallelism.tensor_parallel_degree = 2", "parallelism.expert_parallel_degree = 4",
      "activation_checkpoint.mode = \"full\"", "compile.enable = true"},
     "parallel. recompute.kind precision. workload. stack. model"},
    {"examples/vllm-deepseek-v3-h200.yaml",
     3,
     {"moe.redundant_experts=32", "precision.kv_cache=fp8", "memory.fraction=0.85",
      "parallel.dp=16"},
     {"vllm serve deepseek-ai/DeepSeek-V3", "--data-parallel-size 16",
      "--eplb-config.num_redundant_experts 32", "--kv-cache-dtype fp8",
      "--gpu-memory-utilization 0.85"},
     "parallel. moe.path moe.redundant precision. memory. workload. model"},
    {"examples/vllm-deepseek-v3-h200.yaml",
     4,
     {"moe.redundant_experts=16", "parallel.dp=16", "memory.fraction=0.8"},
     {"--tp-size 16", "--dp-size 16", "--enable-dp-attention", "--deepep-mode low_latency",
      "--ep-num-redundant-experts 16", "--mem-fraction-static 0.8"},
     "parallel. moe.path moe.redundant precision. memory. workload. model"},
    {"examples/vllm-deepseek-v3-h200.yaml",
     3,
     {"workload.speculation.tokens=2"},
     {"--speculative-config.num_speculative_tokens 2", "--speculative-config.method mtp"},
     "workload.speculation.tokens workload.speculation.method workload.tokens model"},
    {"examples/vllm-deepseek-v3-h200.yaml",
     3,
     {"memory.cache_bytes=20 GiB", "memory.cache_blocks=4000"},
     {"--kv-cache-memory-bytes 21474836480", "--num-gpu-blocks-override 4000"},
     "memory."},
    {"examples/vllm-deepseek-v3-h200.yaml",
     4,
     {"workload.role=answers", "stack.prompt_graphs=partial", "stack.prompt_graph_tokens=4096"},
     {"--disaggregation-mode decode", "--cuda-graph-backend-prefill breakable",
      "--cuda-graph-max-bs-prefill 4096"},
     "workload.role stack.prompt"},
    {"examples/vllm-deepseek-v3-h200.yaml",
     4,
     {"memory.cache_tokens=200000", "stack.graph_batch=96"},
     {"--max-total-tokens 200000", "--cuda-graph-max-bs 96"},
     "memory. stack.graph_batch"},
    {"examples/vllm-deepseek-v3-h200.yaml",
     4,
     {"workload.speculation.tokens=4", "workload.speculation.model=llama-3.1-8b",
      "workload.speculation.branches=2", "workload.tokens_per_sequence=8"},
     {"--speculative-algorithm STANDALONE", "--speculative-num-steps 4",
      "--speculative-draft-model-path meta-llama/Llama-3.1-8B", "--speculative-eagle-topk 2",
      "--speculative-num-draft-tokens 8"},
     "workload.speculation.tokens workload.speculation.method workload.speculation.model "
     "workload.speculation.branches workload.speculation.layers workload.tokens"},
    {"examples/megatron-qwen3-30b-h100.yaml",
     6,
     {"parallel.zero=3", "parallel.ep=8", "optimizer.offload=0.5", "precision.gradients=f32",
      "parallel.reduce_bucket=50000000", "optimizer.kind=adam8bit", "workload.global_batch=256",
      "recompute=full"},
     {"deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed deepspeed.json",
      "--model_name_or_path Qwen/Qwen3-30B-A3B", "\"stage\": 3", "\"ratio\": 0.5",
      "\"grad_accum_dtype\": \"fp32\"", "\"autoep_size\": 8", "--optim adamw_bnb_8bit",
      "--gradient_checkpointing true"},
     "parallel.zero parallel.ep parallel.tp parallel.reduce workload. precision. recompute. "
     "optimizer. model"},
    {"examples/megatron-qwen3-30b-h100.yaml",
     7,
     {"parallel.zero=3", "parallel.reshard=never", "parallel.dp_shard=4", "parallel.ep=1",
      "precision.weights=f32", "workload.global_batch=64", "optimizer.step=foreach",
      "lora.rank=8"},
     {"accelerate launch --config_file accelerate.yaml train.py",
      "fsdp_reshard_after_forward: false", "parallelism_config_dp_replicate_size: 4",
      "mixed_precision: bf16", "--gradient_accumulation_steps 4", "--optim adamw_torch",
      "--use_peft", "--lora_r 8"},
     "parallel.zero parallel.dp_shard parallel.tp parallel.reshard workload.micro "
     "workload.global workload.sequence precision.activations recompute. lora. optimizer. "
     "model"},
};

static void check_silence(const char *launch, const char *keys, struct arena *arena)
{
    for (const char *at = keys; *at;) {
        size_t length = strcspn(at, " ");
        const char *line = arena_printf(arena, "#moeplan %.*s", (int)length, at);
        for (const char *found = launch; (found = strstr(found, line)) != NULL; found++)
            if (!text_starts(found, "#moeplan model.name=") &&
                !text_starts(found, "#moeplan workload.queue=false") &&
                !text_starts(found, "#moeplan parallel.order="))
                fail_msg("a line in place of a flag: %.40s", found);
        at += length + (at[length] == ' ');
    }
}

static void flags_stand_for_their_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct text launch = {.arena = &arena};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        const char *stack = stacks[cases[i].stack];
        const char *on = job_export_stack(stack);
        bool own = strstr(cases[i].file, on) || cases[i].stack == 0;
        load(cases[i].file, cases[i].sets, own ? NULL : on, &arena, plan);
        job_export(plan, stack, &arena, &launch, &err);
        assert_string_equal(err.text, "");
        for (size_t j = 0; j < SETS && cases[i].flags[j]; j++)
            if (!strstr(text_string(&launch), cases[i].flags[j]))
                fail_msg("'%s' is missing in:\n%s", cases[i].flags[j], text_string(&launch));
        check_silence(text_string(&launch), cases[i].silent, &arena);
        assert_reads_back(plan, cases[i].stack, text_string(&launch), &arena);
        arena_release(&arena);
    }
}

/* Requests of 4,000 and 1,000 tokens: the longest that a server takes holds them, and how many
 * it takes at once is its own default unless the plan says it. What a served plan does not
 * read, the context and the batch of a step, the launch says its own way. */
static void launches_serve_the_requests(void **state)
{
    (void)state;
    static const struct {
        size_t stack;
        const char *longest, *sequences;
    } rows[] = {{3, "--max-model-len 5000", "--max-num-seqs"},
                {4, "--context-length 5000", "--max-running-requests"},
                {5, "--max_seq_len 5000", "--max_batch_size"}};
    static const char *const sets[] = {"workload.mode=serve",
                                       "workload.concurrency=128",
                                       "workload.input_length=4000",
                                       "workload.output_length=1000",
                                       "moe.path=auto",
                                       NULL,
                                       NULL};
    for (unsigned i = 0; i < 6; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct text launch = {.arena = &arena};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        const char *given[SETS] = {0};
        memcpy(given, sets, sizeof sets);
        given[5] = i % 2 ? "workload.max_num_seqs=96" : NULL;
        load("examples/vllm-deepseek-v3-h200.yaml", given, stacks[rows[i / 2].stack], &arena,
             plan);
        job_export(plan, stacks[rows[i / 2].stack], &arena, &launch, &err);
        assert_string_equal(err.text, "");
        assert_non_null(strstr(text_string(&launch), rows[i / 2].longest));
        assert_int_equal(strstr(text_string(&launch), rows[i / 2].sequences) != NULL, i % 2);
        plan->workload.context_length = 5000;
        assert_reads_back(plan, rows[i / 2].stack, text_string(&launch), &arena);
        arena_release(&arena);
    }
}

static void stacks_without_flags_are_refused(void **state)
{
    (void)state;
    static const char *const others[] = {"primus", "generic", "nxd", "host"};
    struct arena arena = {0};
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    load("examples/seed000-primus-turbo.yaml", NULL, NULL, &arena, plan);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct err err = {0};
        struct text launch = {.arena = &arena};
        assert_int_equal(job_export(plan, others[i], &arena, &launch, &err), STATUS_INPUT);
        assert_string_equal(err.text,
                            arena_printf(&arena, "stack '%s' has no launch flags", others[i]));
        assert_int_equal(launch.length, 0);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_read_back),
        cmocka_unit_test(flags_stand_for_their_keys),
        cmocka_unit_test(launches_serve_the_requests),
        cmocka_unit_test(stacks_without_flags_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
