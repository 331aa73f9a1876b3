/* Images that a look-alike driver loads: a text that its compiler was given, or what nvcc or
 * hipcc made of the kernels. */
#ifndef MOEPLAN_TESTS_EMUL_IMAGE_H
#define MOEPLAN_TESTS_EMUL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

/* It is a text, as the look-alike compilers give back: not what nvcc or hipcc make. */
bool image_is_text(const void *image);

/* Whether it loads: a text has to be one of those that this library's own kernels were compiled
 * from, by hash; else it has to be an image of CUDA's or HIP's form. */
bool image_loads(const void *image);

/* Bytes of arguments that its kernel takes; 0: it has no such kernel; SIZE_MAX: the image does
 * not say. HIP's kernels take `hidden` bytes of their own at most. */
size_t image_argument_bytes(const void *image, const char *kernel, size_t *hidden);

#endif
