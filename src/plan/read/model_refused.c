/* Models at a hub that are known and are none of ours, so that nobody takes one for another:
 * what they have that is not modelled, by the words that their config.json is refused with or
 * by plainer ones, or that no public source tells their sizes. */
#include <assert.h>

#include "base/text.h"
#include "plan/hf/import_hf.h"
#include "plan/read/model_names.h"

static const struct {
    const char *hub; /* the beginning of the name behind the owner, in lower case */
    const char *architecture, *why; /* import_refused of it says why, or this */
} refused[] = {
    {"gemma-3n", NULL, "it mixes copies of the residual (AltUp) and has sparse activations"},
    {"gigachat3.5", "gigachat3_5", NULL},
    {"inkling", "inkling", NULL},
    {"k2-horizon", "k2_horizon", NULL},
    {"llada", NULL, "it denoises blocks of tokens"},
    {"longcat-flash-lite-sparse", NULL, "it has layers that choose keys by an index of two"},
    {"nvidia-nemotron-labs-3-puzzle", "nemotron_h_puzzle", NULL},
    {"sdar-", NULL, "it denoises blocks of tokens"},
    {"step-3.8", NULL, "no public source tells its sizes"},
    {"telechat3-105b", NULL, "no public source tells the ranks of its attention"},
    {"zaya1", "zaya", NULL},
};

static const char *reason_of(size_t i, struct arena *arena)
{
    if (refused[i].why)
        return refused[i].why;
    const char *has = import_refused(refused[i].architecture);
    assert(has);
    return arena_printf(arena, "it has %s", has);
}

const char *model_name_refused(const char *name, struct arena *arena)
{
    if (model_names_a_file(name))
        return NULL;
    const char *base = model_name_base(name, arena);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (text_starts(base, refused[i].hub))
            return reason_of(i, arena);
    return NULL;
}
