/* Rows, blocks and temporaries of the other dispatchers: what each reserves for a plan.
 * Sources: buffers.md 4 to 11, seed-systems.md A2, B2, C2. Results are rows, slots or bytes as
 * each line says. */
#ifndef MOEPLAN_WORK_DISPATCH_DISPATCH_ROWS_H
#define MOEPLAN_WORK_DISPATCH_DISPATCH_ROWS_H

#include "work/list/letters.h"

/* ---- capacity: slots per expert ---- */

/* MaxText: per sequence, int(max(ceil(S K / E) cf, cf)). */
struct size capacity_maxtext(const struct letters *x);
/* Megatron: over the rank's tokens, ceil(T K / E cf). */
struct size capacity_megatron(const struct letters *x);
/* Neuron: over the T R tokens its expert-parallel group sees, min(ceil(T K cf / E), T). */
struct size capacity_neuron(const struct letters *x);
/* Tutel: K int(cf ceil(T / E)), cf > 0. */
struct size capacity_tutel(const struct letters *x);
/* Seed 003: 2 S K / (E R), at least 1; `chunk` slots per (source, expert) and round. */
struct size chunk_rounds(const struct letters *x, struct size chunk);

/* ---- Neuron blockwise ---- */

/* Blocks provisioned for `tokens` tokens: min(ceil((tokens K - (e-1)) / B) + e - 1, tokens K).
 * Not tightened by min(K, e), as in the source. */
struct size neuron_blocks(const struct letters *x, struct size tokens);

/* ---- inference workspaces (bytes unless rows) ---- */

/* vLLM Triton: padded ids of m tokens. */
struct size triton_sorted_ids(const struct letters *x, struct size tokens);
/* FlashInfer's CUTLASS runner for the rows of all tokens seen, by the format of the weights. */
struct size flashinfer_workspace_bytes(const struct letters *x, enum dtype weights,
                                       struct size tokens);
/* Rows of the tiles that so many rows of so many experts may fill: one for each expert that a
 * row can be of, and one for each further `tile` rows. */
struct size tile_rows(const struct letters *x, struct size rows, struct size experts,
                      uint64_t tile);

/* ---- Primus-Turbo ---- */

/* Mega MoE: rows of one pool, and the whole symmetric heap. */
struct size primus_pool_rows(const struct letters *x);
struct size primus_heap_bytes(const struct letters *x);
struct size deepgemm_pool_rows(const struct letters *x);
/* Source indices DeepGEMM's mega kernel keeps: 4 e R (R t). */
struct size deepgemm_source_bytes(const struct letters *x);

/* ---- RDEP (seed-systems.md A2, A4) ---- */

struct size rdep_payload_bytes(const struct letters *x);
struct size rdep_record_bytes(const struct letters *x);
struct size rdep_return_bytes(const struct letters *x); /* token slots and gates */
/* Rows the last expert's segment is stretched to: a floor((M + (e+1)(a-1)) / a). */
struct size rdep_allocated_rows(const struct letters *x, struct size rows, uint64_t multiple);

#endif
