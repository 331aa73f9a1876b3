/* Small MoE layers and collective matmuls for tests of the executor: a plan, a routing sample,
 * a run on local ranks. A matmul has no sample: NULL. */
#ifndef MOEPLAN_TESTS_LAYER_CASE_H
#define MOEPLAN_TESTS_LAYER_CASE_H

#include "calib/run/run_loads.h"
#include "exec/verify/verify.h"
#include "plan/plan.h"

enum case_routing { CASE_UNIFORM, CASE_ZIPF, CASE_ONE_RANK, CASE_EMPTY, CASE_ROUTINGS };

const char *case_routing_name(enum case_routing routing);

/* Every path there is. */
enum { CASE_PATHS = 14 };
extern const enum moe_path case_paths[CASE_PATHS];

/* A host plan: 24 tokens a group, H 16, I 12, E 8, K 2, f32, on `ranks` ranks. */
void case_plan(struct plan *plan, enum moe_path path, uint64_t ranks);

/* A collective matmul: 10 tokens, H 48, F 96, f32, on `ranks` ranks, which divide 48. */
void case_matmul(struct plan *plan, enum block_kind kind, enum collective collective,
                 uint64_t ranks);

/* Routing of all tokens of the group: the same for every number of ranks. */
void case_sample(const struct plan *plan, enum case_routing routing, struct arena *arena,
                 struct layer_sample *sample);

/* layer_sample_route with one replica per expert, expert x on rank x / e: fills start and
 * replica too. */
void case_sample_contiguous(struct layer_sample *sample, struct arena *arena);

/* Bytes of the largest exchange of a rank, for session_setup. */
uint64_t case_largest_exchange(const struct execution *x);

struct case_result {
    struct checks checks;
    uint64_t out_hash;
    uint64_t metered_bytes, predicted_bytes;
    bool counts_equal;
    char mismatch[256];     /* what differed first */
    struct run_loads loads; /* counted, of all ranks of this process */
};

struct case_options {
    bool backward;
    double budget_flop;       /* of the oracle; 0: everything is checked */
    bool alone;               /* `rank` is performed, the others are absent */
    uint64_t rank;            /* also: whose counts are kept */
    struct op_counts *counts; /* [of the list's ops] of that rank, or NULL */
    size_t n_counts;
    unsigned workers;              /* 0: 2 */
    const struct kernels *kernels; /* NULL: the fast ones */
    bool plain_c;
};

/* Fails the test that called it, under this name, unless there are checks and all passed, and
 * counts and the metered peak are those predicted. */
void case_expect(const struct case_result *result, const char *name);

/* Plans in bf16 throughout, and with rows packed on the wire. */
void case_bf16(struct plan *plan);
void case_fp8_dispatch(struct plan *plan);
void case_mxfp8_dispatch(struct plan *plan);

/* Performs the plan's layer with this sample, checks results, bytes and counts. */
enum status case_run(const struct plan *plan, const struct layer_sample *sample,
                     const struct case_options *options, struct case_result *result,
                     struct err *err);

/* The same in a session that is open already. */
enum status case_run_in(struct session *session, const struct plan *plan,
                        const struct layer_sample *sample, const struct case_options *options,
                        struct case_result *result, struct err *err);

/* One forward step on these inputs, seen by the observer; no checks. */
enum status case_step(const struct plan *plan, const struct layer_sample *sample,
                      const struct inputs *inputs, const struct kernels *kernels,
                      const struct observer *observer, struct err *err);

#endif
