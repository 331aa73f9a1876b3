/* See serve.h. */
#include "sim/serve/serve.h"

#include <math.h>

#include "base/checked.h"
#include "base/unit.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/paths.h"
#include "plan/speculation.h"

uint64_t serve_prompt(const struct plan *plan)
{
    uint64_t all = plan->workload.input_length, shared = plan->workload.shared_prefix;
    return all > shared ? all - shared : 1;
}

/* Prompts that a step's tokens hold, or a chunk of one; whole over the ranks that share a
 * sequence. */
static void fill_prefill(const struct plan *plan, uint64_t sequences, struct workload *w)
{
    uint64_t tokens = engine_tokens(plan);
    w->sequence_length =
        round_up(lesser(serve_prompt(plan), tokens), plan_sequence_ranks(plan));
    w->micro_batch = lesser(tokens / w->sequence_length, sequences);
    w->micro_batch = w->micro_batch ? w->micro_batch : 1;
}

uint64_t serve_batch(const struct plan *plan, uint64_t sequences)
{
    return ceil_div(sequences, plan->parallel.pp);
}

uint64_t serve_step_tokens(const struct plan *plan)
{
    return plan_speculates(plan) ? plan->workload.tokens_per_sequence : 1;
}

void serve_step_plan(const struct plan *plan, enum mode mode, uint64_t sequences,
                     struct plan *out)
{
    struct workload *w = &out->workload;
    *out = *plan;
    w->mode = mode;
    w->max_num_batched_tokens = engine_tokens(plan);
    w->max_num_seqs = engine_sequences(plan);
    w->context_length =
        plan->workload.input_length +
        (w->role == DUTY_PROMPTS ? 1 : plan->workload.output_length); /* it keeps no answer */
    w->tokens_per_sequence = serve_step_tokens(plan);
    w->queue = true;
    w->micro_batch = serve_batch(plan, sequences);
    out->parallel.batches = sequences < plan->parallel.pp ? sequences : 0;
    w->sequence_length = plan->workload.input_length;
    if (mode == MODE_PREFILL)
        fill_prefill(plan, sequences, w);
}

uint64_t serve_group(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    uint64_t n = p->ep * p->etp / (p->tp * p->cp);
    return n ? n : 1;
}

double serve_filler(const struct plan *plan)
{
    bool sglang = plan->stack.kind == STACK_SGLANG;
    if (sglang &&
        (path_reads(plan->moe.path, READS_DEEPEP) || plan->stack.graphs == GRAPHS_NONE))
        return 0;
    bool spread = plan->stack.kind == STACK_VLLM && plan->stack.random_dummies;
    return sglang || spread ? HUGE_VAL : 1 / (double)serve_group(plan);
}

uint64_t serve_routed(const struct plan *plan, uint64_t most, double sequences)
{
    double batch = (double)serve_batch(plan, most), group = (double)serve_group(plan);
    double mean = batch * sequences / (double)plan_dp(plan) / (double)most;
    if (mean < batch)
        mean = fmin(batch, mean + serve_filler(plan));
    double all = ceil(group * fmin(mean, batch) * (1 - 1e-9));
    return plan_is_routed(plan) ? (uint64_t)all * serve_step_tokens(plan) : 0;
}

void serve_timed_plan(const struct plan *plan, uint64_t sequences, struct plan *out)
{
    const struct workload *w = &plan->workload;
    double mean = 1 - w->length_spread / 2;
    serve_step_plan(plan, MODE_DECODE, sequences, out);
    out->workload.context_length =
        (uint64_t)(mean * ((double)w->input_length + (double)w->output_length / 2)) + 1;
}

/* Whole batches of what the cache holds; fewer than stages where it holds fewer sequences. */
static void hold(uint64_t sequences, struct plan *plan)
{
    uint64_t stages = engine_batches(plan), batch = sequences / stages;
    plan->workload.micro_batch = batch ? batch : 1;
    if (!batch)
        plan->parallel.batches = sequences ? sequences : 1;
}

/* Prompt tokens in flight, at most those of a step. */
static uint64_t prefilled(const struct plan *plan, const struct serving_report *pool)
{
    bool overflow = false, serves = plan->workload.mode == MODE_SERVE;
    uint64_t prompt = serves ? serve_prompt(plan) : pool->context_tokens;
    uint64_t most = pool->max_sequences;
    uint64_t sequences = serves ? lesser(plan_requests(plan), most) : most;
    uint64_t tokens = checked_mul(sequences, prompt, &overflow);
    return overflow ? pool->batched_tokens : lesser(tokens, pool->batched_tokens);
}

/* Of the memory that a prefill takes what SGLang's pool does not leave, which is sized without
 * a look at one; 0: it fits. Fewer tokens than a step's take less in proportion. */
static double runs_out(const struct plan *plan, const struct serving_report *pool)
{
    int64_t spare = serving_spare(plan, pool);
    if (!pool->cache_bytes || !pool->batched_tokens || spare >= 0)
        return 0;
    double full = (double)pool->activation_bytes;
    double over = full * (double)prefilled(plan, pool) / (double)pool->batched_tokens -
                  (full + (double)spare);
    return over > 0 ? over : 0;
}

const char *serve_refusal(const struct plan *plan, const struct serving_report *pool)
{
    if (!pool->present)
        return NULL;
    if (runs_out(plan, pool) > 0)
        return plan->workload.role == DUTY_ANSWERS
                   ? "a step takes more than its pool leaves"
                   : "a prefill takes more than its pool leaves";
    if (!engine_takes_fraction(plan) && !pool->cache_bytes) /* SGLang raises */
        return "nothing is left to its cache";
    if (!pool->sequences)
        return "its cache holds no sequence of the context";
    if (!engine_takes_fraction(plan))
        return NULL;
    uint64_t held =
        pool->weights_bytes + pool->activation_bytes + pool->outside_bytes + pool->graphs_bytes;
    uint64_t room = remaining(plan_usable_memory(plan), plan->memory.reserve_bytes);
    if (pool->given && pool->cache_bytes > remaining(room, held))
        return "the cache that it is given does not fit beside weights and a step";
    return NULL;
}

bool serve_takes(const struct plan *plan, const struct serving_report *pool)
{
    return !serve_refusal(plan, pool);
}

/* Its formula keeps memory for every attention replica and for a whole chunk of prompts,
 * without a bound: by 64 replicas, or chunks of 131,072, what is left is less than nothing, and
 * SGLang asks for the flag (mem_cache/kv_cache_configurator.py). */
static const char *own_fraction_text(const struct plan *plan, struct arena *arena)
{
    uint64_t replicas = plan_engine_replicas(plan), device = plan_rank_memory(plan);
    uint64_t kept = plan->stack.kind == STACK_SGLANG ? engine_sglang_kept(plan) : 0;
    if (plan->memory.fraction > 0 || (replicas < 2 && kept < device / 2) || !kept)
        return "";
    const char *of = arena_printf(arena, ": of %.1f GiB its own formula keeps %.1f for steps",
                                  (double)device / GIB, (double)kept / GIB);
    if (replicas < 2)
        return arena_printf(arena,
                            "%s and chunks of %llu tokens; give memory.fraction "
                            "(--mem-fraction-static), or fewer "
                            "workload.max_num_batched_tokens (--chunked-prefill-size)",
                            of, (unsigned long long)engine_sglang_chunk(plan));
    return arena_printf(
        arena,
        "%s and decode graphs of %llu sequences on %llu attention replicas; give "
        "memory.fraction (--mem-fraction-static), or a smaller stack.graph_batch "
        "(--cuda-graph-max-bs)",
        of, (unsigned long long)engine_sglang_graph_batch(plan), (unsigned long long)replicas);
}

bool serve_cuts(const struct plan *plan, const struct serving_report *pool)
{
    return !engine_takes_fraction(plan) && !pool->sequences && pool->cache_tokens > 1 &&
           pool->cache_tokens < pool->context_tokens && runs_out(plan, pool) <= 0;
}

uint64_t serve_longest(const struct plan *plan, const struct serving_report *pool)
{
    return remaining(pool->cache_tokens, plan->stack.kind == STACK_SGLANG);
}

/* Of engines that lower the longest request. */
static const char *engine_title(const struct plan *plan)
{
    return plan->stack.kind == STACK_SGLANG ? "SGLang" : "TensorRT-LLM";
}

uint64_t serve_fitted(const struct plan *plan, const struct serving_report *pool)
{
    bool decodes = plan->workload.mode == MODE_DECODE;
    if (!decodes || !plan->workload.fit_context || !engine_queues(plan) || !pool->present ||
        pool->sequences)
        return 0;
    uint64_t most =
        engine_takes_fraction(plan) ? pool->longest_tokens : serve_longest(plan, pool);
    return most < pool->context_tokens ? most : 0;
}

const char *serve_fitted_text(const struct plan *plan, const struct serving_report *pool,
                              struct arena *arena)
{
    unsigned long long asked = plan->workload.context_length, held = pool->context_tokens;
    if (!pool->present || plan->workload.mode != MODE_DECODE || held >= asked)
        return NULL;
    if (plan->stack.kind == STACK_VLLM)
        return arena_printf(arena,
                            "the cache holds no sequence of %llu tokens: vLLM fits "
                            "--max-model-len to it, %llu, and refuses longer requests",
                            asked, held);
    return arena_printf(arena,
                        "the cache holds no sequence of %llu tokens: %s takes requests of at "
                        "most %llu, refuses longer prompts and cuts longer answers",
                        asked, engine_title(plan), held);
}

static const char *cut_text(const struct plan *plan, const struct serving_report *pool,
                            struct arena *arena)
{
    return arena_printf(arena,
                        "its cache holds no request of %llu tokens: %s starts all the same, "
                        "takes requests of at most %llu, refuses longer prompts and cuts "
                        "longer answers",
                        (unsigned long long)pool->context_tokens, engine_title(plan),
                        (unsigned long long)serve_longest(plan, pool));
}

const char *serve_refusal_text(const struct plan *plan, const struct serving_report *pool,
                               struct arena *arena)
{
    if (serve_cuts(plan, pool))
        return cut_text(plan, pool, arena);
    const char *own = own_fraction_text(plan, arena);
    double over = runs_out(plan, pool);
    if (over > 0)
        return arena_printf(arena,
                            "the engine starts and runs out: a prefill of %llu tokens takes "
                            "%.2f GiB more than its pool leaves; a lower memory.fraction "
                            "(--mem-fraction-static), or fewer workload.max_num_batched_tokens "
                            "(--chunked-prefill-size)",
                            (unsigned long long)prefilled(plan, pool), over / GIB);
    if (!pool->cache_bytes && engine_takes_fraction(plan))
        return "the engine does not start: weights and a profile run leave nothing to its "
               "cache";
    if (!pool->cache_bytes)
        return arena_printf(arena,
                            "the engine does not start: %s leave%s nothing to its cache%s",
                            *own                               ? "its fraction"
                            : plan->stack.kind == STACK_TRTLLM ? "weights and a step"
                                                               : "weights",
                            *own ? "s" : "", own);
    return pool->sequences
               ? arena_printf(arena, "the engine does not start: %s%s",
                              serve_refusal(plan, pool), own)
               : arena_printf(arena,
                              "the engine does not start: its cache holds no sequence of %llu "
                              "tokens%s",
                              (unsigned long long)pool->context_tokens, own);
}

/* In flight in all replicas; in an open loop nobody knows before it is played. */
uint64_t serve_timed_tokens(const struct plan *plan, uint64_t sequences)
{
    double most = (double)sequences * (double)plan_dp(plan);
    double n = plan_arrives(plan) ? most : fmin((double)plan->workload.concurrency, most);
    return serve_routed(plan, sequences, n);
}

/* The pool of a decode step of so many sequences, all batches of them. */
static enum status size_pool(const struct plan *decode, uint64_t sequences,
                             struct serving_report *pool, struct err *err)
{
    struct arena arena = {0};
    struct plan step = *decode;
    step.workload.max_num_seqs = engine_sequences(decode);
    hold(sequences, &step);
    enum status status = serving_of(&step, &arena, pool, err);
    arena_release(&arena);
    return status;
}

/* The pool of a decode step, and as many of its sequences as that holds. Low-latency buffers
 * are made for the step's tokens and leave the less to the pool: the most sequences whose own
 * buffers leave room for them, not what is left beside buffers of sequences that wait. */
static enum status fill_pool(const struct plan *decode, struct arena *arena,
                             struct serving_report *pool, struct err *err)
{
    uint64_t asked = decode->workload.micro_batch * engine_batches(decode), least, most;
    TRY(serving_of(decode, arena, pool, err));
    if (!pool->present || pool->running >= asked ||
        !path_reads(decode->moe.path, READS_DISPATCH_TOKENS))
        return STATUS_OK;
    least = pool->running;
    TRY(size_pool(decode, least, pool, err));
    most = lesser(pool->running, asked);
    while (least < most) {
        uint64_t tried = least + (most - least + 1) / 2;
        TRY(size_pool(decode, tried, pool, err));
        least = pool->running >= tried ? tried : least;
        most = pool->running >= tried ? most : tried - 1;
    }
    TRY(size_pool(decode, least, pool, err));
    pool->running = least;
    return STATUS_OK;
}

/* Its pool, and the plan, or in `room` that of sequences as long as the pool holds. */
static enum status fit_pool(const struct plan **plan, struct plan *room,
                            struct serving_report *pool)
{
    struct arena arena = {0};
    struct err err = {0};
    bool decodes = (*plan)->workload.mode == MODE_DECODE;
    enum status status = (decodes ? fill_pool : serving_of)(*plan, &arena, pool, &err);
    uint64_t fitted = status == STATUS_OK ? serve_fitted(*plan, pool) : 0;
    if (fitted) {
        *room = **plan;
        room->workload.context_length = fitted;
        *plan = room;
        status = fill_pool(*plan, &arena, pool, &err);
    }
    arena_release(&arena);
    return status;
}

const struct plan *serve_held(const struct plan *plan, struct plan *room,
                              enum serve_start *start)
{
    struct serving_report pool = {0};
    enum serve_start unasked;
    bool decodes = plan->workload.mode == MODE_DECODE;
    bool asked = engine_queues(plan) && (decodes || start);
    start = start ? start : &unasked;
    *start = SERVE_TAKES;
    if (!asked)
        return plan;
    enum status status = fit_pool(&plan, room, &pool);
    *start = status == STATUS_OK ? SERVE_TAKES : SERVE_UNSIZED;
    if (status != STATUS_OK || !pool.present)
        return plan;
    *start = serve_takes(plan, &pool) ? SERVE_TAKES : SERVE_REFUSES;
    if (!decodes || pool.running >= plan->workload.micro_batch * engine_batches(plan))
        return plan;
    if (plan != room)
        *room = *plan;
    room->workload.max_num_seqs = engine_sequences(plan); /* sizes the pool as before */
    hold(pool.running, room);
    return room;
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
    TRY(fill_pool(&decode, arena, &pool, err));
    load->takes = serve_takes(plan, &pool);
    if (pool.present && pool.running < decode.workload.micro_batch * engine_batches(&decode)) {
        hold(pool.running, &decode);
        load->slots = load->sequences;
        load->cache_tokens = remaining(pool.running_tokens, plan->workload.shared_prefix);
        load->sequences = decode.workload.micro_batch * engine_batches(&decode);
        load->capped = "the cache";
    }
    return STATUS_OK;
}
