/* A pool of pinned threads that runs numbered tasks.
 *
 * The caller works too: a pool of n threads has n - 1 of its own. Tasks are handed out one by
 * one in order; each writes to places of its own, so results do not depend on the number of
 * threads. One pool_run at a time per pool; tasks must not call pool_run on their own pool. */
#ifndef MOEPLAN_BASE_POOL_H
#define MOEPLAN_BASE_POOL_H

#include <stddef.h>

struct pool;

/* A task: `task` counts from 0, `worker` from 0 to pool_size - 1 (0 is the caller). */
typedef void pool_task(void *arg, size_t task, unsigned worker);

/* CPUs this process may use (its affinity mask), at least 1. */
unsigned pool_cpus(void);

/* A pool of n threads, 0: one per CPU. Threads are pinned one per CPU of the inherited mask
 * when n does not exceed their number (unpinned pairs get stacked on one core by some kernels).
 * Never NULL: with fewer threads than asked when the system refuses more. */
struct pool *pool_create(unsigned n);

unsigned pool_size(const struct pool *pool); /* 1 for NULL */

/* Runs tasks 0 .. n_tasks-1 and returns when all are done. A NULL pool runs them in order on
 * the caller. What tasks wrote is visible to the caller afterwards. */
void pool_run(struct pool *pool, size_t n_tasks, pool_task *task, void *arg);

void pool_free(struct pool *pool); /* NULL is fine */

#endif
