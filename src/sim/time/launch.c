/* See launch.h. */
#include "sim/time/launch.h"

#include <math.h>

void launch_init(struct launch *l)
{
    *l = (struct launch){0, -HUGE_VAL, -HUGE_VAL, 0};
}

void launch_op(struct launch *l, double launch_s, double op_s)
{
    l->host_host += launch_s;
    l->device_host += launch_s;
    l->host_device = fmax(l->host_device, l->host_host) + op_s;
    l->device_device = fmax(l->device_device, l->device_host) + op_s;
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
