/* What the searches for fixes have evaluated already: single changes come back in pairs, pairs
 * in threes, and every change in what is needed of several. A plan is known by the words in
 * which it differs from the one to be fixed; see fix_parts.h. */
#include <string.h>

#include "base/hash.h"
#include "sim/search/fix_parts.h"

enum { WORDS_MOST = 32, BLOCK = 32 };

/* Words of a plan that differ, and with what of routing they are asked for. */
struct change {
    bool least;
    size_t n;
    struct word {
        size_t at;
        uint64_t value;
    } words[WORDS_MOST];
};

struct fix_known {
    struct fix_known *next; /* of the same hash */
    struct change what;
    bool routed;
    struct evaluation result; /* what came of it */
};

static uint64_t word_of(const struct plan *plan, size_t at)
{
    uint64_t value;
    memcpy(&value, (const char *)plan + sizeof value * at, sizeof value);
    return value;
}

/* Whether a block of words is the same: most are. */
static bool same_block(const struct plan *a, const struct plan *b, size_t at, size_t n)
{
    size_t offset = sizeof(uint64_t) * at;
    return memcmp((const char *)a + offset, (const char *)b + offset, sizeof(uint64_t) * n) ==
           0;
}

/* False when more differs than is worth keeping. */
static bool describe(const struct plan *base, const struct plan *changed, bool least,
                     struct change *out)
{
    const size_t words = sizeof *base / sizeof(uint64_t);
    out->least = least;
    out->n = 0;
    for (size_t first = 0, end; first < words; first = end) {
        end = first + BLOCK < words ? first + BLOCK : words;
        if (same_block(base, changed, first, end - first))
            continue;
        for (size_t at = first; at < end; at++) {
            uint64_t value = word_of(changed, at);
            if (value == word_of(base, at))
                continue;
            if (out->n == WORDS_MOST)
                return false;
            out->words[out->n++] = (struct word){at, value};
        }
    }
    return true;
}

static bool same_plan(const struct change *a, const struct change *b)
{
    return a->n == b->n && memcmp(a->words, b->words, a->n * sizeof *a->words) == 0;
}

static struct fix_known **slot_of(struct fix_search *search, const struct change *what)
{
    uint64_t hash = hash_bytes(HASH_START, what->words, what->n * sizeof *what->words);
    struct fix_known **slot = &search->known[(hash >> 32) % FIX_KNOWN];
    while (*slot && !((*slot)->what.least == what->least && same_plan(&(*slot)->what, what)))
        slot = &(*slot)->next;
    return slot;
}

/* A change of one mere number has the structure of the plan as it is, one that was evaluated
 * last the structure of that, every other one its own. */
static uint64_t structure_of(struct fix_search *search, const struct change *what, bool number)
{
    bool again = search->last && same_plan(&search->last->what, what);
    uint64_t own = again ? search->structure : ++search->structure;
    return number ? 0 : own;
}

bool fix_evaluate(struct fix_search *search, const struct plan *changed, bool number,
                  bool least, struct evaluation *result)
{
    struct change what;
    bool brief = describe(search->plan, changed, least, &what);
    struct fix_known **slot = brief ? slot_of(search, &what) : NULL;
    if (slot && *slot) {
        *result = (*slot)->result;
        return (*slot)->routed;
    }
    search->evaluator.least = least;
    evaluate(&search->evaluator, changed,
             brief ? structure_of(search, &what, number) : ++search->structure, result);
    search->last = NULL;
    result->wall = NULL; /* of a list that the next one replaces */
    result->by = NULL;
    if (!slot)
        return search->evaluator.routed;
    struct fix_known *kept = arena_alloc(search->arena, 1, sizeof *kept);
    kept->what = what;
    kept->routed = search->evaluator.routed;
    kept->result = *result;
    *slot = search->last = kept;
    return kept->routed;
}
