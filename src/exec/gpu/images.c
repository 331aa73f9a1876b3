/* Which embedded image a device runs; see images.h. */
#include "exec/gpu/images.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* "sm_90" and the image's "sm_90a"; a plain image serves its major's later minors. */
static bool runs_on(const char *image, const char *device)
{
    if (strncmp(image, "sm_", 3) != 0 || strncmp(device, "sm_", 3) != 0)
        return strcmp(image, device) == 0;
    char *rest;
    unsigned long of_image = strtoul(image + 3, &rest, 10),
                  of_device = strtoul(device + 3, NULL, 10);
    if (*rest != '\0')
        return of_image == of_device;
    return of_image / 10 == of_device / 10 && of_image <= of_device;
}

const struct gpu_image *gpu_image_for(const char *architecture)
{
    for (const struct gpu_image *image = gpu_images; image->architecture; image++)
        if (runs_on(image->architecture, architecture))
            return image;
    return NULL;
}
