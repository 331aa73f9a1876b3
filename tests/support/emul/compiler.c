/* Look-alikes of NVRTC and HIPRTC: an image is its text. MOEPLAN_EMUL_FAULT: arch  an
 * architecture that the compiler does not know; abort  it ends the process; sleep  it starts
 * another and neither ends: their numbers are written to MOEPLAN_EMUL_PROCESSES. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/emul/card.h"
#include "support/emul/fault.h"

#define SEEN __attribute__((visibility("default")))
#define ALSO(name) __attribute__((visibility("default"), alias(#name)))

struct program {
    char *image;
    size_t bytes;
    const char *log;
};

SEEN int nvrtcCreateProgram(void **program, const char *text, const char *name, int n,
                            const char *const *headers, const char *const *names)
{
    struct program *made = calloc(1, sizeof *made);
    (void)name;
    (void)headers;
    (void)names;
    if (!made || n != 0)
        return CODE_INVALID;
    made->bytes = strlen(text) + 1;
    made->image = strdup(text);
    if (!made->image)
        return CODE_NO_MEMORY;
    *program = made;
    return CODE_FINE;
}
ALSO(nvrtcCreateProgram)
int hiprtcCreateProgram(void **program, const char *text, const char *name, int n,
                        const char *const *headers, const char *const *names);

static bool names_architecture(const char *option)
{
    static const char *const known[] = {"--gpu-architecture=sm_90", "--gpu-architecture=sm_86",
                                        "--offload-arch=gfx90a",    "--offload-arch=gfx906",
                                        "--offload-arch=gfx942",    "--offload-arch=gfx950"};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(option, known[i]) == 0)
            return true;
    return getenv("MOEPLAN_EMUL_WGMMA") && strcmp(option, "--gpu-architecture=sm_90a") == 0;
}

static void sleep_for_ever(void)
{
    const char *path = getenv("MOEPLAN_EMUL_PROCESSES");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file || fork() < 0)
        abort();
    fprintf(file, "%ld\n", (long)getpid());
    fclose(file);
    for (;;)
        pause();
}

SEEN int nvrtcCompileProgram(void *program, int n, const char *const *options)
{
    struct program *made = program;
    bool known = false;
    if (fault_asked("abort"))
        abort();
    if (fault_asked("sleep"))
        sleep_for_ever();
    for (int i = 0; i < n; i++)
        known |= names_architecture(options[i]);
    if (known && !fault_asked("arch"))
        return CODE_FINE;
    made->log = "error: invalid value for --gpu-architecture";
    return 5;
}
ALSO(nvrtcCompileProgram)
int hiprtcCompileProgram(void *program, int n, const char *const *options);

SEEN int nvrtcGetProgramLogSize(void *program, size_t *bytes)
{
    const struct program *made = program;
    *bytes = made->log ? strlen(made->log) + 1 : 1;
    return CODE_FINE;
}
ALSO(nvrtcGetProgramLogSize) int hiprtcGetProgramLogSize(void *program, size_t *bytes);

SEEN int nvrtcGetProgramLog(void *program, char *text)
{
    const struct program *made = program;
    memcpy(text, made->log ? made->log : "", made->log ? strlen(made->log) + 1 : 1);
    return CODE_FINE;
}
ALSO(nvrtcGetProgramLog) int hiprtcGetProgramLog(void *program, char *text);

SEEN int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    const struct program *made = program;
    *bytes = made->bytes;
    return CODE_FINE;
}
ALSO(nvrtcGetCUBINSize) int hiprtcGetCodeSize(void *program, size_t *bytes);

SEEN int nvrtcGetCUBIN(void *program, char *bytes)
{
    const struct program *made = program;
    memcpy(bytes, made->image, made->bytes);
    return CODE_FINE;
}
ALSO(nvrtcGetCUBIN) int hiprtcGetCode(void *program, char *bytes);
