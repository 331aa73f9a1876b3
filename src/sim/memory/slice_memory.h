/* Predicted memory of a process that performs several ranks in step: at every op it holds the
 * sum of what they hold, and what it has once (the workers' scratch) once in each of the places
 * that the ranks are dealt to. */
#ifndef MOEPLAN_SIM_MEMORY_SLICE_MEMORY_H
#define MOEPLAN_SIM_MEMORY_SLICE_MEMORY_H

#include "base/arena.h"
#include "sim/memory/memory.h"

/* The peak of n ranks in so many places; values[i]: of the list's sizes for rank i, of a list
 * that work_index saw. */
void slice_memory_peak(const struct work *work, const uint64_t *const *values, uint64_t n,
                       uint64_t places, struct arena *arena, struct memory_peak *peak);

#endif
