/* See map.h. */
#include "support/emul/map.h"

#include <stdbool.h>
#include <string.h>

#define SEEN __attribute__((visibility("default")))

/* A loader's rules: lines of 16 bytes, boxes of at most 256 whose rows are those of a swizzle,
 * and all that is named is the device's. */
SEEN int cuTensorMapEncodeTiled(void *made, int type, uint32_t dims, uint64_t memory,
                                const uint64_t *sizes, const uint64_t *strides,
                                const uint32_t *box, const uint32_t *steps, int interleave,
                                int swizzle, int fetch, int outside)
{
    struct emul_map map = {.memory = memory, .box = {box[0], box[1]}};
    bool known = type == 9 && dims == 3 && !interleave && swizzle == 3 && !outside &&
                 box[0] * 2 == 128 && box[1] <= 256 && box[2] == 1;
    (void)fetch;
    for (unsigned i = 0; i < 3; i++) {
        known = known && sizes[i] > 0 && sizes[i] <= UINT32_MAX && steps[i] == 1;
        map.sizes[i] = sizes[i];
    }
    for (unsigned i = 0; i < 2; i++) {
        known = known && strides[i] % 16 == 0;
        map.strides[i] = strides[i];
    }
    if (!known || memory % 16 || (uintptr_t)made % 64 ||
        !card_has(card_now(), memory, strides[1] * (sizes[2] - 1) + strides[0] * sizes[1]))
        return CODE_INVALID;
    memcpy(made, &map, sizeof map);
    return CODE_FINE;
}

struct gpu_maps map_within(const struct card *card, const void *given)
{
    struct gpu_maps maps;
    memcpy(&maps, given, sizeof maps);
    for (unsigned i = 0; i < sizeof maps.of / sizeof *maps.of; i++) {
        struct emul_map map;
        memcpy(&map, maps.of[i], sizeof map);
        map.memory = map.memory ? (uintptr_t)card_bytes(card, map.memory) : 0;
        memcpy(maps.of[i], &map, sizeof map);
    }
    return maps;
}
