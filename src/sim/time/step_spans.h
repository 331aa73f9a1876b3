/* A step along time: the spans behind the seconds that sim/time/step_time says, and nothing
 * else: they end when the step does.
 *
 * A rank of every pipeline stage (the expected fullest of its group), a stream for each
 * resource. Ops of a chunk follow one another on its compute stream, layers of a kind in a row;
 * a collective stands on the stream of its group and holds computation up for the share of its
 * time that the model says is not hidden. The model hides collectives by the layer, not one by
 * one, so what is hidden is drawn beside what computes next. A collective that the model hides
 * beside the other pass, too, is drawn as long as its task lets it. */
#ifndef MOEPLAN_SIM_TIME_STEP_SPANS_H
#define MOEPLAN_SIM_TIME_STEP_SPANS_H

#include "base/span.h"
#include "sim/time/step_parts.h"

/* name, text; in the order in which they are drawn */
#define SPAN_STREAM_LIST(X)                                                                    \
    X(TASKS, "tasks")                                                                          \
    X(COMPUTE, "compute")                                                                      \
    X(EXPERTS, "ep exchange")                                                                  \
    X(TENSOR, "tp and cp")                                                                     \
    X(SHARDS, "dp in layers")                                                                  \
    X(COPIES, "copies")                                                                        \
    X(HOST, "host waits")                                                                      \
    X(SENDS, "pp forward")                                                                     \
    X(RETURNS, "pp backward")                                                                  \
    X(STEP, "dp of the step")

enum span_stream {
#define SPAN_STREAM_ENUM(name, text) SPAN_##name,
    SPAN_STREAM_LIST(SPAN_STREAM_ENUM)
#undef SPAN_STREAM_ENUM
        SPAN_STREAMS
};

const char *span_stream_name(enum span_stream stream);

/* The part of the step's time that a span of a rank belongs to. */
enum time_part span_part(const struct stepper *stepper, const struct span *span);

/* The whole step. Of more than `most` spans the ops of later micro-batches are left out, and
 * `about` says so; tasks are all there. Memory from the list's arena. */
void step_spans(const struct step_parts *parts, const struct step_time *step, size_t most,
                struct span_list *out);

/* What a draft's passes add at the end of a step that with them takes step_s: on the last
 * stage, which has the tokens that they go on from. */
void step_spans_draft(struct span_list *step, double step_s);

/* One layer of a kind, forward and backward in a row, begun at 0. Nothing for one that no chunk
 * has. */
void step_spans_layer(const struct step_parts *parts, enum segment segment,
                      struct span_list *out);

#endif
