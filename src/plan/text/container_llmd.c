/* Values of llm-d's ModelService chart; see container_writer.h. Read at llm-d-incubation/
 * llm-d-modelservice charts/llm-d-modelservice/templates/_helpers.tpl and decode-lws.yaml. */
#include <inttypes.h>
#include <string.h>

#include "plan/text/container_writer.h"

/* Of one role: ranks of a tensor, replicas of attention in all and on a node, nodes. */
struct degrees {
    uint64_t tensor, data, local, workers;
};

/* What is not said follows from the rest, as the chart has it. */
static struct degrees degrees_of(const struct node *role)
{
    const struct node *p = node_get(role, "parallelism");
    struct degrees d = {node_count(node_get(p, "tensor")), node_count(node_get(p, "data")),
                        node_count(node_get(p, "dataLocal")),
                        node_count(node_get(p, "workers"))};
    d.tensor += !d.tensor;
    if (!d.data)
        d.data = (d.local ? d.local : 1) * (d.workers ? d.workers : 1);
    if (!d.local)
        d.local = d.workers ? d.data / d.workers : d.data;
    d.local += !d.local;
    if (!d.workers)
        d.workers = d.data / d.local;
    return d;
}

static bool is_made(const struct node *role)
{
    const struct node *create = node_get(role, "create"),
                      *replicas = node_get(role, "replicas");
    return node_get(role, "containers") && !node_is(create, "false") && !node_is(replicas, "0");
}

/* ---- the model ---- */

/* "hf://Qwen/Qwen3-8B"; of a claim that is laid out as the hub's cache,
 * "pvc+hf://claim/path/Qwen/Qwen3-8B", the last two words; of another, "pvc://claim/path", the
 * path. A template stands for the name. */
static const char *model_of(struct container_writer *w, const struct node *artifacts)
{
    const char *uri = node_text(node_get(artifacts, "uri")),
               *name = node_text(node_get(artifacts, "name"));
    const char *path = uri ? strstr(uri, "://") : NULL;
    if (!path || strstr(uri, "{{"))
        return name;
    path += 3;
    const char *slash = strrchr(path, '/');
    if (text_starts(uri, "pvc+hf:")) {
        while (slash > path && slash[-1] != '/')
            slash--;
        return slash ? slash : path;
    }
    return text_starts(uri, "pvc:") ? arena_printf(w->out->arena, "/%s", path) : path;
}

/* ---- commands ---- */

static void write_flag(struct container_writer *w, const char *name, const char *value)
{
    text_append(w->out, " ");
    container_literal(w, name);
    text_append(w->out, " ");
    container_literal(w, value);
}

static void write_degree(struct container_writer *w, const char *name, uint64_t n)
{
    if (n > 1)
        write_flag(w, name, arena_printf(w->out->arena, "%" PRIu64, n));
}

/* The chart starts vLLM itself, or its image does, with the model and degrees before the
 * container's own arguments. */
static void write_serve(struct container_writer *w, const struct node *container,
                        const struct node *artifacts, struct degrees d)
{
    const char *model = model_of(w, artifacts), *name = node_text(node_get(artifacts, "name"));
    w->env = node_get(container, "env");
    container_serve(w, container, node_text(node_get(container, "image")));
    if (model)
        write_flag(w, "--model", model);
    if (name)
        write_flag(w, "--served-model-name", name);
    write_degree(w, "--tensor-parallel-size", d.tensor);
    write_degree(w, "--data-parallel-size", d.data);
    write_degree(w, "--data-parallel-size-local", d.local);
    container_words(w, node_get(container, "args"));
    container_end(w);
}

/* Nodes that the role asks for by a label. */
static const char *device_of(const struct node *role)
{
    const struct node *types = node_get(role, "acceleratorTypes"),
                      *values = node_get(types, "labelValues");
    const char *key = node_text(node_get(types, "labelKey"));
    bool one = key && container_is_device_label(key) && values && values->n == 1;
    return one ? node_text(values->first) : NULL;
}

static void write_role(struct container_writer *w, const struct node *root,
                       const struct node *role, bool pool)
{
    const struct container_writer outer = *w;
    const struct degrees d = degrees_of(role);
    struct node group = {.kind = NODE_SCALAR,
                         .text = arena_printf(w->out->arena, "%" PRIu64, d.workers)};
    w->pool = pool ? role->key : NULL;
    w->replicas = node_text(node_get(role, "replicas"));
    w->device = device_of(role);
    w->group = node_is(node_get(root, "multinode"), "true") ? &group : NULL;
    for (const struct node *c = node_get(role, "containers")->first; c; c = c->next) {
        const char *command = node_text(node_get(c, "modelCommand"));
        bool chart = command &&
                     (text_equal(command, "vllmServe") || text_equal(command, "imageDefault"));
        container_export_count(w, "DP_SIZE", d.data);
        container_export_count(w, "TP_SIZE", d.tensor);
        container_export_count(w, "DP_SIZE_LOCAL", d.local);
        if (chart)
            write_serve(w, c, node_get(root, "modelArtifacts"), d);
        else
            container_write(w, c);
    }
    w->pool = outer.pool;
    w->replicas = outer.replicas;
    w->device = outer.device;
    w->group = outer.group;
}

bool container_llmd(struct container_writer *w, const struct node *root)
{
    const struct node *decode = node_get(root, "decode"), *prefill = node_get(root, "prefill");
    if (!node_get(root, "modelArtifacts") || !is_made(decode))
        return false;
    bool pools = is_made(prefill);
    const struct node *const roles[] = {decode, pools ? prefill : NULL};
    bool later = pools && prefill->mark.line < decode->mark.line; /* as they stand */
    for (unsigned i = 0; i < 2; i++)
        if (roles[later ? 1 - i : i])
            write_role(w, root, roles[later ? 1 - i : i], pools);
    return true;
}
