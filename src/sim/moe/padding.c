/* Padding by path; see padding.h. */
#include "sim/moe/padding.h"

#include <math.h>

#include "base/checked.h"
#include "sim/moe/chunks.h"
#include "work/path/path.h"
#include "work/piece/block_loop.h"
#include "work/stack/stack.h"

/* Rows of all experts of a rank, mean over ranks. */
static double mean_rows(const struct rows *rows)
{
    return (double)rows->spec.tokens * (double)rows->spec.top_k;
}

void padding_rule(const struct plan *plan, enum moe_path path, enum align_kind *kind,
                  uint64_t *multiple)
{
    *kind = path_align(plan, path);
    *multiple = align_rule(*kind)->group ? align_of(plan, *kind) : 0;
}

/* Rows the system must hold on a rank before it aligns them. RDEP exchanges counts first and
 * pads what came; Neuron's maps see the rows of the whole group. */
static uint64_t basis_rows(const struct plan *plan, enum align_kind kind,
                           const struct rows *rows)
{
    const struct rows_spec *s = &rows->spec;
    uint64_t mean = s->tokens * s->top_k;
    if (kind == ALIGN_RDEP)
        return mean;
    if (kind == ALIGN_NEURON)
        return mean * s->ranks;
    switch (stack_sizing(plan)) {
    case SIZING_WORST:
        return rows_ceilings(s->tokens, s->ranks, s->top_k, rows->map.most_local).rows;
    case SIZING_FACTOR:
        return (uint64_t)((double)mean * plan->moe.buffer_factor);
    case SIZING_AUTO:
    case SIZING_EXACT:
    case SIZING_BALANCED:
        break;
    }
    return mean;
}

static double allocated_factor(const struct plan *plan, enum align_kind kind,
                               const struct rows *rows)
{
    const struct rows_spec *s = &rows->spec;
    struct align_ask ask = {.rows = basis_rows(plan, kind, rows),
                            .tokens = s->tokens,
                            .top_k = s->top_k,
                            .ranks = s->ranks,
                            .experts = kind == ALIGN_VLLM_TRITON ? rows->map.replicas
                                                                 : rows->map.most_local,
                            .align = align_of(plan, kind)};
    return (double)align_allocated(kind, &ask) / mean_rows(rows);
}

/* ---- blockwise ---- */

static void fill_blocks(const struct plan *plan, const struct rows *rows,
                        const struct load *load, struct padding_report *out)
{
    uint64_t local = rows->map.most_local, block = out->alignment;
    uint64_t all = rows->spec.tokens * rows->spec.top_k * rows->spec.ranks;
    out->block_size = block;
    out->blocks_provisioned = blocks_tight(all, local, block);
    out->blocks_document = blocks_document(all, local, block);
    out->blocks_expected = load->blocks;
    double provisioned = (double)out->blocks_provisioned;
    double fixed = (double)block_loop_fixed(plan, all, local, out->blocks_provisioned);
    out->blocks_executed =
        plan->moe.skip_dynamic ? fmin(provisioned, fmax(fixed, load->blocks)) : provisioned;
    double slots = out->blocks_executed * (double)block;
    out->token_rows_skipped = plan->moe.skip_token ? 1 - mean_rows(rows) / slots : 0;
    /* Consecutive blocks of an expert share a load; two cores in turn share it only between
     * every second one. Trailing empty blocks belong to the last expert. */
    double used = fmin(load->blocks, (double)local);
    out->weight_loads = out->blocks_executed;
    enum block_order order = block_loop_order(plan);
    double loads = order == BLOCKS_HI_LO       ? used + 1
                   : order == BLOCKS_PING_PONG ? 2 * used
                                               : used;
    if (plan->moe.skip_weight != WEIGHT_SKIP_NONE)
        out->weight_loads = fmin(out->blocks_executed, loads);
}

/* ---- fixed slots ---- */

static void fill_capacity(const struct plan *plan, const struct rows *rows,
                          struct padding_report *out)
{
    const struct capacity_unit unit = capacity_unit_of(plan, rows);
    double needed = (double)unit.tokens * (double)rows->spec.top_k;
    out->rule = "capacity";
    out->formula = "E C";
    out->alignment = unit.slots;
    out->exact_factor = (double)NAN;
    out->allocated_factor = (double)unit.slots * (double)rows->spec.experts / needed;
}

static void fill_chunks(const struct plan *plan, const struct rows *rows,
                        struct padding_report *out)
{
    struct chunks_ask ask = {.tokens = rows->spec.tokens,
                             .top_k = rows->spec.top_k,
                             .experts = rows->spec.experts,
                             .devices = rows->spec.ranks,
                             .chunk = plan->moe.chunk ? plan->moe.chunk : 1};
    out->rule = "chunked all-to-all";
    out->formula = "rounds C E";
    out->alignment = ask.chunk;
    out->rounds = chunks_static_rounds(&ask);
    out->rounds_expected = chunks_expected_rounds(&ask);
    out->exact_factor = chunks_padding(&ask, out->rounds_expected);
    out->allocated_factor = chunks_padding(&ask, (double)out->rounds);
}

void padding_of(const struct plan *plan, enum moe_path path, const struct rows *rows,
                const struct load *load, struct padding_report *out)
{
    enum align_kind kind = path_align(plan, path);
    *out = (struct padding_report){
        .rule = align_rule(kind)->system,
        .formula = align_rule(kind)->formula,
        .alignment = align_of(plan, kind),
        .exact_factor = load->exact_padding,
        .allocated_factor = allocated_factor(plan, kind, rows),
        .blocks_expected = (double)NAN,
        .blocks_executed = (double)NAN,
        .token_rows_skipped = (double)NAN,
        .weight_loads = (double)NAN,
        .rounds_expected = (double)NAN,
    };
    enum path_exchange exchange = path_system_of(path)->exchange;
    if (exchange == EXCHANGE_CAPACITY)
        fill_capacity(plan, rows, out);
    else if (exchange == EXCHANGE_CHUNKS)
        fill_chunks(plan, rows, out);
    else if (kind == ALIGN_NEURON)
        fill_blocks(plan, rows, load, out);
    else if (kind == ALIGN_RDEP || kind == ALIGN_MEGABLOCKS)
        out->block_size = out->alignment;
}

void padding_computed(const struct plan *plan, enum moe_path path, const struct rows *rows,
                      const struct load *load, const struct padding_report *padding,
                      double *computed, double *loads)
{
    double mean = mean_rows(rows), local = (double)rows->map.most_local;
    double all_tokens = (double)rows->spec.tokens * (double)rows->spec.ranks;
    double distinct = decode_distinct_of(rows->laws[0].pi, rows->spec.experts, all_tokens);
    *computed = mean * load->exact_padding;
    *loads = fmin(local, distinct * local / (double)rows->map.replicas);
    const struct path_system *system = path_system_of(path);
    if (system->computes == COMPUTES_ALL) {
        *computed = all_tokens * local;
        *loads = local;
    } else if (system->computes == COMPUTES_RESERVED) {
        *computed = mean * padding->allocated_factor;
    } else if (system->loads == LOADS_CHOICES && !plan->moe.dedup) {
        *loads = mean;
    } else if (padding->blocks_provisioned) {
        *computed = padding->blocks_executed * (double)padding->block_size;
        *loads = padding->weight_loads;
    }
    if (system->loads == LOADS_ROUNDS)
        *loads = local * (double)padding->rounds;
}
