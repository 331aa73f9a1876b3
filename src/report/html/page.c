/* The report's sections, in reading order; each prints only what was computed. See print.h. */
#include "report/html/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "report/fixes.h"
#include "report/predict/assumed.h"

enum { OPS_SHOWN = 40 };

struct page_parts {
    struct html html;
    const struct html_view *view;
    const struct prediction *prediction;
    const struct memory_report *memory;
};

static const char *escaped(struct page_parts *page, const char *text)
{
    return html_escape(text, page->html.arena);
}

/* ---- head and verdict ---- */

static void print_head(struct page_parts *page)
{
    const struct provenance *p = &page->view->predict->provenance;
    const char *plan = escaped(page, p->plan);
    html_print(&page->html,
               "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
               "style-src 'unsafe-inline'\">\n"
               "<title>%s: %s</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n"
               "<h1>%s</h1>\n<p class=\"about\">%s on %s, stack %s; memory of one rank</p>\n"
               "</header>\n<main>\n<section>\n",
               plan, verdict_name(page->memory->verdict), html_style, plan,
               escaped(page, p->model), escaped(page, p->cluster), escaped(page, p->stack));
}

static void print_verdict(struct page_parts *page)
{
    const struct memory_report *m = page->memory;
    struct html *html = &page->html;
    const char *verdict = verdict_name(m->verdict);
    char margin[32];
    scale_print_signed(margin, html->scale, m->margin_bytes);
    html_print(html, "<p class=\"verdict t-%s\">%s: %s of %s</p>\n", verdict, verdict,
               html_amount(html, m->total_bytes), html_amount(html, m->limit_bytes));
    html_print(html, "<p class=\"about\">state %s + temp %s; margin %s %s; %s, modelled",
               html_amount(html, m->state_bytes), html_amount(html, m->temp_bytes), margin,
               html->scale.unit, escaped(page, m->sizing));
    if (m->has_distribution)
        html_print(html,
                   "; expected %s, p99 %s, worst %s; %" PRIu64 " of %" PRIu64
                   " sampled steps run out",
                   html_amount(html, m->expected_bytes), html_amount(html, m->p99_bytes),
                   html_amount(html, m->worst_bytes), m->oom_samples, m->samples);
    html_print(html, "</p>\n");
}

static void print_categories(struct page_parts *page)
{
    const struct memory_report *m = page->memory;
    struct html_part parts[CATEGORY_COUNT];
    for (unsigned i = 0; i < m->n_categories; i++)
        parts[i] = (struct html_part){
            category_name(m->categories[i].category), m->categories[i].bytes,
            arena_printf(page->html.arena, "k-%s", category_name(m->categories[i].category))};
    html_stack(&page->html, "memory by category against the limit", parts, m->n_categories,
               m->limit_bytes);
}

/* ---- what stands in the way, and what helps ---- */

static void print_wall(struct page_parts *page, const char *what,
                       const struct buffer_report *wall)
{
    if (!wall)
        return;
    html_print(&page->html, "<p>%s: <b>%s</b>, %s<br><code>%s</code></p>\n", what,
               escaped(page, wall->name), html_amount(&page->html, wall->bytes),
               escaped(page, wall->formula));
}

static void print_walls(struct page_parts *page)
{
    const struct memory_report *m = page->memory;
    const struct peak_report *peak = &m->peak;
    html_section(&page->html, m->wall ? "The wall" : "The peak", NULL);
    if (peak->segment)
        html_print(&page->html,
                   "<p>Memory peaks in %s%s%s%s%s, pipeline stage %" PRIu64 ".</p>\n",
                   escaped(page, peak->segment), peak->op ? ", op " : "",
                   peak->op ? escaped(page, peak->op) : "", peak->phase ? ", " : "",
                   peak->phase ? escaped(page, peak->phase) : "", peak->stage);
    print_wall(page, "First to cross the limit", m->wall);
    print_wall(page, "Largest at the peak", m->largest);
    print_wall(page, "Larger than its library can address", m->address_wall);
    print_wall(page, "More elements than 32 bits count", m->int_wall);
}

static void print_fixes(struct page_parts *page)
{
    const struct memory_report *m = page->memory;
    struct html *html = &page->html;
    if (!predict_lacks_memory(m))
        return;
    html_section(html, "What makes it fit",
                 m->n_fixes ? "Each change was evaluated like the plan itself."
                            : "No change that was tried makes it fit.");
    if (m->n_fixes == 0)
        return;
    html_print(html, "<div class=\"wide\"><table>\n<thead><tr><th>costs</th><th>change</th>"
                     "<th class=\"n\">total</th><th>verdict</th><th>note</th></tr></thead>\n"
                     "<tbody>\n");
    for (size_t i = 0; i < m->n_fixes; i++) {
        const struct fix *fix = &m->fixes[i];
        html_print(html,
                   "<tr><td>%s</td><td><code>%s</code></td><td class=\"n\">%s</td>"
                   "<td class=\"t-%s\">%s</td><td>%s</td></tr>\n",
                   fix_kind_title(fix->kind), escaped(page, fix_options(fix, html->arena)),
                   html_amount(html, fix->total_bytes), verdict_name(fix->verdict),
                   verdict_name(fix->verdict), escaped(page, fix->note ? fix->note : ""));
    }
    html_print(html, "</tbody></table></div>\n");
}

static void print_frontier(struct page_parts *page)
{
    const struct html_view *view = page->view;
    if (!view->swept || view->n_points == 0)
        return;
    html_section(&page->html, "Where memory runs out",
                 arena_printf(page->html.arena,
                              "The same plan at other values of <code>%s</code>; points that "
                              "break a rule are marked at the foot.",
                              escaped(page, view->swept)));
    html_frontier(&page->html, view->points, view->n_points);
}

/* ---- what memory holds ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct buffer_report *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? 1 : -1;
    return strcmp(left->name, right->name);
}

static void print_buffers(struct page_parts *page)
{
    const struct memory_report *m = page->memory;
    struct html *html = &page->html;
    struct buffer_report *sorted = arena_alloc(html->arena, m->n_buffers + 1, sizeof *sorted);
    struct table table = {
        .records = sorted, .n_records = m->n_buffers, .record_size = sizeof *sorted};
    for (size_t i = 0; i < m->n_buffers; i++)
        sorted[i] = m->buffers[i];
    qsort(sorted, m->n_buffers, sizeof *sorted, by_bytes);
    static const struct column formula = {.key = "formula",
                                          .type = COLUMN_TEXT,
                                          .offset = offsetof(struct buffer_report, formula)};
    table.columns = buffer_table(&table.n);
    table.note = &formula;
    html_section(html, "Buffers",
                 "All that a rank holds, the largest first, with its formula.");
    html_table(html, &table);
    if (m->n_stages < 2)
        return;
    table = (struct table){
        .records = m->stages, .n_records = m->n_stages, .record_size = sizeof *m->stages};
    table.columns = stage_columns(&table.n);
    html_section(html, "Pipeline stages", "Each at its own peak.");
    html_table(html, &table);
}

/* ---- along time ---- */

static void print_timeline(struct page_parts *page)
{
    const struct html_view *view = page->view;
    struct html *html = &page->html;
    char layer[48];
    if (!view->n_spans)
        return;
    unit_print(layer, UNIT_SECONDS, view->layer_s);
    html_section(html, arena_printf(html->arena, "One %s along time", view->layer),
                 arena_printf(html->arena,
                              "%s of the step, forward and backward, by the profile, on the "
                              "expected fullest rank: what a stream does beside another is "
                              "overlapped.",
                              layer));
    html_timeline(html, "the ops of a layer along time", view->spans, view->n_spans);
}

static void print_ops(struct page_parts *page)
{
    const struct ops_report *ops = &page->prediction->ops;
    struct html *html = &page->html;
    print_timeline(page);
    if (!page->prediction->has_ops || ops->n == 0)
        return;
    html_section(html, "Ops of a step",
                 "One rank, one layer of each kind: what an op does, and its seconds alone.");
    struct table table = {
        .records = ops->ops, .n_records = ops->n, .record_size = sizeof *ops->ops};
    table.columns = op_table(&table.n);
    html_print(html, "<details%s><summary>%zu ops</summary>\n",
               ops->n <= OPS_SHOWN ? " open" : "", ops->n);
    html_table(html, &table);
    html_print(html, "</details>\n");
}

static void print_time(struct page_parts *page)
{
    const struct time_report *t = &page->prediction->time;
    struct html *html = &page->html;
    char low[48], high[48];
    size_t n;
    const struct column *columns = predict_time_columns(&n);
    if (!t->present)
        return;
    unit_print(low, UNIT_SECONDS, t->low_s);
    unit_print(high, UNIT_SECONDS, t->high_s);
    html_section(html, "Time",
                 arena_printf(html->arena, "A step takes %s to %s; %s.", low, high,
                              escaped(page, t->calibration)));
    html_record(html, columns, n, t);
    html_print(html, "<div class=\"wide\"><table>\n<tbody>\n");
    for (unsigned i = 0; i < t->n_parts; i++) {
        char seconds[48];
        unit_print(seconds, UNIT_SECONDS, t->parts[i].seconds);
        html_print(html, "<tr><td>%s</td><td class=\"n\">%s</td></tr>\n",
                   escaped(page, t->parts[i].name), seconds);
    }
    html_print(html, "</tbody></table></div>\n");
}

/* ---- everything else that predict's JSON has as one object ---- */

static void print_records(struct page_parts *page, const struct predict_section *sections,
                          size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (sections[i].present && !sections[i].present(page->prediction))
            continue;
        html_section(&page->html, escaped(page, sections[i].key), NULL);
        html_record(&page->html, sections[i].columns, sections[i].n_columns,
                    (const char *)page->prediction + sections[i].offset);
    }
}

/* Of time what stands under it: the first and the second are its own table and its interval. */
static void print_sections(struct page_parts *page)
{
    enum { SHOWN = 2 };
    size_t n, n_time;
    const struct predict_section *sections = predict_sections(&n),
                                 *time = predict_time_sections(&n_time);
    print_records(page, time + SHOWN, n_time - SHOWN);
    print_records(page, sections, n);
}

/* ---- what it rests on ---- */

static void print_assumed(struct page_parts *page)
{
    const struct predict_view *view = page->view->predict;
    struct html *html = &page->html;
    struct text defaults = {.arena = html->arena};
    html_section(html, "Assumed", NULL);
    html_print(html, "<ul>\n<li>limit %s</li>\n<li>%s</li>\n",
               escaped(page, predict_assumed_limit(view->plan, html->arena)),
               escaped(page, predict_assumed_stack(view->plan, html->arena)));
    if (predict_assumed_defaults(view->plan, view->origins, false, &defaults))
        html_print(html, "<li>defaults: %s</li>\n", escaped(page, text_string(&defaults)));
    for (size_t i = 0; i < page->prediction->n_assumptions; i++)
        html_print(html, "<li>%s</li>\n", escaped(page, page->prediction->assumptions[i]));
    for (size_t i = 0; i < page->prediction->n_notes; i++)
        html_print(html, "<li><code>%s</code>: %s</li>\n",
                   escaped(page, page->prediction->notes[i].key),
                   escaped(page, page->prediction->notes[i].text));
    html_print(html, "</ul>\n");
}

/* Line breaks of a plan's text are its own; each line is escaped. */
static void print_plan(struct page_parts *page)
{
    struct arena *arena = page->html.arena;
    html_section(&page->html, "The plan", NULL);
    html_print(&page->html, "<details><summary>every key with its value</summary>\n<pre>");
    for (const char *at = page->view->yaml; at && *at;) {
        size_t length = strcspn(at, "\n");
        html_print(&page->html, "%s\n", escaped(page, arena_strndup(arena, at, length)));
        at += length + (at[length] == '\n');
    }
    html_print(&page->html, "</pre></details>\n");
}

static void print_foot(struct page_parts *page)
{
    const struct provenance *p = &page->view->predict->provenance;
    html_print(&page->html,
               "</section>\n</main>\n<footer>moeplan %s, JSON schema %d, seed %" PRIu64
               ", plan %s, model %s, cluster %s, stack %s, profile %s</footer>\n</body>\n"
               "</html>\n",
               MOEPLAN_VERSION, SCHEMA_VERSION, p->seed, escaped(page, p->plan),
               escaped(page, p->model), escaped(page, p->cluster), escaped(page, p->stack),
               escaped(page, p->profile));
}

static void (*const parts[])(struct page_parts *page) = {
    print_head,     print_verdict, print_categories, print_walls, print_fixes,
    print_frontier, print_buffers, print_time,       print_ops,   print_sections,
    print_assumed,  print_plan,    print_foot,
};

void html_print_page(const struct html_view *view)
{
    const struct memory_report *memory = &view->predict->prediction->memory;
    uint64_t largest =
        memory->total_bytes > memory->limit_bytes ? memory->total_bytes : memory->limit_bytes;
    struct page_parts page = {
        .html = {view->predict->out, view->predict->arena, scale_for(largest)},
        .view = view,
        .prediction = view->predict->prediction,
        .memory = memory,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i](&page);
}
