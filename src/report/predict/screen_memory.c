/* Memory on the first screen: the verdict, bars against the limit, the peak; see screen.h. */
#include "report/predict/screen.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/derive.h"
#include "sim/serve/serve.h"

enum { BAR_WIDTH = 48, HELD_SHOWN = 5, HELD_FEW = 4, STAGES_SHOWN = 8 };

static enum style verdict_style(enum verdict verdict)
{
    static const enum style styles[] = {[VERDICT_FITS] = STYLE_GOOD,
                                        [VERDICT_MARGINAL] = STYLE_WARN,
                                        [VERDICT_OOM] = STYLE_BAD};
    return styles[verdict];
}

/* A chance per step, and over the steps of the run when the plan names them; `below`: an upper
 * bound, which is not printed where it says nothing. */
static const char *chance(double step, bool below, double steps, struct arena *arena)
{
    const double never = 1e-12, always = 0.95; /* bounds beyond these say no more */
    const double certain = 0.9995;             /* as printed; so it is over more steps */
    step = fmin(below ? fmax(step, never) : step, 1);
    const char *sign = below ? "< " : "";
    double run = -expm1(steps * log1p(-step));
    if (below && step > always)
        return "not known, for want of moe.routing.samples";
    if (steps <= 1 || (below && run > always) || step >= certain)
        return arena_printf(arena, "%s%.3g per step", sign, step);
    return arena_printf(arena, "%s%.3g per step, %s%.3g over %.0f steps", sign, step, sign, run,
                        steps);
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

/* What becomes of rows that find no room in a receive buffer of given size. */
static const char *overflow_text(const struct screen *screen, const struct overflow *o)
{
    struct arena *arena = screen->view->arena;
    double steps = (double)screen->view->plan->workload.steps;
    if (o->policy == OVERFLOW_DROP)
        return arena_printf(arena, "%.3g %% of all rows find no room and are dropped",
                            100 * o->drop_fraction);
    if (o->probability <= 0)
        return "more cannot come";
    return arena_printf(arena, "more, which ends the step: probability %s",
                        chance(o->probability, o->is_bound, steps, arena));
}

static void print_room(struct screen *screen)
{
    const struct overflow *o = &screen->memory->overflow;
    if (!o->bounded)
        return;
    print_halves(
        screen, 0,
        arena_printf(screen->view->arena, "receive buffer: %" PRIu64 " rows", o->room_rows),
        overflow_text(screen, o));
}

static const char *oom_chance(const struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    double steps = (double)screen->view->plan->workload.steps;
    if (memory->worst_bytes <= memory->limit_bytes)
        return arena_printf(screen->view->arena, "0 over %.0f steps: the worst case fits",
                            steps);
    return chance(memory->oom_probability, memory->oom_samples == 0, steps,
                  screen->view->arena);
}

static void print_distribution(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    print_room(screen);
    if (!memory->has_distribution)
        return;
    struct arena *arena = screen->view->arena;
    const char *error = screen_amount(screen, memory->p99_error_bytes);
    /* nothing where it is less than the figure's last place */
    error = strspn(error, "0.") < strlen(error) ? arena_printf(arena, " +- %s", error) : "";
    print_halves(screen, 0, arena_printf(arena, "OOM probability %s", oom_chance(screen)),
                 arena_printf(arena, "expected %s, p99 %s%s, worst %s %s",
                              screen_amount(screen, memory->expected_bytes),
                              screen_amount(screen, memory->p99_bytes), error,
                              screen_amount(screen, memory->worst_bytes), screen->scale.unit));
}

/* Limit and margin; of a plan far smaller than its device in their own unit. */
static const char *limit_text(const struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    const struct scale own = scale_for(memory->limit_bytes);
    const struct scale scale = own.bytes > screen->scale.bytes ? own : screen->scale;
    char limit[32], margin[32];
    const char *unit = text_equal(scale.unit, screen->scale.unit) ? "" : scale.unit;
    const char *space = unit[0] ? " " : "";
    scale_print(limit, scale, memory->limit_bytes);
    scale_print_signed(margin, scale, memory->margin_bytes);
    return arena_printf(screen->view->arena, "limit %s%s%s, margin %s%s%s", limit, space, unit,
                        margin, space, unit);
}

/* Which number the verdict is about, and the worst beside it. */
static const char *sizing_text(const struct screen *screen)
{
    static const struct {
        const char *sizing, *text;
    } words[] = {
        {"worst", "worst case"},
        {"balanced", "balance asserted"},
        {"factor", "as reserved"},
        {"fixed", "whatever routing does"},
    };
    const struct memory_report *memory = screen->memory;
    bool over = memory->worst_bytes > memory->limit_bytes;
    const char *text = memory->sizing;
    const char *reason =
        predict_beside_sum(screen->view->plan, screen->view->prediction, screen->view->arena);
    if (reason)
        return reason;
    const struct serving_report *pool = &screen->view->prediction->serving;
    if (serve_fitted_text(screen->view->plan, pool, screen->view->arena))
        return arena_printf(screen->view->arena,
                            "requests of at most %" PRIu64 " tokens, not %" PRIu64,
                            pool->context_tokens, screen->view->plan->workload.context_length);
    if (text_equal(memory->sizing, "fixed") && !plan_has_experts(screen->view->plan))
        return "modelled";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_equal(words[i].sizing, memory->sizing))
            text = words[i].text;
    if (memory->has_distribution && over && memory->verdict != VERDICT_OOM)
        return arena_printf(screen->view->arena, "%s; worst is oom", text);
    return arena_printf(screen->view->arena, "%s, modelled", text);
}

void screen_verdict(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    const struct term *term = screen->view->term;
    struct arena *arena = screen->view->arena;
    const char *verdict = verdict_name(memory->verdict);
    const char *sum = arena_printf(
        arena, ": %s %s = state %s + temp %s", screen_amount(screen, memory->total_bytes),
        screen->scale.unit, screen_amount(screen, memory->state_bytes),
        screen_amount(screen, memory->temp_bytes));
    fprintf(screen->page.out, "%s%s%s", term_style(term, verdict_style(memory->verdict)),
            verdict, term_plain(term));
    print_halves(screen, strlen(verdict), sum,
                 arena_printf(arena, "%s (%s)", limit_text(screen), sizing_text(screen)));
    screen->page.used = true;
    print_distribution(screen);
}

/* ---- servers that prefill and that decode ---- */

/* `shown`: the screen's memory is this pool's. */
static const char *pool_text(const struct screen *screen, const struct pool_report *pool,
                             bool shown)
{
    struct text text = {.arena = screen->view->arena};
    const struct memory_report *m = &pool->memory;
    const struct serving_report *cache = &pool->serving;
    if (pool->deployments)
        text_printf(&text, "%" PRIu64 " x ", pool->deployments);
    text_printf(&text, "%" PRIu64 " device%s: %s, %s of %s %s", pool->devices,
                pool->devices == 1 ? "" : "s", verdict_name(m->verdict),
                screen_amount(screen, m->total_bytes), screen_amount(screen, m->limit_bytes),
                screen->scale.unit);
    if (cache->present)
        text_printf(
            &text, "; cache %s %s, %" PRIu64 " tokens, %" PRIu64 " sequence%s of %" PRIu64,
            screen_amount(screen, cache->cache_bytes), screen->scale.unit, cache->cache_tokens,
            cache->sequences, cache->sequences == 1 ? "" : "s", cache->context_tokens);
    if (m->wall)
        text_printf(&text, "; first to cross the limit: %s", m->wall->name);
    if (shown)
        text_printf(&text, "; its memory stands below");
    return text_string(&text);
}

void screen_pools(struct screen *screen)
{
    const struct prediction *p = screen->view->prediction;
    for (size_t i = 0; i < p->n_pools; i++) {
        const struct memory_report *m = &p->pools[i].memory;
        bool shown =
            m->total_bytes == p->memory.total_bytes && m->limit_bytes == p->memory.limit_bytes;
        screen_item(screen, p->pools[i].name, pool_text(screen, &p->pools[i], shown));
    }
}

/* ---- against the limit ---- */

static void print_bar(struct screen *screen, const char *name, uint64_t bytes, uint64_t most)
{
    const struct term *term = screen->view->term;
    struct text drawn = {.arena = screen->view->arena};
    char percent[32];
    percent_print(percent, bytes, screen->memory->limit_bytes);
    term_bar(term, &drawn, most ? (double)bytes / (double)most : 0, BAR_WIDTH);
    while (drawn.length && drawn.data[drawn.length - 1] == ' ')
        drawn.data[--drawn.length] = '\0';
    fprintf(screen->page.out, "  %-11s%10s %7s  %s%s%s\n", name, screen_amount(screen, bytes),
            percent, term_style(term, STYLE_BAR), text_string(&drawn), term_plain(term));
}

static int by_bytes(const void *a, const void *b)
{
    const struct category_bytes *x = a, *y = b;
    return x->bytes == y->bytes ? 0 : x->bytes < y->bytes ? 1 : -1;
}

/* What the field calls a category. */
static const char *field_term(enum category category)
{
    if (category == CATEGORY_CHECKPOINT)
        return "saved layer inputs";
    return category == CATEGORY_KV_CACHE ? "KV cache" : category_name(category);
}

/* "dispatch 112.00, expert 48.00, ...", largest first; what prints as nothing is left out. */
static void print_holds(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    struct text text = {.arena = screen->view->arena};
    struct category_bytes sorted[CATEGORY_COUNT];
    memcpy(sorted, memory->categories, memory->n_categories * sizeof *sorted);
    qsort(sorted, memory->n_categories, sizeof *sorted, by_bytes);
    unsigned n = memory->n_categories;
    if (screen->brief >= BRIEF_FIXES && n > HELD_SHOWN)
        n = screen->brief >= BRIEF_TIME ? HELD_FEW : HELD_SHOWN;
    for (unsigned i = 0; i < n; i++)
        if (!i || (double)sorted[i].bytes >= 0.005 * screen->scale.bytes)
            text_printf(&text, "%s%s %s", i ? ", " : "", field_term(sorted[i].category),
                        screen_amount(screen, sorted[i].bytes));
    screen_item(screen, "holds", text_string(&text));
}

void screen_bars(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    const struct term *term = screen->view->term;
    uint64_t most = memory->limit_bytes;
    most = memory->total_bytes > most ? memory->total_bytes : most;
    most = memory->worst_bytes > most ? memory->worst_bytes : most;
    fprintf(screen->page.out, "%s%-13s%s%s%10s%8s%s\n", term_style(term, STYLE_BOLD), "memory",
            term_plain(term), term_style(term, STYLE_DIM), screen->scale.unit, "% limit",
            term_plain(term));
    if (memory->has_distribution)
        print_bar(screen, "p99", memory->p99_bytes, most);
    print_bar(screen, "worst", memory->worst_bytes, most);
    print_bar(screen, "limit", memory->limit_bytes, most);
    print_holds(screen);
}

/* ---- the peak ---- */

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

/* "name 8.00 GiB (2.7 %), expert, 2097152 x 2048 bf16: formula = numbers"; a formula too long
 * for two lines is left to --buffers. */
static void print_buffer(struct screen *screen, const char *label, const char *role,
                         const struct buffer_report *buffer)
{
    struct text text = {.arena = screen->view->arena};
    char percent[32];
    percent_print(percent, buffer->bytes, screen->memory->total_bytes);
    text_printf(&text, "%s%s %s %s (%s %%), %s, %s", role, buffer->name,
                screen_amount(screen, buffer->bytes), screen->scale.unit, percent,
                field_term(buffer->category), shape_text(buffer, screen->view->arena));
    size_t room = 2 * (screen->view->term->width - SCREEN_LABEL) - 4;
    if (buffer->formula && text.length + 2 + strlen(buffer->formula) <= room)
        text_printf(&text, ": %s", buffer->formula);
    else if (buffer->formula)
        text_append(&text, ": formula in --buffers");
    screen_item(screen, label, text_string(&text));
}

/* The largest buffer of the category that holds most at the peak. */
static const struct buffer_report *leader(const struct memory_report *memory)
{
    const struct category_bytes *most = &memory->categories[0];
    const struct buffer_report *found = NULL;
    for (unsigned i = 1; i < memory->n_categories; i++)
        if (memory->categories[i].bytes > most->bytes)
            most = &memory->categories[i];
    for (size_t i = 0; i < memory->n_buffers; i++) {
        const struct buffer_report *buffer = &memory->buffers[i];
        if (buffer->at_peak && buffer->category == most->category &&
            (!found || buffer->bytes > found->bytes))
            found = buffer;
    }
    return found;
}

/* Every stage's bytes, or of many stages, and when lines are short, the least and the most. */
static void append_stages(const struct screen *screen, struct text *out)
{
    const struct memory_report *memory = screen->memory;
    uint64_t least = UINT64_MAX, most = 0;
    bool all = memory->n_stages <= STAGES_SHOWN && screen->brief < BRIEF_STAGES;
    if (memory->n_stages < 2)
        return;
    for (size_t i = 0; i < memory->n_stages; i++) {
        uint64_t bytes = memory->stages[i].total_bytes;
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
        if (all)
            text_printf(out, "%s%s", i ? " " : "; stages ", screen_amount(screen, bytes));
    }
    if (!all)
        text_printf(out, "; stages %s to %s", screen_amount(screen, least),
                    screen_amount(screen, most));
}

static void print_place(struct screen *screen)
{
    const struct peak_report *peak = &screen->memory->peak;
    struct text text = {.arena = screen->view->arena};
    if (!peak->segment)
        return;
    text_printf(&text, "%s", peak->segment);
    if (peak->op)
        text_printf(&text, ", op %s, %s", peak->op, peak->phase);
    text_printf(&text, ", pipeline stage %" PRIu64 " of %" PRIu64, peak->stage,
                screen->view->plan->parallel.pp);
    append_stages(screen, &text);
    screen_item(screen, "peak", text_string(&text));
}

/* What waits in the host's memory, against a rank's part of it where the plan says how much a
 * node has. */
static void print_host(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    struct text text = {.arena = screen->view->arena};
    if (!memory->host_bytes)
        return;
    text_printf(&text, "%s %s in host memory", screen_amount(screen, memory->host_bytes),
                screen->scale.unit);
    if (memory->host_limit_bytes)
        text_printf(&text, ", of %s for a rank%s",
                    screen_amount(screen, memory->host_limit_bytes),
                    predict_lacks_host(memory) ? ": too much" : "");
    text_printf(&text, "; most is %s", memory->host_largest);
    screen_item(screen, "host", text_string(&text));
}

void screen_peak(struct screen *screen)
{
    const struct memory_report *memory = screen->memory;
    const struct buffer_report *lead = leader(memory), *wall = memory->wall;
    bool second = lead && lead != memory->largest;
    print_host(screen);
    print_place(screen);
    if (memory->largest && screen->brief >= BRIEF_TIME)
        screen_item(screen, "largest",
                    arena_printf(screen->view->arena, "%s %s %s, %s", memory->largest->name,
                                 screen_amount(screen, memory->largest->bytes),
                                 screen->scale.unit, field_term(memory->largest->category)));
    else if (memory->largest)
        print_buffer(screen, "largest", "", memory->largest);
    if (second && screen->brief < BRIEF_SECOND)
        print_buffer(screen, "", "", lead);
    else if (second && screen->brief < BRIEF_TIME)
        screen_item(screen, "",
                    arena_printf(screen->view->arena, "most is %s: %s, %s %s",
                                 field_term(lead->category), lead->name,
                                 screen_amount(screen, lead->bytes), screen->scale.unit));
    if (!wall)
        return;
    if (memory->small_wall)
        print_buffer(screen, "", "too small for the rows sent to it: ", wall);
    else if (memory->address_wall && memory->total_bytes <= memory->limit_bytes)
        print_buffer(screen, "", "larger than its library can address: ", wall);
    else if (wall == memory->largest || (wall == lead && second) ||
             screen->brief >= BRIEF_ASSUMED)
        screen_item(screen, "",
                    arena_printf(screen->view->arena, "first to cross the limit: %s, %s %s",
                                 wall->name, screen_amount(screen, wall->bytes),
                                 screen->scale.unit));
    else
        print_buffer(screen, "", "first to cross the limit: ", wall);
    if (memory->address_wall && memory->total_bytes > memory->limit_bytes)
        screen_item(screen, "", "more than its library can address, whatever memory there is");
}
