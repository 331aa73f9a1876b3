/* See halves.h. */
#include "sim/time/halves.h"

#include <math.h>

enum { A, B };
enum { LAST = -1, THIS, NEXT };

/* One issued: the half, the node, and the layer it is of, counted from the one at hand. */
struct issue {
    unsigned half;
    enum { ISSUE_END, ISSUE_NODE, ISSUE_ARRIVED, ISSUE_RETURNED } kind; /* else: it waits for */
    enum half_node node;
    int layer;
};

#define NODE(half, name, layer)                                                                \
    {                                                                                          \
        half, ISSUE_NODE, HALF_##name, layer                                                   \
    }
#define WAIT(half, what, layer)                                                                \
    {                                                                                          \
        half, ISSUE_##what, HALF_NODES, layer                                                  \
    }

enum { MOST_ISSUED = 20 };

/* SGLang batch_overlap/operations_strategy.py at 0e02cef9: nodes between two YieldOperations
 * are a stage, stages of both halves take turns (operations.py, execute_overlapped_operations),
 * the second half as many later as tbo_delta_stages says: none of prompts, two of decode steps.
 * vLLM model_executor/layers/fused_moe/modular_kernel.py (_prepare, _finalize), its
 * prepare_finalize/deepep_ht.py and deepep_ll.py: where a half's thread yields to the other's
 * (v1/worker/ubatching.py). By low latency a half receives what the other one sent before it
 * sends itself. One batch: batch_overlap/single_batch_overlap.py at 0ac832c3 (SboFlags,
 * compute_overlap_args): rows of experts that are done are sent while others are multiplied. */
static const struct issue orders[HALVES_ORDERS][MOST_ISSUED] = {
    [HALVES_SGLANG_PROMPTS] = {NODE(A, SHARED, LAST), NODE(A, OUTPUT, LAST),
                               NODE(A, BEFORE, THIS), NODE(A, ATTENTION, THIS),
                               NODE(A, DISPATCH, THIS), NODE(B, SHARED, LAST),
                               NODE(B, OUTPUT, LAST), NODE(B, BEFORE, THIS),
                               NODE(B, ATTENTION, THIS), NODE(B, DISPATCH, THIS),
                               NODE(A, EXPERTS, THIS), NODE(A, COMBINE, THIS),
                               NODE(B, EXPERTS, THIS), NODE(B, COMBINE, THIS)},
    [HALVES_SGLANG_SHARED] = {NODE(A, DISPATCH, THIS), NODE(A, SHARED, THIS),
                              NODE(B, OUTPUT, LAST), NODE(B, BEFORE, THIS),
                              NODE(A, EXPERTS, THIS), NODE(A, COMBINE, THIS),
                              NODE(B, ATTENTION, THIS), WAIT(A, RETURNED, THIS),
                              NODE(B, DISPATCH, THIS), NODE(B, SHARED, THIS),
                              NODE(A, OUTPUT, THIS), NODE(A, BEFORE, NEXT),
                              NODE(B, EXPERTS, THIS), NODE(B, COMBINE, THIS),
                              NODE(A, ATTENTION, NEXT), WAIT(B, RETURNED, THIS)},
    [HALVES_SGLANG_PLAIN] = {NODE(A, DISPATCH, THIS), NODE(B, BEFORE, THIS),
                             NODE(A, EXPERTS, THIS), NODE(A, COMBINE, THIS),
                             NODE(B, ATTENTION, THIS), NODE(A, OUTPUT, THIS),
                             NODE(B, DISPATCH, THIS), NODE(A, BEFORE, NEXT),
                             NODE(B, EXPERTS, THIS), NODE(B, COMBINE, THIS),
                             NODE(A, ATTENTION, NEXT), NODE(B, OUTPUT, THIS)},
    [HALVES_VLLM_NORMAL] = {NODE(A, OUTPUT, LAST), NODE(A, BEFORE, THIS),
                            NODE(A, ATTENTION, THIS), NODE(A, DISPATCH, THIS),
                            NODE(B, OUTPUT, LAST), NODE(B, BEFORE, THIS),
                            NODE(B, ATTENTION, THIS), NODE(B, DISPATCH, THIS),
                            NODE(A, EXPERTS, THIS), NODE(A, COMBINE, THIS),
                            NODE(B, EXPERTS, THIS), NODE(B, COMBINE, THIS),
                            NODE(A, SHARED, THIS), NODE(B, SHARED, THIS)},
    [HALVES_VLLM_SLOTS] = {NODE(A, OUTPUT, LAST), NODE(A, BEFORE, THIS),
                           NODE(A, ATTENTION, THIS), WAIT(B, RETURNED, LAST),
                           NODE(A, DISPATCH, THIS), NODE(B, OUTPUT, LAST),
                           NODE(B, BEFORE, THIS), NODE(B, ATTENTION, THIS),
                           WAIT(A, ARRIVED, THIS), NODE(B, DISPATCH, THIS),
                           NODE(A, EXPERTS, THIS), WAIT(B, ARRIVED, THIS),
                           NODE(A, COMBINE, THIS), NODE(A, SHARED, THIS),
                           NODE(B, EXPERTS, THIS), WAIT(A, RETURNED, THIS),
                           NODE(B, COMBINE, THIS), NODE(B, SHARED, THIS)},
    [HALVES_SINGLE_HOPPER] = {NODE(A, BEFORE, THIS), NODE(A, ATTENTION, THIS),
                              NODE(A, DISPATCH, THIS), NODE(A, SHARED, THIS),
                              NODE(A, EXPERTS, THIS), NODE(A, DOWN, THIS),
                              NODE(A, COMBINE, THIS), NODE(A, OUTPUT, THIS)},
    [HALVES_SINGLE_DOWN] = {NODE(A, BEFORE, THIS), NODE(A, ATTENTION, THIS),
                            NODE(A, DISPATCH, THIS), NODE(A, SHARED, THIS),
                            NODE(A, EXPERTS, THIS), NODE(A, COMBINE, THIS), NODE(A, DOWN, THIS),
                            NODE(A, OUTPUT, THIS)},
    [HALVES_SINGLE_BLACKWELL] = {NODE(A, BEFORE, THIS), NODE(A, ATTENTION, THIS),
                                 NODE(A, DISPATCH, THIS), NODE(A, EXPERTS, THIS),
                                 NODE(A, DOWN, THIS), NODE(A, COMBINE, THIS),
                                 NODE(A, SHARED, THIS), NODE(A, OUTPUT, THIS)},
};

/* When both streams are free, and when a half's last exchanges ended. */
struct played {
    double compute_s, link_s, arrived_s[2], returned_s[2];
};

static void issue(struct played *at, const struct issue *i, const struct half_layer *half)
{
    double seconds = i->kind == ISSUE_NODE ? half->node_s[i->node] : 0;
    bool dispatch = i->node == HALF_DISPATCH, link = dispatch || i->node == HALF_COMBINE;
    if (link) {
        at->link_s = fmax(at->link_s, at->compute_s) + seconds;
        *(dispatch ? &at->arrived_s[i->half] : &at->returned_s[i->half]) = at->link_s;
        return;
    }
    if (i->kind == ISSUE_ARRIVED || i->node == HALF_EXPERTS)
        at->compute_s = fmax(at->compute_s, at->arrived_s[i->half]);
    if (i->kind == ISSUE_RETURNED || i->node == HALF_OUTPUT)
        at->compute_s = fmax(at->compute_s, at->returned_s[i->half]);
    at->compute_s += seconds;
}

double halves_layers_s(const struct half_layer half[2], enum halves_order order, double layers)
{
    struct played at = {.compute_s = 0};
    long n = lround(layers);
    for (long layer = -1; layer <= n; layer++)
        for (const struct issue *i = orders[order]; i->kind != ISSUE_END; i++)
            if (layer + i->layer >= 0 && layer + i->layer < n)
                issue(&at, i, &half[i->half]);
    return fmax(at.compute_s, at.link_s);
}

double halves_links_s(const struct half_layer half[2])
{
    double s = 0;
    for (unsigned i = 0; i < 2; i++)
        s += half[i].node_s[HALF_DISPATCH] + half[i].node_s[HALF_COMBINE];
    return s;
}

double halves_turn_s(const struct half_layer half[2])
{
    double s = 0;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned node = 0; node < HALF_NODES; node++)
            s += half[i].node_s[node];
    return s;
}
