/* The ops of one layer; see ops.h. */
#include "cli/chart/ops.h"

#include <string.h>

#include "cli/option/plan_argument.h"
#include "plan/layers.h"
#include "plan/data/trace.h"
#include "sim/step/plan_spans.h"
#include "work/stack/stack.h"

struct layer {
    struct plan plan;
    struct profile profile;
    struct routing_data routing;
    enum segment segment;
    struct plan_spans spans;
    uint64_t layers; /* of its kind */
};

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

/* What a span costs: its op's amounts, or the part of them that one round of a loop has. */
struct cost {
    const char *part, *bound;
    double flop, bytes, sent;
};

static struct cost cost_of(const struct stepper *s, const struct span *span)
{
    struct cost cost = {time_part_name(span_part(s, span)), "host", 0, 0, 0};
    if (span->stream == SPAN_HOST || span->number == SIZE_MAX)
        return cost;
    const struct op *op = &s->work.ops[span->number];
    const uint64_t *v = s->values;
    struct price price = price_of(&s->pricing, &s->work, op, v);
    double whole = s->op_s[span->number];
    double share = whole > 0 ? (span->end_s - span->begin_s) / whole : 0;
    cost.bound = price.link_s > 0                    ? "link"
                 : price.compute_s >= price.memory_s ? "compute"
                                                     : "memory";
    cost.flop = share * (double)v[op->flop.node];
    cost.bytes = share * (double)(v[op->bytes_read.node] + v[op->bytes_written.node]);
    cost.sent = share * (double)v[op->bytes_sent.node];
    return cost;
}

static void append_span(const struct layer *layer, const struct span *span, struct text *out)
{
    const struct stepper *s = &layer->spans.stepper;
    struct cost cost = cost_of(s, span);
    double seconds = span->end_s - span->begin_s;
    const char *phase = span->phase ? span->phase : "forward";
    text_printf(out, "%s,%s,%s,%s,%s,%s,%.0f,%.0f,%.0f", span->op,
                text_equal(phase, "backward") ? forward_name(span->op) : span->op, phase,
                span_stream_name((enum span_stream)span->stream), cost.part, cost.bound,
                cost.flop, cost.bytes, cost.sent);
    append_number(out, cost.bytes > 0 ? cost.flop / cost.bytes : 0);
    append_number(out, cost.flop / seconds);
    append_number(out, s->pricing.rates.peak_flop_per_s);
    append_number(out, s->pricing.rates.memory_bytes_per_s);
    append_number(out, span->begin_s);
    append_number(out, seconds);
    append_number(out, layer->spans.list.end_s);
    text_printf(out, ",%llu", (unsigned long long)layer->layers);
    append_number(out, layer->spans.step.step_s);
    text_printf(out, ",%s\n", kind_name(segment_kind(layer->segment)));
}

/* Rounds of a loop are one: they begin with the first. */
static void sum_rounds(struct span_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct span *span = &list->items[i];
        size_t at = 0;
        while (at < n &&
               (list->items[at].number != span->number || list->items[at].number == SIZE_MAX ||
                list->items[at].stream != span->stream))
            at++;
        if (at < n)
            list->items[at].end_s += span->end_s - span->begin_s;
        else
            list->items[n++] = *span;
    }
    list->n = n;
}

static enum status load(const struct chart_request *request, struct layer *layer,
                        struct err *err)
{
    struct arena *arena = request->call->arena;
    struct origins origins;
    TRY(plan_argument_load(request->call, 0, &layer->plan, &origins, err));
    TRY(routing_data_load(&layer->plan, arena, &layer->routing, err));
    TRY(profile_load(&layer->plan, arena, &layer->profile, err));
    layer->segment = plan_spans_layer(&layer->plan.model);
    const struct plan_spans_ask ask = {&layer->routing, &layer->profile, 0, layer->segment};
    TRY(plan_spans_of(&layer->plan, &ask, arena, &layer->spans, err));
    uint64_t count[KIND_COUNT] = {0};
    model_layers(&layer->plan.model, 0, layer->plan.model.layers, count);
    layer->layers = count[segment_kind(layer->segment)];
    if (layer->spans.list.n)
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "the plan has no layer to draw");
    return err_hint(err, "`moeplan predict --trace FILE.json` shows every step along time");
}

static enum status make(const struct chart_request *request, bool sums,
                        struct chart_names *names, struct picture *p, struct err *err)
{
    struct layer *layer = arena_alloc(p->arena, 1, sizeof *layer);
    enum status status = load(request, layer, err);
    if (status == STATUS_OK) {
        struct span_list *list = &layer->spans.list;
        *names = chart_names_of(&layer->plan, p->arena);
        names->source = arena_printf(
            p->arena,
            "moeplan " MOEPLAN_VERSION
            ": modelled, profile %s; plan %s, path %s, the expected fullest rank",
            layer->profile.name, layer->plan.name, words_path[stack_path(&layer->plan, NULL)]);
        text_append(&p->data, "op,forward_op,phase,stream,part,bound,flop,bytes,bytes_sent,"
                              "flop_per_byte,flop_per_s,peak_flop_per_s,memory_bytes_per_s,"
                              "start_s,duration_s,layer_s,layers,step_s,layer\n");
        if (sums)
            sum_rounds(list);
        for (size_t i = 0; i < list->n; i++)
            append_span(layer, &list->items[i], &p->data);
    }
    plan_spans_release(&layer->spans);
    return status;
}

enum status chart_ops_spans(const struct chart_request *request, struct chart_names *names,
                            struct picture *p, struct err *err)
{
    return make(request, false, names, p, err);
}

enum status chart_ops_sums(const struct chart_request *request, struct chart_names *names,
                           struct picture *p, struct err *err)
{
    return make(request, true, names, p, err);
}
