/* DeepEP V2: one buffer that grows with the tokens of a rank; see dispatch_deepep.h. */
#include "work/dispatch/dispatch_deepep.h"

enum {
    ELASTIC_STEP = 2 << 20,    /* buffer and workspace are rounded up to this */
    ELASTIC_PART = 32,         /* alignment of each part of a record */
    ELASTIC_TAIL_TOKENS = 1024 /* extra slots of a scale-out channel */
};

static struct size part(const struct letters *x, struct size bytes)
{
    return size_up(x->sizes, bytes, ELASTIC_PART);
}

struct size elastic_dispatch_record(const struct letters *x, bool fp8)
{
    struct sizes *s = x->sizes;
    struct size hidden = part(x, size_times(s, x->hidden, fp8 ? 1 : 2));
    struct size packs = size_times(s, size_ceil_by(s, x->hidden, 32), 4);
    struct size scales = fp8 ? part(x, packs) : size_const(s, 0);
    /* 8 K indices, and 4 (1 + K): a source index and K weights */
    struct size metadata = part(x, size_plus(s, size_times(s, x->top_k, 12), 4));
    return size_sum(s, SIZES(hidden, scales, metadata));
}

struct size elastic_combine_record(const struct letters *x)
{
    struct sizes *s = x->sizes;
    return size_add(s, part(x, size_times(s, x->hidden, 2)),
                    part(x, size_times(s, x->top_k, 8)));
}

static struct size direct_bytes(const struct letters *x, bool nvlink, bool fp8)
{
    struct sizes *s = x->sizes;
    struct size send = size_const(s, nvlink ? 0 : 1);
    struct size dispatch = size_product(
        s, SIZES(elastic_dispatch_record(x, fp8), x->tokens, size_add(s, x->ranks, send)));
    struct size copies = size_min(s, x->ranks, x->top_k);
    if (!nvlink)
        copies = size_add(s, copies, x->ranks);
    struct size combine = size_product(s, SIZES(elastic_combine_record(x), x->tokens, copies));
    return size_max(s, dispatch, combine);
}

static struct size hybrid_bytes(const struct letters *x, bool fp8)
{
    struct sizes *s = x->sizes;
    struct size up = size_min(s, x->ranks, x->node), out = size_ceil_div(s, x->ranks, x->node);
    struct size channel =
        size_mul(s, out, size_plus(s, x->tokens, ELASTIC_TAIL_TOKENS)); /* rows on scale-out */
    struct size dispatch =
        size_sum(s, SIZES(size_product(s, SIZES(up, out, x->tokens)), x->tokens, channel));
    struct size combine =
        size_sum(s, SIZES(size_product(s, SIZES(size_min(s, up, x->top_k), out, x->tokens)),
                          size_mul(s, size_min(s, out, x->top_k), x->tokens), channel));
    return size_max(s, size_mul(s, elastic_dispatch_record(x, fp8), dispatch),
                    size_mul(s, elastic_combine_record(x), combine));
}

struct size elastic_buffer_bytes(const struct letters *x, enum elastic_layout layout, bool fp8)
{
    struct size bytes = layout == ELASTIC_HYBRID
                            ? hybrid_bytes(x, fp8)
                            : direct_bytes(x, layout == ELASTIC_NVLINK, fp8);
    return size_up(x->sizes, bytes, ELASTIC_STEP);
}

uint64_t elastic_workspace_bytes(void)
{
    /* WorkspaceLayout::get_num_bytes with its fixed limits, so one workspace serves all cases.
     */
    enum { RANKS = 1024, EXPERTS = 2048, CHANNELS = 1024, GATHERS = 32 };
    static const uint64_t terms[] = {
        16,                        /* barrier signals */
        (RANKS + EXPERTS) * 8,     /* notify reduction */
        (RANKS + EXPERTS) * 8 * 2, /* scale-up counts, sent and received */
        RANKS * 4,                 /* scale-up senders */
        (RANKS + EXPERTS) * 4 * 2, /* scale-out counts, sent and received */
        RANKS * CHANNELS * 8,      /* scale-out channel flags and tails */
        RANKS * CHANNELS * 4,      /* scale-up tails */
        2 * 2 * 8,                 /* pipeline neighbours' counts */
        (GATHERS + 1) * RANKS * 4, /* all-gather and reduce-scatter signals */
    };
    uint64_t bytes = 0;
    for (unsigned i = 0; i < sizeof terms / sizeof *terms; i++)
        bytes += terms[i];
    return bytes;
}
