/* Pieces of an HTML page: escaped texts, tables of columns, figures as inline SVG. What comes
 * from outside is text, never markup. */
#ifndef MOEPLAN_REPORT_HTML_ELEMENT_H
#define MOEPLAN_REPORT_HTML_ELEMENT_H

#include "base/column.h"
#include "report/amount.h"

struct html {
    FILE *out;
    struct arena *arena;
    struct scale scale; /* of all amounts of memory on the page */
};

/* A text as it may stand between tags and in quoted attributes. */
const char *html_escape(const char *text, struct arena *arena);

/* printf whose texts (%s) have been escaped already. */
void html_print(struct html *html, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "<h2>" and what belongs to it; an open section is closed first. */
void html_section(struct html *html, const char *title, const char *about);

/* "38.06 GiB" */
const char *html_amount(struct html *html, uint64_t bytes);

/* Records as a table with a row of headings; columns that no record has are left out. Numbers
 * stand to the right. */
void html_table(struct html *html, const struct table *table);

/* One record as a list of terms and values. */
void html_record(struct html *html, const struct column *columns, size_t n, const void *record);

/* ---- figures ---- */

struct html_part {
    const char *name;
    uint64_t bytes;
    const char *colour; /* class of the page's style: "k-" and a category */
};

/* Parts stacked in one bar against a limit, with a legend. */
void html_stack(struct html *html, const char *label, const struct html_part *parts, size_t n,
                uint64_t limit_bytes);

struct html_point {
    const char *label; /* value of the swept key */
    bool valid;
    uint64_t total_bytes, limit_bytes;
    const char *verdict; /* "fits", "marginal", "oom", "invalid" */
    const char *wall;    /* the buffer at which memory runs out, or "" */
};

/* A bar for each point, coloured by its verdict, with the limit across. */
void html_frontier(struct html *html, const struct html_point *points, size_t n);

struct html_span {
    const char *name, *lane;
    double begin_s, duration_s;
    const char *part; /* of the step's time: its colour, and what the legend names */
};

/* Spans along one axis of time, a row for each lane in order of appearance. */
void html_timeline(struct html *html, const char *label, const struct html_span *spans,
                   size_t n);

#endif
