/* Named sizes; see dispatch_formula.h. Functions whose arguments are a port, a layout or a
 * format appear once per choice. */
#include "support/dispatch_formula.h"

#include "base/text.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/dispatch/dispatch_rows.h"

enum { NO_META = 2, FP8 = 4 }; /* options added to a port or a layout */

static struct size nvl(const struct letters *x, unsigned option)
{
    return deepep_nvl_bytes(x, (enum deepep_port)(option % NO_META), option < NO_META);
}

static struct size rdma(const struct letters *x, unsigned option)
{
    return deepep_rdma_bytes(x, (enum deepep_port)(option % NO_META), option < NO_META);
}

static struct size low_latency(const struct letters *x, unsigned port)
{
    return low_latency_bytes(x, x->tokens, (enum deepep_port)port);
}

static struct size low_latency_combine(const struct letters *x, unsigned port)
{
    return low_latency_combine_message(x, (enum deepep_port)port);
}

/* What a rank puts on the wire in low latency: a message per chosen expert, no duplicates
 * removed; fp8 rows out, 16-bit rows back. */
static struct size low_latency_sent(const struct letters *x)
{
    struct size scales = size_div(x->sizes, x->hidden, size_const(x->sizes, 128));
    struct size row = size_add(x->sizes, x->hidden, size_times(x->sizes, scales, 4));
    return size_mul(x->sizes, rows_routed(x), size_plus(x->sizes, row, 16));
}

static struct size elastic(const struct letters *x, unsigned option)
{
    return elastic_buffer_bytes(x, (enum elastic_layout)(option % FP8), option >= FP8);
}

static struct size elastic_record(const struct letters *x, unsigned fp8)
{
    return elastic_dispatch_record(x, fp8 != 0);
}

static struct size elastic_workspace(const struct letters *x)
{
    return size_const(x->sizes, elastic_workspace_bytes());
}

/* Positions of the one-hot capacity path: [mb, S, E, C + extra]. */
static struct size capacity_positions(const struct letters *x, unsigned extra)
{
    struct size slots = size_plus(x->sizes, capacity_maxtext(x), extra);
    return size_product(x->sizes, SIZES(x->micro_batch, x->sequence, x->experts, slots));
}

static struct size capacity_slots(const struct letters *x)
{
    return size_product(x->sizes, SIZES(x->experts, x->micro_batch, capacity_maxtext(x)));
}

static struct size masked_rows(const struct letters *x)
{
    return size_mul(x->sizes, x->tokens, x->experts);
}

static struct size triton_ids(const struct letters *x)
{
    return triton_sorted_ids(x, x->tokens);
}

static struct size deepgemm_rows(const struct letters *x)
{
    return rows_padded_up(x, rows_routed(x), 128);
}

static struct size cutlass_gathered(const struct letters *x)
{
    return flashinfer_workspace_bytes(x, DTYPE_FP8_BLOCK, rows_worst_tokens(x));
}

/* Neuron sees the tokens of the whole expert-parallel group. */
static struct size neuron_group_blocks(const struct letters *x)
{
    return neuron_blocks(x, rows_worst_tokens(x));
}

static struct size neuron_slots(const struct letters *x)
{
    return size_mul(x->sizes, neuron_group_blocks(x), x->block);
}

static struct size layer_tokens(const struct letters *x)
{
    return x->tokens;
}

/* Rows that leave the rank, of T K evenly spread: T K (R - 1) / R. */
static struct size rows_sent(const struct letters *x)
{
    struct sizes *s = x->sizes;
    struct size others = size_sub(s, x->ranks, size_const(s, 1));
    return size_div(s, size_mul(s, rows_routed(x), others), x->ranks);
}

static struct size megablocks_rows(const struct letters *x)
{
    return rows_padded(x, rows_routed(x), 128);
}

/* Its first permutation reserved a whole multiple per expert: up(rows + e A, A). */
static struct size torchtitan_rows(const struct letters *x)
{
    return size_up(x->sizes, rows_padded(x, rows_routed(x), 9), 8);
}

static struct size expert_rows(const struct letters *x)
{
    return size_product(x->sizes, SIZES(x->local, x->hidden, x->inter));
}

static struct size deepep_handle(const struct letters *x)
{
    return deepep_handle_bytes(x, x->received);
}

static struct size rdep_allocated(const struct letters *x)
{
    return rdep_allocated_rows(x, rows_routed(x), 128);
}

static const struct dispatch_formula formulas[] = {
    {.name = "deepep_nvl", .chosen = nvl, .option = DEEPEP_UPSTREAM},
    {.name = "deepep_rdma", .chosen = rdma, .option = DEEPEP_UPSTREAM},
    {.name = "primus_nvl", .chosen = nvl, .option = DEEPEP_PRIMUS},
    {.name = "primus_rdma", .chosen = rdma, .option = DEEPEP_PRIMUS},
    {.name = "primus_nvl_no_rocshmem", .chosen = nvl, .option = DEEPEP_PRIMUS + NO_META},
    {.name = "deepep_handle", .plain = deepep_handle},
    {.name = "low_latency", .chosen = low_latency, .option = DEEPEP_UPSTREAM},
    {.name = "low_latency_primus", .chosen = low_latency, .option = DEEPEP_PRIMUS},
    {.name = "low_latency_dispatch_message", .plain = low_latency_dispatch_message},
    {.name = "low_latency_combine_message", .chosen = low_latency_combine},
    {.name = "low_latency_sent_fp8", .plain = low_latency_sent},
    {.name = "low_latency_returned", .plain = rows_routed, .hidden = 1, .times = 2},
    {.name = "elastic_workspace", .plain = elastic_workspace},
    {.name = "elastic_record_bf16", .chosen = elastic_record, .option = 0},
    {.name = "elastic_record_fp8", .chosen = elastic_record, .option = 1},
    {.name = "elastic_record_combine", .plain = elastic_combine_record},
    {.name = "elastic_nvlink", .chosen = elastic, .option = ELASTIC_NVLINK},
    {.name = "elastic_direct", .chosen = elastic, .option = ELASTIC_DIRECT},
    {.name = "elastic_hybrid", .chosen = elastic, .option = ELASTIC_HYBRID},
    {.name = "elastic_nvlink_fp8", .chosen = elastic, .option = ELASTIC_NVLINK + FP8},
    {.name = "elastic_direct_fp8", .chosen = elastic, .option = ELASTIC_DIRECT + FP8},
    {.name = "elastic_hybrid_fp8", .chosen = elastic, .option = ELASTIC_HYBRID + FP8},
    {.name = "capacity_maxtext", .plain = capacity_maxtext},
    {.name = "capacity_megatron", .plain = capacity_megatron},
    {.name = "capacity_neuron", .plain = capacity_neuron},
    {.name = "capacity_tutel", .plain = capacity_tutel},
    {.name = "combine_mask_bf16", .chosen = capacity_positions, .option = 0, .times = 2},
    {.name = "position_one_hot", .chosen = capacity_positions, .option = 1, .times = 4},
    {.name = "dispatch_mask", .chosen = capacity_positions, .option = 0},
    {.name = "capacity_hidden_bf16", .plain = capacity_slots, .hidden = 1, .times = 2},
    {.name = "capacity_inter_bf16", .plain = capacity_slots, .inter = 1, .times = 2},
    {.name = "masked_inter_bf16", .plain = masked_rows, .inter = 1, .times = 2},
    {.name = "masked_hidden_bf16", .plain = masked_rows, .hidden = 1, .times = 2},
    {.name = "masked_hidden_f32", .plain = masked_rows, .hidden = 1, .times = 4},
    {.name = "rows_worst", .plain = rows_worst},
    {.name = "rows_worst_hidden_bf16", .plain = rows_worst, .hidden = 1, .times = 2},
    {.name = "rows_worst_inter_bf16", .plain = rows_worst, .inter = 1, .times = 2},
    {.name = "rows_loose_hidden_bf16", .plain = rows_worst_loose, .hidden = 1, .times = 2},
    {.name = "worst_tokens_hidden_bf16", .plain = rows_worst_tokens, .hidden = 1, .times = 2},
    {.name = "triton_sorted_ids", .plain = triton_ids},
    {.name = "deepgemm_rows", .plain = deepgemm_rows},
    {.name = "cutlass_workspace_gathered", .plain = cutlass_gathered},
    {.name = "neuron_blocks", .plain = neuron_group_blocks},
    {.name = "neuron_gate_up", .plain = neuron_slots, .inter = 2, .times = 2},
    {.name = "neuron_down", .plain = neuron_slots, .hidden = 1, .times = 2},
    {.name = "routed_hidden_bf16", .plain = rows_routed, .hidden = 1, .times = 2},
    {.name = "routed_gate_up_bf16", .plain = rows_routed, .inter = 2, .times = 2},
    {.name = "routed_inter_bf16", .plain = rows_routed, .inter = 1, .times = 2},
    {.name = "layer_input_bf16", .plain = layer_tokens, .hidden = 1, .times = 2},
    {.name = "a2a_sent_bf16", .plain = rows_sent, .hidden = 1, .times = 2},
    {.name = "saved_megatron", .plain = rows_routed, .hidden = 1, .inter = 3, .times = 2},
    {.name = "saved_megatron_moe_act",
     .plain = rows_routed,
     .hidden = 1,
     .inter = 2,
     .times = 2},
    {.name = "megablocks_rows", .plain = megablocks_rows},
    {.name = "torchtitan_rows", .plain = torchtitan_rows},
    {.name = "expert_weights_bf16", .plain = expert_rows, .times = 3 * 2},
    {.name = "primus_pool_rows", .plain = primus_pool_rows},
    {.name = "primus_heap", .plain = primus_heap_bytes},
    {.name = "deepgemm_pool_rows", .plain = deepgemm_pool_rows},
    {.name = "deepgemm_sources", .plain = deepgemm_source_bytes},
    {.name = "rdep_payload", .plain = rdep_payload_bytes},
    {.name = "rdep_records", .plain = rdep_record_bytes},
    {.name = "rdep_return", .plain = rdep_return_bytes},
    {.name = "rdep_allocated_even", .plain = rdep_allocated},
};

const struct dispatch_formula *dispatch_formulas(size_t *n)
{
    *n = sizeof formulas / sizeof *formulas;
    return formulas;
}

const struct dispatch_formula *dispatch_formula_find(const char *name)
{
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (text_equal(formulas[i].name, name))
            return &formulas[i];
    return NULL;
}

struct size dispatch_formula_size(const struct dispatch_formula *formula,
                                  const struct letters *x)
{
    struct size size = formula->plain ? formula->plain(x) : formula->chosen(x, formula->option);
    if (formula->hidden || formula->inter) {
        struct size width = size_add(x->sizes, size_times(x->sizes, x->hidden, formula->hidden),
                                     size_times(x->sizes, x->inter, formula->inter));
        size = size_mul(x->sizes, size, width);
    }
    return formula->times ? size_times(x->sizes, size, formula->times) : size;
}
