/* Both ends of the model as ops: embedding; final norm, logits, loss or sampler. Prediction
 * modules repeat the head, after a projection of [embedding, hidden] of their own. */
#include "plan/derive.h"
#include "work/piece/lora.h"
#include "work/step/step.h"
#include "work/stack/stack.h"

static uint16_t labels(struct step *s)
{
    struct size rows = s->d.rows[ROW_FULL];
    return layer_buffer(&s->l, "token_ids", CATEGORY_METADATA, DTYPE_I32, RULE_FIXED, 1, &rows);
}

static uint16_t table_of(struct step *s, const char *name)
{
    struct size dims[] = {s->d.width[COL_VOCAB], s->d.width[COL_HIDDEN]};
    return layer_buffer(&s->l, name, CATEGORY_WEIGHTS, step_table_format(s), RULE_FIXED, 2,
                        dims);
}

/* A row of the table per token; where tp splits the vocabulary, sums of its parts. */
uint16_t step_embedding(struct step *s)
{
    struct layer *l = &s->l;
    s->labels = labels(s);
    uint16_t table = table_of(s, "embedding_table");
    l->work->buffers[table].trained = s->training && lora_saves(s->plan, SAVED_EMBED_TOKENS);
    uint16_t x = step_rows(s, "embedded", CATEGORY_ACTIVATION, s->d.rows[ROW_FULL],
                           s->d.width[COL_HIDDEN]);
    step_looked_up(s, "embedding", table, s->labels, x);
    return step_reduced(s, "layer_input", x);
}

/* Rows whose logits are made: when training what the loss reads, else the last of every
 * sequence. */
static struct size head_rows(struct step *s)
{
    struct sizes *z = s->l.z;
    if (s->training)
        return s->d.rows[ROW_HEAD];
    uint64_t per = s->decode ? s->plan->workload.tokens_per_sequence : 1;
    return size_times(z, size_slot(z, SLOT_MICRO_BATCH), per ? per : 1);
}

static struct size losses(struct step *s)
{
    struct sizes *z = s->l.z;
    return s->training ? size_plus(z, size_slot(z, SLOT_STAGE_MTP), 1) : s->l.one;
}

static uint16_t last_rows(struct step *s, uint16_t x, struct size rows)
{
    struct size width = s->l.work->buffers[x].dims[1];
    uint16_t last = step_rows(s, "last_tokens", CATEGORY_ACTIVATION, rows, width);
    step_taken(s, "take_last", x, last);
    return last;
}

/* Logits that a rank multiplies: a tp rank's part, of which replicas may share the columns. */
static struct size head_width(struct step *s)
{
    struct sizes *z = s->l.z;
    struct size vocab = s->d.width[COL_OUTPUTS];
    return size_ceil_div(z, vocab, dims_over(z, plan_head_replicas(s->plan), s->l.one));
}

static uint16_t logits_of(struct step *s, uint16_t x, struct size rows)
{
    struct layer *l = &s->l;
    struct size vocab = head_width(s), hidden = s->d.width[COL_HIDDEN];
    uint16_t w = layer_weights_as(l, "head_table", layer_wide_format(l), l->one, hidden, vocab);
    uint16_t logits = step_rows(s, "logits", CATEGORY_LOGITS, rows, vocab);
    l->work->buffers[w].trained = s->training && lora_saves(s->plan, SAVED_LM_HEAD);
    layer_gemm(l, "logits", x, w, WORK_NONE, logits, layer_no_groups(),
               (struct gemm_shape){.rows = rows, .k = hidden, .n = vocab, .groups = l->one});
    return logits;
}

static uint16_t gathered_logits(struct step *s, uint16_t logits, struct size rows)
{
    struct layer *l = &s->l;
    uint16_t all = step_rows(s, "logits_gathered", CATEGORY_LOGITS, rows,
                             size_mul(l->z, s->d.width[COL_VOCAB], size_slot(l->z, SLOT_TP)));
    layer_collective(l, "gather_logits", GROUP_TP, ALL_GATHER, logits, all,
                     l->work->buffers[all].bytes);
    return all;
}

/* Of all rows of the replicas that share the head, on every rank (SGLang logits_processor.py);
 * and those of its own replica. */
static uint16_t own_logits(struct step *s, uint16_t logits, struct size rows)
{
    struct layer *l = &s->l;
    struct size part = size_mul(l->z, head_width(s), size_slot(l->z, SLOT_DP));
    struct size vocab = size_mul(l->z, part, size_slot(l->z, SLOT_TP));
    struct size joined = l->work->buffers[logits].dims[0];
    bool tp = s->plan->parallel.tp > 1;
    uint16_t all = logits;
    if (tp) {
        all = step_rows(s, "logits_of_replica", CATEGORY_LOGITS, joined,
                        size_mul(l->z, head_width(s), size_slot(l->z, SLOT_TP)));
        layer_collective(l, "gather_logits_tp", GROUP_TP, ALL_GATHER, logits, all,
                         l->work->buffers[all].bytes);
    }
    uint16_t parts = all;
    all = step_rows(s, "logits_joined", CATEGORY_LOGITS, joined, vocab);
    uint16_t own = step_rows(s, "logits_own", CATEGORY_LOGITS, rows, vocab);
    layer_collective(l, "gather_logits", GROUP_REPLICAS, ALL_GATHER, parts, all,
                     l->work->buffers[all].bytes);
    step_taken(s, "take_own", all, own);
    return own;
}

/* Serving: logits of all ranks that share them gathered, then a token drawn from each row. */
static void sample(struct step *s, uint16_t logits, struct size rows)
{
    struct layer *l = &s->l;
    uint16_t all = plan_head_replicas(s->plan) > 1 ? own_logits(s, logits, rows)
                   : s->plan->parallel.tp > 1      ? gathered_logits(s, logits, rows)
                                                   : logits;
    uint16_t ids =
        layer_buffer(l, "sampled_ids", CATEGORY_METADATA, DTYPE_I32, RULE_FIXED, 1, &rows);
    step_op(s, "sampler", KERNEL_SAMPLE, OPERANDS(IN(SRC, all), OUT(DST, ids)));
}

/* Every rank's loss over all logits; of their gradient it goes on with its own part. */
static uint16_t whole_loss(struct step *s, uint16_t logits, struct size rows)
{
    uint16_t all = gathered_logits(s, logits, rows);
    uint16_t d_all = step_rows(s, "d_logits_gathered", CATEGORY_LOGITS, rows,
                               s->l.work->buffers[all].dims[1]);
    uint16_t d = step_rows(s, "d_logits", CATEGORY_LOGITS, rows, s->d.width[COL_VOCAB]);
    step_op(s, "loss", KERNEL_LOSS, OPERANDS(IN(SRC, all), OUT(DST, d_all)));
    uint16_t op =
        step_op(s, "own_d_logits", KERNEL_ROPE, OPERANDS(IN(SRC, d_all), OUT(DST, d)));
    s->l.work->ops[op].bytes_read = s->l.work->buffers[d].bytes;
    return d;
}

/* The loss reads logits and writes their gradient; over a split vocabulary ranks agree on each
 * row's maximum, sum and the label's logit, three numbers. */
static uint16_t loss(struct step *s, uint16_t logits, struct size rows)
{
    struct layer *l = &s->l;
    if (stack_gathers_logits(s->plan))
        return whole_loss(s, logits, rows);
    if (s->plan->parallel.tp > 1) {
        uint16_t parts = layer_rows(l, "loss_statistics", CATEGORY_METADATA, DTYPE_F32,
                                    layer_fixed(rows), size_const(l->z, 3));
        layer_collective(l, "reduce_loss_statistics", GROUP_TP, ALL_REDUCE, logits, parts,
                         l->work->buffers[parts].bytes);
    }
    uint16_t d = step_rows(s, "d_logits", CATEGORY_LOGITS, rows, s->d.width[COL_OUTPUTS]);
    step_op(s, "loss", KERNEL_LOSS, OPERANDS(IN(SRC, logits), OUT(DST, d)));
    return d;
}

/* A prediction module joins the hidden rows with the next tokens' embeddings: [2 H] x [2 H, H];
 * WORK_NONE without any. */
static uint16_t project_mtp(struct step *s, uint16_t x)
{
    struct layer *l = &s->l;
    if (!s->training || !s->plan->model.mtp_enabled || !s->plan->model.mtp_layers)
        return WORK_NONE;
    struct size hidden = s->d.width[COL_HIDDEN], twice = size_times(l->z, hidden, 2);
    struct size rows = s->d.rows[ROW_LOCAL], before = l->layers;
    l->layers = size_slot(l->z, SLOT_STAGE_MTP);
    uint16_t joined = step_rows(s, "mtp_joined", CATEGORY_ACTIVATION, rows, twice);
    step_op(s, "mtp_join", KERNEL_ROPE, OPERANDS(IN(SRC, x), OUT(DST, joined)));
    uint16_t w = layer_weights(l, "w_mtp_projection", l->one, twice, hidden);
    uint16_t out = step_rows(s, "mtp_input", CATEGORY_ACTIVATION, rows, hidden);
    layer_gemm(l, "mtp_projection", joined, w, WORK_NONE, out, layer_no_groups(),
               (struct gemm_shape){.rows = rows, .k = twice, .n = hidden, .groups = l->one});
    l->layers = before;
    return out;
}

/* The projection's ops [first, end) undone, from the gradient that the module's layer leaves.
 */
static void undo_mtp(struct step *s, size_t first, size_t end, uint16_t out, uint16_t x)
{
    struct layer *l = &s->l;
    if (out == WORK_NONE)
        return;
    struct size before = l->layers;
    l->layers = size_slot(l->z, SLOT_STAGE_MTP);
    uint16_t d = step_rows(s, "d_mtp_input", CATEGORY_ACTIVATION, s->d.rows[ROW_LOCAL],
                           s->d.width[COL_HIDDEN]);
    layer_undo_range(l, first, end, out, d, x);
    l->layers = before;
}

uint16_t step_head(struct step *s, uint16_t x)
{
    struct layer *l = &s->l;
    struct size rows = head_rows(s);
    size_t first = l->work->n_ops;
    uint16_t mtp = project_mtp(s, x);
    size_t projected = l->work->n_ops;
    l->layers = size_mul(l->z, l->layers, losses(s));
    uint16_t weighed = step_weighed(s, x);
    if (!s->training)
        weighed = last_rows(s, weighed, rows);
    uint16_t normed = step_norm(s, "final_norm", step_one(s, weighed));
    uint16_t in = s->training                       ? step_gathered(s, "head_in", normed)
                  : plan_head_replicas(s->plan) > 1 ? layer_join(l, "head_in", normed)
                                                    : normed;
    if (s->training && plan_keeps_logits(s->plan))
        in = last_rows(s, in, rows);
    uint16_t logits = logits_of(s, in, l->work->buffers[in].dims[0]);
    if (!s->training) {
        sample(s, logits, rows);
        return WORK_NONE;
    }
    uint16_t d = loss(s, logits, rows);
    d = layer_undo(l, projected, logits, d, x);
    undo_mtp(s, first, projected, mtp, x);
    return d;
}
