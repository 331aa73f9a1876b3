/* Shared experts, SP against TP; see shared.h. */
#include "sim/shared.h"

#include "base/checked.h"

void shared_choose(const struct shared_ask *ask, struct shared_choice *out)
{
    uint64_t weights = 3 * ask->hidden * ask->inter * ask->element_bytes;
    uint64_t volume = ask->tokens * ask->hidden * ask->element_bytes;
    *out = (struct shared_choice){
        .sp = {.weight_bytes = weights * ask->layers,
               .intensity =
                   2.0 / (double)ask->element_bytes * (double)ceil_div(ask->tokens, ask->tp)},
        .tp = {.weight_bytes = ceil_div(weights, ask->tp) * ask->layers,
               .exchange_bytes = ask->gathered ? 0 : 2 * (volume - volume / ask->tp),
               .intensity = 2.0 / (double)ask->element_bytes * (double)ask->tokens},
    };
    out->choice = SHARED_TP;
    if (out->sp.weight_bytes > ask->room_bytes)
        out->why = "replicated weights do not fit";
    else if (ask->ridge > 0 && out->sp.intensity < ask->ridge)
        out->why = "too few tokens per rank to pay for reading the whole weights";
    else {
        out->choice = SHARED_SP;
        out->why = "replicated weights fit and no exchange is needed";
    }
}
