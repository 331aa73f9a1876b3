/* Serving: requests in flight, the steps they make, and what a deployment answers.
 *
 * A plan of mode serve is two steps of the same model: decode of all sequences that a replica
 * of attention has in flight, and prefill of as many prompt tokens as a step takes. Memory is
 * that of the worse of the two; time plays the engine's scheduler over both
 * (sim/serve/scheduler). Pure. */
#ifndef MOEPLAN_SIM_SERVE_SERVE_H
#define MOEPLAN_SIM_SERVE_SERVE_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "sim/serve/serving.h"

/* Of one replica of attention (parallel.attention_dp of them). */
struct serve_load {
    uint64_t replicas;
    uint64_t requests;  /* it is given: ceil(concurrency / replicas) */
    uint64_t sequences; /* of them in its steps; the others wait */
    const char *capped; /* by what: "max_num_seqs", "the cache"; NULL: nothing waits */
    bool takes;         /* serve_takes of its pool */
    /* where the cache caps them: sequences without that, and the tokens that it holds beyond a
     * shared prefix */
    uint64_t slots, cache_tokens;
};

/* What max_num_seqs and the cache, at input + output tokens a sequence, leave of the requests.
 * STATUS_INPUT when a size overflows. */
enum status serve_load_of(const struct plan *plan, struct arena *arena, struct serve_load *load,
                          struct err *err);

/* Tokens of a prompt beyond a shared prefix, at least one. */
uint64_t serve_prompt(const struct plan *plan);

/* Sequences of each of the batches in flight, one a pipeline stage, that so many make. */
uint64_t serve_batch(const struct plan *plan, uint64_t sequences);

/* Tokens of a sequence in a decode step: more than one where it verifies a draft. */
uint64_t serve_step_tokens(const struct plan *plan);

/* One of the steps as a plan: MODE_DECODE of `sequences` of input + output tokens, spread over
 * the batches that pipeline stages have in flight; MODE_PREFILL of the prompts of so many that
 * a step's tokens hold, or of a chunk of one. */
void serve_step_plan(const struct plan *plan, enum mode mode, uint64_t sequences,
                     struct plan *out);

/* Replicas of attention whose tokens meet in one group of experts' ranks. */
uint64_t serve_group(const struct plan *plan);

/* What the empty places of replicas add to the tokens that experts are chosen for, in sequences
 * a replica: a step has as many tokens of each replica as the one with most has sequences,
 * since its graph is one for all, and an idle replica takes part in it.
 *
 *   vLLM          an idle rank runs a dummy batch (v1/engine/core.py, run_busy_loop;
 *                 v1/worker/gpu_worker.py, execute_dummy_batch), others are padded to it
 *                 (v1/worker/dp_utils.py): of inputs that nobody has written on the ranks that
 *                 the least busy one being taken leaves idle (v1/engine/core_client.py), hence
 *                 of one choice: one token; stack.random_dummies spreads it
 *   TensorRT-LLM  a dummy request of token 1 (_torch/pyexecutor/py_executor.py,
 *                 _pad_attention_dp_dummy_request; resource_manager.py, add_dummy_requests;
 *                 cuda_graph_runner.py pads by the same): one token
 *   SGLang        DeepEP's rows beyond a rank's own tokens are masked (layers/moe/topk.py,
 *                 num_token_non_padded); gathered ones are not, and are what the graph's inputs
 *                 held before (model_executor/input_buffers.py): each its own choice; without
 *                 graphs an idle batch has no tokens
 *
 * Of tokens alike one counts: more rows of the same experts read no more weights. */
double serve_filler(const struct plan *plan);

/* Tokens that a group of experts' ranks chooses experts for in a decode step of so many
 * sequences of all replicas, of which the fullest has `most`; 0: no experts. */
uint64_t serve_routed(const struct plan *plan, uint64_t most, double sequences);

/* The decode step that seconds are said of: as above, but for the context, which is that of the
 * mean request with half of its answer; memory is asked for the whole, and for routing of as
 * many tokens as ranks can have. */
void serve_timed_plan(const struct plan *plan, uint64_t sequences, struct plan *out);

/* Tokens that experts are chosen for in that step, of a group of their ranks: of the requests
 * in flight, which need not fill every replica. */
uint64_t serve_timed_tokens(const struct plan *plan, uint64_t sequences);

/* Why the engine takes no request of the plan with such a pool, or NULL: it does not start, or
 * ends in its first large prefill (SGLang, which takes its pool without a look at one), or cuts
 * what a request may ask for (serve_cuts). vLLM refuses a pool that does not hold a sequence of
 * the longest context (engines.md 1.3), and takes one that is given as it is, whether or not
 * the device has room for it beside weights, a step and libraries (v1/worker/gpu_worker.py,
 * v1/core/kv_cache_utils.py). */
const char *serve_refusal(const struct plan *plan, const struct serving_report *pool);
bool serve_takes(const struct plan *plan, const struct serving_report *pool);

/* Of these, an engine that starts and takes shorter requests alone: SGLang and TensorRT-LLM
 * lower the longest request to what the pool holds, and refuse prompts beyond it (SGLang
 * managers/tp_worker.py, max_req_len, and managers/utils.py, validate_input_length;
 * TensorRT-LLM _torch/pyexecutor/resource_manager.py, max_seq_len). */
bool serve_cuts(const struct plan *plan, const struct serving_report *pool);

/* The longest request that they take: of SGLang one token less than the pool has. */
uint64_t serve_longest(const struct plan *plan, const struct serving_report *pool);

/* Tokens of the context that the engine serves in place of the plan's, which its cache holds no
 * sequence of, where the plan lets it (workload.fit_context); 0: as it is said, or none. vLLM's
 * --max-model-len auto looks for the longest that its cache holds (v1/core/kv_cache_utils.py,
 * _auto_fit_max_model_len, since 0.14); of the others serve_longest. */
uint64_t serve_fitted(const struct plan *plan, const struct serving_report *pool);

/* How it does: "SGLang starts, ...", of a prediction whose sequences are shorter than asked
 * for; NULL: they are not. */
const char *serve_fitted_text(const struct plan *plan, const struct serving_report *pool,
                              struct arena *arena);

/* The same as a sentence, with what to give where SGLang's own fraction is what is too small.
 */
const char *serve_refusal_text(const struct plan *plan, const struct serving_report *pool,
                               struct arena *arena);

/* The plan, or where a decode step's sequences wait (workload.queue), in `room` the plan whose
 * step is of as many as the cache holds, at least of one a pipeline stage, and of as long ones
 * as it holds (serve_fitted). The plan obeys its
 * rules. start NULL: whether it takes them is not asked. */
enum serve_start {
    SERVE_TAKES, /* serve_takes, or nobody asks */
    SERVE_REFUSES,
    SERVE_UNSIZED /* a size of the pool overflows: the plan is refused */
};
const struct plan *serve_held(const struct plan *plan, struct plan *room,
                              enum serve_start *start);

#endif
