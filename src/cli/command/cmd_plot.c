/* moeplan plot: draws one kind of chart from a plan or from a saved table. */

#include "base/file.h"
#include "cli/chart/chart.h"
#include "cli/command/commands.h"
#include "cli/frontier/table.h"

enum { TABLE_BYTES = 64 << 20 };

struct settings {
    struct option_list cases, overs;
    const char *plot;
};

static const struct option options[] = {
    {"over", 0, OPTION_LIST, offsetof(struct settings, overs), "KEY=VALUES", NULL,
     "what the chart runs over, as for frontier; each kind has a default"},
    {"case", 0, OPTION_LIST, offsetof(struct settings, cases), "NAME:KEY=VALUE,...", NULL,
     "a named configuration; repeatable"},
    {"plot", 0, OPTION_TEXT, offsetof(struct settings, plot), "FILE", NULL,
     "the picture: .png, .svg, .pdf, .txt, or - for the terminal; keeps .csv and .gp"},
};

/* What was published beside a saved table stands in FILE-published.csv. */
static enum status read_saved(const char *file, struct picture *picture, struct err *err)
{
    struct arena *arena = picture->arena;
    char *text;
    size_t length;
    TRY(file_read(file, TABLE_BYTES, arena, &text, &length, err));
    text_append_n(&picture->data, text, length);
    const char *published = picture_published_file(file, arena);
    if (!file_is_there(published))
        return STATUS_OK;
    TRY(file_read(published, TABLE_BYTES, arena, &text, &length, err));
    text_append_n(&picture->published, text, length);
    return STATUS_OK;
}

static enum status check_sweep(const struct chart_kind *kind, const struct settings *settings,
                               bool saved, struct err *err)
{
    if (settings->overs.n + settings->cases.n == 0 || (kind->sweeps && !saved))
        return STATUS_OK;
    if (saved)
        err_set(err, STATUS_USAGE,
                "a saved table is drawn as it is: --over and --case do not "
                "apply");
    else
        err_set(err, STATUS_USAGE, "chart '%s' draws one plan: --over and --case do not apply",
                kind->name);
    return err_hint(err, "change the plan with --set KEY=VALUE");
}

static enum status check_kind(const struct chart_kind *kind, bool saved, struct err *err)
{
    if (saved || kind->make)
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "chart '%s' draws a table: a file that ends in .csv",
            kind->name);
    return err_hint(err, "it draws %s", kind->needs);
}

/* -o FILE.png is --plot FILE.png; nothing at all is a chart on the terminal. */
static const char *picture_file(const struct invocation *call)
{
    const struct settings *settings = call->settings;
    const char *output = call->general.output;
    if (settings->plot)
        return settings->plot;
    if (call->general.format != FORMAT_TEXT)
        return NULL;
    if (output)
        return output;
    return "-";
}

static enum status run_plot(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    const struct chart_kind *kind;
    struct picture picture;
    struct invocation inner = *call;
    const char *file = call->operands[1], *drawn = picture_file(call);
    bool saved = text_ends(file, ".csv");
    inner.operands++;
    inner.n_operands--;
    TRY(charts_find(call->operands[0], &kind, err));
    TRY(check_sweep(kind, settings, saved, err));
    TRY(check_kind(kind, saved, err));
    TRY(picture_init(&picture, drawn ? drawn : "-", call, err));
    struct chart_names names;
    if (saved) {
        TRY(read_saved(file, &picture, err));
        names = chart_names_of_file(file, call->arena);
        if (kind->extend)
            TRY(kind->extend(file, &picture, err));
    } else {
        const struct chart_request request = {&inner, settings->cases, settings->overs};
        enum status status = kind->make(&request, &names, &picture, err);
        if (status == STATUS_INPUT)
            return err_place(err, (struct mark){.file = file});
        TRY(status);
    }
    bool all = call->general.format == FORMAT_TEXT;
    const struct text rows = picture.data;
    if (drawn) {
        TRY(picture_plain(&picture, file, err));
        TRY(kind->fill(file, &names, &picture, err));
        TRY(picture_draw(&picture, all, call, err));
    }
    return all ? STATUS_OK : frontier_table(&rows, call, err);
}

static const char *const examples[] = {
    "moeplan plot memory plan.yaml --over workload.micro_batch=1..16",
    "moeplan plot categories plan.yaml --over moe.path=capacity,deepep -o parts.png",
    "moeplan plot roofline plan.yaml --plot roofline.svg",
    "moeplan plot time-to-loss examples/seed000-losses.csv --format csv",
    "moeplan plot memory saved.csv -o again.pdf",
    NULL,
};

const struct command command_plot = {
    .name = "plot",
    .operands = "<kind> <plan.yaml|saved.csv>",
    .summary = "draw one kind of chart from a plan or a saved table",
    .description =
        "Kinds:\n\n"
        "  memory        memory of a rank against a key, a line per configuration\n"
        "  map           two keys: verdict as colour, GiB in the cells\n"
        "  categories    what memory holds, stacked, over a key\n"
        "  time          what a step's time is made of, stacked, over a key\n"
        "  timeline      one layer along time by the profile, a lane for each stream\n"
        "  roofline      the layer's ops under the device's roofs, share of its time\n"
        "  pareto        layouts found by search, and which no other beats\n"
        "  pools         servers that prefill and decode: tokens/s against both times\n"
        "  time-to-loss  hours to a loss, and from when a run is ahead\n"
        "  waterfall     what changes between two plans: what `compare --plot` wrote\n"
        "  load          rows per expert and the fullest rank under skew\n"
        "  drops         share of rows dropped against the capacity factor\n"
        "  padding       padding and FLOP per byte of weights by block size\n\n"
        "Draws on the terminal unless a picture is named with -o or --plot. Beside FILE.png "
        "stand FILE.csv and FILE.gp, which `gnuplot FILE.gp` draws again. Without gnuplot they "
        "are written all the same and the status is 5. With -o FILE.csv or --format csv only "
        "the table is written.",
    .words = charts_names,
    .examples = examples,
    .min_operands = 2,
    .max_operands = 2,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run_plot,
};
