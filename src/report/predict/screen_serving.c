/* What requests see, on the first screen; see screen.h. */
#include "report/predict/screen.h"

#include <math.h>

#include "base/unit.h"
#include "report/fixes.h"
#include "sim/serve/serve.h"

const char *screen_standing(const struct time_report *t)
{
    return !t->calibrated ? "uncalibrated" : t->elsewhere ? "no run like it" : NULL;
}

/* By whose constants, and how well they know such a plan. */
static const char *profile_text(const struct time_report *t, struct arena *a)
{
    const char *word = screen_standing(t);
    return arena_printf(a, "%s%s%s%s%s", t->profile, t->prompts ? ", prompts by " : "",
                        t->prompts ? t->prompts : "", word ? ", " : "", word ? word : "");
}

/* A server that prefills gives no more than the first token, nor do answers of one. */
static void print_requests(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct serve_times *s = &t->serving;
    bool prompts = isnan(s->tpot_s);
    struct text text = {.arena = a};
    text_printf(&text, "first token %s", screen_seconds(a, s->ttft_s));
    if (isfinite(s->ttft_p50_s))
        text_printf(&text, " (p50 %s)", screen_seconds(a, s->ttft_p50_s));
    if (!prompts)
        text_printf(&text, ", then %s each", screen_seconds(a, s->tpot_s));
    text_printf(
        &text, " (%s to %s by %s)", screen_seconds(a, prompts ? s->ttft_low_s : s->tpot_low_s),
        screen_seconds(a, prompts ? s->ttft_high_s : s->tpot_high_s), profile_text(t, a));
    screen_item(screen, "serving", text_string(&text));
}

/* An open loop: tails, and how much of the capacity is used. */
static void print_arrivals(struct screen *screen, const struct time_report *t)
{
    struct arena *a = screen->view->arena;
    const struct serve_times *s = &t->serving;
    struct text text = {.arena = a};
    if (s->utilization < 1) {
        print_requests(screen, t);
        const char *each = isnan(s->tpot_s) ? ""
                                            : arena_printf(a, "; each %s, %s",
                                                           screen_seconds(a, s->tpot_p95_s),
                                                           screen_seconds(a, s->tpot_p99_s));
        screen_item(screen, "",
                    arena_printf(a, "p95, p99: first token %s, %s%s; answer %s, %s",
                                 screen_seconds(a, s->ttft_p95_s),
                                 screen_seconds(a, s->ttft_p99_s), each,
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
    if (s->queue && !plan->prefill && (limited || s->utilization >= 1)) {
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

/* The fewest servers of each pool that keep the limits. */
static void print_fewest(struct screen *screen, const struct serve_times *t)
{
    const struct limit *limit = &screen->view->plan->workload.limit;
    const struct serve_apart *p = &t->apart;
    bool limited = isfinite(t->within) || limit->ttft_s > 0 || limit->tpot_s > 0;
    struct arena *a = screen->view->arena;
    if (!t->queue)
        return;
    if (!p->fewest_prefill) {
        screen_item(screen, "", "no number of servers keeps the limits");
        return;
    }
    const char *what =
        limited ? arena_printf(a, "keep them by %.4g %%", 100 * limit->share) : "keep up";
    unsigned long long n =
        p->fewest_prefill * p->prefill_devices + p->fewest_decode * p->decode_devices;
    screen_item(screen, "",
                arena_printf(a, "the fewest that %s: prefill %llu, decode %llu (%llu devices)",
                             what, (unsigned long long)p->fewest_prefill,
                             (unsigned long long)p->fewest_decode, n));
}

/* Deployments that keep the limits of requests in flight: of those that arrive the fewest stand
 * above. */
static void print_kept(struct screen *screen, const struct serve_times *t)
{
    const struct prediction *p = screen->view->prediction;
    struct arena *a = screen->view->arena;
    if (!t->queue && p->n_limit_fixes)
        screen_item(screen, "",
                    arena_printf(a, "limits missed; kept with %s (%s)",
                                 fix_options(p->limit_fixes, a), p->limit_fixes->note));
}

/* Servers of two pools: how busy they are, what limits, what would balance; the transfer. */
static void print_pools(struct screen *screen, const struct serve_times *t)
{
    const struct serve_apart *p = &t->apart;
    struct arena *a = screen->view->arena;
    if (!p->present)
        return;
    unsigned long long n = p->prefill * p->prefill_devices + p->decode * p->decode_devices;
    screen_item(
        screen, "",
        arena_printf(a,
                     "prefill %llu (%.0f %% busy) : decode %llu (%.0f %%), limited by "
                     "%s (unvalidated); %.3g : 1 balances; %s tokens/s a device of %llu",
                     (unsigned long long)p->prefill, 100 * p->prefill_busy,
                     (unsigned long long)p->decode, 100 * p->decode_busy, p->limited_by,
                     p->prefill_per_decode, screen_rate(a, p->tokens_per_s_per_device), n));
    if (screen->brief < BRIEF_STAGES)
        screen_item(screen, "",
                    arena_printf(a, "transfer %.3g GiB in %s, %s of it waited for",
                                 (double)p->cache_bytes / GIB, screen_seconds(a, p->transfer_s),
                                 screen_seconds(a, p->exposed_s)));
    print_fewest(screen, t);
    print_kept(screen, t);
}

static void print_beside(struct screen *screen, const struct serve_times *t)
{
    if (screen->view->plan->prefill)
        print_pools(screen, t);
    else
        print_apart(screen, &t->apart);
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
        print_beside(screen, s);
        return;
    }
    print_requests(screen, t);
    const char *of = screen->view->plan->workload.role == DUTY_PROMPTS ? "prompt " : "";
    text_printf(&text, "%.3g requests/s, %s %stokens/s, %s a device", s->requests_per_s,
                screen_rate(a, s->tokens_per_s), of,
                screen_rate(a, t->tokens_per_s_per_device));
    if (s->waiting && screen->view->plan->prefill)
        text_printf(&text, "; %llu wait for a prefill server", (unsigned long long)s->waiting);
    else if (s->waiting)
        text_printf(&text, "; %llu of %llu requests a replica wait: %s",
                    (unsigned long long)s->waiting,
                    (unsigned long long)(s->waiting + s->sequences), s->capped);
    screen_item(screen, "", text_string(&text));
    print_goodput(screen, t);
    print_beside(screen, s);
}
