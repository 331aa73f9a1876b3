/* moeplan predict: the memory verdict of a plan, and why. */
#include "base/pool.h"
#include "cli/command/commands.h"
#include "cli/command/trace.h"
#include "cli/option/plan_argument.h"
#include "lib/along.h"
#include "report/predict/moe.h"

struct settings {
    bool buffers, experts, exact, ops, why;
    uint64_t rank, sample;
    const char *trace;
};

static const uint64_t fullest_rank = UINT64_MAX; /* --rank was not given */

static const struct settings defaults = {.rank = UINT64_MAX};

static const struct option options[] = {
    {"buffers", 0, OPTION_FLAG, offsetof(struct settings, buffers), NULL, NULL,
     "list every buffer with its shape, formula, expected and worst bytes"},
    {"ops", 0, OPTION_FLAG, offsetof(struct settings, ops), NULL, NULL,
     "list every op of one rank's step with its FLOPs and bytes"},
    {"rank", 0, OPTION_COUNT, offsetof(struct settings, rank), "N 0..1000000", NULL,
     "the rank of the expert-parallel group whose ops are listed (default: the fullest)"},
    {"sample", 0, OPTION_COUNT, offsetof(struct settings, sample), "S 0..1000000", NULL,
     "the routing sample that its rows are of (default: 0)"},
    {"experts", 0, OPTION_FLAG, offsetof(struct settings, experts), NULL, NULL,
     "show loads, padding, intensity, decode, drops and layout advice of the experts"},
    {"why", 0, OPTION_FLAG, offsetof(struct settings, why), NULL, NULL,
     "show what the step's time is made of: critical path, what-ifs, sensitivity to constants; "
     "as "
     "JSON also each stage along time"},
    {"trace", 0, OPTION_TEXT, offsetof(struct settings, trace), "FILE", NULL,
     "write the step along time as a Chrome trace, for ui.perfetto.dev or chrome://tracing"},
    {"exact", 0, OPTION_FLAG, offsetof(struct settings, exact), NULL, NULL,
     "sample routing token by token even where the Gaussian law is close"},
};

static void print(const struct invocation *call, const struct predict_view *view)
{
    static void (*const printers[])(const struct predict_view *view) = {
        [FORMAT_TEXT] = predict_print_text,
        [FORMAT_JSON] = predict_print_json,
        [FORMAT_CSV] = predict_print_csv,
    };
    const struct settings *settings = call->settings;
    if (settings->buffers && call->general.format == FORMAT_TEXT)
        predict_print_buffers(view);
    else if (settings->ops && call->general.format == FORMAT_TEXT)
        predict_print_ops(view);
    else if (settings->why && call->general.format == FORMAT_TEXT)
        predict_print_why(view);
    else if (settings->experts && call->general.format == FORMAT_TEXT)
        predict_print_experts(view);
    else
        printers[call->general.format](view);
}

/* The step that step_s is of, along time: into a trace, and into the JSON of --why. */
static enum status print_along(const struct invocation *call, const struct answer *answer,
                               struct predict_view *view, struct err *err)
{
    const struct settings *settings = call->settings;
    struct plan_spans *spans = arena_alloc(call->arena, 1, sizeof *spans);
    enum status status = along_spans(answer, SEGMENT_COUNT, call->arena, spans, err);
    const struct trace_view trace = {&spans->list, "simulated", &view->provenance};
    if (status == STATUS_OK && settings->trace)
        status = trace_write(&trace, settings->trace, err);
    if (status == STATUS_OK) {
        view->spans = settings->why ? spans : NULL;
        print(call, view);
    }
    plan_spans_release(spans);
    return status;
}

/* On a terminal: sampling token by token takes seconds to a minute. */
static void show_progress(void *context, double share)
{
    (void)context;
    fprintf(stderr, "\rsampling routing %3.0f %%", 100 * share);
}

static enum status run_predict(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct answer *answer = arena_alloc(call->arena, 1, sizeof *answer);
    struct answer_ask ask = answer_whole;
    if (settings->trace)
        TRY(trace_check(call, settings->trace, err));
    TRY(plan_argument_load(call, 0, &answer->plan, &answer->origins, err));
    bool progress = settings->exact && term_is_watched(stderr);
    struct pool *pool = settings->exact ? pool_create(0) : NULL;
    ask.options.exact = settings->exact;
    ask.options.pool = pool;
    ask.options.progress.tell = progress ? show_progress : NULL;
    ask.options.workers = pool_cpus();
    /* the screen has the mean alone */
    ask.options.drops_mean = call->general.format == FORMAT_TEXT && !settings->experts;
    ask.why = settings->why;
    ask.rank_named = settings->rank != fullest_rank; /* which must exist, printed or not */
    ask.ops = settings->ops || ask.rank_named || call->general.format == FORMAT_JSON;
    ask.rank = settings->rank;
    ask.sample = settings->sample;
    enum status status = answer_predict(call->operands[0], &ask, call->arena, answer, err);
    pool_free(pool);
    if (progress)
        fputs("\r                      \r", stderr);
    if (status != STATUS_OK)
        return status;
    struct predict_view view = answer_view(answer, call->out, &call->term, call->arena);
    bool spans =
        settings->why && call->general.format == FORMAT_JSON && answer->prediction.time.present;
    if (settings->trace || spans)
        TRY(print_along(call, answer, &view, err));
    else
        print(call, &view);
    return answer->prediction.memory.verdict == VERDICT_OOM ? STATUS_NOFIT : STATUS_OK;
}

static const char *const examples[] = {
    "moeplan predict examples/seed000-primus-turbo.yaml",
    "moeplan predict plan.yaml --set moe.path=capacity --set moe.capacity_factor=2",
    "moeplan predict plan.yaml --buffers",
    "moeplan predict plan.yaml --why",
    "moeplan predict plan.yaml --trace step.json",
    "moeplan predict plan.yaml --experts --set moe.routing.distribution=zipf",
    "moeplan predict plan.yaml --format json -o prediction.json",
    "moeplan predict qwen3-30b-a3b --set cluster=h100-8x1 --set stack=megatron",
    "moeplan show plan.yaml | moeplan predict -",
    NULL,
};

const struct command command_predict = {
    .name = "predict",
    .operands = "<plan.yaml>",
    .summary = "does the plan fit, and how fast: verdict, walls, fixes, seconds",
    .description =
        "Expands the plan into the buffers of one rank and says whether they fit: the verdict "
        "with its numbers, where the memory goes, the first allocation that crosses the limit "
        "with its formula, and the changes that would make the plan fit, each evaluated.\n\n"
        "A verdict within the stack's stated error of the limit is 'marginal'. With static "
        "shapes the total is the worst case, which such stacks always allocate. The plan may "
        "be '-', the standard input, a framework's job ('moeplan help import'), of several "
        "launches FILE:LINE, or a model alone: its name here or at a hub, its file, the "
        "folder of its checkpoint. The status is 4 when the plan does not fit.\n\n"
        "Keys that the plan's text or an option sets and that this plan does not read stand "
        "under 'notes', with the reason; they change none of its numbers.\n\n"
        "The time is that of a step by the stack's profile, with what it may be off; of a "
        "served plan also the first token's and each one's after it.\n\n"
        "As CSV one row per buffer is written, as JSON everything, with the resolved plan.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_predict,
};
