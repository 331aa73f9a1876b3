/* moeplan frontier: sweeps keys and shows where memory runs out. */
#include <stdlib.h>

#include "cli/chart/sweep.h"
#include "cli/command/commands.h"
#include "cli/command/side.h"
#include "cli/frontier/call.h"
#include "cli/frontier/find.h"
#include "cli/frontier/published.h"
#include "cli/frontier/rows.h"
#include "cli/frontier/table.h"
#include "cli/frontier/unread.h"
#include "cli/option/less.h"

struct settings {
    struct option_list cases, overs, columns;
    const char *plot, *find, *with, *reduce, *part;
    bool marginal;
    uint64_t threads;
};

static const struct option options[] = {
    {"over", 0, OPTION_LIST, offsetof(struct settings, overs), "KEY=VALUES", NULL,
     "sweep a key: 1..32, 1..64*2, 0..1+0.1, a,b,c; up to three, the last varies fastest"},
    {"case", 0, OPTION_LIST, offsetof(struct settings, cases), "NAME:KEY=VALUE,...", NULL,
     "a named configuration; repeatable; NAME is the column \"case\" and the legend"},
    {"column", 0, OPTION_LIST, offsetof(struct settings, columns), "JSON-KEY", NULL,
     "add a value of predict's JSON as a column, such as padding.allocated_factor or "
     "time.step_s"},
    {"with", 0, OPTION_TEXT, offsetof(struct settings, with), "time", NULL,
     "fill the column tokens_per_s_per_device, as predict has it (--reduce pareto and top do)"},
    {"find", 0, OPTION_TEXT, offsetof(struct settings, find), "max:KEY", NULL,
     "the largest value of a key that still fits, for each point of the sweep"},
    {"marginal", 0, OPTION_FLAG, offsetof(struct settings, marginal), NULL, NULL,
     "with --find, --reduce pareto and top: take what is marginal, within the stack's error"},
    {"reduce", 0, OPTION_TEXT, offsetof(struct settings, reduce), "WHAT", NULL,
     "keep less than all rows: boundary (beside another verdict along the last key), pareto "
     "(nothing fits in less memory and is faster), top:N (the fastest that fit), count"},
    {"part", 0, OPTION_TEXT, offsetof(struct settings, part), "I/N", NULL,
     "only the I-th of N equal parts of the points; joined in order they are the whole"},
    {"plot", 0, OPTION_TEXT, offsetof(struct settings, plot), "FILE", NULL,
     "draw a chart: .png, .svg, .pdf, .txt, or - for the terminal; keeps .csv and .gp"},
    {"threads", 0, OPTION_COUNT, offsetof(struct settings, threads), "N 0..1024", NULL,
     "threads to evaluate on; 0: one per CPU"},
};

static enum status draw(const struct frontier *frontier, const struct text *rows,
                        struct picture *picture, const struct invocation *call, struct err *err)
{
    struct sweep_table table;
    const struct chart_names names = chart_names_of(&frontier->base, call->arena);
    picture->data = *rows;
    TRY(frontier_published(frontier, &picture->published, err));
    TRY(picture_plain(picture, "rows", err));
    const char *text = text_string(&picture->data);
    TRY(sweep_table_parse("rows", text, picture->data.length, call->arena, &table, err));
    TRY(chart_sweep(&table, &names, SWEEP_VIEW_AUTO, picture, err));
    return picture_draw(picture, frontier_is_table(call), call, err);
}

static enum status choose_less(const struct settings *settings, const struct sweep *sweep,
                               struct frontier_sink *sink, struct err *err)
{
    uint64_t first, end;
    TRY(less_reduce(settings->reduce, &sink->keep, err));
    TRY(less_part(settings->part, &sink->part, err));
    enum sweep_reduce reduce = sink->keep.reduce;
    if (settings->marginal && reduce != REDUCE_PARETO && reduce != REDUCE_TOP)
        return err_set(err, STATUS_USAGE,
                       "option '--marginal' needs --find max:KEY, --reduce pareto or top:N");
    if (settings->plot && reduce != REDUCE_NOTHING)
        return err_set(err, STATUS_USAGE, "options '--reduce' and '--plot' exclude each other");
    sink->keep.marginal = settings->marginal;
    sink->time = settings->with || reduce == REDUCE_PARETO || reduce == REDUCE_TOP;
    sweep_part_range(sweep_points(sweep), sink->part, &first, &end);
    sink->points = end - first;
    return STATUS_OK;
}

static enum status find(const struct frontier *frontier, const struct invocation *call,
                        struct err *err)
{
    const struct settings *settings = call->settings;
    TRY(side_provenance_check(call, true, err));
    enum status status = frontier_find(frontier, settings->find, settings->marginal, call, err);
    if (status == STATUS_OK || status == STATUS_NOFIT)
        TRY(frontier_provenance(frontier, call, err));
    return status;
}

static enum status run_frontier(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    struct frontier frontier;
    struct text kept = {.arena = call->arena};
    if (settings->cases.n + settings->overs.n == 0 && !settings->find) {
        err_set(err, STATUS_USAGE, "nothing to sweep");
        return err_hint(err, "name a key: --over workload.micro_batch=1..32");
    }
    TRY(frontier_of_call(&frontier, call, &settings->cases, &settings->overs, err));
    frontier_unread(&frontier, stderr);
    if (settings->find && (settings->reduce || settings->part))
        return err_set(
            err, STATUS_USAGE,
            "option '--find' excludes --reduce and --part: it keeps one row of each");
    if (settings->find)
        return find(&frontier, call, err);
    if (settings->with && !text_equal(settings->with, "time"))
        return err_set(err, STATUS_USAGE, "option '--with' takes time, not '%s'",
                       settings->with);
    struct frontier_sink sink = {0};
    TRY(choose_less(settings, &frontier.sweep, &sink, err));
    struct picture picture;
    TRY(side_provenance_check(call, true, err));
    if (settings->plot)
        TRY(picture_init(&picture, settings->plot, call, err));
    bool keep =
        frontier_is_table(call) || settings->plot || call->general.format == FORMAT_JSON;
    if (keep && sink.keep.reduce == REDUCE_NOTHING)
        TRY(frontier_rows_few(sink.points, err));
    sink.kept = keep ? &kept : NULL;
    sink.file = keep ? NULL : call->out;
    sink.progress = !keep && term_is_watched(stderr) && !call->term.tty;
    TRY(frontier_rows(&frontier, &settings->columns, (unsigned)settings->threads, &sink, err));
    TRY(frontier_provenance(&frontier, call, err));
    if (settings->plot)
        TRY(draw(&frontier, &kept, &picture, call, err));
    return keep && !(settings->plot && frontier_is_table(call))
               ? frontier_table(&kept, call, err)
               : STATUS_OK;
}

static const char *const examples[] = {
    "moeplan frontier --over workload.micro_batch=1..16 plan.yaml",
    "moeplan frontier --over parallel.ep=1..64*2 --over workload.micro_batch=1..32 -o map.csv "
    "--plot map.png plan.yaml",
    "moeplan frontier --case cf2:moe.path=capacity,moe.capacity_factor=2 "
    "--case deepep:moe.path=deepep --over workload.micro_batch=1..16 --plot walls.svg "
    "plan.yaml",
    "moeplan frontier --find max:workload.micro_batch --over moe.path=capacity,deepep "
    "plan.yaml",
    "moeplan frontier --over workload.sequence_length=1..100000 --over "
    "workload.micro_batch=1..1000 --reduce boundary -o edge.csv plan.yaml",
    NULL,
};

const struct command command_frontier = {
    .name = "frontier",
    .rows = true,
    .operands = "<plan.yaml>",
    .summary = "sweep keys and show where memory runs out",
    .description =
        "Evaluates the plan at every combination of the swept values: verdict, bytes and the "
        "buffer at which memory runs out. Points that break a rule or that the stack refuses "
        "have the verdict \"invalid\". A key of --over that no point reads is named on the "
        "standard error, with the reason.\n\n"
        "Writes CSV with -o FILE.csv or --format csv, one row per point in the order of the "
        "axes, whatever the number of threads; FILE.json beside it says what made it "
        "(FILE.provenance.json beside rows in FILE.json). An "
        "interrupted sweep leaves whole rows in FILE.csv.partial, the next one in "
        "FILE.csv.2.partial.\n\n"
        "--reduce keeps memory and files small however many points there are. What is fastest "
        "is by tokens_per_s_per_device, as predict has it. Parts of a sweep run anywhere; but "
        "for their headers, joined in order, they are the bytes of one run (of pareto, top "
        "and count: of each part):\n\n"
        "  parallel -k moeplan frontier --over KEY=1..1000000 --part {}/8 --format csv "
        "plan.yaml '|' tail -n +2 ::: 1 2 3 4 5 6 7 8\n\n"
        "With --find the status is 4 when no point has a value that fits; where one has none, "
        "bytes and last column are of the value nearest to it. Every value up to 4,096 that "
        "could is tried (`smaller_values` says whether all fit); beyond, the value is one of "
        "which the next 1,024 do not fit, or the largest that the key may have, and smaller "
        "ones are `not tried`.",
    .examples = examples,
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run_frontier,
};
