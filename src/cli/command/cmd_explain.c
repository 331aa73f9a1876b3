/* moeplan explain: which buffers of a plan a failed allocation was, or those that another
 * program lists. */
#include <string.h>

#include "base/file.h"
#include "cli/command/commands.h"
#include "cli/option/plan_argument.h"
#include "plan/data/trace.h"
#include "report/explain/print.h"

enum { LOG_LIMIT = 10 << 20 };

struct settings {
    const char *oom, *log, *report;
    uint64_t top;
};

static const struct settings defaults = {.top = 10};

static const struct option options[] = {
    {"oom", 0, OPTION_TEXT, offsetof(struct settings, oom), "TEXT", NULL,
     "the failed allocation: '26.21 GiB', or the line of the log that reports it"},
    {"log", 0, OPTION_TEXT, offsetof(struct settings, log), "FILE", NULL,
     "a log of at most 10 MiB, of which the first failed allocation is explained"},
    {"report", 0, OPTION_TEXT, offsetof(struct settings, report), "FILE", NULL,
     "a list of buffers of at most 256 MiB beside the plan's: XLA's buffer assignment, peak "
     "buffers or largest allocations, a torch memory snapshot as JSON"},
    {"top", 0, OPTION_COUNT, offsetof(struct settings, top), "N 1..100000", NULL,
     "rows of each table that the text shows (default: 10)"},
};

static enum status read_failure(const struct invocation *call, struct failure *out,
                                struct err *err)
{
    const struct settings *settings = call->settings;
    char *log = NULL;
    const char *text = settings->oom;
    size_t length = text ? strlen(text) : 0;
    if (settings->log) {
        TRY(file_read(settings->log, LOG_LIMIT, call->arena, &log, &length, err));
        text = log;
    }
    if (failure_find(text, length, call->arena, out))
        return STATUS_OK;
    if (settings->log)
        err_at(err, (struct mark){.file = settings->log},
               length ? "no failed allocation in it" : "it is empty");
    else
        err_set(err, STATUS_INPUT, "no failed allocation in the text of '--oom'");
    if (!settings->log && file_is_there(text))
        return err_hint(err, "it names a file, which --log reads: --log %.200s", text);
    return err_hint(err,
                    "moeplan knows those of torch, XLA, vLLM, SGLang, NVSHMEM and NCCL, and "
                    "an amount alone: '26.21 GiB'");
}

/* The plan, its routing and what memory it takes. */
static enum status predict_memory(const struct invocation *call, bool fixes, struct plan *plan,
                                  struct prediction *prediction, struct err *err)
{
    struct origins origins = {0};
    struct routing_data routing = {0};
    TRY(plan_argument_load(call, 0, plan, &origins, err));
    TRY(routing_data_load(plan, call->arena, &routing, err));
    const struct predict_options asked = {
        .routing = &routing, .fixes = fixes, .memory_only = true};
    if (predict(plan, &asked, call->arena, prediction, err) == STATUS_OK)
        return STATUS_OK;
    return request_blame(call->operands[0], &origins, err);
}

/* Whose amount it is that stands alone nobody says: it may be a buffer's, as predict prints it.
 */
static void match(const struct memory_report *memory, struct failure *failure,
                  struct explain_view *view)
{
    view->matches =
        failure_matches(memory, &failure->wanted, failure->segments, view->arena, &view->n);
    if (view->n || !text_equal(failure->source, "amount"))
        return;
    view->matches = failure_matches(memory, &failure->wanted, false, view->arena, &view->n);
    failure->segments = !view->n;
}

static enum status explain_failure(const struct invocation *call, struct err *err)
{
    static void (*const printers[])(const struct explain_view *view) = {
        [FORMAT_TEXT] = explain_print_text,
        [FORMAT_JSON] = explain_print_json,
        [FORMAT_CSV] = explain_print_csv,
    };
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    struct prediction prediction;
    struct failure failure;
    TRY(read_failure(call, &failure, err));
    TRY(predict_memory(call, true, plan, &prediction, err));
    struct explain_view view = {
        .failure = &failure,
        .prediction = &prediction,
        .top = ((const struct settings *)call->settings)->top,
        .provenance = request_provenance(plan, NULL),
        .out = call->out,
        .term = &call->term,
        .arena = call->arena,
    };
    uint64_t total = prediction.memory.total_bytes;
    struct printed_bytes beyond = failure.in_use;
    if (failure.wanted.known)
        match(&prediction.memory, &failure, &view);
    if (beyond.known && beyond.low > total) {
        beyond = (struct printed_bytes){true, beyond.low - total, beyond.bytes - total,
                                        beyond.high - total};
        view.beyond =
            failure_matches(&prediction.memory, &beyond, false, call->arena, &view.n_beyond);
    }
    printers[call->general.format](&view);
    return STATUS_OK;
}

static enum status explain_report(const struct invocation *call, struct err *err)
{
    static void (*const printers[])(const struct dump_view *view) = {
        [FORMAT_TEXT] = dump_print_text,
        [FORMAT_JSON] = dump_print_json,
        [FORMAT_CSV] = dump_print_csv,
    };
    const struct settings *settings = call->settings;
    struct plan *plan = arena_alloc(call->arena, 1, sizeof *plan);
    struct prediction prediction;
    struct memory_dump dump;
    struct dump_comparison compared;
    char *text;
    size_t length;
    TRY(file_read(settings->report, MEMORY_DUMP_BYTES, call->arena, &text, &length, err));
    TRY(memory_dump_read(settings->report, text, length, call->arena, &dump, err));
    TRY(predict_memory(call, false, plan, &prediction, err));
    memory_dump_compare(&dump, &prediction.memory, call->arena, &compared);
    const struct dump_view view = {
        .dump = &dump,
        .compared = &compared,
        .prediction = &prediction,
        .top = settings->top,
        .provenance = request_provenance(plan, NULL),
        .out = call->out,
        .term = &call->term,
        .arena = call->arena,
    };
    printers[call->general.format](&view);
    return STATUS_OK;
}

static enum status run_explain(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    int given = (settings->oom != NULL) + (settings->log != NULL) + (settings->report != NULL);
    if (given != 1) {
        err_set(err, STATUS_USAGE, "explain takes one of '--oom', '--log' and '--report'");
        return err_hint(err, "for example --oom '26.21 GiB'");
    }
    return settings->report ? explain_report(call, err) : explain_failure(call, err);
}

static const char *const examples[] = {
    "moeplan explain plan.yaml --oom '26.21 GiB'",
    "moeplan explain plan.yaml --log train.log --format json",
    "moeplan explain plan.yaml --report module_0001.jit_train_step-buffer-assignment.txt",
    NULL,
};

const struct command command_explain = {
    .name = "explain",
    .operands = "<plan.yaml>",
    .summary = "which buffers a failed allocation was, or those of another program's report",
    .description =
        "Matches a failed allocation with the buffers of the plan: one copy, all copies, "
        "several copies (up to 64), or the sum of two of one layer. An amount alone and "
        "torch's are segments of the CUDA caching allocator: a request rounded to 512 bytes, "
        "then 2 MiB up to 1 MiB, 20 MiB below 10 MiB, else a multiple of 2 MiB. Those of XLA, "
        "NVSHMEM and NCCL are taken as printed, and so is an amount alone that is no such "
        "segment. An allocation that matches nothing says so.\n\n"
        "Where the text says what the process had in use, that is compared with the predicted "
        "peak, and what is beyond it matched the same way. When the plan itself does not fit, "
        "the changes that make it fit follow. The status does not depend on the verdict.\n\n"
        "With --report the buffers that XLA or torch list are set beside the plan's one by "
        "one: those of the same size, to the byte where the report gives it (XLA by the "
        "shape, torch by the size asked for), what matched nothing on either side, and the "
        "sums. Equal sizes may be chance: 'others' counts the plan's other buffers of that "
        "size.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_explain,
};
