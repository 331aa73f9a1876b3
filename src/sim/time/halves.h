/* Layers of two halves of a step on two streams: products of both take turns on one, exchanges
 * on the other, each half's nodes in their order; or of one batch whose own products stand
 * beside its exchanges.
 *
 * What waits for what is data: the order in which an engine issues the nodes of a layer, one
 * row each (halves.c). A product begins when the one issued before it ends and what it reads is
 * there; an exchange when the one before it has ended and all products that were issued before
 * it. */
#ifndef MOEPLAN_SIM_TIME_HALVES_H
#define MOEPLAN_SIM_TIME_HALVES_H

#include <stdbool.h>

/* In a half's order; shared experts stand where the engine puts them. Before: norm and
 * projections to queries, keys and values; attention: the rest before the exchange, router
 * included; output: all behind the exchange back. */
enum half_node {
    HALF_BEFORE,
    HALF_ATTENTION,
    HALF_SHARED,
    HALF_DISPATCH,
    HALF_EXPERTS,
    HALF_DOWN, /* the experts' second product, where it stands apart from the others */
    HALF_COMBINE,
    HALF_OUTPUT,
    HALF_NODES
};

/* Seconds of one layer's nodes. */
struct half_layer {
    double node_s[HALF_NODES];
};

/* Who issues them how: SGLang's prompts, its decode steps of layers with shared experts and of
 * those without, vLLM with DeepEP's normal kernels and with low-latency ones; SGLang's one
 * batch of decode steps, whose second half is empty. */
enum halves_order {
    HALVES_SGLANG_PROMPTS,
    HALVES_SGLANG_SHARED,
    HALVES_SGLANG_PLAIN,
    HALVES_VLLM_NORMAL,
    HALVES_VLLM_SLOTS,
    HALVES_SINGLE_HOPPER,    /* one batch: shared experts beside the dispatch; */
    HALVES_SINGLE_DOWN,      /* the combine beside the second product, too; */
    HALVES_SINGLE_BLACKWELL, /* shared experts beside the combine */
    HALVES_ORDERS
};

/* Seconds of `layers` alike in a row (a whole number, rounded), both halves of each: no less
 * than either stream, than either half by itself, and no more than all in turn. Longer nodes
 * never make it shorter. */
double halves_layers_s(const struct half_layer half[2], enum halves_order order, double layers);

/* Of both halves' nodes in turn; of their exchanges. */
double halves_turn_s(const struct half_layer half[2]);
double halves_links_s(const struct half_layer half[2]);

#endif
