/* What training keeps of a residual that is more than a row: copies that hyper-connections
 * weigh and mix (DeepSeek-V4), sums of blocks that attention residuals weigh (Kimi-K3), in
 * Megatron. Source: Megatron-LM core/transformer/hyper_connection.py and core/fusions/
 * fused_mhc_kernels.py (use_fused_mhc, as Megatron-Bridge sets it for DeepSeek-V4): what their
 * autograd functions save; attention_residual.py with flash-linear-attention
 * ops/attnres/fused.py (attn_res_impl fla, checkpoint_level 1). */
#include "work/train/train.h"

#define ROWS CATEGORY_ACTIVATION
#define OF_MIXER                                                                               \
    .saved = true, .first = MODULE_ATTENTION_NORM, .last = BACK_ATTENTION_NORM,                \
    .mixers = MIX_ANY
#define OF_NETWORK .saved = true, .first = MODULE_MLP_NORM, .last = BACK_MLP_NORM

/* Before a mixer and before a network a row is weighed of the copies, or of the sums: the norm
 * behind it saves it. The copies themselves, and the sum that is begun, stand as the layer's
 * input and the network's; sums that are done are inputs of layers before. */
static const struct train_tensor weighed[] = {
    {"attention_row", ROWS, IN_ALL, FACT_WEIGHED, ROW_LOCAL, COL_HIDDEN, OF_MIXER,
     .dropped_by = TRAIN_STREAMS},
    {"mlp_row", ROWS, IN_BOTH, FACT_WEIGHED, ROW_LOCAL, COL_HIDDEN, OF_NETWORK,
     .dropped_by = TRAIN_STREAMS},
};

/* Of the numbers that weigh and mix, the projection saves what it made and what it gave, its
 * norm and what the square is balanced from, in f32; the mixing saves all in 16 bits, with the
 * result of the mixer or network. The gradients of the three that read the copies stand side by
 * side until one kernel adds them up (BroadcastTensorFused): one is the residual's, two here.
 */
static const struct train_tensor copies[] = {
    {"attention_mixes", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_MIXER},
    {"attention_projected", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_MIXER},
    {"attention_mix_norm", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_ONE, DTYPE_F32, OF_MIXER},
    {"attention_square", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_SQUARE, DTYPE_F32,
     OF_MIXER},
    {"attention_mixes_16", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, OF_MIXER},
    {"attention_result", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_HIDDEN, .saved = true,
     .first = MODULE_PROJECTION, .last = BACK_PROJECTION, .mixers = MIX_ANY},
    {"mlp_mixes", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_NETWORK},
    {"mlp_projected", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_NETWORK},
    {"mlp_mix_norm", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_ONE, DTYPE_F32, OF_NETWORK},
    {"mlp_square", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_SQUARE, DTYPE_F32,
     OF_NETWORK},
    {"mlp_mixes_16", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, OF_NETWORK},
    {"mlp_result", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_HIDDEN, .saved = true,
     .first = MODULE_RESIDUAL, .last = BACK_RESIDUAL},
    {"d_attention_mapped", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS,
     .first = BACK_ATTENTION_NORM, .last = BACK_ATTENTION_NORM, .mixers = MIX_ANY},
    {"d_attention_weighed", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS,
     .first = BACK_ATTENTION_NORM, .last = BACK_ATTENTION_NORM, .mixers = MIX_ANY},
    {"d_mlp_mapped", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS,
     .first = BACK_MLP_NORM, .last = BACK_MLP_NORM},
    {"d_mlp_weighed", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS,
     .first = BACK_MLP_NORM, .last = BACK_MLP_NORM},
};

/* Eager modules of transformers that mix the copies (deepseek_v4/modular_deepseek_v4.py,
 * DeepseekV4HyperConnection; glm5_next has the same): the cast of the copies, what their norm
 * makes of it, of the numbers the product and sigmoids, and what each division of their
 * balancing reads; in 16 bits those that mix and add, and what is added. */
static const struct train_tensor eager_mixed[] = {
    {"attention_copies_f32", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     OF_MIXER},
    {"attention_copies_normed", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     OF_MIXER},
    {"attention_balance", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_BALANCE, DTYPE_F32,
     OF_MIXER},
    {"attention_mixes_16", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_ADDED, OF_MIXER},
    {"attention_result", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_HIDDEN, .saved = true,
     .first = MODULE_PROJECTION, .last = BACK_PROJECTION, .mixers = MIX_ANY},
    {"attention_spread", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS,
     .first = MODULE_PROJECTION, .last = MODULE_PROJECTION, .mixers = MIX_ANY},
    {"mlp_copies_f32", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     OF_NETWORK},
    {"mlp_copies_normed", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     OF_NETWORK},
    {"mlp_balance", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_BALANCE, DTYPE_F32,
     OF_NETWORK},
    {"mlp_mixes_16", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_ADDED, OF_NETWORK},
    {"mlp_result", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_HIDDEN, .saved = true,
     .first = MODULE_RESIDUAL, .last = BACK_RESIDUAL},
    {"mlp_spread", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS,
     .first = MODULE_RESIDUAL, .last = MODULE_RESIDUAL},
};

/* That do not (hy_v4/modular_hy_v4.py, HYV4HyperConnection): the norm is one factor behind the
 * product; what adds, and what is added, are in f32, the copies cast anew beside their sum. */
static const struct train_tensor eager_apart[] = {
    {"attention_copies_f32", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     OF_MIXER},
    {"attention_scaled", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_MIXER},
    {"attention_weights", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_MIXER},
    {"attention_result_f32", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_HIDDEN, DTYPE_F32,
     .saved = true, .first = MODULE_PROJECTION, .last = BACK_PROJECTION, .mixers = MIX_ANY},
    {"attention_spread", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = MODULE_PROJECTION, .last = MODULE_PROJECTION, .mixers = MIX_ANY},
    {"attention_residual_f32", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = MODULE_PROJECTION, .last = MODULE_PROJECTION, .mixers = MIX_ANY},
    {"mlp_copies_f32", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     OF_NETWORK},
    {"mlp_scaled", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_NETWORK},
    {"mlp_weights", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_NETWORK},
    {"mlp_result_f32", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_HIDDEN, DTYPE_F32,
     .saved = true, .first = MODULE_RESIDUAL, .last = BACK_RESIDUAL},
    {"mlp_spread", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = MODULE_RESIDUAL, .last = MODULE_RESIDUAL},
    {"mlp_residual_f32", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = MODULE_RESIDUAL, .last = MODULE_RESIDUAL},
};

/* Both: the numbers as the product gives them and behind their sigmoids, the factor of the
 * norm; the copies weighed before they are summed, and in backward gradients of that and of the
 * cast, all in f32. */
static const struct train_tensor eager_copies[] = {
    {"attention_mixes", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_MIXER},
    {"attention_gates", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_MIXER},
    {"attention_mix_norm", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_ONE, DTYPE_F32, OF_MIXER},
    {"attention_weighed", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = MODULE_ATTENTION_NORM, .last = MODULE_ATTENTION_NORM, .mixers = MIX_ANY},
    {"d_attention_weighed", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = BACK_ATTENTION_NORM, .last = BACK_ATTENTION_NORM, .mixers = MIX_ANY},
    {"d_attention_copies_f32", ROWS, IN_ALL, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = BACK_ATTENTION_NORM, .last = BACK_ATTENTION_NORM, .mixers = MIX_ANY},
    {"mlp_mixes", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_NETWORK},
    {"mlp_gates", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAM_MIXES, DTYPE_F32,
     OF_NETWORK},
    {"mlp_mix_norm", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_ONE, DTYPE_F32, OF_NETWORK},
    {"mlp_weighed", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = MODULE_MLP_NORM, .last = MODULE_MLP_NORM},
    {"d_mlp_weighed", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = BACK_MLP_NORM, .last = BACK_MLP_NORM},
    {"d_mlp_copies_f32", ROWS, IN_BOTH, FACT_STREAMS, ROW_LOCAL, COL_STREAMS, DTYPE_F32,
     .first = BACK_MLP_NORM, .last = BACK_MLP_NORM},
};

/* The weighing saves references to what it reads, of each its norm and its score and of all the
 * sum of exponentials, in f32: as many as there are at the stage's end, which is the most.
 * Gradients of the sums are added up from layer to layer until those that begin a block run
 * backward; each weighing makes one of every sum anew, and its query's by token in f32. */
static const struct train_tensor sums[] = {
    {"attention_statistics_of_sums", ROWS, IN_ALL, FACT_BLOCK_SUMS, ROW_LOCAL,
     COL_BLOCK_STATISTICS, DTYPE_F32, OF_MIXER},
    {"mlp_statistics_of_sums", ROWS, IN_BOTH, FACT_BLOCK_SUMS, ROW_LOCAL, COL_BLOCK_STATISTICS,
     DTYPE_F32, OF_NETWORK},
    {"d_block_sums", ROWS, IN_ALL, FACT_BLOCK_SUMS, ROW_LOCAL, COL_BLOCK_SUMS,
     .first = BACK_RESIDUAL, .last = BACK_ATTENTION_NORM},
    {"d_attention_values", ROWS, IN_ALL, FACT_BLOCK_SUMS, ROW_LOCAL, COL_BLOCK_VALUES,
     .first = BACK_ATTENTION_NORM, .last = BACK_ATTENTION_NORM, .mixers = MIX_ANY},
    {"d_mlp_values", ROWS, IN_BOTH, FACT_BLOCK_SUMS, ROW_LOCAL, COL_BLOCK_VALUES,
     .first = BACK_MLP_NORM, .last = BACK_MLP_NORM},
    {"d_attention_query", ROWS, IN_ALL, FACT_BLOCK_SUMS, ROW_LOCAL, COL_HIDDEN, DTYPE_F32,
     .first = BACK_ATTENTION_NORM, .last = BACK_ATTENTION_NORM, .mixers = MIX_ANY},
    {"d_mlp_query", ROWS, IN_BOTH, FACT_BLOCK_SUMS, ROW_LOCAL, COL_HIDDEN, DTYPE_F32,
     .first = BACK_MLP_NORM, .last = BACK_MLP_NORM},
};

/* ---- beside the layers ---- */

static void hold(struct train *t, const char *name, enum segment segment, struct size width,
                 struct size count, enum life life, unsigned first, unsigned last)
{
    unsigned base = life == LIFE_PERSISTENT ? 0 : t->base[segment];
    work_buffer(t->work, (struct buffer){.name = name,
                                         .category = CATEGORY_ACTIVATION,
                                         .segment = segment,
                                         .dtype = t->plan->precision.activations,
                                         .n_dims = 2,
                                         .dims = {t->d.rows[ROW_LOCAL], width},
                                         .count = count,
                                         .life = life,
                                         .first = (uint16_t)(base + first),
                                         .last = (uint16_t)(base + last)});
}

/* Micro-batches whose inputs a stage holds, of all its chunks. */
static struct size inputs_in_flight(struct train *t)
{
    struct size most = size_const(t->z, 0);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (t->kinds[k])
            most = size_max(t->z, most,
                            t->work->use[segment_of_kind((enum layer_kind)k)].in_flight);
    return size_ceil_by(t->z, size_mul(t->z, most, size_slot(t->z, SLOT_VPP)), 1000);
}

/* Mixers and networks of one chunk. */
static struct size sites(struct train *t)
{
    struct size sum = size_const(t->z, 0);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (t->kinds[k])
            sum = size_add(t->z, sum,
                           size_times(t->z,
                                      t->work->use[segment_of_kind((enum layer_kind)k)].back,
                                      params_stream_sites((enum layer_kind)k)));
    return size_ceil_div(t->z, sum, size_slot(t->z, SLOT_VPP));
}

/* Recomputation of mhc drops rows, what norms make of them and the copies behind a mixer or
 * network, all but a chunk's last, when the chunk's forward ends, and makes all of them again
 * when its backward begins (mhc_recompute_layer_num unset: one group): of the micro-batch at
 * hand everything is there, of the others the input of the chunk. */
static void add_again(struct train *t)
{
    struct size one = size_const(t->z, 1), n = sites(t), streams = t->d.width[COL_STREAMS];
    if (!(t->drops & TRAIN_STREAMS))
        return;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum segment segment = segment_of_kind((enum layer_kind)k);
        if (!t->kinds[k])
            continue;
        hold(t, "streams_again", segment, streams, size_sub(t->z, size_max(t->z, n, one), one),
             LIFE_TRANSIENT, 0, 2 * MODULES - 1);
        hold(t, "rows_again", segment, t->d.width[COL_HIDDEN], size_times(t->z, n, 2),
             LIFE_TRANSIENT, 0, 2 * MODULES - 1);
    }
    hold(t, "chunk_inputs", SEGMENT_STEP, streams, inputs_in_flight(t), LIFE_PERSISTENT, 0, 0);
}

/* What the head weighs is saved with the row it makes of it, which is its input. */
static void add_head(struct train *t)
{
    bool blocks = t->d.facts & FACT_BLOCK_SUMS;
    struct size one = size_const(t->z, 1), all = t->d.width[COL_STREAMS];
    hold(t, "head_residual", SEGMENT_HEAD, all, one, LIFE_SAVED, 0, TRAIN_HEAD_TICKS - 1);
    hold(t, "d_head_residual", SEGMENT_HEAD, blocks ? t->d.width[COL_BLOCK_VALUES] : all, one,
         LIFE_TRANSIENT, TRAIN_HEAD_TICKS - 1, TRAIN_HEAD_TICKS - 1);
}

#define TABLE(rows) rows, sizeof rows / sizeof *rows

void train_residual(struct train *t)
{
    if (!(t->d.facts & FACT_WEIGHED))
        return;
    train_tensors(t, TABLE(weighed));
    train_tensors(t, TABLE(copies));
    train_tensors(t, TABLE(sums));
    add_again(t);
    add_head(t);
    if (t->d.facts & FACT_BLOCK_SUMS && t->plan->parallel.pp > 1)
        hold(t, "received_block_sums", SEGMENT_STEP,
             size_mul(t->z, size_slot(t->z, SLOT_BLOCKS_IN), t->d.width[COL_HIDDEN]),
             inputs_in_flight(t), LIFE_PERSISTENT, 0, 0);
}

/* Where the head reads a mean, only the gradient of that is as wide as all copies; else the
 * head's module keeps their cast, and what a norm makes of it where it is one of theirs. */
void train_residual_eager(struct train *t)
{
    const struct model *model = &t->plan->model;
    struct size all = t->d.width[COL_STREAMS], one = size_const(t->z, 1);
    if (!(t->d.facts & FACT_STREAMS))
        return;
    if (model->residual_identity)
        train_tensors(t, TABLE(eager_apart));
    else
        train_tensors(t, TABLE(eager_mixed));
    train_tensors(t, TABLE(eager_copies));
    if (model->residual_mean) {
        hold(t, "d_head_residual", SEGMENT_HEAD, all, one, LIFE_TRANSIENT, TRAIN_HEAD_TICKS - 1,
             TRAIN_HEAD_TICKS - 1);
        return;
    }
    add_head(t);
    hold(t, "head_copies_f32", SEGMENT_HEAD, all,
         size_const(t->z, model->residual_identity ? 2 : 4), LIFE_SAVED, 0,
         TRAIN_HEAD_TICKS - 1);
}
