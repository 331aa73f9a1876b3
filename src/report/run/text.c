/* A run on one screen: the verdict, the ops that took longest, memory by category, what was
 * checked, and on what machine. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "report/page.h"
#include "report/run/print.h"

enum { OPS_SHOWN = 12, BUFFERS_SHOWN = 12 };

struct screen {
    const struct run_view *view;
    const struct run_report *report;
    struct page page;
};

static const char *amount(const struct screen *screen, enum unit unit, double value)
{
    char buffer[48];
    unit_print(buffer, unit, value);
    return arena_strdup(screen->view->arena, buffer);
}

static const char *bytes(const struct screen *screen, uint64_t value)
{
    return amount(screen, UNIT_BYTES, (double)value);
}

static const char *seconds(const struct screen *screen, double value)
{
    return amount(screen, UNIT_SECONDS, value);
}

/* ---- verdict ---- */

static unsigned count_passed(const struct checks *checks)
{
    unsigned n = 0;
    for (unsigned i = 0; i < checks->n; i++)
        n += checks->check[i].passed;
    return n;
}

/* What is timed of it is the harness alone. */
static bool performs_nothing(const struct run_report *report)
{
    return text_equal(report->backend, "null");
}

static void print_performed(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    const struct run_memory *memory = &report->memory;
    FILE *out = screen->page.out;
    if (memory->equal)
        fprintf(out, "%s predicted and metered", bytes(screen, memory->predicted_peak_bytes));
    else
        fprintf(out, "%s predicted, %s metered", bytes(screen, memory->predicted_peak_bytes),
                bytes(screen, memory->measured_peak_bytes));
    fprintf(out, "; %u of %u checks passed", count_passed(&report->checks), report->checks.n);
    if (performs_nothing(report))
        fprintf(out, "; nothing performed: %s are the harness",
                seconds(screen, report->time.measured_s));
    else if (isfinite(report->time.measured_s))
        fprintf(out, "; %s, %s %s, ratio %.3g", seconds(screen, report->time.measured_s),
                report->time.profile ? "predicted" : "roofline",
                seconds(screen, report->time.predicted_s), report->time.ratio);
    if (!report->time.within)
        fputs(", beyond the band", out);
}

static void print_not_performed(const struct screen *screen)
{
    const struct run_memory *memory = &screen->report->memory;
    fprintf(screen->page.out, "%s predicted, this machine can give %s",
            bytes(screen, memory->predicted_peak_bytes), bytes(screen, memory->limit_bytes));
}

static void print_verdict(struct screen *screen)
{
    static const enum style styles[] = {[RUN_AGREES] = STYLE_GOOD,
                                        [RUN_METERED] = STYLE_GOOD,
                                        [RUN_DISAGREES] = STYLE_BAD,
                                        [RUN_OOM] = STYLE_BAD,
                                        [RUN_DRY] = STYLE_BOLD};
    const struct run_report *report = screen->report;
    const struct term *term = screen->view->term;
    fprintf(screen->page.out, "%s%s%s: ", term_style(term, styles[report->verdict]),
            run_verdict_name(report->verdict), term_plain(term));
    if (report->verdict == RUN_OOM || report->verdict == RUN_DRY)
        print_not_performed(screen);
    else
        print_performed(screen);
    fputc('\n', screen->page.out);
    screen->page.used = true;
    if (screen->view->step)
        fprintf(screen->page.out, "step: %s\n", screen->view->step);
    if (screen->view->shrunk)
        fprintf(screen->page.out, "shrunk: %s\n", screen->view->shrunk);
    if (report->alone && report->ranks > 1)
        fprintf(screen->page.out,
                "rank %" PRIu64 " of %" PRIu64 " alone: peers are absent, their rows made up; "
                "exchanges are %s\n",
                report->rank, report->ranks, report->staged ? "not timed" : "copies in memory");
    if (screen->view->share)
        fprintf(screen->page.out, "one rank's share: %s\n", screen->view->share);
}

/* ---- ops ---- */

static double weight(const struct run_op *op)
{
    return isfinite(op->measured_s) ? op->measured_s : op->predicted_s;
}

static int by_time(const void *a, const void *b)
{
    const struct run_op *const *x = a, *const *y = b;
    if (weight(*x) < weight(*y) || weight(*x) > weight(*y))
        return weight(*x) < weight(*y) ? 1 : -1;
    return *x < *y ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const struct run_op *const *x = a, *const *y = b;
    return *x < *y ? -1 : *x > *y;
}

static double sum_weights(const struct run_op *const *ops, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += weight(ops[i]);
    return sum;
}

static void print_table(const struct screen *screen, const struct column *columns, size_t n,
                        const void *records, size_t n_records, size_t record_size)
{
    const struct table table = {.columns = columns,
                                .n = n,
                                .records = records,
                                .n_records = n_records,
                                .record_size = record_size,
                                .indent = 2};
    fputc('\n', screen->page.out);
    column_table(screen->page.out, screen->view->term, &table, screen->view->arena);
}

/* A prediction by no profile is what the machine could do at most; of nothing performed the
 * harness is measured. */
static const struct column *op_columns(const struct screen *screen, size_t *n)
{
    const struct column *columns = run_op_table(n);
    struct column *named = arena_alloc(screen->view->arena, *n, sizeof *named);
    memcpy(named, columns, *n * sizeof *named);
    for (size_t i = 0; i < *n; i++) {
        if (text_equal(named[i].key, "predicted_s") && !screen->report->time.profile)
            named[i].title = "roofline";
        if (text_equal(named[i].key, "measured_s") && performs_nothing(screen->report))
            named[i].title = "harness";
    }
    if (performs_nothing(screen->report) && text_equal(named[*n - 1].key, "ratio"))
        *n -= 1;
    return named;
}

/* Those that take longest, in the order of the step. */
static void print_ops(struct screen *screen)
{
    const struct run_report *report = screen->report;
    struct arena *arena = screen->view->arena;
    size_t n = report->n_ops, shown = n < OPS_SHOWN ? n : OPS_SHOWN, n_columns;
    const struct run_op **order = arena_alloc(arena, n + 1, sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = &report->ops[i];
    qsort(order, n, sizeof *order, by_time);
    double rest = sum_weights(order + shown, n - shown);
    qsort(order, shown, sizeof *order, by_place);
    struct run_op *rows = arena_alloc(arena, shown + 1, sizeof *rows);
    for (size_t i = 0; i < shown; i++)
        rows[i] = *order[i];
    const struct column *columns = op_columns(screen, &n_columns);
    print_table(screen, columns, n_columns, rows, shown, sizeof *rows);
    if (n > shown)
        fprintf(screen->page.out, "  and %zu more, %s together (--format csv)\n", n - shown,
                seconds(screen, rest));
}

/* ---- memory ---- */

static void print_memory(struct screen *screen)
{
    size_t n;
    const struct run_memory *memory = &screen->report->memory;
    const struct column *columns = run_category_columns(&n);
    bool metered = memory->measured_peak_bytes > 0;
    print_table(screen, columns, metered ? n : n - 1, memory->categories, memory->n_categories,
                sizeof *memory->categories);
    if (metered)
        fprintf(screen->page.out, "  the process grew by %s\n",
                bytes(screen, memory->resident_growth_bytes));
    columns = run_place_columns(&n);
    if (memory->n_places)
        print_table(screen, columns, n, memory->places, memory->n_places,
                    sizeof *memory->places);
}

static void print_buffers(struct screen *screen)
{
    size_t n, n_buffers;
    const struct run_report *report = screen->report;
    if (report->verdict != RUN_DRY && report->verdict != RUN_OOM)
        return;
    struct run_buffer *buffers = run_buffers(report, screen->view->arena, &n_buffers);
    const struct column *columns = run_buffer_columns(&n);
    size_t shown = n_buffers < BUFFERS_SHOWN ? n_buffers : BUFFERS_SHOWN;
    print_table(screen, columns, n - 1, buffers, shown, sizeof *buffers);
    if (n_buffers > shown)
        fprintf(screen->page.out, "  and %zu more in --format json\n", n_buffers - shown);
}

static void print_fixes(struct screen *screen)
{
    size_t n;
    const struct run_report *report = screen->report;
    const struct column *columns = run_fix_columns(&n);
    if (report->n_fixes)
        print_table(screen, columns, n, report->fixes, report->n_fixes, sizeof *report->fixes);
    else if (report->verdict == RUN_OOM)
        page_heading(&screen->page, "nothing smaller that was tried fits");
}

/* ---- checks ---- */

static void print_failures(struct screen *screen)
{
    const struct checks *checks = &screen->report->checks;
    for (unsigned i = 0; i < checks->n; i++) {
        const struct check *check = &checks->check[i];
        if (check->passed)
            continue;
        page_item(&screen->page, 2, 32, check->name,
                  arena_printf(screen->view->arena, "failed: error %.3g, tolerance %.3g%s%s",
                               check->error, check->tolerance, check->detail[0] ? "; " : "",
                               check->detail));
    }
}

static void print_checks(struct screen *screen)
{
    const struct checks *checks = &screen->report->checks;
    struct text names = {.arena = screen->view->arena};
    if (!checks->n)
        return;
    page_heading(&screen->page, "checks");
    print_failures(screen);
    for (unsigned i = 0; i < checks->n; i++)
        if (checks->check[i].passed)
            text_printf(&names, "%s%s", names.length ? ", " : "", checks->check[i].name);
    page_item(&screen->page, 2, 12, "passed", text_string(&names));
    if (checks->tokens_checked < checks->tokens)
        page_item(&screen->page, 2, 12, "tokens",
                  arena_printf(names.arena,
                               "%" PRIu64 " of %" PRIu64 " held against the reference",
                               checks->tokens_checked, checks->tokens));
    if (checks->gradient_stride > 1)
        page_item(&screen->page, 2, 12, "gradients",
                  arena_printf(names.arena,
                               "one row in %" PRIu64 " of a matrix' gradient held against the "
                               "reference, every token in it",
                               checks->gradient_stride));
}

/* ---- how ---- */

static void print_rows(struct screen *screen)
{
    if (!screen->report->routed)
        return;
    const struct run_rows *rows = &screen->report->rows;
    struct text line = {.arena = screen->view->arena};
    text_printf(&line, "%" PRIu64 " routed, a rank %" PRIu64 " to %" PRIu64, rows->routed,
                rows->smallest, rows->largest);
    if (rows->computed)
        text_printf(&line,
                    "; %" PRIu64 " dropped, %" PRIu64
                    " computed (exact padding %.3gx), %" PRIu64 " reserved (allocated %.3gx)",
                    rows->dropped, rows->computed, rows->exact_factor, rows->allocated,
                    rows->allocated_factor);
    page_item(&screen->page, 2, 12, "rows", text_string(&line));
}

/* What a path fetches for blocks or tokens of its own. */
static void print_loads(struct screen *screen)
{
    const struct run_loads *loads = &screen->report->loads;
    struct text line = {.arena = screen->view->arena};
    if (!loads->weight_loads)
        return;
    if (loads->blocks_provisioned)
        text_printf(&line,
                    "%" PRIu64 " blocks provided, %" PRIu64 " with rows, %" PRIu64
                    " run; %" PRIu64 " token rows; ",
                    loads->blocks_provisioned, loads->blocks_valid, loads->blocks_executed,
                    loads->token_rows);
    text_printf(&line, "weights of an expert %" PRIu64 " times", loads->weight_loads);
    if (loads->counted.weight_bytes)
        text_printf(&line, ": %s", bytes(screen, loads->counted.weight_bytes));
    if (loads->counted.core_bytes)
        text_printf(&line, "; %s between cores", bytes(screen, loads->counted.core_bytes));
    page_item(&screen->page, 2, 12, "loads", text_string(&line));
}

/* Of a prediction by what was probed: no layer runs so much faster than its kernels did. */
static const double TOO_FAST = 0.8;

static void print_time(struct screen *screen)
{
    const struct run_time *time = &screen->report->time;
    struct text line = {.arena = screen->view->arena};
    if (time->profile)
        text_printf(&line, "predicted by profile %s", time->profile);
    else
        text_append(&line, "roofline of the cluster's figures");
    if (time->origin)
        text_printf(&line, " (%s%s)", time->origin,
                    time->profile && time->samples && time->ratio < TOO_FAST
                        ? ": it was slower then, --probe again takes it anew"
                        : "");
    if (!screen->report->device)
        text_append(&line, ", a worker being a device");
    if (time->samples)
        text_printf(&line,
                    "; median of %" PRIu64 " samples of %" PRIu64
                    " step%s, 95 %% between %s and %s, p99 %s; harness %s of it",
                    time->samples, time->steps, time->steps > 1 ? "s" : "",
                    seconds(screen, time->low_s), seconds(screen, time->high_s),
                    seconds(screen, time->p99_s), seconds(screen, time->overhead_s));
    page_item(&screen->page, 2, 12, "time", text_string(&line));
}

/* A tenth: what probes of one machine differ by. */
static const double HELD_STILL = 0.1;

static void print_gauge(const struct run_time *time, struct text *line)
{
    if (!(time->products_flop_per_s > 0))
        return;
    double ratio = time->products_flop_per_s / time->products_probed_flop_per_s;
    text_printf(line, "; meanwhile its products ran at %.2f of what was probed%s", ratio,
                ratio < 1 - HELD_STILL   ? ": others share it or its clocks fell, so run again"
                : ratio > 1 + HELD_STILL ? ": it was slower then, --probe again takes it anew"
                                         : "");
}

static void print_machine(struct screen *screen)
{
    const struct run_report *report = screen->report;
    const struct snapshot *setup = &report->snapshot;
    struct text line = {.arena = screen->view->arena};
    text_printf(&line, "%s, %" PRIu64 " CPU%s", report->machine.cpu, report->machine.cpus,
                report->machine.cpus > 1 ? "s" : "");
    if (report->blas)
        text_printf(&line, ", %s", report->blas);
    print_gauge(&report->time, &line);
    page_item(&screen->page, 2, 12, "machine", text_string(&line));
    if (report->device)
        page_item(&screen->page, 2, 12, "device", report->device);
    if (report->clocks)
        page_item(&screen->page, 2, 12, "clocks", report->clocks);
    if (report->links)
        page_item(&screen->page, 2, 12, "links", report->links);
    if (setup->mode)
        page_item(&screen->page, 2, 12, "set-up",
                  arena_printf(line.arena,
                               "backend %s, transport %s: %" PRIu64 " rank%s, %s, %" PRIu64
                               " worker%s, exchanges of at most %s",
                               report->backend, report->transport, setup->ranks,
                               setup->ranks > 1 ? "s" : "", setup->mode, setup->workers,
                               setup->workers > 1 ? "s" : "",
                               bytes(screen, setup->exchange_bytes)));
}

static void print_how(struct screen *screen)
{
    page_heading(&screen->page, "how");
    print_rows(screen);
    print_loads(screen);
    print_time(screen);
    print_machine(screen);
}

static void (*const parts[])(struct screen *screen) = {
    print_verdict, print_fixes, print_ops, print_memory, print_buffers, print_checks, print_how,
};

void run_print_text(const struct run_view *view)
{
    struct screen screen = {
        .view = view, .report = view->report, .page = {.out = view->out, .term = view->term}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i](&screen);
    fputc('\n', view->out);
    provenance_text(view->out, view->term, &view->provenance);
}
