/* What devices of this machine exchange, measured: between devices, never on one of them. */
#ifndef MOEPLAN_EXEC_PROBE_LINKS_H
#define MOEPLAN_EXEC_PROBE_LINKS_H

#include "exec/gpu/group.h"
#include "exec/probe.h"

enum { PROBE_LINKS_MOST = 5 };

/* Appends points to points[*n], at most PROBE_LINKS_MOST: all devices send `bytes` to each
 * other device at once. None for one device. */
enum status probe_links(struct gpu_group *gpus, struct probe_point *points, size_t *n,
                        struct err *err);

#endif
