/* See shaped_plan.h. */
#include "support/draws.h"
#include "support/shaped_plan.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "base/unit.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "support/random_plan.h"
#include "work/stack/stack.h"

/* Values a key is drawn from, separated by blanks; a repeated one is more likely. */
static const struct choice {
    const char *key, *values;
} choices[] = {
    {"model.hidden", "64 512"},
    {"model.dense_layers", "2 0 8"},
    {"model.residual_intermediate", "0 0 32"},
    {"model.mtp_layers", "0 1"},
    {"model.mtp_enabled", "false true"},
    {"model.attention.qk_norm", "false true"},
    {"model.moe.shared_experts", "0 1 2"},
    {"model.moe.shared_intermediate", "0 32 48"},
    {"model.moe.router.bias", "false true"},
    {"model.moe.router.groups", "1 4"},
    {"model.moe.router.top_groups", "1 2"},
    {"cluster.device.peak.f32", "0 5e13"},
    {"cluster.device.peak.fp8", "0 2e14"},
    {"cluster.wrap", "false true"},
    {"cluster.mesh", "[] [4,2]"},
    {"stack.fragmentation", "0 0.1"},
    {"stack.static_shapes", "false true"},
    {"stack.relax", "1 1 0.000001"},
    {"stack.attention", "flash unfused"},
    {"stack.cross_entropy", "f32 in_place"},
    {"stack.compiled", "false true"},
    {"stack.wgrad_placeholders", "false true"},
    {"stack.grad_copies", "0 2"},
    {"workload.mode", "train prefill decode"},
    {"workload.micro_batch", "1 2 4"},
    {"workload.global_batch", "0 16"},
    {"workload.tokens_per_step", "0 256 512 1024"},
    {"workload.steps", "1000 2"},
    {"workload.scenario", "steady steady cold burst profile_run"},
    {"parallel.tp", "1 2"},
    {"parallel.pp", "1 2"},
    {"parallel.vpp", "1 2"},
    {"parallel.cp", "1 1 2"},
    {"parallel.ep", "1 2 4"},
    {"parallel.etp", "1 1 2"},
    {"parallel.zero", "0 1 2 3"},
    {"parallel.sp", "false true"},
    {"parallel.schedule", "1f1b interleaved zero_bubble dualpipe gpipe"},
    {"moe.path",
     "auto auto capacity ragged_dot ragged_a2a deepep deepep deepep_ll rdep blockwise "
     "blockwise selective all_experts masked expert_loop chunked_a2a allgather "
     "block_sparse"},
    {"moe.capacity_scope", "sequence batch"},
    {"moe.block_size", "16 32"},
    {"moe.buffer", "auto worst exact balanced 1.5"},
    {"moe.matmul", "grouped ragged_dot megablox"},
    {"moe.cores", "0 1 2"},
    {"moe.shard", "h i block"},
    {"moe.skip.token", "false true"},
    {"moe.skip.weight", "none ping_pong hi_lo"},
    {"moe.skip.dynamic", "false true true"},
    {"moe.sync_free", "0 1 2 3"},
    {"moe.library", "auto deepep deepep_v2 primus primus_jax hybrid_ep mega mega_deepgemm "
                    "minimal_async"},
    {"moe.redundant_experts", "0 0 4"},
    {"moe.shared", "auto sp tp"},
    {"moe.dedup", "true false"},
    {"moe.overlap", "false true"},
    {"moe.alignment", "0 8"},
    {"moe.routing.distribution", "uniform zipf lognormal dirichlet hot_rank"},
    {"moe.routing.placement", "contiguous strided eplb"},
    {"precision.master", "none f32"},
    {"precision.weights", "bf16 fp8 fp8_block mxfp4"},
    {"precision.activations", "bf16 bf16 fp8"},
    {"precision.dispatch", "bf16 fp8 fp8_block"},
    {"precision.compute", "bf16 fp8 f32 f32x3"},
    {"recompute.kind", "none selective full"},
    {"memory.fraction", "0 0.8"},
    {"block.kind",
     "moe moe moe moe allreduce_matmul reduce_scatter_matmul allgather_matmul mlp"},
};

enum { VALUE = 32 };

static void pick(struct rng *rng, const char *values, char value[VALUE])
{
    uint64_t n = 1;
    for (const char *at = values; *at; at++)
        n += *at == ' ';
    for (uint64_t skip = rng_below(rng, n); skip > 0; skip--)
        values = strchr(values, ' ') + 1;
    size_t length = strcspn(values, " ");
    assert(length < VALUE);
    memcpy(value, values, length);
    value[length] = '\0';
}

static void set(struct plan *plan, const char *key, const char *value)
{
    struct err err = {0};
    enum status status =
        schema_set(schema_find(key), plan, value, false, (struct mark){0}, &err);
    assert(status == STATUS_OK);
    (void)status;
}

/* Keeps a value only where all rules still hold; of the value that is there nobody asks. */
static void draw(struct rng *rng, const struct choice *choice, struct plan *plan)
{
    char value[VALUE];
    struct plan changed = *plan;
    pick(rng, choice->values, value);
    set(&changed, choice->key, value);
    if (memcmp(&changed, plan, sizeof changed) != 0 && plan_is_complete(&changed) &&
        rule_check_layout(&changed) && rule_check_run(&changed))
        *plan = changed;
}

/* Names of tensors to keep, of the stacks that take them; recompute.kind then stays. */
static void keep_named(struct rng *rng, enum stack_kind stack, struct plan *plan)
{
    if (rng_below(rng, 3))
        return;
    plan->recompute.kind = RECOMPUTE_SAVE;
    set(plan, "recompute.save", stack == STACK_MAXTEXT ? "[context]" : "[layer_input]");
}

/* Layers of several types in a third of the plans, their sizes in all. */
static void draw_layers(struct rng *rng, struct model *model)
{
    static const struct enum_list lists[] = {
        {2, {LAYER_WINDOW, LAYER_FULL}},
        {2, {LAYER_CHUNK, LAYER_FULL}},
        {2, {LAYER_LINEAR, LAYER_FULL}},
        {1, {LAYER_LINEAR}},
    };
    bool scan = rng_below(rng, 3) == 0;
    model->attention.window = model->attention.chunk = 4;
    model->linear = (struct linear){.kind = scan ? LINEAR_MAMBA1 : LINEAR_GATED_DELTA_NET,
                                    .heads = scan ? 1 : 4,
                                    .head_dim = scan ? 64 : 8,
                                    .key_heads = scan ? 1 : 4,
                                    .key_dim = 8,
                                    .conv = 4,
                                    .rank = 8,
                                    .chunk = 16,
                                    .state = DTYPE_BF16};
    model->indexer.head_dim = 8;
    model->indexer.top_k = 4;
    if (rng_below(rng, 3) == 0)
        model->layer_types = lists[rng_below(rng, sizeof lists / sizeof *lists)];
}

/* One head that is key and value, with entries beside windows, in a quarter of the plans of
 * stacks that have it, all that is beside it in a model in half of those. */
static void share_kv(struct rng *rng, struct plan *plan)
{
    struct attention *a = &plan->model.attention;
    enum stack_kind stack = plan->stack.kind;
    bool has = stack == STACK_GENERIC || stack == STACK_VLLM || stack == STACK_SGLANG;
    if (!has || rng_below(rng, 4))
        return;
    *a = (struct attention){.kind = ATTENTION_SHARED_KV,
                            .heads = a->heads,
                            .head_dim = 8,
                            .q_lora_rank = 16,
                            .qk_rope_head_dim = 4,
                            .sinks = true,
                            .window = 4,
                            .csa_ratio = 4,
                            .hca_ratio = 8,
                            .o_groups = 4,
                            .o_lora_rank = 8};
    plan->model.layer_types = (struct enum_list){3, {LAYER_WINDOW, LAYER_CSA, LAYER_HCA}};
    plan->model.indexer.heads = 4;
    plan->model.residual_streams = 1 + 3 * rng_below(rng, 2);
    uint64_t drawn = rng_below(rng, 16);
    plan->model.moe.hash_layers = drawn >> 3;
    if (drawn & 1)
        return;
    a->entry_keys = drawn >> 1 & 1; /* entries that later layers read */
    plan->model.layer_types = (struct enum_list){
        6,
        {LAYER_CSA, LAYER_CSA_REUSE, LAYER_TSA, LAYER_TSA_CHOOSE, LAYER_TSA_REUSE, LAYER_HCA}};
    plan->model.indexer.candidates = 8 * (drawn >> 2 & 1);
}

/* Kimi's recurrence in half of the plans, with either gate; experts on latent rows in a
 * quarter, where the stack has them. */
static void draw_kimi(struct rng *rng, struct plan *plan)
{
    struct linear *linear = &plan->model.linear;
    struct model_moe *moe = &plan->model.moe;
    enum stack_kind stack = plan->stack.kind;
    bool kimi = rng_below(rng, 2) && linear->kind != LINEAR_MAMBA1, full = rng_below(rng, 2);
    bool latent = rng_below(rng, 4) == 0 && stack != STACK_MAXTEXT && stack != STACK_NXD;
    bool norm = rng_below(rng, 2) && stack != STACK_HOST;
    if (kimi) {
        linear->kind = LINEAR_KIMI_DELTA;
        linear->full_rank_gate = full;
        linear->full_rank_decay = full && norm;
    }
    if (latent) {
        moe->latent_size = plan->model.hidden / 2;
        moe->latent_norm = norm;
    }
}

/* Layers that choose blocks, in a quarter of the plans of stacks that have them. */
static void choose_blocks(struct rng *rng, struct plan *plan)
{
    enum stack_kind stack = plan->stack.kind;
    static const enum stack_kind stacks[] = {STACK_GENERIC, STACK_FSDP,   STACK_DEEPSPEED,
                                             STACK_VLLM,    STACK_SGLANG, STACK_HOST};
    struct model *model = &plan->model;
    bool has = false;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        has |= plan->stack.kind == stacks[i];
    if (rng_below(rng, 4) || !has || model->attention.kind != ATTENTION_GQA)
        return;
    model->layer_types = (struct enum_list){2, {LAYER_FULL, LAYER_BLOCKS}};
    bool pooled = stack != STACK_HOST && rng_below(rng, 2);
    model->indexer =
        (struct indexer){pooled ? 3 : model->attention.kv_heads, 8, 4, 2, 1, 0, pooled};
}

/* Attention residuals in blocks of one to three layers, in three of eight plans that may have
 * them. */
static void sum_blocks(struct rng *rng, struct plan *plan)
{
    const struct model *model = &plan->model;
    uint64_t size = rng_below(rng, 8);
    if (model->residual_streams == 1 && !model_has_parts(model) && !model->mtp_enabled)
        plan->model.residual_block = size < 4 ? size : 0;
}

/* Layers that read keys of earlier ones, or have embeddings of their own, in a quarter of the
 * plans that may have them. */
static void borrow_keys(struct rng *rng, struct plan *plan)
{
    struct model *model = &plan->model;
    enum stack_kind stack = plan->stack.kind;
    bool borrows = rng_below(rng, 2), embeds = !borrows || rng_below(rng, 2);
    uint64_t wide = 24 * rng_below(rng, 2), rows = 100 * rng_below(rng, 2);
    if (rng_below(rng, 4) || model->attention.kind != ATTENTION_GQA ||
        model->residual_streams > 1 || model->residual_block || model_has_parts(model) ||
        model->mtp_enabled || stack == STACK_MEGATRON || stack == STACK_PRIMUS ||
        stack == STACK_TORCHTITAN || stack == STACK_MAXTEXT || stack == STACK_NXD ||
        stack == STACK_TRTLLM)
        return;
    if (embeds)
        model->layer_embedding = (struct layer_embedding){6, rows ? rows : model->vocab};
    if (!borrows)
        return;
    model->indexer = (struct indexer){0};
    model->attention.window = 7;
    model->borrow_intermediate = wide;
    model->layer_types =
        (struct enum_list){4, {LAYER_FULL, LAYER_WINDOW, LAYER_WINDOW_BORROW, LAYER_BORROW}};
}

/* Attention and a recurrence side by side, in an eighth of the plans that may have them. */
static void attend_beside(struct rng *rng, struct plan *plan)
{
    struct model *model = &plan->model;
    if (rng_below(rng, 8) || model->attention.kind != ATTENTION_GQA || model_has_parts(model) ||
        model->residual_streams > 1 || plan_borrows_or_embeds(plan))
        return;
    model->indexer = (struct indexer){0};
    model->linear.bare = rng_below(rng, 2);
    model->layer_types = (struct enum_list){2, {LAYER_BOTH, LAYER_FULL}};
}

/* Copies of the residual, mixed or not, that end in weights or in a mean, in a quarter of the
 * plans that may have them, and pools of the keys that an indexer scores. */
static void copy_residual(struct rng *rng, struct plan *plan)
{
    static const enum stack_kind stacks[] = {STACK_GENERIC, STACK_FSDP, STACK_DEEPSPEED,
                                             STACK_VLLM, STACK_SGLANG};
    struct model *model = &plan->model;
    struct plan before = *plan;
    char text[RULE_TEXT], hint[RULE_TEXT];
    bool one = rng_below(rng, 4), identity = rng_below(rng, 2), mean = rng_below(rng, 2);
    uint64_t pool = 1 + 3 * rng_below(rng, 2);
    bool has = false;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        has |= plan->stack.kind == stacks[i];
    if (one || !has || model->residual_streams > 1 || model->residual_block)
        return;
    model->residual_streams = 2;
    model->residual_identity = identity;
    model->residual_mean = mean;
    if (model->attention.kind == ATTENTION_MLA && model->indexer.heads)
        model->indexer.pool = pool;
    if (rule_check(plan, text, hint))
        *plan = before;
}

/* Networks beside their mixers, behind one norm or two, queries of a low rank, choices that
 * compute nothing, and experts added behind the next layer, each in some plans of stacks that
 * have them. */
static void shape_otherwise(struct rng *rng, struct plan *plan)
{
    struct model *model = &plan->model;
    struct plan before = *plan;
    char text[RULE_TEXT], hint[RULE_TEXT];
    bool beside = rng_below(rng, 4) == 0, rank = rng_below(rng, 4) == 0;
    bool pairs = !beside && rng_below(rng, 3) == 0;
    uint64_t norms = 1 + rng_below(rng, 2), zero = rng_below(rng, 4) ? 0 : 6;
    if (pairs && !model->layer_types.n) {
        model->moe.shortcut = true;
        model->moe_every = 2;
        model->dense_layers = model->layers / 2;
    }
    model->side_by_side = beside;
    model->norms_per_layer = beside ? norms : model->norms_per_layer;
    model->moe.zero_experts = zero;
    if (rank && model->attention.kind == ATTENTION_GQA)
        model->attention.q_lora_rank = 16;
    if (rule_check(plan, text, hint))
        *plan = before;
}

static void base(struct rng *rng, struct rng *layers, struct rng *kimi, struct rng *blocks,
                 struct rng *borrow, enum stack_kind stack, struct plan *plan)
{
    plan_tiny(plan);
    draw_layers(layers, &plan->model);
    plan->stack.kind = stack;
    draw_kimi(kimi, plan);
    plan->moe.routing.samples = 12;
    keep_named(rng, stack, plan);
    if (rng_below(rng, 3) == 0) {
        struct attention *a = &plan->model.attention;
        a->kind = ATTENTION_MLA;
        a->q_lora_rank = rng_below(rng, 2) ? 16 : 0;
        a->kv_lora_rank = 8;
        a->qk_nope_head_dim = 8;
        a->qk_rope_head_dim = 4;
        a->v_head_dim = 8;
        if (a->q_lora_rank && rng_below(layers, 2))
            plan->model.indexer.heads = 4;
    }
    share_kv(layers, plan);
    choose_blocks(blocks, plan);
    sum_blocks(blocks, plan);
    borrow_keys(borrow, plan);
}

/* Experts split over all replicas of attention, in a third of the engines' plans. */
static void join_replicas(struct rng *rng, struct plan *plan)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    struct plan joined = *plan;
    if (!plan_is_engine(plan) || plan_dp(plan) == 1 || rng_below(rng, 3))
        return;
    joined.parallel.ep = 1;
    joined.parallel.etp = plan->parallel.tp * plan_dp(plan);
    joined.parallel.sp = false;
    joined.moe.path = PATH_AUTO;
    joined.moe.redundant_experts = 0;
    if (!rule_check(&joined, text, hint))
        *plan = joined;
}

/* Gated copies of the residual, n-grams or both, in a quarter of the plans that may have them.
 */
static void gate_copies(struct rng *rng, struct plan *plan)
{
    struct plan gated = *plan;
    enum stack_kind stack = plan->stack.kind;
    bool gates = rng_below(rng, 2), adds = !gates || rng_below(rng, 2);
    uint64_t tables = 1 + rng_below(rng, 2);
    char text[RULE_TEXT], hint[RULE_TEXT];
    if (rng_below(rng, 4) || plan->workload.mode == MODE_TRAIN ||
        plan->model.attention.kind == ATTENTION_SHARED_KV ||
        (stack != STACK_GENERIC && stack != STACK_VLLM && stack != STACK_SGLANG))
        return;
    if (gates) {
        gated.model.residual_streams = 2;
        gated.model.residual_rank = 3;
    }
    if (adds)
        gated.model.ngram =
            (struct ngram){tables, 101, 4, 8, 3, 2, DTYPE_NONE, DTYPE_NONE, false};
    if (adds && !gates && rng_below(rng, 2))
        gated.model.ngram = (struct ngram){1, 101, 4, 8, 0, 0, DTYPE_NONE, DTYPE_NONE, true};
    if (!rule_check(&gated, text, hint))
        *plan = gated;
}

/* A head of a few labels in place of the vocabulary's, in a quarter of the plans that may have
 * one. */
static void score_tokens(struct rng *rng, struct plan *plan)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    struct plan scored = *plan;
    scored.model.labels = 1 + rng_below(rng, 3);
    if (rng_below(rng, 4) == 0 && plan_is_huggingface(plan) && !rule_check(&scored, text, hint))
        *plan = scored;
}

static bool is_refused(const struct plan *plan)
{
    struct arena arena = {0};
    struct err err = {0};
    struct work work;
    bool refused = work_build(plan, &arena, &work, &err) != STATUS_OK;
    arena_release(&arena);
    return refused;
}

bool plan_shaped(struct plan *plan, enum stack_kind stack, uint64_t seed)
{
    enum { DRAWS = 400, PASSES = 2 };
    struct rng rng, layers, kimi, blocks, borrow, both, shape, scores, gates, copies,
        joined; /* apart: what layers there are moves no other draw */
    rng_init(&rng, draws_seed(seed), stack, 0, 0, 0);
    rng_init(&joined, draws_seed(seed), stack, 2, 0, 0);
    rng_init(&layers, draws_seed(seed), stack, 1, 0, 0);
    rng_init(&kimi, draws_seed(seed), stack, 4, 0, 0);
    rng_init(&blocks, draws_seed(seed), stack, 5, 0, 0);
    rng_init(&borrow, draws_seed(seed), stack, 7, 0, 0);
    rng_init(&shape, draws_seed(seed), stack, 8, 0, 0);
    rng_init(&both, draws_seed(seed), stack, 9, 0, 0);
    rng_init(&scores, draws_seed(seed), stack, 10, 0, 0);
    rng_init(&gates, draws_seed(seed), stack, 11, 0, 0);
    rng_init(&copies, draws_seed(seed), stack, 12, 0, 0);
    for (unsigned i = 0; i < DRAWS; i++) {
        base(&rng, &layers, &kimi, &blocks, &borrow, stack, plan);
        attend_beside(&both, plan);
        copy_residual(&copies, plan);
        shape_otherwise(&shape, plan);
        if (stack == STACK_SGLANG) /* of one GiB nothing would be free when it loads a model */
            plan->cluster.device.memory_bytes = 4 * GIB;
        /* a second time for what the first could not have yet */
        for (size_t j = 0; j < PASSES * (sizeof choices / sizeof *choices); j++)
            draw(&rng, &choices[j % (sizeof choices / sizeof *choices)], plan);
        join_replicas(&joined, plan);
        score_tokens(&scores, plan);
        gate_copies(&gates, plan);
        if (!is_refused(plan))
            return true;
    }
    return false;
}

bool plan_served(struct plan *plan, uint64_t seed)
{
    static const enum stack_kind engines[] = {STACK_VLLM, STACK_SGLANG, STACK_TRTLLM};
    struct workload *w = &plan->workload;
    if (!plan_shaped(plan, engines[seed / 3 % 3], seed))
        return false;
    w->mode = MODE_SERVE;
    w->concurrency = 1 + seed * 7 % 90;
    w->input_length = 16 + seed * 13 % 2000;
    w->output_length = 2 + seed * 5 % 700;
    w->length_spread = seed % 2 ? 0.5 : 0;
    return true;
}

/* By the seed the stacks in turn. */
static bool shaped_in_turn(struct plan *plan, uint64_t seed)
{
    return plan_shaped(plan, (enum stack_kind)(seed % STACK_COUNT), seed);
}

static unsigned try_each(unsigned n, unsigned step, bool (*drawn)(struct plan *, uint64_t),
                         plan_law law)
{
    enum { SAMPLES = 5 };
    unsigned tried = 0;
    for (uint64_t seed = 1; seed <= n; seed += step) {
        struct plan plan;
        if (!drawn(&plan, seed))
            continue;
        plan.moe.routing.samples = SAMPLES;
        law(&plan, seed, &tried);
    }
    return tried;
}

unsigned plans_shaped_try(unsigned n, unsigned step, plan_law law)
{
    return try_each(n, step, shaped_in_turn, law);
}

unsigned plans_served_try(unsigned n, unsigned step, plan_law law)
{
    return try_each(n, step, plan_served, law);
}

/* Whether the stack builds the list of a plan that was changed. */
static bool builds(const struct plan *plan, const struct plan *changed)
{
    return changed->stack.kind == plan->stack.kind &&
           changed->workload.mode == plan->workload.mode && !is_refused(changed);
}

/* Gives keys any value where rules hold, as many of them in turn as the stack builds a list
 * with: building is most of the time this takes, and most changes do not end it. */
static void vary_built(struct rng *rng, struct plan *plan)
{
    enum { KEYS = 16 };
    struct plan after[KEYS + 1];
    after[0] = *plan;
    for (int i = 0; i < KEYS; i++) {
        after[i + 1] = after[i];
        plan_vary(&after[i + 1], rng);
    }
    if (memcmp(&after[0], &after[KEYS], sizeof *plan) == 0)
        return;
    int good = 0, bad = KEYS + 1; /* the last that is built, one that is not */
    for (int tried = KEYS; bad - good > 1; tried = good + (bad - good) / 2)
        *(builds(plan, &after[tried]) ? &good : &bad) = tried;
    *plan = after[good];
}

bool plan_built(struct plan *plan, enum stack_kind stack, enum mode mode, uint64_t seed)
{
    enum { TRIES = 64 };
    struct rng rng;
    size_t n;
    unsigned tries = 0;
    rng_init(&rng, draws_seed(seed), stack, 3, 0, 0);
    do {
        if (tries++ == TRIES || !plan_shaped(plan, stack, rng_u64(&rng)))
            return false;
    } while (plan->workload.mode != mode);
    schema_fields(&n);
    for (size_t i = 0; i < n / 8; i++)
        vary_built(&rng, plan);
    return true;
}
