/* The GPU's kernels as plain C, performed by fibres: the very sources that devices compile. */
#include <math.h>
#include <stdint.h>

#include "support/emul/fibre.h"

#define MOEPLAN_WORK_LIST_SIZE_H /* expressions are the host's */
struct size {
    uint32_t node;
};
#include "exec/gpu/kernels/port.h"
#include "work/list/args.h"
#include "exec/gpu/kernels/call.h"
#include "exec/gpu/kernels/tensor.cl"
#include "exec/gpu/kernels/format.cl"
#include "exec/gpu/kernels/tally.cl"
#include "exec/gpu/kernels/curve.cl"
#include "exec/gpu/kernels/rows.cl"
#include "exec/gpu/kernels/convert.cl"
#include "exec/gpu/kernels/router.cl"
#include "exec/gpu/kernels/maps.cl"
#include "exec/gpu/kernels/blocks.cl"
#include "exec/gpu/kernels/combine.cl"
#include "exec/gpu/kernels/activation.cl"
#include "exec/gpu/kernels/norm.cl"
#include "exec/gpu/kernels/tile.cl"
#include "exec/gpu/kernels/product.cl"
#include "exec/gpu/kernels/schedule.cl"
#include "support/emul/warp.h"
#include "exec/gpu/kernels/peak_sm80.cl"
#include "exec/gpu/kernels/peak_cdna.cl"
#include "support/emul/wgmma.h"
#include "exec/gpu/kernels/peak_sm90.cl"
