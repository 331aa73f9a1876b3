/* Runs a fuzz target once on each file of the folders (or files) named: keeps targets and
 * corpus alive in builds that have no libFuzzer. Fails when there is no file at all. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

/* The file's bytes in memory of exactly its size, so that sanitizers see a read behind its end;
 * NULL when it cannot be read. */
static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *data = NULL;
    long length = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (length >= 0 && !fseek(file, 0, SEEK_SET)) {
        *size = (size_t)length;
        data = malloc(*size ? *size : 1);
        if (data && fread(data, 1, *size, file) != *size) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

static void replay_file(const char *path)
{
    size_t size;
    uint8_t *data = read_file(path, &size);
    if (!data) {
        perror(path);
        exit(1);
    }
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

/* Returns the number of files replayed. */
static unsigned replay(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        replay_file(path);
        return 1;
    }
    unsigned n = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            n += replay(inside);
    }
    closedir(folder);
    return n;
}

int main(int argc, char **argv)
{
    unsigned n = 0;
    for (int i = 1; i < argc; i++)
        n += replay(argv[i]);
    printf("%u inputs\n", n);
    return n == 0;
}
