/* Blocks of an engine's cache: layers of one mixer form groups of equal size, every group draws
 * from the same blocks, and a block holds its tokens in one layer of each group's kind.
 *
 * Source: engines.md 1.4 (vLLM v1/core/kv_cache_utils.py, v1/kv_cache_interface.py); SGLang
 * model_executor/model_runner_kv_cache_mixin.py (set_num_tokens_hybrid_swa,
 * handle_max_mamba_cache). */
#ifndef MOEPLAN_SIM_SERVE_SERVING_CACHE_H
#define MOEPLAN_SIM_SERVE_SERVING_CACHE_H

#include "plan/layers.h"
#include "work/list/shape.h"

/* Groups of layers that slide, in blocks of their own of so many tokens. */
struct cache_slide {
    uint64_t groups, block, window;
};

enum { CACHE_SLIDES = 3 };

struct cache_groups {
    uint64_t layers;              /* of a group */
    uint64_t groups[MIXER_COUNT]; /* of each mixer that keeps a cache */
    uint64_t n;
    uint64_t block_tokens;
    uint64_t times[MIXER_COUNT]; /* block_tokens of a block in layers of each mixer */
    uint64_t block_bytes;        /* layers x one layer's keys and values of them */
    uint64_t kept_bytes; /* SGLang: in a pool of their own, of every sequence: where layers
                            have entries, what the next ones are made of */
    struct cache_slide slides[CACHE_SLIDES]; /* vLLM: of these, windows and open entries */
    unsigned n_slides;
    uint64_t rings; /* vLLM: groups of which every sequence has one block: open blocks' keys */
};

/* The groups of a stage, whose slots these are. Engines that pad no kind of layer to another
 * (all but vLLM) have one group of all layers. */
void cache_groups_of(const struct plan *plan, const struct slots *slots,
                     struct cache_groups *out);

/* A sequence's states in all recurrent layers of the stage; 0 where it has none. */
uint64_t cache_states_bytes(const struct plan *plan, const struct slots *slots);

/* What open entries of all layers take off SGLang's pool before blocks, and sequences' parts of
 * it: of those that run at once, of one that pads and of one more, and 128 rows to which all
 * are padded, as many as one has or half of them beside a draft (model_executor/
 * pool_configurator.py, _get_c128_state_fixed_bytes). */
uint64_t cache_open_pool(const struct plan *plan, const struct slots *slots, uint64_t *n);

/* Tokens of a sequence that a block on each rank that shares it out holds: dcp times a block's
 * (v1/core/single_type_kv_cache_manager.py). */
uint64_t cache_groups_span(const struct plan *plan, const struct cache_groups *groups);

/* Blocks that a sequence of so many tokens takes, beside steps of `flight` tokens under way. */
uint64_t cache_groups_blocks(const struct plan *plan, const struct cache_groups *groups,
                             uint64_t tokens, uint64_t flight);

#endif
