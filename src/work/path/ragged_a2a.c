/* ragged_a2a: rows sorted by expert, a ragged all-to-all, grouped products (seed 000 sparse
 * gmm; Megatron's all-to-all dispatcher). */
#include "work/path/path.h"
#include "work/path/ragged.h"

static uint16_t build(struct layer *l)
{
    return ragged_build(l, NULL);
}

const struct path_system path_ragged_a2a = {
    .backward = true,
    .build = build,
    .hold = ragged_hold,
    .align = align_by_stack,
    .exchange = EXCHANGE_ROWS,
};
