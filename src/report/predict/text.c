/* A prediction on one screen: the verdict, where the memory goes, the wall, what would make it
 * fit, what was assumed. Each part is a function that prints only what was computed; a new part
 * of the prediction is a new function and a row of the table at the end. */
#include <math.h>
#include <inttypes.h>
#include <string.h>

#include "base/unit.h"
#include "plan/derive.h"
#include "report/page.h"
#include "report/predict/assumed.h"
#include "report/predict/moe.h"
#include "report/predict/notes.h"
#include "report/predict/print.h"
#include "plan/schema.h"
#include "report/bars.h"

enum { LARGEST_SHOWN = 3, FIXES_SHOWN = 6 };

struct screen {
    const struct predict_view *view;
    const struct memory_report *memory;
    struct scale scale;
    struct page page;
};

static const char *amount(const struct screen *screen, uint64_t bytes)
{
    char buffer[32];
    scale_print(buffer, screen->scale, bytes);
    return arena_strdup(screen->view->arena, buffer);
}

static void heading(struct screen *screen, const char *title)
{
    page_heading(&screen->page, title);
}

/* A heading over rows of print_buffer. */
static void buffer_heading(struct screen *screen, const char *title)
{
    const struct term *term = screen->view->term;
    fprintf(screen->page.out, "\n%s%-24s%s%s%10s%8s%s\n", term_style(term, STYLE_BOLD), title,
            term_plain(term), term_style(term, STYLE_DIM), screen->scale.unit, "%",
            term_plain(term));
}

/* ---- verdict ---- */

static enum style verdict_style(enum verdict verdict)
{
    static const enum style styles[] = {[VERDICT_FITS] = STYLE_GOOD,
                                        [VERDICT_MARGINAL] = STYLE_WARN,
                                        [VERDICT_OOM] = STYLE_BAD};
    return styles[verdict];
}

/* The chance per step, and over the steps of the run when the plan names them; n samples
 * without one out of memory bound it by 3/n (95 %), they do not make it 0. */
static const char *chance(const struct memory_report *memory, double steps, struct arena *arena)
{
    const char *below = memory->oom_samples ? "" : "< ";
    double step = fmin(memory->oom_probability, 1);
    double run = -expm1(steps * log1p(-step));
    if (steps <= 1 || (!memory->oom_samples && run > 0.95)) /* a bound that says nothing */
        return arena_printf(arena, "%s%.3g per step", below, step);
    return arena_printf(arena, "%s%.3g per step, %s%.3g over %.0f steps", below, step, below,
                        run, steps);
}

/* Two halves of a sentence that go on from column `at`, on one line, or on two where the
 * terminal is narrow. */
static void print_halves(const struct screen *screen, size_t at, const char *first,
                         const char *second)
{
    const struct term *term = screen->view->term;
    bool fits = at + term_columns(first) + 2 + term_columns(second) <= term->width;
    fprintf(screen->page.out, "%s;%s%s\n", first, fits ? " " : "\n  ", second);
}

static void print_distribution(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    if (!memory->has_distribution)
        return;
    struct arena *arena = screen->view->arena;
    const char *sizes =
        arena_printf(arena, "expected %s, p99 %s, worst %s %s",
                     amount(screen, memory->expected_bytes), amount(screen, memory->p99_bytes),
                     amount(screen, memory->worst_bytes), screen->scale.unit);
    double steps = (double)screen->view->plan->workload.steps;
    print_halves(screen, 0, sizes,
                 arena_printf(arena, "chance of running out %s", chance(memory, steps, arena)));
}

/* Limit and margin; of a plan far smaller than its device in their own unit. */
static const char *limit_text(const struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    const struct scale scale = scale_for(memory->limit_bytes);
    char limit[32], margin[32];
    const char *unit = text_equal(scale.unit, screen->scale.unit) ? "" : scale.unit;
    const char *space = unit[0] ? " " : "";
    scale_print(limit, scale, memory->limit_bytes);
    scale_print_signed(margin, scale, memory->margin_bytes);
    return arena_printf(screen->view->arena, "limit %s%s%s, margin %s%s%s", limit, space, unit,
                        margin, space, unit);
}

static void print_verdict(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    const struct term *term = screen->view->term;
    struct arena *arena = screen->view->arena;
    const char *verdict = verdict_name(memory->verdict);
    const char *sum =
        arena_printf(arena, ": %s %s = state %s + temp %s", amount(screen, memory->total_bytes),
                     screen->scale.unit, amount(screen, memory->state_bytes),
                     amount(screen, memory->temp_bytes));
    const char *limit =
        arena_printf(arena, "%s (%s%s, modelled)", limit_text(screen), memory->sizing,
                     text_equal(memory->sizing, "worst") ? " case" : "");
    fprintf(screen->page.out, "%s%s%s", term_style(term, verdict_style(memory->verdict)),
            verdict, term_plain(term));
    print_halves(screen, strlen(verdict), sum, limit);
    screen->page.used = true;
    print_distribution(screen);
}

/* ---- where the memory goes ---- */

static void print_categories(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    struct bar *bars = arena_alloc(screen->view->arena, CATEGORY_COUNT, sizeof *bars);
    for (unsigned i = 0; i < memory->n_categories; i++)
        bars[i] = (struct bar){category_name(memory->categories[i].category),
                               memory->categories[i].bytes};
    fputc('\n', screen->page.out);
    bars_print(screen->page.out, screen->view->term, "where the memory goes", bars,
               memory->n_categories, screen->scale, screen->view->arena);
}

/* ---- the wall, or the largest buffers ---- */

static const char *shape_text(const struct buffer_report *buffer, struct arena *arena)
{
    struct text shape = {.arena = arena};
    size_t n;
    const struct column *columns = buffer_columns(&n);
    for (size_t i = 0; i < n; i++)
        if (text_equal(columns[i].key, "dtype") || text_equal(columns[i].key, "shape")) {
            text_append(&shape, shape.length ? " " : "");
            column_cell(&columns[i], buffer, &shape);
        }
    if (buffer->copies > 1)
        text_printf(&shape, ", %" PRIu64 " copies", buffer->copies);
    return text_string(&shape);
}

/* One line of a formula, cut when it is too long for the screen; --buffers has all of it. */
static void print_clipped(const struct screen *screen, const char *text, size_t length)
{
    size_t room = screen->view->term->width - 4;
    bool whole = length <= room;
    fprintf(screen->page.out, "    %.*s%s\n", (int)(whole ? length : room - 4), text,
            whole ? "" : " ...");
}

/* "symbols = numbers" on one line, or the numbers, where they fit, on the next. */
static void print_formula(const struct screen *screen, const char *formula)
{
    const struct term *term = screen->view->term;
    const char *numbers = strstr(formula, " = ");
    size_t length = strlen(formula), room = term->width - 4;
    fputs(term_style(term, STYLE_DIM), screen->page.out);
    if (length <= room || !numbers) {
        print_clipped(screen, formula, length);
    } else {
        print_clipped(screen, formula, (size_t)(numbers - formula));
        if (strlen(numbers + 1) <= room)
            print_clipped(screen, numbers + 1, strlen(numbers + 1));
    }
    fputs(term_plain(term), screen->page.out);
}

static void print_buffer(struct screen *screen, const struct buffer_report *buffer)
{
    char percent[32];
    percent_print(percent, buffer->bytes, screen->memory->total_bytes);
    fprintf(screen->page.out, "  %-22s%10s%8s  %s, %s\n", buffer->name,
            amount(screen, buffer->bytes), percent, category_name(buffer->category),
            shape_text(buffer, screen->view->arena));
    if (buffer->formula)
        print_formula(screen, buffer->formula);
}

static const struct buffer_report *largest_below(const struct memory_report *memory,
                                                 const struct buffer_report *last)
{
    const struct buffer_report *found = NULL;
    for (size_t i = 0; i < memory->n_buffers; i++) {
        const struct buffer_report *buffer = &memory->buffers[i];
        bool smaller = !last || buffer->bytes < last->bytes ||
                       (buffer->bytes == last->bytes && buffer > last);
        if (buffer->at_peak && smaller && (!found || buffer->bytes > found->bytes))
            found = buffer;
    }
    return found;
}

static void print_largest(struct screen *screen)
{
    const struct buffer_report *buffer = largest_below(screen->memory, NULL);
    if (!buffer)
        return;
    buffer_heading(screen, "largest buffers");
    for (unsigned i = 0; i < LARGEST_SHOWN && buffer; i++) {
        print_buffer(screen, buffer);
        buffer = largest_below(screen->memory, buffer);
    }
}

static void print_wall(struct screen *screen)
{
    const struct buffer_report *wall = screen->memory->wall;
    const struct buffer_report *largest = largest_below(screen->memory, NULL);
    bool both = wall && largest && largest->bytes > wall->bytes;
    if (!wall) {
        print_largest(screen);
        return;
    }
    buffer_heading(screen, both ? "the wall, the largest" : "the wall");
    print_buffer(screen, wall);
    if (screen->memory->address_wall)
        fputs("    more than its library can address, whatever memory there is\n",
              screen->page.out);
    if (both)
        print_buffer(screen, largest);
}

/* ---- fixes ---- */

/* "a=1 b=2" -> "--set a=1 --set b=2" */
static const char *fix_options(const struct fix *fix, struct arena *arena)
{
    struct text options = {.arena = arena};
    for (const char *at = fix->set; *at;) {
        size_t length = strcspn(at, " ");
        text_append(&options, options.length ? " --set " : "--set ");
        text_append_n(&options, at, length);
        at += length + strspn(at + length, " ");
    }
    return text_string(&options);
}

static void print_fix(struct screen *screen, const struct fix *fix)
{
    fprintf(screen->page.out, "  %-46s%10s  %s\n", fix_options(fix, screen->view->arena),
            amount(screen, fix->total_bytes), verdict_name(fix->verdict));
}

static void print_fixes(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    const struct term *term = screen->view->term;
    if (memory->verdict != VERDICT_OOM)
        return;
    if (memory->n_fixes == 0) {
        heading(screen, "no change that was tried makes it fit");
        return;
    }
    fprintf(screen->page.out, "\n%s%-48s%s%s%10s%s\n", term_style(term, STYLE_BOLD),
            "what makes it fit, best throughput first", term_plain(term),
            term_style(term, STYLE_DIM), screen->scale.unit, term_plain(term));
    size_t shown = memory->n_fixes < FIXES_SHOWN ? memory->n_fixes : FIXES_SHOWN;
    for (size_t i = 0; i < shown; i++)
        print_fix(screen, &memory->fixes[i]);
    if (shown < memory->n_fixes)
        fprintf(screen->page.out, "  and %zu more in --format json\n", memory->n_fixes - shown);
}

/* ---- the model ---- */

static const char *short_count(uint64_t value, struct arena *arena)
{
    static const struct {
        double one;
        const char *letter;
    } steps[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if ((double)value >= steps[i].one)
            return arena_printf(arena, "%.4g %s", (double)value / steps[i].one,
                                steps[i].letter);
    return arena_printf(arena, "%" PRIu64, value);
}

static void print_model(struct screen *screen)
{
    const struct model_report *model = &screen->view->prediction->model;
    struct arena *arena = screen->view->arena;
    char flop[48];
    if (!model->parameters)
        return;
    heading(screen, "the model");
    unit_print(flop, UNIT_FLOP_PER_S, (double)model->flop_per_token);
    fprintf(screen->page.out,
            "  %s parameters, %s active per token, %s on a device; %.*s per token\n",
            short_count(model->parameters, arena), short_count(model->active_parameters, arena),
            short_count(model->parameters_per_device, arena), (int)strcspn(flop, "/"), flop);
    predict_summarise_experts(screen->view);
}

/* ---- a block other than moe ---- */

static void print_collective(struct screen *screen)
{
    const struct prediction *prediction = screen->view->prediction;
    const struct collective_block *b = &prediction->collective;
    char matmul[48], wire[48], serial[48], overlapped[48];
    if (!prediction->has_collective)
        return;
    heading(screen, "the block, by peak rates and link bandwidth");
    unit_print(matmul, UNIT_SECONDS, b->matmul_s);
    unit_print(wire, UNIT_SECONDS, b->gather_s + b->reduce_s);
    unit_print(serial, UNIT_SECONDS, b->serial_s);
    unit_print(overlapped, UNIT_SECONDS, b->overlapped_s);
    page_item(&screen->page, 2, 12, "over",
              arena_printf(screen->view->arena, "%" PRIu64 " ranks (%s)", b->ranks,
                           words_block[b->kind]));
    page_item(&screen->page, 2, 12, "products", matmul);
    page_item(&screen->page, 2, 12, "exchange", wire);
    page_item(&screen->page, 2, 12, "together",
              arena_printf(screen->view->arena, "%s one after the other, %s overlapped", serial,
                           overlapped));
}

/* ---- what was assumed ---- */

static void print_assumed(struct screen *screen)
{
    const struct prediction *prediction = screen->view->prediction;
    struct text defaults = {.arena = screen->view->arena};
    heading(screen, "assumed");
    page_item(&screen->page, 2, 12, "limit",
              predict_assumed_limit(screen->view->plan, screen->view->arena));
    page_item(&screen->page, 2, 12, "stack",
              predict_assumed_stack(screen->view->plan, screen->memory, screen->view->arena));
    page_item(&screen->page, 2, 12, "profile", predict_assumed_profile(screen->view->plan));
    if (!plan_names_path(screen->view->plan))
        page_item(&screen->page, 2, 12, "path",
                  predict_assumed_path(screen->view->plan, screen->view->arena));
    if (screen->memory->int_wall)
        page_item(&screen->page, 2, 12, "indices",
                  predict_assumed_indices(screen->memory->int_wall, screen->view->arena));
    predict_assumed_defaults(screen->view->plan, screen->view->origins, &defaults);
    if (defaults.length)
        page_item(&screen->page, 2, 12, "defaults", text_string(&defaults));
    for (size_t i = 0; i < prediction->n_assumptions; i++)
        page_item(&screen->page, 2, 12, i ? "" : "also", prediction->assumptions[i]);
}

static void print_notes(struct screen *screen)
{
    predict_notes_print(screen->view->prediction, &screen->page, screen->view->arena);
}

static void (*const parts[])(struct screen *screen) = {
    print_verdict, print_categories, print_wall,    print_fixes,
    print_model,   print_collective, print_assumed, print_notes,
};

void predict_print_text(const struct predict_view *view)
{
    const struct memory_report *memory = &view->prediction->memory;
    struct screen screen = {
        .view = view,
        .memory = memory,
        .scale = scale_for(memory->total_bytes),
        .page = {.out = view->out, .term = view->term},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i](&screen);
    fputc('\n', view->out);
    provenance_text(view->out, view->term, &view->provenance);
}
