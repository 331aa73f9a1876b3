/* Keys the user set and the plan does not read, on the screen. */
#ifndef MOEPLAN_REPORT_PREDICT_NOTES_H
#define MOEPLAN_REPORT_PREDICT_NOTES_H

#include "base/text.h"
#include "report/page.h"
#include "sim/answer/predict.h"

/* Keys of one reason on one line; of many reasons the first two, and how many more keys there
 * are. */
void predict_notes_print(const struct prediction *prediction, struct page *page,
                         struct arena *arena);

/* What the answer stands or falls with, on a screen without room for the others. */
void predict_notes_weighty(const struct prediction *prediction, struct page *page);

/* Appends, for such a screen, the keys that the others are on: the first two, and how many
 * more. */
void predict_notes_brief(const struct prediction *prediction, struct text *line);

#endif
