/* Cluster and profile of this machine; see probe_write.h. */
#include "calib/run/probe_write.h"

#include <inttypes.h>
#include <math.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/unit.h"
#include "plan/schema/schema.h"

static const struct probe_point *find(const struct probed *p, enum probe_kind kind)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->points[i].kind == kind)
            return &p->points[i];
    return NULL;
}

/* The most that any sample reached: what shares are of, so that none is above one. */
static double best(const struct probed *p, enum probe_kind from, enum probe_kind to,
                   enum dtype dtype)
{
    double most = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->points[i].kind >= from && p->points[i].kind <= to &&
            (!probe_is_product(p->points[i].kind) || p->points[i].dtype == dtype))
            most = fmax(most, p->points[i].high);
    return most;
}

static double memory_rate(const struct probed *p)
{
    return best(p, PROBE_COPY, PROBE_GATHER, DTYPE_F32);
}

/* ---- exchanges: seconds = start + bytes / rate, of the smallest and the largest ---- */

struct line {
    double start_s, bytes_per_s; /* of medians; the rate is at most the fastest sample's */
    double fast, slow;           /* rates of the fastest sample, and of the largest's slowest */
};

/* A rank sends to all others at once. */
static struct line exchange_line(const struct probed *p)
{
    const struct probe_point *small = NULL, *large = NULL;
    struct line line = {0};
    for (size_t i = 0; i < p->n; i++) {
        const struct probe_point *at = &p->points[i];
        if (at->kind != PROBE_EXCHANGE)
            continue;
        small = small ? small : at;
        large = at;
        line.fast = fmax(line.fast, (double)(p->ranks - 1) * (double)at->bytes / at->low);
    }
    if (!large)
        return line;
    double bytes = (double)(p->ranks - 1) * (double)large->bytes;
    line.start_s = small->value;
    line.slow = bytes / large->high;
    line.bytes_per_s = bytes / fmax(large->value - small->value, bytes / line.fast);
    return line;
}

/* ---- the cluster ---- */

static const char *device_of(const struct probed *p)
{
    return p->gpu ? p->gpu : p->machine->cpu;
}

/* What a driver or its compiler said stays on the comment's line. */
static void write_remark(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void write_title(FILE *out, const struct probed *p)
{
    if (p->gpu) {
        fprintf(out,
                "# %s, as moeplan probe measured it\n#\n"
                "# %s, by the kernels of `run --backend gpu`: ",
                p->gpu, p->ranks > 1 ? "The first, and copies between all" : "One device");
        write_remark(out, p->blas);
        fprintf(out, ". %s; %s.\n", p->machine->system, p->date);
    } else
        fprintf(out,
                "# %s, %" PRIu64 " workers, as moeplan probe measured it\n#\n"
                "# A device is one worker while all of them work. %s; %s; %s.\n",
                p->machine->cpu, p->workers, p->machine->system, p->blas, p->date);
}

void probe_write_cluster(FILE *out, const struct probed *p)
{
    struct line line = exchange_line(p);
    write_title(out, p);
    fprintf(out, "# Rates are the best of %d rounds, the profile's shares are of them.\n",
            PROBE_ROUNDS);
    fprintf(out, "device:\n  memory: %" PRIu64 " B\n", p->memory_bytes);
    fprintf(out, "  memory_bandwidth: %.4g GB/s\n  peak:\n", memory_rate(p) / 1e9);
    fprintf(out, "    f32: %.4g GFLOP/s\n", best(p, PROBE_GEMM, PROBE_WGRAD, DTYPE_F32) / 1e9);
    fprintf(out, "    bf16: %.4g GFLOP/s%s\n",
            best(p, PROBE_GEMM, PROBE_WGRAD, DTYPE_BF16) / 1e9,
            p->gpu ? "" : "           # computed in f32, converted in tiles");
    fprintf(out, "\nnode:\n  devices: %" PRIu64 "\n", p->ranks);
    if (line.bytes_per_s > 0)
        fprintf(out, "  link_bandwidth: %.4g GB/s\n  link_latency: %.4g us\n", line.fast / 1e9,
                line.start_s * 1e6);
    fprintf(out, "\nnodes: 1\n");
}

/* ---- the profile ---- */

static void write_share(FILE *out, const char *of, const struct probe_point *point,
                        double whole)
{
    fprintf(out, "- {of: %s, is: bandwidth, value: %.4g, interval: [%.4g, %.4g]}\n", of,
            point->value / whole, point->low / whole, point->high / whole);
}

/* Products of one format: a curve over rows, each point the mean over sizes; a share of the
 * best rate. Below the most rows memory may bind: the curve holds that too. */
static void write_products(FILE *out, const struct probed *p, enum probe_kind kind,
                           enum dtype dtype, enum compute compute)
{
    double peak = best(p, PROBE_GEMM, PROBE_WGRAD, dtype), low = 1, high = 1;
    fprintf(out, "- {of: %s, is: efficiency, dtype: %s, by: rows, points: [",
            kind == PROBE_GEMM ? "product" : probe_kind_name(kind), words_compute[compute]);
    const char *before = "";
    for (uint64_t rows = 1; rows <= 1024; rows *= 2) {
        double sum = 0, least = HUGE_VAL, most = 0, n = 0;
        for (size_t i = 0; i < p->n; i++) {
            const struct probe_point *at = &p->points[i];
            if (at->kind != kind || at->dtype != dtype || at->rows != rows)
                continue;
            sum += at->value;
            n++;
            least = fmin(least, at->low);
            most = fmax(most, at->high);
        }
        if (!(n > 0))
            continue;
        fprintf(out, "%s[%" PRIu64 ", %.4g]", before, rows, sum / n / peak);
        before = ", ";
        low = fmin(low, least / (sum / n));
        high = fmax(high, most / (sum / n));
    }
    fprintf(out, "], interval: [%.4g, %.4g]}\n", low, high);
}

static void write_exchange(FILE *out, const struct probed *p)
{
    struct line line = exchange_line(p);
    const struct probe_point *small = find(p, PROBE_EXCHANGE);
    if (!small || !(line.fast > 0))
        return;
    fprintf(out,
            "- {of: collective, is: efficiency, level: scale_up, value: %.4g, interval: [%.4g, "
            "1]}\n",
            line.bytes_per_s / line.fast, line.slow / line.fast);
    fprintf(out,
            "- {of: collective, is: latency, level: scale_up, value: %.4g us, interval: [%.4g "
            "us, %.4g us]}\n",
            small->value * 1e6, small->low * 1e6, small->high * 1e6);
}

void probe_write_profile(FILE *out, const struct probed *p)
{
    const struct probe_point *copy = find(p, PROBE_COPY), *gather = find(p, PROBE_GATHER),
                             *activate = find(p, PROBE_ACTIVATE),
                             *back = find(p, PROBE_ACTIVATE_BACK),
                             *launch = find(p, PROBE_LAUNCH);
    struct arena scratch = {0};
    double whole = memory_rate(p);
    fprintf(out, "# Stack host on %s, as moeplan probe measured it\n", device_of(p));
    fprintf(out, "device: \"%s\"\ncalibration: \"probed on %s\"\n", device_of(p), p->date);
    char *source = arena_join(
        &scratch, "moeplan probe, ",
        arena_join(&scratch, p->blas, arena_join(&scratch, ", transport ", p->transport)));
    fputs("source: ", out);
    json_quote(out, source);
    fprintf(out, "\ndate: %s\nrange: as probed\nset: this machine\nconstants:\n", p->date);
    arena_release(&scratch);
    for (enum probe_kind kind = PROBE_GEMM; kind <= PROBE_WGRAD; kind++)
        if (find(p, kind)) { /* weights are read out of memory, gradients of them written */
            write_products(out, p, kind, DTYPE_F32, COMPUTE_F32);
            write_products(out, p, kind, DTYPE_BF16, COMPUTE_BF16);
        }
    fputs("- {of: product, is: bandwidth, value: 1, interval: [1, 1]}\n", out);
    write_share(out, "memory", copy, whole);
    write_share(out, "move", gather, whole);
    if (activate) /* a CPU computes it slower than its memory moves it */
        write_share(out, "activation", activate, whole);
    if (back)
        write_share(out, "activation_back", back, whole);
    fprintf(out,
            "- {of: product, is: overhead, value: %.4g us, interval: [%.4g us, %.4g us]}\n",
            launch->value * 1e6, launch->low * 1e6, launch->high * 1e6);
    fprintf(out, "- {of: memory, is: overhead, value: %.4g us, interval: [%.4g us, %.4g us]}\n",
            launch->value * 1e6, launch->low * 1e6, launch->high * 1e6);
    write_exchange(out, p);
}
