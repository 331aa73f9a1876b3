/* The complete list of a plan's step: every op that one rank does, from fragments that all
 * stacks share.
 *
 * A segment is written once forward: the mixer (attention), the network (dense, or the path of
 * the plan's experts), norms, residual stream, the collectives of tensor and context
 * parallelism. Its backward is one pass over it (pass/backward), its recomputation another.
 * Ends, gathers of sharded weights, reductions of gradients, the optimizer, pipeline sends,
 * offload copies and host waits complete the step. */
#ifndef MOEPLAN_WORK_STEP_STEP_H
#define MOEPLAN_WORK_STEP_STEP_H

#include "work/pass/again.h"
#include "work/piece/dims.h"
#include "work/layer/layer.h"

/* The encoder's forward: ops first .. middle - 1 of a layer, middle .. end - 1 of the
 * projector; end 0: none runs. What enters and leaves either. */
struct encoder_run {
    size_t first, middle, end;
    uint16_t patches, encoded, projected;
};

struct step {
    const struct plan *plan; /* its path resolved */
    struct layer l;
    struct dims d;
    bool training, decode;
    bool kinds[KIND_COUNT]; /* of layers in the list */
    struct params params;   /* of the model */
    unsigned in;            /* IN_DENSE, ...: the network of the segment at hand */
    struct again again;     /* what the stack recomputes */
    uint16_t labels;        /* ids of the step's tokens */
    struct encoder_run encoder;
    uint16_t entries; /* that a layer makes before its indexer's keys of them */
};

/* ---- pieces: buffers in the activations' dtype, ops with the bytes of their operands ---- */

uint16_t step_rows(struct step *s, const char *name, enum category category, struct size rows,
                   struct size width);
/* Operands that only their number tells apart: q, k and v; parts of the state. */
#define MANY(number, reads, writes, buffer)                                                    \
    {                                                                                          \
        ROLE_RESULT, (number), (reads), (writes), (buffer)                                     \
    }

/* Returns the op's number. */
uint16_t step_op(struct step *s, const char *name, enum kernel kernel,
                 const struct operand *operands);
/* The same of some rows of an array, and of rows of a table, one per token: of `from` and the
 * table as many rows are read as are written. */
void step_taken(struct step *s, const char *name, uint16_t from, uint16_t part);
void step_looked_up(struct step *s, const char *name, uint16_t table, uint16_t ids,
                    uint16_t rows);
/* Of such a table: the weights', unless these are in few bits, which no table of tokens is. */
enum dtype step_table_format(const struct step *s);
/* The product with a matrix of the table: [rows, in] x [in, out]. */
uint16_t step_product(struct step *s, const char *matrix, uint16_t a, const char *out,
                      enum category category);
/* x summed over the tp ranks; where sp splits the sequence, each keeps its own rows. */
uint16_t step_reduced(struct step *s, const char *name, uint16_t x);

/* Runs of ops of one segment. */
uint16_t step_norm(struct step *s, const char *name, uint16_t x);
/* The norm of what a mixer or network reads: under attention residuals the same kernel weighs
 * sums of blocks beside x, and begins a block (vLLM models/kimi_k3/nvidia/ops/attn_res.py). */
uint16_t step_norm_in(struct step *s, const char *name, uint16_t x);
uint16_t step_add(struct step *s, const char *name, uint16_t a, uint16_t b);
/* What a mixer or network reads of the residual x: x itself, or under hyper-connections a
 * weighed sum of its copies, by numbers that a product of all of them makes of every token; and
 * x with the result, or every copy with its part of it and of the others (layer-kinds.md 1.8).
 */
struct streams {
    uint16_t all, row, mixes; /* mixes WORK_NONE: one copy */
};
struct streams step_streams(struct step *s, const char *name, uint16_t x);
uint16_t step_into(struct step *s, const char *name, const struct streams *streams,
                   uint16_t result);
/* All copies of the embedded tokens; and before the head one of all. */
uint16_t step_copies(struct step *s, uint16_t x);
uint16_t step_one(struct step *s, uint16_t x);
/* The copies with the embeddings of n-grams added, as often as the model has tables: on the
 * first stage, before its layers. */
uint16_t step_ngrams(struct step *s, uint16_t x);
/* The embedded tokens with those of n-grams that are part of the embedding. */
uint16_t step_ngrams_embedded(struct step *s, uint16_t x);
/* Before the head, and of all tokens, what attention residuals make of x and of all blocks. */
uint16_t step_weighed(struct step *s, uint16_t x);
/* The sequence gathered over tp where sp splits it; x itself elsewhere. */
uint16_t step_gathered(struct step *s, const char *name, uint16_t x);

/* ---- fragments ---- */

/* A mixer with its norm and the residual stream, [T, H] -> [T, H]: step_attention.c. Of a
 * linear layer step_linear.c does what lies between norm and sum, [T, H] -> [T tp, H]. */
uint16_t step_attention(struct step *s, uint16_t x);
uint16_t step_mixer(struct step *s, uint16_t normed); /* what lies between norm and sum */
uint16_t step_linear(struct step *s, uint16_t x);
/* Layers that meet entries of tokens, and those that make some; how many of so many tokens, and
 * what a list without these layers' own reads of them; twice the mean number of n that each
 * token meets, at most the last `kept`; sequences of a decode step whose tokens a rank has:
 * step_attention.c */
bool step_has_entries(const struct step *s);
bool step_makes_entries(const struct step *s);
struct size step_mean_of(struct sizes *sizes, struct size n, struct size kept);
struct size step_entries_of(struct step *s, struct size tokens);
struct size step_own_sequences(struct step *s);
/* Scores of the indexer against every token in reach, and the keys or blocks with the best: no
 * gradient flows through the choice (transformers and NeMo Automodel run it without). Its
 * queries come from a latent that the layer's have too or, of blocks, from the layer's input;
 * keys may be of entries, from a compressor of their own. WORK_NONE of a layer without indexer:
 * step_index.c */
uint16_t step_choose(struct step *s, uint16_t x, uint16_t from);
/* Where ranks share out a cache's tokens the core has the queries and heads of all of them, and
 * a rank keeps its own heads of what it gives; elsewhere they are as they were:
 * step_shared_out.c */
struct size step_all_heads(struct step *s, struct size width);
uint16_t step_gathered_queries(struct step *s, uint16_t q);
uint16_t step_summed_context(struct step *s, uint16_t context, struct size width);
/* Where ranks share out a step's tokens in attention: how many have keys, a rank's keys with
 * those of the others, and of SGLang its part of the rows that a mixer reads, and what it gives
 * summed and whole again; elsewhere they are as they were: step_prompt.c */
struct size step_key_rows(struct step *s);
uint16_t step_keys_of_all(struct step *s, const char *name, uint16_t own);
uint16_t step_prompt_in(struct step *s, uint16_t x);
uint16_t step_prompt_out(struct step *s, const char *name, uint16_t x);
/* The network of the segment at hand likewise, dense or experts; or a mixer and a network that
 * read the same rows: step_network.c */
uint16_t step_network(struct step *s, uint16_t x);
uint16_t step_side_by_side(struct step *s, uint16_t x);
uint16_t step_embedding(struct step *s); /* step_ends.c: [T, H] */
/* Embeddings of the layers: all of them from the embedded tokens, before the first layer; what
 * a layer adds of its own behind its network; and the first's backward, which returns the
 * gradient of the embedded tokens, of which d is what the layers make: step_embeddings.c */
struct layer_embeddings {
    size_t first, end; /* ops */
    uint16_t out;      /* WORK_NONE: there are none */
};
struct layer_embeddings step_layer_embeddings(struct step *s, uint16_t embedded);
uint16_t step_layer_embedding(struct step *s, uint16_t x);
uint16_t step_layer_embeddings_backward(struct step *s, const struct layer_embeddings *run,
                                        uint16_t embedded, uint16_t d);
/* An encoder of images before the embedding (WORK_NONE: none runs), the embedded tokens with
 * what it gives, and its backward behind the embedding's: step_encoder.c */
uint16_t step_encoder_forward(struct step *s);
uint16_t step_images(struct step *s, uint16_t embedded, uint16_t images);
void step_encoder_backward(struct step *s);
/* Final norm, logits, loss or sampler; in training returns the gradient of x. */
uint16_t step_head(struct step *s, uint16_t x);
/* Gathers of sharded weights before a segment's forward or backward, and the reduction of its
 * gradients: step_parallel.c */
void step_gather_weights(struct step *s, enum phase phase);
/* The input of the layer at hand, which tp ranks shared out (recompute.distribute). */
void step_gather_input(struct step *s);
void step_reduce_gradients(struct step *s);
void step_pipeline(struct step *s, enum phase phase);
/* Once per step: gradients over the ranks that hold the same parameters, and after the update
 * the new weights, where they are not sharded layer by layer. */
void step_reduce_all(struct step *s);
void step_gather_all(struct step *s);
/* Gradient norm and optimizer, with the two above: step_update.c */
void step_update(struct step *s);
/* Host waits and offload copies, as the stack's buffers and ticks say. */
void step_extras(struct step *s);

#endif
