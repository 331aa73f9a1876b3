/* See launch.h. */
#include "sim/time/launch.h"

#include <math.h>

void launch_init(struct launch *l)
{
    *l = (struct launch){0, -HUGE_VAL, -HUGE_VAL, 0};
}

void launch_wait(struct launch *l, double sync_s)
{
    l->host_host = fmax(l->host_host, l->host_device) + sync_s;
    l->device_host = fmax(l->device_host, l->device_device) + sync_s;
}

double launch_period_s(const struct launch *l)
{
    double turn = (l->host_device + l->device_host) / 2;
    return fmax(fmax(l->host_host, l->device_device), turn);
}
