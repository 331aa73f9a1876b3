/* The host beside the device: ops are launched one after the other, ahead of the device as far
 * as nothing makes the host wait for it. */
#ifndef MOEPLAN_SIM_TIME_LAUNCH_H
#define MOEPLAN_SIM_TIME_LAUNCH_H

/* A repeated run of ops (a layer in one direction) as it maps the times at which host and
 * device are free onto those after it. Two counts of max and plus: what is longest from each to
 * each. */
struct launch {
    double host_host, host_device, device_host, device_device; /* from, to; -HUGE_VAL: none */
};

void launch_init(struct launch *launch);

/* The host launches an op in launch_s, which the device begins no earlier, and does in op_s. */
static inline void launch_op(struct launch *l, double launch_s, double op_s)
{
    l->host_host += launch_s;
    l->device_host += launch_s;
    l->host_device = (l->host_device > l->host_host ? l->host_device : l->host_host) + op_s;
    l->device_device =
        (l->device_device > l->device_host ? l->device_device : l->device_host) + op_s;
}

/* The host waits until the device is done with all of it, and sync_s longer. */
void launch_wait(struct launch *launch, double sync_s);

/* Seconds from one repetition to the next in the long run: the eigenvalue of the map (Baccelli,
 * Cohen, Olsder, Quadrat, Synchronization and Linearity, 1992, section 3.2): the slowest of the
 * host alone, the device alone, and both in turn. Longer ops or launches never make it shorter.
 */
double launch_period_s(const struct launch *launch);

#endif
