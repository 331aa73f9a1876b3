/* A profile: the constants of one stack on one device that turn ops into seconds. Read-only
 * data beside the plan; models/profiles/README.md describes the file.
 *
 * A profile is a table of constants. A row says what it holds of (`of`: a family of kernels, a
 * collective, the host, the step), which constant it is (`is`), where it holds (path, dtype,
 * level: all unless named), its value, or a curve of values over rows, bytes or ranks, and
 * where it comes from: source, date, range, interval, calibration set. No row may be faster
 * than the device: shares of a peak or of a bandwidth are in (0, 1]. */
#ifndef MOEPLAN_PLAN_DATA_PROFILE_H
#define MOEPLAN_PLAN_DATA_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/schema/schema.h"

/* What a constant is of: name in files, the class it belongs to (a row of a class holds for all
 * of its items that have no row of their own), what it is */
#define PROFILE_ITEM_LIST(X)                                                                   \
    X(PRODUCT, "product", PRODUCT, "any matrix product, attention included")                   \
    X(GEMM, "gemm", PRODUCT, "one dense product")                                              \
    X(GROUPED, "grouped_gemm", PRODUCT, "products of experts with rows of their own")          \
    X(BATCHED, "batched_gemm", PRODUCT, "products of experts with equal rows, masks' einsums") \
    X(BLOCKED, "blocked_gemm", PRODUCT, "block-sparse products")                               \
    X(EXPERTS, "experts", PRODUCT, "an engine's call for all experts of a rank, sum included") \
    X(ATTENTION, "attention", PRODUCT, "scores and values, fused")                             \
    X(DGRAD, "dgrad", PRODUCT, "gradients of products' inputs; as their products, if not set") \
    X(WGRAD, "wgrad", PRODUCT, "gradients of weights; as their products, if not set")          \
    X(MEMORY, "memory", MEMORY, "any op that the memory binds")                                \
    X(ELEMENTWISE, "elementwise", MEMORY, "norms, activations, sums, rotary embedding, loss")  \
    X(ACTIVATION, "activation", MEMORY, "of experts, between their products")                  \
    X(ACTIVATION_BACK, "activation_back", MEMORY, "its gradients; activation's, if not set")   \
    X(MOVE, "move", MEMORY, "rows of experts moved: pack, gather, permute, combine")           \
    X(INDEX, "index", MEMORY, "index tables of routing: top-k, sort, layout")                  \
    X(UPDATE, "update", MEMORY, "optimizer and gradient norm")                                 \
    X(OFFLOAD, "offload", OFFLOAD, "what host memory takes part in")                           \
    X(COPY, "copy", OFFLOAD, "copies to and from host memory")                                 \
    X(HOST_UPDATE, "host_update", OFFLOAD, "states that the host's processors update")         \
    X(COLLECTIVE, "collective", COLLECTIVE, "any op between ranks")                            \
    X(ALL_GATHER, "all_gather", COLLECTIVE, "gathers of weights, tokens, sequences")           \
    X(REDUCE_SCATTER, "reduce_scatter", COLLECTIVE, "reductions of gradients, of sequences")   \
    X(ALL_REDUCE, "all_reduce", COLLECTIVE, "reductions that every rank keeps")                \
    X(ALL_TO_ALL, "all_to_all", COLLECTIVE, "rows of experts between ranks")                   \
    X(SEND, "send", COLLECTIVE, "pipeline stages' neighbours")                                 \
    X(HOST, "host", HOST, "what the host does beside the device")                              \
    X(LAYER, "layer", LAYER, "one MoE layer, forward or backward, beside its ops")             \
    X(REQUEST, "request", REQUEST, "one served request, beside its steps")                     \
    X(STEP, "step", STEP, "one step, beside its ops")                                          \
    X(OVERLAP, "overlap", OVERLAP, "products beside collectives")

enum profile_item {
#define ITEM_ENUM(name, text, of, help) PROFILE_##name,
    PROFILE_ITEM_LIST(ITEM_ENUM)
#undef ITEM_ENUM
        PROFILE_ITEMS
};

/* Which constant: name in files, unit, least and most, items (classes) that may have it, what
 */
#define PROFILE_QUANTITY_LIST(X)                                                               \
    X(EFFICIENCY, "efficiency", UNIT_NONE, 1e-6, 1, "product collective",                      \
      "share of the device's peak, or of the link's bandwidth")                                \
    X(BANDWIDTH, "bandwidth", UNIT_NONE, 1e-6, 1, "product memory offload",                    \
      "share of the memory bandwidth; of the host's: of offload")                              \
    X(OVERHEAD, "overhead", UNIT_SECONDS, 0, 10,                                               \
      "product memory offload collective layer request",                                       \
      "seconds of every launch beside its work; of a layer, a request: of every one")          \
    X(HALF_ROWS, "half_rows", UNIT_NONE, 0, 1e6, "product",                                    \
      "rows of a group at which a product has half its efficiency; 0: at any")                 \
    X(HALF_DEPTH, "half_depth", UNIT_NONE, 0, 1e6, "product",                                  \
      "depth k at which a product has half its efficiency: what a tile takes to fill its "     \
      "pipeline and to store its result; 0: at any")                                           \
    X(BLOCK_SHARE, "block_share", UNIT_NONE, 1e-6, 1, "product",                               \
      "share of its efficiency that a product keeps whose weights are of fp8_block, on "       \
      "Blackwell: kernels apply scales that its multiplications do not take; 1 unless said")   \
    X(TILE_ROWS, "tile_rows", UNIT_NONE, 1, 1e6, "product",                                    \
      "rows of a tile: a group's rows are multiplied as whole tiles")                          \
    X(TILE_COLUMNS, "tile_columns", UNIT_NONE, 1, 1e6, "product", "columns of a tile")         \
    X(TILE_CHOICE, "tile_choice", UNIT_NONE, 0, 1, "product",                                  \
      "1: tiles as DeepGEMM chooses them by rows, columns and device.units, in whole waves, "  \
      "in place of half_rows, tile_rows, tile_columns and wave")                               \
    X(WAVE, "wave", UNIT_NONE, 0, 1, "product",                                                \
      "share of a last wave of tiles that is paid whole over device.units; 0: none")           \
    X(LATENCY, "latency", UNIT_SECONDS, 0, 10, "collective",                                   \
      "seconds of a message; the cluster's own where no row says it")                          \
    X(FOLDED, "folded", UNIT_NONE, 0, 1, "product memory collective",                          \
      "1: its time is in another constant's rate, and none is added")                          \
    X(LAUNCH, "launch", UNIT_SECONDS, 0, 1, "host",                                            \
      "seconds in which the host launches one op")                                             \
    X(EAGER, "eager", UNIT_SECONDS, 0, 1, "host",                                              \
      "seconds in which an engine's Python launches one kernel that neither a graph nor "      \
      "compiled code launches")                                                                \
    X(LAUNCHES, "launches", UNIT_NONE, 0, 1000, "product memory collective",                   \
      "kernels that an engine's Python launches for one op; 1 unless said")                    \
    X(SYNC, "sync", UNIT_SECONDS, 0, 1, "host", "seconds of a wait for the device")            \
    X(GRAPH, "graph", UNIT_SECONDS, 0, 1, "host", "seconds to launch a whole graph")           \
    X(DATA, "data", UNIT_SECONDS, 0, 1e4, "step",                                              \
      "seconds that an input pipeline adds to a step (workload.data: real)")                   \
    X(FIXED, "fixed", UNIT_SECONDS, 0, 1e4, "step", "seconds of every step beside its ops")    \
    X(LOAD, "load", UNIT_NONE, 1, 1e3, "step",                                                 \
      "fullest rank over mean of routing that a plan leaves unstated (workload.data: real)")   \
    X(NORM, "norm", UNIT_NONE, 1, 64, "overlap product",                                       \
      "n of t^n = a^n + b^n: products and collectives; FLOPs and bytes of a product")          \
    X(ROW_PASSES, "row_passes", UNIT_NONE, 0, 1000, "product",                                 \
      "experts: passes over every row's activations beside its products")                      \
    X(FEW_BANDWIDTH, "few_bandwidth", UNIT_NONE, 1e-6, 1, "product",                           \
      "experts: bandwidth of a call of no more tokens than the rank has experts")              \
    X(FEW_TILE, "few_tile_rows", UNIT_NONE, 1, 1e6, "product",                                 \
      "experts: tile_rows of such a call")                                                     \
    X(TOKEN_PASSES, "token_passes", UNIT_NONE, 0, 1000, "product",                             \
      "experts: passes over all tokens of the group (permute, sum)")                           \
    X(STEPS, "steps", UNIT_NONE, 0, 1000, "request",                                           \
      "decode steps until the first token of a request is seen, beside its own: the engine "   \
      "polls for requests, and streams several tokens at once")                                \
    X(TOKEN, "token", UNIT_SECONDS, 0, 1, "request",                                           \
      "seconds of every prompt token before the scheduler sees a request")                     \
    X(HOP, "hop", UNIT_SECONDS, 0, 10, "collective",                                           \
      "seconds of every step of a ring: ranks - 1 of them, twice as many to reduce and "       \
      "gather")                                                                                \
    X(CHUNKING, "chunking", UNIT_NONE, 0, 2, "collective",                                     \
      "c of t = start + wire + 2 c sqrt(start wire): chunks that fill a pipeline")             \
    X(SMALL, "small_efficiency", UNIT_NONE, 1e-6, 1, "collective",                             \
      "all_to_all in a node: share of the link at which a small message to one peer flows, "   \
      "by the protocol that starts at once (NCCL's LL)")                                       \
    X(LARGE, "large_start", UNIT_SECONDS, 0, 10, "collective",                                 \
      "all_to_all in a node: seconds that the protocol of large messages starts later")        \
    X(SHARE, "share", UNIT_NONE, 0, 1, "overlap",                                              \
      "of a collective that may run beside products, the part that does")                      \
    X(ERROR, "error", UNIT_NONE, 0, 10, "step request product collective",                     \
      "relative half width that held 90 % of the runs left out of the fit; of a request: of "  \
      "the time to its first token")                                                           \
    X(OUTSIDE, "outside", UNIT_NONE, 0, 10, "step request",                                    \
      "the same for plans of another model or device than the profile names")                  \
    X(UNLIKE, "unlike", UNIT_NONE, 0, 10, "step",                                              \
      "the same for plans of a kind that none of its runs had; as outside, if not set")

enum profile_quantity {
#define QUANTITY_ENUM(name, text, unit, low, high, of, help) PROFILE_##name,
    PROFILE_QUANTITY_LIST(QUANTITY_ENUM)
#undef QUANTITY_ENUM
        PROFILE_QUANTITIES
};

/* What a curve runs over. */
#define PROFILE_AXIS_LIST(X)                                                                   \
    X(NONE, "none", "one value")                                                               \
    X(ROWS, "rows", "rows of a group that has any (an expert that is hit)")                    \
    X(BYTES, "bytes", "bytes that a rank sends or receives, the larger")                       \
    X(RANKS, "ranks", "ranks of the group")                                                    \
    X(DEPTH, "depth", "the inner size k of a product")                                         \
    X(COLUMNS, "columns", "the columns n of a product")

enum profile_axis {
#define AXIS_ENUM(name, text, help) PROFILE_BY_##name,
    PROFILE_AXIS_LIST(AXIS_ENUM)
#undef AXIS_ENUM
        PROFILE_AXES
};

enum profile_level { PROFILE_SCALE_UP, PROFILE_SCALE_OUT, PROFILE_LEVELS };

enum { PROFILE_ANY = -1 };

/* One row. `low`, `high`: nominal 90 %, factors on the value or curve (0.9, 1.1). */
struct constant {
    enum profile_item of;
    enum profile_quantity is;
    int path, compute, level; /* enum moe_path, compute, profile_level; PROFILE_ANY: all */
    enum profile_axis by;
    size_t n; /* points; 1 without a curve */
    const double *x, *y;
    double low, high;
    double least, most; /* sizes it was fitted on: tokens of experts, bytes of a collective; 0,
                         * 0: not stated */
    const char *source, *set;
    unsigned depth; /* 0: the profile's own, 1: of its base, ... */
    struct mark mark;
};

/* What a key of a plan was in the runs: "4..16" a range of numbers, "8" one of them, or a word.
 * Numbers, and places of words in the key's table, are compared as such, else texts are. */
struct profile_held {
    const char *text;
    bool counts; /* from low to high, both included */
    double low, high;
};

struct profile_run {
    const struct field *field;
    const struct profile_held *held; /* [n] */
    size_t n;
    bool sometimes; /* some plans do not read the key, and leave nothing then */
};

struct profile {
    const char *name; /* "maxtext-mi355x" */
    const char *file;
    const char *device;             /* those it was measured on, "h100, h200"; "": any */
    const char *const *models;      /* its runs were of; NULL ends; none: any */
    const char *base;               /* the profile below it; NULL: none */
    const char *calibration;        /* its calibration set in a few words */
    bool calibrated;                /* false: efficiencies are assumed */
    const struct profile_run *runs; /* what its runs had; none: nothing is said of it */
    size_t n_runs;
    const struct constant *constants;
    size_t n;
    const struct profile *prefill; /* of the plan's servers that prefill, which run on another
                                    * device or software; NULL: this one */
};

const char *profile_item_name(enum profile_item item);
enum profile_item profile_item_class(enum profile_item item);
const char *profile_quantity_name(enum profile_quantity quantity);
const char *profile_axis_name(enum profile_axis axis);
const char *profile_level_name(enum profile_level level);

/* "gemm.efficiency", "all_gather.latency (scale_out)": for messages and sensitivities. */
const char *profile_constant_name(const struct constant *constant, struct arena *arena);

/* The row that holds for an item, on a path, at a precision, on a level: of the file itself
 * before its base's, then the most specific, an item before its class. NULL: no row. */
const struct constant *profile_find(const struct profile *profile, enum profile_item of,
                                    enum profile_quantity is, int path, int compute, int level);

/* Whether a collective's constant is of the kernel whose efficiency holds: both come from one
 * fit. Where an efficiency is of one path alone (DeepEP's kernels), a row for every path is
 * another library's (NCCL's). Either may be NULL: yes. */
bool profile_is_of_kernel(const struct constant *efficiency, const struct constant *constant);

/* The value at x: between points by the logarithm of x, the nearest end outside. *outside, or
 * NULL: whether x lies outside. */
double profile_value(const struct constant *constant, double x, bool *outside);

/* The device that a plan's cluster has, as the catalogue calls it: "mi355x" of "mi355x-8x8". */
void profile_device(const struct plan *plan, char device[PLAN_NAME]);

/* How a plan stands to the runs of a profile. */
enum profile_standing {
    RUNS_LIKE,      /* some run was like it, or the profile says nothing of its runs */
    RUNS_ELSEWHERE, /* none was of its device or model */
    RUNS_UNLIKE     /* of a key (`runs`) it has what none had, wherever it runs */
};
enum profile_standing profile_standing(const struct profile *profile, const struct plan *plan);

/* What of it no run had: "model glm-4.6, device h20, parallel.zero 3"; nothing within. */
void profile_outside_of(const struct profile *profile, const struct plan *plan,
                        struct text *out);

/* Whether that is RUNS_UNLIKE, whatever its device and model. */
bool profile_is_unlike(const struct profile *profile, const struct plan *plan);

/* Reads a value of `runs`: false where the key takes no such one. Keeps the text. */
bool profile_held_read(const struct field *field, const char *text, struct profile_held *held);

/* The keys of `runs` that a plan leaves, "moe.path allgather, parallel.ep 1"; appends nothing
 * when there are none. */
void profile_left_runs(const struct profile *profile, const struct plan *plan,
                       struct text *out);

/* Reads the profile of a plan: stack.profile where it says one, else <stack>-<device>, else
 * <stack>-<family of the device>, else <stack>, else generic; in mode serve <stack>-serve in
 * place of <stack> before these; that of servers that prefill with it, where it is another.
 * Everything lives in the arena.
 * STATUS_INPUT for what is wrong with it.
 */
enum status profile_load(const struct plan *plan, struct arena *arena, struct profile *profile,
                         struct err *err);

/* The profile of a pool's servers, of a plan whose prefill is apart: their own device's. */
const struct profile *profile_of_pool(const struct profile *profile, enum duty duty);

/* Whether two plans have one profile: all that it is chosen by is the same. */
bool profile_is_shared(const struct plan *a, const struct plan *b);

/* Reads one file (and its base). */
enum status profile_read(const char *path, struct arena *arena, struct profile *profile,
                         struct err *err);

/* Several plans' profiles, each read once: for sweeps over stacks and clusters. */
struct profiles {
    struct arena *arena;
    struct profile_entry *first;
};

/* The profile of a plan, read if it was not yet. The pointer lives as long as the arena. */
enum status profiles_get(struct profiles *profiles, const struct plan *plan,
                         const struct profile **profile, struct err *err);

#endif
