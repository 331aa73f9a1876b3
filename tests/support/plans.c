/* Plans for tests; see plans.h. */
#include "support/plans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/read/load.h"
#include "plan/schema/schema.h"
#include "support/settings.h"
#include "work/stack/stack.h"

static struct plan plan_base(uint64_t nodes, uint64_t ep)
{
    struct plan plan = {0};
    plan.cluster.device = (struct device){.memory_bytes = 151397597184, .logical_cores = 1};
    plan.cluster.node.devices = 8;
    plan.cluster.nodes = nodes;
    plan.stack = (struct stack){.kind = STACK_GENERIC, .fraction = 0.93, .relax = 1};
    plan.workload = (struct workload){.sequence_length = 4096,
                                      .micro_batch = 1,
                                      .context_length = 4096,
                                      .tokens_per_sequence = 1};
    plan.parallel =
        (struct parallel){.tp = 1, .pp = 1, .vpp = 1, .cp = 1, .ep = ep, .etp = 1, .zero = 3};
    plan.moe = (struct moe){.path = PATH_RAGGED_A2A,
                            .capacity_factor = 1.25,
                            .buffer = SIZING_BALANCED,
                            .buffer_factor = 1,
                            .block_size = 512,
                            .chunk = 64,
                            .dispatch_sms = 20};
    plan.precision = (struct precision){.weights = DTYPE_BF16,
                                        .gradients = DTYPE_BF16,
                                        .moments = DTYPE_BF16,
                                        .activations = DTYPE_BF16,
                                        .dispatch = DTYPE_BF16,
                                        .combine = DTYPE_BF16,
                                        .kv_cache = DTYPE_BF16,
                                        .compute = COMPUTE_BF16};
    plan.recompute.kind = RECOMPUTE_NONE;
    return plan;
}

struct plan plan_deepseek(uint64_t nodes, uint64_t ep)
{
    struct plan plan = plan_base(nodes, ep);
    plan.model =
        (struct model){.layers = 61,
                       .dense_layers = 3,
                       .moe_every = 1,
                       .hidden = 7168,
                       .dense_intermediate = 18432,
                       .vocab = 129280,
                       .norms_per_layer = 2,
                       .attention = {.kind = ATTENTION_MLA,
                                     .heads = 128,
                                     .kv_heads = 128,
                                     .q_lora_rank = 1536,
                                     .kv_lora_rank = 512,
                                     .qk_nope_head_dim = 128,
                                     .qk_rope_head_dim = 64,
                                     .v_head_dim = 128},
                       .moe = {.experts = 256,
                               .top_k = 8,
                               .intermediate = 2048,
                               .shared_experts = 1,
                               .shared_intermediate = 2048,
                               .glu = true,
                               .router = {.bias = true, .groups = 8, .top_groups = 4}}};
    return plan;
}

struct plan plan_small(uint64_t ep)
{
    struct plan plan = plan_base(1, ep);
    plan.model = (struct model){
        .layers = 8,
        .moe_every = 1,
        .hidden = 1024,
        .dense_intermediate = 4096,
        .vocab = 32000,
        .norms_per_layer = 2,
        .attention = {.kind = ATTENTION_GQA, .heads = 16, .kv_heads = 4, .head_dim = 64},
        .moe = {.experts = 16, .top_k = 4, .intermediate = 512, .glu = true}};
    return plan;
}

void plan_trains(struct plan *plan)
{
    plan->workload = (struct workload){.mode = MODE_TRAIN,
                                       .sequence_length = 4096,
                                       .micro_batch = 1,
                                       .tokens_per_sequence = 1,
                                       .steps = 1};
    plan->recompute = (struct recompute_plan){0};
    plan->stack.attention = BACKEND_FLASH;
}

void plan_set(const char *text, const char *set, struct arena *arena, struct plan *plan)
{
    struct err err = {0};
    struct override overrides[32];
    size_t n = settings_split(set, arena, overrides, 32);
    if (plan_load_text("row", text, strlen(text), overrides, n, arena, plan, NULL, &err))
        fail_msg("%s: %s (%s)", set, err.text, err.hint);
}

const uint64_t *plan_evaluate(const struct plan *plan, struct arena *arena, struct work *work)
{
    struct slots slots;
    slots_from_plan(plan, &slots);
    uint64_t *values = arena_alloc(arena, work->sizes.n, sizeof *values);
    assert_true(sizes_eval(&work->sizes, &slots, values));
    return values;
}

void plan_build(const char *text, const char *set, bool ops, struct plan_built *b)
{
    struct err err = {0};
    *b = (struct plan_built){0};
    plan_set(text, set, &b->arena, &b->plan);
    if (work_build(&b->plan, &b->arena, &b->work, &err) ||
        (ops && work_ops(&b->plan, &b->work, &err)))
        fail_msg("%s: %s", set, err.text);
    b->values = plan_evaluate(&b->plan, &b->arena, &b->work);
}

uint64_t plan_state_bytes(const char *text, const char *set)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(text, set, false, &b);
    for (size_t i = 0; i < b.work.n_buffers; i++)
        sum += b.work.buffers[i].state ? b.values[b.work.buffers[i].all.node] : 0;
    arena_release(&b.arena);
    return sum;
}

const struct buffer *plan_find(const struct work *work, const char *name)
{
    for (size_t i = 0; i < work->n_buffers; i++)
        if (!strcmp(work->buffers[i].name, name))
            return &work->buffers[i];
    return NULL;
}

const struct buffer *plan_buffer(const struct work *work, const char *name)
{
    const struct buffer *buffer = plan_find(work, name);
    if (!buffer)
        fail_msg("no buffer '%s'", name);
    return buffer;
}

void plan_assert_same(const struct plan *a, const struct plan *b, struct arena *arena)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        const char *key = fields[i].key;
        struct text first = {.arena = arena}, second = {.arena = arena};
        if (text_equal(key, "model") || text_equal(key, "cluster") || text_equal(key, "stack"))
            continue;
        text_printf(&first, "%s=", key);
        text_printf(&second, "%s=", key);
        schema_print(&fields[i], a, &first);
        schema_print(&fields[i], b, &second);
        assert_string_equal(text_string(&first), text_string(&second));
    }
}
