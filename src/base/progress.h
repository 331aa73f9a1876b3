/* How far a long computation is, told to who asked for it: what computes prints nothing. */
#ifndef MOEPLAN_BASE_PROGRESS_H
#define MOEPLAN_BASE_PROGRESS_H

#include <stdint.h>

/* Called on the thread that computes, or of a pool's that of the caller. */
struct progress {
    void (*tell)(void *context, double share); /* 0 to 1; NULL: nobody asked */
    void *context;
};

static inline void progress_tell(struct progress progress, uint64_t done, uint64_t all)
{
    if (progress.tell)
        progress.tell(progress.context, (double)done / (double)all);
}

#endif
