/* What serving keeps of a sequence: keys and values of attention, in layers of one mixer, on
 * one rank of tensor parallelism. Formulas: layer-kinds.md section 1, engines.md.
 *
 *   full    n tokens x width
 *   window  min(n, attention.window) x width
 *   chunk   min(n, attention.chunk) x width: a chunk that is full
 *   csa     min(n, attention.window) x d, n / csa_ratio entries x d, and as many keys of the
 *           indexer; hca likewise, without keys; in both what the next entries are made of
 *   linear  a state [heads, head_dim, key_dim] in linear.state, and the last conv - 1 columns
 * that the convolution saw, one more for every token drafted; whatever n is an indexer adds n x
 * (head_dim + 4): 8-bit keys and an f32 scale (DeepSeek-V3.2 in vLLM)
 *   blocks  n tokens x width, and n keys of the indexer as wide as activations
 *
 * width: keys and values of the rank's heads, or MLA's latent, or the one head that is both,
 * whole on every rank. Blocks and what an engine holds beside this while it prefills are the
 * engine's. */
#ifndef MOEPLAN_WORK_PIECE_CACHE_H
#define MOEPLAN_WORK_PIECE_CACHE_H

#include "work/list/work.h"
#include "work/piece/dims.h"

/* Of a layer's keys and values. */
enum dtype cache_format(const struct plan *plan, enum mixer mixer);

/* One layer with this mixer and one sequence of so many tokens; saturates. */
uint64_t cache_layer_bytes(const struct plan *plan, enum mixer mixer, uint64_t tokens);

/* Of those bytes what entries take, which grow with the sequence; and bytes of a layer's open
 * windows, of which the next entries are made: whatever the sequence, not counted above. The
 * last two windows of csa, which overlap, one of hca, kv and gate of each token: in f32 in
 * engines (vLLM models/deepseek_v4/compressor.py, CompressorStateCache; SGLang
 * mem_cache/deepseek_v4_memory_pool.py, get_compress_state_ring_size), else as activations. */
uint64_t cache_entry_bytes(const struct plan *plan, enum mixer mixer, uint64_t tokens);
uint64_t cache_open_bytes(const struct plan *plan, enum mixer mixer);

/* Columns of one sequence that convolutions behind n-grams keep, whole on every rank of the
 * first stage (vLLM models/qwen4_exp/nvidia/ple_layer.py); 0 where there are none. */
uint64_t cache_ngram_bytes(const struct plan *plan);

/* All layers of the model, prediction modules not included, of one sequence; saturates. */
uint64_t cache_sequence_bytes(const struct plan *plan, uint64_t tokens);

/* Bytes of the state of one sequence in one linear layer, the convolution's columns included;
 * of the indexer's key of one token, 0 without an indexer. */
struct size cache_state_bytes(struct dims *dims);
struct size cache_index_bytes(struct dims *dims);
uint64_t cache_index_token(const struct plan *plan); /* in full attention */

/* Elements a token takes in a layer of the mixer at hand. */
struct size cache_width(const struct dims *dims);

/* Most tokens that TensorRT-LLM holds of a sequence on any layer (memory.cache_window), in
 * whole blocks; UINT64_MAX: all. */
uint64_t cache_window(const struct plan *plan);

/* Tokens that an engine keeps of a sequence for a layer of this mixer: those that it reads
 * (cache_tokens), or all where one pool is as deep for every layer. */
struct size cache_held(struct sizes *sizes, const struct plan *plan, enum mixer mixer,
                       struct size tokens);

/* Tokens that a layer of this mixer reads of a sequence of `tokens`. */
struct size cache_tokens(struct sizes *sizes, const struct plan *plan, enum mixer mixer,
                         struct size tokens);

/* Tokens of a window's pages where blocks have so many: no page is longer than a window where
 * one head is key and value (SGLang pool_configurator.py, swa_page_size). */
uint64_t cache_page(const struct plan *plan, uint64_t block);

/* Entries that a layer of this mixer has of a sequence, in whole blocks of so many tokens. */
struct size cache_entries(struct sizes *sizes, const struct plan *plan, enum mixer mixer,
                          struct size tokens, uint64_t block);

/* Of those, what a rank has of them where decode's context parallelism shares them out. */
struct size cache_part(struct sizes *sizes, const struct plan *plan, struct size tokens);

/* Layers of this stage with this mixer. */
struct size cache_layers(struct sizes *sizes, const struct plan *plan, enum mixer mixer);

/* "kv_cache", "window_cache": the buffer of a mixer's layers; NULL: it keeps nothing. */
const char *cache_name(enum mixer mixer);

/* Buffers of layers with entries: of these, of an indexer's keys of them, of open windows;
 * NULL: others have none. */
struct cache_names {
    const char *entries, *keys, *open;
};
struct cache_names cache_names(enum mixer mixer);

#endif
