/* What crosses links: what an op asks of its group's levels, and its seconds; see
 * price_parts.h. */
#include <math.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "sim/time/price_parts.h"
#include "work/list/kernel.h"

/* An exchange in a loop waits for the link in every trip that sends: all, or all but the one in
 * which a hop's own chunk takes its place. */
static double messages(const struct work *work, const struct op *op, const uint64_t *v)
{
    bool enters = op->kernel == KERNEL_HOP && op_buffer(work, op, ROLE_OWN) != WORK_NONE;
    return price_trips(op, v) - (enters ? 1 : 0);
}

/* An engine with tensor and expert parallelism over one set of ranks has all tokens on each of
 * them: what the list gathers is there, what it scatters is summed for all (engines.md 1.5; the
 * list is that of sequence parallelism, with the same rows of experts). Tables travel with the
 * rows that they are of. */
static void as_engine(const struct pricing *p, const struct work *work, const struct op *op,
                      struct comm_ask *ask)
{
    const struct parallel *parallel = &p->plan->parallel;
    bool gathers = op->kernel == KERNEL_ALLGATHER || ask->item == PROFILE_ALL_GATHER;
    uint16_t src = op_buffer(work, op, ROLE_SRC);
    bool within = op->group == GROUP_DCP || op->group == GROUP_HEADS ||
                  op->group == GROUP_PROMPT; /* attention: heads, and tokens of its own */
    if (!plan_is_engine(p->plan) || within)
        return;
    if (gathers && work->buffers[src].category == CATEGORY_METADATA)
        ask->messages = 0;
    if (!plan_tokens_everywhere(p->plan) || parallel->ep * parallel->etp != parallel->tp ||
        op->segment == SEGMENT_HEAD)
        return;
    *ask = (struct comm_ask){.item = PROFILE_ALL_REDUCE,
                             .bytes = gathers ? 0 : 2 * ask->bytes,
                             .messages = ask->messages};
}

/* Choices of a token that are no more distinct than independent ones reach so many nodes; of
 * groups those of the chosen ones. */
static double least_once(const struct plan *plan, const struct comm_place *place)
{
    double K = (double)plan->model.moe.top_k, nodes = place->ranks / place->inside;
    double E = (double)plan->model.moe.experts;
    double rank = 1 - price_none_of(E, E / place->ranks, K), node = 1 - pow(1 - 1 / nodes, K);
    double groups = (double)plan->model.moe.router.groups,
           chosen = (double)plan->model.moe.router.top_groups;
    if (groups >= nodes && chosen > 0 && chosen < groups) {
        double kept = 1 - price_none_of(groups, groups / nodes, chosen);
        node = fmin(node, kept * (1 - pow(1 - 1 / chosen, K)));
    }
    return node / (rank * place->inside);
}

/* Rows that routing sends: as it was sampled, or no more than any sample. Of recorded routing
 * all may stay where it is. */
static void as_routed(const struct pricing *p, struct comm_ask *ask)
{
    ask->part = p->links.told ? p->links.part : NULL;
    ask->bytes *= p->carried;
    if (!p->least)
        return;
    ask->uncrowded = true;
    ask->once = ask->once > 0 ? least_once(p->plan, &p->place[GROUP_EP]) : 0;
    if (p->plan->moe.routing.distribution == DISTRIBUTION_TRACE)
        ask->bytes = 0;
}

bool price_is_routed(const struct op *op)
{
    return op->kernel == KERNEL_EXCHANGE && op->group == GROUP_EP;
}

static struct comm_ask ask_of(const struct pricing *p, enum profile_item item,
                              const struct work *work, const struct op *op, const uint64_t *v)
{
    struct comm_ask ask = {
        .item = item,
        .to_all = op->kind == OP_EXCHANGE,
        .once = op->kind == OP_EXCHANGE ? p->once : 0,
        .bytes = fmax((double)v[op->bytes_sent.node], (double)v[op->bytes_received.node]),
        .messages = messages(work, op, v),
    };
    if (price_is_routed(op))
        as_routed(p, &ask);
    as_engine(p, work, op, &ask);
    return ask;
}

void price_levels(const struct pricing *p, const struct work *work, const struct op *op,
                  const uint64_t *values, double bytes[PROFILE_LEVELS])
{
    struct comm_ask ask = ask_of(p, price_item(op, values), work, op, values);
    comm_levels(&p->place[op->group], &ask, bytes);
}

struct price price_link(const struct pricing *p, enum profile_item item,
                        const struct work *work, const struct op *op, const uint64_t *v)
{
    struct comm_ask ask = ask_of(p, item, work, op, v);
    struct price price = {0};
    price.s = price.link_s =
        comm_levels_s(&p->rates, &p->place[op->group], &ask, price.level_s);
    return price;
}
