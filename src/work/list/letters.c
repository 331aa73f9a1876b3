/* Letters, ceilings and padding rules shared by all dispatchers (buffers.md 1). */
#include "work/list/letters.h"

#include "plan/plan.h"
#include "work/list/dtype.h"

struct size size_row_width(struct sizes *sizes, const struct plan *plan)
{
    return size_slot(sizes, plan->model.moe.latent_size ? SLOT_LATENT : SLOT_HIDDEN);
}

struct letters letters_over(struct sizes *sizes, const struct plan *plan)
{
    return (struct letters){
        .sizes = sizes,
        .tokens = size_slot(sizes, SLOT_TOKENS),
        .top_k = size_slot(sizes, SLOT_TOP_K),
        .experts = size_slot(sizes, SLOT_EXPERTS),
        .local = size_slot(sizes, SLOT_LOCAL_EXPERTS),
        .ranks = size_slot(sizes, SLOT_EP),
        .hidden = size_row_width(sizes, plan),
        .inter = size_slot(sizes, SLOT_INTER),
        .node = size_slot(sizes, SLOT_NODE),
        .block = size_slot(sizes, SLOT_BLOCK),
        .sms = size_slot(sizes, SLOT_SMS),
        .sequence = size_slot(sizes, SLOT_SEQUENCE),
        .micro_batch = size_slot(sizes, SLOT_MICRO_BATCH),
        .rows = size_slot(sizes, SLOT_ROWS),
        .received = size_slot(sizes, SLOT_RECEIVED),
        .padded = size_slot(sizes, SLOT_PADDED_ROWS),
        .hottest = size_slot(sizes, SLOT_HOT_EXPERT),
        .ep = plan->parallel.ep,
    };
}

struct size size_sum(struct sizes *sizes, unsigned n, const struct size *terms)
{
    struct size sum = size_const(sizes, 0);
    for (unsigned i = 0; i < n; i++)
        sum = size_add(sizes, sum, terms[i]);
    return sum;
}

struct size size_plus(struct sizes *sizes, struct size a, uint64_t constant)
{
    return size_add(sizes, a, size_const(sizes, constant));
}

struct size size_up(struct sizes *sizes, struct size a, uint64_t multiple)
{
    return size_round_up(sizes, a, size_const(sizes, multiple));
}

struct size size_ceil_by(struct sizes *sizes, struct size a, uint64_t divisor)
{
    return size_ceil_div(sizes, a, size_const(sizes, divisor));
}

struct size dispatch_bytes(struct sizes *sizes, enum dtype dtype, struct size n)
{
    unsigned bits = dtype_bits(dtype);
    return bits % 8 == 0 ? size_times(sizes, n, bits / 8)
                         : size_ceil_by(sizes, size_times(sizes, n, bits), 8);
}

struct size size_scale_bytes(struct sizes *sizes, enum dtype dtype, struct size n)
{
    struct size bytes = size_times(sizes, n, dtype_scale(dtype).bytes);
    if (dtype != DTYPE_NF4_DOUBLE)
        return bytes;
    return size_add(sizes, bytes, size_times(sizes, size_ceil_by(sizes, n, 256), 4));
}

struct size size_matrix_bytes(struct sizes *sizes, enum dtype dtype, struct size rows,
                              struct size columns)
{
    struct size bytes = dispatch_bytes(sizes, dtype, size_mul(sizes, rows, columns));
    struct dtype_scale scale = dtype_scale(dtype);
    if (!scale.bytes)
        return bytes;
    struct size down =
        scale.rows == UINT64_MAX ? size_const(sizes, 1) : size_ceil_by(sizes, rows, scale.rows);
    struct size n = size_mul(sizes, down, size_ceil_by(sizes, columns, scale.columns));
    return size_add(sizes, bytes, size_scale_bytes(sizes, dtype, n));
}

struct size rows_routed(const struct letters *x)
{
    return size_mul(x->sizes, x->tokens, x->top_k);
}

struct size rows_worst_tokens(const struct letters *x)
{
    return size_mul(x->sizes, x->ranks, x->tokens);
}

struct size rows_worst(const struct letters *x)
{
    return size_mul(x->sizes, rows_worst_tokens(x), size_min(x->sizes, x->top_k, x->local));
}

struct size rows_worst_loose(const struct letters *x)
{
    return size_mul(x->sizes, rows_worst_tokens(x), x->top_k);
}

struct size rows_padded(const struct letters *x, struct size rows, uint64_t multiple)
{
    return size_add(x->sizes, rows, size_times(x->sizes, x->local, multiple - 1));
}

struct size rows_padded_up(const struct letters *x, struct size rows, uint64_t multiple)
{
    return size_up(x->sizes, rows_padded(x, rows, multiple), multiple);
}
