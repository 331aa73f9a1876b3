/* Quantities that follow from a plan; formulas of the design, "Rules of reading". Nothing here
 * divides by zero, so that rules may ask before all of them hold. */
#include "plan/derive.h"

#include "base/checked.h"
#include "base/text.h"
#include "plan/engine.h"
#include "plan/layers.h"

static uint64_t divide(uint64_t a, uint64_t b)
{
    return b ? a / b : 0;
}

uint64_t plan_devices(const struct plan *plan)
{
    bool overflow = false;
    return checked_mul(plan->cluster.nodes, plan->cluster.node.devices, &overflow);
}

uint64_t plan_linked_devices(const struct plan *plan)
{
    const struct cluster *c = &plan->cluster;
    uint64_t most = divide(c->node.link_devices, c->node.devices);
    if (most <= 1 || !c->nodes)
        return c->node.devices;
    uint64_t domains = ceil_div(c->nodes, most);
    bool overflow = false;
    return checked_mul(c->node.devices, ceil_div(c->nodes, domains), &overflow);
}

uint64_t plan_linked_ranks(const struct plan *plan)
{
    bool overflow = false;
    return checked_mul(plan_linked_devices(plan), plan->cluster.device.logical_cores,
                       &overflow);
}

bool plan_links_nodes(const struct plan *plan)
{
    return plan_linked_devices(plan) > plan->cluster.node.devices;
}

uint64_t plan_world(const struct plan *plan)
{
    bool overflow = false;
    return checked_mul(plan_devices(plan), plan->cluster.device.logical_cores, &overflow);
}

uint64_t plan_vocabulary(const struct plan *plan)
{
    bool overflow = false;
    uint64_t multiple = checked_mul(plan->stack.vocab_multiple, plan->parallel.tp, &overflow);
    bool fills = plan->stack.vocab_multiple > 1 && !overflow;
    return fills ? round_up(plan->model.vocab, multiple) : plan->model.vocab;
}

uint64_t plan_comm_bytes(const struct plan *plan)
{
    return plan_world(plan) > 1 ? plan->stack.comm_bytes_per_rank : 0;
}

uint64_t plan_dp(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return divide(plan_world(plan), p->tp * p->pp * p->cp);
}

uint64_t plan_expert_dp(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return divide(plan_world(plan), p->ep * p->etp * p->pp);
}

/* So many neighbours along dp. */
static struct sharers neighbours(const struct plan *plan, uint64_t shard)
{
    uint64_t experts = divide(plan_expert_dp(plan) * shard, plan_dp(plan));
    return (struct sharers){shard * plan->parallel.cp, experts ? experts : 1};
}

struct sharers plan_sharers(const struct plan *plan)
{
    uint64_t shard = plan->parallel.dp_shard;
    return neighbours(plan, shard ? shard : plan_dp(plan));
}

struct sharers plan_second_sharers(const struct plan *plan)
{
    uint64_t shard = plan->parallel.hpz_shard;
    return neighbours(plan, shard ? shard : 1);
}

struct sharers plan_replicas(const struct plan *plan)
{
    struct sharers n = plan_sharers(plan);
    uint64_t dense = plan_dp(plan) * plan->parallel.cp;
    return (struct sharers){divide(dense, n.dense), divide(plan_expert_dp(plan), n.experts)};
}

bool plan_shards_in_part(const struct plan *plan)
{
    return plan->parallel.zero > 0 && plan->parallel.dp_shard > 0;
}

static bool shares_weights(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && plan->parallel.zero >= 3;
}

bool plan_shares_states_outside(const struct plan *plan)
{
    return plan_is_megatron(plan) && shares_weights(plan) && plan->parallel.dp_shard > 0 &&
           plan->parallel.outer_zero > 0;
}

bool plan_keeps_second_copy(const struct plan *plan)
{
    return plan->stack.kind == STACK_DEEPSPEED && shares_weights(plan) &&
           plan->parallel.hpz_shard > 0;
}

uint64_t plan_mlp_tiles(const struct plan *plan)
{
    bool has = plan_is_huggingface(plan) && plan->workload.mode == MODE_TRAIN;
    return has ? plan->recompute.mlp_tiles : 1;
}

bool plan_steps_in_backward(const struct plan *plan)
{
    return plan->stack.kind == STACK_TORCHTITAN && plan->workload.mode == MODE_TRAIN &&
           plan->optimizer.in_backward;
}

bool plan_steps_whole(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && plan->optimizer.kind >= OPTIMIZER_GALORE;
}

bool plan_drops_gradients(const struct plan *plan)
{
    bool lomo =
        plan->optimizer.kind == OPTIMIZER_LOMO || plan->optimizer.kind == OPTIMIZER_ADALOMO;
    bool hooks = plan->stack.kind == STACK_FSDP && plan->optimizer.in_backward;
    return plan_steps_whole(plan) && (lomo || hooks);
}

bool plan_distributes_inputs(const struct plan *plan)
{
    bool has = plan_is_megatron(plan) || plan->stack.kind == STACK_DEEPSPEED;
    return has && plan->workload.mode == MODE_TRAIN && plan->recompute.distribute &&
           plan->recompute.kind == RECOMPUTE_FULL && plan->parallel.tp > 1 &&
           !plan->parallel.sp;
}

bool plan_recomputes_some(const struct plan *plan)
{
    bool has = plan_is_megatron(plan) || plan->stack.kind == STACK_TORCHTITAN ||
               plan_is_huggingface(plan);
    return has && plan->workload.mode == MODE_TRAIN && plan->recompute.layers > 0 &&
           plan->recompute.kind == RECOMPUTE_FULL;
}

uint64_t plan_recomputes_together(const struct plan *plan)
{
    const struct recompute_plan *r = &plan->recompute;
    bool full = plan->workload.mode == MODE_TRAIN && r->kind == RECOMPUTE_FULL;
    bool has = plan_is_megatron(plan) && full && !r->layers && r->every > 1;
    if (full && plan_is_huggingface(plan) && plan_has_shortcut(plan)) /* its layer is two */
        return 2;
    return has ? r->every : 1;
}

bool plan_has_shortcut(const struct plan *plan)
{
    return plan->model.moe.shortcut && plan_has_moe(plan);
}

uint64_t plan_choices(const struct plan *plan)
{
    bool some = plan_is_huggingface(plan) && plan->workload.mode == MODE_TRAIN;
    return some ? model_choices(&plan->model) : plan->model.moe.top_k;
}

bool plan_casts_products(const struct plan *plan)
{
    return plan->stack.kind == STACK_TORCHTITAN && plan->precision.compute == COMPUTE_FP8;
}

bool plan_is_huggingface(const struct plan *plan)
{
    return plan->stack.kind == STACK_FSDP || plan->stack.kind == STACK_DEEPSPEED;
}

bool plan_keeps_logits(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    bool has = plan_is_huggingface(plan) || plan_is_megatron(plan) ||
               plan->stack.kind == STACK_TORCHTITAN;
    return has && w->mode == MODE_TRAIN && w->logits_to_keep > 0 && !w->packing.length &&
           !plan->model.labels;
}

bool plan_is_megatron(const struct plan *plan)
{
    return plan->stack.kind == STACK_MEGATRON || plan->stack.kind == STACK_PRIMUS;
}

bool plan_lists(const struct word_list *list, const char *word)
{
    for (uint64_t i = 0; i < list->n; i++)
        if (text_equal(list->word[i], word))
            return true;
    return false;
}

bool plan_has_block_sums(const struct plan *plan)
{
    return plan->model.residual_block > 0 &&
           (plan->workload.mode != MODE_TRAIN || plan->stack.kind == STACK_MEGATRON);
}

bool plan_overlaps_experts(const struct plan *plan)
{
    return plan_is_megatron(plan) && plan->stack.overlap_ep && plan->parallel.ep > 1;
}

uint64_t plan_moe_layers(const struct plan *plan)
{
    const struct model *model = &plan->model;
    if (model->layer_types.n)
        return model_ffns(model, FFN_MOE);
    return model->layers > model->dense_layers ? model->layers - model->dense_layers : 0;
}

bool plan_has_experts(const struct plan *plan)
{
    return plan_moe_layers(plan) > 0;
}

bool plan_has_moe(const struct plan *plan)
{
    return plan_has_experts(plan) || plan->model.moe_every > 1 ||
           (plan->model.mtp_enabled && plan->model.mtp_layers > 0);
}

bool plan_is_routed(const struct plan *plan)
{
    return plan->model.moe.experts > 0 && plan_has_moe(plan);
}

bool plan_tokens_everywhere(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return plan_is_engine(plan) && !p->sp && p->tp > 1 && p->ep > 1;
}

uint64_t plan_token_ranks(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return p->sp ? p->tp : plan_tokens_everywhere(plan) ? p->ep : 1;
}

uint64_t plan_joined_replicas(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    if (!plan_is_engine(plan) || p->ep != 1 || p->etp <= p->tp || !plan->model.moe.experts)
        return 1;
    uint64_t replicas = plan_dp(plan) * p->cp;
    return p->etp == p->tp * replicas ? replicas : 1;
}

uint64_t plan_engine_replicas(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    bool alone = plan->stack.kind == STACK_SGLANG && p->ep * p->etp == p->tp;
    return alone ? 1 : plan_dp(plan);
}

uint64_t plan_joined_tokens(const struct plan *plan)
{
    bool overflow = false;
    return checked_mul(plan_tokens(plan), plan_joined_replicas(plan), &overflow);
}

bool plan_joins_networks(const struct plan *plan)
{
    return plan->stack.kind == STACK_SGLANG && plan_joined_replicas(plan) > 1;
}

bool plan_joins_dense(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return plan->stack.kind == STACK_SGLANG && !plan->model.moe.experts && p->etp > p->tp &&
           p->etp == p->tp * plan_dp(plan);
}

/* Of a dense model dp counts engines, unless they join their tokens. */
uint64_t plan_attention_replicas(const struct plan *plan)
{
    bool joins = plan->model.moe.experts || plan_joins_dense(plan);
    return plan->stack.kind == STACK_SGLANG && joins ? plan_engine_replicas(plan) : 1;
}

/* SGLang models/deepseek_v2.py: dense networks over tp_size unless enable_moe_dense_fully_dp;
 * logits_processor.py: the head over it unless enable_dp_lm_head. */
uint64_t plan_dense_replicas(const struct plan *plan)
{
    bool dense = model_ffns(&plan->model, FFN_DENSE) > 0;
    return plan->parallel.dense_apart || !dense ? 1 : plan_attention_replicas(plan);
}

uint64_t plan_head_replicas(const struct plan *plan)
{
    return plan->parallel.head_apart ? 1 : plan_attention_replicas(plan);
}

/* Ranks that share the width of dense networks, and of those beside the experts: tp, or also
 * the replicas that they join. */
static uint64_t network_ranks(const struct plan *plan)
{
    return plan->parallel.tp * (plan_joins_networks(plan) ? plan_joined_replicas(plan) : 1);
}

bool plan_arrives(const struct plan *plan)
{
    return plan->workload.mode == MODE_SERVE && plan->workload.request_rate > 0;
}

uint64_t plan_requests(const struct plan *plan)
{
    if (plan_arrives(plan))
        return engine_sequences(plan);
    uint64_t dp = plan_dp(plan);
    return dp ? ceil_div(plan->workload.concurrency, dp) : 0;
}

/* Rounded up: a rank of an uneven split holds at most this. */
uint64_t plan_sequence_ranks(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return p->cp * (p->sp ? p->tp : 1);
}

uint64_t plan_sequence_tokens(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    return w->mode == MODE_DECODE ? w->tokens_per_sequence : w->sequence_length;
}

uint64_t plan_tokens(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    const struct parallel *p = &plan->parallel;
    bool overflow = false, serves = w->mode == MODE_SERVE;
    if (w->mode == MODE_DECODE || serves) {
        uint64_t sequences = serves ? plan_requests(plan) : w->micro_batch;
        uint64_t all = checked_mul(sequences, w->tokens_per_sequence, &overflow);
        uint64_t ranks = plan_token_ranks(plan);
        if (plan->stack.kind == STACK_VLLM)
            ranks *= engine_prompt_ranks(plan);
        return plan_is_engine(plan) ? ceil_div(all, ranks) : all;
    }
    uint64_t split = p->cp * plan_token_ranks(plan);
    uint64_t tokens = checked_mul(w->micro_batch, w->sequence_length, &overflow);
    return split ? ceil_div(tokens, split) : 0;
}

uint64_t plan_experts_total(const struct plan *plan)
{
    return plan->model.moe.experts + plan->moe.redundant_experts;
}

uint64_t plan_local_experts(const struct plan *plan)
{
    uint64_t ep = plan->parallel.ep;
    return ep ? ceil_div(plan_experts_total(plan), ep) : 0;
}

uint64_t plan_cores(const struct plan *plan)
{
    uint64_t of_stack = plan->stack.kind == STACK_NXD ? 2 : 1;
    return plan->moe.cores ? plan->moe.cores : of_stack;
}

/* SGLang appends DeepSeek-V3's shared expert to the routed ones of every expert-parallel rank,
 * on AMD alone (models/deepseek_v2.py, determine_num_fused_shared_experts: 256 experts and one
 * shared; elsewhere not under expert parallelism). */
static bool appends_shared(const struct plan *plan)
{
    const struct model_moe *moe = &plan->model.moe;
    return plan_generation(plan) == GENERATION_GFX942 && plan->parallel.ep > 1 &&
           plan->model.attention.kind == ATTENTION_MLA && moe->experts == 256 &&
           moe->shared_experts == 1;
}

static bool gathers_tokens(const struct plan *plan)
{
    bool apart = plan->parallel.ep > 1 && !plan_tokens_everywhere(plan);
    return apart && (!plan_names_path(plan) || path_reads(plan->moe.path, GATHERS_TOKENS));
}

/* Whole where a rank's tokens are its own: SGLang behind an all-to-all (models/deepseek_v2.py,
 * qwen2_moe.py, llama4.py, glm4_moe.py: tp_size 1), vLLM where tp ranks share tokens out
 * (config/parallel.py use_sequence_parallel_moe; models/deepseek_v2.py: disable_tp). */
bool plan_shared_whole(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    if (plan->moe.shared != SHARED_AUTO)
        return plan->moe.shared == SHARED_SP;
    if (plan->stack.kind == STACK_SGLANG)
        return path_reads(plan->moe.path, READS_DEEPEP) || appends_shared(plan);
    return plan->stack.kind == STACK_VLLM && p->sp && p->tp > 1 && p->ep > 1 &&
           plan_dp(plan) > 1;
}

uint64_t plan_shared_replicas(const struct plan *plan)
{
    if (plan_shared_whole(plan))
        return 1;
    if (plan_joins_networks(plan))
        return plan_joined_replicas(plan);
    return gathers_tokens(plan) ? plan_attention_replicas(plan) : 1;
}

bool plan_shared_gathered(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return plan->stack.kind == STACK_SGLANG && gathers_tokens(plan) &&
           !plan_shared_whole(plan) && p->tp * plan_shared_replicas(plan) == p->ep * p->etp;
}

uint64_t plan_shared_width(const struct plan *plan)
{
    uint64_t split =
        plan_shared_whole(plan) ? 1 : plan->parallel.tp * plan_shared_replicas(plan);
    return split ? ceil_div(plan->model.moe.shared_intermediate, split) : 0;
}

uint64_t plan_residual_width(const struct plan *plan)
{
    uint64_t ranks = network_ranks(plan);
    return ranks ? ceil_div(plan->model.residual_intermediate, ranks) : 0;
}

uint64_t plan_expert_width(const struct plan *plan)
{
    uint64_t etp = plan->parallel.etp;
    return etp ? ceil_div(plan->model.moe.intermediate, etp) : 0;
}

uint64_t plan_attention_length(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    const struct packing *p = &w->packing;
    if (w->mode != MODE_TRAIN || !p->length)
        return w->sequence_length;
    uint64_t length = p->square ? ceil_div(p->square, p->length) : p->length;
    return length < w->sequence_length ? length : w->sequence_length;
}

/* Megatron model_parallel_config.py, microbatch_group_size_per_vp_stage: pp unless given. torch
 * distributed/pipelining/schedules.py, ScheduleInterleaved1F1B: as many rounds as pp goes into
 * the micro-batches, all of one size. */
uint64_t plan_interleaved_group(const struct plan *plan, uint64_t micro_batches)
{
    uint64_t pp = plan->parallel.pp, rounds = micro_batches / pp;
    if (plan_is_megatron(plan) && plan->parallel.vpp > 1 && plan->parallel.vpp_group)
        return plan->parallel.vpp_group;
    bool even = plan->stack.kind == STACK_TORCHTITAN && rounds && micro_batches % rounds == 0;
    return even ? micro_batches / rounds : pp;
}

bool plan_states_batch(const struct plan *plan)
{
    return plan->workload.global_batch > 0 || plan->workload.tokens_per_step > 0;
}

/* Micro-batches of a step that the plan says nothing of: in a pipeline four a stage, in whole
 * groups, which is as many as any schedule keeps in flight, but for GPipe's. */
static uint64_t unsaid_micro_batches(const struct plan *plan)
{
    uint64_t pp = plan->parallel.pp, group = plan_interleaved_group(plan, 0);
    return pp > 1 ? ceil_div(4 * pp, group) * group : 1;
}

/* The rules make the division exact; tokens_per_step and global_batch are not both given. */
uint64_t plan_micro_batches(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    if (w->mode != MODE_TRAIN)
        return 1;
    if (!plan_states_batch(plan))
        return unsaid_micro_batches(plan);
    bool overflow = false;
    uint64_t sequences = checked_mul(plan_dp(plan), w->micro_batch, &overflow);
    uint64_t steps = divide(w->global_batch, sequences);
    if (w->tokens_per_step)
        steps =
            divide(w->tokens_per_step, checked_mul(sequences, w->sequence_length, &overflow));
    return steps ? steps : 1;
}

bool plan_on_tpu(const struct plan *plan)
{
    return text_equal(plan->cluster.device.family, "tpu");
}

bool plan_masks_products(const struct plan *plan)
{
    return plan->moe.matmul == MATMUL_RAGGED_DOT && !plan_on_tpu(plan);
}

uint64_t plan_rank_memory(const struct plan *plan)
{
    const struct device *device = &plan->cluster.device;
    return divide(device->memory_bytes, device->logical_cores);
}

uint64_t plan_usable_memory(const struct plan *plan)
{
    const struct device *device = &plan->cluster.device;
    return device->usable_bytes ? divide(device->usable_bytes, device->logical_cores)
                                : plan_rank_memory(plan);
}

double plan_relax(const struct plan *plan)
{
    return plan->cluster.device.usable_bytes ? 1 : plan->stack.relax;
}

double plan_memory_fraction(const struct plan *plan)
{
    bool whole = plan->stack.kind == STACK_MAXTEXT && plan->cluster.device.usable_bytes > 0;
    return plan->memory.fraction > 0 ? plan->memory.fraction : whole ? 1 : plan->stack.fraction;
}
