/* Deployments that a file describes without a launch: TensorRT-LLM's of context and generation
 * servers (trtllm-serve disaggregated), recipes of srt-slurm, both of two pools, and Dynamo's
 * requests for a deployment, which say what it is to do and leave the rest open. */
#ifndef MOEPLAN_PLAN_JOB_DESCRIBED_H
#define MOEPLAN_PLAN_JOB_DESCRIBED_H

#include "plan/job/reader.h"

struct described_file {
    const char *file, *text;
    size_t length;
    const struct node *root;
    const struct job_request *request;
};

bool described_is(const struct node *root);

/* Of such a tree. STATUS_INPUT with the place for what no engine would start with. */
enum status described_read(const struct described_file *file, struct arena *arena,
                           struct job_result *result, struct err *err);

#endif
