/* The devices of one process: its ranks are dealt to them, and what the ranks exchange is
 * copied between them. */
#ifndef MOEPLAN_EXEC_GPU_GROUP_H
#define MOEPLAN_EXEC_GPU_GROUP_H

#include "exec/gpu/device.h"

struct gpu_group {
    struct gpu *of[GPU_MOST]; /* by slot */
    unsigned n;
    bool direct[GPU_MOST][GPU_MOST]; /* copies do not pass through the host's memory */
    bool moving;                     /* a copy was begun since gpu_group_settle */
    uint64_t sharers; /* processes of this machine that hold a device, of the fullest */
};

/* where: names of devices between commas, or NULL: the first there is. Process `turn` of the
 * `processes` of this machine takes all of them when it is alone, else the one whose turn it
 * is. STATUS_USAGE when one is named twice. Release with gpu_group_close, also after a failure.
 */
enum status gpu_group_open(struct gpu_group *group, const char *where, uint64_t turn,
                           uint64_t processes, struct err *err);
void gpu_group_close(struct gpu_group *group);

/* The device that an address is on. */
struct gpu *gpu_group_of(const struct gpu_group *group, const void *address);

/* Begins a copy, on one device or from one to another; all have arrived when gpu_group_settle
 * returns. What was begun on any device before the first of them is waited for. */
enum status gpu_group_move(struct gpu_group *group, const void *from, void *to, uint64_t bytes,
                           struct err *err);
enum status gpu_group_settle(struct gpu_group *group, struct err *err);

/* How copies between them travel: "direct between all", ... "" for one device. */
void gpu_group_text(const struct gpu_group *group, char *text, size_t room);

#endif
