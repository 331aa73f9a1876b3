/* See compile.h. */
#include "exec/gpu/compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/hash.h"
#include "base/process.h"

/* Assumed: the whole of a program takes seconds. MOEPLAN_GPU_COMPILE_LIMIT_S sets another
 * limit. */
static const double compile_limit_s = 300;

static double limit_of_compiling(void)
{
    const char *asked = getenv("MOEPLAN_GPU_COMPILE_LIMIT_S");
    double limit_s = asked ? strtod(asked, NULL) : 0;
    return limit_s > 0 ? limit_s : compile_limit_s;
}

struct functions {
    int (*create)(void **program, const char *text, const char *name, int n,
                  const char *const *headers, const char *const *names);
    int (*compile)(void *program, int n, const char *const *options);
    int (*log_size)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
    int (*image_size)(void *program, size_t *bytes);
    int (*image)(void *program, char *bytes);
};

enum { N_FUNCTIONS = sizeof(struct functions) / sizeof(void (*)(void)), MOST_OPTIONS = 8 };

const struct compiler compiler_nvrtc = {
    .title = "NVRTC",
    .libraries = (const char *const[]){"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                       "libnvrtc.so", NULL},
    .names = (const char *const[]){"nvrtcCreateProgram", "nvrtcCompileProgram",
                                   "nvrtcGetProgramLogSize", "nvrtcGetProgramLog",
                                   "nvrtcGetCUBINSize", "nvrtcGetCUBIN"},
    .option = "--gpu-architecture=",
    .options = (const char *const[]){"--std=c++17", "--prec-div=true", NULL},
};

const struct compiler compiler_hiprtc = {
    .title = "HIPRTC",
    .libraries = (const char *const[]){"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5",
                                       "libhiprtc.so", "libamdhip64.so.6", "libamdhip64.so.5",
                                       "libamdhip64.so", NULL},
    .names = (const char *const[]){"hiprtcCreateProgram", "hiprtcCompileProgram",
                                   "hiprtcGetProgramLogSize", "hiprtcGetProgramLog",
                                   "hiprtcGetCodeSize", "hiprtcGetCode"},
    .option = "--offload-arch=",
    .options = (const char *const[]){"-O3", NULL},
};

void image_release(struct image *image)
{
    free(image->bytes);
    *image = (struct image){0};
}

/* ---- what is kept ---- */

static uint64_t hash_of(const struct compiler *compiler, const char *library,
                        const char *architecture, const char *text)
{
    uint64_t hash = hash_text(HASH_START, compiler->title);
    hash = hash_bytes(hash, library, strlen(library) + 1);
    hash = hash_bytes(hash, architecture, strlen(architecture) + 1);
    for (unsigned i = 0; compiler->options[i]; i++)
        hash = hash_bytes(hash, compiler->options[i], strlen(compiler->options[i]) + 1);
    return hash_text(hash, text);
}

static bool cache_path(uint64_t hash, const char *architecture, char *path, size_t room)
{
    char folder[3000];
    if (!cache_folder(folder, sizeof folder))
        return false;
    int n = snprintf(path, room, "%s/%016" PRIx64 "-%s.image", folder, hash, architecture);
    return n > 0 && (size_t)n < room;
}

/* Every kept image ends with a hash of what is before it: a torn file is no image. */
static bool read_image(FILE *file, struct image *image)
{
    uint64_t head[2] = {0}; /* length, hash */
    if (fread(head, sizeof head, 1, file) != 1 || head[0] == 0 || head[0] > UINT32_MAX)
        return false;
    image->length = head[0];
    image->bytes = malloc((size_t)head[0]);
    bool good = image->bytes && fread(image->bytes, (size_t)head[0], 1, file) == 1 &&
                hash_bytes(HASH_START, image->bytes, head[0]) == head[1];
    if (!good)
        image_release(image);
    return good;
}

static bool write_image(FILE *file, const void *bytes, uint64_t length)
{
    uint64_t head[2] = {length, hash_bytes(HASH_START, bytes, length)};
    return fwrite(head, sizeof head, 1, file) == 1 &&
           fwrite(bytes, (size_t)length, 1, file) == 1 && fflush(file) == 0;
}

static bool load_kept(const char *path, struct image *image)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    bool good = read_image(file, image);
    fclose(file);
    return good;
}

static void keep(const char *path, const struct image *image)
{
    char part[4200];
    snprintf(part, sizeof part, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(part, "wb");
    if (!file)
        return;
    bool good = write_image(file, image->bytes, image->length);
    if (fclose(file) != 0 || !good || rename(part, path) != 0)
        remove(part);
}

/* ---- the child ---- */

/* What a child writes: the image, or nothing and then why. */
struct order {
    const struct compiler *compiler;
    void *library;
    const char *library_name, *architecture, *name, *text;
    FILE *image, *log;
};

static void note_log(const struct order *order, const struct functions *f, void *program)
{
    size_t bytes = 0;
    char *text = NULL;
    if (f->log_size(program, &bytes) == 0 && bytes > 1 && (text = calloc(1, bytes + 1)) != NULL)
        f->log(program, text);
    fprintf(order->log, "%.600s", text ? text : "it does not say why");
    fflush(order->log);
    free(text);
}

static int compile_order(const struct order *order)
{
    struct functions f;
    struct err err = {.status = STATUS_OK};
    const char *options[MOST_OPTIONS];
    char architecture[128];
    void *program = NULL;
    size_t bytes = 0;
    int n = 0;
    if (gpu_library_bind(order->library, order->library_name, order->compiler->names,
                         N_FUNCTIONS, &f, &err) != STATUS_OK)
        return fprintf(order->log, "%s", err.text), 1;
    snprintf(architecture, sizeof architecture, "%s%s", order->compiler->option,
             order->architecture);
    options[n++] = architecture;
    for (unsigned i = 0; order->compiler->options[i]; i++)
        options[n++] = order->compiler->options[i];
    if (f.create(&program, order->text, order->name, 0, NULL, NULL) != 0)
        return 1;
    if (f.compile(program, n, options) != 0) {
        note_log(order, &f, program);
        return 1;
    }
    if (f.image_size(program, &bytes) != 0 || bytes == 0)
        return 1;
    char *image = malloc(bytes);
    bool good =
        image && f.image(program, image) == 0 && write_image(order->image, image, bytes);
    free(image);
    return good ? 0 : 1;
}

static enum status not_compiled(const struct order *order, int status, struct err *err)
{
    char log[700] = "";
    rewind(order->log);
    size_t n = fread(log, 1, sizeof log - 1, order->log);
    log[n] = '\0';
    if (status > PROCESS_SIGNAL)
        snprintf(log, sizeof log, "it ended with signal %d", status - PROCESS_SIGNAL);
    if (status == PROCESS_LATE)
        snprintf(log, sizeof log, "it has not ended after %g s", limit_of_compiling());
    err_set(err, STATUS_SYSTEM, "%s cannot compile \"%s\" for %s: %s", order->compiler->title,
            order->name, order->architecture, log[0] ? log : "it does not say why");
    if (status == PROCESS_LATE)
        return err_hint(err, "MOEPLAN_GPU_COMPILE_LIMIT_S sets another limit, in seconds");
    return err_hint(err,
                    "the architecture may be unknown to this version of %s; --device "
                    "opencl:0 is compiled by the device's own driver",
                    order->compiler->title);
}

static int compile_in_child(void *argument)
{
    const struct order *order = argument;
    int code = compile_order(order);
    fflush(order->log);
    return code;
}

static enum status run_child(struct order *order, struct image *image, struct err *err)
{
    int status = process_call(compile_in_child, order, limit_of_compiling());
    rewind(order->image);
    if (status == 0 && read_image(order->image, image))
        return STATUS_OK;
    return not_compiled(order, status, err);
}

/* ---- the whole ---- */

static char *join(const struct gpu_text *texts, unsigned n)
{
    uint64_t length = 0;
    for (unsigned i = 0; i < n; i++)
        length += texts[i].length;
    char *all = malloc((size_t)length + 1), *at = all;
    for (unsigned i = 0; all && i < n; i++) {
        memcpy(at, texts[i].text, (size_t)texts[i].length);
        at += texts[i].length;
    }
    if (all)
        *at = '\0';
    return all;
}

static enum status open_compiler(struct order *order, struct err *err)
{
    for (unsigned i = 0; !order->library && order->compiler->libraries[i]; i++) {
        order->library_name = order->compiler->libraries[i];
        order->library = gpu_library_open(order->library_name);
    }
    if (order->library)
        return STATUS_OK;
    return err_set(err, STATUS_ABSENT, "%s is absent: \"%s\" compiles the kernels",
                   order->compiler->title, order->library_name);
}

static enum status make_image(struct order *order, struct image *image, struct err *err)
{
    char path[4096];
    uint64_t hash =
        hash_of(order->compiler, order->library_name, order->architecture, order->text);
    bool kept = cache_path(hash, order->architecture, path, sizeof path);
    if (kept && load_kept(path, image))
        return STATUS_OK;
    order->image = tmpfile();
    order->log = tmpfile();
    enum status status = order->image && order->log
                             ? run_child(order, image, err)
                             : err_set(err, STATUS_SYSTEM, "no temporary file for an image");
    if (order->image)
        fclose(order->image);
    if (order->log)
        fclose(order->log);
    if (status == STATUS_OK && kept)
        keep(path, image);
    return status;
}

enum status compile_texts(const struct compiler *compiler, const char *architecture,
                          const char *name, const struct gpu_text *texts, unsigned n,
                          struct image *image, struct err *err)
{
    struct order order = {.compiler = compiler, .architecture = architecture, .name = name};
    TRY(open_compiler(&order, err));
    char *text = join(texts, n);
    order.text = text;
    enum status status = text ? make_image(&order, image, err)
                              : err_set(err, STATUS_SYSTEM, "out of memory for a program");
    free(text);
    return status;
}
