/* See printed_unit.h. */
#include "calib/table/printed_unit.h"

#include <stddef.h>

#include "base/text.h"

double printed_unit(const char *unit)
{
    static const struct {
        const char *name;
        double scale;
    } units[] = {
        {"", 1},
        {"%", 0.01},
        {"x", 1},
        {"B", 1},
        {"MB", 1e6},
        {"GB", 1e9},
        {"GiB", 1073741824.0},
        {"s", 1},
        {"ms", 1e-3},
        {"us", 1e-6},
        {"FLOP/B", 1},
        {"TFLOP/s", 1e12},
        {"PFLOP/s", 1e15},
        {"tokens", 1},
        {"tokens/s", 1},
        {"Mtokens/s", 1e6},
        {"rows", 1},
        {"blocks", 1},
        {"loads", 1},
        {"experts", 1},
        {"rounds", 1},
        {"devices", 1},
        {"1e9", 1e9},
        {"nat", 1},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text_equal(unit, units[i].name))
            return units[i].scale;
    return 0;
}
