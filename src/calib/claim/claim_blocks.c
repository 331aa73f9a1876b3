/* Quantities of blockwise products (seed 002): blocks, padding, loads skipped. */
#include <inttypes.h>

#include "base/text.h"
#include "calib/claim/claim_quantity.h"
#include "work/rows/blocks.h"

enum { MOST = 256 };

/* ---- how many blocks ---- */

static struct claim_answer provisioned(struct claim_call *call)
{
    uint64_t block = claim_count(call, "block"), experts = claim_count(call, "experts");
    uint64_t rows = claim_count(call, "tokens") * claim_count(call, "top_k");
    return claim_is(block ? (double)blocks_document(rows, experts, block) : 0);
}

/* The most that any routing needs: the tight bound, which a routing reaches. */
static struct claim_answer worst(struct claim_call *call)
{
    uint64_t block = claim_count(call, "block"), experts = claim_count(call, "experts");
    uint64_t rows = claim_count(call, "tokens") * claim_count(call, "top_k");
    return claim_is(block ? (double)blocks_tight(rows, experts, block) : 0);
}

static uint64_t blocks_of_counts(struct claim_call *call, double *rows)
{
    double numbers[MOST];
    uint64_t counts[MOST], block = claim_count(call, "block");
    size_t n = claim_numbers(call, "counts", MOST, numbers);
    *rows = 0;
    for (size_t i = 0; i < n; i++) {
        counts[i] = (uint64_t)numbers[i];
        *rows += numbers[i];
    }
    return block ? blocks_needed(counts, n, block) : 0;
}

static struct claim_answer needed(struct claim_call *call)
{
    double rows;
    struct claim_answer answer = claim_is((double)blocks_of_counts(call, &rows));
    answer.note = arena_printf(call->arena, "%.0f rows in all", rows);
    return answer;
}

/* Rows that one expert can get: every token at most once. */
static struct claim_answer most_rows(struct claim_call *call)
{
    return claim_at_most(claim_number(call, "tokens"));
}

/* Slots beyond those that are needed, as a share of the needed. */
static struct claim_answer provision_padding(struct claim_call *call)
{
    double rows, block = claim_number(call, "block");
    double slots = (double)blocks_of_counts(call, &rows) * block;
    double all = provisioned(call).number * block;
    struct claim_answer answer = claim_is(all / slots - 1);
    answer.note = arena_printf(call->arena, "%.0f slots provisioned, %.0f needed", all, slots);
    return answer;
}

static struct claim_answer padding(struct claim_call *call)
{
    double rows, slots = (double)blocks_of_counts(call, &rows) * claim_number(call, "block");
    struct claim_answer answer = claim_is(slots / claim_number_or(call, "rows", rows) - 1);
    answer.note = arena_printf(call->arena, "%.0f slots for %.0f rows", slots,
                               claim_number_or(call, "rows", rows));
    return answer;
}

/* ---- which block holds what ---- */

/* The map of one expert per token: arguments "experts_of" and "block"; "blocks" in all. */
static bool mapped(struct claim_call *call, struct block_map *map)
{
    double numbers[MOST];
    int32_t ids[MOST];
    uint64_t cursor[MOST], experts = claim_count(call, "experts");
    size_t n = claim_numbers(call, "experts_of", MOST, numbers);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)numbers[i];
    map->block = claim_count(call, "block");
    map->blocks = claim_has(call, "blocks") ? claim_count(call, "blocks")
                                            : blocks_tight(n, experts, map->block);
    if (call->err->status != STATUS_OK || experts > MOST || map->blocks * map->block > MOST) {
        err_set(call->err, STATUS_INPUT, "the map is larger than %d slots", MOST);
        return false;
    }
    map->expert = arena_alloc(call->arena, map->blocks, sizeof *map->expert);
    map->token = arena_alloc(call->arena, map->blocks * map->block, sizeof *map->token);
    map->condition = arena_alloc(call->arena, map->blocks, sizeof *map->condition);
    if (blocks_fill(ids, n, 1, 0, experts, cursor, map))
        return true;
    err_set(call->err, STATUS_INPUT, "%" PRIu64 " blocks do not hold the rows", map->blocks);
    return false;
}

static struct claim_answer list(struct claim_call *call, const int32_t *values, uint64_t n)
{
    struct text text = {.arena = call->arena};
    for (uint64_t i = 0; i < n; i++)
        text_printf(&text, "%s%" PRId32, i ? " " : "", values[i]);
    return claim_says(text_string(&text));
}

/* Tokens of block number "which". */
static struct claim_answer block_tokens(struct claim_call *call)
{
    struct block_map map;
    uint64_t which = claim_count(call, "which");
    if (!mapped(call, &map))
        return claim_says("");
    return list(call, map.token + which * map.block, map.block);
}

static struct claim_answer block_experts(struct claim_call *call)
{
    struct block_map map;
    if (!mapped(call, &map))
        return claim_says("");
    return list(call, map.expert, map.blocks);
}

static struct claim_answer conditions(struct claim_call *call)
{
    struct block_map map;
    int32_t flags[MOST];
    if (!mapped(call, &map))
        return claim_says("");
    for (uint64_t i = 0; i < map.blocks; i++)
        flags[i] = map.condition[i];
    return list(call, flags, map.blocks);
}

static struct claim_answer valid_blocks(struct claim_call *call)
{
    struct block_map map;
    if (!mapped(call, &map))
        return claim_is(0);
    return claim_is((double)map.valid);
}

/* ---- what is loaded and run ---- */

/* Tokens of a block that are loaded when padding is skipped. */
static struct claim_answer token_loads(struct claim_call *call)
{
    struct block_map map;
    uint64_t which = claim_count(call, "which"), loads = 0;
    if (!mapped(call, &map))
        return claim_is(0);
    for (uint64_t i = 0; i < map.block; i++)
        loads += map.token[which * map.block + i] >= 0;
    return claim_is((double)loads);
}

/* Share of a block's bytes that skipping its padding saves: tokens, or tokens and weights. */
static struct claim_answer token_saving(struct claim_call *call)
{
    double loads = token_loads(call).number, block = claim_number(call, "block");
    double hidden = claim_number_or(call, "hidden", 1), token = 2 * hidden;
    double inter = claim_number_or(call, "inter", 0), weights = 2 * 3 * hidden * inter;
    struct claim_answer answer = claim_is((block - loads) * token / (block * token + weights));
    answer.note = inter > 0
                      ? arena_printf(call->arena, "%.0f B of tokens beside %.0f B of weights",
                                     block * token, weights)
                      : "of the token loads alone";
    return answer;
}

static struct claim_answer weight_loads(struct claim_call *call)
{
    static const struct {
        const char *name;
        enum block_order order;
    } orders[] = {{"one_core", BLOCKS_ONE_CORE},
                  {"even_odd", BLOCKS_PING_PONG},
                  {"halves", BLOCKS_HI_LO}};
    double numbers[MOST];
    int32_t expert[MOST];
    size_t n = claim_numbers(call, "sequence", MOST, numbers);
    const char *cores = claim_word(call, "cores");
    bool skip = claim_number(call, "skip") > 0;
    for (size_t i = 0; i < n; i++)
        expert[i] = (int32_t)numbers[i];
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (text_equal(cores, orders[i].name))
            return claim_is((double)blocks_weight_loads(expert, n, skip, orders[i].order));
    err_set(call->err, STATUS_INPUT, "\"%s\" is no order of blocks", cores);
    return claim_is(0);
}

/* Whether the kernel of a sharding can skip weight loads: "on" or "off". */
static struct claim_answer weight_skip(struct claim_call *call)
{
    const char *shard = claim_word(call, "shard");
    enum shard kind = text_equal(shard, "i")   ? SHARD_I
                      : text_equal(shard, "h") ? SHARD_H
                                               : SHARD_BLOCK;
    return claim_says(blocks_shard_cost(kind, 1, 2, 64, 64, 64, false).weight_skip ? "on"
                                                                                   : "off");
}

static struct claim_answer executed(struct claim_call *call)
{
    return claim_is(
        (double)blocks_executed(0, claim_count(call, "valid"), claim_count(call, "blocks"), 1));
}

static struct claim_answer skipped(struct claim_call *call)
{
    return claim_is(1 - executed(call).number / claim_number(call, "blocks"));
}

const struct claim_quantity claim_blocks[] = {
    {"blocks.provisioned", provisioned, CLAIM_PREDICTED},
    {"blocks.worst", worst, CLAIM_PREDICTED},
    {"blocks.needed", needed, CLAIM_PREDICTED},
    {"blocks.most_rows", most_rows, CLAIM_PREDICTED},
    {"blocks.provision_padding", provision_padding, CLAIM_PREDICTED},
    {"blocks.padding", padding, CLAIM_PREDICTED},
    {"blocks.tokens", block_tokens, CLAIM_PREDICTED},
    {"blocks.experts", block_experts, CLAIM_PREDICTED},
    {"blocks.conditions", conditions, CLAIM_PREDICTED},
    {"blocks.valid", valid_blocks, CLAIM_PREDICTED},
    {"blocks.token_loads", token_loads, CLAIM_PREDICTED},
    {"blocks.token_saving", token_saving, CLAIM_PREDICTED},
    {"blocks.weight_loads", weight_loads, CLAIM_PREDICTED},
    {"blocks.weight_skip", weight_skip, CLAIM_PREDICTED},
    {"blocks.executed", executed, CLAIM_PREDICTED},
    {"blocks.skipped", skipped, CLAIM_PREDICTED},
    {NULL, NULL, CLAIM_UNANSWERED},
};
