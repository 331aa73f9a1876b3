/* Images for the look-alikes of CUDA and HIP, in the place of those that a compiler makes: the
 * text itself, as their own compilers give it back. */
#include <stddef.h>

#include "exec/gpu/images.h"

GPU_IMAGE(text, MOEPLAN_KERNELS_TEXT)
GPU_IMAGE(other, MOEPLAN_OTHER_TEXT)

const struct gpu_image gpu_images[] = {{"sm_80", "tests", image_other, end_other},
                                       {"sm_90a", "tests", image_text, end_text},
                                       {"gfx90a", "tests", image_text, end_text},
                                       {"gfx906", "tests", image_other, end_other},
                                       {NULL, NULL, NULL, NULL}};
