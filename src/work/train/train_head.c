/* The last end of the model: final norm, head and loss, by the kind of loss. */
#include "plan/derive.h"
#include "plan/frozen.h"
#include "plan/layers.h"
#include "work/piece/lora.h"
#include "work/stack/stack.h"
#include "work/train/train.h"

enum head_op {
    HEAD_NORM,
    HEAD_LOGITS,
    HEAD_LOSS,
    HEAD_BACK_LOSS,
    HEAD_BACK_LOGITS,
    HEAD_BACK_NORM,
    HEAD_OPS
};

/* Whether layers' scores wait for one loss, which models with a score head do not make. */
static bool balances(const struct plan *plan)
{
    return plan_is_huggingface(plan) && plan->model.moe.experts > 0 && !plan->model.labels &&
           plan->stack.balance_loss != BALANCE_LAYER;
}

unsigned train_head_ticks(const struct plan *plan)
{
    return HEAD_OPS + balances(plan);
}

static void add_head_ticks(struct train *t)
{
    static const struct {
        const char *name;
        enum op_kind kind;
    } rows[HEAD_OPS] = {
        {"final_norm", OP_NORM}, {"logits", OP_GEMM},   {"loss", OP_LOSS},
        {"d_loss", OP_LOSS},     {"d_logits", OP_GEMM}, {"d_final_norm", OP_NORM},
    };
    t->base[SEGMENT_HEAD] = (uint16_t)t->work->n_ticks;
    for (unsigned i = 0; i < HEAD_OPS; i++) {
        work_tick(t->work,
                  (struct tick){.name = rows[i].name,
                                .kind = rows[i].kind,
                                .segment = SEGMENT_HEAD,
                                .phase = i < HEAD_BACK_LOSS ? PHASE_FORWARD : PHASE_BACKWARD});
        if (i == HEAD_LOSS && balances(t->plan))
            work_tick(t->work, (struct tick){.name = "balance_loss",
                                             .kind = OP_LOSS,
                                             .segment = SEGMENT_HEAD,
                                             .phase = PHASE_FORWARD});
    }
}

/* The tick of an op, behind the loss of balance where there is one. */
static uint16_t head_tick(const struct train *t, enum head_op op)
{
    unsigned behind = op >= HEAD_BACK_LOSS && balances(t->plan);
    return (uint16_t)(t->base[SEGMENT_HEAD] + op + behind);
}

static void head_tensor(struct train *t, struct buffer buffer, enum head_op first,
                        enum head_op last)
{
    buffer.segment = SEGMENT_HEAD;
    buffer.n_dims = 2;
    buffer.first = head_tick(t, first);
    buffer.last = head_tick(t, last);
    work_buffer(t->work, buffer);
}

/* Losses of the model: its own and one per prediction module, each with its own logits. */
static struct size losses(struct train *t)
{
    return size_plus(t->z, size_slot(t->z, SLOT_STAGE_MTP), 1);
}

/* A tensor [rows, words of this rank] of one loss; saved ones once per loss. */
struct logits {
    const char *name;
    enum dtype dtype; /* NONE: the activations' */
    enum life life;
    enum head_op first, last;
    uint64_t parts; /* above 0: so many of one part's rows, made and dropped part by part */
};
enum { SEVERAL = 1000 }; /* in its place: of a batch of several sequences alone */

/* In place, the loss writes the gradient over the 16-bit logits (TransformerEngine's
 * parallel_cross_entropy up to 2.11); later it makes an f32 gradient in forward. In f32,
 * softmax keeps an f32 copy until backward; the 16-bit logits stand beside it when it is made,
 * and their gradient when it is cast back (Megatron vocab_parallel_cross_entropy, fused or
 * not). PyTorch on a cast: the cast, its log-softmax, in backward the gradient of the cast.
 * Source: training-stacks.md 5. */
static const struct logits in_place[] = {
    {"logits", DTYPE_NONE, LIFE_SAVED, HEAD_LOGITS, HEAD_BACK_LOGITS, 0},
};
static const struct logits f32[] = {
    {"softmax", DTYPE_F32, LIFE_SAVED, HEAD_LOGITS, HEAD_BACK_LOGITS, 0},
    {"logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_BACK_LOGITS, 0},
};
static const struct logits te[] = {
    {"logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_BACK_LOGITS, 0},
    {"d_logits", DTYPE_F32, LIFE_SAVED, HEAD_LOSS, HEAD_BACK_LOGITS, 0},
};
static const struct logits torch[] = {
    {"logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_BACK_LOGITS, 0},
    {"f32_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_LOSS, HEAD_LOSS, 0},
    {"log_softmax", DTYPE_F32, LIFE_SAVED, HEAD_LOSS, HEAD_BACK_LOSS, 0},
    {"d_f32_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOGITS, 0},
};

/* The same over ranks that each have a part of the words, which no kernel joins (torch
 * distributed/tensor/parallel/loss.py, _log_softmax: the cast, itself less its largest, their
 * log-softmax; _nll_loss_and_log_softmax_backward: the labels' part, the softmax and their sum
 * beside the log-softmax). torchtitan lets the logits go before (train.py: del pred). */
static const struct logits torch_split[] = {
    {"logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_LOSS, 0},
    {"f32_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_LOSS, HEAD_LOSS, 0},
    {"shifted_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_LOSS, HEAD_LOSS, 0},
    {"log_softmax", DTYPE_F32, LIFE_SAVED, HEAD_LOSS, HEAD_BACK_LOSS, 0},
    {"d_labels", DTYPE_F32, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOSS, 0},
    {"softmax", DTYPE_F32, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOSS, 0},
    {"d_f32_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOGITS, 0},
    {"d_logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_BACK_LOGITS, HEAD_BACK_LOGITS, 0},
};

/* Log-probabilities for reinforcement learning, of logits that the model casts to f32. slime
 * (slime/utils/ppo_utils.py, _VocabParallelLogProbEntropy): one buffer becomes the softmax, and
 * in backward the gradient. NeMo-RL (nemo_rl/distributed/model_utils.py at 0433dae8dd63,
 * DistributedLogprob): shifted logits, then their log-softmax, beside the f32 ones; the
 * gradient is apart. In parts (ChunkedDistributedLogprob) the 16-bit logits wait, and of each
 * part there are the same three; in backward its logits, softmax and labels one-hot in 64 bits,
 * twice. With the head in it (ChunkedDistributedHiddenStatesToLogprobs) no logits wait. */
static const struct logits log_probs[] = {
    {"logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_LOGITS, 0},
    {"f32_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_LOSS, 0},
    {"softmax", DTYPE_F32, LIFE_SAVED, HEAD_LOSS, HEAD_BACK_LOGITS, 0},
    {"d_logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_BACK_LOGITS, HEAD_BACK_LOGITS, 0},
};
static const struct logits log_softmax[] = {
    {"logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_LOGITS, 0},
    {"f32_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_LOSS, 0},
    {"log_softmax", DTYPE_F32, LIFE_TRANSIENT, HEAD_LOSS, HEAD_LOSS, 0},
    {"softmax", DTYPE_F32, LIFE_SAVED, HEAD_LOSS, HEAD_BACK_LOSS, 0},
    {"d_f32_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOGITS, 0},
    {"d_logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_BACK_LOGITS, HEAD_BACK_LOGITS, 0},
};
static const struct logits log_probs_part[] = {
    {"logits", DTYPE_NONE, LIFE_SAVED, HEAD_LOGITS, HEAD_BACK_LOSS, 0},
    {"log_softmax", DTYPE_F32, LIFE_TRANSIENT, HEAD_LOSS, HEAD_LOSS, 3},
    {"softmax", DTYPE_F32, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOSS, 2},
    {"one_hot_labels", DTYPE_I64, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOSS, 2},
    {"d_logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOGITS, 0},
};

/* The Trainer's LabelSmoother (transformers 5.24 trainer_pt_utils.py) outside the model: beside
 * the logits, which its caller holds, all tokens but the last of each sequence, a copy where
 * there are several, their log-softmax and that negated, which the gather of labels saves
 * beside the log-softmax. Backward has these two with the gathered gradient, its sum with the
 * smoothed one's, its negative or the logits' gradient: one copy of them each time, in 16 bits
 * the smoothed one's cast besides (torch 1.13 on a CPU: 12.2 bytes a word and token in f32,
 * either way; 8.2 in bf16). In the logits' format, or in f32 where Accelerate casts the model's
 * outputs (accelerate 1.15 accelerator.py, prepare_model: convert_outputs_to_fp32); DeepSpeed's
 * are as they are. */
static const struct logits smoothed[] = {
    {"logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_LOSS, 0},
    {"shifted_logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOSS, HEAD_LOSS, SEVERAL},
    {"log_softmax", DTYPE_NONE, LIFE_SAVED, HEAD_LOSS, HEAD_BACK_LOSS, 0},
    {"log_probs", DTYPE_NONE, LIFE_SAVED, HEAD_LOSS, HEAD_BACK_LOSS, 0},
    {"d_log_probs", DTYPE_NONE, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOSS, 0},
    {"d_smoothed", DTYPE_NONE, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOSS, 0},
    {"d_logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_BACK_LOGITS, HEAD_BACK_LOGITS, 0},
};
static const struct logits smoothed_f32[] = {
    {"logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_LOGITS, 0},
    {"f32_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_LOSS, 0},
    {"shifted_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_LOSS, HEAD_LOSS, SEVERAL},
    {"log_softmax", DTYPE_F32, LIFE_SAVED, HEAD_LOSS, HEAD_BACK_LOSS, 0},
    {"log_probs", DTYPE_F32, LIFE_SAVED, HEAD_LOSS, HEAD_BACK_LOSS, 0},
    {"d_log_probs", DTYPE_F32, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOSS, 0},
    {"d_f32_logits", DTYPE_F32, LIFE_TRANSIENT, HEAD_BACK_LOGITS, HEAD_BACK_LOGITS, 0},
    {"d_logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_BACK_LOGITS, HEAD_BACK_LOGITS, 0},
};

/* A score head's: those of each sequence's last token alone pass on to the loss, and the
 * gradient of all is zeros but there (transformers modeling_layers.py,
 * GenericForSequenceClassification; OpenRLHF openrlhf/models/model.py, _get_reward_model). */
static const struct logits score_logits[] = {
    {"logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_LOGITS, HEAD_LOSS, 0},
    {"d_logits", DTYPE_NONE, LIFE_TRANSIENT, HEAD_BACK_LOSS, HEAD_BACK_LOGITS, 0},
};

struct loss_rows {
    const struct logits *rows;
    size_t n;
};

static const struct loss_rows losses_of[] = {
#define ROWS(list)                                                                             \
    {                                                                                          \
        list, sizeof list / sizeof *list                                                       \
    }
    [LOSS_F32] = ROWS(f32),
    [LOSS_IN_PLACE] = ROWS(in_place),
    [LOSS_TE] = ROWS(te),
    [LOSS_TORCH] = ROWS(torch),
    [LOSS_CHUNKED] = ROWS(torch),
    [LOSS_FUSED] = {NULL, 0},
    [LOSS_LOG_PROBS] = ROWS(log_probs),
    [LOSS_LOG_SOFTMAX] = ROWS(log_softmax),
    [LOSS_LOG_PROBS_PART] = ROWS(log_probs_part),
    [LOSS_LINEAR_PROBS] = {log_probs_part + 1, 3}, /* what is of a part alone */
    [LOSS_SMOOTHED] = ROWS(smoothed),
    [LOSS_SMOOTHED_F32] = ROWS(smoothed_f32),
#undef ROWS
};
static const struct loss_rows loss_of_parts = {torch_split,
                                               sizeof torch_split / sizeof *torch_split};
static const struct loss_rows loss_of_scores = {score_logits,
                                                sizeof score_logits / sizeof *score_logits};

/* Compiled, PyTorch's loss keeps no log-softmax: it is made again from the f32 logits where
 * the gradient is (compile.components has model and loss). */
static enum cross_entropy loss_of(const struct train *t)
{
    const struct stack *stack = &t->plan->stack;
    bool compiled = stack->kind == STACK_TORCHTITAN && stack->compiled;
    return compiled && stack->cross_entropy == LOSS_TORCH ? LOSS_F32 : stack->cross_entropy;
}

static bool scores_tokens(const struct train *t)
{
    return t->plan->model.labels > 0;
}

static bool splits_words(const struct train *t, enum cross_entropy loss)
{
    bool plain = loss == LOSS_TORCH || loss == LOSS_CHUNKED;
    return plain && t->plan->stack.kind == STACK_TORCHTITAN && t->plan->parallel.tp > 1 &&
           t->plan->stack.loss_parallel;
}

/* Rows of all sequences where there are several, else none. */
static struct size rows_of_several(struct train *t)
{
    struct size batch = size_slot(t->z, SLOT_MICRO_BATCH);
    return size_mul(t->z, t->d.rows[ROW_HEAD], size_beyond(t->z, batch, size_const(t->z, 1)));
}

/* Rows of one part of the loss. */
static struct size rows_of_part(struct train *t)
{
    return size_ceil_by(t->z, t->d.rows[ROW_HEAD], t->plan->stack.loss_chunks);
}

static void add_logits(struct train *t)
{
    enum cross_entropy loss = loss_of(t);
    const struct loss_rows *list = scores_tokens(t)        ? &loss_of_scores
                                   : splits_words(t, loss) ? &loss_of_parts
                                                           : &losses_of[loss];
    bool chunked = !scores_tokens(t) && loss == LOSS_CHUNKED;
    struct size vocab = t->d.width[COL_OUTPUTS];
    if (stack_gathers_logits(t->plan))
        vocab = size_mul(t->z, vocab, size_slot(t->z, SLOT_TP));
    for (size_t i = 0; i < list->n; i++) {
        const struct logits *row = &list->rows[i];
        bool saved = row->life == LIFE_SAVED && !chunked;
        bool several = row->parts == SEVERAL, part = (row->parts && !several) || chunked;
        struct size rows = several ? rows_of_several(t)
                           : part  ? rows_of_part(t)
                                   : t->d.rows[ROW_HEAD];
        head_tensor(
            t,
            (struct buffer){.name = row->name,
                            .category = CATEGORY_LOGITS,
                            .dtype = row->dtype == DTYPE_NONE ? t->plan->precision.activations
                                                              : row->dtype,
                            .dims = {rows, vocab},
                            .count = saved  ? losses(t)
                                     : part ? size_const(t->z, row->parts ? row->parts : 1)
                                            : size_const(t->z, 1),
                            .life = saved ? LIFE_SAVED : LIFE_TRANSIENT},
            row->first, row->last);
    }
}

/* TRL's parts multiply by the whole head in f32 (trl sft_trainer.py, _chunk), which it already
 * is where every rank has it so. */
static bool widens_head(const struct plan *plan)
{
    bool whole = plan->parallel.zero < 3 && plan->precision.weights == DTYPE_F32;
    return plan_is_huggingface(plan) && plan->stack.cross_entropy == LOSS_CHUNKED && !whole;
}

static bool trains_head(const struct plan *plan)
{
    if (lora_is_on(plan))
        return lora_saves(plan, SAVED_LM_HEAD);
    return !plan_freezes_part(plan, FROZEN_LM_HEAD);
}

/* Losses that run head and loss part by part make the gradients of the head's input and of its
 * matrix as they go: torchtitan's ChunkedLossWrapper in f32, whole until the last chunk,
 * Liger's fused linear cross entropy in the activations' format. */
static void add_parts(struct train *t)
{
    enum cross_entropy loss = t->plan->stack.cross_entropy;
    enum dtype sixteen = t->plan->precision.activations;
    bool fused = loss == LOSS_FUSED;
    if (scores_tokens(t) || (!fused && loss != LOSS_CHUNKED))
        return;
    enum dtype dtype = fused ? sixteen : DTYPE_F32;
    struct size hidden = t->d.width[COL_HIDDEN], vocab = t->d.width[COL_VOCAB];
    const struct {
        const char *name;
        enum category category;
        enum dtype dtype;
        struct size rows, columns;
        bool holds;
    } rows[] = {
        {"d_head_input", CATEGORY_ACTIVATION, dtype, t->d.rows[ROW_HEAD], hidden, true},
        {"d_head_weight", CATEGORY_GRADIENTS, dtype, vocab, hidden, trains_head(t->plan)},
        {"logits", CATEGORY_LOGITS, sixteen, size_slot(t->z, SLOT_LOSS_ROWS), vocab, fused},
        {"f32_head_weight", CATEGORY_WEIGHTS, DTYPE_F32, vocab, hidden, widens_head(t->plan)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].holds)
            head_tensor(t,
                        (struct buffer){.name = rows[i].name,
                                        .category = rows[i].category,
                                        .dtype = rows[i].dtype,
                                        .dims = {rows[i].rows, rows[i].columns},
                                        .life = LIFE_TRANSIENT,
                                        .source = "training-stacks.md 5"},
                        HEAD_LOGITS, HEAD_BACK_LOGITS);
}

/* What NeMo-RL's head and log-softmax of a part hold besides: rows of all tp ranks, as parts
 * and joined; in backward an f32 copy of the head, a part's gradient of it and that turned
 * around, the sum of them, and gradients of the rows as parts and joined. */
static void add_linear_parts(struct train *t)
{
    struct size hidden = t->d.width[COL_HIDDEN], vocab = t->d.width[COL_VOCAB];
    const bool gathers = t->plan->parallel.tp > 1, trained = trains_head(t->plan);
    const struct {
        const char *name;
        enum category category;
        enum dtype dtype;
        struct size rows;
        uint64_t copies;
        enum head_op first;
    } rows[] = {
        {"gathered_head_input", CATEGORY_ACTIVATION, t->plan->precision.activations,
         t->d.rows[ROW_HEAD], gathers ? 2 : 0, HEAD_LOSS},
        {"f32_head_weight", CATEGORY_WEIGHTS, DTYPE_F32, vocab, 1, HEAD_BACK_LOSS},
        {"part_d_head_weight", CATEGORY_GRADIENTS, DTYPE_F32, vocab, trained ? 2 : 0,
         HEAD_BACK_LOSS},
        {"d_head_weight", CATEGORY_GRADIENTS, t->plan->precision.weights, vocab, trained,
         HEAD_BACK_LOSS},
        {"d_head_input", CATEGORY_ACTIVATION, DTYPE_F32, t->d.rows[ROW_HEAD], 2,
         HEAD_BACK_LOSS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].copies)
            head_tensor(t,
                        (struct buffer){.name = rows[i].name,
                                        .category = rows[i].category,
                                        .dtype = rows[i].dtype,
                                        .dims = {rows[i].rows, hidden},
                                        .count = size_const(t->z, rows[i].copies),
                                        .life = LIFE_TRANSIENT},
                        rows[i].first, HEAD_BACK_LOSS);
}

/* A head that is the embedding, of which rows are trained: a copy with them, which the product
 * keeps, and its gradient. */
static void add_rows(struct train *t)
{
    static const struct {
        const char *name;
        enum category category;
        enum life life;
        enum head_op first;
    } rows[] = {{"merged_head", CATEGORY_WEIGHTS, LIFE_SAVED, HEAD_LOGITS},
                {"d_head_weight", CATEGORY_GRADIENTS, LIFE_TRANSIENT, HEAD_BACK_LOGITS}};
    if (!lora_trains_rows(t->plan) || !model_ties_head(&t->plan->model))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        head_tensor(t,
                    (struct buffer){.name = rows[i].name,
                                    .category = rows[i].category,
                                    .dtype = lora_saved_format(t->plan),
                                    .dims = {t->d.width[COL_VOCAB], t->d.width[COL_HIDDEN]},
                                    .count = losses(t),
                                    .life = rows[i].life,
                                    .source = "PEFT tuners/trainable_tokens/layer.py"},
                    rows[i].first, HEAD_BACK_LOGITS);
}

/* Of a head whose weight and input are rounded, where the model makes the logits itself. */
static void add_rounded(struct train *t)
{
    const struct train_rounding kept = train_rounding(t->plan, trains_head(t->plan));
    const enum cross_entropy loss = t->plan->stack.cross_entropy;
    struct size hidden = t->d.width[COL_HIDDEN], vocab = t->d.width[COL_VOCAB];
    const struct {
        const char *name;
        enum category category;
        enum dtype dtype;
        struct size rows;
        uint64_t copies;
        enum life life;
        enum head_op first, last;
    } rows[] = {
        {"head_rounding_f32", CATEGORY_WEIGHTS, DTYPE_F32, vocab, kept.weight.f32, LIFE_SAVED,
         HEAD_LOGITS, HEAD_BACK_LOGITS},
        {"rounded_head", CATEGORY_WEIGHTS, DTYPE_NONE, vocab, kept.weight.half, LIFE_SAVED,
         HEAD_LOGITS, HEAD_BACK_LOGITS},
        {"head_input_rounding_f32", CATEGORY_ACTIVATION, DTYPE_F32, t->d.rows[ROW_HEAD],
         kept.input.f32, LIFE_SAVED, HEAD_LOGITS, HEAD_BACK_LOGITS},
        {"rounded_head_input", CATEGORY_ACTIVATION, DTYPE_NONE, t->d.rows[ROW_HEAD],
         kept.input.half, LIFE_SAVED, HEAD_LOGITS, HEAD_BACK_LOGITS},
        {"head_rounding", CATEGORY_WEIGHTS, DTYPE_F32, vocab, kept.passing, LIFE_TRANSIENT,
         HEAD_LOGITS, HEAD_LOGITS},
        {"d_head_rounding", CATEGORY_WEIGHTS, DTYPE_F32, vocab, kept.weight.f32 ? 2 : 0,
         LIFE_TRANSIENT, HEAD_BACK_LOGITS, HEAD_BACK_LOGITS},
    };
    bool apart = loss == LOSS_FUSED || loss == LOSS_CHUNKED || loss == LOSS_LINEAR_PROBS;
    if (!kept.weight.half || apart || scores_tokens(t))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].copies)
            head_tensor(t,
                        (struct buffer){.name = rows[i].name,
                                        .category = rows[i].category,
                                        .dtype = rows[i].dtype == DTYPE_NONE
                                                     ? t->plan->precision.activations
                                                     : rows[i].dtype,
                                        .dims = {rows[i].rows, hidden},
                                        .count = size_const(t->z, rows[i].copies),
                                        .life = rows[i].life,
                                        .source = "torchao quantization/qat"},
                        rows[i].first, rows[i].last);
}

static void add_head(struct train *t)
{
    struct size hidden = t->d.width[COL_HIDDEN];
    enum dtype dtype = t->plan->precision.activations;
    const struct {
        const char *name;
        enum row rows;
        enum life life;
        enum head_op first, last;
    } rows[] = {
        {"head_input", ROW_LOCAL, LIFE_SAVED, HEAD_NORM, HEAD_BACK_NORM},
        {"final_norm_out", ROW_LOCAL, LIFE_SAVED, HEAD_NORM, HEAD_BACK_LOGITS},
        {"d_final_norm_out", ROW_FULL, LIFE_TRANSIENT, HEAD_BACK_LOGITS, HEAD_BACK_NORM},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        head_tensor(t,
                    (struct buffer){.name = rows[i].name,
                                    .category = CATEGORY_ACTIVATION,
                                    .dtype = dtype,
                                    .dims = {t->d.rows[rows[i].rows], hidden},
                                    .count = rows[i].life == LIFE_SAVED ? losses(t)
                                                                        : size_const(t->z, 1),
                                    .life = rows[i].life},
                    rows[i].first, rows[i].last);
    add_logits(t);
    add_parts(t);
    add_rows(t);
    enum cross_entropy loss = t->plan->stack.cross_entropy;
    if (loss == LOSS_LINEAR_PROBS && !scores_tokens(t))
        add_linear_parts(t);
    bool apart = loss != LOSS_LINEAR_PROBS && loss != LOSS_CHUNKED && loss != LOSS_FUSED;
    if (trains_head(t->plan) && !t->plan->stack.wgrad_placeholders &&
        (apart || scores_tokens(t)))
        head_tensor(t,
                    (struct buffer){.name = "d_head_weight",
                                    .category = CATEGORY_GRADIENTS,
                                    .dtype = t->plan->precision.weights,
                                    .dims = {t->d.width[COL_OUTPUTS], hidden},
                                    .life = LIFE_TRANSIENT},
                    HEAD_BACK_LOGITS, HEAD_BACK_LOGITS);
}

/* transformers models/mixtral/modeling_mixtral.py at 00d4b3d2142c, load_balancing_loss_func,
 * and the same in its other models: scores of all layers in one tensor and their softmax, the
 * chosen experts one-hot in 64 bits and in f32, and where batches have a mask, that spread as
 * far in 64 bits with its product; then the mask over the scores. Scores of the layers, and
 * then their gradients, wait through the step. */
static void add_balance(struct train *t)
{
    const bool masked = t->plan->stack.balance_loss == BALANCE_MASKED;
    const enum dtype scores = t->plan->precision.activations;
    struct sizes *z = t->z;
    const struct size experts = size_slot(z, SLOT_LOGICAL_EXPERTS);
    const struct size rows = size_mul(z, size_slot(z, SLOT_STAGE_MOE_LAYERS),
                                      size_slot(z, SLOT_TOKENS)),
                      choices = size_mul(z, rows, size_slot(z, SLOT_TOP_K));
    const uint16_t tick = (uint16_t)(t->base[SEGMENT_HEAD] + HEAD_LOSS + 1);
    const struct {
        const char *name;
        enum category category;
        enum dtype dtype;
        struct size rows;
        uint64_t copies;
        uint16_t last;
    } tensors[] = {
        {"balance_scores", CATEGORY_METADATA, scores, rows, 2, head_tick(t, HEAD_BACK_LOSS)},
        {"balance_score_mask", CATEGORY_MASK, DTYPE_I64, rows, masked,
         head_tick(t, HEAD_BACK_LOSS)},
        {"balance_choices", CATEGORY_MASK, DTYPE_I64, choices, masked ? 2 : 1, tick},
        {"balance_choices_f32", CATEGORY_MASK, DTYPE_F32, choices, masked ? 2 : 1, tick},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (tensors[i].copies)
            work_buffer(t->work, (struct buffer){.name = tensors[i].name,
                                                 .category = tensors[i].category,
                                                 .segment = SEGMENT_HEAD,
                                                 .dtype = tensors[i].dtype,
                                                 .n_dims = 2,
                                                 .dims = {tensors[i].rows, experts},
                                                 .count = size_const(z, tensors[i].copies),
                                                 .life = LIFE_TRANSIENT,
                                                 .first = tick,
                                                 .last = tensors[i].last});
    work_buffer(t->work, (struct buffer){.name = "layers_scores",
                                         .category = CATEGORY_METADATA,
                                         .segment = SEGMENT_STEP,
                                         .dtype = scores,
                                         .n_dims = 2,
                                         .dims = {rows, experts},
                                         .life = LIFE_PERSISTENT});
}

/* A column-wise head with replicated output (torchtitan's parallelize functions). */
bool stack_gathers_logits(const struct plan *plan)
{
    return plan->stack.kind == STACK_TORCHTITAN && plan->parallel.tp > 1 &&
           !plan->stack.loss_parallel;
}

void train_head(struct train *train)
{
    add_head_ticks(train);
    add_head(train);
    add_rounded(train);
    if (balances(train->plan))
        add_balance(train);
}
