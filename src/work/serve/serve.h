/* What serving stacks share: quantised weights by component, the KV cache in blocks, one
 * forward pass of prefill or decode, logits. Forward only; no gradients, no optimizer.
 *
 * Weights follow precision.weights for the matrices that serving quantises (projections,
 * experts, dense networks); embedding, head, router, norms and biases stay in 16 bits, as in
 * the published fp8 and fp4 checkpoints, and so do the parts that precision.plain names, or in
 * the format that it gives them. tp divides attention and dense networks, ep and etp
 * the experts; prefill and decode hold no copy sharded over data-parallel ranks. */
#ifndef MOEPLAN_WORK_SERVE_SERVE_H
#define MOEPLAN_WORK_SERVE_SERVE_H

#include "plan/engine.h"
#include "work/dispatch/dispatch.h"

/* How an expert backend keeps 4-bit weights: widths padded, and copies beside them. */
struct serve_experts {
    uint64_t inter_multiple, hidden_multiple; /* of a rank's I, of H; 0: as they are */
    uint64_t out_multiple;                    /* of H where the last product writes it */
    bool swizzled_scales; /* the loaded scales stay beside those the kernel reads */
    bool wide_biases;     /* biases of the experts in f32 */
};

struct serve_style {
    struct dispatch_style moe;
    bool spread;         /* experts lie over all ranks: ep x etp = tp x dp */
    bool alone;          /* or over tp alone: data-parallel ranks are engines of their own */
    bool whole_or_split; /* experts are spread whole or split over all ranks: not ep and etp */
    bool all_or_one;     /* attention is split over all ranks or over none: not tp and dp */
    const struct engine_release *profile; /* the list of its profile run, which has no cache
                                           * yet and samples the last rows; NULL: a step */
    struct serve_experts experts;
    bool remainders;         /* count what torch's allocator keeps of the weights' segments */
    enum dtype rotary_table; /* cosines and sines of all positions, a table for each base and
                              * width of the model; none: not counted */
    uint64_t cache_block;    /* tokens of a KV cache block; sequences round up to it */
    bool absorbed_copies;    /* MLA keeps W_UK and W_UV beside kv_b, in 16 bits */
    uint64_t context_tokens; /* MLA prefill up-projects cached context in pieces of at most
                              * this many tokens, reserved by the profile run; 0: not */
    const char *context_source;
};

/* Fills the list for one forward pass. STATUS_INPUT when the plan trains, or experts are not
 * spread over all ranks of the engine. */
enum status serve_build(const struct plan *plan, struct work *work, enum moe_path path,
                        const struct serve_style *style, struct err *err);

/* Parts of serve_build. */
enum status serve_refuse(const struct plan *plan, const struct serve_style *style,
                         struct err *err);
void serve_weights(const struct plan *plan, struct work *work, const struct serve_style *style);
/* Lists weights of so many bytes each, so many of them; `name` and `source` outlive the list.
 */
void serve_state(struct work *work, const char *name, enum dtype dtype, struct size bytes,
                 struct size count, const char *source);
struct dims;
/* Those at the ends, with the norms of all layers: serve_ends.c. */
void serve_end_weights(const struct plan *plan, struct work *work);
void serve_layer_embeddings(const struct plan *plan, struct work *work, const struct dims *d);
void serve_module_projection(const struct plan *plan, struct work *work);
void serve_rotary_table(const struct plan *plan, struct work *work, enum dtype dtype);
/* Layers of the stage. */
struct size serve_all_layers(const struct plan *plan, struct sizes *sizes);
/* Layers of the stage with a window, those that borrow keys among them. */
struct size serve_window_layers(const struct plan *plan, struct sizes *sizes);
/* Dense layers of the stage that borrow keys. */
struct size serve_borrow_layers(const struct plan *plan, struct sizes *sizes);
/* Room for adapters; matrices of the layers listed since buffer `first` that stay in host
 * memory. */
void serve_adapters(const struct plan *plan, struct work *work);
void serve_offload(const struct plan *plan, struct work *work, size_t first);
/* Buffers that caches are sent from and into, of a cache with blocks of so many tokens. */
void serve_transfer(const struct plan *plan, struct work *work, uint64_t block);
/* What torch's allocator keeps of the segments of weights. */
void serve_remainders(const struct plan *plan, struct work *work,
                      const struct serve_experts *layout);
/* What lives while a profile run samples `rows` of its tokens [tokens, H]. */
void serve_sample(const struct plan *plan, struct work *work,
                  const struct engine_release *release, struct size tokens);
/* cuBLAS's workspace, between these ticks of a segment. */
void serve_blas(const struct plan *plan, struct work *work, enum segment segment,
                uint16_t first, uint16_t last);
/* In a profile run: what stages take from those before them, and what is there before the model
 * runs; whether torch.compile cuts it into pieces; what their caller holds of attention's
 * output from here to the end of a layer; what a kernel is timed beside. */
void serve_before(const struct plan *plan, struct work *work, const struct serve_style *style,
                  struct size tokens);
bool serve_compiles(const struct plan *plan, const struct serve_style *style);
void serve_piece(const struct plan *plan, struct work *work, enum segment segment,
                 struct size tokens, struct size context);
struct buffer serve_timing(const struct plan *plan, struct sizes *sizes);
/* Weights and cache of a draft model. */
void serve_draft(const struct plan *plan, struct work *work, const struct serve_style *style);
/* Sequences whose keys and values a rank holds. */
struct size serve_cached_sequences(const struct plan *plan, struct sizes *sizes);
void serve_cache(const struct plan *plan, struct work *work, uint64_t block);
/* The encoder of a multimodal model: its weights; what it holds while it runs in a profile run
 * or a prefill with images. */
void serve_encoder_weights(const struct plan *plan, struct work *work);
void serve_encoder(const struct plan *plan, struct work *work, bool profile);
/* Of attention to chosen tokens in vLLM: the tokens that each of a step's chose; whether layers
 * with this mixer choose in a profile run, and what that takes; the room in which keys and
 * latents are gathered, behind the experts' workspaces. */
void serve_chosen(const struct plan *plan, struct work *work);
bool serve_has_choice(const struct plan *plan, const struct serve_style *style,
                      enum mixer mixer);
struct buffer serve_choice(struct sizes *sizes);
void serve_gathers(const struct plan *plan, struct work *work, const struct serve_style *style);
/* Of hyper-connections and n-grams, and what attention to pooled blocks keeps:
 * serve_residual.c. */
void serve_residual_weights(const struct plan *plan, struct work *work);
void serve_embedded(const struct plan *plan, struct work *work, struct size tokens);

#endif
