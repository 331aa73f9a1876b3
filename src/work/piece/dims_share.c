/* What one rank has of a width, and which ranks share it; see dims.h. */
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/params.h"
#include "work/piece/dims.h"

struct size dims_over(struct sizes *z, uint64_t replicas, struct size size)
{
    struct size n = size_mul(z, size_slot(z, SLOT_DP), size_slot(z, SLOT_CP));
    return replicas > 1 ? size_mul(z, size, n) : size;
}

struct size dims_joined(struct sizes *z, const struct plan *plan, struct size own)
{
    return dims_over(z, plan_joined_replicas(plan), own);
}

struct size dims_dense_width(struct sizes *z, const struct plan *plan, enum mixer mixer)
{
    struct size tp =
        plan->parallel.dense_apart ? dims_head_ranks(z, plan) : size_slot(z, SLOT_TP);
    struct size ranks = dims_over(z, plan_dense_replicas(plan), tp);
    bool own = mixer_borrows(mixer) && plan->model.borrow_intermediate;
    return size_ceil_div(z, size_slot(z, own ? SLOT_BORROW_INTER : SLOT_DENSE_INTER), ranks);
}

bool dims_projects_kv(const struct plan *plan, enum mixer mixer)
{
    return !mixer_borrows(mixer) || plan_is_engine(plan);
}

bool dims_splits_embeddings(const struct plan *plan)
{
    return plan->parallel.tp > 1 && plan->stack.kind != STACK_SGLANG &&
           plan->workload.mode != MODE_TRAIN;
}

static struct size over_tp(struct sizes *z, const struct plan *plan, struct size width)
{
    return dims_splits_embeddings(plan) ? size_ceil_div(z, width, size_slot(z, SLOT_TP))
                                        : width;
}

struct size dims_layer_rows(struct sizes *z, const struct plan *plan)
{
    return over_tp(z, plan, size_slot(z, SLOT_LAYER_VOCAB));
}

struct size dims_layer_columns(struct sizes *z, const struct plan *plan)
{
    struct size width =
        size_mul(z, size_slot(z, SLOT_LAYERS), size_slot(z, SLOT_LAYER_EMBEDDING));
    return over_tp(z, plan, width);
}

struct size dims_network_ranks(struct sizes *z, const struct plan *plan)
{
    struct size tp = size_slot(z, SLOT_TP);
    return plan_joins_networks(plan) ? dims_joined(z, plan, tp) : tp;
}

struct size dims_shared_width(struct sizes *z, const struct plan *plan)
{
    struct size ranks = dims_over(z, plan_shared_replicas(plan), size_slot(z, SLOT_TP));
    struct size inter = size_slot(z, SLOT_SHARED_INTER);
    return plan_shared_whole(plan) ? inter : size_ceil_div(z, inter, ranks);
}

struct size dims_token_ranks(struct sizes *z, const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    bool experts = plan_tokens_everywhere(plan) && p->ep != p->tp;
    return size_slot(z, experts ? SLOT_EP : SLOT_TP);
}

struct size dims_head_ranks(struct sizes *z, const struct plan *plan)
{
    struct size tp = size_slot(z, SLOT_TP);
    bool fewer = engine_attention_ranks(plan) != plan->parallel.tp;
    return fewer ? size_div(z, tp, size_const(z, plan->parallel.attention_cp)) : tp;
}

struct size dims_prompt_ranks(struct sizes *z, const struct plan *plan)
{
    return plan->stack.kind == STACK_VLLM ? size_slot(z, SLOT_CP)
                                          : size_const(z, engine_prompt_ranks(plan));
}

struct size dims_vocabulary(struct sizes *z, const struct plan *plan)
{
    uint64_t multiple = plan->stack.vocab_multiple;
    struct size vocab = size_slot(z, SLOT_VOCAB), tp = size_slot(z, SLOT_TP);
    if (multiple > 1)
        vocab = size_round_up(z, vocab, size_times(z, tp, multiple));
    return size_ceil_div(z, vocab, tp);
}

struct size dims_choices(struct sizes *z, const struct plan *plan, struct size experts)
{
    uint64_t zero = plan->model.moe.zero_experts;
    return zero ? size_plus(z, experts, zero) : experts;
}

struct size dims_streams(struct sizes *z, const struct plan *plan)
{
    struct size hidden = size_slot(z, SLOT_HIDDEN);
    return plan->model.residual_streams > 1 ? size_mul(z, size_slot(z, SLOT_STREAMS), hidden)
                                            : hidden;
}

struct size dims_with_blocks(struct sizes *z, const struct plan *plan, enum slot blocks)
{
    struct size streams = dims_streams(z, plan);
    if (!plan->model.residual_block)
        return streams;
    return size_add(z, streams, size_mul(z, size_slot(z, blocks), size_slot(z, SLOT_HIDDEN)));
}

struct size dims_routing_tables(struct sizes *z, const struct plan *plan)
{
    struct size layers = size_mul(z, size_slot(z, SLOT_STAGE_EMBEDDING),
                                  size_min(z, size_slot(z, SLOT_STAGE_MOE_LAYERS),
                                           size_const(z, plan->model.moe.hash_layers)));
    return size_product(z, SIZES(size_slot(z, SLOT_VOCAB), size_slot(z, SLOT_TOP_K), layers));
}

struct size dims_stream_sites(struct sizes *z, const struct plan *plan)
{
    uint64_t plain = params_plain_sites(&plan->model);
    struct size sites = size_const(z, 0);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        sites = size_add(z, sites,
                         size_times(z, size_slot(z, slot_kind_layers((enum layer_kind)k)),
                                    params_stream_sites((enum layer_kind)k)));
    if (!plain)
        return sites;
    return size_sub(z, sites, size_times(z, size_slot(z, SLOT_STAGE_MTP), plain));
}
