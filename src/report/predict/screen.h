/* The first screen of a prediction: its parts, in the order of text.c. A part prints whole
 * lines and only what was computed. */
#ifndef MOEPLAN_REPORT_PREDICT_SCREEN_H
#define MOEPLAN_REPORT_PREDICT_SCREEN_H

#include "report/amount.h"
#include "report/page.h"
#include "report/predict/print.h"

enum { SCREEN_LINES = 25, SCREEN_LABEL = 10 };

/* What is left out, one more at each step, until the screen is short enough; --buffers,
 * --experts and --format json have all of it. */
enum brief {
    BRIEF_NOTHING,
    BRIEF_EXPERTS,  /* routing and GEMM */
    BRIEF_SECOND,   /* formula of the largest of the largest category, 64-bit indices */
    BRIEF_DEFAULTS, /* the keys left at their defaults: their number stands */
    BRIEF_FIXES,    /* more than one fix of a kind, small categories */
    BRIEF_ASSUMED,  /* the stack's calibration; the formula of the buffer that crosses the limit
                     */
    BRIEF_NOTES,    /* what notes say: the keys they are on stand */
    BRIEF_TIME,     /* rates beside the seconds, all but the largest categories */
    BRIEF_STAGES,   /* each stage's bytes: the least and the most stand; layers of a stage */
    BRIEF_LINES,    /* the first fix of a kind where another takes one line */
    BRIEF_LAYOUT,   /* degrees of 1, which groups cross nodes */
    BRIEF_LAST
};

struct screen {
    const struct predict_view *view;
    const struct memory_report *memory;
    struct scale scale;
    struct page page;
    enum brief brief;
};

/* "38.06" in the screen's unit; from the view's arena. */
const char *screen_amount(const struct screen *screen, uint64_t bytes);

/* "1.59 s"; "13.1 k", four digits. */
const char *screen_seconds(struct arena *arena, double s);
const char *screen_rate(struct arena *arena, double n);

/* A label and its text, wrapped. */
void screen_item(struct screen *screen, const char *label, const char *text);

/* verdict and chance; bars against the limit and what it holds; where the peak is, with the
 * largest buffers and the one that crosses the limit */
void screen_verdict(struct screen *screen);
void screen_bars(struct screen *screen);
/* Of a plan whose prefill is apart: a line for each pool. */
void screen_pools(struct screen *screen);
void screen_peak(struct screen *screen);
/* Five lines: seconds with their interval, rates, parts, waits, profile. */
void screen_time(struct screen *screen);
/* Of a served plan first token and tokens, what waits, limits kept. */
void screen_serving(struct screen *screen, const struct time_report *t);

/* What a profile's runs say of a plan, in two words; NULL: there was one like it. */
const char *screen_standing(const struct time_report *t);

/* model, software, layout, sequences of a cache */
void screen_model(struct screen *screen);
void screen_software(struct screen *screen);
void screen_layout(struct screen *screen);
void screen_cache(struct screen *screen);

void screen_fixes(struct screen *screen);

#endif
