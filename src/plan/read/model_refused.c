/* Models at a hub that are known and are none of ours, so that nobody takes one for another:
 * what they have that is not modelled (their config.json is refused by the same words,
 * plan/hf/import_refused.c), or that no public source tells their sizes. */
#include "base/text.h"
#include "plan/read/model_names.h"

static const struct {
    const char *hub, *why; /* the beginning of the name behind the owner, in lower case */
} refused[] = {
    {"gemma-3n", "it mixes copies of the residual (AltUp) and has sparse activations"},
    {"gigachat3.5", "it has norms with gates of their own"},
    {"inkling", "it has convolutions and relative positions in attention"},
    {"k2-horizon", "it has experts of values in attention, and norms over groups of channels"},
    {"llada", "it denoises blocks of tokens"},
    {"longcat-flash-lite", "it has embeddings of n-grams"},
    {"nvidia-nemotron-labs-3-puzzle", "it has layers of different shapes"},
    {"sdar-", "it denoises blocks of tokens"},
    {"step-3.8", "no public source tells its sizes"},
    {"telechat3-105b", "no public source tells the ranks of its attention"},
    {"zaya1", "it has convolutions in attention and routers of several layers"},
};

const char *model_name_refused(const char *name, struct arena *arena)
{
    if (model_names_a_file(name))
        return NULL;
    const char *base = model_name_base(name, arena);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (text_starts(base, refused[i].hub))
            return refused[i].why;
    return NULL;
}
