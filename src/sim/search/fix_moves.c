/* The changes that are tried; see fix_parts.h. A change whose values are words is a row of the
 * table below; axes of the layout are counted up. */
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/schema/schema.h"
#include "sim/search/fix_parts.h"
#include "sim/serve/serve.h"
#include "work/list/dtype.h"
#include "work/piece/lora.h"
#include "work/stack/stack.h"

enum { VALUES_MAX = 8, AXIS_PP_MAX = 32, AXIS_NODE_MAX = 16, CONTEXT_MIN = 1024 };

/* ---- when a row applies: to the plan as it is, `changed` being it with the row's value ----
 */

typedef bool (*applies)(const struct plan *plan, const struct plan *changed);

static bool trains(const struct plan *plan, const struct plan *changed)
{
    (void)changed;
    return plan->workload.mode == MODE_TRAIN;
}

static bool infers(const struct plan *plan, const struct plan *changed)
{
    (void)changed;
    return plan->workload.mode != MODE_TRAIN;
}

/* Whether an engine's pool leaves a full step its memory: the pool itself is no peak of it. */
static bool leaves_steps(const struct plan *plan)
{
    struct arena arena = {0};
    struct err err = {0};
    struct serving_report pool = {0};
    bool leaves =
        serving_of(plan, &arena, &pool, &err) == STATUS_OK && serving_spare(plan, &pool) >= 0;
    arena_release(&arena);
    return leaves;
}

static bool takes_more(const struct plan *plan, const struct plan *changed)
{
    bool own = plan->stack.kind == STACK_SGLANG;
    double before = own ? engine_fraction(plan) : plan_memory_fraction(plan);
    return changed->memory.fraction > before && (!own || leaves_steps(changed));
}

/* Where its own fraction or the given one leaves a full prefill too little. */
static bool takes_less(const struct plan *plan, const struct plan *changed)
{
    return plan->stack.kind == STACK_SGLANG &&
           changed->memory.fraction < engine_fraction(plan) && !leaves_steps(plan);
}

static bool reads_fewer(const struct plan *plan, const struct plan *changed)
{
    return infers(plan, changed) && plan_is_engine(plan) && engine_queues(plan) &&
           engine_tokens(changed) < engine_tokens(plan);
}

/* Where SGLang's own fraction keeps memory for every graph of every attention replica. */
static bool captures_fewer(const struct plan *plan, const struct plan *changed)
{
    return plan->stack.kind == STACK_SGLANG &&
           changed->stack.graph_batch < engine_sglang_graph_batch(plan) &&
           engine_fraction(changed) > engine_fraction(plan);
}

static bool is_skewed(const struct plan *plan, const struct plan *changed)
{
    (void)changed;
    return plan->moe.routing.distribution != DISTRIBUTION_UNIFORM && plan->parallel.ep > 1 &&
           plan->moe.routing.placement != PLACEMENT_TABLE;
}

static bool has_slots(const struct plan *plan)
{
    return path_reads(stack_path(plan, NULL), READS_CAPACITY_FACTOR);
}

static bool takes_path(const struct plan *plan, const struct plan *changed)
{
    return stack_path(plan, NULL) != stack_path(changed, NULL);
}

static bool takes_slots(const struct plan *plan, const struct plan *changed)
{
    return takes_path(plan, changed) ||
           changed->moe.capacity_factor < plan->moe.capacity_factor;
}

static bool takes_fewer_slots(const struct plan *plan, const struct plan *changed)
{
    return has_slots(plan) && changed->moe.capacity_factor < plan->moe.capacity_factor;
}

static bool has_buffer(const struct plan *plan, const struct plan *changed)
{
    (void)changed;
    return !has_slots(plan) && plan->moe.buffer != SIZING_FACTOR &&
           stack_sizing(plan) != SIZING_BALANCED;
}

static bool has_worst_buffer(const struct plan *plan, const struct plan *changed)
{
    return has_buffer(plan, changed) && stack_sizing(plan) == SIZING_WORST;
}

static unsigned recomputed(enum recompute kind)
{
    static const unsigned least_first[] = {[RECOMPUTE_NONE] = 0,
                                           [RECOMPUTE_SELECTIVE] = 1,
                                           [RECOMPUTE_SAVE] = 2, /* all but what is named */
                                           [RECOMPUTE_FULL] = 3};
    return least_first[kind];
}

static bool recomputes_more(const struct plan *plan, const struct plan *changed)
{
    return trains(plan, changed) &&
           recomputed(plan->recompute.kind) < recomputed(changed->recompute.kind);
}

static bool offloads(const struct plan *plan, const struct plan *changed)
{
    return trains(plan, changed) && plan_is_megatron(plan) && plan->recompute.offload.n == 0 &&
           plan->recompute.kind != RECOMPUTE_FULL;
}

/* torchtitan's stages keep them whatever it is told. */
static bool waits_whole(const struct plan *plan, const struct plan *changed)
{
    bool told = plan->precision.accumulated != ACCUMULATED_AUTO;
    return trains(plan, changed) && stack_accumulates_in(plan) != DTYPE_NONE &&
           (told || plan->stack.kind == STACK_FSDP);
}

static bool offloads_states(const struct plan *plan, const struct plan *changed)
{
    return trains(plan, changed) && plan->optimizer.offload == 0 && !plan_is_megatron(plan) &&
           stack_offloads(changed);
}

/* Beside a base in few bits. */
static bool leaves_experts(const struct plan *plan, const struct plan *changed)
{
    return lora_expert_format(plan) != lora_expert_format(changed);
}

/* Beside adapters the base is read alone: in 16 bits, and under its quantisation in 4. */
static bool freezes_base(const struct plan *plan, const struct plan *changed)
{
    return trains(plan, changed) && lora_is_on(plan);
}

static bool shards_more(const struct plan *plan, const struct plan *changed)
{
    return trains(plan, changed) && changed->parallel.zero > plan->parallel.zero;
}

static bool gives_way(const struct plan *plan, const struct plan *changed)
{
    const struct colocated *c = &plan->workload.colocated;
    return trains(plan, changed) && c->engine == ENGINE_ASLEEP && c->away.n == 0;
}

/* ---- the table ---- */

static const char swaps_software[] = "the layer's rows are moved by another dispatcher";
static const char changes_drops[] = "rows above a fixed capacity are dropped";
static const char other_weights[] = "another checkpoint";
static const char steps_on_host[] = "the host keeps the optimizer's states and steps";
static const char recomputes[] = "backward runs the forward again";

/* A key's values, smallest change first. A value that holds '=' is the whole set. */
static const struct move_row {
    const char *key;
    const char *values[VALUES_MAX];
    enum fix_kind kind;
    applies applies;
    const char *note;
    bool all; /* every value is a change of its own (paths), not a step of a scale */
} rows[] = {
    {"memory.fraction",
     {"0.7", "0.8", "0.85", "0.9", "0.94", "0.95", "0.96"},
     FIX_FREE,
     takes_more,
     "less is left for what the stack does not count",
     false},
    {"memory.fraction",
     {"0.95", "0.92", "0.9", "0.88", "0.85", "0.8"},
     FIX_FREE,
     takes_less,
     "a smaller pool leaves a full prefill its memory",
     false},
    {"workload.max_num_batched_tokens",
     {"32768", "16384", "8192", "4096", "2048"},
     FIX_THROUGHPUT,
     reads_fewer,
     "prompts are read in smaller steps",
     false},
    {"stack.graph_batch",
     {"256", "128", "64"},
     FIX_THROUGHPUT,
     captures_fewer,
     "steps of more sequences run without graphs",
     false},
    {"moe.routing.placement",
     {"strided", "eplb"},
     FIX_FREE,
     is_skewed,
     "experts stand on other ranks, the router is unchanged",
     true},
    {"moe.matmul", {"grouped"}, FIX_FREE, NULL, "no masked expansion of the rows", false},
    {"moe.path",
     {"ragged_a2a", "deepep", "allgather"},
     FIX_FREE,
     takes_path,
     swaps_software,
     true},
    {"moe.path", {"capacity"}, FIX_NUMERICS, takes_slots, changes_drops, true},
    {"moe.buffer",
     {"exact"},
     FIX_THROUGHPUT,
     has_worst_buffer,
     "the host waits for the row counts of every layer",
     false},
    {"moe.buffer",
     {"2", "1.5", "1.25"},
     FIX_NUMERICS,
     has_buffer,
     "holds so many times the mean: a fuller rank drops rows or stops",
     false},
    {"moe.capacity_factor",
     {"2", "1.5", "1.25", "1"},
     FIX_NUMERICS,
     takes_fewer_slots,
     changes_drops,
     false},
    {"recompute.kind",
     {"selective", "full"},
     FIX_THROUGHPUT,
     recomputes_more,
     recomputes,
     false},
    {"recompute.modules",
     {"recompute.kind=selective recompute.modules=[moe_act]",
      "recompute.kind=selective recompute.modules=[core_attn,moe_act,layernorm]",
      "recompute.kind=selective recompute.modules=[core_attn,moe,layernorm]"},
     FIX_THROUGHPUT,
     recomputes_more,
     "backward runs these modules again",
     false},
    {"recompute.offload",
     {"recompute.offload=[expert_fc1]", "recompute.offload=[expert_fc1,moe_act]",
      "recompute.offload=[attn_norm,qkv_linear,core_attn,attn_proj,mlp_norm,expert_fc1,moe_"
      "act]"},
     FIX_THROUGHPUT,
     offloads,
     "activations wait in host memory",
     false},
    {"precision.accumulated",
     {"none"},
     FIX_THROUGHPUT,
     waits_whole,
     "every micro-batch's gradients are reduced (sync_each_batch: true)",
     false},
    {FIX_OFFLOAD,
     {"1", "optimizer.offload=1 optimizer.offload_params=true"},
     FIX_THROUGHPUT,
     offloads_states,
     steps_on_host,
     false},
    {"workload.colocated.away",
     {"[states]", "[weights,states]"},
     FIX_THROUGHPUT,
     gives_way,
     "they wait in host memory while the engine generates",
     false},
    {"parallel.zero",
     {"1", "2", "3"},
     FIX_LAYOUT,
     shards_more,
     "shared out over the data-parallel ranks",
     false},
    {"precision.moments", {"bf16"}, FIX_NUMERICS, trains, "moments of 16 bits", false},
    {"precision.gradients", {"bf16"}, FIX_NUMERICS, trains, "gradients of 16 bits", false},
    {"precision.weights",
     {"fp8", "fp8_block", "mxfp4"},
     FIX_NUMERICS,
     infers,
     other_weights,
     true},
    {"precision.weights",
     {"bf16", "nf4"},
     FIX_NUMERICS,
     freezes_base,
     "the frozen base in fewer bits",
     true},
    {"lora.experts",
     {"quantised"},
     FIX_NUMERICS,
     leaves_experts,
     "stacked experts in few bits, too (axolotl's quantize_moe_experts)",
     false},
    {"precision.kv_cache", {"fp8"}, FIX_NUMERICS, infers, "a cache of 8 bits", false},
};

static void add_move(struct fix_moves *moves, struct fix_move move)
{
    if (moves->n == FIX_MOVES)
        return;
    if (!move.field)
        fix_resolve(&move);
    moves->list[moves->n++] = move;
}

/* A change of bytes per element must make it smaller; of any word, change it. */
static bool is_change(const struct plan *plan, const struct plan *changed,
                      const struct field *field)
{
    if (schema_is_list(field))
        return true;
    double before = schema_number(field, plan), after = schema_number(field, changed);
    if (text_starts(field->key, "precision.") && field->words == words_dtype)
        return dtype_bits((enum dtype)after) < dtype_bits((enum dtype)before);
    return before != after || field->number;
}

static void list_row(const struct plan *plan, struct arena *arena, const struct move_row *row,
                     struct fix_moves *moves)
{
    const struct field *field = schema_find(row->key);
    enum fix_kind kind = row->kind;
    for (size_t i = 0; i < VALUES_MAX && row->values[i]; i++) {
        const char *value = row->values[i];
        struct fix_move move = {row->key, value, row->note, kind, NULL};
        struct plan changed;
        if (!strchr(value, '='))
            move.set = arena_printf(arena, "%s=%s", row->key, value);
        move.field = strchr(value, '=') ? NULL : field;
        if (row->all) /* no value of the row is a step towards another */
            move.key = move.set;
        if (!fix_apply(plan, &move, 1, &changed) || !is_change(plan, &changed, field) ||
            (row->applies && !row->applies(plan, &changed)))
            continue;
        if (has_slots(plan) != has_slots(&changed)) {
            move.kind = FIX_NUMERICS;
            move.note = has_slots(plan) ? "rows that were dropped are computed" : row->note;
        }
        add_move(moves, move);
    }
}

/* ---- axes of the layout ---- */

/* Layers of each stage when the first and the last, which hold the embedding and the head, get
 * fewer; NULL when a stage would be empty. */
static const char *lighter_ends(const struct plan *plan, uint64_t stages, struct arena *arena)
{
    struct text text = {.arena = arena};
    uint64_t layers = plan->model.layers, inner = (layers + 2 + stages - 1) / stages;
    uint64_t between = inner * (stages - 2);
    if (stages < 2 || layers < between + 2)
        return NULL;
    uint64_t ends = layers - between;
    text_printf(&text, "[%llu", (unsigned long long)(ends - ends / 2));
    for (uint64_t i = 2; i < stages; i++)
        text_printf(&text, ",%llu", (unsigned long long)inner);
    text_printf(&text, ",%llu]", (unsigned long long)(ends / 2));
    return text_string(&text);
}

static void list_pipeline(const struct plan *plan, struct arena *arena, uint64_t stages,
                          struct fix_moves *moves)
{
    const char *set = arena_printf(arena, "parallel.pp=%llu", (unsigned long long)stages);
    const char *split = plan->parallel.vpp == 1 ? lighter_ends(plan, stages, arena) : NULL;
    if (stages > plan->parallel.pp)
        add_move(moves,
                 (struct fix_move){"parallel.pp", set, "pipeline stages", FIX_LAYOUT, NULL});
    if (!split)
        return;
    const char *stage_set = arena_printf(arena, "parallel.stages=%s", split);
    if (stages > plan->parallel.pp)
        stage_set = arena_printf(arena, "%s %s", set, stage_set);
    add_move(moves,
             (struct fix_move){"parallel.pp", stage_set,
                               "fewer layers beside embedding and head", FIX_LAYOUT, NULL});
}

/* Twice the present value, and so on up to a limit. */
static void list_scale(struct arena *arena, const char *key, uint64_t present, uint64_t limit,
                       const char *note, enum fix_kind kind, struct fix_moves *moves)
{
    for (uint64_t value = 2 * present; value && value <= limit; value *= 2)
        add_move(moves, (struct fix_move){
                            key, arena_printf(arena, "%s=%llu", key, (unsigned long long)value),
                            note, kind, NULL});
}

static void list_axis(struct arena *arena, const char *key, uint64_t present, uint64_t limit,
                      const char *note, struct fix_moves *moves)
{
    list_scale(arena, key, present, limit, note, FIX_LAYOUT, moves);
}

/* Where full recomputation leaves some layers of a stage alone: of more of them, and of all. */
static void list_recomputed(const struct plan *plan, struct arena *arena,
                            struct fix_moves *moves)
{
    static const char key[] = "recompute.layers";
    uint64_t layers = plan->recompute.layers, all = plan->model.layers / plan->parallel.pp;
    if (plan->workload.mode != MODE_TRAIN || plan->recompute.kind != RECOMPUTE_FULL || !layers)
        return;
    list_scale(arena, key, layers, remaining(all, 1), recomputes, FIX_THROUGHPUT, moves);
    add_move(moves,
             (struct fix_move){key, "recompute.layers=0", recomputes, FIX_THROUGHPUT, NULL});
}

static void add_context(uint64_t tokens, struct arena *arena, struct fix_moves *moves)
{
    static const char key[] = "workload.context_length";
    const char *set = arena_printf(arena, "%s=%llu", key, (unsigned long long)tokens);
    add_move(moves,
             (struct fix_move){key, set, "shorter requests at most", FIX_NUMERICS, NULL});
}

static bool holds(const struct plan *plan, uint64_t tokens, struct arena *arena)
{
    struct plan *shorter = arena_alloc(arena, 1, sizeof *shorter);
    struct serving_report pool = {0};
    struct err err = {0};
    *shorter = *plan;
    shorter->workload.context_length = tokens;
    return serving_of(shorter, arena, &pool, &err) == STATUS_OK && serve_takes(plan, &pool);
}

/* Of a vLLM whose cache holds none of the context the longest that it does, which it looks for
 * by halves, too (v1/core/kv_cache_utils.py, estimate_max_model_len): windows are held but
 * once. The others say what they take. 0: none. */
static uint64_t longest_context(const struct plan *plan)
{
    struct arena arena = {0};
    struct serving_report pool = {0};
    struct err err = {0};
    uint64_t least = 0, most = plan->workload.context_length;
    bool sized = serving_of(plan, &arena, &pool, &err) == STATUS_OK && pool.present;
    if (!sized || pool.sequences)
        most = 0;
    else if (!engine_takes_fraction(plan))
        least = most = serve_longest(plan, &pool);
    while (most > least + 1) {
        uint64_t tried = least + (most - least) / 2;
        *(holds(plan, tried, &arena) ? &least : &most) = tried;
    }
    arena_release(&arena);
    return least;
}

/* A context of as much as the cache holds, or by halves, where an engine takes none that it
 * does not hold. */
static void list_contexts(const struct plan *plan, struct arena *arena, struct fix_moves *moves)
{
    const struct workload *w = &plan->workload;
    if (w->mode != MODE_DECODE || !engine_queues(plan))
        return;
    uint64_t longest = longest_context(plan);
    if (longest >= CONTEXT_MIN && longest < w->context_length)
        add_context(longest, arena, moves);
    for (uint64_t n = w->context_length / 2; n >= CONTEXT_MIN; n /= 2)
        add_context(n, arena, moves);
}

/* Megatron's, with what has to be set beside it (stack_offloads). */
static void list_offload(const struct plan *plan, struct arena *arena, struct fix_moves *moves)
{
    const char *set = arena_printf(
        arena, "%s=1%s%s", FIX_OFFLOAD,
        plan->optimizer.aware == AWARE_NONE ? " optimizer.precision_aware=native" : "",
        plan->parallel.zero ? "" : " parallel.zero=1");
    struct fix_move move = {FIX_OFFLOAD, set, steps_on_host, FIX_THROUGHPUT, NULL};
    struct plan changed;
    if (plan->workload.mode == MODE_TRAIN && plan_is_megatron(plan) &&
        plan->optimizer.offload == 0 && fix_apply(plan, &move, 1, &changed))
        add_move(moves, move);
}

struct fix_moves *fix_moves_but(const struct fix_moves *moves, const char *key,
                                struct arena *arena)
{
    struct fix_moves *others = arena_alloc(arena, 1, sizeof *others);
    for (size_t i = 0; i < moves->n; i++)
        if (strcmp(moves->list[i].key, key) != 0)
            others->list[others->n++] = moves->list[i];
    return others;
}

void fix_list_moves(const struct plan *plan, struct arena *arena, struct fix_moves *moves)
{
    const struct parallel *p = &plan->parallel;
    uint64_t world = plan_world(plan);
    moves->n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        list_row(plan, arena, &rows[i], moves);
    list_recomputed(plan, arena, moves);
    list_contexts(plan, arena, moves);
    list_offload(plan, arena, moves);
    list_axis(arena, "parallel.ep", p->ep, world, "fewer experts a rank", moves);
    list_axis(arena, "parallel.etp", p->etp, AXIS_NODE_MAX, "experts split over ranks", moves);
    list_axis(arena, "parallel.tp", p->tp, AXIS_NODE_MAX, "attention split over ranks", moves);
    list_axis(arena, "parallel.cp", p->cp, AXIS_NODE_MAX, "sequences split over ranks", moves);
    for (uint64_t pp = p->pp; pp <= AXIS_PP_MAX && pp <= world; pp *= 2)
        list_pipeline(plan, arena, pp, moves);
}
