/* What must hold of a workload, of the options a path reads, and of all sizes together. */
#include "base/unit.h"
#include "plan/rule/rule_parts.h"

#include <inttypes.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "plan/speculation.h"
#include "plan/schema/schema.h"

static bool is_training(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN;
}

static bool is_decode(const struct plan *plan)
{
    return plan->workload.mode == MODE_DECODE;
}

static bool is_serving(const struct plan *plan)
{
    return plan->workload.mode == MODE_SERVE;
}

static bool reads_sequence(const struct plan *plan)
{
    return !is_decode(plan) && !is_serving(plan);
}

/* Only engines batch requests as they come. */
static bool serving_broken(const struct plan *plan, char *text, char *hint)
{
    if (plan_is_engine(plan))
        return false;
    rule_say(text, "stack %s does not batch requests: mode serve is an engine's",
             words_stack[plan->stack.kind]);
    rule_say(hint, "stack vllm, sglang or trtllm, or mode prefill or decode");
    return true;
}

/* One way of sending requests. The default of concurrency is one. */
static bool loop_broken(const struct plan *plan, char *text, char *hint)
{
    if (!plan_arrives(plan) || plan->workload.concurrency <= 1)
        return false;
    rule_say(text,
             "concurrency %" PRIu64
             " and request_rate %g: requests are replaced when they end, "
             "or arrive at a rate",
             plan->workload.concurrency, plan->workload.request_rate);
    rule_say(hint, "leave out one of the two keys");
    return true;
}

static bool draft_broken(const struct plan *plan, char *text, char *hint)
{
    const struct speculation *s = &plan->workload.speculation;
    bool mtp = s->method == DRAFT_MTP;
    if (mtp && !plan->model.mtp_layers) {
        rule_say(text, "the model has no prediction module to draft with");
        rule_say(hint, "name a draft in workload.speculation.model");
    } else if (mtp && plan->model.mtp_enabled && !plan_modules(plan)) {
        rule_say(text, "the software leaves this model's prediction module out");
        rule_say(hint, "name a draft in workload.speculation.model");
    } else if (mtp && !plan->model.mtp_enabled) {
        rule_say(text, "the model's prediction module drafts and is not enabled");
        rule_say(hint, "leave model.mtp_enabled out");
    } else if (s->method == DRAFT_DSPARK && !plan->model.dspark.layers) {
        rule_say(text, "the model has no layers that draft blocks of tokens");
        rule_say(hint, "name a draft in workload.speculation.model");
    } else if (s->method == DRAFT_DSPARK &&
               (plan->stack.kind == STACK_TRTLLM || !plan_shares_kv(plan))) {
        rule_say(text, "layers that draft blocks of tokens %s are not modelled",
                 plan_shares_kv(plan) ? "on trtllm" : "in models without shared_kv");
        rule_say(hint, "stack vllm or sglang, attention of kind shared_kv");
    } else if (plan_runs_draft(plan) && plan->parallel.pp > 1) {
        rule_say(text, "a draft beside %" PRIu64 " pipeline stages is not modelled",
                 plan->parallel.pp);
        rule_say(hint, "parallel.pp 1, or no workload.speculation.tokens");
    } else if (plan->workload.tokens_per_sequence <= s->tokens) {
        rule_say(text,
                 "tokens_per_sequence %" PRIu64 " is less than the %" PRIu64
                 " proposed and one more",
                 plan->workload.tokens_per_sequence, s->tokens);
        rule_say(hint, "leave it out, it follows");
    } else {
        return false;
    }
    return true;
}

/* vLLM config/offload.py, validate_offload_config. */
static bool group_broken(const struct plan *plan, char *text, char *hint)
{
    const struct memory *m = &plan->memory;
    rule_say(text, "%" PRIu64 " layers of a group of %" PRIu64 " are in host memory",
             m->offload_in_group, m->offload_group);
    rule_say(hint, "offload_group or fewer");
    return m->offload_in_group > m->offload_group;
}

/* Its sizes, on the same ranks. */
static bool draft_size_broken(const struct plan *plan, char *text, char *hint)
{
    const struct drafter *d = &plan->workload.speculation.size;
    struct plan draft;
    plan_draft(plan, 1, &draft);
    if (plan_drafts_blocks(plan)) {
        rule_say(text, "layers that draft blocks, of %" PRIu64 " experts, cannot be laid out",
                 draft.model.moe.experts);
        rule_say(hint, "ranks of experts that divide model.dspark.experts");
        return !rule_check_layout(&draft);
    }
    rule_say(hint, "hidden, heads, kv_heads, head_dim, intermediate and vocab, heads "
                   "and widths in as many parts as parallel.tp");
    rule_say(text, "a draft of %" PRIu64 " layers of these sizes cannot be laid out",
             d->layers);
    return !d->hidden || !d->heads || !d->kv_heads || !d->head_dim || !d->intermediate ||
           !d->vocab || d->heads % d->kv_heads != 0 || !rule_check_layout(&draft);
}

static bool has_replicas(const struct plan *plan)
{
    return is_serving(plan) && plan->parallel.attention_dp > 0;
}

/* SGLang's --tp and TensorRT-LLM's --tp_size count the ranks of all replicas, parallel.tp those
 * of one: written over unchanged, they break this. */
static bool replicas_broken(const struct plan *plan, char *text, char *hint)
{
    uint64_t asked = plan->parallel.attention_dp, dp = plan_dp(plan);
    uint64_t ranks = dp * plan->parallel.tp;
    if (asked == dp)
        return false;
    rule_say(text, "attention_dp %" PRIu64 " is not dp = %" PRIu64, asked, dp);
    if (ranks % asked == 0)
        rule_say(hint,
                 "one deployment is the whole cluster, tp x pp x attention_dp: tp %" PRIu64
                 " beside attention_dp %" PRIu64 " (an engine's own --tp counts all %" PRIu64
                 "), or attention_dp %" PRIu64,
                 ranks / asked, asked, ranks, dp);
    else
        rule_say(hint,
                 "one deployment is the whole cluster, tp x pp x attention_dp: "
                 "attention_dp a divisor of %" PRIu64,
                 ranks);
    return true;
}

static bool is_packed(const struct plan *plan)
{
    return is_training(plan) && plan->workload.packing.length > 0;
}

static bool states_squares(const struct plan *plan)
{
    return is_packed(plan) && plan->workload.packing.square > 0;
}

static uint64_t square_of_mean(const struct plan *plan)
{
    uint64_t length = plan->workload.packing.length;
    return rule_product(length, length, 1);
}

static uint64_t largest_square(const struct plan *plan)
{
    return rule_product(plan->workload.packing.length, plan->workload.sequence_length, 1);
}

static bool has_global_batch(const struct plan *plan)
{
    return is_training(plan) && plan->workload.global_batch > 0;
}

static bool has_tokens_per_step(const struct plan *plan)
{
    return is_training(plan) && plan->workload.tokens_per_step > 0;
}

static bool has_both_batches(const struct plan *plan)
{
    return has_global_batch(plan) && plan->workload.tokens_per_step > 0;
}

static bool reads_capacity(const struct plan *plan)
{
    return path_reads(plan->moe.path, READS_CAPACITY_FACTOR);
}

static bool reads_block(const struct plan *plan)
{
    return path_reads(plan->moe.path, READS_BLOCK_SIZE) ||
           (!plan_names_path(plan) && plan->stack.kind == STACK_NXD);
}

static bool reads_chunk(const struct plan *plan)
{
    return path_reads(plan->moe.path, READS_CHUNK);
}

static bool has_factor(const struct plan *plan)
{
    return plan->moe.buffer == SIZING_FACTOR;
}

static bool is_dirichlet(const struct plan *plan)
{
    return plan->moe.routing.distribution == DISTRIBUTION_DIRICHLET;
}

static uint64_t sequence_ranks(const struct plan *plan)
{
    return rule_product(plan->parallel.cp, plan->parallel.sp ? plan->parallel.tp : 1, 1);
}

static uint64_t batch_unit(const struct plan *plan)
{
    return rule_product(plan_dp(plan), plan->workload.micro_batch, 1);
}

static uint64_t token_unit(const struct plan *plan)
{
    return rule_product(plan_dp(plan), plan->workload.micro_batch,
                        plan->workload.sequence_length);
}

static uint64_t batch_tokens(const struct plan *plan)
{
    return rule_product(plan->workload.global_batch, plan->workload.sequence_length, 1);
}

static bool trace_broken(const struct plan *plan, char *text, char *hint)
{
    const struct routing *routing = &plan->moe.routing;
    if (routing->distribution != DISTRIBUTION_TRACE || routing->file[0] != '\0')
        return false;
    rule_say(text, "distribution trace has no file");
    rule_say(hint, "name it in 'moe.routing.file'");
    return true;
}

static bool placement_broken(const struct plan *plan, char *text, char *hint)
{
    const struct routing *routing = &plan->moe.routing;
    if (routing->placement != PLACEMENT_TABLE || routing->placement_file[0] != '\0')
        return false;
    rule_say(text, "placement table has no file");
    rule_say(hint, "name it in 'moe.routing.placement_file'");
    return true;
}

static bool save_broken(const struct plan *plan, char *text, char *hint)
{
    const struct recompute_plan *recompute = &plan->recompute;
    if (recompute->kind != RECOMPUTE_SAVE || recompute->save.n)
        return false;
    rule_say(text, "recompute save lists no names");
    rule_say(hint, "recompute: {save: [names]}, or recompute: full");
    return true;
}

enum { BYTES = 16 }; /* of one element, with some to spare */

static uint64_t widest(const struct model *model)
{
    uint64_t width = 2 * model->moe.intermediate;
    width = width > model->hidden ? width : model->hidden;
    return width > model->dense_intermediate ? width : model->dense_intermediate;
}

/* Products that everything behind the rules may form in 64 bits: the parameters' bytes ... */
static bool model_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model *m = &plan->model;
    bool overflow = false;
    uint64_t layer = checked_mul(4 * m->hidden, widest(m), &overflow);
    layer = checked_mul(layer, plan_experts_total(plan) + 4, &overflow);
    checked_mul(layer, (m->layers + m->mtp_layers) * BYTES, &overflow);
    checked_mul(m->vocab * BYTES, m->hidden, &overflow);
    if (!overflow)
        return false;
    rule_say(text, "the bytes of the model's parameters overflow 64 bits");
    rule_say(hint, "layers, experts, hidden, intermediate or vocab is far too large");
    return true;
}

static bool tokens_broken(const struct plan *plan, char *text, char *hint)
{
    if (plan_joined_tokens(plan) <= PLAN_MOST_TOKENS)
        return false;
    rule_say(text,
             "%" PRIu64 " tokens of a rank choose experts in a step, the limit is %" PRIu64,
             plan_joined_tokens(plan), (uint64_t)PLAN_MOST_TOKENS);
    rule_say(hint, "micro_batch or sequence_length is far too large");
    return true;
}

/* ... and the largest tensor any path builds, [local experts, rows of the group, width]. */
static bool rows_broken(const struct plan *plan, char *text, char *hint)
{
    bool overflow = false;
    uint64_t rows = checked_mul(plan_joined_tokens(plan), sequence_ranks(plan), &overflow);
    rows = checked_mul(rows, plan->model.moe.top_k + 1, &overflow);
    rows = checked_mul(rows, plan->parallel.ep, &overflow);
    rows = checked_mul(rows, plan_local_experts(plan) + 1, &overflow);
    checked_mul(rows, widest(&plan->model) * BYTES, &overflow);
    if (!overflow)
        return false;
    rule_say(text, "tokens x top_k x experts x width overflows 64 bits");
    rule_say(hint, "micro_batch or sequence_length is far too large");
    return true;
}

static bool states_usable(const struct plan *plan)
{
    return plan->cluster.device.usable_bytes > 0;
}

static bool stack_decides_fraction(const struct plan *plan)
{
    return plan->memory.fraction == 0;
}

/* limit = fraction x capacity - reserve, for one device */
static bool limit_broken(const struct plan *plan, char *text, char *hint)
{
    const struct device *device = &plan->cluster.device;
    uint64_t left_bytes = device->usable_bytes ? device->usable_bytes : device->memory_bytes;
    double usable = plan_memory_fraction(plan) * (double)left_bytes;
    double reserve = (double)plan->stack.reserve_bytes + (double)plan->memory.reserve_bytes;
    if (usable > reserve)
        return false;
    char left[48], taken[48];
    unit_print(left, UNIT_BYTES, usable);
    unit_print(taken, UNIT_BYTES, reserve);
    rule_say(text, "no device memory is left: %s usable, %s reserved", left, taken);
    rule_say(hint, "limit = fraction x memory - memory.reserve - stack.reserve");
    return true;
}

static const struct rule rules[] = {
    {.name = "packed-within-sequence",
     .key = "workload.packing.length",
     .shape = RULE_AT_MOST,
     .applies = is_packed,
     .a = MEMBER("packing length", workload.packing.length),
     .b = MEMBER("sequence_length", workload.sequence_length),
     .hint = "sequences are packed into one of sequence_length",
     .also = {"workload.sequence_length"}},
    {.name = "squares-above-mean",
     .key = "workload.packing.square",
     .shape = RULE_AT_MOST,
     .applies = states_squares,
     .a = DERIVED("the square of packing length,", square_of_mean),
     .b = MEMBER("packing square", workload.packing.square),
     .hint = "a mean of squares is at least the square of the mean",
     .also = {"workload.packing.length"}},
    {.name = "squares-within-sequence",
     .key = "workload.packing.square",
     .shape = RULE_AT_MOST,
     .applies = states_squares,
     .a = MEMBER("packing square", workload.packing.square),
     .b = DERIVED("packing length x sequence_length,", largest_square),
     .hint = "no packed sequence is longer than sequence_length",
     .also = {"workload.packing.length", "workload.sequence_length"}},
    {.name = "usable-within-memory",
     .key = "cluster.device.usable",
     .shape = RULE_AT_MOST,
     .applies = states_usable,
     .a = MEMBER("usable", cluster.device.usable_bytes),
     .b = MEMBER("memory", cluster.device.memory_bytes),
     .hint = "both are of one device, in bytes; usable 0 is all of its memory",
     .also = {"cluster.device.memory"}},
    {.name = "stack-fraction",
     .key = "stack.fraction",
     .shape = RULE_POSITIVE,
     .applies = stack_decides_fraction,
     .a = REAL("stack.fraction", stack.fraction),
     .hint = "state it, or memory.fraction, as in 0.9",
     .also = {"memory.fraction"}},
    {.name = "limit-positive",
     .key = "memory.reserve",
     .shape = RULE_OTHER,
     .broken = limit_broken,
     .also = {"memory.fraction", "stack.reserve"}},
    {.name = "sequence-splits",
     .key = "workload.sequence_length",
     .shape = RULE_DIVIDES,
     .applies = reads_sequence,
     .a = MEMBER("sequence_length", workload.sequence_length),
     .b = DERIVED("cp x (tp if sp),", sequence_ranks),
     .also = {"parallel.cp", "parallel.tp"}},
    {.name = "one-batch",
     .key = "workload.tokens_per_step",
     .shape = RULE_EQUAL,
     .applies = has_both_batches,
     .a = MEMBER("tokens_per_step", workload.tokens_per_step),
     .b = DERIVED("global_batch x sequence_length =", batch_tokens),
     .hint = "give one of the two",
     .also = {"workload.global_batch", "workload.sequence_length"}},
    {.name = "batch-splits",
     .key = "workload.global_batch",
     .shape = RULE_DIVIDES,
     .applies = has_global_batch,
     .a = MEMBER("global_batch", workload.global_batch),
     .b = DERIVED("dp x micro_batch =", batch_unit),
     .hint = "each rank does a whole number of micro-steps",
     .also = {"workload.micro_batch"}},
    {.name = "tokens-split",
     .key = "workload.tokens_per_step",
     .shape = RULE_DIVIDES,
     .applies = has_tokens_per_step,
     .a = MEMBER("tokens_per_step", workload.tokens_per_step),
     .b = DERIVED("dp x micro_batch x sequence_length =", token_unit),
     .hint = "each rank does a whole number of micro-steps",
     .also = {"workload.micro_batch", "workload.sequence_length"}},
    {.name = "decode-has-context",
     .key = "workload.context_length",
     .shape = RULE_POSITIVE,
     .applies = is_decode,
     .a = MEMBER("context_length", workload.context_length),
     .hint = "decode reads a KV cache: say how many tokens each sequence has"},
    {.name = "serve-by-engine",
     .key = "workload.mode",
     .shape = RULE_OTHER,
     .applies = is_serving,
     .broken = serving_broken,
     .also = {"stack"}},
    {.name = "one-loop",
     .key = "workload.request_rate",
     .shape = RULE_OTHER,
     .applies = is_serving,
     .broken = loop_broken,
     .also = {"workload.concurrency"}},
    {.name = "groups-hold-what-is-away",
     .key = "memory.offload_in_group",
     .shape = RULE_OTHER,
     .applies = engine_groups_layers,
     .broken = group_broken,
     .also = {"memory.offload_group"}},
    {.name = "draft-beside-model",
     .key = "workload.speculation.tokens",
     .shape = RULE_OTHER,
     .applies = plan_speculates,
     .broken = draft_broken,
     .also = {"workload.speculation.method", "workload.tokens_per_sequence"}},
    {.name = "draft-has-sizes",
     .key = "workload.speculation.layers",
     .shape = RULE_OTHER,
     .applies = plan_holds_draft,
     .broken = draft_size_broken,
     .also = {"workload.speculation.model", "parallel.tp"}},
    {.name = "replicas-are-dp",
     .key = "parallel.attention_dp",
     .shape = RULE_OTHER,
     .applies = has_replicas,
     .broken = replicas_broken,
     .also = {"parallel.tp", "parallel.pp"}},
    {.name = "capacity-positive",
     .key = "moe.capacity_factor",
     .shape = RULE_POSITIVE,
     .applies = reads_capacity,
     .a = REAL("capacity_factor", moe.capacity_factor),
     .hint = "1 is balanced, 1.25 usual"},
    {.name = "block-positive",
     .key = "moe.block_size",
     .shape = RULE_POSITIVE,
     .applies = reads_block,
     .a = MEMBER("block_size", moe.block_size),
     .hint = "rows of a block, 128 to 1024"},
    {.name = "chunk-positive",
     .key = "moe.chunk",
     .shape = RULE_POSITIVE,
     .applies = reads_chunk,
     .a = MEMBER("chunk", moe.chunk),
     .hint = "slots per expert and round"},
    {.name = "buffer-factor-positive",
     .key = "moe.buffer",
     .shape = RULE_POSITIVE,
     .applies = has_factor,
     .a = REAL("buffer", moe.buffer_factor),
     .hint = "1 is balanced"},
    {.name = "concentration-positive",
     .key = "moe.routing.concentration",
     .shape = RULE_POSITIVE,
     .applies = is_dirichlet,
     .a = REAL("concentration", moe.routing.concentration),
     .hint = "smaller is more skewed, 10 is mild"},
    {.name = "trace-has-file",
     .key = "moe.routing.distribution",
     .shape = RULE_OTHER,
     .broken = trace_broken},
    {.name = "placement-has-file",
     .key = "moe.routing.placement",
     .shape = RULE_OTHER,
     .broken = placement_broken},
    {.name = "save-has-names",
     .key = "recompute.kind",
     .shape = RULE_OTHER,
     .applies = is_training,
     .broken = save_broken,
     .also = {"recompute.save"}},
    {.name = "model-in-64-bits",
     .key = "model",
     .shape = RULE_OTHER,
     .broken = model_broken,
     .also = {"model.hidden", "model.moe.experts"}},
    {.name = "rows-in-64-bits",
     .key = "workload.micro_batch",
     .shape = RULE_OTHER,
     .broken = rows_broken,
     .also = {"workload.sequence_length", "model.moe.top_k"}},
    {.name = "tokens-in-32-bits",
     .key = "workload.micro_batch",
     .shape = RULE_OTHER,
     .applies = plan_is_routed,
     .broken = tokens_broken,
     .also = {"workload.sequence_length"}},
};

const struct rule_set rule_set_run = {rules, sizeof rules / sizeof *rules};
