/* Two small languages of Megatron's: which layers have experts, and which layers stand on which
 * pipeline chunk. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "plan/job/megatron.h"

/* ---- which layers have experts: "[0]*1+[1]*26", "([0]+[1])*24" ---- */

enum { PATTERN = 4096 };

struct pattern {
    const char *at;
    char layer[PATTERN];
    size_t n;
    bool failed;
};

static void pattern_sum(struct pattern *p, unsigned depth);

static void pattern_space(struct pattern *p)
{
    while (*p->at == ' ')
        p->at++;
}

static void pattern_repeat(struct pattern *p, size_t from)
{
    size_t length = p->n - from, times = 0;
    if (!isdigit((unsigned char)*p->at))
        p->failed = true;
    while (isdigit((unsigned char)*p->at) && times < PATTERN)
        times = times * 10 + (size_t)(*p->at++ - '0');
    if (times * length > PATTERN - from)
        p->failed = true;
    if (p->failed)
        return;
    for (size_t i = 1; i < times; i++)
        memcpy(p->layer + from + i * length, p->layer + from, length);
    p->n = from + times * length;
}

static void pattern_list(struct pattern *p)
{
    for (p->at++; *p->at && *p->at != ']' && !p->failed; p->at++) {
        bool layer = *p->at == '0' || *p->at == '1';
        if (layer && p->n < PATTERN)
            p->layer[p->n++] = *p->at;
        else if (layer || !strchr(", ", *p->at))
            p->failed = true;
    }
    if (*p->at != ']')
        p->failed = true;
    else
        p->at++;
}

static void pattern_term(struct pattern *p, unsigned depth)
{
    size_t from = p->n;
    pattern_space(p);
    if (*p->at == '[') {
        pattern_list(p);
    } else if (*p->at == '(' && depth < 16) {
        p->at++;
        pattern_sum(p, depth + 1);
        if (*p->at == ')')
            p->at++;
        else
            p->failed = true;
    } else {
        p->failed = true;
    }
    pattern_space(p);
    while (*p->at == '*' && !p->failed) {
        p->at++;
        pattern_space(p);
        pattern_repeat(p, from);
        pattern_space(p);
    }
}

static void pattern_sum(struct pattern *p, unsigned depth)
{
    pattern_term(p, depth);
    while (*p->at == '+' && !p->failed) {
        p->at++;
        pattern_term(p, depth);
    }
}

static bool is_periodic(const struct pattern *p, size_t every)
{
    for (size_t i = 0; i < p->n; i++)
        if ((p->layer[i] == '1') != ((i + 1) % every == 0))
            return false;
    return true;
}

enum status megatron_set_pattern(struct job *job, const char *text, uint64_t layers)
{
    static const char flag[] = "moe-layer-freq";
    struct pattern *p = arena_alloc(job->arena, 1, sizeof *p);
    p->at = text;
    pattern_sum(p, 0);
    if (p->failed || *p->at)
        return job_fail(job, flag, "moe-layer-freq '%s' is no list of 0 and 1", text);
    if (p->n != layers)
        return job_fail(job, flag, "moe-layer-freq has %zu entries for %" PRIu64 " layers",
                        p->n, layers);
    size_t dense = 0, experts = 0;
    while (dense < p->n && p->layer[dense] == '0')
        dense++;
    for (size_t i = 0; i < p->n; i++)
        experts += p->layer[i] == '1';
    if (experts && experts != p->n - dense) {
        if (!is_periodic(p, dense + 1))
            return job_fail(job, flag,
                            "moe-layer-freq '%s': a plan has its dense layers first, or "
                            "experts in every n-th layer",
                            text);
        job_set_count(job, "model.moe_every", dense + 1, flag);
    }
    job_set_count(job, "model.dense_layers", layers - experts, flag);
    return STATUS_OK;
}

/* ---- the pipeline ---- */

/* A character of a layout with how often it stands: "t*13", "(tt|)*4". */
struct layout {
    char text[PATTERN];
    size_t n;
    bool failed;
};

static const char *layout_times(const char *at, size_t *times)
{
    *times = 1;
    if (*at != '*')
        return at;
    at++;
    *times = 0;
    while (isdigit((unsigned char)*at) && *times < PATTERN)
        *times = *times * 10 + (size_t)(*at++ - '0');
    return at;
}

static void layout_add(struct layout *layout, const char *text, size_t n, size_t times)
{
    if (n * times > PATTERN - layout->n) {
        layout->failed = true;
        return;
    }
    for (size_t i = 0; i < times; i++, layout->n += n)
        memmove(layout->text + layout->n, text, n);
}

static void layout_expand(struct layout *layout, const char *text)
{
    size_t open = 0, times;
    bool inside = false;
    for (const char *at = text; *at && !layout->failed;) {
        if (*at == '(' || *at == ')') {
            bool closes = *at == ')';
            if (closes != inside)
                layout->failed = true;
            at = closes ? layout_times(at + 1, &times) : at + 1;
            if (closes && times) {
                size_t length = layout->n - open;
                layout_add(layout, layout->text + open, length, times - 1);
            }
            open = layout->n;
            inside = !closes;
        } else if (strchr(", \"'", *at)) {
            at++;
        } else {
            char c = *at;
            if (!strchr("EtmL|", c))
                layout->failed = true;
            at = layout_times(at + 1, &times);
            layout_add(layout, &c, 1, times);
        }
    }
    if (inside)
        layout->failed = true;
}

/* "E t*13|t*14,L": layers of each chunk. */
enum status megatron_set_layout(struct job *job, const char *text, uint64_t pp)
{
    static const char flag[] = "pipeline-model-parallel-layout";
    struct layout *layout = arena_alloc(job->arena, 1, sizeof *layout);
    const char **stages = arena_alloc(job->arena, PLAN_LIST + 1, sizeof *stages);
    size_t n = 0, layers = 0;
    layout_expand(layout, text);
    if (layout->failed)
        return job_fail(job, flag, "'%.100s' is no layout of E, t, m, L and |", text);
    for (size_t i = 0; i <= layout->n; i++) {
        bool ends = i == layout->n || layout->text[i] == '|';
        layers += !ends && layout->text[i] == 't';
        if (!ends)
            continue;
        if (n == PLAN_LIST)
            return job_fail(job, flag, "more than %d chunks", PLAN_LIST);
        stages[n++] = arena_printf(job->arena, "%zu", layers);
        layers = 0;
    }
    if (pp == 0 || n % pp != 0)
        return job_fail(job, flag, "%zu chunks for %" PRIu64 " pipeline ranks", n, pp);
    const struct setting *s = job_setting(job, flag);
    draft_set_list(&job->draft, "parallel.stages", stages, n, s->mark, s->said);
    if (n / pp > 1)
        job_set_count(job, "parallel.vpp", n / pp, flag);
    return STATUS_OK;
}
