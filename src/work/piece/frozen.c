/* See frozen.h. */
#include "work/piece/frozen.h"

#include "plan/frozen.h"

static enum frozen_part part_in_layer(bool experts, enum module module)
{
    switch ((int)module) {
    case MODULE_ROUTER:
        return FROZEN_ROUTER;
    case MODULE_SHARED:
        return FROZEN_SHARED_EXPERTS;
    case MODULE_PERMUTE:
    case MODULE_UNPERMUTE:
        return FROZEN_EXPERTS;
    case MODULE_GATE_UP:
    case MODULE_EXPERT_DOWN:
        return experts ? FROZEN_EXPERTS : FROZEN_DENSE_MLP;
    case MODULE_RESIDUAL: /* what a layer does with its own embedding */
        return FROZEN_PARTS;
    default:
        return FROZEN_ATTENTION;
    }
}

enum frozen_part frozen_part_of(enum segment segment, enum module module)
{
    if (segment == SEGMENT_EMBED)
        return FROZEN_EMBED_TOKENS;
    if (segment == SEGMENT_HEAD)
        return FROZEN_LM_HEAD;
    if (!segment_is_layer(segment))
        return FROZEN_PARTS;
    return part_in_layer(segment_has_experts(segment), module);
}

bool frozen_matrix(const struct plan *plan, const struct layer_matrix *matrix, enum ffn ffn)
{
    enum frozen_part part = part_in_layer(ffn == FFN_MOE, matrix->op);
    return part != FROZEN_PARTS && plan_freezes_part(plan, part);
}

struct size frozen_layers_of(const struct matrix_walk *walk, struct dims dims)
{
    const enum ffn ffn = walk->matrix->segments == IN_MOE ? FFN_MOE : FFN_DENSE;
    if (frozen_matrix(dims.plan, walk->matrix, ffn))
        return size_const(dims.z, 0);
    return matrix_layers_by(walk, dims, slot_kind_trained);
}
