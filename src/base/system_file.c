/* See system_file.h. */
#include "base/system_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t system_file_number(const char *path, const char *key)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return UINT64_MAX;
    char line[256];
    uint64_t value = UINT64_MAX;
    size_t length = strlen(key);
    while (value == UINT64_MAX && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) == 0 && sscanf(line + length, "%" SCNu64, &value) != 1)
            value = UINT64_MAX;
    }
    fclose(file);
    return value;
}
