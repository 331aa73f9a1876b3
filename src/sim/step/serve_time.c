/* See serve_time.h. */
#include "sim/step/serve_time.h"

#include <math.h>

#include "base/checked.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/paths.h"
#include "plan/pools.h"
#include "sim/serve/serve_play.h"
#include "sim/serve/serve_pools.h"
#include "sim/step/time.h"
#include "work/layer/layer.h"

/* Samples of routing a size, but for the decode step of all sequences, which is the one that a
 * plan's step_s is; the fewest tokens of a prefill step. */
enum { SAMPLES = 16, FEWEST_TOKENS = 64 };

/* Sizes of a decode step with one sequence on fewer replicas than there are. */
enum { FEW_KNOTS = 4 };

/* One of the two steps, and the sizes it is priced at. */
struct serve_step {
    struct stepper stepper;
    struct plan plan;  /* of the size at hand */
    unsigned n, n_few; /* few: the first ones, of one sequence on some replicas */
    unsigned used;     /* the first ones, which are sampled and priced */
    struct knot {
        uint64_t sequences, length, tokens; /* tokens: of time_routing */
        struct demand full;
        bool routed; /* full is set */
    } knots[COST_KNOTS + 1];
};

/* ---- sizes ---- */

static void set_size(struct serve_step *s, const struct knot *knot)
{
    bool prefills = s->plan.workload.mode == MODE_PREFILL;
    s->plan.workload.micro_batch =
        prefills ? knot->sequences : serve_batch(&s->plan, knot->sequences);
    s->plan.workload.sequence_length = knot->length;
}

/* Alone no rank is fuller than another, unless it matters how its rows fall to its experts. */
static bool is_alone(const struct serve_step *s)
{
    const uint32_t *asked = s->stepper.work.sizes.slot;
    bool falls =
        layer_alignment(&s->stepper.plan) > 1 || asked[SLOT_HOT_EXPERT] || asked[SLOT_ROUNDS];
    return s->plan.parallel.ep == 1 && !falls;
}

/* The laws of routing, once for all sizes of both steps: they depend on neither tokens nor
 * mode. NULL: no size asks for them. */
static enum status prepare_laws(struct serve_step *s, const struct serve_ask *ask,
                                struct arena *arena, const struct rows **laws, struct err *err)
{
    struct rows_spec spec;
    *laws = ask->rows;
    set_size(s, &s->knots[0]);
    if (ask->rows || s->n == 0 || is_alone(s) || !time_is_routed(&s->plan))
        return STATUS_OK;
    struct rows *rows = arena_alloc(arena, 1, sizeof *rows);
    rows_spec_from_plan(&s->plan, ask->routing, &spec);
    *laws = rows;
    return rows_prepare(&spec, arena, rows, err);
}

static enum status sample(struct serve_step *s, struct knot *knot,
                          const struct time_routing *routing, struct arena *arena,
                          struct err *err)
{
    struct demand_spread spread;
    TRY(time_demand(&s->plan, &s->stepper.pricing.rates, routing, arena, &spread, &knot->routed,
                    err));
    if (knot->routed)
        knot->full = spread.expected;
    return STATUS_OK;
}

/* The demand of each size, of fewer samples but for the step that step_s is of. */
static enum status sample_knots(struct serve_step *s, uint64_t last_samples,
                                const struct routing_data *data, const struct rows *laws,
                                struct arena *arena, struct err *err)
{
    for (unsigned k = 0; k < s->used; k++) {
        struct knot *knot = &s->knots[k];
        const struct time_routing routing = {data, laws, knot->tokens};
        set_size(s, knot);
        s->plan.moe.routing.samples =
            k + 1 < s->n ? lesser(last_samples, SAMPLES) : last_samples;
        if (!is_alone(s)) {
            TRY(sample(s, knot, &routing, arena, err));
        } else if (knot->tokens && time_is_routed(&s->plan)) {
            knot->routed = true;
            knot->full = time_even(&s->plan, knot->tokens);
        }
    }
    return STATUS_OK;
}

/* SGLang's low-latency kernels assert that a rank has no more tokens than their buffers: with
 * deepep-mode auto, its default, a batch with a prompt in it goes by the normal ones
 * (layers/moe/token_dispatcher/deepep.py, _get_impl; layers/moe/utils.py, DeepEPMode.resolve).
 */
static void take_prompt_path(struct plan *plan)
{
    if (plan->stack.kind != STACK_SGLANG || !path_reads(plan->moe.path, READS_DISPATCH_TOKENS))
        return;
    for (size_t path = 0; path < paths_count(); path++)
        if (path_reads((enum moe_path)path, READS_DEEPEP) &&
            !path_reads((enum moe_path)path, READS_DISPATCH_TOKENS))
            plan->moe.path = (enum moe_path)path;
}

static enum status open_step(const struct plan *plan, enum mode mode, struct serve_model *model,
                             const struct serve_ask *ask, struct serve_step *s, struct err *err)
{
    if (mode == MODE_DECODE)
        serve_timed_plan(plan, model->load.sequences, &s->plan);
    else
        serve_step_plan(plan, mode, model->load.sequences, &s->plan);
    if (mode == MODE_PREFILL)
        take_prompt_path(&s->plan);
    s->stepper.routing = ask->routing;
    return stepper_build(&s->stepper, &s->plan, ask->profile, model->arena, err);
}

/* 1, 2, 4, ... and the last; of fewer where that is many. */
static uint64_t next_size(uint64_t x, uint64_t last)
{
    uint64_t factor = last > 4096 ? 4 : 2;
    return x < last && factor * x > last ? last : factor * x;
}

static void add_decode(struct serve_step *s, uint64_t sequences, uint64_t tokens)
{
    s->knots[s->n++] =
        (struct knot){sequences, s->plan.workload.sequence_length, tokens, .routed = false};
}

/* One sequence each on some of the replicas, as long as that chooses fewer experts. */
static void list_few(struct serve_step *s)
{
    uint64_t group = serve_group(&s->plan), before = 0;
    bool fewer = plan_is_routed(&s->plan) && serve_filler(&s->plan) < 1;
    for (unsigned i = 0; i < FEW_KNOTS && fewer; i++) {
        uint64_t n = (uint64_t)pow((double)group, (double)i / FEW_KNOTS);
        if (n > before && n < group)
            add_decode(s, 1, n * serve_step_tokens(&s->plan));
        before = n;
    }
    s->n_few = s->n;
}

/* So many sequences on every replica; last the step that is said, whose replicas need not all
 * have as many. */
static void list_decode(struct serve_step *s, uint64_t last, uint64_t said)
{
    uint64_t replicas = plan_dp(&s->plan);
    list_few(s);
    for (uint64_t x = 1; x <= last && s->n < COST_KNOTS; x = next_size(x, last))
        add_decode(s, x, serve_routed(&s->plan, x, (double)x * (double)replicas));
    if (s->knots[s->n - 1].tokens != said)
        add_decode(s, s->knots[s->n - 1].sequences, said);
}

/* One prompt's chunk until it is whole, then more prompts. */
static void list_prefill(struct serve_step *s)
{
    uint64_t prompt = s->plan.workload.sequence_length, ranks = plan_sequence_ranks(&s->plan),
             last = prompt * s->plan.workload.micro_batch, before = 0;
    for (uint64_t x = last < FEWEST_TOKENS ? last : FEWEST_TOKENS;
         x <= last && s->n < COST_KNOTS; x = next_size(x, last)) {
        struct knot knot = {.sequences = 1, .length = round_up(x, ranks)};
        if (x >= prompt)
            knot = (struct knot){.sequences = x / prompt, .length = prompt};
        uint64_t tokens = knot.sequences * knot.length;
        if (tokens > before)
            s->knots[s->n++] = knot;
        before = tokens;
    }
}

/* Of a server that prefills alone its steps beside no answer: of decode steps the shortest,
 * which none of them is shorter than (step_s of the scheduler). */
static void choose_used(struct serve_model *m, bool alone)
{
    enum duty role = m->plan->workload.role;
    m->decode->used = m->decode->n;
    m->prefill->used = m->prefill->n;
    if (alone && role == DUTY_ANSWERS)
        m->prefill->used = 0;
    if (alone && role == DUTY_PROMPTS)
        m->decode->used = m->decode->n_few + 1;
}

enum status serve_open(struct serve_model *model, const struct plan *plan,
                       const struct serve_ask *ask, struct arena *arena, struct err *err)
{
    *model = (struct serve_model){.plan = plan, .arena = arena};
    TRY(serve_load_of(plan, arena, &model->load, err));
    model->decode = arena_alloc(arena, 2, sizeof *model->decode);
    model->prefill = model->decode + 1;
    model->decode[0] = model->decode[1] = (struct serve_step){.n = 0};
    TRY(open_step(plan, MODE_DECODE, model, ask, model->decode, err));
    TRY(open_step(plan, MODE_PREFILL, model, ask, model->prefill, err));
    list_decode(model->decode, model->load.sequences,
                serve_timed_tokens(plan, model->load.sequences));
    list_prefill(model->prefill);
    choose_used(model, ask->alone);
    const struct rows *laws;
    uint64_t samples = plan->moe.routing.samples;
    TRY(prepare_laws(model->decode, ask, arena, &laws, err));
    TRY(sample_knots(model->decode, samples, ask->routing, laws, arena, err));
    TRY(sample_knots(model->prefill, lesser(samples, SAMPLES), ask->routing, laws, arena, err));
    return STATUS_OK;
}

void serve_close(struct serve_model *model)
{
    for (unsigned i = 0; model->decode && i < 2; i++)
        stepper_release(&model->decode[i].stepper);
}

/* ---- seconds ---- */

/* Of a chunk whose prompts have so many tokens each in the cache: one meets twice as many more
 * as half of its own (SLOT_ATTENDED is twice the mean). */
static bool price_after(struct serve_step *s, unsigned k, uint64_t earlier,
                        struct step_time *out)
{
    const struct knot *knot = &s->knots[k];
    set_size(s, knot);
    stepper_follow(&s->stepper, &s->plan);
    s->stepper.slots.value[SLOT_ATTENDED] += 2 * earlier;
    return stepper_time(&s->stepper, knot->routed ? &knot->full : NULL, out);
}

static bool price(struct serve_step *s, unsigned k, struct step_time *out)
{
    return price_after(s, k, 0, out);
}

/* Whether all replicas share an op's work out: experts and their rows. */
static bool is_shared(const struct stepper *s, size_t i)
{
    const struct op *op = &s->work.ops[i];
    enum profile_item item = price_item(op, s->values);
    return segment_has_experts(op->segment) &&
           (item == PROFILE_GROUPED || item == PROFILE_BATCHED || item == PROFILE_MOVE ||
            item == PROFILE_ALL_TO_ALL);
}

/* Seconds by which the last step is longer for such work: none of what it hides behind the
 * host's launches, or beside other work. */
static double experts_s(struct stepper *s)
{
    double all = stepper_sum(s);
    for (size_t i = 0; i < s->work.n_ops; i++)
        s->op_s[i] = is_shared(s, i) ? 0 : s->op_s[i];
    return fmax(0, all - stepper_sum(s));
}

static void add_knot(struct cost_curve *curve, double x, double y)
{
    curve->x[curve->n] = x;
    curve->y[curve->n++] = y;
}

/* Seconds of the last step in products that expand latents to keys and values. */
static double expand_s(const struct stepper *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->work.n_ops; i++)
        if (text_equal(s->work.ops[i].name, "kv_up"))
            sum += s->op_s[i] * (double)s->values[s->work.ops[i].layers.node];
    return sum;
}

/* A chunk attends to all of its prompt before it, and expands what the cache has of it in
 * latents once more (SGLang models/deepseek_common/attention_forward_methods/forward_mha.py,
 * _chunked_prefix_attn_mha; vLLM model_executor/layers/attention/mla_attention.py,
 * _compute_prefill_context). Of the largest chunk of one prompt, after as many tokens as make
 * its chunks' sum right where what is met grows with the tokens before, and where it does not,
 * as in windows and of chosen keys: half the prompt, and a prefix. */
static bool price_earlier(const struct plan *plan, struct serve_step *s,
                          struct step_costs *costs)
{
    struct step_time alone, after;
    unsigned k = 0;
    while (k + 1 < s->used && s->knots[k + 1].sequences == 1)
        k++;
    double n = (double)s->knots[k].length;
    if (!s->used || !price(s, k, &alone))
        return !s->used;
    costs->earlier.token_s = expand_s(&s->stepper) / n;
    uint64_t prompt = serve_prompt(plan), earlier = plan->workload.shared_prefix;
    earlier += prompt > s->knots[k].length ? prompt / 2 : 0;
    earlier += earlier ? 0 : s->knots[k].length;
    bool priced = price_after(s, k, earlier, &after);
    costs->earlier.pair_s = fmax(0, after.step_s - alone.step_s) / (n * (double)earlier);
    costs->earlier.chunk = n;
    return priced;
}

/* A step is priced with a batch in every pipeline stage: the first batch takes as long alone,
 * and others beside it nothing more. */
static void fill_stages(const struct plan *plan, struct cost_curve *curve)
{
    unsigned last = curve->n - 1;
    if (plan->parallel.pp > 1 && curve->n && curve->n < COST_KNOTS)
        add_knot(curve, curve->x[last] * (double)plan->parallel.pp, curve->y[last]);
}

/* One sequence on some replicas: all but the experts is as with one on each. */
static bool price_few(struct serve_model *m, struct cost_curve *routed)
{
    struct serve_step *s = m->decode;
    struct step_time step, each;
    double replica = (double)(serve_group(m->plan) * serve_step_tokens(m->plan));
    if (!s->n_few)
        return true;
    if (!price(s, s->n_few, &each))
        return false;
    double last = experts_s(&s->stepper);
    for (unsigned k = 0; k < s->n_few; k++) {
        if (!price(s, k, &step))
            return false;
        add_knot(routed, (double)s->knots[k].tokens / replica,
                 last - (each.step_s - step.step_s));
    }
    for (unsigned k = s->n_few; k-- > 0; last = routed->y[k]) /* whole rows are rounded up */
        routed->y[k] = fmin(routed->y[k], last);
    return true;
}

static bool price_decode(struct serve_model *m, struct step_costs *costs,
                         struct step_time *full)
{
    struct serve_step *s = m->decode;
    costs->filler = serve_filler(m->plan);
    if (!price_few(m, &costs->routed))
        return false;
    for (unsigned k = s->n_few; k < s->used; k++) {
        double x = (double)s->knots[k].sequences;
        if (!price(s, k, full))
            return false;
        if (k > s->n_few && s->knots[k].sequences == s->knots[k - 1].sequences)
            return true; /* the step that is said */
        add_knot(&costs->decode, x, full->step_s);
        add_knot(&costs->attention, x, full->part_s[TIME_ATTENTION]);
        if (s->stepper.draft)
            add_knot(&costs->draft, x, full->part_s[TIME_DRAFT]);
        if (s->n_few)
            add_knot(&costs->routed, x, experts_s(&s->stepper));
    }
    return true;
}

static bool price_all(struct serve_model *m, struct step_costs *costs, struct step_time *full,
                      double *prefill_s)
{
    struct step_time step;
    if (!price_decode(m, costs, full))
        return false;
    for (unsigned k = 0; k < m->prefill->used; k++) {
        const struct knot *knot = &m->prefill->knots[k];
        double x = (double)(knot->sequences * knot->length);
        if (!price(m->prefill, k, &step))
            return false;
        add_knot(&costs->prefill, x, step.step_s);
        add_knot(&costs->experts, x, experts_s(&m->prefill->stepper));
        *prefill_s = step.step_s;
    }
    fill_stages(m->plan, &costs->prefill);
    fill_stages(m->plan, &costs->experts);
    return price_earlier(m->plan, m->prefill, costs);
}

/* ---- requests ---- */

/* In an open loop nobody knows before it is played. */
static uint64_t waiting_of(const struct serve_model *m)
{
    return plan_arrives(m->plan) ? 0 : m->load.requests - m->load.sequences;
}

/* Its steps priced; `step`, or NULL: the decode step of all sequences; *prefill_s a full step
 * of prompts, which cost a server that decodes alone nothing. False when a size overflows. */
static bool price_model(struct serve_model *m, const struct profile *profile,
                        struct step_costs *costs, struct step_time *step, double *prefill_s)
{
    *costs = (struct step_costs){.decode = {.n = 0}};
    *prefill_s = 0;
    *step = (struct step_time){.step_s = 0};
    for (unsigned i = 0; i < 2; i++)
        stepper_price(&m->decode[i].stepper, profile, NULL);
    if (!price_all(m, costs, step, prefill_s))
        return false;
    if (m->plan->workload.role != DUTY_ANSWERS)
        return true;
    costs->prefill.n = costs->experts.n = 0;
    costs->earlier.pair_s = costs->earlier.token_s = 0;
    return true;
}

static struct serve_times times_of(const struct serve_model *m)
{
    return (struct serve_times){.present = true,
                                .replicas = m->load.replicas,
                                .sequences = m->load.sequences,
                                .waiting = waiting_of(m),
                                .step_tokens = engine_tokens(m->plan) * m->plan->parallel.pp,
                                .capped = m->load.capped};
}

bool serve_time(struct serve_model *m, const struct profile *profile, struct serve_times *out,
                struct step_time *step)
{
    struct step_costs costs;
    struct step_time full;
    *out = times_of(m);
    if (!price_model(m, profile, &costs, &full, &out->prefill_step_s))
        return false;
    out->decode_step_s = full.step_s;
    const struct serve_game game = {m->plan, &m->load, &costs,
                                    &m->decode->stepper.pricing.rates};
    serve_play(&game, out);
    if (step)
        *step = full;
    return true;
}

/* ---- prefill apart ---- */

enum status serve_server_price(const struct plan *plan, enum duty duty,
                               const struct serve_ask *ask, struct serve_server *out,
                               struct err *err)
{
    bool shares = !plan_arrives(plan); /* requests in flight, not a rate */
    const struct profile *profile = profile_of_pool(ask->profile, duty);
    const struct serve_ask own = {.routing = ask->routing, .profile = profile, .alone = true};
    struct arena arena = {0};
    struct serve_model m;
    plan_pool(plan, duty, shares ? plan_deployments(plan, duty) : 1, &out->plan);
    enum status status = serve_open(&m, &out->plan, &own, &arena, err);
    if (status == STATUS_OK &&
        !price_model(&m, profile, &out->costs, &out->step, &out->prefill_s))
        status = err_set(err, STATUS_INPUT, "a size of a served step overflows 64 bits");
    if (status == STATUS_OK) {
        out->times = times_of(&m);
        out->load = m.load;
        out->rates = m.decode->stepper.pricing.rates;
        out->pool =
            (struct serve_pool){.game = {&out->plan, &out->load, &out->costs, &out->rates}};
    }
    serve_close(&m);
    arena_release(&arena);
    return status;
}

void serve_servers_time(const struct plan *plan, struct serve_server *prefill,
                        struct serve_server *decode, struct serve_times *out)
{
    const struct serve_pools pools = {plan, &prefill->pool, &decode->pool};
    *out = decode->times;
    out->waiting = 0;
    out->step_tokens = prefill->times.step_tokens;
    out->prefill_step_s = prefill->prefill_s;
    out->decode_step_s = decode->step.step_s;
    serve_pools_play(&pools, out);
}

static enum status times_of_pools(const struct plan *plan, const struct serve_ask *ask,
                                  struct arena *arena, struct serve_times *out,
                                  struct step_time *step, struct err *err)
{
    struct serve_server *servers = arena_alloc(arena, 2, sizeof *servers);
    TRY(serve_server_price(plan, DUTY_PROMPTS, ask, &servers[0], err));
    TRY(serve_server_price(plan, DUTY_ANSWERS, ask, &servers[1], err));
    serve_servers_time(plan, &servers[0], &servers[1], out);
    if (step)
        *step = servers[1].step;
    for (unsigned i = 0; i < 2; i++)
        serve_pool_release(&servers[i].pool);
    return STATUS_OK;
}

enum status serve_times_of(const struct plan *plan, const struct serve_ask *ask,
                           struct arena *arena, struct serve_times *out, struct step_time *step,
                           struct err *err)
{
    struct serve_model model;
    if (plan->prefill)
        return times_of_pools(plan, ask, arena, out, step, err);
    enum status status = serve_open(&model, plan, ask, arena, err);
    if (status == STATUS_OK && !serve_time(&model, ask->profile, out, step))
        status = err_set(err, STATUS_INPUT, "a size of a served step overflows 64 bits");
    serve_close(&model);
    return status;
}

enum status serve_alone_times(const struct plan *plan, const struct serve_ask *ask,
                              struct arena *arena, struct serve_alone *out, struct err *err)
{
    struct serve_model model;
    struct step_costs costs;
    struct step_time full;
    double prefill_s;
    const struct serve_ask own = {ask->routing, ask->profile, ask->rows, true};
    enum status status = serve_open(&model, plan, &own, arena, err);
    if (status == STATUS_OK && !price_model(&model, ask->profile, &costs, &full, &prefill_s))
        status = err_set(err, STATUS_INPUT, "a size of a served step overflows 64 bits");
    if (status == STATUS_OK) {
        const struct serve_game game = {plan, &model.load, &costs,
                                        &model.decode->stepper.pricing.rates};
        const struct serve_apart_side side = serve_side(&game);
        serve_alone_of(&side, out);
    }
    serve_close(&model);
    return status;
}
