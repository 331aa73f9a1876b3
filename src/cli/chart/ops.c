/* The ops of one MoE layer; see chart_ops.h. */
#include "cli/chart/ops.h"

#include <string.h>

#include "cli/option/plan_argument.h"
#include "plan/schema.h"
#include "work/stack/stack.h"
#include "work/list/work.h"

enum { LANES = 5 };

static const char *const lane_names[LANES] = {"compute", "memory", "scale-up", "scale-out",
                                              "host"};

struct layer {
    const struct plan *plan;
    struct work work;
    const uint64_t *values;
    double peak, bandwidth, link[LANES]; /* FLOP/s, bytes/s */
    double lane_free[LANES], *written;   /* seconds; when each buffer is complete */
    double end;                          /* of the op before */
};

static bool has_bytes(const struct layer *layer)
{
    for (size_t i = 0; i < layer->work.n_ops; i++)
        if (layer->work.ops[i].segment == SEGMENT_MOE &&
            layer->values[layer->work.ops[i].bytes_read.node])
            return true;
    return false;
}

static enum status build(const struct plan *plan, struct arena *arena, struct layer *layer,
                         struct err *err)
{
    struct slots slots;
    *layer = (struct layer){.plan = plan};
    TRY(work_build(plan, arena, &layer->work, err));
    uint64_t *values = arena_alloc(arena, layer->work.sizes.n, sizeof *values);
    slots_from_plan(plan, &slots);
    if (!sizes_eval(&layer->work.sizes, &slots, values))
        return err_set(err, STATUS_INPUT, "a size of this plan overflows 64 bits");
    layer->values = values;
    return STATUS_OK;
}

/* The plan's own list, or that of stack generic; *borrowed tells which. */
static enum status build_layer(struct plan *plan, struct arena *arena, struct layer *layer,
                               bool *borrowed, struct err *err)
{
    /* what is computed and sent, not what is reserved */
    plan->moe.buffer = SIZING_BALANCED;
    TRY(build(plan, arena, layer, err));
    *borrowed = !has_bytes(layer);
    if (*borrowed) {
        plan->moe.path = stack_path(plan, NULL);
        plan->stack.kind = STACK_GENERIC;
        TRY(build(plan, arena, layer, err));
    }
    if (has_bytes(layer))
        return STATUS_OK;
    return err_set(err, STATUS_INPUT, "no list of operations is known for path '%s'",
                   words_path[plan->moe.path]);
}

static void set_rates(struct layer *layer)
{
    const struct cluster *c = &layer->plan->cluster;
    bool fp8 = layer->plan->precision.compute == COMPUTE_FP8 && c->device.peak_fp8 > 0;
    double cores = (double)c->device.logical_cores;
    layer->peak = (fp8 ? c->device.peak_fp8 : c->device.peak_bf16) / cores;
    layer->bandwidth = c->device.memory_bandwidth / cores;
    layer->link[RESOURCE_SCALE_UP] = c->node.link_bandwidth / cores;
    layer->link[RESOURCE_SCALE_OUT] = c->network.bandwidth / cores;
}

/* What an op needs of each resource, in seconds. */
struct need {
    double flop, bytes, sent;              /* counts */
    double compute_s, memory_s, link_s, s; /* s: the longest */
};

static struct need need_of(const struct layer *layer, const struct op *op)
{
    const uint64_t *v = layer->values;
    uint64_t sent = v[op->bytes_sent.node], received = v[op->bytes_received.node];
    struct need need = {
        .flop = (double)v[op->flop.node],
        .bytes = (double)(v[op->bytes_read.node] + v[op->bytes_written.node]),
        .sent = (double)(sent > received ? sent : received),
    };
    double link = layer->link[op->resource];
    need.compute_s = layer->peak > 0 ? need.flop / layer->peak : 0;
    need.memory_s = layer->bandwidth > 0 ? need.bytes / layer->bandwidth : 0;
    need.link_s = link > 0 ? need.sent / link : 0;
    need.s = need.compute_s > need.memory_s ? need.compute_s : need.memory_s;
    need.s = need.link_s > need.s ? need.link_s : need.s;
    return need;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

static double start_of(const struct layer *layer, const struct op *op)
{
    if (!layer->plan->moe.overlap)
        return layer->end;
    double start = layer->lane_free[op->resource];
    for (unsigned i = 0; i < OP_BUFFERS && op->reads[i] != WORK_NONE; i++)
        start = later(start, layer->written[op->reads[i]]);
    return start;
}

static void finish(struct layer *layer, const struct op *op, double end)
{
    layer->end = end;
    layer->lane_free[op->resource] = end;
    for (unsigned i = 0; i < OP_BUFFERS && op->writes[i] != WORK_NONE; i++)
        layer->written[op->writes[i]] = end;
}

static void append_number(struct text *out, double value)
{
    char text[32];
    text_double(text, value);
    text_printf(out, ",%s", text);
}

/* "expert_down" of "expert_down_backward" and "d_expert_down". */
static const char *forward_name(const char *name, struct arena *arena)
{
    if (text_ends(name, "_backward"))
        return arena_strndup(arena, name, strlen(name) - strlen("_backward"));
    return text_starts(name, "d_") ? name + strlen("d_") : name;
}

static void append_op(struct layer *layer, const struct op *op, struct text *out)
{
    static const char *const phases[] = {"forward", "recompute", "backward", "update"};
    struct need need = need_of(layer, op);
    double start = start_of(layer, op);
    double intensity = need.bytes > 0 ? need.flop / need.bytes : 0;
    double roof = later(0, intensity * layer->bandwidth);
    const char *bound = need.link_s >= need.s      ? "link"
                        : need.compute_s >= need.s ? "compute"
                                                   : "memory";
    if (need.s <= 0)
        return;
    finish(layer, op, start + need.s);
    text_printf(out, "%s,%s,%s,%s,%s,%.0f,%.0f,%.0f", op->name,
                forward_name(op->name, out->arena), phases[op->phase], lane_names[op->resource],
                bound, need.flop, need.bytes, need.sent);
    append_number(out, intensity);
    append_number(out, roof < layer->peak ? roof : layer->peak);
    append_number(out, layer->peak);
    append_number(out, layer->bandwidth);
    append_number(out, start);
    append_number(out, need.s);
    text_append(out, "\n");
}

enum status chart_ops_make(const struct chart_request *request, struct chart_names *names,
                           struct picture *p, struct err *err)
{
    struct plan *plan = arena_alloc(p->arena, 1, sizeof *plan);
    struct origins origins;
    struct layer layer;
    bool borrowed;
    TRY(plan_argument_load(request->call, 0, plan, &origins, err));
    *names = chart_names_of(plan, p->arena);
    TRY(build_layer(plan, p->arena, &layer, &borrowed, err));
    set_rates(&layer);
    layer.written = arena_alloc(p->arena, layer.work.n_buffers, sizeof *layer.written);
    text_append(&p->data, "op,forward_op,phase,lane,bound,flop,bytes,bytes_sent,flop_per_byte,"
                          "roof_flop_per_s,peak_flop_per_s,memory_bytes_per_s,start_s,"
                          "duration_s\n");
    for (size_t i = 0; i < layer.work.n_ops; i++)
        if (layer.work.ops[i].segment == SEGMENT_MOE)
            append_op(&layer, &layer.work.ops[i], &p->data);
    names->source = arena_printf(p->arena,
                                 "moeplan " MOEPLAN_VERSION
                                 ": FLOPs over peak and bytes over bandwidth, nothing "
                                 "measured; plan %s, path %s%s, balanced routing, %s",
                                 plan->name, words_path[stack_path(plan, NULL)],
                                 borrowed ? " (ops as stack generic lists them)" : "",
                                 plan->moe.overlap ? "overlapped" : "not overlapped");
    return STATUS_OK;
}
