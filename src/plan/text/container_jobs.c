/* Jobs whose pods are ranks of one training: Kubeflow's and Ray's. Read at kubeflow/
 * training-operator pkg/controller.v1/pytorch/envvar.go (PyTorchJob), kubeflow/trainer
 * pkg/runtime/framework/plugins/torch/torch.go (TrainJob) and ray-project/kuberay (RayJob). */
#include <string.h>

#include "plan/text/container_writer.h"

/* Devices of a container or of a node of a job; 0: it asks for none. */
static uint64_t devices_of(const struct node *resources)
{
    static const char *const parts[] = {"limits", "requests"};
    static const char *const names[] = {"nvidia.com/gpu", "amd.com/gpu"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            uint64_t n = node_count(node_get(node_get(resources, parts[i]), names[j]));
            if (n)
                return n;
        }
    return 0;
}

/* What torchrun finds in each pod: a rank for every device where the job says no number. */
static void export_ranks(struct container_writer *w, uint64_t nodes, uint64_t per_node,
                         const struct node *resources)
{
    per_node = per_node ? per_node : devices_of(resources);
    container_export_count(w, "PET_NNODES", nodes);
    if (per_node)
        container_export_count(w, "PET_NPROC_PER_NODE", per_node);
}

/* ---- Kubeflow ---- */

/* The master and its workers start the same program; WORLD_SIZE counts pods where the job does
 * not say how many ranks one has. */
static bool write_replicas(struct container_writer *w, const struct node *spec)
{
    const struct node *replicas = node_get(spec, "pytorchReplicaSpecs"), *first = NULL;
    uint64_t nodes = 0, per_node = node_count(node_get(spec, "nprocPerNode"));
    for (const struct node *r = node_entries(replicas); r; r = r->next) {
        const struct node *n = node_get(r, "replicas");
        nodes += node_text(n) ? node_count(n) : 1;
        first = !first || text_equal(r->key, "Master") ? r : first;
    }
    if (!first)
        return false;
    const struct node *pod = node_get(node_get(first, "template"), "spec"),
                      *containers = node_get(pod, "containers"), *main = NULL;
    for (const struct node *c = containers ? containers->first : NULL; c; c = c->next)
        main = !main || node_says(c, "name", "pytorch") ? c : main;
    export_ranks(w, nodes, per_node, node_get(main, "resources"));
    container_export_count(w, "WORLD_SIZE", nodes * (per_node ? per_node : 1));
    container_export_count(w, "RANK", 0);
    container_pods(w, first);
    return true;
}

static bool write_trainer(struct container_writer *w, const struct node *spec)
{
    const struct node *trainer = node_get(spec, "trainer");
    uint64_t nodes = node_count(node_get(trainer, "numNodes"));
    if (!trainer)
        return false;
    export_ranks(w, nodes ? nodes : 1, node_count(node_get(trainer, "numProcPerNode")),
                 node_get(trainer, "resourcesPerNode"));
    container_write(w, trainer);
    return true;
}

/* ---- Ray ---- */

/* The command that is handed to a cluster, in the environment of its text of YAML. */
static bool write_entrypoint(struct container_writer *w, const struct node *spec)
{
    const struct node *entry = node_get(spec, "entrypoint"),
                      *yaml = node_get(spec, "runtimeEnvYAML");
    struct node *env = NULL;
    struct err ignored = {0};
    if (!node_text(entry))
        return false;
    if (node_text(yaml) && source_read_job(yaml->mark.file, yaml->text, strlen(yaml->text),
                                           w->out->arena, &env, &ignored) == STATUS_OK)
        w->env = node_get(env, "env_vars");
    container_export_env(w);
    container_commands(w, entry);
    container_end(w);
    return true;
}

bool container_job(struct container_writer *w, const struct node *root)
{
    const char *kind = node_text(node_get(root, "kind"));
    const struct node *spec = node_get(root, "spec");
    if (!kind)
        return false;
    if (text_equal(kind, "PyTorchJob"))
        return write_replicas(w, spec);
    if (text_equal(kind, "TrainJob"))
        return write_trainer(w, spec);
    return text_equal(kind, "RayJob") && write_entrypoint(w, spec);
}
