/* See serve.h. */
#include "sim/serve/serve.h"

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "sim/serve/serving.h"

/* Prompts that a step's tokens hold, or a chunk of one; whole over the ranks that share a
 * sequence. */
static void fill_prefill(const struct plan *plan, uint64_t sequences, struct workload *w)
{
    uint64_t tokens = engine_tokens(plan), prompt = plan->workload.input_length;
    prompt = prompt > plan->workload.shared_prefix ? prompt - plan->workload.shared_prefix : 1;
    w->sequence_length = round_up(lesser(prompt, tokens), plan_sequence_ranks(plan));
    w->micro_batch = lesser(tokens / w->sequence_length, sequences);
    w->micro_batch = w->micro_batch ? w->micro_batch : 1;
}

void serve_step_plan(const struct plan *plan, enum mode mode, uint64_t sequences,
                     struct plan *out)
{
    struct workload *w = &out->workload;
    *out = *plan;
    w->mode = mode;
    w->max_num_batched_tokens = engine_tokens(plan);
    w->max_num_seqs = engine_sequences(plan);
    w->context_length = plan->workload.input_length + plan->workload.output_length;
    w->tokens_per_sequence = 1;
    w->micro_batch = sequences;
    w->sequence_length = plan->workload.input_length;
    if (mode == MODE_PREFILL)
        fill_prefill(plan, sequences, w);
}

enum status serve_load_of(const struct plan *plan, struct arena *arena, struct serve_load *load,
                          struct err *err)
{
    struct plan decode;
    struct serving_report pool;
    uint64_t requests = plan_requests(plan), most = engine_sequences(plan);
    *load = (struct serve_load){.replicas = plan_dp(plan), .requests = requests};
    load->sequences = lesser(requests, most);
    load->capped = most < requests ? "max_num_seqs" : NULL;
    serve_step_plan(plan, MODE_DECODE, load->sequences, &decode);
    TRY(serving_of(&decode, arena, &pool, err));
    if (pool.present && pool.sequences < load->sequences) {
        load->sequences = pool.sequences ? pool.sequences : 1;
        load->capped = "the cache";
    }
    return STATUS_OK;
}
