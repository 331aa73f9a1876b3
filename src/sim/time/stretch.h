/* Stretches of a step: one layer of a segment in one direction, its ops added up as they run.
 */
#ifndef MOEPLAN_SIM_TIME_STRETCH_H
#define MOEPLAN_SIM_TIME_STRETCH_H

#include "sim/time/step_time.h"

enum { PASS_FORWARD, PASS_BACKWARD, PASSES }; /* backward: recomputation too */

/* Collectives that the compute stream waits for unless products of it run beside them: what
 * experts exchange, what tensor and context parallelism do. */
enum { BESIDE_EXPERTS, BESIDE_TENSOR, BESIDES };

/* How copies run (sim/time/copies.h); those that take turns are parts of the stream. */
enum copy_way { COPY_BESIDE, COPY_AHEAD, COPY_READS, COPY_WAYS, COPY_TURNS = COPY_WAYS };

/* Seconds of one rank and micro-batch; amounts add up over layers. */
struct stretch {
    double part_s[TIME_PARTS];     /* what the compute stream does and waits for */
    double products_s;             /* of it: products and attention */
    double looped_s;               /* of it: beside exchanges of loops that run ahead */
    double aside_s;                /* collectives of data parallelism that may run beside it */
    double end_s;                  /* of them the first or last layer's, which nothing hides */
    double beside_s[BESIDES];      /* of the parts: what may run beside products */
    double paired_s;               /* of them: what only another micro-batch hides (paired.h) */
    double link_s[PROFILE_LEVELS]; /* while links carry anything, hidden or not */
    double beside_link_s[PROFILE_LEVELS]; /* of it: what is or may be beside products */
    double copy_s[COPY_WAYS];             /* copies that run beside it */
    double layers;
    double host_s;   /* from one such layer to the next as the host launches them and waits */
    double sync_s;   /* waits of the host, part of host_s */
    double weight_s; /* of it: weight gradients, which nothing waits for */
    double comm_s;   /* of collectives, whether hidden or not */
    double flop;
    double serial_s; /* all in turn */
    double waits_s;  /* once overlapped: of the parts, for launches and copies */
    double least_s;  /* once overlapped: the busiest resource, in forward that of both passes */
};

struct stretches {
    bool used[SEGMENT_COUNT];                    /* segments that ops are of; of others */
    struct stretch layer[SEGMENT_COUNT][PASSES]; /* nothing is written */
    double send_s;                               /* a micro-batch's rows to the next stage */
    double update_s, reduce_s, gather_s;         /* once a step */
    double reduce_last_s, gather_first_s;        /* of them the bucket that nothing hides */
    double reduce_link_s[PROFILE_LEVELS], gather_link_s[PROFILE_LEVELS];
};

/* One of them: nothing of a segment that no op is of. */
static inline const struct stretch *stretches_at(const struct stretches *all, unsigned segment,
                                                 unsigned pass)
{
    static const struct stretch none = {.layers = 0};
    return all->used[segment] ? &all->layer[segment][pass] : &none;
}

/* From the stepper's priced ops. */
void stretches_of(struct stretches *all, const struct stepper *stepper);

/* The same of the routed part of MoE layers alone: from the choice of experts to the weighted
 * sum of their rows. */
void stretches_routed(struct stretches *all, const struct stepper *stepper);

/* Whether an op is of that part. */
bool stretch_is_routed(const struct op *op);

/* The same of what sim/time/step_floor counts: of layers, without ops between copies of weights
 * and between stages, and without those that only some of the layers may run. */
void stretches_least(struct stretches *all, const struct stepper *stepper);

/* Whether an op is of that part. */
bool stretch_is_least(const struct stepper *stepper, const struct op *op);

/* The same of those among them that no path changes: attention, and layers without experts; no
 * moves of rows, whose constants may be of one path. */
void stretches_common(struct stretches *all, const struct stepper *stepper);

void stretch_add(struct stretch *sum, const struct stretch *one, double times);

/* Which part an op's seconds belong to. */
enum time_part stretch_part(enum profile_item item, enum process_group group);

/* How many layers in one of the segment run an op: 1, or every n-th. */
double stretch_share(const struct stepper *stepper, const struct op *op);

/* Whether a step runs an op once and not with every micro-batch. */
bool stretch_is_once(const struct stepper *stepper, const struct op *op);

/* What such an op is: reductions of gradients, gathers of weights, all else; its seconds over
 * the layers of the stage that run it. */
enum update_part { UPDATE_REDUCE, UPDATE_WORK, UPDATE_GATHER };
enum update_part stretch_update(const struct stepper *stepper, size_t op);
double stretch_once_s(const struct stepper *stepper, size_t op);

/* Seconds of the parts. */
double stretch_s(const struct stretch *stretch);

#endif
