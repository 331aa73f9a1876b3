/* What routing asks of the heaviest rank in a step: expected, p99 and the certified worst.
 *
 * Samples are Gaussian where that law is close (work/rows), exact otherwise. Every size is the
 * maximum over the ranks of the expert-parallel group, each size on its own rank. A sample is
 * one layer of a step; where all are routed alike it is the step, otherwise demand_step makes
 * steps of samples. The p99 is every size at its own 99th percentile, an upper bound of the
 * percentile of what they add up to. */
#ifndef MOEPLAN_SIM_MOE_DEMAND_H
#define MOEPLAN_SIM_MOE_DEMAND_H

#include "base/progress.h"
#include "work/rows/rows.h"
#include "work/list/work.h"

/* What crosses links, as parts of what the fullest rank receives (from itself included), in
 * rows or tokens as the path sends them: the most that any rank sends or receives at each
 * level. Not told where sources are alike and it follows: (others on the level) / R of it. */
struct demand_links {
    bool told;
    double part[CROSSING_LEVELS];
};

struct demand {
    union {
        struct {
            uint64_t rows;     /* one per token and local expert: SLOT_ROWS */
            uint64_t received; /* one per token: SLOT_RECEIVED */
            uint64_t padded;   /* rows after alignment per expert: SLOT_PADDED_ROWS */
            uint64_t hot;      /* rows of the fullest expert: SLOT_HOT_EXPERT */
        };
        uint64_t sizes[SLOTS_ROUTED]; /* the same, in the order of slots */
    };
    struct demand_links links;
};

/* What a rank can take of one layer: receive buffers of given size. */
struct demand_room {
    bool set;
    bool padded;           /* rows count after alignment */
    uint64_t rows, tokens; /* tokens UINT64_MAX: no buffer of their own */
};

/* Whether a rank's demand does not fit its room. */
bool demand_exceeds(const struct demand *demand, const struct demand_room *room);

struct demand_spread {
    struct demand expected, p99, worst;
    struct demand_room room;
    uint64_t n_over;        /* sampled steps with a rank that has no room for its rows */
    double lost;            /* mean share of the rows that find no room */
    uint64_t n;             /* sampled steps */
    struct demand *samples; /* [n], in step order */
};

enum { DEMAND_RANKS = 1024, DEMAND_PER_RANK = 3, DEMAND_LANES = 4 };

/* The sampler of one routing: laws that do not depend on the number of tokens. */
struct demand_source {
    struct rows rows;
    bool crosses;             /* crossing is counted */
    struct crossing crossing; /* of the step that was sampled last */
    struct rows_scratch scratch;
    struct rows_step step;
    uint64_t alignment; /* of a local expert's rows; 1: none */
    bool allocated;     /* padded: all rows that are allocated, not those of whole tiles */
    uint64_t n;
    struct demand *samples;
    double *sorted;          /* [n] scratch */
    uint64_t n_ranks;        /* samples whose ranks are kept, at most DEMAND_RANKS; 0: none */
    uint64_t stride;         /* R, up to a multiple of DEMAND_LANES */
    float *ranks;            /* [n_ranks][3][stride] rows, received, padded; 0 beyond R */
    uint64_t *padded;        /* [R] scratch */
    struct demand_room room; /* set by the caller before sampling; {0}: everything has room */
    uint64_t all; /* the same: tokens of all ranks (rows_spec); 0: as many as each has */
    struct progress progress; /* the same: of the samples */
};

/* The plan's laws of routing when they stand already, which must outlive the source, or NULL;
 * what is known of others', or NULL. */
struct demand_laws {
    const struct rows *rows;
    struct rows_known *known;
};

/* Prepares the sampler of a plan; data may be NULL when the plan names no file. Memory from the
 * arena, which the source keeps using. */
enum status demand_prepare(const struct plan *plan, const struct routing_data *data,
                           struct demand_laws laws, struct arena *arena,
                           struct demand_source *source, struct err *err);

/* What a source depends on: equal keys, equal samples. Compared as bytes. */
struct demand_key {
    struct model_moe moe;
    struct routing routing;
    const struct routing_data *data;
    uint64_t ep, redundant, alignment, allocated, scenario, balanced;
    uint64_t ranks_per_node; /* of the group, where the placement follows from it; else 0 */
    struct crossing_map crossing; /* {0}: nothing that is routed crosses */
};

void demand_key_of(const struct plan *plan, const struct routing_data *data,
                   struct demand_key *key);

/* Samples steps of `tokens` tokens per rank: Gaussian where it is valid unless `exact`. The
 * samples stay in the source until the next call. */
void demand_sample(struct demand_source *source, uint64_t tokens, bool exact,
                   struct demand_spread *spread);

/* Upper bound of the chance that some rank of one layer exceeds a room, whatever was sampled; 1
 * where no bound is known (rows_tail). Of the tokens sampled last. */
double demand_tail(const struct demand_source *source, const struct demand_room *room);

/* The demand of a rank that receives `rows` rows, however they fall. */
struct demand demand_of_rows(const struct demand_source *source, uint64_t rows);

/* Of a step of which the fullest rank receives so many units: counted, where the step has a
 * crossing, else with alike sources. */
struct demand_links demand_links_of(const struct crossing_map *map,
                                    const struct rows_step *step, uint64_t units);

/* Puts a demand into the routing slots, for all layers alike. */
void demand_to_slots(const struct demand *demand, struct slots *slots);

/* Whether any buffer of a list follows routing. */
bool demand_matters(const struct work *work);

#endif
