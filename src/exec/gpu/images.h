/* Images of the kernels that were compiled when moeplan was built (images.cmake): of every
 * architecture all of them; none where there was no compiler. */
#ifndef MOEPLAN_EXEC_GPU_IMAGES_H
#define MOEPLAN_EXEC_GPU_IMAGES_H

struct gpu_image {
    const char *architecture, *compiler; /* "sm_90a", "nvcc"; NULL ends the table */
    const unsigned char *bytes, *end;
};

extern const struct gpu_image gpu_images[];

/* A file's bytes, aligned as drivers read them. */
#define GPU_IMAGE(name, path)                                                                  \
    __asm__(".pushsection .rodata.gpu_images,\"a\"\n.balign 64\n.globl image_" #name           \
            "\n.hidden image_" #name "\nimage_" #name ":\n.incbin \"" path                     \
            "\"\n.globl end_" #name "\n.hidden end_" #name "\nend_" #name                      \
            ":\n.byte 0\n.popsection\n");                                                      \
    extern const unsigned char image_##name[] __attribute__((visibility("hidden"))),           \
        end_##name[] __attribute__((visibility("hidden")));

/* The image that runs on a device's architecture, as its driver names it; NULL: there is none.
 * One for sm_90a runs on sm_90 alone; one for sm_80 on later minors of 8, too. */
const struct gpu_image *gpu_image_for(const char *architecture);

#endif
