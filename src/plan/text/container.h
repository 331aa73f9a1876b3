/* Launches in descriptions of containers: Kubernetes manifests (Pod, Deployment, Job, whatever
 * has `containers`; graphs of Dynamo; jobs of Kubeflow and Ray), Compose files (`services`) and
 * tasks of SkyPilot (`run` and `resources`) and runs of dstack (`type`, `commands`), as the
 * commands that they run; applications of Ray Serve, values of vLLM's production stack and of
 * llm-d's charts and services of KServe, which say vLLM's settings, as `vllm serve` with them.
 * ConfigMaps of a manifest are its environments' values and its volumes' files. */
#ifndef MOEPLAN_PLAN_TEXT_CONTAINER_H
#define MOEPLAN_PLAN_TEXT_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

/* The variable that a launch's script has its container's image in. */
#define CONTAINER_IMAGE "MOEPLAN_IMAGE"

/* The variable that has the device which the description asks for, as it calls it. */
#define CONTAINER_DEVICE "MOEPLAN_DEVICE"

/* Those that have the sides of a slice of TPUs that its nodes are of, "4x4x8", and how many
 * such slices there are. */
#define CONTAINER_SLICE "MOEPLAN_SLICE"
#define CONTAINER_SLICES "MOEPLAN_SLICES"

/* Those that have what its server does, "prefill" or "decode", by the names around it, and how
 * many there are of it, where such a name is. */
#define CONTAINER_POOL "MOEPLAN_POOL"
#define CONTAINER_REPLICAS "MOEPLAN_REPLICAS"

/* Whether a YAML text looks like one: a line begins with "apiVersion:", "services:" or a key of
 * those that say settings, with "run:" and another with "resources:", or with "type: task" and
 * another with "commands:". */
bool container_is(const char *text, size_t length);

/* The commands as a shell script whose words stand on the lines that they have in the text; a
 * container whose image starts the server by itself as "docker run IMAGE ...". Here-documents
 * with files of volumes follow. Nothing where no container says a command. STATUS_INPUT with
 * the place for what is no YAML, and for a file that it names and `beside` has not. */
struct container_beside {
    void *context;
    const char *(*read)(void *context, const char *name, size_t *length); /* NULL: not there */
};

enum status container_script(const char *name, const char *text, size_t length,
                             const struct container_beside *beside, struct text *script,
                             struct err *err);

#endif
