/* See run_kinds.h. */
#include "support/run_kinds.h"

static bool has_deepep(const struct plan *p)
{
    return p->moe.path == PATH_DEEPEP;
}
static bool has_ragged(const struct plan *p)
{
    return p->moe.path == PATH_RAGGED_A2A;
}
static bool has_capacity(const struct plan *p)
{
    return p->moe.path == PATH_CAPACITY;
}
static bool has_one_stage(const struct plan *p)
{
    return p->parallel.pp == 1;
}
static bool has_16_stages(const struct plan *p)
{
    return p->parallel.pp == 16;
}
static bool has_chunks(const struct plan *p)
{
    return p->parallel.vpp > 1;
}
static bool has_4_at_once(const struct plan *p)
{
    return p->workload.micro_batch == 4;
}
static bool recomputes(const struct plan *p)
{
    return p->recompute.kind == RECOMPUTE_SELECTIVE;
}
static bool has_graphs(const struct plan *p)
{
    return p->stack.graphs == GRAPHS_FULL;
}
static bool has_some(const struct plan *p)
{
    return p->stack.graphs == GRAPHS_PARTIAL;
}
static bool overlaps(const struct plan *p)
{
    return p->stack.overlap_ep;
}
static bool has_ep_64(const struct plan *p)
{
    return p->parallel.ep == 64;
}

const struct run_kind run_kinds[RUN_KINDS] = {
    {"path deepep", has_deepep},      {"path ragged_a2a", has_ragged},
    {"path capacity", has_capacity},  {"pp 1", has_one_stage},
    {"pp 16", has_16_stages},         {"virtual stages", has_chunks},
    {"micro-batch 4", has_4_at_once}, {"recomputation", recomputes},
    {"full graphs", has_graphs},      {"partial graphs", has_some},
    {"overlapped", overlaps},         {"ep 64", has_ep_64},
};
