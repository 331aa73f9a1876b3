/* What was probed as files: a cluster whose devices are this machine's workers, and the profile
 * of stack host on it. Shares of the profile are of the cluster's own rates. */
#ifndef MOEPLAN_CALIB_RUN_PROBE_WRITE_H
#define MOEPLAN_CALIB_RUN_PROBE_WRITE_H

#include <stdio.h>

#include "calib/run/probed.h"

void probe_write_cluster(FILE *out, const struct probed *probed);
void probe_write_profile(FILE *out, const struct probed *probed);

#endif
