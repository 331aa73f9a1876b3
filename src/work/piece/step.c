/* Segments that every training stack shares; see work/stack/stack.h. */
#include "work/stack/stack.h"

void stack_kinds(const struct plan *plan, bool has[KIND_COUNT])
{
    model_kinds(&plan->model, has);
    has[KIND_DENSE] |= !plan->model.layer_types.n;
}

void step_segments(struct work *work)
{
    struct sizes *z = &work->sizes;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        work->use[segment_of_kind(kind)] = (struct segment_use){
            size_slot(z, slot_kind_layers(kind)), size_slot(z, slot_kind_in_flight(kind))};
    }
    work->use[SEGMENT_HEAD] =
        (struct segment_use){size_slot(z, SLOT_STAGE_HEAD), size_slot(z, SLOT_HEAD_IN_FLIGHT)};
    work->use[SEGMENT_EMBED] = (struct segment_use){size_slot(z, SLOT_STAGE_EMBEDDING),
                                                    size_slot(z, SLOT_ENCODER_IN_FLIGHT)};
}
