/* The time of a prediction: five lines of the screen, and --why. */
#include <inttypes.h>
#include <math.h>

#include "base/unit.h"
#include "plan/derive.h"
#include "report/predict/screen.h"

/* Of a served plan the step of all sequences that a replica takes at once: an answer's tokens,
 * whose time stands above, come of steps of as many as there are. */
static const char *step_text(const struct screen *screen, const struct time_report *t)
{
    if (!t->serving.present)
        return "step";
    if (screen->view->plan->workload.role == DUTY_PROMPTS)
        return "step of prompts";
    return arena_printf(screen->view->arena, "decode step of %" PRIu64 " sequence%s",
                        t->serving.sequences, t->serving.sequences == 1 ? "" : "s");
}

static const char *standing_of(struct arena *a, const struct time_report *t)
{
    const char *word = screen_standing(t);
    return word ? arena_printf(a, " (%s)", word) : "";
}

static void print_step(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    struct text text = {.arena = a};
    text_printf(&text, "%s a %s, %s to %s by %s%s", screen_seconds(a, t->step_s),
                step_text(screen, t), screen_seconds(a, t->low_s), screen_seconds(a, t->high_s),
                t->profile, standing_of(a, t));
    if (screen->brief >= BRIEF_TIME && !t->serving.present)
        text_printf(&text, "; %s tokens/s a device",
                    screen_rate(a, t->tokens_per_s_per_device));
    else if ((t->samples || t->jitter) && isfinite(t->step_p99_s))
        text_printf(&text, "; p99 %s", screen_seconds(a, t->step_p99_s));
    screen_item(screen, "time", text_string(&text));
}

static void print_rate(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    char peak[48];
    unit_print(peak, UNIT_FLOP_PER_S, t->peak_flop_per_s);
    screen_item(screen, "",
                arena_printf(a, "%s tokens/s a device, %s in all; MFU %.1f %% of %s",
                             screen_rate(a, t->tokens_per_s_per_device),
                             screen_rate(a, t->tokens_per_s), 100 * t->mfu_useful, peak));
}

/* The largest parts, largest first. */
static void print_parts(struct screen *screen, const struct time_report *t)
{
    struct text text = {.arena = screen->view->arena};
    bool told[TIME_PARTS] = {false};
    for (unsigned n = 0; n < t->n_parts && n < 5; n++) {
        unsigned most = TIME_PARTS;
        for (unsigned i = 0; i < t->n_parts; i++)
            if (!told[i] &&
                (most == TIME_PARTS || t->parts[i].seconds > t->parts[most].seconds))
                most = i;
        told[most] = true;
        if (t->parts[most].seconds < 0.005 * t->step_s)
            break;
        text_printf(&text, "%s%s %.0f %%", n ? ", " : "", t->parts[most].name,
                    100 * t->parts[most].seconds / t->step_s);
    }
    screen_item(screen, "", text_string(&text));
}

static void print_waits(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    struct text text = {.arena = a};
    text_printf(&text, "exposed communication %s", screen_seconds(a, t->exposed_comm_s));
    if (t->bubble_s > 0)
        text_printf(&text, ", bubble %s", screen_seconds(a, t->bubble_s));
    if (t->host_sync_s > 0)
        text_printf(&text, ", waits %s", screen_seconds(a, t->host_sync_s));
    if (plan_has_moe(screen->view->plan))
        text_printf(&text, ", skew %.1f %%", 100 * t->skew_tax);
    screen_item(screen, "", text_string(&text));
}

/* What a plan's own total_tokens and price ask for: on every screen. */
static void print_run(struct screen *screen, const struct time_cost *cost)
{
    struct arena *a = screen->view->arena;
    struct text text = {.arena = a};
    if (isfinite(cost->days))
        text_printf(&text, "%.3g days, %s device-hours", cost->days,
                    screen_rate(a, cost->device_hours));
    if (isfinite(cost->price))
        text_printf(&text, ", price %s", screen_rate(a, cost->price));
    else if (isfinite(cost->price_per_mtoken))
        text_printf(&text, "price %.3g a million tokens", cost->price_per_mtoken);
    if (text.length)
        screen_item(screen, "run", text_string(&text));
}

static void print_calibration(struct screen *screen, const struct time_report *t)
{
    screen_item(screen, "",
                arena_printf(screen->view->arena, "%s%s%s%s%s", t->calibration,
                             t->unlike ? "; none was of " : "", t->unlike ? t->unlike : "",
                             t->outside ? "; outside its range: " : "",
                             t->outside ? t->outside : ""));
}

/* What a run costs: of --why, since it needs figures that few cluster files state. */
static void print_cost(struct screen *screen, const struct time_report *t)
{
    struct text text = {.arena = screen->view->arena};
    text_printf(&text, "%.3g device-hours per million tokens", t->cost.device_hours_per_mtoken);
    if (isfinite(t->cost.joules_per_token))
        text_printf(&text, ", %.3g J a token", t->cost.joules_per_token);
    if (isfinite(t->cost.price_per_mtoken))
        text_printf(&text, ", price %.3g", t->cost.price_per_mtoken);
    screen_item(screen, "", text_string(&text));
}

void screen_time(struct screen *screen)
{
    const struct time_report *t = &screen->view->prediction->time;
    if (!t->present)
        return;
    if (t->serving.present)
        screen_serving(screen, t);
    print_step(screen, t);
    if (screen->brief < BRIEF_TIME && !t->serving.present)
        print_rate(screen, t);
    if (screen->brief < BRIEF_EXPERTS)
        print_parts(screen, t);
    if (screen->brief < BRIEF_SECOND)
        print_waits(screen, t);
    if (screen->brief < BRIEF_DEFAULTS)
        print_calibration(screen, t);
    print_run(screen, &t->cost);
}

/* ---- why ---- */

static void print_lines(const struct predict_view *view, const char *title,
                        const struct time_line *lines, size_t n)
{
    struct page page = {.out = view->out, .term = view->term, .used = true};
    page_heading(&page, title);
    for (size_t i = 0; i < n; i++) {
        double percent = 100 * lines[i].seconds / view->prediction->time.step_s;
        page_item(&page, 2, 12, screen_seconds(view->arena, lines[i].seconds),
                  arena_printf(view->arena, "%5.1f %%  %s", percent, lines[i].name));
    }
}

/* One layer as benchmarks of dispatchers time it. */
static void print_layer(struct screen *screen, const struct time_layer *l)
{
    struct arena *a = screen->view->arena;
    struct text text = {.arena = a};
    char rate[48];
    if (!l->present)
        return;
    unit_print(rate, UNIT_FLOP_PER_S, l->at.useful_flop_per_s);
    text_printf(&text, "one layer's routed part: forward %s",
                screen_seconds(a, l->at.forward_s));
    if (l->at.forward_backward_s > l->at.forward_s)
        text_printf(&text, ", with backward %s", screen_seconds(a, l->at.forward_backward_s));
    text_printf(&text, "; experts' products %s, %s useful",
                screen_seconds(a, l->at.grouped_gemm_s), rate);
    screen_item(screen, "", text_string(&text));
}

/* What each of both alone makes of the tail. */
static void print_tails(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct time_layer *l = &t->layer;
    struct text text = {.arena = a};
    if (!t->jitter)
        return;
    text_printf(&text, "p99 %s: %s by routing alone, %s by the links' jitter alone",
                screen_seconds(a, t->step_p99_s), screen_seconds(a, t->step_p99_routing_s),
                screen_seconds(a, t->step_p99_link_s));
    if (l->present)
        text_printf(&text, "; forward of a layer %s: %s, %s",
                    screen_seconds(a, l->forward_p99_s),
                    screen_seconds(a, l->forward_p99_routing_s),
                    screen_seconds(a, l->forward_p99_link_s));
    screen_item(screen, "", text_string(&text));
}

void predict_print_why(const struct predict_view *view)
{
    const struct time_report *t = &view->prediction->time;
    struct screen screen = {.view = view,
                            .memory = &view->prediction->memory,
                            .page = {.out = view->out, .term = view->term}};
    screen_time(&screen);
    print_cost(&screen, t);
    print_layer(&screen, &t->layer);
    print_tails(&screen, t);
    print_lines(view, "what the step is made of", t->parts, t->n_parts);
    print_lines(view, "the longest ops on its way", t->path, t->n_path);
    print_lines(view, "the step, if there were", t->whatifs, t->n_whatifs);
    size_t n_columns;
    const struct column *columns = constant_table(&n_columns);
    const struct table table = {.columns = columns,
                                .n = n_columns,
                                .records = t->constants,
                                .n_records = t->n_constants,
                                .record_size = sizeof *t->constants,
                                .indent = 2};
    struct page page = {.out = view->out, .term = view->term, .used = true};
    page_heading(&page, "what a tenth more of a constant does");
    column_table(view->out, view->term, &table, view->arena);
    fputs("\n", view->out);
    provenance_text(view->out, view->term, &view->provenance);
}
