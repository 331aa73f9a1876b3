/* moeplan report: a plan's answer as one HTML file. */
#include "base/pool.h"
#include "cli/command/commands.h"
#include "cli/option/plan_argument.h"
#include "lib/report.h"

static enum status run_report(const struct invocation *call, struct err *err)
{
    struct answer *answer = arena_alloc(call->arena, 1, sizeof *answer);
    struct answer_ask ask = answer_whole;
    struct request request;
    if (call->general.format != FORMAT_TEXT) {
        err_set(err, STATUS_USAGE,
                "a report is HTML, whatever '--format' or the file's name says");
        return err_hint(err, "`moeplan predict` writes text, json and csv");
    }
    ask.options.workers = pool_cpus();
    TRY(plan_argument_request(call, 0, &request, err));
    TRY(request_load(&request, call->arena, &answer->plan, &answer->origins, err));
    TRY(answer_predict(call->operands[0], &ask, call->arena, answer, err));
    return report_write(&request, answer, call->arena, call->out, err);
}

static const char *const examples[] = {
    "moeplan report plan.yaml -o report.html",
    "moeplan report plan.yaml --set workload.micro_batch=10 -o larger.html",
    NULL,
};

const struct command command_report = {
    .name = "report",
    .operands = "<plan.yaml>",
    .summary = "one HTML file of a plan's answer, for tickets and mails",
    .description =
        "Writes what `predict` says as one page that needs nothing else: the verdict, memory "
        "by category against the limit, the wall, fixes, the same plan at other micro-batches "
        "(or context lengths), every buffer, the ops of a step, what was assumed, and the "
        "plan. Figures are part of the page; it has no script and asks no address.\n\n"
        "The same plan gives the same bytes. The status does not depend on the verdict.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_report,
};
