/* Thread pool: threads with a CPU of their own spin for the next job, then sleep; see pool.h.
 * They spin about as long as being woken costs (some 50 us on a virtual machine), so that a
 * wait never costs more than twice what the better choice would have; half as long after each
 * spin in vain, until a wait is short again. Without CPUs of their own they sleep at once,
 * because a spinning barrier on shared CPUs waits out whole time slices.
 * A job is over when its tasks are: the caller closes it, and waits for the threads that joined
 * it, not for those that are still being woken. */
#ifdef __linux__
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_NS = 50 * 1000, SPINS_BETWEEN_LOOKS = 64, POOL_MOST = 1024, IN_VAIN_MOST = 6 };

/* The state: how many threads have joined the job, whether others may, the job's number. */
enum { JOINED = 2 * POOL_MOST - 1, OPEN = 2 * POOL_MOST, NUMBER = 2 * OPEN };

struct worker {
    struct pool *pool;
    pthread_t thread;
    unsigned number;
    unsigned in_vain; /* its last spins */
};

struct pool {
    unsigned n_workers; /* threads of its own */
    struct worker *workers;
    bool pinned;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    pool_task *task;
    void *arg;
    size_t n_tasks;
    atomic_size_t next;
    atomic_uint state;
    unsigned in_vain;  /* the caller's last spins */
    unsigned sleeping; /* workers */
    bool stop;
};

#ifdef __linux__
unsigned pool_cpus(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? (unsigned)n : 1;
}

/* Pins the calling thread to the `number`-th CPU of its mask. */
static void pin(unsigned number)
{
    cpu_set_t set, one;
    CPU_ZERO(&set);
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    unsigned seen = 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &set) || seen++ != number)
            continue;
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}
#else
unsigned pool_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

static void pin(unsigned number)
{
    (void)number;
}
#endif

static void take_tasks(struct pool *pool, unsigned worker)
{
    for (;;) {
        size_t task = atomic_fetch_add(&pool->next, 1);
        if (task >= pool->n_tasks)
            return;
        pool->task(pool->arg, task, worker);
    }
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What is waited for; a job other than the one that was seen last. */
typedef bool condition(const struct pool *pool, unsigned seen);

static bool is_offered(const struct pool *pool, unsigned seen)
{
    unsigned state = atomic_load(&pool->state);
    return (state & OPEN) && state / NUMBER != seen;
}

static bool is_left(const struct pool *pool, unsigned seen)
{
    (void)seen;
    return (atomic_load(&pool->state) & JOINED) == 0;
}

/* Spins until it holds; gives up after a while. */
static bool spin_until(const struct pool *pool, condition *holds, unsigned seen,
                       unsigned *in_vain)
{
    int64_t end = pool->pinned ? now_ns() + (SPIN_NS >> *in_vain) : 0;
    while (pool->pinned && now_ns() < end)
        for (int i = 0; i < SPINS_BETWEEN_LOOKS; i++)
            if (holds(pool, seen)) {
                *in_vain = 0;
                return true;
            }
    return holds(pool, seen);
}

/* Sleeps until it holds; false when the pool ends. With the lock. */
static bool sleep_until(struct pool *pool, condition *holds, unsigned seen,
                        pthread_cond_t *signal)
{
    while (!pool->stop && !holds(pool, seen))
        pthread_cond_wait(signal, &pool->lock);
    return !pool->stop;
}

/* After a wait that began then and was slept through: was it so short that spinning pays? */
static void learn(unsigned *in_vain, int64_t begun)
{
    if (now_ns() - begun < 2 * SPIN_NS)
        *in_vain = 0;
    else if (*in_vain < IN_VAIN_MOST)
        ++*in_vain;
}

/* Waits for a job that was not seen; false when the pool ends. */
static bool wait_for_job(struct worker *worker, unsigned seen)
{
    struct pool *pool = worker->pool;
    int64_t begun = now_ns();
    if (spin_until(pool, is_offered, seen, &worker->in_vain))
        return true;
    pthread_mutex_lock(&pool->lock);
    pool->sleeping++;
    bool go = sleep_until(pool, is_offered, seen, &pool->wake);
    pool->sleeping--;
    pthread_mutex_unlock(&pool->lock);
    learn(&worker->in_vain, begun);
    return go;
}

/* Joins the job unless it is over; the job is seen then. */
static bool join(struct pool *pool, unsigned *seen)
{
    unsigned state = atomic_load(&pool->state);
    while ((state & OPEN) && state / NUMBER != *seen)
        if (atomic_compare_exchange_weak(&pool->state, &state, state + 1)) {
            *seen = state / NUMBER;
            return true;
        }
    return false;
}

/* The last one out of a job that is closed tells the caller. */
static void leave(struct pool *pool)
{
    unsigned before = atomic_fetch_sub(&pool->state, 1);
    if ((before & OPEN) || (before & JOINED) != 1)
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct pool *pool = worker->pool;
    if (pool->pinned)
        pin(worker->number);
    for (unsigned seen = 0; wait_for_job(worker, seen);) {
        if (!join(pool, &seen))
            continue;
        take_tasks(pool, worker->number);
        leave(pool);
    }
    return NULL;
}

struct pool *pool_create(unsigned n)
{
    unsigned cpus = pool_cpus();
    if (n == 0)
        n = cpus;
    if (n > POOL_MOST)
        n = POOL_MOST;
    struct pool *pool = calloc(1, sizeof *pool);
    struct worker *workers = calloc(n, sizeof *workers);
    if (!pool || !workers) {
        free(workers);
        free(pool);
        return NULL; /* a NULL pool runs everything on the caller */
    }
    pool->workers = workers;
    pool->pinned = n <= cpus && n > 1;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (unsigned i = 1; i < n; i++) {
        struct worker *worker = &workers[pool->n_workers];
        *worker = (struct worker){.pool = pool, .number = i};
        if (pthread_create(&worker->thread, NULL, work, worker) != 0)
            break;
        pool->n_workers++;
    }
    return pool;
}

unsigned pool_size(const struct pool *pool)
{
    return pool ? pool->n_workers + 1 : 1;
}

/* Nobody joins any more; waits for those that have. */
static void close_job(struct pool *pool)
{
    int64_t begun = now_ns();
    atomic_fetch_and(&pool->state, ~(unsigned)OPEN);
    if (is_left(pool, 0) || spin_until(pool, is_left, 0, &pool->in_vain))
        return;
    pthread_mutex_lock(&pool->lock);
    sleep_until(pool, is_left, 0, &pool->done);
    pthread_mutex_unlock(&pool->lock);
    learn(&pool->in_vain, begun);
}

void pool_run(struct pool *pool, size_t n_tasks, pool_task *task, void *arg)
{
    if (pool_size(pool) == 1 || n_tasks <= 1) {
        for (size_t i = 0; i < n_tasks; i++)
            task(arg, i, 0);
        return;
    }
    pool->task = task;
    pool->arg = arg;
    pool->n_tasks = n_tasks;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->state, (atomic_load(&pool->state) + NUMBER) | OPEN);
    pthread_mutex_lock(&pool->lock);
    if (pool->sleeping)
        pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    take_tasks(pool, 0);
    close_job(pool);
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->n_workers; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}
