/* See container.h. */
#include "plan/text/container.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "plan/text/container_writer.h"

/* ---- lines ---- */

static const char *next_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline + 1 : end;
}

static bool line_starts(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - at) >= n && strncmp(at, word, n) == 0;
}

bool container_is(const char *text, size_t length)
{
    const char *end = text + length;
    bool runs = false, resources = false; /* SkyPilot's */
    for (const char *at = text; at < end; at = next_line(at, end)) {
        if (line_starts(at, end, "apiVersion:") || line_starts(at, end, "services:") ||
            container_engine_line(at, end))
            return true;
        runs = runs || line_starts(at, end, "run:");
        resources = resources || line_starts(at, end, "resources:");
    }
    return runs && resources;
}

/* ---- containers ---- */

/* "- name: A, value: x" of Kubernetes, "A: x" and "- A=x" of Compose. */
static void append_env(struct container_writer *w)
{
    if (w->group)
        container_export(w, CONTAINER_GROUP, strlen(CONTAINER_GROUP), w->group->text);
    for (const struct node *item = w->env ? w->env->first : NULL; item; item = item->next) {
        const struct node *name = node_get(item, "name");
        const char *value = container_env_text(w, item);
        const char *equals = item->kind == NODE_SCALAR ? strchr(item->text, '=') : NULL;
        if (item->kind == NODE_SCALAR && item->key)
            container_export(w, item->key, strlen(item->key), item->text);
        else if (equals)
            container_export(w, item->text, (size_t)(equals - item->text), equals + 1);
        else if (name && value)
            container_export(w, name->text, strlen(name->text), value);
    }
}

/* On its own line where that is before the command's. */
static void export_image(struct container_writer *w, const struct node *image,
                         const struct node *command)
{
    if (!image || image->kind != NODE_SCALAR)
        return;
    if (image->mark.line <= command->mark.line)
        container_go_to(w, image->mark.line);
    container_export(w, CONTAINER_IMAGE, strlen(CONTAINER_IMAGE), image->text);
}

static void write_container(struct container_writer *w, const struct node *container)
{
    const struct node *image = node_get(container, "image");
    const struct node *entry = node_get(container, w->compose ? "entrypoint" : "command");
    const struct node *args = node_get(container, w->compose ? "command" : "args");
    if (!entry && !args)
        return;
    w->env = node_get(container, w->compose ? "environment" : "env");
    export_image(w, image, entry ? entry : args);
    if (w->device)
        container_export(w, CONTAINER_DEVICE, strlen(CONTAINER_DEVICE), w->device);
    append_env(w);
    if (!container_words(w, entry) && image && image->kind == NODE_SCALAR) {
        container_go_to(w, image->mark.line);
        text_append(w->out, "docker run ");
        container_filled(w, image->text);
    }
    container_words(w, args);
    container_end_line(w);
    container_mount(w, container);
}

/* ---- pods ---- */

/* Labels of nodes that say which device they have: NVIDIA's and AMD's operators, GKE. */
static bool is_device_label(const char *key)
{
    static const char *const labels[] = {"nvidia.com/gpu.product", "amd.com/gpu.product-name",
                                         "cloud.google.com/gke-accelerator",
                                         "cloud.google.com/gke-tpu-accelerator"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (text_equal(key, labels[i]))
            return true;
    return false;
}

/* What a pod's nodeSelector or affinity asks for; NULL: any device. */
static const char *device_of(const struct node *node)
{
    const struct node *key = node_get(node, "key"), *values = node_get(node, "values");
    if (node && node->kind == NODE_SCALAR)
        return node->key && is_device_label(node->key) ? node->text : NULL;
    if (key && is_device_label(key->text))
        return node_says(node, "operator", "In") && values && values->n == 1
                   ? values->first->text
                   : NULL;
    const char *found = NULL;
    for (const struct node *item = node ? node->first : NULL; item && !found; item = item->next)
        found = device_of(item);
    return found;
}

/* Dynamo has one container of a service beside its pod's other words. */
static void write_pod(struct container_writer *w, const struct node *node)
{
    const struct node *list = node_get(node, w->compose ? "services" : "containers");
    const struct node *main = w->compose ? NULL : node_get(node, "mainContainer");
    const char *selected = device_of(node_get(node, "nodeSelector"));
    selected = selected ? selected : device_of(node_get(node, "affinity"));
    w->device = selected ? selected : w->device;
    w->volumes = node_get(node, "volumes");
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        write_container(w, item);
    if (main)
        write_container(w, main);
}

static void write_containers(struct container_writer *w, const struct node *node)
{
    const struct container_writer outer = *w;
    const struct node *leader = node_get(node, "leaderTemplate"),
                      *size = node_get(node, "size");
    bool group = leader || node_get(node, "workerTemplate"); /* who leads is a worker, then */
    bool pod = node_get(node, w->compose ? "services" : "containers") ||
               (!w->compose && node_get(node, "mainContainer"));
    w->group = group && size && size->kind == NODE_SCALAR ? size : w->group;
    if (pod)
        write_pod(w, node);
    for (const struct node *child = pod ? NULL : node->first; child; child = child->next)
        if (!leader || !text_equal(child->key, "workerTemplate")) /* the same launch again */
            write_containers(w, child);
    w->device = outer.device;
    w->volumes = outer.volumes;
}

/* ---- tasks ---- */

/* Devices of a node: "H100:8", {H100: 8}; 0: it does not say. */
static uint64_t devices_of(const struct node *accelerators)
{
    const struct node *one = accelerators;
    if (one && one->kind != NODE_SCALAR)
        one = one->first;
    if (!one || one->kind != NODE_SCALAR)
        return 0;
    const char *colon = one->key && one != accelerators ? NULL : strrchr(one->text, ':');
    const char *digits = colon ? colon + 1 : one->text;
    uint64_t n;
    return number_count(digits, &n) ? n : 1;
}

/* The device itself: before the colon, or the mapping's key. */
static const char *named_of(const struct node *accelerators, struct arena *arena)
{
    const struct node *one = accelerators;
    if (one && one->kind != NODE_SCALAR)
        one = one->first;
    if (!one || one->kind != NODE_SCALAR)
        return NULL;
    return one->key && one != accelerators
               ? one->key
               : arena_strndup(arena, one->text, strcspn(one->text, ":"));
}

/* A task of SkyPilot: the text of `run` on each of its nodes, whose environment has `envs`, and
 * how many nodes and devices there are (sky/skylet/constants.py). */
static void write_task(struct container_writer *w, const struct node *root,
                       const struct node *run)
{
    const struct node *nodes = node_get(root, "num_nodes");
    const struct node *resources = node_get(root, "resources");
    uint64_t devices = devices_of(node_get(resources, "accelerators"));
    const char *device = named_of(node_get(resources, "accelerators"), w->out->arena);
    w->env = node_get(root, "envs");
    append_env(w);
    if (device)
        container_export(w, CONTAINER_DEVICE, strlen(CONTAINER_DEVICE), device);
    text_printf(w->out, "export SKYPILOT_NUM_NODES=%s; ",
                nodes && nodes->kind == NODE_SCALAR ? nodes->text : "1");
    if (devices)
        text_printf(w->out, "export SKYPILOT_NUM_GPUS_PER_NODE=%" PRIu64 "; ", devices);
    for (; w->line <= run->mark.line; w->line++)
        text_append(w->out, "\n");
    for (const char *at = run->text; *at; at++)
        w->line += *at == '\n';
    text_append(w->out, run->text);
}

/* ---- documents ---- */

/* A manifest is often several documents: each is read behind as many empty lines as stand
 * before it. */
static enum status read_document(struct container_writer *w, const char *name,
                                 const char *start, const char *end, unsigned lines,
                                 struct err *err)
{
    struct text padded = {.arena = w->out->arena};
    struct node *root = NULL;
    for (unsigned i = 0; i < lines; i++)
        text_append(&padded, "\n");
    text_printf(&padded, "%.*s", (int)(end - start), start);
    const char *text = text_string(&padded);
    if (strspn(text, " \t\r\n") == padded.length)
        return STATUS_OK;
    TRY(source_read_job(name, text, padded.length, w->out->arena, &root, err));
    if (w->n_documents == CONTAINER_DOCUMENTS) {
        err_at(err, STATUS_INPUT, root->mark, "more than %d documents in one file",
               CONTAINER_DOCUMENTS);
        return err_hint(err, "cut out the one that starts the engine");
    }
    w->documents[w->n_documents++] = root;
    return STATUS_OK;
}

static void write_document(struct container_writer *w, const struct node *root)
{
    const struct node *run = node_get(root, "run");
    w->compose = node_get(root, "services") != NULL;
    if (run && run->kind == NODE_SCALAR && node_get(root, "resources"))
        write_task(w, root, run);
    else if (!container_engine(w, root))
        write_containers(w, root);
}

static bool has_content(const char *start, const char *end)
{
    for (const char *at = start; at < end; at = next_line(at, end)) {
        const char *word = at + strspn(at, " \t\r");
        if (word < end && *word != '#' && *word != '\n')
            return true;
    }
    return false;
}

enum status container_script(const char *name, const char *text, size_t length,
                             struct text *script, struct err *err)
{
    struct container_writer w = {.out = script, .line = 1, .files = {.arena = script->arena}};
    const char *end = text + length, *start = text;
    unsigned lines = 0, before = 0; /* of the text; before the document */
    for (const char *at = text; at <= end; at = next_line(at, end), lines++) {
        if (at < end && !line_starts(at, end, "---"))
            continue;
        if (has_content(start, at))
            TRY(read_document(&w, name, start, at, before, err));
        if (at == end)
            break;
        start = next_line(at, end);
        before = lines + 1;
    }
    for (size_t i = 0; i < w.n_documents; i++)
        write_document(&w, w.documents[i]);
    text_append(script, text_string(&w.files));
    return STATUS_OK;
}
