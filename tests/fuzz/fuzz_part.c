/* A model, cluster or stack file, as the first letter says (m, c, s), perhaps with `base:`: a
 * plan that names it is read and predicted, or refused with a text and a place. */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/predict_any.h"
#include "plan/read/load.h"

static char folder[] = "/tmp/moeplan-fuzz-XXXXXX";

static void file_name(char name[64])
{
    snprintf(name, 64, "%s/part.yaml", folder);
}

static void clean(void)
{
    char name[64];
    file_name(name);
    unlink(name);
    rmdir(folder);
}

static void write_part(const char name[64], const uint8_t *data, size_t size)
{
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file))
        exit(1);
}

/* Devices and pipes are no parts; opening one waits for ever. */
static int names_a_device(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i++)
        if (memcmp(data + i, "/dev", 4) == 0 || memcmp(data + i, "/pro", 4) == 0)
            return 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int ready;
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    char name[64];
    if (!ready && (!mkdtemp(folder) || atexit(clean)))
        exit(1);
    ready = 1;
    if (size == 0 || names_a_device(data, size))
        return 0;
    file_name(name);
    write_part(name, data + 1, size - 1);
    const char *text = arena_printf(
        &arena, "model: %s\ncluster: %s\nstack: %s\n", data[0] == 'm' ? name : "mixtral-8x7b",
        data[0] == 'c' ? name : "h100-8x1", data[0] == 's' ? name : "generic");
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL, &err) ==
        STATUS_OK)
        predict_any(&plan, false);
    else if (!err.text[0] || !err.where[0])
        abort();
    arena_release(&arena);
    return 0;
}
