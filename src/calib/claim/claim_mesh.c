/* Quantities of a TPU mesh (seed 003): chunked exchange, collectives, the naive layer. */
#include <math.h>

#include "base/text.h"
#include "calib/claim/claim_quantity.h"
#include "sim/moe/chunks.h"
#include "sim/moe/collective.h"
#include "sim/moe/intensity.h"
#include "sim/time/timeline.h"

/* ---- small arrays ---- */

enum { SIDE = 16 };

/* arange(rows x columns) as a matrix, cut into x times y shards. */
struct shards {
    uint64_t rows, columns, x, y;
};

static bool shards(struct claim_call *call, struct shards *s)
{
    *s = (struct shards){claim_count(call, "rows"), claim_count(call, "columns"),
                         claim_count(call, "x"), claim_count(call, "y")};
    bool sound = s->x && s->y && s->rows <= SIDE && s->columns <= SIDE && s->rows % s->x == 0 &&
                 s->columns % s->y == 0;
    if (!sound)
        err_set(call->err, STATUS_INPUT, "the matrix does not divide into its shards");
    return sound;
}

static double mean_of(const struct shards *s, uint64_t x, uint64_t y)
{
    uint64_t p = s->rows / s->x, q = s->columns / s->y;
    double sum = 0;
    for (uint64_t i = x * p; i < (x + 1) * p; i++)
        for (uint64_t j = y * q; j < (y + 1) * q; j++)
            sum += (double)(i * s->columns + j);
    return sum / (double)(p * q);
}

static struct claim_answer shard_means(struct claim_call *call)
{
    struct shards s;
    struct text text = {.arena = call->arena};
    if (!shards(call, &s))
        return claim_says("");
    for (uint64_t x = 0; x < s.x; x++)
        for (uint64_t y = 0; y < s.y; y++)
            text_printf(&text, "%s%.1f", x + y ? " " : "", mean_of(&s, x, y));
    return claim_says(text_string(&text));
}

/* roll(A, shift, axis 0) - A inside a shard: the value of each of its rows. */
static struct claim_answer roll_rows(struct claim_call *call)
{
    struct shards s;
    struct text text = {.arena = call->arena};
    uint64_t shift = claim_count(call, "shift");
    if (!shards(call, &s))
        return claim_says("");
    uint64_t p = s.rows / s.x;
    for (uint64_t i = 0; i < p; i++) {
        uint64_t from = (i + p - shift % p) % p;
        text_printf(&text, "%s%+.0f", i ? " " : "",
                    ((double)from - (double)i) * (double)s.columns);
    }
    return claim_says(text_string(&text));
}

/* ---- chunks ---- */

static struct chunks_ask chunks(struct claim_call *call)
{
    struct chunks_ask ask = {.top_k = claim_count(call, "top_k"),
                             .experts = claim_count(call, "experts"),
                             .devices = claim_count(call, "devices"),
                             .chunk = 1};
    uint64_t tokens = claim_count(call, "tokens");
    if (ask.devices == 0 || ask.experts == 0) {
        err_set(call->err, STATUS_INPUT, "no devices or no experts");
        ask.devices = ask.experts = 1;
    }
    ask.tokens = tokens / ask.devices;
    ask.chunk =
        claim_has(call, "chunk") ? claim_count(call, "chunk") : chunks_rule_of_thumb(&ask);
    return ask;
}

static struct claim_answer rule_of_thumb(struct claim_call *call)
{
    struct chunks_ask ask = chunks(call);
    return claim_is((double)chunks_rule_of_thumb(&ask));
}

static struct claim_answer expected_rounds(struct claim_call *call)
{
    struct chunks_ask ask = chunks(call);
    struct claim_answer answer = claim_is(chunks_expected_rounds(&ask));
    answer.note = arena_printf(call->arena, "C = %d, at worst %d rounds", (int)ask.chunk,
                               (int)chunks_worst_rounds(&ask));
    return answer;
}

static struct claim_answer static_rounds(struct claim_call *call)
{
    struct chunks_ask ask = chunks(call);
    return claim_is((double)chunks_static_rounds(&ask));
}

static struct claim_answer worst_rounds(struct claim_call *call)
{
    struct chunks_ask ask = chunks(call);
    return claim_is((double)chunks_worst_rounds(&ask));
}

/* Static rounds beside those of one expert per token. */
static struct claim_answer rounds_ratio(struct claim_call *call)
{
    struct chunks_ask ask = chunks(call), one = ask;
    one.top_k = 1;
    double rounds = (double)chunks_static_rounds(&ask);
    struct claim_answer answer = claim_is(rounds / (double)chunks_static_rounds(&one));
    answer.note = arena_printf(call->arena, "%.0f rounds against %.0f", rounds,
                               (double)chunks_static_rounds(&one));
    return answer;
}

/* Share of the slots that the static loop sends which hold no row. */
static struct claim_answer empty_slots(struct claim_call *call)
{
    struct chunks_ask ask = chunks(call);
    double padding = chunks_padding(&ask, (double)chunks_static_rounds(&ask));
    struct claim_answer answer = claim_is(1 - 1 / padding);
    answer.note = arena_printf(call->arena, "slots are %.1f x the rows", padding);
    return answer;
}

/* One round: both exchanges by bisection (two links cut a mesh's middle), and the product as
 * the slower of its FLOPs and its bytes. */
struct round {
    double fetch, compute, back;
};

static bool round_of(struct claim_call *call, const struct chunks_ask *ask, struct round *out)
{
    struct plan plan;
    double in = claim_number(call, "inputs"), width = claim_number(call, "outputs");
    if (!claim_parts(call, &plan))
        return false;
    double slots = (double)(ask->experts * ask->chunk), link = plan.cluster.node.link_bandwidth;
    double rows = slots; /* a device receives as many as it sends */
    double local = (double)ask->experts / (double)ask->devices;
    double bytes = 4 * (local * in * width + rows * (in + width));
    out->fetch = collective_all_to_all_cut(ask->devices, 4 * slots * in, 2, link);
    out->back = collective_all_to_all_cut(ask->devices, 4 * slots * width, 2, link);
    out->compute = fmax(2 * rows * in * width / intensity_peak(&plan),
                        bytes / plan.cluster.device.memory_bandwidth);
    return true;
}

/* The loop of static rounds; "overlap=1": the next fetch beside the product. */
static struct claim_answer loop_time(struct claim_call *call)
{
    struct chunks_ask ask = chunks(call);
    struct rounds_times times;
    struct round round;
    uint64_t n = chunks_static_rounds(&ask);
    if (!round_of(call, &ask, &round))
        return claim_is(0);
    timeline_rounds(round.fetch, round.compute, round.back, n, &times);
    bool overlap = claim_number(call, "overlap") > 0;
    struct claim_answer answer = claim_is(overlap ? times.overlapped_s : times.serial_s);
    answer.note = arena_printf(call->arena, "%d rounds of %.0f + %.0f + %.0f us", (int)n,
                               round.fetch * 1e6, round.compute * 1e6, round.back * 1e6);
    return answer;
}

/* ---- the naive layer ---- */

/* Every device gets every expert's f32 weights, one at a time, by an all-reduce of what the
 * owner has and others have as zeros. */
static struct claim_answer broadcast_time(struct claim_call *call)
{
    struct plan plan;
    if (!claim_parts(call, &plan))
        return claim_is(0);
    double bytes = 4 * claim_number(call, "inputs") * claim_number(call, "outputs");
    struct fabric ring = {FABRIC_ONE_WAY, claim_count(call, "devices"),
                          plan.cluster.node.link_bandwidth, 0};
    double experts = claim_number(call, "experts");
    struct claim_answer answer = claim_is(experts * collective_all_reduce(&ring, bytes));
    answer.note =
        arena_printf(call->arena, "%.0f all-reduces of %.1f MB", experts, bytes / 1e6);
    return answer;
}

static struct claim_answer gather_time(struct claim_call *call)
{
    struct plan plan;
    if (!claim_parts(call, &plan))
        return claim_is(0);
    double bytes = 4 * claim_number(call, "tokens") * claim_number(call, "inputs");
    struct fabric ring = {FABRIC_ONE_WAY, claim_count(call, "devices"),
                          plan.cluster.node.link_bandwidth, 0};
    struct claim_answer answer = claim_is(collective_all_gather(&ring, bytes));
    answer.note = arena_printf(call->arena, "%.1f MB over one link, one way", bytes / 1e6);
    return answer;
}

/* ---- collective matmuls ---- */

/* A reduce-scatter matmul or MLP takes at least its products at peak and its bytes over the
 * links, all chips wired to all. */
static struct claim_answer block_floor(struct claim_call *call)
{
    struct plan plan;
    struct collective_block b;
    if (!claim_parts(call, &plan))
        return claim_is(0);
    plan.cluster.mesh.n = 0; /* a switch: no congestion */
    plan.cluster.node.link_bandwidth *= claim_number_or(call, "links", 1);
    plan.cluster.node.link_latency = 0;
    if (!collective_block_of(&plan, 1, &b)) {
        err_set(call->err, STATUS_INPUT, "block.kind is missing");
        return claim_is(0);
    }
    struct claim_answer answer = claim_at_least(b.serial_s);
    answer.note = arena_printf(call->arena, "%.3f ms of products, %.3f ms on the wire",
                               b.matmul_s * 1e3, (b.gather_s + b.reduce_s) * 1e3);
    return answer;
}

/* "overlapped" when any schedule of the block's parts is shorter than one after the other. */
static struct claim_answer block_schedule(struct claim_call *call)
{
    enum { TILES = 8 };
    struct plan plan;
    struct collective_block b;
    if (!claim_parts(call, &plan) || !collective_block_of(&plan, TILES, &b))
        return claim_says("");
    return claim_says(b.overlapped_s < b.serial_s ? "overlapped" : "serial");
}

const struct claim_quantity claim_mesh[] = {
    {"mesh.shard_means", shard_means, CLAIM_PREDICTED},
    {"mesh.roll_rows", roll_rows, CLAIM_PREDICTED},
    {"chunks.rule_of_thumb", rule_of_thumb, CLAIM_PREDICTED},
    {"chunks.expected_rounds", expected_rounds, CLAIM_PREDICTED},
    {"chunks.static_rounds", static_rounds, CLAIM_PREDICTED},
    {"chunks.worst_rounds", worst_rounds, CLAIM_PREDICTED},
    {"chunks.rounds_ratio", rounds_ratio, CLAIM_PREDICTED},
    {"chunks.empty_slots", empty_slots, CLAIM_PREDICTED},
    {"chunks.loop_time", loop_time, CLAIM_PREDICTED},
    {"mesh.broadcast_time", broadcast_time, CLAIM_PREDICTED},
    {"mesh.gather_time", gather_time, CLAIM_PREDICTED},
    {"block.floor", block_floor, CLAIM_PREDICTED},
    {"block.schedule", block_schedule, CLAIM_PREDICTED},
    {NULL, NULL, CLAIM_UNANSWERED},
};
