/* Micro-batches that a framework fills by tokens: RL's and supervised jobs that pack sequences,
 * or batch them, up to so many tokens. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_PACKED_H
#define MOEPLAN_PLAN_FRAMEWORK_PACKED_H

#include "plan/job/reader.h"

struct packed_batch {
    uint64_t most;      /* tokens of a micro-batch, of all ranks that share a sequence */
    uint64_t longest;   /* tokens of a sequence; 0: the data's alone */
    uint64_t sequences; /* of a step, over all ranks; 0: not said */
    bool even;          /* tokens say how many there are, and sequences are spread over them:
                           one may have more tokens than `most` */
    const char *switch_flags, *most_flags, *longest_flags, *sequences_flags;
};

/* Ranks that have sequences of their own; 0: not known. */
enum status packed_ranks(struct job *job, uint64_t *ranks);

/* workload.sequence_length, packing.length, micro_batch and global_batch where every sequence
 * is a longest one, as everywhere in a job; behind the layout, which says how many ranks have
 * sequences of their own. Without `sequences`, or where the ranks are not known, a step's
 * number is left as it is. */
enum status packed_set(struct job *job, const struct packed_batch *batch);

/* global_batch of micro-batches of so many whole sequences each, the last of which may have
 * fewer; as packed_set does. */
enum status packed_set_rows(struct job *job, uint64_t rows, uint64_t sequences,
                            const char *flags);

#endif
