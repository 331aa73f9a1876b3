/* The time of a prediction: five lines of the screen, and --why. */
#include <inttypes.h>
#include <math.h>

#include "base/unit.h"
#include "report/predict/screen.h"

static const char *seconds(struct arena *arena, double s)
{
    char buffer[48];
    unit_print(buffer, UNIT_SECONDS, s);
    return arena_strdup(arena, buffer);
}

static const char *amount(struct arena *arena, double n)
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

/* Of a served plan the step of all sequences that a replica takes at once: an answer's tokens,
 * whose time stands above, come of steps of as many as there are. */
static const char *step_text(const struct screen *screen, const struct time_report *t)
{
    if (!t->serving.present)
        return "step";
    return arena_printf(screen->view->arena, "decode step of %" PRIu64 " sequence%s",
                        t->serving.sequences, t->serving.sequences == 1 ? "" : "s");
}

static void print_step(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    struct text text = {.arena = a};
    text_printf(&text, "%s a %s, %s to %s by %s%s", seconds(a, t->step_s), step_text(screen, t),
                seconds(a, t->low_s), seconds(a, t->high_s), t->profile,
                t->calibrated ? "" : " (uncalibrated)");
    if (screen->brief >= BRIEF_TIME && !t->serving.present)
        text_printf(&text, "; %s tokens/s a device", amount(a, t->tokens_per_s_per_device));
    else if ((t->samples || t->jitter) && isfinite(t->step_p99_s))
        text_printf(&text, "; p99 %s", seconds(a, t->step_p99_s));
    screen_item(screen, "time", text_string(&text));
}

static void print_requests(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct serve_times *s = &t->serving;
    screen_item(screen, "serving",
                arena_printf(a, "first token %s (p50 %s), then %s each (%s to %s by %s%s)",
                             seconds(a, s->ttft_s), seconds(a, s->ttft_p50_s),
                             seconds(a, s->tpot_s), seconds(a, s->tpot_low_s),
                             seconds(a, s->tpot_high_s), t->profile,
                             t->calibrated ? "" : ", uncalibrated"));
}

/* An open loop: tails, and how much of the capacity is used. */
static void print_arrivals(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct serve_times *s = &t->serving;
    struct text text = {.arena = a};
    if (s->utilization < 1) {
        print_requests(screen, t);
        screen_item(screen, "",
                    arena_printf(a, "p95, p99: first token %s, %s; each %s, %s; answer %s, %s",
                                 seconds(a, s->ttft_p95_s), seconds(a, s->ttft_p99_s),
                                 seconds(a, s->tpot_p95_s), seconds(a, s->tpot_p99_s),
                                 seconds(a, s->latency_p95_s), seconds(a, s->latency_p99_s)));
        text_printf(&text, "queue %s at %.1f %% of %.3g requests/s (unvalidated); %s tokens/s",
                    s->queue, 100 * s->utilization, s->capacity_per_s,
                    amount(a, s->tokens_per_s));
        screen_item(screen, "", text_string(&text));
        return;
    }
    text_printf(&text,
                "overloaded: %.3g requests/s arrive, %.3g are answered (unvalidated), and the "
                "queue grows without end",
                s->request_rate, s->capacity_per_s);
    screen_item(screen, "serving", text_string(&text));
}

/* What keeps the limits, and how many deployments would. */
static void print_goodput(struct screen *screen, const struct time_report *t)
{
    const struct serve_times *s = &t->serving;
    const struct plan *plan = screen->view->plan;
    const struct limit *limit = &plan->workload.limit;
    bool limited = limit->ttft_s > 0 || limit->tpot_s > 0 || limit->latency_s > 0;
    struct text text = {.arena = screen->view->arena};
    if (isfinite(s->within))
        text_printf(&text, "limits kept by %.1f %% of requests, %.3g a second", 100 * s->within,
                    s->goodput_per_s);
    if (s->queue && (limited || s->utilization >= 1)) {
        text_append(&text, text.length ? "; " : "");
        if (!s->deployments)
            text_append(&text, "no number of deployments keeps the limits");
        else if (limited)
            text_printf(&text, "by %.4g %% with %llu such deployments", 100 * limit->share,
                        (unsigned long long)s->deployments);
        else
            text_printf(&text, "stable with %llu such deployments",
                        (unsigned long long)s->deployments);
    }
    if (text.length)
        screen_item(screen, "", text_string(&text));
}

/* Prompts and answers on deployments of their own. */
static void print_apart(struct screen *screen, const struct serve_apart *p)
{
    struct arena *a = screen->view->arena;
    if (!p->present || screen->brief >= BRIEF_TIME)
        return;
    screen_item(screen, "",
                arena_printf(a,
                             "disaggregated %llu : %llu (unvalidated): %s tokens/s a device, "
                             "%s-bound; first token %s with %s of transfer, then %s",
                             (unsigned long long)p->prefill, (unsigned long long)p->decode,
                             amount(a, p->tokens_per_s_per_device), p->limited_by,
                             seconds(a, p->ttft_s), seconds(a, p->exposed_s),
                             seconds(a, p->tpot_s)));
}

/* What a request sees, and what the deployment answers. */
static void print_serving(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct serve_times *s = &t->serving;
    struct text text = {.arena = a};
    if (s->queue) {
        print_arrivals(screen, t);
        print_goodput(screen, t);
        print_apart(screen, &s->apart);
        return;
    }
    print_requests(screen, t);
    text_printf(&text, "%.3g requests/s, %s tokens/s, %s a device", s->requests_per_s,
                amount(a, s->tokens_per_s), amount(a, t->tokens_per_s_per_device));
    if (s->waiting)
        text_printf(&text, "; %llu of %llu requests a replica wait: %s",
                    (unsigned long long)s->waiting,
                    (unsigned long long)(s->waiting + s->sequences), s->capped);
    screen_item(screen, "", text_string(&text));
    print_goodput(screen, t);
    print_apart(screen, &s->apart);
}

static void print_rate(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    char peak[48];
    unit_print(peak, UNIT_FLOP_PER_S, t->peak_flop_per_s);
    screen_item(screen, "",
                arena_printf(a, "%s tokens/s a device, %s in all; MFU %.1f %% of %s",
                             amount(a, t->tokens_per_s_per_device), amount(a, t->tokens_per_s),
                             100 * t->mfu_useful, peak));
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
    text_printf(&text, "exposed communication %s", seconds(a, t->exposed_comm_s));
    if (t->bubble_s > 0)
        text_printf(&text, ", bubble %s", seconds(a, t->bubble_s));
    if (t->host_sync_s > 0)
        text_printf(&text, ", waits %s", seconds(a, t->host_sync_s));
    text_printf(&text, ", skew %.1f %%", 100 * t->skew_tax);
    if (isfinite(t->cost.days))
        text_printf(&text, "; the run %.3g days", t->cost.days);
    screen_item(screen, "", text_string(&text));
}

static void print_calibration(struct screen *screen, const struct time_report *t)
{
    screen_item(screen, "",
                arena_printf(screen->view->arena, "%s%s%s%s", t->calibration,
                             t->elsewhere ? "; outside its runs" : "",
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
    if (isfinite(t->cost.device_hours))
        text_printf(&text, "; the run %.4g device-hours", t->cost.device_hours);
    if (isfinite(t->cost.price))
        text_printf(&text, ", price %.4g", t->cost.price);
    screen_item(screen, "", text_string(&text));
}

void screen_time(struct screen *screen)
{
    const struct time_report *t = &screen->view->prediction->time;
    if (!t->present)
        return;
    if (t->serving.present)
        print_serving(screen, t);
    print_step(screen, t);
    if (screen->brief < BRIEF_TIME && !t->serving.present)
        print_rate(screen, t);
    if (screen->brief < BRIEF_EXPERTS)
        print_parts(screen, t);
    if (screen->brief < BRIEF_SECOND)
        print_waits(screen, t);
    if (screen->brief < BRIEF_DEFAULTS)
        print_calibration(screen, t);
}

/* ---- why ---- */

static void print_lines(const struct predict_view *view, const char *title,
                        const struct time_line *lines, size_t n)
{
    struct page page = {.out = view->out, .term = view->term, .used = true};
    page_heading(&page, title);
    for (size_t i = 0; i < n; i++) {
        double percent = 100 * lines[i].seconds / view->prediction->time.step_s;
        page_item(&page, 2, 12, seconds(view->arena, lines[i].seconds),
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
    text_printf(&text, "one layer's routed part: forward %s", seconds(a, l->at.forward_s));
    if (l->at.forward_backward_s > l->at.forward_s)
        text_printf(&text, ", with backward %s", seconds(a, l->at.forward_backward_s));
    text_printf(&text, "; experts' products %s, %s useful", seconds(a, l->at.grouped_gemm_s),
                rate);
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
                seconds(a, t->step_p99_s), seconds(a, t->step_p99_routing_s),
                seconds(a, t->step_p99_link_s));
    if (l->present)
        text_printf(&text, "; forward of a layer %s: %s, %s", seconds(a, l->forward_p99_s),
                    seconds(a, l->forward_p99_routing_s), seconds(a, l->forward_p99_link_s));
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
