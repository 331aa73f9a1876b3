/* What stays from one plan of a structure to the next, so that a sweep's point works out only
 * what moves: its pipeline stages, the sizes that no swept key reaches, and in every moment's
 * sum the buffers that have them. Found out from the third plan on, as searches look at most
 * structures once or twice. The numbers are those of verdict_evaluate without it. */
#ifndef MOEPLAN_SIM_MEMORY_STEADY_H
#define MOEPLAN_SIM_MEMORY_STEADY_H

#include "sim/memory/memory.h"
#include "work/piece/stage.h"

enum { STEADY_SCHEDULES = 4 };

struct steady_stage {
    unsigned moments, room; /* moments 0: not known */
    struct stage *stages;   /* [room] */
};

/* Stages of one plan, which two of its lists ask for. {0} keeps nothing. */
struct steady_book {
    struct arena *arena;
    struct steady_stage *of; /* [pp] */
};

/* Of a plan whose stages nobody asked for yet; lives as long as the arena. */
void steady_book_open(struct steady_book *book, const struct plan *plan, struct arena *arena);

/* Of one list; {0} but for the arena is ready for use, and lives no longer than that. */
struct steady {
    struct arena *arena;
    unsigned asked; /* plans evaluated so far */
    /* verdict_evaluate_steady ends at a stage that needs more than `enough`, and says so; 0: it
     * looks at all stages */
    uint64_t enough;
    bool beyond;
    struct steady_book *book; /* the plan's, or NULL: set for one evaluation */
    struct sizes_moving sizes;
    struct memory_kept kept[STEADY_SCHEDULES];
    uint64_t turn[STEADY_SCHEDULES]; /* of sizes, when the fold was kept; 0: not yet */
    /* of the stages: what they follow of pp, vpp and micro-batches */
    uint64_t pp, vpp, group, micro_batches, stage_room;
    struct steady_stage *of; /* [pp] */
};

/* Another plan of the list's structure comes; `enough` as above. */
void steady_next(struct steady *steady, uint64_t enough);

/* stage_moments; *stages is `room`, or what is kept. */
unsigned steady_stages(struct steady *steady, const struct plan *plan, uint64_t index,
                       const struct params *params, struct stage room[STAGE_MOMENTS],
                       const struct stage **stages);

/* sizes_eval and memory_fold. With one struct steady always into the same values, which nothing
 * else writes. */
bool steady_sizes(struct steady *steady, const struct work *work, const struct slots *slots,
                  uint64_t *values);
void steady_fold(struct steady *steady, const struct work *work, const uint64_t *values,
                 unsigned schedule, struct memory_peak *peak);

#endif
