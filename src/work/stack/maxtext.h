/* Inside work/stack/maxtext: the sizes of which maxtext.c and maxtext_save.c make what they
 * declare (maxtext_layer.c). */
#ifndef MOEPLAN_WORK_STACK_MAXTEXT_H
#define MOEPLAN_WORK_STACK_MAXTEXT_H

#include "work/list/work.h"

struct maxtext_layer {
    const struct plan *plan;
    struct work *work;
    struct sizes *z;
    enum dtype dtype; /* of activations */
    struct size tokens, hidden;
    struct size between;            /* a rank's part of hidden, between layers */
    struct size inter, dense_inter; /* its parts of an expert's and a dense MLP's width */
    struct size q, k, v, context;   /* widths of the attention's tensors per token, of the mixer
                                       at hand */
    struct size rows[2];            /* dims of a routed tensor before its width */
    unsigned n_rows;
    enum sizing_rule rows_rule; /* of routed tensors */
    bool kinds[KIND_COUNT];     /* of layers that are held */
    enum segment segment;       /* of the kind at hand */
};

/* Fills it, with full attention at hand, for the rows of a path; sets the room of work where
 * the plan's factor says it. */
struct path_system;
void maxtext_layer_init(const struct plan *plan, struct work *work,
                        const struct path_system *path, struct maxtext_layer *layer);

/* Slots of one expert in a sequence: int(max(ceil(S K / E) cf, cf)). */
struct size maxtext_capacity(const struct maxtext_layer *layer);

/* Takes the widths of layers with this mixer. */
void maxtext_take(const struct plan *plan, struct maxtext_layer *layer, enum mixer mixer);

/* A buffer of the layer's backward, alive through it; schedules 0: in every one. Returns it;
 * valid until the next is added. */
struct buffer *maxtext_declare(const struct maxtext_layer *layer, enum segment segment,
                               const char *name, enum category category, uint32_t schedules,
                               unsigned n_dims, const struct size *dims);

/* Tensors kept from forward to backward: the residual stream of every layer, and those that
 * plan->recompute names. STATUS_INPUT for a name MaxText does not know. */
enum status maxtext_save(const struct plan *plan, const struct maxtext_layer *layer,
                         struct err *err);

#endif
