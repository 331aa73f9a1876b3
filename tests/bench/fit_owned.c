/* What `moeplan calibrate RUNS.csv` is worth on a user's own few runs, shown on published ones,
 * through the code that it calls: `fit_owned` prints the tables of models/profiles/README.md,
 * section "Whole steps", and how wide the times of profile megatron are.
 *
 *   fit_owned layouts  of one model on one device each layout predicted from the others, by
 *                      three profiles to begin with
 *   fit_owned splits   some layouts drawn to calibrate on, the others asked of what is written
 *   fit_owned whole    a layout or a model left out of all runs
 *   fit_owned unlike   refitted without all runs that have one value of a key
 *
 * Without an argument all four; minutes on one CPU. Ends with 1 where the tables or
 * tests/data/widths.csv say otherwise (MOEPLAN_REWRITE=1 takes it over). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/rng.h"
#include "base/stat.h"
#include "base/text.h"
#include "calib/fit/calibrate_runs.h"
#include "calib/fit/left_out.h"
#include "plan/read/catalog.h"
#include "support/owners.h"
#include "support/run_kinds.h"
#include "support/widths.h"

enum {
    MOST_ROWS = 64,
    MOST_LEFT = 1024,
    MOST_SPLITS = 40,
    DRAWS = 400,
    OWN = 5,
    RESAMPLES = 2000,
    SEED = 1
};

static const char assumed[] = "megatron-assumed", shipped[] = "megatron",
                  others_file[] = "fit_owned_others.yaml", own_file[] = "fit_owned_own.yaml";
static const char
    splits_head[] = "| runs | splits | own runs | before | after | 90 % |\n"
                    "|---|---|---|---|---|---|\n",
    layouts_head[] = "| runs | layouts | `megatron`; of the others a fit to all runs but these "
                     "| held | half width | `megatron-assumed` | held | half width |\n"
                     "|---|---|---|---|---|---|---|---|\n";

static const struct owner {
    const char *name, *table, *device, *model;
} owners[] = {
    {"DeepSeek-V2, 8 B200", "megatron_moe_memory_b200", "b200", "deepseek-v2"},
    {"DeepSeek-V3, GB200", "megatron_train_throughput", "gb200", "deepseek-v3"},
    {"DeepSeek-V3, B200", "megatron_train_throughput", "b200", "deepseek-v3"},
    {"Qwen3-30B, GB200", "megatron_train_throughput", "gb200", "qwen3-30b-a3b"},
    {"Qwen3-30B, B200", "megatron_train_throughput", "b200", "qwen3-30b-a3b"},
    {"Qwen3-30B, H100", "megatron_train_throughput", "h100", "qwen3-30b-a3b"},
};
enum { OWNERS = sizeof owners / sizeof *owners };

/* Rows of a table that have a rate or a time, and the layout of each. */
struct runs {
    struct arena arena;
    struct csv csv;
    struct plan *plans;
    uint32_t layout[MOST_ROWS];
    uint32_t n_layouts;
};

static void stop(const struct err *err)
{
    fprintf(stderr, "fit_owned: %s: %s %s\n", err->where, err->text, err->hint);
    exit(1);
}

static void append_row(struct csv *to, const struct csv *from, size_t row)
{
    memcpy(&to->cells[to->n_rows * to->n_columns], &from->cells[row * from->n_columns],
           from->n_columns * sizeof *to->cells);
    to->lines[to->n_rows++] = from->lines[row];
}

static struct csv table_like(const struct csv *csv, struct arena *arena)
{
    struct csv empty = *csv;
    empty.n_rows = 0;
    empty.cells = arena_alloc(arena, csv->n_rows * csv->n_columns + 1, sizeof *empty.cells);
    empty.lines = arena_alloc(arena, csv->n_rows + 1, sizeof *empty.lines);
    return empty;
}

static bool is_of(const struct plan *plan, const struct owner *owner)
{
    char device[PLAN_NAME];
    profile_device(plan, device);
    return !owner->device ||
           (text_equal(device, owner->device) && text_equal(plan->model_name, owner->model));
}

static void number_layout(struct runs *r, size_t row)
{
    const char *set = csv_cell(&r->csv, row, "set"), *plan = csv_cell(&r->csv, row, "plan");
    for (size_t i = 0; i < row; i++)
        if (text_equal(set, csv_cell(&r->csv, i, "set")) &&
            text_equal(plan, csv_cell(&r->csv, i, "plan"))) {
            r->layout[row] = r->layout[i];
            return;
        }
    r->layout[row] = r->n_layouts++;
}

/* Those of an owner, or all but them. */
static void open_runs(struct runs *r, const struct owner *owner, bool others)
{
    struct err err = {0};
    struct csv all;
    char *path;
    *r = (struct runs){.n_layouts = 0};
    r->plans = arena_alloc(&r->arena, MOST_ROWS, sizeof *r->plans);
    if (catalog_find(CATALOG_PUBLISHED, owner->table, NULL, &r->arena, &path, &err) ||
        csv_read(path, &r->arena, &all, &err))
        stop(&err);
    r->csv = table_like(&all, &r->arena);
    for (size_t row = 0; row < all.n_rows && r->csv.n_rows < MOST_ROWS; row++) {
        struct csv one = table_like(&all, &r->arena);
        struct plan *plan = &r->plans[r->csv.n_rows];
        append_row(&one, &all, row);
        if (!calibrate_is_runs(&one))
            continue;
        if (published_plan_with(&all, row, NULL, &r->arena, plan, &err))
            stop(&err);
        if (is_of(plan, owner) == others)
            continue;
        append_row(&r->csv, &all, row);
        number_layout(r, r->csv.n_rows - 1);
    }
}

static void calibrate(const struct csv *csv, const char *profile, enum run_depth depth,
                      struct arena *arena, struct run_calibration *out)
{
    const struct override set = {"stack.profile", profile, "fit_owned"};
    const struct published_sets sets = {&set, 1};
    const struct run_choice choice = {.sets = &sets, .depth = depth};
    struct err err = {0};
    if (calibrate_runs(csv, &choice, arena, out, &err))
        stop(&err);
}

static void write_profile(const char *file, const struct run_calibration *c)
{
    FILE *out = fopen(file, "w");
    if (!out) {
        perror(file);
        exit(1);
    }
    calibrate_runs_write(out, c, "fit_owned", "2026-11-27");
    fclose(out);
}

/* A profile that has seen no run of the owner's: the shipped one, or one fitted to all other
 * runs of the table. */
static const char *unseen(const struct owner *owner)
{
    struct runs others;
    struct run_calibration c;
    if (strcmp(owner->table, owners[OWNERS - 1].table) != 0)
        return shipped;
    open_runs(&others, owner, true);
    calibrate(&others.csv, assumed, RUN_LEFT_OUT, &others.arena, &c);
    write_profile(others_file, &c);
    arena_release(&others.arena);
    return others_file;
}

/* ---- each layout from the others ---- */

struct judged {
    double median, held, width; /* percent */
};

/* Of all owners, by each of the two profiles to begin with. */
struct judged_all {
    struct owners owners;
    double n_held[OWNERS_PRIORS], width[OWNERS_PRIORS][OWNERS];
    size_t n_runs, n_layouts;
};

/* Root mean square over layouts of the logarithms of those left out. */
static double spread_of(const struct runs *r, const struct run_calibration *c)
{
    struct stat layouts = {0};
    for (uint32_t g = 0; g < r->n_layouts; g++) {
        struct stat own = {0};
        for (size_t i = 0; i < c->n; i++)
            if (r->layout[i] == g)
                stat_add(&own, pow(log(c->values[i].left_out / c->values[i].measured), 2));
        stat_add(&layouts, own.mean);
    }
    return sqrt(layouts.mean);
}

static struct judged left_out(const struct runs *r, const char *profile, unsigned prior,
                              struct judged_all *all)
{
    struct arena arena = {0};
    struct run_calibration c;
    calibrate(&r->csv, profile, RUN_JUDGED, &arena, &c);
    const struct judged judged = {c.left_out.median, 100 * c.held, 100 * c.error};
    all->n_held[prior] += c.held * (double)c.n;
    all->width[prior][all->owners.n] = judged.width;
    all->owners.spread[prior][all->owners.n] = spread_of(r, &c);
    arena_release(&arena);
    return judged;
}

static void say_line(struct text *table, const char *line)
{
    text_printf(table, "%s", line);
    fputs(line, stdout);
    fflush(stdout);
}

static void say_layouts(const struct runs *r, const struct owner *owner, const char *prior,
                        struct text *table, struct judged_all *all)
{
    const struct judged own = left_out(r, prior, 0, all), other = left_out(r, assumed, 1, all);
    all->owners.name[all->owners.n] = owner->name;
    all->owners.layouts[all->owners.n++] = r->n_layouts;
    all->n_runs += r->csv.n_rows;
    all->n_layouts += r->n_layouts;
    say_line(table, arena_printf(table->arena,
                                 "| %s: %zu | %u | %.1f | %.0f %% | %.0f %% | %.1f | %.0f %% | "
                                 "%.0f %% |\n",
                                 owner->name, r->csv.n_rows, (unsigned)r->n_layouts, own.median,
                                 own.held, own.width, other.median, other.held, other.width));
}

static void say_all(struct judged_all *all, struct text *table)
{
    double held[OWNERS_PRIORS], width[OWNERS_PRIORS];
    for (unsigned prior = 0; prior < OWNERS_PRIORS; prior++) {
        stat_sort(all->width[prior], all->owners.n);
        width[prior] = stat_percentile(all->width[prior], all->owners.n, 0.5);
        held[prior] = 100 * all->n_held[prior] / (double)all->n_runs;
    }
    say_line(table,
             arena_printf(table->arena,
                          "| all: %zu; half width: the median | %zu | | %.0f %% | %.0f %% "
                          "| | %.0f %% | %.0f %% |\n",
                          all->n_runs, all->n_layouts, held[0], width[0], held[1], width[1]));
}

/* ---- many splits ---- */

/* Errors in percent of every run that some split asked for. */
struct asked {
    double before[MOST_ROWS][MOST_SPLITS], after[MOST_ROWS][MOST_SPLITS];
    size_t n[MOST_ROWS];
};

/* The median over so many runs, with all that was asked of each. */
static double median_of(double (*errors)[MOST_SPLITS], const size_t *n, const uint32_t *runs,
                        size_t n_runs)
{
    static double all[MOST_ROWS * MOST_SPLITS];
    size_t count = 0;
    for (size_t i = 0; i < n_runs; i++)
        for (size_t k = 0; k < n[runs[i]]; k++)
            all[count++] = errors[runs[i]][k];
    stat_sort(all, count);
    return count ? stat_percentile(all, count, 0.5) : (double)NAN;
}

static void bootstrap(struct asked *a, const uint32_t *runs, size_t n, double ends[2])
{
    static double medians[RESAMPLES];
    uint32_t drawn[MOST_ROWS];
    struct rng rng;
    rng_init(&rng, SEED, 1, 0, 0, 0);
    for (size_t i = 0; i < RESAMPLES; i++) {
        for (size_t k = 0; k < n; k++)
            drawn[k] = runs[rng_below(&rng, n)];
        medians[i] = median_of(a->after, a->n, drawn, n);
    }
    stat_sort(medians, RESAMPLES);
    ends[0] = stat_percentile(medians, RESAMPLES, 0.05);
    ends[1] = stat_percentile(medians, RESAMPLES, 0.95);
}

/* Layouts in an order at random until they have OWN runs, or all but one. */
static uint64_t draw(const struct runs *r, struct rng *rng, size_t *n_own)
{
    uint32_t order[MOST_ROWS];
    uint64_t own = 0;
    *n_own = 0;
    rng_order(rng, order, r->n_layouts);
    for (uint32_t i = 0; i + 1 < r->n_layouts && *n_own < OWN; i++) {
        own |= UINT64_C(1) << order[i];
        for (size_t row = 0; row < r->csv.n_rows; row++)
            *n_own += r->layout[row] == order[i];
    }
    return own;
}

static void ask(const struct runs *r, uint64_t own, const char *prior, struct asked *a)
{
    struct arena arena = {0};
    struct csv mine = table_like(&r->csv, &arena), theirs = table_like(&r->csv, &arena);
    struct run_calibration c, before, after;
    size_t rows[MOST_ROWS];
    for (size_t row = 0; row < r->csv.n_rows; row++) {
        bool is_own = own >> r->layout[row] & 1;
        if (!is_own)
            rows[theirs.n_rows] = row;
        append_row(is_own ? &mine : &theirs, &r->csv, row);
    }
    calibrate(&mine, prior, RUN_FITTED, &arena, &c);
    write_profile(own_file, &c);
    calibrate(&theirs, prior, RUN_TOLD, &arena, &before);
    calibrate(&theirs, own_file, RUN_TOLD, &arena, &after);
    for (size_t i = 0; i < theirs.n_rows; i++) {
        size_t row = rows[i], k = a->n[row]++;
        a->before[row][k] = 100 * fabs(before.values[i].before / before.values[i].measured - 1);
        a->after[row][k] = 100 * fabs(after.values[i].before / after.values[i].measured - 1);
    }
    arena_release(&arena);
}

static void say_splits(const struct runs *r, const struct owner *owner, const char *prior,
                       struct text *table)
{
    static struct asked a;
    uint64_t seen[MOST_SPLITS];
    size_t n = 0, least = SIZE_MAX, most = 0, n_own, n_runs = 0;
    uint32_t runs[MOST_ROWS];
    double ends[2];
    struct rng rng;
    memset(&a, 0, sizeof a);
    rng_init(&rng, SEED, 0, 0, 0, 0);
    for (unsigned i = 0; i < DRAWS && n < MOST_SPLITS; i++) {
        uint64_t own = draw(r, &rng, &n_own);
        size_t k = 0;
        while (k < n && seen[k] != own)
            k++;
        if (k < n)
            continue;
        seen[n++] = own;
        least = n_own < least ? n_own : least;
        most = n_own > most ? n_own : most;
        ask(r, own, prior, &a);
    }
    for (uint32_t row = 0; row < r->csv.n_rows; row++)
        if (a.n[row])
            runs[n_runs++] = row;
    bootstrap(&a, runs, n_runs, ends);
    const char *own_runs = least == most
                               ? arena_printf(table->arena, "%zu", least)
                               : arena_printf(table->arena, "%zu to %zu", least, most);
    say_line(table,
             arena_printf(table->arena, "| %s | %zu | %s | %.1f | %.1f | %.1f to %.1f |\n",
                          owner->name, n, own_runs, median_of(a.before, a.n, runs, n_runs),
                          median_of(a.after, a.n, runs, n_runs), ends[0], ends[1]));
}

/* ---- a layout or a model left out of all runs ---- */

static const struct owner everyone = {"all", "megatron_train_throughput", NULL, NULL};

/* What the shipped profile says of its runs. */
static void tell_shipped(const struct runs *r, struct width *width, struct arena *arena)
{
    struct run_calibration c;
    double told[MOST_ROWS], measured[MOST_ROWS];
    calibrate(&r->csv, shipped, RUN_TOLD, arena, &c);
    for (size_t i = 0; i < c.n; i++) {
        told[i] = c.values[i].before;
        measured[i] = c.values[i].measured;
    }
    widths_told(width, told, measured, c.n);
}

/* Groups of what was left out, errors of it: a line. */
struct set_aside {
    double told[MOST_LEFT], measured[MOST_LEFT];
    uint32_t group[MOST_LEFT];
    size_t n;
};

static bool say_left(struct widths *widths, const struct runs *r, const struct set_aside *left,
                     const char *cut, uint64_t groups, double held, struct arena *arena)
{
    struct width width = {
        .profile = shipped, .kind = "step", .cut = cut, .groups = groups, .held = held};
    double *error = arena_alloc(arena, left->n + 1, sizeof *error);
    for (size_t i = 0; i < left->n; i++)
        error[i] = left_out_error(left->told[i], left->measured[i]);
    width.width = left_out_width(error, left->group, left->n, UINT32_MAX,
                                 left_out_rule_of(groups, 0), arena);
    widths_errors(&width, left->told, left->measured, left->n, arena);
    tell_shipped(r, &width, arena);
    printf("%s left out: median %.1f %%, p90 %.1f %%, width %.3f\n", cut, width.median,
           width.p90, width.width);
    fflush(stdout);
    return widths_say(widths, &width, arena);
}

static bool say_whole(struct widths *widths)
{
    static struct set_aside layouts, models;
    struct arena arena = {0};
    struct run_calibration c;
    struct runs r;
    open_runs(&r, &everyone, false);
    calibrate(&r.csv, assumed, RUN_JUDGED, &arena, &c);
    const char *seen[MOST_ROWS];
    uint32_t n_models = 0;
    for (size_t i = 0; i < c.n; i++) {
        uint32_t k = 0;
        while (k < n_models && !text_equal(seen[k], c.values[i].model))
            k++;
        if (k == n_models)
            seen[n_models++] = c.values[i].model;
        layouts.told[i] = c.values[i].left_out;
        models.told[i] = c.values[i].model_out;
        layouts.measured[i] = models.measured[i] = c.values[i].measured;
        layouts.group[i] = r.layout[i];
        models.group[i] = k;
    }
    layouts.n = models.n = c.n;
    bool good = say_left(widths, &r, &layouts, "layout", r.n_layouts, c.held, &arena);
    good = say_left(widths, &r, &models, "model", n_models, (double)NAN, &arena) && good;
    arena_release(&r.arena);
    arena_release(&arena);
    return good;
}

/* ---- without all runs of one kind ---- */

/* False: too few runs stay. */
static bool leave_kind(const struct runs *r, uint32_t k, struct set_aside *e)
{
    const struct run_kind *kind = &run_kinds[k];
    struct arena arena = {0};
    struct csv kept = table_like(&r->csv, &arena), left = table_like(&r->csv, &arena);
    struct run_calibration c;
    struct stat percent = {0};
    for (size_t row = 0; row < r->csv.n_rows; row++)
        append_row(kind->is(&r->plans[row]) ? &left : &kept, &r->csv, row);
    bool enough = left.n_rows && 2 * kept.n_rows >= r->csv.n_rows;
    if (enough) {
        calibrate(&kept, assumed, RUN_FITTED, &arena, &c);
        write_profile(own_file, &c);
        calibrate(&left, own_file, RUN_TOLD, &arena, &c);
        for (size_t i = 0; i < c.n; i++) {
            e->told[e->n] = c.values[i].before;
            e->measured[e->n] = c.values[i].measured;
            e->group[e->n++] = k;
            stat_add(&percent, 100 * (c.values[i].before / c.values[i].measured - 1));
        }
        printf("without %s: %zu runs, %+.1f %% on average\n", kind->name, left.n_rows,
               percent.mean);
        fflush(stdout);
    }
    arena_release(&arena);
    return enough;
}

static bool say_unlike(struct widths *widths)
{
    static struct set_aside left;
    struct arena arena = {0};
    struct runs r;
    uint64_t groups = 0;
    open_runs(&r, &everyone, false);
    for (uint32_t k = 0; k < RUN_KINDS; k++)
        groups += leave_kind(&r, k, &left);
    bool good = say_left(widths, &r, &left, "keys", groups, (double)NAN, &arena);
    arena_release(&r.arena);
    arena_release(&arena);
    return good;
}

/* A folder of its own for the profiles that it writes: several may run at once. */
static const char *enter_folder(struct arena *arena)
{
    char *folder = arena_printf(arena, "%s/fit_owned-XXXXXX", temporary_folder());
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        perror(folder);
        exit(1);
    }
    return folder;
}

static bool asks(int argc, char **argv, const char *what)
{
    return argc < 2 || strcmp(argv[1], what) == 0;
}

int main(int argc, char **argv)
{
    struct arena arena = {0};
    struct widths widths;
    struct judged_all all = {.n_runs = 0};
    struct text by_layout = {.arena = &arena}, by_split = {.arena = &arena};
    widths_read(&widths, &arena);
    const char *folder = enter_folder(&arena);
    bool layouts = asks(argc, argv, "layouts"), splits = asks(argc, argv, "splits"),
         good = true;
    text_printf(&by_layout, "%s", layouts_head);
    text_printf(&by_split, "%s", splits_head);
    for (unsigned i = 0; i < OWNERS && (layouts || splits); i++) {
        struct runs r;
        const char *prior = unseen(&owners[i]);
        open_runs(&r, &owners[i], false);
        if (layouts)
            say_layouts(&r, &owners[i], prior, &by_layout, &all);
        if (splits)
            say_splits(&r, &owners[i], prior, &by_split);
        arena_release(&r.arena);
    }
    if (layouts)
        say_all(&all, &by_layout);
    if (layouts)
        good = widths_section(&widths, "own layouts", text_string(&by_layout), &arena) &&
               owners_say(&all.owners, widths.root, &arena);
    if (splits)
        good = widths_section(&widths, "own splits", text_string(&by_split), &arena) && good;
    if (asks(argc, argv, "whole"))
        good = say_whole(&widths) && good;
    if (asks(argc, argv, "unlike"))
        good = say_unlike(&widths) && good;
    remove(others_file);
    remove(own_file);
    rmdir(folder);
    arena_release(&arena);
    return !good;
}
