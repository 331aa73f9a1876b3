/* Thread pool: threads with a CPU of their own spin for the next job, then sleep; see pool.h.
 * They spin about as long as being woken costs (some 50 us on a virtual machine), so that a
 * wait never costs more than twice what the better choice would have; without CPUs of their own
 * they sleep at once, because a spinning barrier on shared CPUs waits out whole time slices. */
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

enum { SPIN_NS = 50 * 1000, SPINS_BETWEEN_LOOKS = 64, POOL_MOST = 1024 };

struct worker {
    struct pool *pool;
    pthread_t thread;
    unsigned number;
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
    atomic_uint generation; /* number of the job; odd jobs and even jobs alike */
    atomic_uint busy;       /* workers that have not finished the present job */
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

/* Spins while the value is `old`; gives up after a while. */
static void spin_while(const struct pool *pool, atomic_uint *value, unsigned old)
{
    int64_t end = pool->pinned ? now_ns() + SPIN_NS : 0;
    while (pool->pinned && now_ns() < end)
        for (int i = 0; i < SPINS_BETWEEN_LOOKS; i++)
            if (atomic_load(value) != old)
                return;
}

/* Waits until the job's number differs from `seen`; false when the pool ends. */
static bool wait_for_job(struct pool *pool, unsigned seen)
{
    spin_while(pool, &pool->generation, seen);
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop && atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->wake, &pool->lock);
    bool go = !pool->stop;
    pthread_mutex_unlock(&pool->lock);
    return go;
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct pool *pool = worker->pool;
    if (pool->pinned)
        pin(worker->number);
    for (unsigned seen = 0; wait_for_job(pool, seen); seen++) {
        take_tasks(pool, worker->number);
        if (atomic_fetch_sub(&pool->busy, 1) == 1) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
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

static void wait_until_done(struct pool *pool)
{
    for (unsigned busy; (busy = atomic_load(&pool->busy)) != 0;) {
        spin_while(pool, &pool->busy, busy);
        if (atomic_load(&pool->busy) == busy)
            break;
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->busy) != 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void pool_run(struct pool *pool, size_t n_tasks, pool_task *task, void *arg)
{
    if (pool_size(pool) == 1 || n_tasks <= 1) {
        for (size_t i = 0; i < n_tasks; i++)
            task(arg, i, 0);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->arg = arg;
    pool->n_tasks = n_tasks;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->busy, pool->n_workers);
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    take_tasks(pool, 0);
    wait_until_done(pool);
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
