/* Named sizes; see dispatch_formula.h. Functions whose arguments are a port, a layout or a
 * format appear once per choice. */
#include "work/stack/dispatch_formula.h"

#include "base/text.h"
#include "work/stack/dispatch_deepep.h"
#include "work/stack/dispatch_rows.h"

enum { NO_META = 2, FP8 = 4 }; /* options added to a port or a layout */

static struct size nvl(const struct letters *x, unsigned option)
{
    return deepep_nvl_bytes(x, (enum deepep_port)(option % NO_META), option < NO_META);
}

static struct size rdma(const struct letters *x, unsigned option)
{
    return deepep_rdma_bytes(x, (enum deepep_port)(option % NO_META), option < NO_META);
}

static struct size record(const struct letters *x, unsigned option)
{
    return deepep_record_bytes(x, option ? 1 : 2, option != 0);
}

static struct size low_latency(const struct letters *x, unsigned port)
{
    return low_latency_bytes(x, x->tokens, (enum deepep_port)port);
}

static struct size low_latency_combine(const struct letters *x, unsigned port)
{
    return low_latency_combine_message(x, (enum deepep_port)port);
}

static struct size low_latency_slots(const struct letters *x)
{
    return low_latency_rows(x, x->tokens);
}

static struct size low_latency_scales(const struct letters *x)
{
    struct size elements = size_mul(x->sizes, low_latency_slots(x), x->hidden);
    return size_div(x->sizes, elements, size_const(x->sizes, 128));
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

/* ragged_dot over the worst rows, or over T K of them; width H or I. */
enum { EXPAND_WORST = 0, EXPAND_EVEN = 1, EXPAND_INTER = 2 };

static struct size ragged_dot(const struct letters *x, unsigned option)
{
    struct size rows = option & EXPAND_EVEN ? rows_routed(x) : rows_worst(x);
    return ragged_dot_bytes(x, rows, option & EXPAND_INTER ? x->inter : x->hidden);
}

static struct size triton_ids(const struct letters *x)
{
    return triton_sorted_ids(x, x->tokens);
}

static struct size triton_cache13(const struct letters *x)
{
    return triton_cache13_bytes(x, x->tokens);
}

static struct size triton_cache2(const struct letters *x)
{
    return triton_cache2_bytes(x, x->tokens);
}

static struct size modular13(const struct letters *x)
{
    return modular_workspace13_bytes(x, rows_routed(x));
}

static struct size modular2(const struct letters *x)
{
    return modular_workspace2_bytes(x, rows_routed(x));
}

static struct size masked13(const struct letters *x)
{
    return masked_workspace13_bytes(x, low_latency_slots(x));
}

static struct size masked2(const struct letters *x)
{
    return masked_workspace2_bytes(x, low_latency_slots(x));
}

static struct size deepgemm_even(const struct letters *x)
{
    return deepgemm_rows(x, x->tokens);
}

static struct size deepgemm_worst(const struct letters *x)
{
    return rows_padded_up(x, rows_worst(x), 128);
}

static struct size deepgemm_workspaces(const struct letters *x, unsigned worst)
{
    struct size rows = worst ? deepgemm_worst(x) : deepgemm_even(x);
    return size_add(x->sizes, modular_workspace13_bytes(x, rows),
                    modular_workspace2_bytes(x, rows));
}

static struct size cutlass_gathered(const struct letters *x)
{
    return cutlass_workspace_bytes(x, rows_worst_tokens(x));
}

/* Neuron sees the tokens of the whole expert-parallel group. */
static struct size neuron_group_blocks(const struct letters *x)
{
    return neuron_blocks(x, rows_worst_tokens(x));
}

static struct size neuron_group_static(const struct letters *x)
{
    return neuron_static_blocks(x, rows_worst_tokens(x));
}

static struct size neuron_slots(const struct letters *x)
{
    return size_mul(x->sizes, neuron_group_blocks(x), x->block);
}

static struct size neuron_saved(const struct letters *x)
{
    return neuron_saved_bytes(x, rows_worst_tokens(x));
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

static struct size primus_row_map(const struct letters *x)
{
    return primus_row_map_bytes(x, rows_worst_tokens(x));
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
    {.name = "deepep_record_bf16", .chosen = record, .option = 0},
    {.name = "deepep_record_fp8", .chosen = record, .option = 1},
    {.name = "deepep_handle", .plain = deepep_handle},
    {.name = "low_latency", .chosen = low_latency, .option = DEEPEP_UPSTREAM},
    {.name = "low_latency_primus", .chosen = low_latency, .option = DEEPEP_PRIMUS},
    {.name = "low_latency_dispatch_message", .plain = low_latency_dispatch_message},
    {.name = "low_latency_combine_message", .chosen = low_latency_combine},
    {.name = "low_latency_rows", .plain = low_latency_slots},
    {.name = "low_latency_packed_bf16", .plain = low_latency_slots, .hidden = 1, .times = 2},
    {.name = "low_latency_packed_fp8", .plain = low_latency_slots, .hidden = 1},
    {.name = "low_latency_scales", .plain = low_latency_scales, .times = 4},
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
    {.name = "ragged_dot_worst_hidden", .chosen = ragged_dot, .option = EXPAND_WORST},
    {.name = "ragged_dot_worst_inter", .chosen = ragged_dot, .option = EXPAND_INTER},
    {.name = "ragged_dot_even_hidden", .chosen = ragged_dot, .option = EXPAND_EVEN},
    {.name = "ragged_dot_even_inter",
     .chosen = ragged_dot,
     .option = EXPAND_EVEN | EXPAND_INTER},
    {.name = "ragged_a2a_dense", .plain = ragged_a2a_dense_bytes},
    {.name = "triton_sorted_ids", .plain = triton_ids},
    {.name = "triton_cache13", .plain = triton_cache13},
    {.name = "triton_cache2", .plain = triton_cache2},
    {.name = "modular_workspace13", .plain = modular13},
    {.name = "modular_workspace2", .plain = modular2},
    {.name = "masked_workspace13", .plain = masked13},
    {.name = "masked_workspace2", .plain = masked2},
    {.name = "masked_output", .plain = low_latency_slots, .hidden = 1, .times = 2},
    {.name = "deepgemm_rows", .plain = deepgemm_even},
    {.name = "deepgemm_workspaces_even", .chosen = deepgemm_workspaces, .option = 0},
    {.name = "deepgemm_workspaces_worst", .chosen = deepgemm_workspaces, .option = 1},
    {.name = "cutlass_workspace_gathered", .plain = cutlass_gathered},
    {.name = "neuron_blocks", .plain = neuron_group_blocks},
    {.name = "neuron_static_blocks", .plain = neuron_group_static},
    {.name = "neuron_gate_up", .plain = neuron_slots, .inter = 2, .times = 2},
    {.name = "neuron_down", .plain = neuron_slots, .hidden = 1, .times = 2},
    {.name = "neuron_saved", .plain = neuron_saved},
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
    {.name = "primus_dispatch", .plain = primus_dispatch_bytes},
    {.name = "primus_row_map", .plain = primus_row_map},
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
