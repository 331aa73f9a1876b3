/* The experts of a prediction: routing, padding, intensity, decode, trade, advice. */
#ifndef MOEPLAN_REPORT_PREDICT_MOE_H
#define MOEPLAN_REPORT_PREDICT_MOE_H

#include "report/page.h"
#include "report/predict/print.h"

/* --experts: everything that was computed about the layer's experts, as text. */
void predict_print_experts(const struct predict_view *view);

/* Two lines of it for the screen. */
void predict_summarise_experts(const struct predict_view *view, struct page *page);

#endif
