/* See stretch.h. */
#include "sim/time/stretch.h"

#include <math.h>
#include <string.h>

#include "sim/time/copies.h"
#include "sim/time/launch.h"
#include "sim/time/launched.h"
#include "sim/time/shards.h"
#include "sim/time/step_halves.h"
#include "sim/time/timeline.h"
#include "work/list/dtype.h"
#include "work/list/kernel.h"

double stretch_s(const struct stretch *stretch)
{
    double s = 0;
    for (unsigned i = 0; i < TIME_PARTS; i++)
        s += stretch->part_s[i];
    return s;
}

void stretch_add(struct stretch *sum, const struct stretch *one, double times)
{
    for (unsigned i = 0; i < TIME_PARTS; i++)
        sum->part_s[i] += times * one->part_s[i];
    sum->products_s += times * one->products_s;
    sum->aside_s += times * one->aside_s;
    sum->end_s = fmax(sum->end_s, one->end_s); /* of one layer */
    sum->looped_s += times * one->looped_s;
    sum->paired_s += times * one->paired_s;
    for (unsigned i = 0; i < BESIDES; i++)
        sum->beside_s[i] += times * one->beside_s[i];
    for (unsigned i = 0; i < PROFILE_LEVELS; i++) {
        sum->link_s[i] += times * one->link_s[i];
        sum->beside_link_s[i] += times * one->beside_link_s[i];
    }
    for (unsigned i = 0; i < COPY_WAYS; i++)
        sum->copy_s[i] += times * one->copy_s[i];
    sum->layers += times * one->layers;
    sum->host_s += times * one->host_s;
    sum->sync_s += times * one->sync_s;
    sum->weight_s += times * one->weight_s;
    sum->comm_s += times * one->comm_s;
    sum->flop += times * one->flop;
    sum->least_s += times * one->least_s;
    sum->serial_s += times * one->serial_s;
}

/* ---- one op ---- */

enum time_part stretch_part(enum profile_item item, enum process_group group)
{
    if (profile_item_class(item) == PROFILE_COLLECTIVE) {
        if (process_group_is_data(group))
            return TIME_SHARDING;
        return group == GROUP_EP ? TIME_EXCHANGE : TIME_TENSOR;
    }
    if (item == PROFILE_ATTENTION)
        return TIME_ATTENTION;
    if (profile_item_class(item) == PROFILE_PRODUCT)
        return TIME_PRODUCTS;
    if (item == PROFILE_MOVE || item == PROFILE_INDEX)
        return TIME_MOVES;
    return item == PROFILE_UPDATE ? TIME_OPTIMIZER : TIME_ELEMENTWISE;
}

/* The layers of an op's pass: fewer run backward where the lowest are frozen. */
static uint32_t pass_layers(const struct stepper *s, const struct op *op)
{
    const struct segment_use *use = &s->work.use[op->segment];
    bool once = op->phase == PHASE_FORWARD || op->phase == PHASE_UPDATE;
    return once ? use->repeat.node : use->back.node;
}

double stretch_share(const struct stepper *s, const struct op *op)
{
    uint32_t all = pass_layers(s, op);
    if (!op->layers.node || op->layers.node == all)
        return 1;
    double run = (double)s->values[op->layers.node];
    double layers = (double)s->values[all];
    return layers > 0 ? run / layers : 1;
}

/* Exchanges that another micro-batch, or a step's other half, hides, if anything does. */
static bool is_paired(const struct stepper *s, const struct op *op)
{
    return op->group == GROUP_EP && (s->pairs || s->halves || s->single);
}

/* Which products an op's link may run beside, if any. */
static unsigned beside_of(const struct stepper *s, const struct op *op)
{
    const struct stack *stack = &s->plan.stack;
    if (process_group_is_data(op->group) || is_paired(s, op))
        return BESIDES;
    if (op->group == GROUP_EP)
        return stack->overlap_ep ? BESIDE_EXPERTS : BESIDES;
    return stack->overlap_tp ? BESIDE_TENSOR : BESIDES;
}

/* How long the links of a level carry an op, no longer than it takes. */
static double carries_s(const struct stepper *s, size_t i, unsigned level)
{
    return fmin(s->op_link_s[i][level], s->op_s[i]);
}

static void add_comm(const struct stepper *s, size_t i, enum time_part part, double share,
                     struct stretch *b)
{
    const struct op *op = &s->work.ops[i];
    double seconds = share * s->op_s[i];
    unsigned beside = beside_of(s, op);
    b->comm_s += seconds;
    for (unsigned level = 0; level < PROFILE_LEVELS; level++) {
        double carried = share * carries_s(s, i, level);
        b->link_s[level] += carried;
        b->beside_link_s[level] += beside < BESIDES ? carried : 0;
    }
    enum profile_item item = (enum profile_item)s->item[i];
    if (part == TIME_SHARDING && shards_in_layers(&s->plan, op, item)) {
        b->aside_s += seconds;
        b->end_s += shards_at_end(op, item) ? seconds : 0;
        return;
    }
    b->part_s[part] += seconds;
    if (beside < BESIDES)
        b->beside_s[beside] += seconds;
    b->paired_s += is_paired(s, op) ? seconds : 0;
}

/* How often the host launches a segment's ops, and waits in them. */
static double launches_of(const struct stepper *s, enum segment segment)
{
    return step_halves_run(s, segment) ? 2 : 1;
}

static void add_op(const struct stepper *s, size_t i, bool waits, struct stretch *b)
{
    const struct op *op = &s->work.ops[i];
    enum profile_item item = (enum profile_item)s->item[i];
    enum profile_item class = profile_item_class(item);
    double share = stretch_share(s, op), seconds = share * s->op_s[i];
    double syncs = share * (double)s->values[op->host_syncs.node] * s->pricing.rates.sync_s *
                   launches_of(s, op->segment);
    enum time_part part = stretch_part(item, op->group);
    if (waits)
        b->sync_s += syncs;
    b->serial_s += seconds;
    bool saved = op->done & DONE_NOWHERE && op->phase == PHASE_RECOMPUTE; /* train_kernels */
    b->flop += saved ? 0 : share * (double)s->values[op->flop.node];
    if (class == PROFILE_COLLECTIVE) {
        add_comm(s, i, part, share, b);
        return;
    }
    if (class == PROFILE_OFFLOAD) {
        enum copy_way way = copies_way(&s->plan, op);
        *(way == COPY_TURNS ? &b->part_s[TIME_HOST] : &b->copy_s[way]) += seconds;
        return;
    }
    b->part_s[part] += seconds;
    b->products_s += class == PROFILE_PRODUCT ? seconds : 0;
    b->weight_s += op->kernel == KERNEL_WGRAD ? seconds : 0;
}

/* ---- the host ---- */

/* What an op keeps the compute stream busy for: nothing where it runs beside it. */
static double stream_s(const struct stepper *s, size_t i, double share)
{
    const struct op *op = &s->work.ops[i];
    enum profile_item class = profile_item_class((enum profile_item)s->item[i]);
    bool link = class == PROFILE_COLLECTIVE;
    bool sharding = process_group_is_data(op->group);
    bool aside = class == PROFILE_OFFLOAD && copies_way(&s->plan, op) != COPY_TURNS;
    if (aside ||
        (link && sharding && shards_in_layers(&s->plan, op, (enum profile_item)s->item[i])))
        return 0;
    bool beside = link && (beside_of(s, op) < BESIDES || is_paired(s, op));
    return share * s->op_s[i] * (beside ? 1 - s->pricing.rates.share : 1);
}

/* Where the host waits in a layer: for the counts before rows are dispatched, or at its end. */
static bool waits_before(const struct op *op)
{
    return op->kind == OP_EXCHANGE && op->module == MODULE_DISPATCH;
}

/* A layer of a segment in one direction as the host launches it. */
struct host_layer {
    struct launch launch;
    double launches_s, waits_s;
    bool ahead, used;
};

static void host_op(const struct stepper *s, enum graphs graphs, size_t i, struct host_layer *h)
{
    const struct op *op = &s->work.ops[i];
    enum profile_item item = (enum profile_item)s->item[i];
    double share = stretch_share(s, op);
    double launch = kernel_is_work((enum kernel)op->kernel)
                        ? share * launched_s(s, graphs, op, item) * launches_of(s, op->segment)
                        : 0;
    if (h->waits_s > 0 && waits_before(op)) {
        launch_wait(&h->launch, h->waits_s);
        h->waits_s = 0;
    }
    launch_op(&h->launch, launch, stream_s(s, i, share));
    h->launches_s += launch;
    h->ahead = h->ahead || op->ahead;
    h->used = true;
}

/* Where rounds run ahead in a loop (hide_loops) the device is ahead as well, and the host
 * counts alone. */
static void host_end(const struct stepper *s, struct host_layer *h, struct stretch *b)
{
    if (s->plan.workload.mode != MODE_TRAIN) { /* the engines' constants were fitted so */
        b->host_s = h->launches_s;
        b->part_s[TIME_HOST] += b->sync_s;
        b->serial_s += h->launches_s + b->sync_s;
        return;
    }
    if (h->waits_s > 0)
        launch_wait(&h->launch, h->waits_s);
    if (h->used)
        b->host_s = h->ahead ? h->launches_s + b->sync_s : launch_period_s(&h->launch);
    b->serial_s += h->launches_s + b->sync_s;
}

/* Ops that count: all; those between the router and the layer's sum, with what the host waits
 * for between them; those that stretches_least is of. */
enum which { ALL_OPS, ROUTED_OPS, LEAST_OPS, COMMON_OPS };

/* Of a layer's passes, and between ranks that do not hold the same. */
static bool is_own(const struct op *op)
{
    return op->phase != PHASE_UPDATE && !process_group_is_data(op->group) &&
           op->group != GROUP_PP;
}

bool stretch_is_routed(const struct op *op)
{
    bool between =
        (op->module >= MODULE_PERMUTE && op->module <= MODULE_UNPERMUTE) || op->kind == OP_SYNC;
    return is_own(op) && segment_has_experts(op->segment) && between;
}

bool stretch_is_least(const struct stepper *s, const struct op *op)
{
    bool every = !op->layers.node || op->layers.node == pass_layers(s, op);
    return is_own(op) && every;
}

static bool is_common(const struct stepper *s, const struct op *op)
{
    bool experts = segment_has_experts(op->segment);
    return stretch_is_least(s, op) && (!experts || op->module <= MODULE_PROJECTION) &&
           price_item(op, s->values) != PROFILE_MOVE;
}

static bool counts(const struct stepper *s, const struct op *op, enum which which)
{
    if (which == COMMON_OPS)
        return is_common(s, op);
    if (which == LEAST_OPS)
        return stretch_is_least(s, op);
    return which == ALL_OPS || stretch_is_routed(op);
}

static void add_host(const struct stepper *s, enum graphs graphs, enum which which,
                     struct stretches *out)
{
    struct host_layer layers[SEGMENT_COUNT][PASSES];
    for (unsigned i = 0; i < SEGMENT_COUNT * PASSES; i++) {
        struct host_layer *h = &layers[i / PASSES][i % PASSES];
        if (!out->used[i / PASSES])
            continue;
        *h = (struct host_layer){.waits_s = out->layer[i / PASSES][i % PASSES].sync_s};
        launch_init(&h->launch);
    }
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        unsigned pass = op->phase == PHASE_FORWARD ? PASS_FORWARD : PASS_BACKWARD;
        if (!stretch_is_once(s, op) && op->group != GROUP_PP && op->kind != OP_SYNC &&
            counts(s, op, which))
            host_op(s, graphs, i, &layers[op->segment][pass]);
    }
    for (unsigned i = 0; i < SEGMENT_COUNT * PASSES; i++) {
        struct host_layer *h = &layers[i / PASSES][i % PASSES];
        struct stretch *b = &out->layer[i / PASSES][i % PASSES];
        if (!out->used[i / PASSES])
            continue;
        if (which == ALL_OPS && h->used)
            h->launches_s += launched_piece_s(s, graphs, (enum segment)(i / PASSES)) *
                             launches_of(s, (enum segment)(i / PASSES));
        if (h->used || b->sync_s > 0)
            host_end(s, h, b);
    }
}

/* ---- loops whose exchanges run ahead ---- */

/* What the list's sum of a loop has too much, as fetches of the next round run beside this
 * round's work. Of a bound all but the busier of link and work: a fuller rank has more rounds,
 * of which each hides the one before it, and what is in the first fetch and the last return
 * then may be less than with all rows in one. */
static double hidden_s(const struct stepper *s, const struct rounds_times *t)
{
    double least = s->bound ? fmax(t->link_s, t->compute_s) : t->overlapped_s;
    return t->serial_s - least;
}

/* What a loop hides of one of its links' ops is hidden by its own work: it is no longer to be
 * hidden by other products, and these hide nothing else on that link. */
static void hide_link(const struct stepper *s, size_t i, double share, struct stretch *b)
{
    unsigned beside = beside_of(s, &s->work.ops[i]);
    b->part_s[stretch_part((enum profile_item)s->item[i], s->work.ops[i].group)] -=
        share * s->op_s[i];
    if (beside < BESIDES)
        b->beside_s[beside] -= share * s->op_s[i];
    for (unsigned level = 0; level < PROFILE_LEVELS && beside == BESIDES; level++)
        b->beside_link_s[level] += share * carries_s(s, i, level);
}

static bool is_link(const struct op *op)
{
    return op->kind == OP_EXCHANGE || op->kind == OP_COLLECTIVE;
}

static void hide_rounds(const struct stepper *s, size_t first, size_t end, struct stretch *b)
{
    const struct op *ops = s->work.ops;
    double rounds = (double)s->values[ops[first].trips.node], fetch = 0, back = 0, work = 0;
    bool ahead = false;
    for (size_t i = first; i < end; i++) {
        ahead = ahead || ops[i].ahead;
        *(is_link(&ops[i]) ? ops[i].ahead ? &fetch : &back : &work) += s->op_s[i];
    }
    if (!ahead || rounds < 1 || fetch + back <= 0)
        return;
    struct rounds_times t;
    timeline_rounds(fetch / rounds, work / rounds, back / rounds, (uint64_t)rounds, &t);
    double hidden = hidden_s(s, &t);
    for (size_t i = first; i < end; i++) /* parts of an expert are summed there, too */
        if (is_link(&ops[i]))
            hide_link(s, i, hidden / (fetch + back), b);
    b->looped_s += hidden;
}

static void hide_loops(const struct stepper *s, struct stretches *out)
{
    const struct op *ops = s->work.ops;
    for (size_t i = 0, end; i < s->work.n_ops; i = end) {
        end = i + 1;
        if (!ops[i].loop)
            continue;
        while (end < s->work.n_ops && ops[end].loop == ops[i].loop &&
               ops[end].phase == ops[i].phase && ops[end].segment == ops[i].segment)
            end++;
        unsigned pass = ops[i].phase == PHASE_FORWARD ? PASS_FORWARD : PASS_BACKWARD;
        hide_rounds(s, i, end, &out->layer[ops[i].segment][pass]);
    }
}

/* ---- all of them ---- */

bool stretch_is_once(const struct stepper *s, const struct op *op)
{
    return shards_once(&s->plan, op);
}

enum update_part stretch_update(const struct stepper *s, size_t i)
{
    const struct op *op = &s->work.ops[i];
    enum profile_item item = price_item(op, s->values);
    bool copies = process_group_is_data(op->group);
    if (shards_go_in_backward(&s->plan, op))
        return UPDATE_REDUCE;
    if (copies && item == PROFILE_ALL_GATHER)
        return UPDATE_GATHER;
    if (copies && s->values[op->bytes_sent.node] > 64) /* not the norm's own number */
        return UPDATE_REDUCE;
    return UPDATE_WORK;
}

double stretch_once_s(const struct stepper *s, size_t i)
{
    const struct op *op = &s->work.ops[i];
    bool layers = op->phase != PHASE_UPDATE;
    return s->op_s[i] * (layers ? (double)s->values[op->layers.node] : 1);
}

/* The last bucket of a reduction, the first of a gather; of layers' own one layer's, or all of
 * what nothing hides. */
static double last_s(const struct stepper *s, size_t i, enum update_part part)
{
    const struct op *op = &s->work.ops[i];
    enum profile_item item = (enum profile_item)s->item[i];
    if (op->phase != PHASE_UPDATE)
        return !shards_hide(&s->plan, op, item) ? stretch_once_s(s, i)
               : shards_at_end(op, item)        ? s->op_s[i]
                                                : 0;
    uint16_t all = op_buffer(&s->work, op, part == UPDATE_REDUCE ? ROLE_SRC : ROLE_DST);
    if (all == WORK_NONE) /* a copy to the host */
        all = op_buffer(&s->work, op, ROLE_DST);
    if (all == WORK_NONE)
        return 0;
    const struct buffer *buffer = &s->work.buffers[all];
    unsigned bits = dtype_bits(buffer->dtype);
    double elements = 8 * (double)s->values[buffer->bytes.node] / bits;
    return s->op_s[i] * shards_last(&s->plan, elements, bits);
}

static void add_update(const struct stepper *s, size_t i, struct stretches *out)
{
    double *const sums[] = {&out->reduce_s, &out->update_s, &out->gather_s};
    double *const links[] = {out->reduce_link_s, NULL, out->gather_link_s};
    double *const lasts[] = {&out->reduce_last_s, NULL, &out->gather_first_s};
    enum update_part part = stretch_update(s, i);
    double all = stretch_once_s(s, i), times = s->op_s[i] > 0 ? all / s->op_s[i] : 0;
    *sums[part] += all;
    if (lasts[part]) /* dense and experts have buckets apart, which end at about one time */
        *lasts[part] = fmax(*lasts[part], last_s(s, i, part));
    bool carried = links[part] && s->work.ops[i].group != GROUP_NONE;
    for (unsigned level = 0; level < PROFILE_LEVELS && carried; level++)
        links[part][level] += times * carries_s(s, i, level);
}

/* Rows of one boundary between stages. */
static double send_s(const struct stepper *s, size_t i)
{
    const struct op *op = &s->work.ops[i];
    uint16_t rows = op_buffer(&s->work, op, ROLE_SRC);
    const struct comm_ask ask = {
        .item = PROFILE_SEND,
        .bytes = (double)s->values[s->work.buffers[rows].bytes.node],
        .messages = 1,
    };
    return comm_send_s(&s->pricing.rates, &s->pricing.place[GROUP_PP], &ask);
}

/* Most segments are of kinds of layers that a model has not: 21 kB would be cleared for each
 * step. */
static void clear(struct stretches *out, const struct stepper *s)
{
    static const struct stretch none = {.layers = 0};
    memset(out->used, 0, sizeof out->used);
    for (size_t i = 0; i < s->work.n_ops; i++) {
        enum segment segment = s->work.ops[i].segment;
        if (out->used[segment])
            continue;
        out->used[segment] = true;
        out->layer[segment][PASS_FORWARD] = out->layer[segment][PASS_BACKWARD] = none;
    }
    out->send_s = out->update_s = out->reduce_s = out->gather_s = 0;
    out->reduce_last_s = out->gather_first_s = 0;
    memset(out->reduce_link_s, 0, sizeof out->reduce_link_s);
    memset(out->gather_link_s, 0, sizeof out->gather_link_s);
}

static void fill(struct stretches *out, const struct stepper *s, enum which which)
{
    enum graphs graphs = step_graphs(&s->plan);
    clear(out, s);
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        if (!counts(s, op, which))
            continue;
        if (stretch_is_once(s, op))
            add_update(s, i, out);
        else if (op->group == GROUP_PP)
            out->send_s = send_s(s, i);
        else
            add_op(s, i, graphs != GRAPHS_FULL,
                   &out->layer[op->segment]
                              [op->phase == PHASE_FORWARD ? PASS_FORWARD : PASS_BACKWARD]);
    }
    if (graphs != GRAPHS_FULL)
        add_host(s, graphs, which, out);
    if (which != COMMON_OPS)
        hide_loops(s, out);
    for (unsigned i = 0; i < SEGMENT_COUNT * PASSES; i++) {
        if (!out->used[i / PASSES])
            continue;
        out->layer[i / PASSES][i % PASSES].layers =
            segment_is_layer((enum segment)(i / PASSES));
        if (!segment_has_experts((enum segment)(i / PASSES)))
            continue;
        struct stretch *moe = &out->layer[i / PASSES][i % PASSES];
        double fixed = stretch_s(moe) > 0 ? s->pricing.rates.layer_s : 0;
        moe->part_s[TIME_FIXED] += fixed;
        moe->serial_s += fixed;
    }
}

void stretches_of(struct stretches *out, const struct stepper *s)
{
    fill(out, s, ALL_OPS);
}

void stretches_routed(struct stretches *out, const struct stepper *s)
{
    fill(out, s, ROUTED_OPS);
}

void stretches_least(struct stretches *out, const struct stepper *s)
{
    fill(out, s, LEAST_OPS);
}

void stretches_common(struct stretches *out, const struct stepper *s)
{
    fill(out, s, COMMON_OPS);
}
