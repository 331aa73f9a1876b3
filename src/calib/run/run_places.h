/* The memory of each device of a run: predicted, metered, and what the device itself says. */
#ifndef MOEPLAN_CALIB_RUN_RUN_PLACES_H
#define MOEPLAN_CALIB_RUN_RUN_PLACES_H

#include "calib/run/run.h"
#include "exec/execute.h"
#include "exec/gpu/clock.h"
#include "exec/gpu/group.h"
#include "sim/step/slice.h"

/* Before anything is allocated. A device gives `fraction` of its memory to the processes that
 * share it, and no more than it says is left. */
void run_places_init(const struct gpu_group *gpus, double fraction, struct arena *arena,
                     struct run_memory *memory);
/* Rates of the devices' clocks before anything ran and now, as a text of the arena; or why they
 * are not known. */
const char *run_places_clocks(const struct gpu_group *gpus, const struct clock_rates *before,
                              struct arena *arena);

/* When everything has been given back. */
void run_places_after(const struct gpu_group *gpus, struct run_memory *memory);

/* Of all devices. */
uint64_t run_places_limit(const struct run_memory *memory);

/* Raises the predictions to those of the list as it is evaluated now. */
void run_places_predict(const struct slice *list, struct run_memory *memory);
/* Whether each fits its device. */
bool run_places_fit(const struct run_memory *memory);

/* Predicted against metered on every device; nothing where there are none. */
void run_places_compare(const struct execution *x, const struct slice *list,
                        struct run_memory *memory, struct checks *checks);

#endif
