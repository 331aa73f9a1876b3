/* Segments that every training stack shares; see work/stack/stack.h. */
#include "work/stack/stack.h"

void step_segments(struct work *work)
{
    static const struct {
        enum segment segment;
        enum slot repeat, in_flight;
    } uses[] = {
        {SEGMENT_DENSE, SLOT_STAGE_DENSE_LAYERS, SLOT_DENSE_IN_FLIGHT},
        {SEGMENT_MOE, SLOT_STAGE_MOE_LAYERS, SLOT_MOE_IN_FLIGHT},
        {SEGMENT_HEAD, SLOT_STAGE_HEAD, SLOT_HEAD_IN_FLIGHT},
    };
    struct sizes *z = &work->sizes;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        work->use[uses[i].segment] =
            (struct segment_use){size_slot(z, uses[i].repeat), size_slot(z, uses[i].in_flight)};
    work->use[SEGMENT_EMBED].repeat = size_slot(z, SLOT_STAGE_EMBEDDING);
}
