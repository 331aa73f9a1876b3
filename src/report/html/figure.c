/* Figures as inline SVG, readable without colour too: each shape has a title, each figure a
 * label, and the numbers stand in the text beside it. See element.h. */
#include <inttypes.h>

#include "base/unit.h"
#include "report/html/element.h"

enum {
    WIDTH = 960,      /* of every figure, in its own units */
    BAR = 34,         /* height of the stacked bar */
    CHART = 260,      /* height of the frontier */
    FOOT = 28,        /* below it, for labels */
    LANE = 26,        /* of the timeline */
    LANES = 16,       /* more are not told apart */
    LANE_NAMES = 120, /* width of their names */
    LABELS = 24       /* of points; more are left out */
};

static void open_figure(struct html *html, unsigned height, const char *label)
{
    html_print(html,
               "<svg viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"%s\" "
               "xmlns=\"http://www.w3.org/2000/svg\">\n",
               WIDTH, height, label);
}

static void box(struct html *html, const double at[4], const char *class, const char *title)
{
    html_print(html,
               "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"%s\">"
               "<title>%s</title></rect>\n",
               at[0], at[1], at[2], at[3], class, title);
}

static void words(struct html *html, double x, double y, const char *anchor, const char *text)
{
    html_print(html, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
               text);
}

/* ---- one stacked bar ---- */

static void legend(struct html *html, const struct html_part *parts, size_t n, uint64_t total)
{
    html_print(html, "<ul class=\"legend\">\n");
    for (size_t i = 0; i < n; i++) {
        char share[32];
        percent_print(share, parts[i].bytes, total);
        html_print(html, "<li><i class=\"%s\"></i>%s <b>%s</b> %s&nbsp;%%</li>\n",
                   parts[i].colour, html_escape(parts[i].name, html->arena),
                   html_amount(html, parts[i].bytes), share);
    }
    html_print(html, "</ul>\n");
}

void html_stack(struct html *html, const char *label, const struct html_part *parts, size_t n,
                uint64_t limit_bytes)
{
    uint64_t total = 0;
    double x = 0;
    for (size_t i = 0; i < n; i++)
        total += parts[i].bytes;
    double whole = (double)(total > limit_bytes ? total : limit_bytes);
    double scale = whole > 0 ? WIDTH / whole : 0;
    open_figure(html, BAR + FOOT, html_escape(label, html->arena));
    for (size_t i = 0; i < n; i++) {
        const double at[] = {x, 0, (double)parts[i].bytes * scale, BAR};
        box(html, at, parts[i].colour,
            arena_printf(html->arena, "%s %s", html_escape(parts[i].name, html->arena),
                         html_amount(html, parts[i].bytes)));
        x += at[2];
    }
    double limit = (double)limit_bytes * scale;
    html_print(html, "<path d=\"M%.2f 0V%d\" class=\"limit\"/>\n", limit > 1 ? limit - 1 : 0,
               BAR + 6);
    words(html, limit, BAR + 22, limit > WIDTH / 2 ? "end" : "start",
          arena_printf(html->arena, "limit %s", html_amount(html, limit_bytes)));
    html_print(html, "</svg>\n");
    legend(html, parts, n, total);
}

/* ---- the frontier ---- */

static void frontier_point(struct html *html, const struct html_point *point, size_t i,
                           size_t n, double top)
{
    double step = (double)WIDTH / (double)n;
    double height = point->valid ? (double)point->total_bytes / top * CHART : 4;
    const double at[] = {(double)i * step + step * 0.08, CHART - height, step * 0.84, height};
    const char *label = html_escape(point->label, html->arena);
    const char *title =
        point->valid
            ? arena_printf(html->arena, "%s: %s, %s%s%s", label, point->verdict,
                           html_amount(html, point->total_bytes), point->wall[0] ? ", at " : "",
                           html_escape(point->wall, html->arena))
            : arena_printf(html->arena, "%s: %s", label, point->verdict);
    box(html, at, arena_printf(html->arena, "v-%s", point->verdict), title);
    if (n <= LABELS)
        words(html, ((double)i + 0.5) * step, CHART + 20, "middle", label);
}

void html_frontier(struct html *html, const struct html_point *points, size_t n)
{
    double top = 1;
    uint64_t limit = 0;
    for (size_t i = 0; i < n; i++) {
        top = (double)points[i].total_bytes > top ? (double)points[i].total_bytes : top;
        limit = points[i].limit_bytes > limit ? points[i].limit_bytes : limit;
    }
    top = ((double)limit > top ? (double)limit : top) * 1.06;
    open_figure(html, CHART + FOOT, "memory of a rank at each value, against the limit");
    for (size_t i = 0; i < n; i++)
        frontier_point(html, &points[i], i, n, top);
    double y = CHART - (double)limit / top * CHART;
    html_print(html, "<path d=\"M0 %.2fH%d\" class=\"limit\"/>\n", y, WIDTH);
    words(html, 4, y - 5, "start",
          arena_printf(html->arena, "limit %s", html_amount(html, limit)));
    html_print(html, "</svg>\n");
}

/* ---- the timeline ---- */

static size_t lane_of(const char **lanes, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (text_equal(lanes[i], name))
            return i;
    if (*n == LANES)
        return LANES - 1;
    lanes[*n] = name;
    return (*n)++;
}

static void time_axis(struct html *html, size_t lanes, double end)
{
    char text[48];
    double y = (double)(lanes * LANE);
    unit_print(text, UNIT_SECONDS, end);
    html_print(html, "<path d=\"M%d %.0fH%d\" class=\"axis\"/>\n", LANE_NAMES, y + 3, WIDTH);
    words(html, LANE_NAMES, y + 20, "start", "0");
    words(html, WIDTH, y + 20, "end", text);
}

/* The parts that occur, with their colours. */
static void part_legend(struct html *html, const struct html_span *spans, size_t n)
{
    html_print(html, "<ul class=\"legend\">\n");
    for (size_t i = 0; i < n; i++) {
        size_t before = 0;
        while (!text_equal(spans[before].part, spans[i].part))
            before++;
        if (before == i)
            html_print(html, "<li><i class=\"p-%s\"></i>%s</li>\n", spans[i].part,
                       spans[i].part);
    }
    html_print(html, "</ul>\n");
}

void html_timeline(struct html *html, const char *label, const struct html_span *spans,
                   size_t n)
{
    const char *lanes[LANES];
    size_t n_lanes = 0;
    double end = 0;
    for (size_t i = 0; i < n; i++) {
        lane_of(lanes, &n_lanes, spans[i].lane);
        double last = spans[i].begin_s + spans[i].duration_s;
        end = last > end ? last : end;
    }
    double scale = end > 0 ? (WIDTH - LANE_NAMES) / end : 0;
    open_figure(html, (unsigned)(n_lanes * LANE) + FOOT, html_escape(label, html->arena));
    for (size_t i = 0; i < n_lanes; i++)
        words(html, 0, (double)(i * LANE) + 17, "start", html_escape(lanes[i], html->arena));
    for (size_t i = 0; i < n; i++) {
        char seconds[48];
        unit_print(seconds, UNIT_SECONDS, spans[i].duration_s);
        const double at[] = {LANE_NAMES + spans[i].begin_s * scale,
                             (double)(lane_of(lanes, &n_lanes, spans[i].lane) * LANE) + 2,
                             spans[i].duration_s * scale, LANE - 4};
        box(html, at, arena_printf(html->arena, "p-%s", spans[i].part),
            arena_printf(html->arena, "%s, %s", html_escape(spans[i].name, html->arena),
                         seconds));
    }
    time_axis(html, n_lanes, end);
    html_print(html, "</svg>\n");
    part_legend(html, spans, n);
}
