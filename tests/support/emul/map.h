/* What a look-alike's cuTensorMapEncodeTiled makes of a matrix, for who reads through it. */
#ifndef MOEPLAN_TESTS_EMUL_MAP_H
#define MOEPLAN_TESTS_EMUL_MAP_H

#include <stdint.h>

struct emul_map {
    uint64_t memory; /* of the device; while a kernel runs, where its bytes are */
    uint64_t sizes[3], strides[2];
};

#endif
