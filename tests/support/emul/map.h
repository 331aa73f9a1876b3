/* What a look-alike's cuTensorMapEncodeTiled makes of a matrix, for who reads through it. */
#ifndef MOEPLAN_TESTS_EMUL_MAP_H
#define MOEPLAN_TESTS_EMUL_MAP_H

#include <stdint.h>

#include "exec/gpu/kernels/call.h"
#include "support/emul/card.h"

struct emul_map {
    uint64_t memory; /* of the device; while a kernel runs, where its bytes are */
    uint64_t sizes[3], strides[2];
    uint32_t box[2];
};

/* The maps of a launch with the memory that they name where its bytes are. */
struct gpu_maps map_within(const struct card *card, const void *given);

#endif
