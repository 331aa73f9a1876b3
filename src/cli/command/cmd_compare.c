/* moeplan compare: what changes between two plans. */
#include <string.h>

#include "cli/chart/waterfall.h"
#include "cli/command/commands.h"
#include "cli/option/plan_argument.h"
#include "lib/answer.h"
#include "report/compare/print.h"

struct settings {
    struct option_list with_set;
    uint64_t top;
    const char *plot;
};

static const struct settings defaults = {.top = 12};

static const struct option options[] = {
    {"with-set", 0, OPTION_LIST, offsetof(struct settings, with_set), "A:KEY=VALUE", NULL,
     "set a key of one side only: A:KEY=VALUE or B:KEY=VALUE; may be repeated"},
    {"plot", 0, OPTION_TEXT, offsetof(struct settings, plot), "FILE", NULL,
     "draw memory from A to B by category: .png, .svg, .pdf, .txt, or - for the terminal"},
    {"top", 0, OPTION_COUNT, offsetof(struct settings, top), "N 1..100000", NULL,
     "rows that a table of the text shows; the others are summed in one (default: 12)"},
};

/* The call as if this side were its only plan. */
static struct invocation call_of(const struct invocation *call, char letter)
{
    const struct settings *settings = call->settings;
    struct invocation one = *call;
    one.general.own_option = arena_printf(call->arena, "--with-set %c:", letter);
    for (size_t i = 0; i < settings->with_set.n; i++)
        if (settings->with_set.items[i][0] == letter)
            option_list_add(&one.general.own, settings->with_set.items[i] + 2, call->arena);
    return one;
}

static enum status check(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    for (size_t i = 0; i < settings->with_set.n; i++) {
        const char *item = settings->with_set.items[i];
        if ((item[0] == 'A' || item[0] == 'B') && item[1] == ':' && strchr(item + 2, '='))
            continue;
        err_set(err, STATUS_USAGE,
                "option '--with-set' takes A:KEY=VALUE or B:KEY=VALUE, "
                "not '%s'",
                item);
        return err_hint(err, "for example --with-set B:workload.micro_batch=4");
    }
    if (call->n_operands == 1 && settings->with_set.n == 0) {
        err_set(err, STATUS_USAGE, "one plan has nothing to be compared with");
        return err_hint(err, "name a second plan, or set keys of one side: "
                             "--with-set B:KEY=VALUE");
    }
    if (!text_equal(call->operands[0], "-") ||
        !text_equal(call->operands[call->n_operands - 1], "-"))
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "the standard input can be read once, not for both plans");
    return err_hint(err, "write it to a file and name that");
}

static enum status predict_side(const struct invocation *call, char letter, size_t operand,
                                struct answer *side, struct err *err)
{
    const struct invocation one = call_of(call, letter);
    TRY(plan_argument_load(&one, operand, &side->plan, &side->origins, err));
    return answer_predict(call->operands[operand], &answer_compared, call->arena, side, err);
}

static enum status run_compare(const struct invocation *call, struct err *err)
{
    static void (*const printers[])(const struct compare_view *view) = {
        [FORMAT_TEXT] = compare_print_text,
        [FORMAT_JSON] = compare_print_json,
        [FORMAT_CSV] = compare_print_csv,
    };
    struct answer *sides = arena_alloc(call->arena, 2, sizeof *sides);
    struct comparison comparison;
    struct compare_view view;
    struct picture picture;
    const struct settings *settings = call->settings;
    TRY(check(call, err));
    if (settings->plot)
        TRY(picture_init(&picture, settings->plot, call, err));
    TRY(predict_side(call, 'A', 0, &sides[0], err));
    TRY(predict_side(call, 'B', call->n_operands - 1, &sides[1], err));
    TRY(answer_compare(sides, call->arena, &comparison, &view, err));
    view.top = settings->top;
    view.out = call->out;
    view.term = &call->term;
    printers[call->general.format](&view);
    return settings->plot ? chart_waterfall_draw(&comparison, sides[0].plan.name,
                                                 sides[1].plan.name, &picture, call, err)
                          : STATUS_OK;
}

static const char *const examples[] = {
    "moeplan compare old.yaml new.yaml",
    "moeplan compare plan.yaml --with-set A:moe.path=deepep --with-set B:moe.path=capacity",
    "moeplan compare plan.yaml --with-set B:workload.micro_batch=4 --plot change.svg",
    NULL,
};

const struct command command_compare = {
    .name = "compare",
    .operands = "<A.yaml> [<B.yaml>]",
    .summary = "what changes between two plans: keys, time, memory, work",
    .description =
        "Predicts two plans and says what the second (B) changes: the keys whose resolved "
        "values differ; what a step or a request takes; bytes at the peak by category and by "
        "buffer; FLOPs, bytes and seconds by op. The largest difference stands first, and the "
        "differences of a table sum to its "
        "total.\n"
        "\n"
        "With one plan, --with-set sets keys of one side; --set and --seed hold for both. A "
        "peak is each side's own moment: a buffer that is not alive then counts nothing.\n"
        "\n"
        "Seconds of ops are those of `predict --ops`: each op alone by the plan's profile, a "
        "micro-step of all layers one op after another. As JSON and CSV every row is written, "
        "those that are the same included. The status does not depend on the verdicts.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 2,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_compare,
};
