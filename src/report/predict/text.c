/* A prediction on one screen: the verdict, the job, memory against the limit, the peak, what
 * would make it fit, what was assumed and what is not modelled. Each part is a function that
 * prints only what was computed; a new part of the prediction is a new function and a row of
 * the table at the end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "plan/schema/schema.h"
#include "report/predict/assumed.h"
#include "report/predict/moe.h"
#include "report/predict/notes.h"
#include "report/predict/screen.h"

const char *screen_amount(const struct screen *screen, uint64_t bytes)
{
    char buffer[32];
    scale_print(buffer, screen->scale, bytes);
    return arena_strdup(screen->view->arena, buffer);
}

const char *screen_seconds(struct arena *arena, double s)
{
    char buffer[48];
    unit_print(buffer, UNIT_SECONDS, s);
    return arena_strdup(arena, buffer);
}

const char *screen_rate(struct arena *arena, double n)
{
    static const struct {
        double one;
        const char *suffix;
    } scales[] = {{1e9, " G"}, {1e6, " M"}, {1e4, " k"}};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (n >= scales[i].one)
            return arena_printf(arena, "%.4g%s", n / scales[i].one * (i == 2 ? 10 : 1),
                                scales[i].suffix);
    return arena_printf(arena, "%.4g", n);
}

void screen_item(struct screen *screen, const char *label, const char *text)
{
    page_item(&screen->page, 0, SCREEN_LABEL, label, text);
}

/* ---- a block other than moe ---- */

static void print_collective(struct screen *screen)
{
    const struct prediction *prediction = screen->view->prediction;
    const struct collective_block *b = &prediction->collective;
    char matmul[48], wire[48], serial[48], overlapped[48];
    if (!prediction->has_collective)
        return;
    page_heading(&screen->page, "the block, by peak rates and link bandwidth");
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

/* Limit, defaults and what notes are on in one item, when lines are short. */
static void print_assumed_briefly(struct screen *screen)
{
    const struct plan *plan = screen->view->plan;
    struct text text = {.arena = screen->view->arena};
    struct text defaults = {.arena = screen->view->arena};
    text_printf(&text, "limit %s", predict_assumed_limit(plan, screen->view->arena));
    if (screen->brief < BRIEF_TIME &&
        predict_assumed_defaults(plan, screen->view->origins, true, &defaults))
        text_printf(&text, "; %s", text_string(&defaults));
    if (screen->brief >= BRIEF_NOTES)
        predict_notes_brief(screen->view->prediction, &text);
    screen_item(screen, "assumed", text_string(&text));
}

static void print_assumed(struct screen *screen)
{
    const struct prediction *prediction = screen->view->prediction;
    const struct plan *plan = screen->view->plan;
    struct arena *arena = screen->view->arena;
    struct text defaults = {.arena = arena};
    if (screen->brief >= BRIEF_ASSUMED) {
        print_assumed_briefly(screen);
        return;
    }
    screen_item(screen, "assumed",
                arena_printf(arena, "limit %s; %s", predict_assumed_limit(plan, arena),
                             predict_assumed_stack(plan, arena)));
    if (screen->memory->int_wall && screen->brief < BRIEF_SECOND)
        screen_item(screen, "", predict_assumed_indices(screen->memory->int_wall, arena));
    size_t n = predict_assumed_defaults(plan, screen->view->origins,
                                        screen->brief >= BRIEF_DEFAULTS, &defaults);
    if (n)
        screen_item(screen, "defaults", text_string(&defaults));
    for (size_t i = 0; i < prediction->n_assumptions; i++)
        screen_item(screen, i ? "" : "also", prediction->assumptions[i]);
}

static void print_notes(struct screen *screen)
{
    const struct prediction *prediction = screen->view->prediction;
    if (screen->brief < BRIEF_NOTES)
        predict_notes_print(prediction, &screen->page, screen->view->arena);
    else
        predict_notes_weighty(prediction, &screen->page);
}

static void print_experts(struct screen *screen)
{
    if (screen->brief < BRIEF_EXPERTS)
        predict_summarise_experts(screen->view, &screen->page);
}

static void print_provenance(struct screen *screen)
{
    provenance_text(screen->page.out, screen->view->term, &screen->view->provenance);
}

static void (*const parts[])(struct screen *screen) = {
    screen_verdict, screen_pools,     screen_model,  screen_software, screen_layout,
    screen_cache,   print_experts,    screen_bars,   screen_peak,     screen_time,
    screen_fixes,   print_collective, print_assumed, print_notes,     print_provenance,
};

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* The screen as text, to be freed; NULL when there is no memory for it. */
static char *render(const struct predict_view *view, enum brief brief)
{
    char *text = NULL;
    size_t length = 0;
    struct predict_view own = *view;
    own.out = open_memstream(&text, &length);
    if (!own.out)
        return NULL;
    struct screen screen = {
        .view = &own,
        .memory = &view->prediction->memory,
        .scale = scale_for(view->prediction->memory.total_bytes),
        .page = {.out = own.out, .term = view->term},
        .brief = brief,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i](&screen);
    return fclose(own.out) == 0 ? text : NULL;
}

void predict_print_text(const struct predict_view *view)
{
    char *text = NULL;
    for (unsigned brief = 0; brief < BRIEF_LAST; brief++) {
        free(text);
        text = render(view, (enum brief)brief);
        if (!text || count_lines(text) <= SCREEN_LINES)
            break;
    }
    fputs(text ? text : "", view->out);
    free(text);
}
