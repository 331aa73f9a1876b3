/* The lines under "assumed"; see assumed.h. */
#include "report/predict/assumed.h"

#include "base/checked.h"
#include "base/text.h"
#include "base/unit.h"
#include "plan/data/profile.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/layers.h"
#include "plan/speculation.h"
#include "plan/schema/schema.h"
#include "report/amount.h"

/* The equation of verdict_limit, term by term, without those that are nothing. */
const char *predict_assumed_limit(const struct plan *plan, struct arena *arena)
{
    const struct stack *stack = &plan->stack;
    bool queues = engine_queues(plan), free = queues && !engine_takes_fraction(plan);
    double fraction = plan_memory_fraction(plan);
    if (queues)
        fraction = engine_fraction(plan);
    const struct {
        const char *name;
        uint64_t bytes;
    } less[] = {
        {"reserve", plan->memory.reserve_bytes + (queues ? 0 : stack->reserve_bytes)},
        {"graphs", queues && !free ? engine_graphs(plan) : 0},
        {"outside", queues ? engine_outside(plan) : 0},
        {"context", queues ? 0 : stack->context_bytes},
        {"communication", queues ? 0 : plan_comm_bytes(plan)},
    };
    const struct scale scale = scale_for(verdict_limit(plan));
    struct text text = {.arena = arena};
    char bytes[48];
    bool adds = stack->fragmentation > 0, scaled = fraction < 1 && !free;
    uint64_t own = plan_rank_memory(plan) - plan_usable_memory(plan);
    scale_print(bytes, scale, verdict_limit(plan));
    text_printf(&text, "%s %s = %s", bytes, scale.unit, adds ? "(" : "");
    scale_print(bytes, scale, plan_rank_memory(plan));
    if (scaled)
        text_printf(&text, "%.4g x ", fraction);
    text_printf(&text, "%s%s", own && scaled ? "(" : "", bytes);
    scale_print(bytes, scale, own);
    if (own)
        text_printf(&text, " - %s runtime%s", bytes, scaled ? ")" : "");
    for (size_t i = 0; i < sizeof less / sizeof *less; i++) {
        scale_print(bytes, scale, less[i].bytes);
        if (less[i].bytes)
            text_printf(&text, " - %s %s", bytes, less[i].name);
    }
    if (adds)
        text_printf(&text, ") / %.4g fragmentation", 1 + stack->fragmentation);
    if (plan_is_engine(plan) && !queues)
        text_append(&text, ": of a step alone, a server's is its KV pool");
    return text_string(&text);
}

/* What the stack's constants were measured on, and whether that was of the plan's device. */
static void append_calibration(const struct plan *plan, struct text *out)
{
    const struct stack *stack = &plan->stack;
    bool tpu = plan_on_tpu(plan) && stack->calibration_tpu[0];
    const char *runs = tpu ? stack->calibration_tpu : stack->calibration;
    char device[PLAN_NAME];
    profile_device(plan, device);
    text_append(out, runs[0] ? runs : "not calibrated on measured runs");
    if (runs[0] && stack->calibration_device[0] &&
        !text_lists(stack->calibration_device, device))
        text_printf(out, "; none was of device %s", device);
}

const char *predict_assumed_stack(const struct plan *plan, struct arena *arena)
{
    struct text text = {.arena = arena};
    append_calibration(plan, &text);
    if (plan->stack.error > 0)
        text_printf(&text, "; marginal within %.3g %% of temp", 100 * plan->stack.error);
    return text_string(&text);
}

const char *predict_assumed_indices(const struct buffer_report *buffer, struct arena *arena)
{
    uint64_t elements = 1;
    bool overflow = false;
    char count[32];
    for (unsigned i = 0; i < buffer->n_dims; i++)
        elements = checked_mul(elements, buffer->dims[i], &overflow);
    unit_print_count(count, elements);
    return arena_printf(arena,
                        "indices of 64 bits: %s has %s elements, a 32-bit int ends at 2^31 - 1",
                        buffer->name, count);
}

/* ---- defaults ---- */

static bool always(const struct plan *plan)
{
    (void)plan;
    return true;
}

static bool trains(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN;
}

static bool infers(const struct plan *plan)
{
    return plan->workload.mode != MODE_TRAIN;
}

static bool decodes(const struct plan *plan)
{
    return plan->workload.mode == MODE_DECODE;
}

static bool steps(const struct plan *plan)
{
    return plan->workload.mode != MODE_SERVE;
}

static bool serves(const struct plan *plan)
{
    return plan->workload.mode == MODE_SERVE;
}

static bool loops(const struct plan *plan)
{
    return serves(plan) && !plan_arrives(plan);
}

static bool serves_experts(const struct plan *plan)
{
    return infers(plan) && plan_has_experts(plan);
}

static bool splits_experts(const struct plan *plan)
{
    return trains(plan) && plan_has_experts(plan) && plan->parallel.tp > 1;
}

static bool has_capacity(const struct plan *plan)
{
    return plan_has_experts(plan) && path_reads(plan->moe.path, READS_CAPACITY_FACTOR);
}

static bool has_blocks(const struct plan *plan)
{
    return plan_has_experts(plan) && path_reads(plan->moe.path, READS_BLOCK_SIZE);
}

/* The routing's hottest experts are neighbours. */
static bool is_skewed(const struct plan *plan)
{
    return plan_has_experts(plan) && plan->parallel.ep > 1 &&
           plan->moe.routing.distribution != DISTRIBUTION_UNIFORM;
}

static bool is_routed(const struct plan *plan)
{
    return plan_has_experts(plan) && !plan->stack.static_shapes;
}

static bool updates_on_host(const struct plan *plan)
{
    return trains(plan) && plan->optimizer.offload > 0;
}

static bool keeps_states(const struct plan *plan)
{
    return infers(plan) && model_mixers(&plan->model, MIXER_LINEAR) > 0;
}

static bool offloads(const struct plan *plan)
{
    return updates_on_host(plan) || (trains(plan) && plan->recompute.offload.n > 0) ||
           (!trains(plan) && plan->memory.weight_offload_bytes > 0) ||
           engine_groups_layers(plan);
}

/* Of vLLM's releases memory and batches differ. */
static bool has_releases(const struct plan *plan)
{
    return infers(plan) && plan->stack.kind == STACK_VLLM;
}

enum { UNSAID = 5 }; /* of the keys: no word where neither user nor stack decides */

/* Keys worth a word when the user did not set them, in the order of importance. */
static const struct {
    const char *key;
    bool (*matters)(const struct plan *plan);
} keys[] = {
    {"workload.mode", always},
    {"parallel.ep", serves_experts},
    {"parallel.etp", serves_experts},
    {"parallel.etp", splits_experts},
    {"parallel.sp", infers},
    {"workload.micro_batch", steps},
    {"workload.concurrency", loops},
    {"workload.input_length", serves},
    {"workload.output_length", serves},
    {"workload.sequence_length", trains},
    {"workload.context_length", decodes},
    {"workload.speculation.acceptance", plan_speculates},
    {"moe.capacity_factor", has_capacity},
    {"moe.block_size", has_blocks},
    {"moe.routing.distribution", is_routed},
    {"moe.routing.placement", is_skewed},
    {"recompute.kind", trains},
    {"parallel.zero", trains},
    {"cluster.node.host_bandwidth", offloads},
    {"cluster.node.host_memory_bandwidth", updates_on_host},
    {"precision.weights", always},
    {"precision.gradients", trains},
    {"precision.master", trains},
    {"precision.moments", trains},
    {"precision.activations", always},
    {"precision.kv_cache", infers},
    {"model.linear.state", keeps_states},
    {"stack.version", has_releases},
};

/* Who decided: nobody, or the stack or the model of the plan. NULL: the user. */
static const char *decided(const struct plan *plan, const struct origins *origins,
                           const struct field *field)
{
    size_t n;
    const struct mark *mark = &origins->mark[field - schema_fields(&n)];
    if (!mark->file)
        return "";
    if (text_starts(field->key, "cluster.")) /* the cluster's file, or who wrote it */
        return NULL;
    if (text_equal(field->key, "precision.weights") && plan->model.checkpoint &&
        plan->precision.weights == plan->model.checkpoint && !origins_by_user(origins, field))
        return "the checkpoint's";
    const struct mark *stack = &origins->mark[schema_find("stack") - schema_fields(&n)];
    bool follows =
        stack->file == mark->file && stack->line == mark->line && stack->column == mark->column;
    return follows || !origins_by_user(origins, field) ? plan->stack.name : NULL;
}

size_t predict_assumed_defaults(const struct plan *plan, const struct origins *origins,
                                bool counted, struct text *out)
{
    size_t n = 0, named = 0;
    for (size_t i = 0; origins && i < sizeof keys / sizeof *keys; i++) {
        const struct field *field = schema_find(keys[i].key);
        bool skew = keys[i].matters == is_skewed; /* of the first importance when it matters */
        const char *who = field && keys[i].matters(plan) ? decided(plan, origins, field) : NULL;
        if (!who || (!*who && i < UNSAID))
            continue;
        n++;
        if (counted && !skew)
            continue;
        text_printf(out, "%s%s ", named++ ? ", " : "", keys[i].key);
        schema_print(field, plan, out);
        if (skew)
            text_append(out, " (hottest together)");
        else if (*who)
            text_printf(out, " (%s)", who);
    }
    if (n > named)
        text_printf(out, "%s%zu keys: moeplan show", named ? " and " : "", n - named);
    return n;
}
