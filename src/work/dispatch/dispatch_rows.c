/* Rows and blocks of capacity, ragged, blockwise and RDEP paths; see dispatch_rows.h. */
#include "work/dispatch/dispatch_rows.h"

/* ---- capacity ---- */

static struct size one(const struct letters *x)
{
    return size_const(x->sizes, 1);
}

struct size capacity_maxtext(const struct letters *x)
{
    struct sizes *s = x->sizes;
    struct size even = size_ceil_div(s, size_mul(s, x->sequence, x->top_k), x->experts);
    return size_max(s, size_scale(s, even, REAL_CAPACITY_FACTOR),
                    size_scale(s, one(x), REAL_CAPACITY_FACTOR));
}

struct size capacity_megatron(const struct letters *x)
{
    struct sizes *s = x->sizes;
    return size_ceil_div(s, size_scale_up(s, rows_routed(x), REAL_CAPACITY_FACTOR), x->experts);
}

struct size capacity_neuron(const struct letters *x)
{
    struct sizes *s = x->sizes;
    struct size tokens = rows_worst_tokens(x);
    struct size rows = size_scale_up(s, size_mul(s, tokens, x->top_k), REAL_CAPACITY_FACTOR);
    return size_min(s, size_ceil_div(s, rows, x->experts), tokens);
}

struct size capacity_tutel(const struct letters *x)
{
    struct sizes *s = x->sizes;
    struct size even = size_ceil_div(s, x->tokens, x->experts);
    return size_mul(s, x->top_k, size_scale(s, even, REAL_CAPACITY_FACTOR));
}

struct size chunk_rounds(const struct letters *x, struct size chunk)
{
    struct sizes *s = x->sizes;
    /* T is this rank's part of the notebook's S: S K / (E R) is T K / E. */
    struct size bound = size_div(s, size_times(s, rows_routed(x), 2), x->experts);
    return size_ceil_div(s, size_max(s, bound, one(x)), chunk);
}

/* ---- Neuron ---- */

struct size neuron_blocks(const struct letters *x, struct size tokens)
{
    struct sizes *s = x->sizes;
    struct size rows = size_mul(s, tokens, x->top_k);
    struct size others = size_sub(s, x->local, one(x));
    struct size blocks =
        size_add(s, size_ceil_div(s, size_sub(s, rows, others), x->block), others);
    return size_min(s, blocks, rows);
}

/* ---- RDEP ---- */

/* R T K rows */
static struct size rdep_capacity(const struct letters *x)
{
    return rows_worst_loose(x);
}

/* Ha = 8 ceil(H / 8) */
static struct size rdep_row_elements(const struct letters *x)
{
    return size_up(x->sizes, x->hidden, 8);
}

struct size rdep_payload_bytes(const struct letters *x)
{
    struct sizes *s = x->sizes;
    return size_times(s, size_mul(s, rdep_capacity(x), rdep_row_elements(x)), 2);
}

struct size rdep_record_bytes(const struct letters *x)
{
    return size_times(x->sizes, rdep_capacity(x), 16);
}

struct size rdep_return_bytes(const struct letters *x)
{
    struct sizes *s = x->sizes;
    struct size slot = size_plus(s, size_times(s, rdep_row_elements(x), 2), 4);
    return size_mul(s, rows_routed(x), slot);
}

struct size rdep_allocated_rows(const struct letters *x, struct size rows, uint64_t multiple)
{
    struct sizes *s = x->sizes;
    struct size most = size_plus(s, rows_padded(x, rows, multiple), multiple - 1);
    return size_times(s, size_div(s, most, size_const(s, multiple)), multiple);
}
