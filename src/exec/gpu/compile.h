/* Kernels compiled at run time: NVRTC and HIPRTC, in a child process.
 *
 * These compilers end the process for what they do not know, so a child calls them and hands
 * the image over. Images are kept by a hash of all that goes into them, in $MOEPLAN_CACHE, else
 * in the user's cache folder; where neither can be written they are made anew. */
#ifndef MOEPLAN_EXEC_GPU_COMPILE_H
#define MOEPLAN_EXEC_GPU_COMPILE_H

#include "exec/gpu/driver.h"

struct image {
    void *bytes;
    uint64_t length;
};

/* The two are alike but for names and options. */
struct compiler {
    const char *title;
    const char *const *libraries; /* NULL ends; the newest first */
    const char *const *names;     /* of its functions, in the order of compile.c */
    const char *option;           /* "--gpu-architecture=" */
    const char *const *options;   /* besides; NULL ends */
};

extern const struct compiler compiler_nvrtc, compiler_hiprtc;

/* The image of a program for an architecture. STATUS_ABSENT when there is no compiler,
 * STATUS_SYSTEM when it does not know the architecture or the text. */
enum status compile_texts(const struct compiler *compiler, const char *architecture,
                          const char *name, const struct gpu_text *texts, unsigned n,
                          struct image *image, struct err *err);

void image_release(struct image *image);

#endif
