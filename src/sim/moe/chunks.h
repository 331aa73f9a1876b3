/* Chunked all-to-all (seed 003): every device sends C rows per expert and round.
 *
 * Source: seed-systems.md C2. N devices, E experts, S tokens over all devices, K per token. */
#ifndef MOEPLAN_SIM_MOE_CHUNKS_H
#define MOEPLAN_SIM_MOE_CHUNKS_H

#include <stdint.h>

struct chunks_ask {
    uint64_t tokens; /* S_x: per device */
    uint64_t top_k, experts, devices, chunk;
};

/* Rounds of the notebook's static loop: ceil(max(2 floor(S K / (E N)), 1) / C); rows beyond
 * rounds x C per expert are dropped there. */
uint64_t chunks_static_rounds(const struct chunks_ask *ask);

/* Slots per expert and round that one round nearly always suffices with: 2 S K / (E N). */
uint64_t chunks_rule_of_thumb(const struct chunks_ask *ask);

/* Rounds when all rows of a device want one expert, and each token wants it at most once. */
uint64_t chunks_worst_rounds(const struct chunks_ask *ask);

/* Expected rounds: the largest of E N independent counts Bin(S_x K, 1 / E), over C, up. */
double chunks_expected_rounds(const struct chunks_ask *ask);

/* Slots sent over rows: rounds C E / (S_x K). */
double chunks_padding(const struct chunks_ask *ask, double rounds);

#endif
