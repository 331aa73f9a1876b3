/* Loss against hours; see losses.h. */
#include "cli/chart/losses.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "cli/chart/chart.h"
#include "cli/frontier/csv.h"
#include "plan/read/load.h"
#include "plan/data/published.h"
#include "sim/step/time.h"

enum { HALVINGS = 60 };

static const double hour_s = 3600;

/* ---- curves ---- */

/* Where between two points a value lies, as a share. */
static double between(double at, double low, double high)
{
    return high != low ? (at - low) / (high - low) : 0;
}

/* Loss after some seconds: between two points linear in the logarithm of the step. NAN outside
 * the run's points. */
static double loss_at(const struct loss_run *run, double seconds)
{
    double step = seconds / run->step_s, room = 1e-9 * step;
    if (!run->n || step < run->step[0] - room || step > run->step[run->n - 1] + room)
        return (double)NAN;
    size_t i = 1;
    while (i < run->n && run->step[i] < step)
        i++;
    if (i >= run->n)
        return run->loss[run->n - 1];
    double share = between(log(step), log(run->step[i - 1]), log(run->step[i]));
    return run->loss[i - 1] + share * (run->loss[i] - run->loss[i - 1]);
}

/* Seconds at which a loss is reached; NAN: not within its points. */
static double loss_reached_s(const struct loss_run *run, double loss)
{
    for (size_t i = 0; i < run->n; i++) {
        if (run->loss[i] > loss)
            continue;
        if (i == 0)
            return run->step[0] * run->step_s;
        double share = between(loss, run->loss[i - 1], run->loss[i]);
        double from = log(run->step[i - 1]), to = log(run->step[i]);
        return exp(from + share * (to - from)) * run->step_s;
    }
    return (double)NAN;
}

static double gap(const struct loss_run *a, const struct loss_run *b, double seconds)
{
    return loss_at(a, seconds) - loss_at(b, seconds);
}

/* The last of a run's points, from `from` to `to`, at which `run` is not below `other`. */
static double last_behind(const struct loss_run *points, const struct loss_run *run,
                          const struct loss_run *other, double from, double to)
{
    double last = (double)NAN;
    for (size_t i = 0; i < points->n; i++) {
        double at = points->step[i] * points->step_s;
        if (at >= from && at <= to && gap(run, other, at) > 0)
            last = at;
    }
    return last;
}

/* Seconds from which a run stays below another, as far as both go; NAN: it does not end below
 * it, or there is no time that both have. */
static double loss_ahead_s(const struct loss_run *run, const struct loss_run *other)
{
    if (!run->n || !other->n)
        return (double)NAN;
    double from = fmax(run->step[0] * run->step_s, other->step[0] * other->step_s);
    double to =
        fmin(run->step[run->n - 1] * run->step_s, other->step[other->n - 1] * other->step_s);
    if (!(from < to) || !(gap(run, other, to) < 0))
        return (double)NAN;
    /* curves bend at points alone: between the last that is behind and the next they cross
     * once */
    double low =
        fmax(last_behind(run, run, other, from, to), last_behind(other, run, other, from, to));
    double high = to;
    if (isnan(low))
        return from;
    const struct loss_run *both[] = {run, other};
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < both[r]->n; i++) {
            double at = both[r]->step[i] * both[r]->step_s;
            high = at > low && at < high ? at : high;
        }
    for (unsigned i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        *(gap(run, other, middle) > 0 ? &low : &high) = middle;
    }
    return high;
}

/* ---- reading ---- */

static struct mark line_of(const struct csv *csv, size_t row)
{
    return (struct mark){csv->file, csv->lines[row], 1};
}

static const char *cell_of(const struct csv *csv, size_t row, const char *name)
{
    const char *cell = csv_cell(csv, row, name);
    return cell ? cell : "";
}

static enum status read_number(const struct csv *csv, size_t row, const char *column,
                               double *value, struct err *err)
{
    const char *cell = cell_of(csv, row, column);
    if (number_real(cell, value) && isfinite(*value) && *value > 0)
        return STATUS_OK;
    err_at(err, line_of(csv, row), "%s: '%s' is no number above 0", column, cell);
    return err_hint(err, "a table of curves has the columns name, step and loss");
}

/* Beside the table, else as it is named. */
static const char *plan_file(const struct csv *csv, const char *name, struct arena *arena)
{
    const char *slash = strrchr(csv->file, '/');
    if (!slash || name[0] == '/')
        return name;
    const char *beside =
        arena_printf(arena, "%.*s/%s", (int)(slash - csv->file), csv->file, name);
    return file_is_there(beside) ? beside : name;
}

static enum status predict_step(const struct csv *csv, size_t row, struct arena *arena,
                                double *step_s, struct err *err)
{
    struct override *sets;
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct origins origins;
    struct profile profile;
    struct routing_data routing = {0};
    struct time_report time;
    size_t n;
    const char *file = plan_file(csv, cell_of(csv, row, "plan"), arena);
    TRY(published_sets(csv, row, arena, &sets, &n, err));
    TRY(plan_load(file, sets, n, arena, plan, &origins, err));
    TRY(routing_data_load(plan, arena, &routing, err));
    TRY(profile_load(plan, arena, &profile, err));
    const struct time_ask ask = {.routing = &routing, .profile = &profile};
    TRY(time_of(plan, &ask, arena, &time, err));
    *step_s = time.step_s;
    return STATUS_OK;
}

/* The rate of a run, in whichever of its rows it stands. */
static enum status read_rate(const struct csv *csv, struct arena *arena, struct loss_run *run,
                             struct err *err)
{
    size_t first = SIZE_MAX;
    for (size_t row = 0; row < csv->n_rows; row++) {
        if (!text_equal(cell_of(csv, row, "name"), run->name))
            continue;
        first = first == SIZE_MAX ? row : first;
        if (cell_of(csv, row, "step_s")[0])
            return read_number(csv, row, "step_s", &run->step_s, err);
        run->predicted = cell_of(csv, row, "plan")[0] != '\0';
        if (run->predicted)
            return predict_step(csv, row, arena, &run->step_s, err);
    }
    err_at(err, line_of(csv, first), "no row of '%s' says how long its steps take", run->name);
    return err_hint(err, "give seconds in a column step_s, or a plan file in a column plan, "
                         "which is timed");
}

static enum status read_points(const struct csv *csv, struct arena *arena, struct loss_run *run,
                               struct err *err)
{
    run->step = arena_alloc(arena, csv->n_rows, 2 * sizeof *run->step);
    run->loss = run->step + csv->n_rows;
    for (size_t row = 0; row < csv->n_rows; row++) {
        if (!text_equal(cell_of(csv, row, "name"), run->name))
            continue;
        TRY(read_number(csv, row, "step", &run->step[run->n], err));
        TRY(read_number(csv, row, "loss", &run->loss[run->n], err));
        if (run->n && run->step[run->n] <= run->step[run->n - 1])
            return err_at(err, line_of(csv, row),
                          "step %g of '%s' does not come after its step %g", run->step[run->n],
                          run->name, run->step[run->n - 1]);
        run->n++;
    }
    return read_rate(csv, arena, run, err);
}

enum status losses_read(const struct csv *csv, struct arena *arena, struct losses *out,
                        struct err *err)
{
    *out = (struct losses){.n = 0};
    for (size_t row = 0; row < csv->n_rows; row++) {
        const char *name = cell_of(csv, row, "name");
        size_t i = 0;
        while (i < out->n && !text_equal(out->runs[i].name, name))
            i++;
        if (i < out->n)
            continue;
        if (out->n == LOSS_RUNS)
            return err_at(err, line_of(csv, row), "more than %d runs", LOSS_RUNS);
        out->runs[out->n].name = name;
        TRY(read_points(csv, arena, &out->runs[out->n++], err));
    }
    for (size_t i = 0; i < out->n; i++) {
        const struct loss_run *first = &out->runs[0];
        struct loss_run *run = &out->runs[i];
        run->reaches_h = loss_reached_s(run, first->loss[first->n - 1]) / hour_s;
        run->ahead_h = i ? loss_ahead_s(run, first) / hour_s : (double)NAN;
    }
    return STATUS_OK;
}

/* The table again, a row per point: name, step, loss, step_s, rate (given, predicted), hours,
 * reaches_first_h, ahead_h. */
static void losses_print(const struct losses *losses, struct text *out)
{
    text_append(out, "name,step,loss,step_s,rate,hours,reaches_first_h,ahead_h\n");
    for (size_t r = 0; r < losses->n; r++) {
        const struct loss_run *run = &losses->runs[r];
        const char *name = frontier_csv_quote(run->name, out->arena);
        char reaches[32] = "", ahead[32] = "";
        if (isfinite(run->reaches_h))
            snprintf(reaches, sizeof reaches, "%.6g", run->reaches_h);
        if (isfinite(run->ahead_h))
            snprintf(ahead, sizeof ahead, "%.6g", run->ahead_h);
        for (size_t i = 0; i < run->n; i++)
            text_printf(out, "%s,%.10g,%.10g,%.6g,%s,%.6g,%s,%s\n", name, run->step[i],
                        run->loss[i], run->step_s, run->predicted ? "predicted" : "given",
                        run->step[i] * run->step_s / hour_s, reaches, ahead);
    }
}

/* ---- the chart ---- */

/* A table that this chart wrote has its hours already. */
static enum status extend(const char *file, struct picture *p, struct err *err)
{
    static const char *const columns[] = {"name", "step", "loss", NULL};
    struct losses *losses = arena_alloc(p->arena, 1, sizeof *losses);
    struct text rows = {.arena = p->arena};
    struct csv csv;
    TRY(chart_table(file, columns, chart_losses.needs, p, &csv, err));
    if (csv_column(&csv, "hours") != SIZE_MAX)
        return STATUS_OK;
    TRY(losses_read(&csv, p->arena, losses, err));
    losses_print(losses, &rows);
    p->data = rows;
    return STATUS_OK;
}

/* "dropless: 5.003 at 19.9 h, ahead from 3.2 h" of the last row of a run. */
static const char *title_of(const struct csv *csv, size_t row, bool first, struct arena *arena)
{
    struct text text = {.arena = arena};
    double hours = chart_number(csv, row, "hours");
    text_printf(&text, "%s: %.4g at %.4g h", csv_cell(csv, row, "name"),
                chart_number(csv, row, "loss"), hours);
    if (!first && chart_number(csv, row, "ahead_h") > 0)
        text_printf(&text, ", ahead from %.3g h", chart_number(csv, row, "ahead_h"));
    if (!first && chart_number(csv, row, "reaches_first_h") > 0)
        text_printf(&text, ", first's loss by %.4g h",
                    chart_number(csv, row, "reaches_first_h"));
    return text_string(&text);
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {"name", "step", "loss", "hours", NULL};
    struct csv csv;
    size_t n;
    TRY(chart_table(file, columns, chart_losses.needs, p, &csv, err));
    const char *const *runs = chart_distinct(&csv, "name", p->arena, &n);
    const char **titles = arena_alloc(p->arena, n + 1, sizeof *titles);
    if (n > LOSS_RUNS)
        return err_at(err, (struct mark){file, 1, 1}, "more than %d runs", LOSS_RUNS);
    for (size_t row = 0; row < csv.n_rows; row++)
        for (size_t i = 0; i < n; i++)
            if (text_equal(csv_cell(&csv, row, "name"), runs[i]))
                titles[i] = title_of(&csv, row, i == 0, p->arena);
    p->chart.kind = "losses";
    chart_titles(p, names, "loss against hours");
    picture_list(p, "runs", runs);
    picture_list(p, "run_titles", titles);
    return STATUS_OK;
}

const struct chart_kind chart_losses = {
    .name = "time-to-loss",
    .summary = "hours to a loss, and from when a run is ahead, of a table of curves",
    .needs = "a table with the columns name, step, loss and step_s (seconds), or plan and set",
    .extend = extend,
    .fill = fill,
};
