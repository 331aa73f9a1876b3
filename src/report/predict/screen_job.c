/* The job on the first screen: model, software, layout as resolved; see screen.h. */
#include "report/predict/screen.h"

#include <inttypes.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/speculation.h"
#include "plan/schema/schema.h"
#include "work/piece/stage.h"
#include "work/stack/stack.h"

static void say_recompute(const struct plan *plan, struct text *text)
{
    uint64_t together = plan_recomputes_together(plan);
    text_printf(text, "; recompute %s", words_recompute[plan->recompute.kind]);
    if (plan_recomputes_some(plan))
        text_printf(text, " of %" PRIu64 " layers a stage", plan->recompute.layers);
    if (together > 1)
        text_printf(text, ", %" PRIu64 " layers together", together);
}

static const char *short_count(uint64_t value, struct arena *arena)
{
    static const struct {
        double one;
        const char *letter;
    } steps[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if ((double)value >= steps[i].one)
            return arena_printf(arena, "%.4g %s", (double)value / steps[i].one,
                                steps[i].letter);
    return arena_printf(arena, "%" PRIu64, value);
}

void screen_model(struct screen *screen)
{
    const struct model_report *model = &screen->view->prediction->model;
    struct arena *arena = screen->view->arena;
    if (!model->parameters)
        return;
    const char *name = screen->view->plan->model_name;
    screen_item(screen, "model",
                arena_printf(arena, "%s%s%s parameters, %s active per token, %s on a device",
                             name, name[0] ? ": " : "", short_count(model->parameters, arena),
                             short_count(model->active_parameters, arena),
                             short_count(model->parameters_per_device, arena)));
}

/* Framework, dispatcher, recomputation, shapes. */
void screen_software(struct screen *screen)
{
    const struct plan *plan = screen->view->plan;
    const char *why = "";
    struct text text = {.arena = screen->view->arena};
    text_printf(&text, "%s, %s shapes", plan->stack.name,
                plan->stack.static_shapes ? "static" : "dynamic");
    if (plan_has_experts(plan))
        text_printf(&text, "; dispatcher %s%s", words_path[stack_path(plan, &why)],
                    stack_has_path(plan) ? "" : ", which it has not");
    if (why[0] && !plan_names_path(plan) && screen->brief < BRIEF_EXPERTS)
        text_printf(&text, " (%s)", why);
    enum expert_backend experts = stack_experts(plan, NULL);
    if (plan_has_experts(plan) && experts != EXPERTS_AUTO)
        text_printf(&text, "; experts %s", words_experts[experts]);
    if (plan->workload.mode == MODE_TRAIN)
        say_recompute(plan, &text);
    else
        text_printf(&text, "; %s", words_mode[plan->workload.mode]);
    if (screen->memory->schedule && screen->memory->schedule[0])
        text_printf(&text, "; schedule %s", screen->memory->schedule);
    screen_item(screen, "software", text_string(&text));
}

/* ---- layout ---- */

/* "; stages of 3 x 16, 13 layers" */
static void append_stages(const struct plan *plan, struct text *out)
{
    struct params params;
    uint64_t before = 0, run = 0, listed = 0;
    params_count(&plan->model, &params);
    text_append(out, "; stages of");
    for (uint64_t i = 0; i <= plan->parallel.pp; i++) {
        struct stage stage = {0};
        if (i < plan->parallel.pp)
            stage_at(plan, i, 0, &params, &stage);
        uint64_t layers = stage.dense_layers + stage.moe_layers;
        if (run && (i == plan->parallel.pp || layers != before)) {
            text_printf(out, run > 1 ? "%s %" PRIu64 " x %" PRIu64 : "%s %" PRIu64,
                        listed++ ? "," : "", run > 1 ? run : before, before);
            run = 0;
        }
        before = layers;
        run++;
    }
    text_append(out, " layers");
}

/* What joins ranks: how many of a group; 0 where the network has no such tier. */
struct boundary {
    const char *many;
    double (*joined)(const struct comm_place *place);
};

static double joined_by_node(const struct comm_place *place)
{
    return place->inside;
}

static double joined_by_leaf(const struct comm_place *place)
{
    return place->tier[NETWORK_LEAF].ranks;
}

static double joined_by_pod(const struct comm_place *place)
{
    return place->tier[NETWORK_POD].ranks;
}

/* "; ep, dp cross nodes": groups that do. */
static void append_crossing(const struct plan *plan, const struct boundary *boundary,
                            struct text *out)
{
    static const struct {
        const char *name;
        enum process_group group;
        bool experts;
    } groups[] = {{"tp", GROUP_TP, false},  {"cp", GROUP_CP, false}, {"ep", GROUP_EP, true},
                  {"etp", GROUP_ETP, true}, {"pp", GROUP_PP, false}, {"dp", GROUP_DP, false}};
    unsigned n = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        struct comm_place place = comm_place(plan, groups[i].group);
        bool there = !groups[i].experts || plan_is_routed(plan);
        double joined = boundary->joined(&place);
        if (there && joined > 0 && place.ranks > joined)
            text_printf(out, "%s %s", n++ ? "," : ";", groups[i].name);
    }
    if (n)
        text_printf(out, n > 1 ? " cross %s" : " crosses %s", boundary->many);
}

/* ", links join 16 nodes": those of one domain, where there are several nodes in one. */
static void append_linked(const struct plan *plan, struct text *out)
{
    uint64_t nodes = plan_linked_devices(plan) / plan->cluster.node.devices;
    if (nodes == plan->cluster.nodes)
        text_append(out, ", links join all");
    else
        text_printf(out, ", links join %" PRIu64 " nodes", nodes);
}

static void append_crossings(const struct plan *plan, struct text *out)
{
    const struct boundary boundaries[] = {
        {plan_links_nodes(plan) ? "links" : "nodes", joined_by_node},
        {"leaves", joined_by_leaf},
        {"pods", joined_by_pod}};
    for (size_t i = 0; i < sizeof boundaries / sizeof *boundaries; i++)
        append_crossing(plan, &boundaries[i], out);
}

/* "tp 2 with sp, cp 1, pp 1, ep 8, dp 4"; degrees of 1 are left out when lines are short, those
 * of experts where there are none. Of tp's ranks those that share out prompts in attention, and
 * a sequence's cache. */
static void append_degrees(const struct plan *plan, bool brief, struct text *out)
{
    const struct parallel *p = &plan->parallel;
    bool routed = plan_is_routed(plan), prompts = engine_attention_ranks(plan) != p->tp;
    const struct {
        const char *name;
        uint64_t value;
        bool usual, always;
    } degrees[] = {
        {"tp", p->tp, true, false},
        {"attention cp", prompts ? p->attention_cp : 1, false, false},
        {"dcp", engine_cache_ranks(plan), false, false},
        {"cp", p->cp, true, false},
        {"pp", p->pp, true, false},
        {"ep", routed ? p->ep : 1, routed, routed},
        {"etp", routed ? p->etp : 1, false, false},
        {"dp", plan_dp(plan), true, true},
    };
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
        if (degrees[i].value > 1 || degrees[i].always || (degrees[i].usual && !brief))
            text_printf(out, "%s%s %" PRIu64 "%s", out->length ? ", " : "", degrees[i].name,
                        degrees[i].value, i == 0 && p->tp > 1 && p->sp ? " with sp" : "");
    }
}

static void append_sequences(const struct screen *screen, struct text *text)
{
    uint64_t asked = screen->view->plan->workload.micro_batch;
    uint64_t held = screen->view->prediction->batch;
    if (held < asked)
        text_printf(text, "; %" PRIu64 " of %" PRIu64 " sequences a rank, the others wait",
                    held, asked);
    else
        text_printf(text, "; %" PRIu64 " sequence%s a rank", asked, asked == 1 ? "" : "s");
}

static const char *drafter_name(const struct plan *plan)
{
    const struct speculation *s = &plan->workload.speculation;
    if (s->method == DRAFT_MODEL)
        return s->model[0] ? s->model : "a model";
    return s->method == DRAFT_MTP      ? "its module"
           : s->method == DRAFT_DSPARK ? "its layers for blocks"
                                       : "n-grams";
}

static void append_micro_batches(const struct plan *plan, struct text *text)
{
    const struct workload *w = &plan->workload;
    bool said = plan->parallel.pp == 1 || plan_states_batch(plan);
    text_printf(text,
                ", zero %" PRIu64 "; sequence %" PRIu64 ", micro-batch %" PRIu64 " x %" PRIu64
                "%s",
                plan->parallel.zero, w->sequence_length, w->micro_batch,
                plan_micro_batches(plan), said ? "" : " (assumed)");
}

void screen_layout(struct screen *screen)
{
    const struct plan *plan = screen->view->plan;
    const struct parallel *p = &plan->parallel;
    struct text text = {.arena = screen->view->arena};
    if (!plan->cluster.nodes || !p->pp)
        return;
    append_degrees(plan, screen->brief >= BRIEF_LAYOUT, &text);
    if (plan->workload.mode == MODE_TRAIN)
        append_micro_batches(plan, &text);
    else if (plan_arrives(plan))
        text_printf(&text, "; %.4g requests/s of %" PRIu64 " + %" PRIu64 " tokens",
                    plan->workload.request_rate, plan->workload.input_length,
                    plan->workload.output_length);
    else if (plan->workload.mode == MODE_SERVE)
        text_printf(&text, "; %" PRIu64 " request%s of %" PRIu64 " + %" PRIu64 " tokens",
                    plan->workload.concurrency, plan->workload.concurrency == 1 ? "" : "s",
                    plan->workload.input_length, plan->workload.output_length);
    else
        append_sequences(screen, &text);
    if (plan_speculates(plan))
        text_printf(&text, "; %" PRIu64 " token%s drafted by %s, %.3g a step (unvalidated)",
                    plan->workload.speculation.tokens,
                    plan->workload.speculation.tokens == 1 ? "" : "s", drafter_name(plan),
                    plan_accepted(plan));
    text_printf(&text, "; %" PRIu64 " x %" PRIu64 " devices", plan->cluster.nodes,
                plan->cluster.node.devices);
    if (plan_links_nodes(plan))
        append_linked(plan, &text);
    if (screen->brief < BRIEF_LAYOUT)
        append_crossings(plan, &text);
    if (p->pp > 1 && screen->brief < BRIEF_STAGES)
        append_stages(plan, &text);
    screen_item(screen, "layout", text_string(&text));
}

/* ---- serving ---- */

/* What recurrent layers take of the pool. */
static void append_states(struct scale scale, const struct serving_report *r, struct text *out)
{
    char bytes[32];
    if (!r->state_bytes)
        return;
    scale_print(bytes, scale, r->state_bytes);
    text_printf(out, " - %" PRIu64 " states %s", r->state_slots, bytes);
}

/* What else is on the device: more than the limit leaves out where exchanges have buffers of
 * their own, which are of the sum, or graphs are counted. */
static const char *outside_name(const struct plan *plan, const struct serving_report *r)
{
    bool exchanges = r->outside_bytes > engine_outside(plan), graphs = r->graphs_bytes > 0;
    return exchanges && graphs ? "outside, exchanges and graphs"
           : exchanges         ? "outside and exchanges"
           : graphs            ? "outside and graphs"
                               : "outside";
}

/* "44.20 GiB = 0.9 x 79.10 - weights 20.10 - profile run 2.10 - outside 0.30", as the engine
 * counts; what its formula leaves to steps where it counts them by that. */
static void append_pool(const struct screen *screen, const struct serving_report *r,
                        struct text *out)
{
    const struct plan *plan = screen->view->plan;
    const struct scale scale = scale_for(screen->memory->capacity_bytes);
    const uint64_t bytes[] = {r->cache_bytes, screen->memory->capacity_bytes, r->weights_bytes,
                              r->activation_bytes, r->outside_bytes + r->graphs_bytes};
    int64_t spare = serving_spare(plan, r);
    const char *outside = outside_name(plan, r);
    char n[5][32];
    for (unsigned i = 0; i < 5; i++)
        scale_print(n[i], scale, bytes[i]);
    if (r->given) {
        uint64_t all = r->weights_bytes + r->activation_bytes + r->outside_bytes +
                       r->graphs_bytes + r->cache_bytes;
        text_printf(out, "%s %s as the plan says, beside weights %s, profile run %s, %s %s%s",
                    n[0], scale.unit, n[2], n[3], outside, n[4],
                    all > screen->memory->capacity_bytes ? ": more than the device has" : "");
        return;
    }
    text_printf(out, "%s %s = %.4g x ", n[0], scale.unit, engine_fraction(plan));
    switch (engine_release(plan)->pool) {
    case POOL_OF_DEVICE:
        text_printf(out, "%s - weights %s - profile run %s - %s %s", n[1], n[2], n[3], outside,
                    n[4]);
        return;
    case POOL_OF_FREE:
        scale_print_signed(n[0], scale, spare);
        text_printf(out, "(%s - %s %s) - weights %s", n[1], outside, n[4], n[2]);
        append_states(scale, r, out);
        text_printf(out, "; a full %s takes %s, spare %s%s",
                    plan->workload.role == DUTY_ANSWERS ? "step" : "prefill", n[3], n[0],
                    spare < 0 && r->cache_bytes ? " (it runs out: a lower memory.fraction)"
                                                : "");
        return;
    case POOL_OF_REST:
        text_printf(out, "(%s - weights %s - peak %s - %s %s)", n[1], n[2], n[3], outside,
                    n[4]);
        append_states(scale, r, out);
        return;
    }
}

/* What the engine leaves to its cache, and what that holds. */
static void print_pool(struct screen *screen)
{
    const struct serving_report *r = &screen->view->prediction->serving;
    struct text text = {.arena = screen->view->arena};
    if (!r->present || screen->view->prediction->n_pools) /* each stands with its servers */
        return;
    append_pool(screen, r, &text);
    text_printf(&text,
                ": %" PRIu64 " blocks of %" PRIu64 ", %" PRIu64 " tokens, %" PRIu64
                " sequence%s of %" PRIu64,
                r->cache_blocks, r->block_tokens, r->cache_tokens, r->sequences,
                r->sequences == 1 ? "" : "s", r->context_tokens);
    const struct workload *w = &screen->view->plan->workload;
    if (r->running > r->sequences) /* their windows no longer hold a prompt's chunk */
        text_printf(&text, ", %" PRIu64 " past their prompts", r->running);
    if (w->mode == MODE_DECODE && !w->queue && r->running < w->micro_batch)
        text_printf(&text, ", not the step's %" PRIu64, w->micro_batch);
    screen_item(screen, "KV pool", text_string(&text));
}

void screen_cache(struct screen *screen)
{
    print_pool(screen);
    const struct plan *plan = screen->view->plan;
    const struct memory_report *memory = screen->memory;
    const struct serving_report *pool = &screen->view->prediction->serving;
    uint64_t bytes = 0, sequences = screen->view->prediction->batch;
    for (unsigned i = 0; i < memory->n_categories; i++)
        if (memory->categories[i].category == CATEGORY_KV_CACHE)
            bytes = memory->categories[i].bytes;
    if (!bytes || !sequences || plan->workload.mode != MODE_DECODE)
        return;
    struct text text = {.arena = screen->view->arena};
    text_printf(&text, "%s %s: %" PRIu64 " sequence%s of %" PRIu64 " tokens",
                screen_amount(screen, bytes), screen->scale.unit, sequences,
                sequences == 1 ? "" : "s",
                pool->present ? pool->context_tokens : plan->workload.context_length);
    bool waits = sequences < plan->workload.micro_batch;
    uint64_t more = memory->margin_bytes > 0 && bytes >= sequences && !waits
                        ? (uint64_t)memory->margin_bytes / (bytes / sequences)
                        : 0;
    if (more && !pool->present)
        text_printf(&text, "; the margin holds %" PRIu64 " more", more);
    screen_item(screen, "KV cache", text_string(&text));
}
