/* See segments.h. */
#include "work/piece/segments.h"

#include "plan/frozen.h"

void segments_kinds(const struct plan *plan, bool has[KIND_COUNT])
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
                                size_slot(z, there),
                                size_slot(z, there)};
}

/* Of layers that no stage has: what slots say of them, as numbers. */
static struct segment_use use_of_none(struct sizes *z)
{
    struct size none = size_const(z, 0), full = size_const(z, 1000);
    return (struct segment_use){none, full, none, full, none, full, none, none};
}

void segments_use(const struct plan *plan, struct work *work)
{
    struct sizes *z = &work->sizes;
    const bool frozen = plan_first_back(plan) > 0;
    const bool passes = plan_frozen_layers(plan) > plan_first_back(plan);
    bool kinds[KIND_COUNT];
    segments_kinds(plan, kinds);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (!kinds[k]) {
            work->use[segment_of_kind(kind)] = use_of_none(z);
            continue;
        }
        enum slot back = frozen ? slot_kind_back(kind) : slot_kind_layers(kind);
        enum slot trained = passes ? slot_kind_trained(kind) : back;
        work->use[segment_of_kind(kind)] =
            (struct segment_use){size_slot(z, slot_kind_layers(kind)),
                                 size_slot(z, slot_kind_in_flight(kind)),
                                 size_slot(z, slot_kind_kept(kind)),
                                 size_slot(z, slot_kind_kept_in_flight(kind)),
                                 size_slot(z, slot_kind_plain(kind)),
                                 size_slot(z, slot_kind_plain_in_flight(kind)),
                                 size_slot(z, back),
                                 size_slot(z, trained)};
    }
    work->use[SEGMENT_HEAD] = use_of_end(z, SLOT_STAGE_HEAD, SLOT_HEAD_IN_FLIGHT);
    work->use[SEGMENT_EMBED] = use_of_end(z, SLOT_STAGE_EMBEDDING, SLOT_ENCODER_IN_FLIGHT);
}
