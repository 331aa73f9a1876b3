/* What a prediction says beside its numbers: keys that the plan does not read, and a dispatcher
 * that its software has not. */
#ifndef MOEPLAN_SIM_ANSWER_NOTES_H
#define MOEPLAN_SIM_ANSWER_NOTES_H

#include "plan/read/unread.h"

/* Notes of a plan; origins NULL: nobody knows which keys were set, and none is named. Memory
 * from the arena. */
const struct note *notes_of(const struct plan *plan, const struct origins *origins,
                            struct arena *arena, size_t *n);

/* Where TensorRT-LLM has no graph for a decode step of so many sequences; NULL elsewhere. */
const char *notes_graphs(const struct plan *plan, uint64_t sequences, struct arena *arena);

/* Where a serving engine does otherwise than the plan says, or some releases or checkpoints of
 * it refuse that; how many. Memory from the arena. */
enum { NOTES_ENGINE = 11 };
size_t notes_engine(const struct plan *plan, struct arena *arena,
                    struct note notes[NOTES_ENGINE]);

#endif
