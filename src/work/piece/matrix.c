/* See matrix.h. */
#include "work/piece/matrix.h"

/* Megatron makes entries and the weights of an indexer that chooses them outside any recipe
 * (csa.py, get_fp8_disabled_context), and groups of heads by a parameter of its own
 * (torch.einsum in deepseek_v4_hybrid_attention.py): those are wide. */
static const struct layer_matrix matrices[] = {
    {"q_down", IN_ALL, FACT_Q_LOW_RANK, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN, .out = COL_Q_RANK,
     .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"q_up", IN_ALL, FACT_Q_LOW_RANK, MODULE_UP, ROW_FULL, COL_Q_RANK, .out = COL_Q,
     .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"q", IN_ALL, FACT_Q_FULL_RANK, MODULE_UP, ROW_FULL, COL_HIDDEN, .out = COL_Q,
     .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"kv_down", IN_ALL, FACT_MLA, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN, .out = COL_KV_LATENT,
     .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"kv_up", IN_ALL, FACT_MLA, MODULE_UP, ROW_FULL, COL_KV_RANK, .out = COL_KV_UP,
     .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"qkv", IN_ALL, FACT_QKV, MODULE_UP, ROW_FULL, COL_HIDDEN, .out = COL_UP_OUT,
     .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"kv", IN_ALL, FACT_GQA | FACT_Q_LOW_RANK, MODULE_UP, ROW_FULL, COL_HIDDEN, .out = COL_KV,
     .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"shared_kv", IN_ALL, FACT_SHARED_KV, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN,
     .out = COL_SHARED_KV, .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"entry_compress", IN_ALL, FACT_CSA, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN, .out = COL_CSA_IN,
     .mixers = MIX_SOFTMAX, .part = PART_WHOLE, .wide = true},
    {"entry_compress", IN_ALL, FACT_HCA, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN, .out = COL_HCA_IN,
     .mixers = MIX_SOFTMAX, .part = PART_WHOLE, .wide = true},
    {"attention_out_down", IN_ALL, FACT_SHARED_KV, MODULE_PROJECTION, ROW_FULL, COL_GROUP_IN,
     .out = COL_O_RANKS, .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_OUT, .wide = true},
    {"attention_gate", IN_ALL, FACT_MLA | FACT_OUTPUT_GATE, MODULE_UP, ROW_FULL, COL_HIDDEN,
     .out = COL_CONTEXT, .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"head_gate", IN_ALL, FACT_HEAD_GATE, MODULE_UP, ROW_FULL, COL_HIDDEN, .out = COL_HEADS,
     .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_IN},
    {"attention_out", IN_ALL, 0, MODULE_PROJECTION, ROW_FULL, COL_OUT_IN, .out = COL_HIDDEN,
     .mixers = MIX_SOFTMAX, .part = PART_ATTENTION_OUT},
    {"index_q", IN_ALL, FACT_INDEX | FACT_Q_LOW_RANK, MODULE_UP, ROW_LOCAL, COL_Q_RANK,
     .out = COL_INDEX_Q, .mixers = MIX_SOFTMAX, .part = PART_INDEXER},
    {"index_q", IN_ALL, FACT_INDEX | FACT_BLOCKS, MODULE_UP, ROW_FULL, COL_HIDDEN,
     .out = COL_INDEX_Q, .mixers = MIX_SOFTMAX, .part = PART_INDEXER},
    {"index_compress", IN_ALL, FACT_INDEX | FACT_CSA, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN,
     .out = COL_INDEX_IN, .mixers = MIX_SOFTMAX, .part = PART_WHOLE, .wide = true},
    {"index_entry_k", IN_ALL, FACT_INDEX | FACT_HCA, MODULE_DOWN, ROW_LOCAL, COL_SHARED_KV,
     .out = COL_INDEX_K, .mixers = MIX_SOFTMAX, .part = PART_INDEXER},
    {"index_k", IN_ALL, FACT_INDEX | FACT_INDEX_KEYS | FACT_Q_LOW_RANK, MODULE_DOWN, ROW_LOCAL,
     COL_HIDDEN, .out = COL_INDEX_K, .mixers = MIX_SOFTMAX, .part = PART_INDEXER},
    {"index_gate", IN_ALL, FACT_INDEX | FACT_INDEX_POOL, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN,
     .out = COL_INDEX_K, .mixers = MIX_SOFTMAX, .part = PART_INDEXER},
    {"index_k", IN_ALL, FACT_INDEX | FACT_BLOCKS, MODULE_UP, ROW_FULL, COL_HIDDEN,
     .out = COL_INDEX_K, .mixers = MIX_SOFTMAX, .part = PART_INDEXER},
    {"index_weights", IN_ALL, FACT_INDEX | FACT_CSA, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN,
     .out = COL_INDEX_HEADS, .mixers = MIX_SOFTMAX, .part = PART_INDEXER, .wide = true},
    {"index_weights", IN_ALL, FACT_INDEX | FACT_HCA, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN,
     .out = COL_INDEX_HEADS, .mixers = MIX_SOFTMAX, .part = PART_INDEXER, .wide = true},
    {"index_weights", IN_ALL, FACT_INDEX | FACT_NO_ENTRIES, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN,
     .out = COL_INDEX_HEADS, .mixers = MIX_SOFTMAX, .part = PART_INDEXER, .wide = true},
    {"index_weights", IN_ALL, FACT_INDEX | FACT_INDEX_KEYS | FACT_Q_LOW_RANK, MODULE_DOWN,
     ROW_LOCAL, COL_HIDDEN, .out = COL_INDEX_HEADS, .mixers = MIX_SOFTMAX,
     .part = PART_INDEXER},
    {"linear_in", IN_ALL, 0, MODULE_UP, ROW_FULL, COL_HIDDEN, .out = COL_LINEAR_IN,
     .mixers = MIX_LINEAR, .part = PART_LINEAR},
    {"gates_down", IN_ALL, FACT_LOW_RANK_DECAY, MODULE_DOWN, ROW_LOCAL, COL_HIDDEN,
     .out = COL_LINEAR_RANKS, .mixers = MIX_KIMI_DELTA, .part = PART_LINEAR},
    {"decay_up", IN_ALL, FACT_LOW_RANK_DECAY, MODULE_UP, ROW_FULL, COL_LINEAR_RANK,
     .out = COL_LINEAR_VALUES, .mixers = MIX_KIMI_DELTA, .part = PART_LINEAR},
    {"decay", IN_ALL, FACT_FULL_RANK_DECAY, MODULE_UP, ROW_FULL, COL_HIDDEN,
     .out = COL_LINEAR_VALUES, .mixers = MIX_KIMI_DELTA, .part = PART_LINEAR},
    {"output_gate_up", IN_ALL, FACT_LOW_RANK_GATE, MODULE_UP, ROW_FULL, COL_LINEAR_RANK,
     .out = COL_LINEAR_VALUES, .mixers = MIX_KIMI_DELTA, .part = PART_LINEAR},
    {"output_gate", IN_ALL, FACT_FULL_RANK_GATE, MODULE_UP, ROW_FULL, COL_HIDDEN,
     .out = COL_LINEAR_VALUES, .mixers = MIX_KIMI_DELTA, .part = PART_LINEAR},
    {"step_down", IN_ALL, 0, MODULE_ROPE, ROW_FULL, COL_LINEAR_VALUES, .out = COL_LINEAR_STEP,
     .mixers = MIX_MAMBA1, .part = PART_LINEAR},
    {"step_up", IN_ALL, 0, MODULE_ROPE, ROW_FULL, COL_LINEAR_RANK, .out = COL_LINEAR_VALUES,
     .mixers = MIX_MAMBA1, .part = PART_LINEAR},
    {"linear_out", IN_ALL, 0, MODULE_PROJECTION, ROW_FULL, COL_LINEAR_VALUES, .out = COL_HIDDEN,
     .mixers = MIX_LINEAR, .part = PART_LINEAR},
    {"mlp_gate_up", IN_DENSE, 0, MODULE_GATE_UP, ROW_NETWORK, COL_HIDDEN, .out = COL_DENSE_IN,
     .part = PART_DENSE},
    {"mlp_down", IN_DENSE, 0, MODULE_EXPERT_DOWN, ROW_NETWORK, COL_DENSE, .out = COL_HIDDEN,
     .part = PART_DENSE},
    {"shared_gate_up", IN_MOE, FACT_SHARED, MODULE_SHARED, ROW_NETWORK, COL_HIDDEN,
     .out = COL_SHARED_IN, .part = PART_SHARED},
    {"shared_down", IN_MOE, FACT_SHARED, MODULE_SHARED, ROW_NETWORK, COL_SHARED_INTER,
     .out = COL_HIDDEN, .part = PART_SHARED},
    {"residual_gate_up", IN_MOE, FACT_RESIDUAL, MODULE_SHARED, ROW_NETWORK, COL_HIDDEN,
     .out = COL_RESIDUAL_IN, .part = PART_RESIDUAL},
    {"residual_down", IN_MOE, FACT_RESIDUAL, MODULE_SHARED, ROW_NETWORK, COL_RESIDUAL_INTER,
     .out = COL_HIDDEN, .part = PART_RESIDUAL},
    {"layer_gate", IN_ALL, FACT_LAYER_EMBEDDING, MODULE_RESIDUAL, ROW_LOCAL, COL_HIDDEN,
     .out = COL_LAYER_EMBEDDING, .part = PART_WHOLE},
    {"layer_projection", IN_ALL, FACT_LAYER_EMBEDDING, MODULE_RESIDUAL, ROW_LOCAL,
     COL_LAYER_EMBEDDING, .out = COL_HIDDEN, .part = PART_WHOLE},
    {"router", IN_MOE, 0, MODULE_ROUTER, ROW_LOCAL, COL_HIDDEN, .out = COL_EXPERTS},
    {"latent_down", IN_MOE, FACT_LATENT, MODULE_PERMUTE, ROW_LOCAL, COL_HIDDEN,
     .out = COL_ROUTED, .part = PART_LATENT},
    {"expert_gate_up", IN_MOE, 0, MODULE_GATE_UP, ROW_COMPUTED, COL_ROUTED, .out = COL_INTER_IN,
     .expert = true},
    {"expert_down", IN_MOE, 0, MODULE_EXPERT_DOWN, ROW_COMPUTED, COL_INTER, .out = COL_ROUTED,
     .expert = true},
    {"latent_up", IN_MOE, FACT_LATENT, MODULE_UNPERMUTE, ROW_LOCAL, COL_ROUTED,
     .out = COL_HIDDEN, .part = PART_LATENT},
};

const struct layer_matrix *matrices_of_layer(size_t *n)
{
    *n = sizeof matrices / sizeof *matrices;
    return matrices;
}

bool matrix_exists(const struct layer_matrix *matrix, const struct dims *dims, unsigned in)
{
    return matrix->segments & in && (matrix->when & dims->facts) == matrix->when &&
           (!matrix->mixers || matrix->mixers & dims->mix);
}

size_t matrix_pieces(const struct layer_matrix *matrix, const struct dims *dims,
                     enum col pieces[MATRIX_PIECES])
{
    static const struct {
        enum col whole, piece;
        fact_set when, unless;
    } rows[] = {{COL_UP_OUT, COL_Q, 0, 0},
                {COL_UP_OUT, COL_CONTEXT, FACT_OUTPUT_GATE, 0},
                {COL_UP_OUT, COL_K, 0, FACT_Q_ALONE},
                {COL_UP_OUT, COL_V, 0, FACT_K_EQ_V | FACT_Q_ALONE},
                {COL_KV, COL_K, 0, 0},
                {COL_KV, COL_V, 0, 0},
                {COL_DENSE_IN, COL_DENSE, FACT_GLU, 0},
                {COL_DENSE_IN, COL_DENSE, 0, 0},
                {COL_SHARED_IN, COL_SHARED_INTER, FACT_GLU, 0},
                {COL_SHARED_IN, COL_SHARED_INTER, 0, 0},
                {COL_RESIDUAL_IN, COL_RESIDUAL_INTER, FACT_GLU, 0},
                {COL_RESIDUAL_IN, COL_RESIDUAL_INTER, 0, 0},
                {COL_INTER_IN, COL_INTER, FACT_GLU, 0},
                {COL_INTER_IN, COL_INTER, 0, 0}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].whole == matrix->out && (rows[i].when & dims->facts) == rows[i].when &&
            !(rows[i].unless & dims->facts))
            pieces[n++] = rows[i].piece;
    if (n == 0)
        pieces[n++] = matrix->out;
    return n;
}

/* Without a list of layers all are alike but for their networks. */
static struct size plain_layers(const struct layer_matrix *matrix, struct sizes *z)
{
    struct size dense = size_slot(z, SLOT_STAGE_DENSE_LAYERS);
    struct size moe = size_slot(z, SLOT_STAGE_MOE_LAYERS);
    return matrix->segments == IN_ALL   ? size_add(z, dense, moe)
           : matrix->segments == IN_MOE ? moe
                                        : dense;
}

/* The parts that matrices are told apart in: those of attention in window layers with heads of
 * their own, and all of layers that borrow keys. */
enum { OTHER_LAYERS, WINDOW_LAYERS, BORROWING, PARTS = 2 * BORROWING };

/* Whether layers of this mixer belong to the part at hand. */
static bool is_of_part(const struct matrix_walk *walk, const struct dims *d, enum mixer mixer)
{
    bool apart = walk->matrix->mixers & MIX_SOFTMAX && mixer_owner(mixer) == MIXER_WINDOW &&
                 model_has_own_window(&d->plan->model);
    return walk->part == (apart ? WINDOW_LAYERS : OTHER_LAYERS) +
                             (mixer_borrows(mixer) ? (unsigned)BORROWING : 0U);
}

struct size matrix_layers_by(const struct matrix_walk *walk, struct dims d,
                             enum slot (*slot)(enum layer_kind kind))
{
    struct size layers = size_const(d.z, 0);
    bool listed = d.plan->model.layer_types.n;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        dims_mixer(&d, listed ? kind_mixer(kind) : MIXER_FULL);
        bool has = listed ? d.kinds[k] && is_of_part(walk, &d, kind_mixer(kind))
                          : kind == KIND_DENSE || kind == KIND_MOE;
        if (has && matrix_exists(walk->matrix, &d, in_ffn(kind_ffn(kind))))
            layers = size_add(d.z, layers, size_slot(d.z, slot(kind)));
    }
    return layers;
}

/* Whether some layer of the part at hand has the matrix. */
static bool is_in_part(struct matrix_walk *walk, struct dims *d)
{
    enum mixer found = MIXER_COUNT;
    walk->layers = size_const(d->z, 0);
    if (walk->part >= BORROWING && !(d->facts & FACT_LENDS))
        return false;
    if (!d->plan->model.layer_types.n) {
        dims_mixer(d, MIXER_FULL);
        walk->layers = plain_layers(walk->matrix, d->z);
        return walk->part == OTHER_LAYERS && matrix_exists(walk->matrix, d, IN_ALL);
    }
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (!d->kinds[k] || !is_of_part(walk, d, kind_mixer(kind)))
            continue;
        dims_mixer(d, kind_mixer(kind));
        if (!matrix_exists(walk->matrix, d, in_ffn(kind_ffn(kind))))
            continue;
        found = found == MIXER_COUNT ? kind_mixer(kind) : found;
        walk->layers = size_add(d->z, walk->layers, size_slot(d->z, slot_kind_layers(kind)));
    }
    if (found != MIXER_COUNT)
        dims_mixer(d, found);
    return found != MIXER_COUNT;
}

bool matrix_next(struct matrix_walk *walk, struct dims *d)
{
    while (walk->next < PARTS * (sizeof matrices / sizeof *matrices)) {
        walk->matrix = &matrices[walk->next / PARTS];
        walk->part = walk->next++ % PARTS;
        if (is_in_part(walk, d))
            return true;
    }
    return false;
}
