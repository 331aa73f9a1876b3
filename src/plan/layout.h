/* Megatron's language of pipeline layouts: "Et*3|(tt|)*29,m|L". E is the embedding, t a layer,
 * m a prediction module, L the loss; `|` ends a chunk, x*n and (..)*n repeat, commas are for
 * people. Chunk i stands on rank i mod pp. Source: Megatron-LM
 * core/transformer/pipeline_parallel_layer_layout.py at d98e8a64. */
#ifndef MOEPLAN_PLAN_LAYOUT_H
#define MOEPLAN_PLAN_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

struct layout_chunk {
    uint64_t layers, modules;
    bool embedding, loss;
};

struct layout {
    struct layout_chunk chunk[PLAN_LIST];
    uint64_t n;
};

/* False when the text is no layout, or has more than PLAN_LIST chunks. */
bool layout_read(const char *text, struct layout *layout);

/* Whether every chunk has layers, the embedding stands before the first and loss and modules
 * behind the last of them: what a list of layers a chunk says as well. */
bool layout_is_plain(const struct layout *layout);

#endif
