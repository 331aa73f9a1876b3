/* Every flag of the newest engines that was read is in their tables, or is said to matter to
 * neither memory nor time (tests/flags); and what follows from flags that are not given. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "plan/engine.h"
#include "plan/job/reader.h"
#include "support/served.h"

/* A line is a flag, "- " in front of one that matters to neither, or a comment. */
static unsigned check_flag(const struct job_framework *framework, char *line)
{
    bool neither = text_starts(line, "- ");
    const char *name = line + (neither ? 2 : 0);
    const struct job_flag *flag = job_flag_find(framework, name, strlen(name));
    bool matters = flag && flag->read != JOB_NEITHER;
    if (!neither && !flag)
        print_error("%s: '%s' is passed over\n", framework->name, name);
    if (neither && matters)
        print_error("%s: '%s' is read, and listed as neither\n", framework->name, name);
    return neither ? matters : !flag;
}

static void check_list(const char *engine, unsigned least)
{
    struct arena arena = {0};
    struct err err = {0};
    const struct job_framework *framework = job_framework_named(engine);
    const char *path = arena_printf(&arena, "tests/flags/%s.txt", engine);
    char *text;
    size_t length;
    unsigned wrong = 0, n = 0;
    assert_non_null(framework);
    if (file_read(path, 1 << 20, &arena, &text, &length, &err))
        fail_msg("%s: %s", path, err.text);
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        if (line[0] == '#')
            continue;
        wrong += check_flag(framework, line);
        n++;
    }
    assert_true(n >= least);
    assert_int_equal(wrong, 0);
    arena_release(&arena);
}

static void no_flag_is_passed_over(void **state)
{
    (void)state;
    check_list("vllm", 250);
    check_list("sglang", 500);
    check_list("trtllm", 150);
}

/* vLLM engine/arg_utils.py: 70 GiB take large batches, but of an A100's and, in 0.33, a GB10's,
 * which has 122 GiB (engines.md 1.1). */
static void small_devices_and_a_spark_take_small_batches(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *version;
        uint64_t tokens, sequences;
    } rows[] = {
        {"h100", "0.33.0", 8192, 1024},   {"a800", "0.33.0", 8192, 1024},
        {"a100", "0.33.0", 2048, 256},    {"l4", "0.33.0", 2048, 256},
        {"rtx3090", "0.33.0", 2048, 256}, {"gb10", "0.33.0", 2048, 256},
        {"gb10", "0.19.0", 8192, 1024},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        const struct plan plan = load_text(
            arena_printf(&arena,
                         "model: qwen3-0.6b\ncluster: %s\nstack: {base: vllm, version: %s}\n"
                         "workload: {mode: decode, context_length: 8192}\n",
                         rows[i].cluster, rows[i].version),
            &arena);
        print_message("%s %s\n", rows[i].cluster, rows[i].version);
        assert_int_equal(engine_tokens(&plan), rows[i].tokens);
        assert_int_equal(engine_sequences(&plan), rows[i].sequences);
        arena_release(&arena);
    }
}

/* engines.md 2.1: devices as nvidia-smi prints them. */
static void static_fractions_are_those_worked(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        double fraction;
    } rows[] = {
        {"model: qwen3-30b-a3b\ncluster: {base: h100, device: {memory: 81559 MiB}}\n", 0.830},
        {"model: deepseek-v3\ncluster: {base: h200-8x1, device: {memory: 143771 MiB}}\n"
         "parallel: {tp: 8}\n",
         0.886},
        {"model: deepseek-v3\ncluster: {base: h200-8x1, device: {memory: 143771 MiB}}\n"
         "parallel: {tp: 1, ep: 8}\n",
         0.758},
        {"model: deepseek-v3\ncluster: {base: h200-8x1, device: {memory: 143771 MiB}}\n"
         "parallel: {tp: 1, ep: 8}\nmoe: {path: deepep}\n",
         0.736},
        {"model: gpt-oss-120b\ncluster: {base: b200, device: {memory: 183359 MiB}}\n", 0.854},
        /* of 512 sequences a graph, 2 MiB each, in place of 256: 14,416 MiB */
        {"model: qwen3-30b-a3b\ncluster: {base: h100, device: {memory: 81559 MiB}}\n"
         "stack: {base: sglang, graph_batch: 512}\n",
         0.823},
        /* without graphs neither those of decode nor of prefill are kept for: 12,928 MiB */
        {"model: qwen3-30b-a3b\ncluster: {base: h100, device: {memory: 81559 MiB}}\n"
         "stack: {base: sglang, graphs: none}\n",
         0.841},
        /* without those of prompts, 13,440 MiB; of 2,048 tokens 42 of them, 13,776 */
        {"model: qwen3-30b-a3b\ncluster: {base: h100, device: {memory: 81559 MiB}}\n"
         "stack: {base: sglang, prompt_graphs: none}\n",
         0.835},
        {"model: qwen3-30b-a3b\ncluster: {base: h100, device: {memory: 81559 MiB}}\n"
         "stack: {base: sglang, prompt_graph_tokens: 2048}\n",
         0.831},
        /* two stages capture none of prompts: 512 + 12,288 + 256 + 512 = 13,568 MiB */
        {"model: qwen3-30b-a3b\ncluster: {base: h100-2x1, device: {memory: 81559 MiB}}\n"
         "parallel: {pp: 2}\n",
         0.834},
        /* at most 32 sequences: graphs of no more, 512 + 12,288 + 128 + 464 + 64 MiB; 48 are
         * the default beside a draft, and not said */
        {"model: qwen3-30b-a3b\ncluster: {base: h100, device: {memory: 81559 MiB}}\n"
         "workload: {mode: decode, micro_batch: 32}\n",
         0.835},
        {"model: qwen3-30b-a3b\ncluster: {base: h100, device: {memory: 81559 MiB}}\n"
         "workload: {mode: decode, max_num_seqs: 48, speculation: {tokens: 3}}\n",
         0.83},
        /* a server of answers: 2,048 tokens, no graphs of prompts, 4,736 MiB and so 10,240;
         * one of prompts: none of answers, 512 + 12,288 + 1,024 + 1,536 MiB */
        {"model: deepseek-v3\ncluster: {base: h200-8x1, device: {memory: 143771 MiB}}\n"
         "parallel: {tp: 8}\nworkload: {mode: decode, micro_batch: 64, role: answers}\n",
         0.929},
        {"model: deepseek-v3\ncluster: {base: h200-8x1, device: {memory: 143771 MiB}}\n"
         "parallel: {tp: 8}\nworkload: {mode: prefill, role: prompts}\n",
         0.893},
        /* AMD captures no prompts, 512 + 24,576 + 1,024 + 1,024 MiB; and AITER takes 0.85 of
         * it for sequences beyond 8,192 tokens, of what is said too */
        {"model: deepseek-v3\ncluster: {base: mi300x-8x1, device: {memory: 196608 MiB}}\n"
         "parallel: {tp: 8}\nworkload: {mode: decode, context_length: 8192}\n",
         0.862},
        {"model: deepseek-v3\ncluster: {base: mi300x-8x1, device: {memory: 196608 MiB}}\n"
         "parallel: {tp: 8}\nworkload: {mode: decode, context_length: 8193}\n",
         0.862 * 0.85},
        {"model: deepseek-v3\ncluster: {base: mi300x-8x1, device: {memory: 196608 MiB}}\n"
         "parallel: {tp: 8}\nworkload: {mode: decode, context_length: 16384}\n"
         "memory: {fraction: 0.8}\n",
         0.8 * 0.85},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan =
            load_text(arena_printf(&arena, "%s%s", rows[i].plan,
                                   strstr(rows[i].plan, "stack:") ? "" : "stack: sglang\n"),
                      &arena);
        double fraction = engine_fraction(&plan);
        if (fabs(fraction - rows[i].fraction) > 1e-9)
            fail_msg("%s: %.3f, worked %.3f", rows[i].plan, fraction, rows[i].fraction);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_flag_is_passed_over),
        cmocka_unit_test(small_devices_and_a_spark_take_small_batches),
        cmocka_unit_test(static_fractions_are_those_worked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
