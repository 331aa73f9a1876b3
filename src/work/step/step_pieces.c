/* Pieces of a step's fragments; see step.h. */
#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/list/dtype.h"
#include "work/list/traffic.h"
#include "work/piece/matrix.h"
#include "work/step/step.h"

uint16_t step_rows(struct step *s, const char *name, enum category category, struct size rows,
                   struct size width)
{
    return layer_rows(&s->l, name, category, s->l.activation, layer_fixed(rows), width);
}

uint16_t step_op(struct step *s, const char *name, enum kernel kernel,
                 const struct operand *operands)
{
    uint16_t number =
        layer_op(&s->l, (struct op){.name = name, .kernel = (uint16_t)kernel}, operands);
    traffic_set(s->l.work, layer_last(&s->l));
    return number;
}

static void op_of_rows(struct step *s, const char *name, enum kernel kernel, uint16_t written,
                       const struct operand *operands)
{
    step_op(s, name, kernel, operands);
    layer_last(&s->l)->rows = s->l.work->buffers[written].dims[0];
    traffic_set(s->l.work, layer_last(&s->l));
}

void step_taken(struct step *s, const char *name, uint16_t from, uint16_t part)
{
    op_of_rows(s, name, KERNEL_ROPE, part, OPERANDS(IN(SRC, from), OUT(DST, part)));
}

enum dtype step_table_format(const struct step *s)
{
    return dtype_is_plain(s->l.weight) ? s->l.weight : s->l.activation;
}

void step_looked_up(struct step *s, const char *name, uint16_t table, uint16_t ids,
                    uint16_t rows)
{
    op_of_rows(s, name, KERNEL_EMBED, rows,
               OPERANDS(IN(WEIGHT, table), IN(IDS, ids), OUT(DST, rows)));
}

static const struct layer_matrix *matrix_named(const struct step *s, const char *name)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    for (size_t i = 0; i < n; i++)
        if (text_equal(matrices[i].name, name) && matrix_exists(&matrices[i], &s->d, s->in))
            return &matrices[i];
    return NULL;
}

uint16_t step_product(struct step *s, const char *matrix, uint16_t a, const char *out,
                      enum category category)
{
    const struct layer_matrix *m = matrix_named(s, matrix);
    struct layer *l = &s->l;
    struct size rows = s->d.rows[m->rows], k = s->d.width[m->in], n = s->d.width[m->out];
    l->module = m->op;
    enum dtype format = plan_part_format(s->plan, m->part);
    uint16_t w = layer_weights_as(l, arena_join(l->arena, "w_", matrix), format, l->one, k, n);
    uint16_t c = step_rows(s, out, category, rows, n);
    struct gemm_shape shape = {.rows = rows, .k = k, .n = n, .groups = l->one};
    l->wide = m->wide;
    layer_gemm(l, matrix, a, w, WORK_NONE, c, layer_no_groups(), shape);
    l->wide = false;
    return layer_lora_beside(l, matrix, a, c, layer_no_groups(), shape);
}

uint16_t step_reduced(struct step *s, const char *name, uint16_t x)
{
    if (s->plan->parallel.tp == 1)
        return x;
    if (!(s->d.facts & FACT_GATHER))
        return layer_all_reduced(&s->l, name, GROUP_TP, x);
    struct buffer source = s->l.work->buffers[x];
    uint16_t out = step_rows(s, name, source.category, s->d.rows[ROW_LOCAL], source.dims[1]);
    layer_collective(&s->l, arena_join(s->l.arena, "scatter_", name), GROUP_TP, REDUCE_SCATTER,
                     x, out, source.bytes);
    return out;
}

uint16_t step_norm(struct step *s, const char *name, uint16_t x)
{
    const struct buffer *source = &s->l.work->buffers[x];
    uint16_t y = step_rows(s, arena_join(s->l.arena, name, "_out"), source->category,
                           source->dims[0], source->dims[1]);
    step_op(s, name, KERNEL_NORM, OPERANDS(IN(SRC, x), OUT(DST, y)));
    return y;
}

/* The row that a mixer or a network reads, weighed of the residual and of as many sums as its
 * layers read in the mean, whose gradients it makes in backward. */
static uint16_t weighed_of_blocks(struct step *s, const char *name, uint16_t x,
                                  struct size sums)
{
    struct size rows = s->d.rows[ROW_LOCAL], hidden = s->d.width[COL_HIDDEN];
    uint16_t blocks =
        step_rows(s, arena_join(s->l.arena, name, "_blocks"), CATEGORY_ACTIVATION, rows, sums);
    uint16_t row = step_rows(s, arena_join(s->l.arena, name, "_weighed"), CATEGORY_ACTIVATION,
                             rows, hidden);
    step_op(s, arena_join(s->l.arena, "weigh_", name), KERNEL_NORM,
            OPERANDS(MANY(0, true, false, x), MANY(1, true, false, blocks),
                     MANY(2, false, true, row)));
    return row;
}

uint16_t step_norm_in(struct step *s, const char *name, uint16_t x)
{
    struct sizes *z = s->l.z;
    bool reads = plan_has_block_sums(s->plan);
    if (reads && s->training) {
        struct size moved =
            size_mul(z, s->d.width[COL_HIDDEN], size_slot(z, SLOT_BLOCKS_MOVED));
        x = weighed_of_blocks(s, name, x, size_div(z, moved, size_const(z, 1000)));
    }
    uint16_t y = step_norm(s, name, x);
    if (!reads || s->training)
        return y;
    struct op *op = &s->l.work->ops[s->l.work->n_ops - 1];
    struct size moved =
        size_mul(z, s->l.work->buffers[x].bytes, size_slot(z, SLOT_BLOCKS_MOVED));
    op->bytes_read = size_add(z, op->bytes_read, size_div(z, moved, size_const(z, 1000)));
    return y;
}

uint16_t step_weighed(struct step *s, uint16_t x)
{
    struct sizes *z = s->l.z;
    if (!plan_has_block_sums(s->plan))
        return x;
    if (s->training)
        return weighed_of_blocks(s, "head", x, s->d.width[COL_BLOCK_SUMS]);
    struct size bytes = s->l.work->buffers[x].bytes;
    uint16_t row = step_rows(s, "weighed", CATEGORY_ACTIVATION, s->d.rows[ROW_LOCAL],
                             s->d.width[COL_HIDDEN]);
    uint16_t op = step_op(s, "weigh_blocks", KERNEL_ROPE, OPERANDS(IN(SRC, x), OUT(DST, row)));
    s->l.work->ops[op].bytes_read =
        size_add(z, bytes, size_mul(z, bytes, size_slot(z, SLOT_BLOCKS_OUT)));
    return row;
}

uint16_t step_add(struct step *s, const char *name, uint16_t a, uint16_t b)
{
    const struct buffer *source = &s->l.work->buffers[a];
    uint16_t sum = step_rows(s, name, CATEGORY_ACTIVATION, source->dims[0], source->dims[1]);
    step_op(s, arena_join(s->l.arena, "add_", name), KERNEL_ADD,
            OPERANDS(IN(SRC, a), IN(OTHER, b), OUT(DST, sum)));
    return sum;
}

uint16_t step_gathered(struct step *s, const char *name, uint16_t x)
{
    if (!(s->d.facts & FACT_GATHER))
        return x;
    uint16_t all =
        step_rows(s, arena_join(s->l.arena, name, "_gathered"), CATEGORY_COMMUNICATION,
                  s->d.rows[ROW_FULL], s->l.work->buffers[x].dims[1]);
    layer_gather_again(&s->l, arena_join(s->l.arena, "gather_", name), x, all);
    return all;
}

/* ---- copies of the residual ---- */

/* [rows, n H] x [n H, mixes] in f32 (modular_deepseek_v4.py: fn.float()). */
static uint16_t mixes_of(struct step *s, const char *name, uint16_t x, struct size mixes)
{
    struct layer *l = &s->l;
    struct size rows = l->work->buffers[x].dims[0], wide = s->d.width[COL_STREAMS];
    uint16_t w = layer_weights_as(l, arena_join(l->arena, "w_hyper_", name), DTYPE_F32, l->one,
                                  wide, mixes);
    uint16_t c = layer_rows(l, arena_join(l->arena, name, "_mixes"), CATEGORY_ACTIVATION,
                            DTYPE_F32, layer_fixed(rows), mixes);
    layer_gemm(l, arena_join(l->arena, "hyper_", name), x, w, WORK_NONE, c, layer_no_groups(),
               (struct gemm_shape){.rows = rows, .k = wide, .n = mixes, .groups = l->one});
    return c;
}

/* Gates of a rank, of the normed copies: [n H, r + added] and [r, n H]; the copies are weighed
 * by the second, results are added by what the first has besides (vLLM
 * models/qwen4_exp/nvidia/hyperconnection.py, GatedResidual). Returns the first's, [rows, r +
 * added]; `row` gets the weighed. */
static uint16_t gated(struct step *s, const char *name, uint16_t x, uint64_t added,
                      uint16_t *row)
{
    struct layer *l = &s->l;
    struct size rows = l->work->buffers[x].dims[0], wide = s->d.width[COL_STREAMS];
    struct size rank = size_const(l->z, s->plan->model.residual_rank);
    struct size columns = size_plus(l->z, rank, added);
    uint16_t normed = step_norm(s, arena_join(l->arena, name, "_copies_norm"), x);
    uint16_t down = layer_weights_as(l, arena_join(l->arena, "w_gate_down_", name), DTYPE_BF16,
                                     l->one, wide, columns);
    uint16_t up = layer_weights_as(l, arena_join(l->arena, "w_gate_up_", name), DTYPE_BF16,
                                   l->one, rank, wide);
    uint16_t low = step_rows(s, arena_join(l->arena, name, "_gate_low"), CATEGORY_ACTIVATION,
                             rows, columns);
    uint16_t gate =
        step_rows(s, arena_join(l->arena, name, "_gate"), CATEGORY_ACTIVATION, rows, wide);
    layer_gemm(l, arena_join(l->arena, "gate_down_", name), normed, down, WORK_NONE, low,
               layer_no_groups(),
               (struct gemm_shape){.rows = rows, .k = wide, .n = columns, .groups = l->one});
    layer_gemm(l, arena_join(l->arena, "gate_up_", name), low, up, WORK_NONE, gate,
               layer_no_groups(),
               (struct gemm_shape){.rows = rows, .k = rank, .n = wide, .groups = l->one});
    *row = step_rows(s, arena_join(l->arena, name, "_weighed"), CATEGORY_ACTIVATION, rows,
                     s->d.width[COL_HIDDEN]);
    step_op(s, arena_join(l->arena, "weigh_", name), KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, normed), MANY(1, true, false, gate),
                     MANY(2, false, true, *row)));
    return low;
}

/* Weighing and mixing read in backward what they read, to make the weights' gradients. */
static enum kernel mixing(const struct step *s)
{
    return s->training ? KERNEL_NORM : KERNEL_ROPE;
}

static uint16_t collapsed(struct step *s, const char *name, uint16_t x, uint16_t mixes)
{
    uint16_t row = step_rows(s, arena_join(s->l.arena, name, "_collapsed"), CATEGORY_ACTIVATION,
                             s->l.work->buffers[x].dims[0], s->d.width[COL_HIDDEN]);
    step_op(s, arena_join(s->l.arena, "collapse_", name), mixing(s),
            OPERANDS(MANY(0, true, false, x), MANY(1, true, false, mixes),
                     MANY(2, false, true, row)));
    return row;
}

struct streams step_streams(struct step *s, const char *name, uint16_t x)
{
    struct streams streams = {x, x, WORK_NONE};
    if (!(s->d.facts & FACT_STREAMS))
        return streams;
    if (s->plan->model.residual_rank) {
        streams.mixes = gated(s, name, x, s->plan->model.residual_streams, &streams.row);
        return streams;
    }
    streams.mixes = mixes_of(s, name, x, s->d.width[COL_STREAM_MIXES]);
    streams.row = collapsed(s, name, x, streams.mixes);
    return streams;
}

uint16_t step_into(struct step *s, const char *name, const struct streams *streams,
                   uint16_t result)
{
    if (streams->mixes == WORK_NONE)
        return step_add(s, name, streams->all, result);
    uint16_t out =
        step_rows(s, name, CATEGORY_ACTIVATION, s->d.rows[ROW_LOCAL], s->d.width[COL_STREAMS]);
    step_op(s, arena_join(s->l.arena, "mix_", name), mixing(s),
            OPERANDS(MANY(0, true, false, streams->all), MANY(1, true, false, result),
                     MANY(2, true, false, streams->mixes), MANY(3, false, true, out)));
    return out;
}

uint16_t step_copies(struct step *s, uint16_t x)
{
    if (!(s->d.facts & FACT_STREAMS))
        return x;
    uint16_t all = step_rows(s, "streams", CATEGORY_ACTIVATION, s->d.rows[ROW_LOCAL],
                             s->d.width[COL_STREAMS]);
    step_op(s, "copy_streams", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, x), MANY(1, false, true, all)));
    return all;
}

uint16_t step_one(struct step *s, uint16_t x)
{
    uint16_t row;
    if (!(s->d.facts & FACT_STREAMS))
        return x;
    if (s->plan->model.residual_mean)
        return collapsed(s, "head", x, WORK_NONE);
    if (s->plan->model.residual_rank) {
        gated(s, "head", x, 0, &row);
        return row;
    }
    return collapsed(s, "head", x, mixes_of(s, "head", x, size_slot(s->l.z, SLOT_STREAMS)));
}
