/* What the host takes to launch an op: nothing where a graph captured it.
 *
 * An engine without graphs runs its modules in Python, which launches every kernel by itself
 * (host `eager` times `launches` of the op). vLLM compiles its model unless graphs are off
 * altogether (enforce_eager, config/vllm.py): steps too large for a graph run compiled code, at
 * `launch` an op as other stacks. */
#ifndef MOEPLAN_SIM_TIME_LAUNCHED_H
#define MOEPLAN_SIM_TIME_LAUNCHED_H

#include "sim/time/step_time.h"

/* Whether Python launches what no graph has: of an engine, unless vLLM compiled the step. */
bool launched_by_python(const struct plan *plan, enum graphs graphs);

/* Seconds, of all trips of a loop. */
double launched_s(const struct stepper *stepper, enum graphs graphs, const struct op *op,
                  enum profile_item item);

/* Beside its ops, of one layer: the graph of what lies between two attentions. */
double launched_piece_s(const struct stepper *stepper, enum graphs graphs,
                        enum segment segment);

#endif
