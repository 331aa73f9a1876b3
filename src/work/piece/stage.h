/* Pipeline stages: which layers a rank holds, how many micro-batches it keeps alive, and how
 * many parameters that is.
 *
 * A rank holds one chunk of layers, vpp chunks when stages interleave, or two (its own and its
 * mirror's) under DualPipe. What is kept alive follows the schedule: 1F1B pp - i, GPipe all,
 * zero-bubble pp, DualPipe pp + 1 over both chunks (DeepSeek DualPipe, README's table), and
 * interleaved 1F1B by playing the order of Megatron's schedule. */
#ifndef MOEPLAN_WORK_PIECE_STAGE_H
#define MOEPLAN_WORK_PIECE_STAGE_H

#include "plan/params.h"

enum { STAGE_MOMENTS = 16 };

struct stage {
    uint64_t index;   /* from 0 */
    unsigned moments; /* of its schedule that may hold the peak; the fields describe one */
    uint64_t layers[KIND_COUNT];  /* those of prediction modules included */
    uint64_t back[KIND_COUNT];    /* of them those that run backward */
    uint64_t trained[KIND_COUNT]; /* of those the ones whose weights have gradients */
    uint64_t away[KIND_COUNT];    /* of the layers those whose weights are in host memory */
    uint64_t adapted[KIND_COUNT]; /* of them those whose linear layers have adapters */
    uint64_t dense_layers, moe_layers; /* of them with such a network */
    uint64_t mtp_layers;               /* prediction modules on this rank */
    bool embedding, head;              /* holds the first, the last chunk */
    /* of attention residuals: blocks that it takes over, and that are there behind it; and what
     * a mixer or network of its layers reads and writes of them, mean, x 1000 */
    uint64_t blocks_in, blocks_out, blocks_moved;
    /* copies of a layer's saved tensors alive at once, in thousandths of the layers above */
    uint64_t in_flight[KIND_COUNT];
    /* of the layers above those that recompute.layers leaves alone, or whose inputs
     * recompute.every keeps, or that have adapters where others have none, and their copies
     * likewise */
    uint64_t kept[KIND_COUNT], kept_in_flight[KIND_COUNT];
    /* of the layers above those that no recipe applies to, likewise */
    uint64_t plain[KIND_COUNT], plain_in_flight[KIND_COUNT];
    uint64_t empty_in_flight;   /* micro-batches that wait in chunks without anything to do */
    uint64_t encoder_in_flight; /* likewise of the encoder, or of the embedding alone */
    uint64_t encoder_frozen;    /* its parameters that are not trained, before zero */
    uint64_t head_in_flight; /* micro-batches between the head's forward and backward, x 1000 */
    uint64_t dense_parameters;  /* not routed experts; on one rank of tp, before zero */
    uint64_t plain_parameters;  /* of them embedding, head, norms and biases */
    uint64_t model_parameters;  /* of the whole model */
    uint64_t expert_parameters; /* routed experts; on one rank of ep and etp, before zero */
    /* where parts of the model are frozen, what is trained of dense, plain, experts */
    uint64_t trained_dense, trained_plain, trained_experts;
};

/* Stage i of plan->parallel.pp. Layers by parallel.stages (pp entries, or pp x vpp chunks in
 * the order a token meets them), otherwise as even as possible with the longer ones first.
 * `moment` counts from 0; 0 when the stage has fewer. */
void stage_at(const struct plan *plan, uint64_t index, unsigned moment,
              const struct params *params, struct stage *stage);

/* The same at each of its moments; returns how many they are. */
unsigned stage_moments(const struct plan *plan, uint64_t index, const struct params *params,
                       struct stage stages[STAGE_MOMENTS]);

/* Its layers, prediction modules and ends alone: nothing of what is in flight, no parameters.
 */
void stage_layers(const struct plan *plan, uint64_t index, struct stage *stage);

/* A chunk of layers: prediction modules among them; of them those that run backward. */
struct stage_chunk {
    uint64_t layers[KIND_COUNT], back[KIND_COUNT];
    bool embedding, head;
};

bool stage_chunk_equal(const struct stage_chunk *a, const struct stage_chunk *b);

/* All chunks of a model whose stages interleave [pp x vpp], in the order a token meets them. */
void stage_chunks(const struct plan *plan, struct stage_chunk *chunks);

#endif
