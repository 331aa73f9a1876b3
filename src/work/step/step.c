/* Segments that every training stack shares; see work/stack/stack.h. */
#include "plan/frozen.h"
#include "work/stack/stack.h"

void stack_kinds(const struct plan *plan, bool has[KIND_COUNT])
{
    model_kinds(&plan->model, has);
    has[KIND_DENSE] |= !plan->model.layer_types.n;
}

static struct segment_use use_of_end(struct sizes *z, enum slot there, enum slot in_flight)
{
    struct size none = size_const(z, 0);
    return (struct segment_use){size_slot(z, there),
                                size_slot(z, in_flight),
                                size_slot(z, there),
                                size_slot(z, in_flight),
                                none,
                                none,
                                size_slot(z, there)};
}

void step_segments(const struct plan *plan, struct work *work)
{
    struct sizes *z = &work->sizes;
    const bool frozen = plan_first_back(plan) > 0;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        enum slot back = frozen ? slot_kind_back(kind) : slot_kind_layers(kind);
        work->use[segment_of_kind(kind)] =
            (struct segment_use){size_slot(z, slot_kind_layers(kind)),
                                 size_slot(z, slot_kind_in_flight(kind)),
                                 size_slot(z, slot_kind_kept(kind)),
                                 size_slot(z, slot_kind_kept_in_flight(kind)),
                                 size_slot(z, slot_kind_plain(kind)),
                                 size_slot(z, slot_kind_plain_in_flight(kind)),
                                 size_slot(z, back)};
    }
    work->use[SEGMENT_HEAD] = use_of_end(z, SLOT_STAGE_HEAD, SLOT_HEAD_IN_FLIGHT);
    work->use[SEGMENT_EMBED] = use_of_end(z, SLOT_STAGE_EMBEDDING, SLOT_ENCODER_IN_FLIGHT);
}
