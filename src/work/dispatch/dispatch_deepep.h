/* DeepEP's persistent buffers and messages: V1 (NVLink and RDMA), low latency, V2 (elastic).
 *
 * All results are bytes of one process unless said. Sources: buffers.md 2, 3 and 4.1 (DeepEP
 * csrc/legacy/config.hpp, csrc/elastic; Primus-Turbo csrc/include/primus_turbo/deep_ep). */
#ifndef MOEPLAN_WORK_DISPATCH_DISPATCH_DEEPEP_H
#define MOEPLAN_WORK_DISPATCH_DISPATCH_DEEPEP_H

#include "work/list/letters.h"

enum {
    DEEPEP_NVL_PEERS = 8,                /* ranks of one NVLink domain in V1 */
    DEEPEP_VLLM_BUFFER = 1 << 30,        /* VLLM_DEEPEP_BUFFER_SIZE_MB 1024, each level */
    DEEPEP_VLLM_TOKENS = 256,            /* max_num_batched_tokens where it dispatches so */
    DEEPEP_WORKSPACE = 32 << 20,         /* V1 device workspace */
    DEEPEP_RDMA_GRANULARITY = 512 << 20, /* NVSHMEM heap grows in steps of this */
    DEEPEP_LOW_LATENCY_TOKENS = 128      /* usual num_max_dispatch_tokens_per_rank */
};

/* num_rdma_bytes / 16 must stay below INT_MAX (int4 index): 32 GiB - 16 B. */
#define DEEPEP_LOW_LATENCY_LIMIT (((uint64_t)1 << 35) - 16)

enum deepep_port { DEEPEP_UPSTREAM, DEEPEP_PRIMUS };

/* One row of V1's tuning tables. */
struct deepep_config {
    uint16_t ranks, nvl_send, nvl_recv, rdma_send, rdma_recv;
};
enum deepep_use { DEEPEP_DISPATCH, DEEPEP_COMBINE };

/* The row for this number of ranks, or NULL where V1 asserts. */
const struct deepep_config *deepep_config(enum deepep_port port, enum deepep_use use,
                                          uint64_t ranks);

/* V1 buffers of `ep` ranks. Upstream takes the larger of the dispatch and combine rows;
 * Primus-Turbo's JAX bootstrap sizes from the dispatch row only, and leaves the 8-byte source
 * meta out where rocSHMEM is absent. 0 where V1 has no row (or, rdma, needs none). */
struct size deepep_nvl_bytes(const struct letters *x, enum deepep_port port, bool meta);
struct size deepep_rdma_bytes(const struct letters *x, enum deepep_port port, bool meta);

/* The same of upstream for callers that give the hint another width than bf16: SGLang passes
 * H bytes when it dispatches fp8. */
struct size deepep_nvl_bytes_of(const struct letters *x, uint64_t element_bytes);
struct size deepep_rdma_bytes_of(const struct letters *x, uint64_t element_bytes);

/* What a V1 dispatch keeps until combine or backward (intranode handle), for n received. */
struct size deepep_handle_bytes(const struct letters *x, struct size received);

/* Low latency: `tokens` is num_max_dispatch_tokens_per_rank. Independent of R. */
struct size low_latency_dispatch_message(const struct letters *x);
struct size low_latency_combine_message(const struct letters *x, enum deepep_port port);
struct size low_latency_bytes(const struct letters *x, struct size tokens,
                              enum deepep_port port);

/* V2. `so` nodes of `su` ranks; so = 1 is direct. nvlink: all ranks share the domain. */
enum elastic_layout { ELASTIC_NVLINK, ELASTIC_DIRECT, ELASTIC_HYBRID };
struct size elastic_dispatch_record(const struct letters *x, bool fp8);
struct size elastic_combine_record(const struct letters *x);
struct size elastic_buffer_bytes(const struct letters *x, enum elastic_layout layout, bool fp8);
uint64_t elastic_workspace_bytes(void); /* before rounding up to 2 MiB */

#endif
