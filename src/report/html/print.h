/* A plan's answer as one HTML file that needs nothing else: no script, no font, no address. */
#ifndef MOEPLAN_REPORT_HTML_PRINT_H
#define MOEPLAN_REPORT_HTML_PRINT_H

#include "report/html/element.h"
#include "report/predict/print.h"

struct html_view {
    const struct predict_view *predict; /* its stream is the file */
    const char *swept;                  /* the key of the points; NULL: there are none */
    const struct html_point *points;
    size_t n_points;
    const char *layer;             /* the kind of the one drawn along time */
    const struct html_span *spans; /* its own, from 0 to layer_s; none without one */
    size_t n_spans;
    double layer_s;
    const char *yaml; /* the plan with every key */
};

/* The verdict, memory by category, wall, fixes, frontier, buffers, a layer along time, ops,
 * further sections of the prediction, what was assumed, and the plan itself. The same view
 * gives the same bytes. */
void html_print_page(const struct html_view *view);

/* The page's style sheet, as one text. */
extern const char html_style[];

#endif
