/* Amounts of memory in a common unit; see amount.h. */
#include "report/amount.h"

#include <stdio.h>

struct scale scale_for(uint64_t largest_bytes)
{
    static const struct scale scales[] = {
        {"GiB", 1024.0 * 1024.0 * 1024.0}, {"MiB", 1024.0 * 1024.0}, {"KiB", 1024.0}};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if ((double)largest_bytes >= scales[i].bytes)
            return scales[i];
    return (struct scale){"B", 1};
}

static void print_scaled(char buffer[32], struct scale scale, double bytes)
{
    snprintf(buffer, 32, "%.*f", scale.bytes > 1 ? 2 : 0, bytes / scale.bytes);
}

void scale_print(char buffer[32], struct scale scale, uint64_t bytes)
{
    print_scaled(buffer, scale, (double)bytes);
}

void scale_print_signed(char buffer[32], struct scale scale, int64_t bytes)
{
    print_scaled(buffer, scale, (double)bytes);
}

void percent_print(char buffer[32], uint64_t part, uint64_t total)
{
    snprintf(buffer, 32, "%.1f", total ? 100.0 * (double)part / (double)total : 0.0);
}
