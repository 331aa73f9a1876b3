/* What requests see, on the first screen; see screen.h. */
#include "report/predict/screen.h"

#include <math.h>

#include "sim/serve/serve.h"

const char *screen_standing(const struct time_report *t)
{
    return !t->calibrated ? "uncalibrated" : t->elsewhere ? "no run like it" : NULL;
}

static void print_requests(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct serve_times *s = &t->serving;
    const char *word = screen_standing(t);
    screen_item(screen, "serving",
                arena_printf(a, "first token %s (p50 %s), then %s each (%s to %s by %s%s%s)",
                             screen_seconds(a, s->ttft_s), screen_seconds(a, s->ttft_p50_s),
                             screen_seconds(a, s->tpot_s), screen_seconds(a, s->tpot_low_s),
                             screen_seconds(a, s->tpot_high_s), t->profile, word ? ", " : "",
                             word ? word : ""));
}

/* An open loop: tails, and how much of the capacity is used. */
static void print_arrivals(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct serve_times *s = &t->serving;
    struct text text = {.arena = a};
    if (s->utilization < 1) {
        print_requests(screen, t);
        screen_item(
            screen, "",
            arena_printf(a, "p95, p99: first token %s, %s; each %s, %s; answer %s, %s",
                         screen_seconds(a, s->ttft_p95_s), screen_seconds(a, s->ttft_p99_s),
                         screen_seconds(a, s->tpot_p95_s), screen_seconds(a, s->tpot_p99_s),
                         screen_seconds(a, s->latency_p95_s),
                         screen_seconds(a, s->latency_p99_s)));
        text_printf(&text, "queue %s at %.1f %% of %.3g requests/s (unvalidated); %s tokens/s",
                    s->queue, 100 * s->utilization, s->capacity_per_s,
                    screen_rate(a, s->tokens_per_s));
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
            text_printf(&text, "by %.4g %% with %llu such deployment%s", 100 * limit->share,
                        (unsigned long long)s->deployments, s->deployments == 1 ? "" : "s");
        else
            text_printf(&text, "stable with %llu such deployment%s",
                        (unsigned long long)s->deployments, s->deployments == 1 ? "" : "s");
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
                             screen_rate(a, p->tokens_per_s_per_device), p->limited_by,
                             screen_seconds(a, p->ttft_s), screen_seconds(a, p->exposed_s),
                             screen_seconds(a, p->tpot_s)));
}

/* What a request sees, and what the deployment answers. */
void screen_serving(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct serve_times *s = &t->serving;
    struct text text = {.arena = a};
    const struct serving_report *engine = &screen->view->prediction->serving;
    if (serve_refusal(screen->view->plan, engine)) {
        screen_item(screen, "serving", serve_refusal_text(screen->view->plan, engine, a));
        return;
    }
    if (s->queue) {
        print_arrivals(screen, t);
        print_goodput(screen, t);
        print_apart(screen, &s->apart);
        return;
    }
    print_requests(screen, t);
    text_printf(&text, "%.3g requests/s, %s tokens/s, %s a device", s->requests_per_s,
                screen_rate(a, s->tokens_per_s), screen_rate(a, t->tokens_per_s_per_device));
    if (s->waiting)
        text_printf(&text, "; %llu of %llu requests a replica wait: %s",
                    (unsigned long long)s->waiting,
                    (unsigned long long)(s->waiting + s->sequences), s->capped);
    screen_item(screen, "", text_string(&text));
    print_goodput(screen, t);
    print_apart(screen, &s->apart);
}
