/* Weight gradients that no product adds to the main gradients itself (Megatron's
 * --no-gradient-accumulation-fusion): each is a tensor of its own, in the format of the
 * products' results, until the hook behind it has added it (tensor_parallel/layers.py,
 * distributed_data_parallel.py; TransformerEngine's module/grouped_linear.py makes those of all
 * of a rank's experts at once). Those of embedding and head stand with the ends. */
#include "work/piece/frozen.h"
#include "work/piece/lora.h"
#include "work/train/train.h"

/* Of the matrices that an op multiplies the largest: autograd hands one on before it makes the
 * next. */
static struct size largest_of(struct train *t, enum layer_kind kind, unsigned op)
{
    size_t n;
    const struct layer_matrix *matrices = matrices_of_layer(&n);
    struct size most = size_const(t->z, 0);
    for (size_t i = 0; i < n; i++) {
        if (matrices[i].op != op || frozen_matrix(t->plan, &matrices[i], kind_ffn(kind)))
            continue;
        struct size one = train_matrix_elements(t, kind, &matrices[i]);
        most = size_is_zero(t->z, most)  ? one
               : size_is_zero(t->z, one) ? most
                                         : size_max(t->z, most, one);
    }
    return most;
}

static void add_one(struct train *t, enum layer_kind kind, unsigned op)
{
    enum segment segment = segment_of_kind(kind);
    struct size elements = largest_of(t, kind, op);
    uint16_t forward = (uint16_t)(t->base[segment] + op),
             back = (uint16_t)(t->base[segment] + 2U * MODULES - 1 - op);
    if (size_is_zero(t->z, elements))
        return;
    work_buffer(t->work,
                (struct buffer){
                    .name = arena_join(t->work->arena, "wgrad_", t->work->ticks[forward].name),
                    .category = CATEGORY_GRADIENTS,
                    .segment = segment,
                    .dtype = t->plan->precision.activations,
                    .n_dims = 1,
                    .dims = {elements},
                    .life = LIFE_TRANSIENT,
                    .first = back,
                    .last = back,
                    .source = "Megatron tensor_parallel/layers.py",
                });
}

struct projection train_mtp_projection(struct train *t)
{
    struct size hidden = t->d.width[COL_HIDDEN];
    return (struct projection){
        .out = size_ceil_div(t->z, hidden, size_slot(t->z, SLOT_TP)),
        .in = size_times(t->z, hidden, 2),
        .count = size_min(t->z, size_slot(t->z, SLOT_STAGE_MTP), size_const(t->z, 1))};
}

/* Behind the norm's gradient, as large as that of the rows which the projection made; of one
 * module at a time. */
static void add_projection(struct train *t)
{
    struct projection p = train_mtp_projection(t);
    if (!t->plan->model.mtp_enabled || !t->plan->model.mtp_layers)
        return;
    uint16_t back = (uint16_t)(t->base[SEGMENT_HEAD] + TRAIN_HEAD_TICKS - 1);
    work_buffer(t->work, (struct buffer){.name = "wgrad_mtp_projection",
                                         .category = CATEGORY_GRADIENTS,
                                         .segment = SEGMENT_HEAD,
                                         .dtype = t->plan->precision.activations,
                                         .n_dims = 2,
                                         .dims = {p.out, p.in},
                                         .count = p.count,
                                         .life = LIFE_TRANSIENT,
                                         .first = back,
                                         .last = back,
                                         .source = "Megatron tensor_parallel/layers.py"});
}

void train_weight_gradients(struct train *train)
{
    if (train->plan->stack.wgrad_placeholders || lora_is_on(train->plan))
        return;
    for (unsigned k = 0; k < KIND_COUNT; k++)
        for (unsigned op = 0; train->kinds[k] && op < MODULES; op++)
            add_one(train, (enum layer_kind)k, op);
    add_projection(train);
}
