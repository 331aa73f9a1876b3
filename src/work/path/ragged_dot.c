/* ragged_dot: ragged_a2a whose products are masked copies of all rows, one per local expert:
 * what jax.lax.ragged_dot becomes without a grouped kernel (seed 000; buffers.md 6). */
#include "work/path/path.h"
#include "work/path/ragged.h"

static uint16_t build(struct layer *l)
{
    return ragged_build(l, NULL);
}

const struct path_system path_ragged_dot = {
    .backward = true,
    .build = build,
    .hold = ragged_hold,
    .align = align_by_stack,
    .exchange = EXCHANGE_ROWS,
    .expands = true,
};
