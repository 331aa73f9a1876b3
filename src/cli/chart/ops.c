/* The ops of one MoE layer; see ops.h. */
#include "cli/chart/ops.h"

#include <string.h>

#include "cli/option/plan_argument.h"
#include "plan/schema.h"
#include "plan/trace.h"
#include "sim/ops.h"
#include "sim/timeline.h"
#include "work/stack/stack.h"

/* A plan's list with the timeline of its MoE layer. */
struct layer {
    struct plan plan;
    struct pricing pricing;
    struct ops_report ops;
    struct timeline timeline;
};

static enum status build(const struct routing_data *data, struct arena *arena,
                         struct layer *layer, struct err *err)
{
    struct work held;
    struct slots slots;
    const struct ops_ask ask = {.data = data};
    TRY(work_build(&layer->plan, arena, &held, err));
    slots_from_plan(&layer->plan, &slots);
    TRY(ops_of(&layer->plan, &ask, &held, &slots, arena, &layer->ops, err));
    pricing_init(&layer->pricing, &layer->plan, stack_path(&layer->plan, NULL), NULL, NULL);
    timeline_of(&layer->pricing, layer->ops.work, layer->ops.values,
                segment_of_kind(model_expert_kind(&layer->plan.model)), layer->plan.moe.overlap,
                arena, &layer->timeline);
    return STATUS_OK;
}

static void append_number(struct text *out, double value)
{
    char text[32];
    text_double(text, value);
    text_printf(out, ",%s", text);
}

/* The forward op whose backward, or part of it, an op is. */
static const char *forward_name(const char *name)
{
    static const char *const prefixes[] = {"wgrad_", "dgrad_", "back_", "spread_",
                                           "gates_", "fold_",  "zero_", "regather_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (text_starts(name, prefixes[i]))
            return name + strlen(prefixes[i]);
    return name;
}

static void append_op(const struct layer *layer, size_t number, struct text *out)
{
    const struct op *op = &layer->ops.work->ops[number];
    const struct timeline_op *at = &layer->timeline.ops[number];
    const uint64_t *v = layer->ops.values;
    double flop = (double)v[op->flop.node];
    double bytes = (double)(v[op->bytes_read.node] + v[op->bytes_written.node]);
    double intensity = bytes > 0 ? flop / bytes : 0;
    double peak = layer->pricing.rates.peak_flop_per_s;
    double bandwidth = layer->pricing.rates.memory_bytes_per_s;
    double roof = intensity * bandwidth;
    const char *bound = at->price.link_s >= at->price.s      ? "link"
                        : at->price.compute_s >= at->price.s ? "compute"
                                                             : "memory";
    if (at->price.s <= 0)
        return;
    text_printf(out, "%s,%s,%s,%s,%s,%.0f,%.0f,%.0f", op->name,
                op->phase == PHASE_BACKWARD ? forward_name(op->name) : op->name,
                phase_name(op->phase), stream_name(at->stream), bound, flop, bytes,
                (double)v[op->bytes_sent.node]);
    append_number(out, intensity);
    append_number(out, roof < peak ? roof : peak);
    append_number(out, peak);
    append_number(out, bandwidth);
    append_number(out, at->begin_s);
    append_number(out, at->price.s);
    text_append(out, "\n");
}

enum status chart_ops_make(const struct chart_request *request, struct chart_names *names,
                           struct picture *p, struct err *err)
{
    struct layer *layer = arena_alloc(p->arena, 1, sizeof *layer);
    struct origins origins;
    struct routing_data data = {0};
    TRY(plan_argument_load(request->call, 0, &layer->plan, &origins, err));
    TRY(routing_data_load(&layer->plan, NULL, p->arena, &data, err));
    *names = chart_names_of(&layer->plan, p->arena);
    TRY(build(&data, p->arena, layer, err));
    text_append(&p->data, "op,forward_op,phase,lane,bound,flop,bytes,bytes_sent,flop_per_byte,"
                          "roof_flop_per_s,peak_flop_per_s,memory_bytes_per_s,start_s,"
                          "duration_s\n");
    for (size_t i = 0; i < layer->ops.work->n_ops; i++)
        append_op(layer, i, &p->data);
    names->source = arena_printf(p->arena,
                                 "moeplan " MOEPLAN_VERSION
                                 ": FLOPs over peak and bytes over bandwidth, nothing "
                                 "measured; plan %s, path %s, rank %llu of sample 0 (%s), %s",
                                 layer->plan.name, words_path[stack_path(&layer->plan, NULL)],
                                 (unsigned long long)layer->ops.rank, layer->ops.method,
                                 layer->plan.moe.overlap ? "overlapped" : "not overlapped");
    return STATUS_OK;
}
