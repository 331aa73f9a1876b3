/* What the files of a training step's state share: buffers in pairs (dense parameters,
 * experts), and what each kind of optimizer keeps. */
#ifndef MOEPLAN_WORK_PIECE_STATE_PARTS_H
#define MOEPLAN_WORK_PIECE_STATE_PARTS_H

#include "work/piece/dims.h"
#include "work/piece/matrix.h"
#include "work/piece/state.h"

struct state {
    const struct plan *plan;
    struct work *work;
    struct sizes *z;
    uint16_t tick; /* the optimizer's */
};

/* Names of the two; literals, so that buffers may keep them. */
struct state_names {
    const char *dense, *experts;
};

#define STATE_NAMES(name)                                                                      \
    (struct state_names)                                                                       \
    {                                                                                          \
        name, "expert_" name                                                                   \
    }

/* Elements that stay on the device, of both; none of no format, or where there are 0. */
void state_keep(struct state *s, struct state_names names, struct shards shards,
                enum category category, enum dtype dtype, uint64_t count);

/* A buffer for each of both, `like` but for name and elements. */
void state_add_pair(struct state *s, struct state_names names, struct shards shards,
                    struct buffer like);

/* Whether an update works on the states as they are stored: of an f32 master only the 16 bits
 * that bf16 weights lack (store_param_remainders); states on the host have no remainders. */
bool state_is_native(const struct plan *plan);

/* Of what is trained, where layers are drawn that alone have gradients (axolotl
 * utils/callbacks/lisa.py, ms-swift swift/callbacks/lisa.py: requires_grad is all that changes,
 * and optimizers keep the states of parameters without a gradient), those and the ends. */
struct shards state_with_gradients(const struct plan *plan, struct work *work,
                                   unsigned from_zero);

/* Whether a part of the states is the host's. */
bool state_offloads(const struct plan *plan);
/* Ranks that share the optimizer's states out. */
struct shards state_sharers(const struct plan *plan, struct sizes *z);

/* A number of every matrix of the stage's layers, summed: dense ones, experts; `adapters`: of
 * those whose linear layers have adapters. */
struct shards state_sum_matrices(struct state *s, struct dims *d, bool adapters,
                                 struct size (*of)(struct state *s, const struct dims *d,
                                                   const struct layer_matrix *m));

/* Moments of a trained parameter: so many, in precision.moments or, where a library stores them
 * in few bits, in so many bits with an f32 scale per block. */
struct kept_moments {
    unsigned n, bits; /* bits 0: in the plan's format */
};
struct kept_moments state_moments(enum optimizer_kind kind);

/* Moments of the parameters that a rank updates on the device. */
void state_keep_moments(struct state *s, struct shards updated);
/* Format of the second moment. */
enum dtype state_moment2(const struct plan *plan);

/* As step_reserve, of the state; nothing of no format. */
void step_keep(struct work *work, const char *name, enum category category, enum dtype dtype,
               struct size elements, uint64_t count, const char *source);

/* State of modules trained whole beside adapters (lora_saved). */
void step_modules(const struct plan *plan, struct work *work, bool gradients_persist);

/* The copy of an asynchronous checkpoint, of the state behind work->buffers[first]. */
void step_checkpoint(const struct plan *plan, struct work *work, size_t first);

/* What reinforcement learning keeps beside training (workload.colocated): frozen models, and an
 * engine that generates, all the time or between steps, when the trainer's state, buffers from
 * `first` on, makes room for it. */
void step_colocated(const struct plan *plan, struct work *work, size_t first);

#endif
