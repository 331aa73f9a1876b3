/* What vLLM takes for its CUDA graphs, by how many it captures; see engine.h. */
#include "plan/engine.h"

#include "base/checked.h"

/* Sizes in tokens up to so many: 1, 2, 4, every eighth below 256, every sixteenth from there on
 * (config/vllm.py, _set_cudagraph_sizes, of 0.19 and 0.33). */
static uint64_t sizes_to(uint64_t most)
{
    uint64_t first = most < 4 ? lesser(most, 2) : 3;
    return first + lesser(most, 255) / 8 + (most >= 256 ? (most - 256) / 16 + 1 : 0);
}

/* The largest: of twice a decode step's tokens, and no more than a step has (the same). */
static uint64_t largest(const struct plan *plan, uint64_t step)
{
    uint64_t each = 1 + plan->workload.speculation.tokens, given = plan->stack.graph_batch;
    bool wide =
        engine_release(plan)->second_runner && plan_generation(plan) == GENERATION_SM100;
    uint64_t own = lesser(2 * step, wide ? 1024 : 512);
    return lesser(given ? given * each : own, engine_tokens(plan));
}

/* Pieces of all sizes and whole steps of those that a decode step has, or one of both where it
 * is asked for (v1/cudagraph_dispatcher.py); none is smaller than one sequence's tokens. An
 * engine of 48 sequences with three drafted tokens printed 41 and 25 (issue 46367). */
static uint64_t captured(const struct plan *plan)
{
    uint64_t each = 1 + plan->workload.speculation.tokens;
    uint64_t step = lesser(engine_sequences(plan), 1000000) * each;
    uint64_t most = largest(plan, step);
    uint64_t none = sizes_to(each - 1);
    uint64_t whole = remaining(sizes_to(lesser(most, step)), none);
    uint64_t pieces = remaining(sizes_to(most), none);
    return (plan->stack.graphs == GRAPHS_FULL ? 0 : pieces) +
           (plan->stack.graphs == GRAPHS_PARTIAL ? 0 : whole);
}

/* stack.reserve is of all that are captured by default, 51 of each kind: 25 MiB a graph, as
 * elsewhere (23 of 16 at gpustack/runner pull request 251, 24 in issue 50780, 24 to 28 in pull
 * request 22897). */
uint64_t engine_graphs(const struct plan *plan)
{
    enum { ALL = 102 };
    bool charged = engine_release(plan)->charges_graphs && plan->stack.graphs != GRAPHS_NONE;
    double part = (double)captured(plan) / ALL;
    return charged ? (uint64_t)((double)plan->stack.reserve_bytes * part) : 0;
}
