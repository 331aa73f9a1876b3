/* The clock of measurements: monotonic, seconds. */
#ifndef MOEPLAN_EXEC_STOPWATCH_H
#define MOEPLAN_EXEC_STOPWATCH_H

/* Seconds since some fixed moment; never goes back. */
double stopwatch_now_s(void);

/* Smallest step the clock is seen to take, reading cost included: what a sample must leave
 * behind by a factor to mean anything. */
double stopwatch_step_s(void);

#endif
