/* moeplan export: a plan as the launch of its stack. */
#include <string.h>

#include "cli/command/commands.h"
#include "cli/option/plan_argument.h"

struct settings {
    const char *stack;
};

static const struct option options[] = {
    {"for", 0, OPTION_TEXT, offsetof(struct settings, stack), "STACK", NULL,
     "maxtext, megatron, bridge, torchtitan, deepspeed, fsdp, vllm, sglang or trtllm; the "
     "plan's own stack unless given"},
};

/* For another stack the plan is the one that --set stack=... would give. */
static enum status load(const struct invocation *call, const char *name, struct plan *plan,
                        struct err *err)
{
    struct request request;
    const char *stack = name ? job_export_stack(name) : NULL;
    TRY(plan_argument_request(call, 0, &request, err));
    TRY(request_load(&request, call->arena, plan, NULL, err));
    if (!stack || text_equal(stack, plan->stack_name) ||
        text_starts(plan->stack_name, arena_printf(call->arena, "%s (", stack)))
        return STATUS_OK;
    const size_t n = request.n_sets;
    struct override *changed = arena_alloc(call->arena, n + 1, sizeof *changed);
    changed[0] =
        (struct override){"stack", stack, arena_printf(call->arena, "--for %s", stack)};
    for (size_t i = 0; i < n; i++)
        changed[i + 1] = request.sets[i];
    request.sets = changed;
    request.n_sets = n + 1;
    return request_load(&request, call->arena, plan, NULL, err);
}

static enum status run_export(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    struct text out = {.arena = call->arena};
    TRY(load(call, settings->stack, plan, err));
    const char *stack = settings->stack;
    if (!stack)
        stack = arena_strndup(call->arena, plan->stack_name, strcspn(plan->stack_name, " "));
    TRY(job_export(plan, stack, call->arena, &out, err));
    fputs(text_string(&out), call->out);
    return STATUS_OK;
}

static const char *const examples[] = {
    "moeplan export plan.yaml --for megatron -o run.sh",
    "moeplan export examples/seed000-primus-turbo.yaml",
    "moeplan export plan.yaml --for vllm | moeplan predict -",
    NULL,
};

const struct command command_export = {
    .name = "export",
    .operands = "<plan.yaml>",
    .summary = "the launch flags of a plan for its stack",
    .description =
        "Writes a plan as the launch of its stack: a MaxText configuration, a Megatron-LM "
        "command line, overrides of a Megatron-Bridge recipe, a torchtitan TOML file, a "
        "launch of DeepSpeed or Accelerate with its file, a vLLM, SGLang or TensorRT-LLM "
        "launch. What the stack has no flag for stands in '#moeplan key=value' lines, so that "
        "reading the launch gives the same resolved plan, which is checked before anything is "
        "written.\n\n"
        "Of a plan with a part `prefill` it writes a launch of each pool into one script, or "
        "TensorRT-LLM's file of context and generation servers; how many servers there are "
        "stands beside them.\n\n"
        "With --for the plan is taken as --set stack=STACK would give it. Stacks without "
        "launch flags are refused with status 3. Whatever the format asked for, it is the "
        "launch.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run_export,
};
