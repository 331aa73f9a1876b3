/* See probe_links.h. By the clock of the host: from before the first copy is begun until all
 * have arrived. */
#include "exec/probe_links.h"

#include "exec/stopwatch.h"

static const uint64_t link_bytes[PROBE_LINKS_MOST] = {64, 4096, 65536, 1 << 20, 16 << 20};

enum { MOST_BYTES = 16 << 20, REPEATS = 8 };

/* On every device a part for each device, to send from and to receive in. */
struct links {
    struct gpu_group *gpus;
    char *from[GPU_MOST], *to[GPU_MOST];
};

static enum status take_memory(struct links *links, struct err *err)
{
    uint64_t bytes = (uint64_t)links->gpus->n * MOST_BYTES;
    for (unsigned i = 0; i < links->gpus->n; i++) {
        struct gpu *gpu = links->gpus->of[i];
        links->from[i] = gpu_alloc(gpu, bytes);
        links->to[i] = gpu_alloc(gpu, bytes);
        if (!links->from[i] || !links->to[i])
            return err_set(err, STATUS_SYSTEM, "no memory on \"%s\" to probe with",
                           gpu_where(gpu));
        TRY(gpu_fill(gpu, links->from[i], (unsigned char)(i + 1), bytes, err));
    }
    return STATUS_OK;
}

static enum status exchange(const struct links *links, uint64_t bytes, double *seconds,
                            struct err *err)
{
    unsigned n = links->gpus->n;
    TRY(gpu_group_settle(links->gpus, err));
    double begin_s = stopwatch_now_s();
    for (unsigned step = 1; step < n; step++) /* all receive from another one in each */
        for (unsigned i = 0; i < n; i++) {
            unsigned peer = (i + step) % n;
            TRY(gpu_group_move(links->gpus, links->from[i] + (uint64_t)peer * MOST_BYTES,
                               links->to[peer] + (uint64_t)i * MOST_BYTES, bytes, err));
        }
    TRY(gpu_group_settle(links->gpus, err));
    *seconds = stopwatch_now_s() - begin_s;
    return STATUS_OK;
}

/* What arrived is what was sent, from everybody to everybody. */
static enum status check_all(const struct links *links, struct err *err)
{
    for (unsigned i = 0; i < links->gpus->n; i++)
        for (unsigned peer = 0; peer < links->gpus->n; peer++) {
            unsigned char byte = 0;
            TRY(gpu_read(links->gpus->of[i], links->to[i] + (uint64_t)peer * MOST_BYTES, &byte,
                         1, err));
            if (i != peer && byte != peer + 1)
                return err_set(err, STATUS_MISMATCH,
                               "what \"%s\" sent did not arrive at \"%s\"",
                               gpu_where(links->gpus->of[peer]), gpu_where(links->gpus->of[i]));
        }
    return STATUS_OK;
}

static enum status measure(const struct links *links, struct probe_point *at, struct err *err)
{
    double samples[PROBE_ROUNDS], one;
    TRY(exchange(links, at->bytes, &one, err));
    TRY(check_all(links, err));
    for (unsigned r = 0; r < PROBE_ROUNDS; r++) {
        samples[r] = 0;
        for (unsigned i = 0; i < REPEATS; i++) {
            TRY(exchange(links, at->bytes, &one, err));
            samples[r] += one / REPEATS;
        }
    }
    probe_settle(at, samples);
    return STATUS_OK;
}

static enum status measure_all(struct links *links, struct probe_point *points, size_t *n,
                               struct err *err)
{
    TRY(take_memory(links, err));
    for (unsigned i = 0; i < PROBE_LINKS_MOST; i++) {
        points[*n] = (struct probe_point){.kind = PROBE_EXCHANGE, .bytes = link_bytes[i]};
        TRY(measure(links, &points[*n], err));
        ++*n;
    }
    return STATUS_OK;
}

enum status probe_links(struct gpu_group *gpus, struct probe_point *points, size_t *n,
                        struct err *err)
{
    struct links links = {.gpus = gpus};
    if (gpus->n < 2)
        return STATUS_OK;
    enum status status = measure_all(&links, points, n, err);
    for (unsigned i = 0; i < gpus->n; i++) {
        if (links.from[i])
            gpu_free(gpus->of[i], links.from[i]);
        if (links.to[i])
            gpu_free(gpus->of[i], links.to[i]);
    }
    return status;
}
