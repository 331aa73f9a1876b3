/* Which engine a device's products run on; see peak.h. */
#include "exec/gpu/peak.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/hash.h"
#include "exec/gpu/engine.h"
#include "exec/gpu/peak_check.h"

enum verdict { VERDICT_UNKNOWN, VERDICT_AGREES, VERDICT_DIFFERS };

struct peak {
    const struct gpu_driver *driver;
    void *device;
    const char *name;            /* the device's */
    const struct engine *engine; /* NULL: no more are left */
    void *program;
    void *kernels[ENGINE_KINDS];
    uint64_t hash; /* of its image */
    enum verdict verdict;
    bool checking;
    char launched[32];  /* the name of the product that was begun last */
    char left_out[256]; /* engines that are not used, and why */
    uint64_t units;     /* of the device; 0: unknown */
    uint64_t on_engine, portable;
};

struct peak *peak_create(const struct gpu_driver *driver, void *device, const char *name)
{
    const char *asked = getenv("MOEPLAN_GPU_PEAK");
    if (!driver->architecture || (asked && strcmp(asked, "0") == 0))
        return NULL;
    struct peak *peak = calloc(1, sizeof *peak);
    if (!peak)
        return NULL;
    peak->driver = driver;
    peak->device = device;
    peak->name = name;
    peak->units = driver->units(device);
    peak->engine = engine_next(NULL, driver->architecture(device));
    return peak;
}

static void close_engine(struct peak *peak)
{
    if (peak->program)
        peak->driver->release(peak->device, peak->program);
    peak->program = NULL;
    peak->verdict = VERDICT_UNKNOWN;
}

void peak_free(struct peak *peak)
{
    if (!peak)
        return;
    close_engine(peak);
    free(peak);
}

/* The next engine, because this one will not do. */
static void leave_out(struct peak *peak, const char *why)
{
    size_t at = strlen(peak->left_out);
    snprintf(peak->left_out + at, sizeof peak->left_out - at, "%s%s %.150s", at ? "; " : "",
             peak->engine->name, why);
    close_engine(peak);
    peak->engine = engine_next(peak->engine, peak->driver->architecture(peak->device));
}

static enum status open_engine(struct peak *peak, struct err *err)
{
    const struct engine *engine = peak->engine;
    unsigned n;
    const struct gpu_text *texts = gpu_source_texts(engine->source, &n);
    struct gpu_build build = {
        .name = texts[n - 1].name, .texts = texts, .n = n, .architecture = engine->compile_for};
    TRY(peak->driver->build(peak->device, &build, &peak->program, err));
    peak->hash = build.hash;
    for (unsigned k = 0; k < ENGINE_KINDS; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", engine->prefix,
                 engine_kind_name((enum engine_kind)k));
        TRY(peak->driver->find(peak->device, peak->program, name, &peak->kernels[k], err));
        TRY(peak->driver->allow(peak->device, peak->kernels[k], engine->local_bytes, err));
    }
    return STATUS_OK;
}

/* What is asked, on so many units. `begun`: there is something to do. */
static enum status launch(struct peak *peak, enum engine_kind kind,
                          const struct gpu_launch *asked, uint64_t units, bool *begun,
                          struct err *err)
{
    const struct engine *engine = peak->engine;
    const struct gpu_call *call = asked->call;
    struct gpu_launch out = *asked;
    struct gpu_maps maps = {0};
    for (unsigned i = 0; engine->maps && i < ENGINE_MAPS; i++) {
        if (!engine_maps(call, kind, i))
            continue;
        struct gpu_matrix matrix = engine_matrix(call, kind, i, asked->memory);
        TRY(peak->driver->map(peak->device, &matrix, maps.of[i], err));
    }
    snprintf(peak->launched, sizeof peak->launched, "%s %s", engine->name,
             kind == ENGINE_TURNED ? "gemm" : engine_kind_name(kind));
    out.kernel = peak->kernels[kind];
    out.name = peak->launched;
    out.groups = engine_groups(engine, kind, call, units);
    out.items = engine->items;
    out.local_bytes = engine->local_bytes;
    out.maps = &maps;
    *begun = out.groups > 0;
    return *begun ? peak->driver->launch(peak->device, &out, err) : STATUS_OK;
}

/* ---- what came out is kept ---- */

static bool verdict_path(const struct peak *peak, char *path, size_t room)
{
    char folder[3000];
    uint64_t hash = hash_text(peak->hash, peak->name);
    if (!cache_folder(folder, sizeof folder))
        return false;
    int n = snprintf(path, room, "%s/%016" PRIx64 "-%s.answers", folder, hash,
                     peak->engine->prefix);
    return n > 0 && (size_t)n < room;
}

static void recall(struct peak *peak)
{
    char path[3100], word[16] = "";
    FILE *file = verdict_path(peak, path, sizeof path) ? fopen(path, "r") : NULL;
    if (!file)
        return;
    if (fgets(word, sizeof word, file))
        peak->verdict = strcmp(word, "agree\n") == 0    ? VERDICT_AGREES
                        : strcmp(word, "differ\n") == 0 ? VERDICT_DIFFERS
                                                        : VERDICT_UNKNOWN;
    fclose(file);
}

static void note(const struct peak *peak)
{
    char path[3100];
    FILE *file = verdict_path(peak, path, sizeof path) ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fputs(peak->verdict == VERDICT_AGREES ? "agree\n" : "differ\n", file);
    fclose(file);
}

/* Asked once. A kernel that fails or hangs leaves nothing to go on with: it is noted, so that
 * the next run does without. */
static enum status ask(struct peak *peak, struct gpu *gpu, double limit_s, struct err *err)
{
    bool agrees = false;
    peak->checking = true;
    enum status status = peak_check(peak, gpu, limit_s, &agrees, err);
    peak->checking = false;
    if (status == STATUS_NOFIT) { /* another time */
        leave_out(peak, "not asked for known answers: no memory left");
        return err_clear(err), STATUS_OK;
    }
    peak->verdict = agrees ? VERDICT_AGREES : VERDICT_DIFFERS;
    note(peak);
    if (status != STATUS_OK)
        return err_hint(err, "this engine of the device is left out from the next run on");
    return STATUS_OK;
}

/* An engine that gives known answers, or none: engine NULL. */
static enum status ready(struct peak *peak, struct gpu *gpu, double limit_s, struct err *err)
{
    while (peak->engine && peak->verdict != VERDICT_AGREES) {
        struct err why = {.status = STATUS_OK};
        if (!peak->program && open_engine(peak, &why) != STATUS_OK) {
            leave_out(peak, why.text);
            continue;
        }
        recall(peak);
        if (peak->verdict == VERDICT_UNKNOWN)
            TRY(ask(peak, gpu, limit_s, err));
        if (peak->engine && peak->verdict == VERDICT_DIFFERS)
            leave_out(peak, "gives other answers than the portable kernels");
    }
    return STATUS_OK;
}

enum status peak_ask(struct peak *peak, struct gpu *gpu, double limit_s, struct err *err)
{
    return peak ? ready(peak, gpu, limit_s, err) : STATUS_OK;
}

enum status peak_try(struct peak *peak, enum kernel kernel, const struct gpu_call *call,
                     const uint64_t *memory, uint64_t units, double limit_s, double *seconds,
                     struct err *err)
{
    const struct gpu_launch asked = {.call = call, .memory = memory};
    enum engine_kind kind;
    bool begun = false;
    if (!engine_takes(kernel, call, &kind))
        return err_set(err, STATUS_SYSTEM, "a known answer is not one for \"%s\"",
                       peak->engine->name);
    units = units ? units : peak->units;
    TRY(launch(peak, kind, &asked, units, &begun, err));
    return begun ? peak->driver->wait(peak->device, peak->launched, limit_s, seconds, err)
                 : STATUS_OK;
}

enum status peak_start(struct peak *peak, struct gpu *gpu, enum kernel kernel,
                       const struct gpu_launch *asked, double limit_s, const char **name,
                       struct err *err)
{
    enum engine_kind kind;
    bool begun;
    if (!peak || peak->checking || !engine_knows(kernel))
        return STATUS_OK;
    if (engine_takes(kernel, asked->call, &kind)) {
        TRY(ready(peak, gpu, limit_s, err));
        if (peak->engine) {
            peak->on_engine++;
            TRY(launch(peak, kind, asked, peak->units, &begun, err));
            *name = begun ? peak->launched : "";
            return STATUS_OK;
        }
    }
    peak->portable++;
    return STATUS_OK;
}

void peak_text(const struct peak *peak, char *text, size_t room)
{
    text[0] = '\0';
    if (!peak || peak->on_engine + peak->portable == 0)
        return;
    int n = snprintf(text, room, "products: %" PRIu64 " portable", peak->portable);
    if (peak->on_engine)
        n = snprintf(text, room,
                     "products: %" PRIu64 " by %s, known answers given; %" PRIu64 " portable",
                     peak->on_engine, peak->engine->name, peak->portable);
    if (peak->left_out[0] && n > 0 && (size_t)n < room)
        snprintf(text + n, room - (size_t)n, " (%s)", peak->left_out);
}
