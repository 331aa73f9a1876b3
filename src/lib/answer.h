/* A plan with its prediction: what `predict` prints, and what the library hands out. */
#ifndef MOEPLAN_LIB_ANSWER_H
#define MOEPLAN_LIB_ANSWER_H

#include "lib/request.h"
#include "plan/data/trace.h"
#include "report/compare/print.h"
#include "report/predict/print.h"

struct answer {
    struct plan plan;
    struct origins origins;
    struct routing_data routing; /* files that the plan's routing names */
    struct profile profile;      /* that prices it */
    struct prediction prediction;
};

struct answer_ask {
    struct predict_options options; /* routing, origins and ops are the answer's to fill */
    bool time;                      /* seconds, with their spread and longest ops */
    bool why;                       /* and what-ifs */
    bool ops;                       /* list the ops of a rank */
    bool rank_named;                /* of this one; else of the fullest */
    uint64_t rank, sample;
};

/* Everything: a prediction as `predict --format json` has it. */
extern const struct answer_ask answer_whole;

/* What a comparison asks of each side: memory, time and ops. */
extern const struct answer_ask answer_compared;

/* Reads the routing's files and predicts the answer's plan, which is loaded already with its
 * origins. Errors get the place of the key they are about; `name` is the plan's in messages. */
enum status answer_predict(const char *name, const struct answer_ask *ask, struct arena *arena,
                           struct answer *answer, struct err *err);

/* The answer to be printed. */
struct predict_view answer_view(const struct answer *answer, FILE *out, const struct term *term,
                                struct arena *arena);

/* Compares two answers to answer_compared. The view, which points to both and to the
 * comparison, is complete but for where it is printed. */
enum status answer_compare(const struct answer sides[2], struct arena *arena,
                           struct comparison *comparison, struct compare_view *view,
                           struct err *err);

#endif
