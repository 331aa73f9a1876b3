/* Pieces of a step's fragments; see step.h. */
#include "base/text.h"
#include "work/piece/step.h"

uint16_t step_rows(struct step *s, const char *name, enum category category, struct size rows,
                   struct size width)
{
    return layer_rows(&s->l, name, category, s->l.activation, layer_fixed(rows), width);
}

static struct size bytes_of(const struct step *s, const uint16_t *list)
{
    struct size sum = size_const(s->l.z, 0);
    for (; *list != LAYER_END; list++)
        if (*list != WORK_NONE)
            sum = size_add(s->l.z, sum, s->l.work->buffers[*list].bytes);
    return sum;
}

uint16_t step_op(struct step *s, const char *name, enum kernel kernel, const uint16_t *reads,
                 const uint16_t *writes)
{
    return layer_op(&s->l,
                    (struct op){.name = name,
                                .kernel = (uint16_t)kernel,
                                .bytes_read = bytes_of(s, reads),
                                .bytes_written = bytes_of(s, writes)},
                    reads, writes);
}

static const struct layer_matrix *matrix_named(const struct step *s, const char *name)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    for (size_t i = 0; i < n; i++)
        if (text_equal(matrices[i].name, name) && matrix_exists(&matrices[i], s->d.facts, s->in))
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
    uint16_t w = layer_weights(l, arena_printf(l->arena, "w_%s", matrix), l->one, k, n);
    uint16_t c = step_rows(s, out, category, rows, n);
    layer_gemm(l, matrix, a, w, WORK_NONE, c, (struct groups){WORK_NONE, WORK_NONE, WORK_NONE},
               (struct gemm_shape){rows, k, n, l->one}, 0);
    return c;
}

struct size step_ranks(struct step *s, enum process_group group)
{
    struct sizes *z = s->l.z;
    static const enum slot slots[GROUP_COUNT] = {
        [GROUP_TP] = SLOT_TP,   [GROUP_CP] = SLOT_CP,         [GROUP_EP] = SLOT_EP,
        [GROUP_ETP] = SLOT_ETP, [GROUP_EDP] = SLOT_EXPERT_DP, [GROUP_PP] = SLOT_PP,
    };
    if (group == GROUP_DP)
        return size_mul(z, size_slot(z, SLOT_DP), size_slot(z, SLOT_CP));
    return size_slot(z, slots[group]);
}

/* What a rank sends, and receives, of an array of `full` bytes: the closed forms of ring
 * collectives, (n - 1) / n of it once, or twice where it is reduced and gathered; around a
 * ring every rank's part to the next n - 1 times. */
static struct size volume(struct step *s, enum process_group group, unsigned how,
                          struct size full)
{
    struct sizes *z = s->l.z;
    struct size n = step_ranks(s, group), others = size_sub(z, n, s->l.one);
    if (how == SEND)
        return full;
    if (how == RING)
        return size_mul(z, full, others);
    struct size once = size_div(z, size_mul(z, full, others), n);
    return how == ALL_REDUCE ? size_times(z, once, 2) : once;
}

uint16_t step_collective(struct step *s, const char *name, enum process_group group,
                         unsigned how, uint16_t src, uint16_t dst, struct size full)
{
    struct size bytes = volume(s, group, how & ~(unsigned)REGATHER, full);
    struct work *work = s->l.work;
    return layer_op(&s->l,
                    (struct op){.name = name,
                                .kernel = KERNEL_COLLECTIVE,
                                .flags = (uint16_t)how,
                                .group = group,
                                .bytes_read = work->buffers[src].bytes,
                                .bytes_written = work->buffers[dst].bytes,
                                .bytes_sent = bytes,
                                .bytes_received = bytes},
                    LAYER_OPERANDS(src), LAYER_OPERANDS(dst));
}

uint16_t step_reduced(struct step *s, const char *name, enum process_group group, uint16_t x)
{
    struct buffer source = s->l.work->buffers[x];
    bool scatters = group == GROUP_TP && s->d.facts & FACT_GATHER;
    struct size rows = scatters ? s->d.rows[ROW_LOCAL] : source.dims[0];
    uint16_t out = step_rows(s, name, source.category, rows, source.dims[1]);
    step_collective(s, arena_printf(s->l.arena, "%s_%s", scatters ? "scatter" : "reduce", name),
                    group, scatters ? REDUCE_SCATTER : ALL_REDUCE, x, out, source.bytes);
    return out;
}

uint16_t step_norm(struct step *s, const char *name, uint16_t x)
{
    const struct buffer *source = &s->l.work->buffers[x];
    uint16_t y = step_rows(s, arena_printf(s->l.arena, "%s_out", name), source->category,
                           source->dims[0], source->dims[1]);
    step_op(s, name, KERNEL_NORM, LAYER_OPERANDS(x), LAYER_OPERANDS(y));
    return y;
}

uint16_t step_add(struct step *s, const char *name, uint16_t a, uint16_t b)
{
    const struct buffer *source = &s->l.work->buffers[a];
    uint16_t sum = step_rows(s, name, CATEGORY_ACTIVATION, source->dims[0], source->dims[1]);
    step_op(s, arena_printf(s->l.arena, "add_%s", name), KERNEL_ADD, LAYER_OPERANDS(a, b),
            LAYER_OPERANDS(sum));
    return sum;
}

uint16_t step_gathered(struct step *s, const char *name, uint16_t x)
{
    if (!(s->d.facts & FACT_GATHER))
        return x;
    uint16_t all = step_rows(s, arena_printf(s->l.arena, "%s_gathered", name),
                             CATEGORY_COMMUNICATION, s->d.rows[ROW_FULL],
                             s->l.work->buffers[x].dims[1]);
    step_collective(s, arena_printf(s->l.arena, "gather_%s", name), GROUP_TP,
                    ALL_GATHER | REGATHER, x, all, s->l.work->buffers[all].bytes);
    return all;
}
