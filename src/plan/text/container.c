/* See container.h. */
#include "plan/text/container.h"

#include <ctype.h>
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
    bool type = false, commands = false;  /* dstack's */
    for (const char *at = text; at < end; at = next_line(at, end)) {
        if (line_starts(at, end, "apiVersion:") || line_starts(at, end, "services:") ||
            container_engine_line(at, end))
            return true;
        runs = runs || line_starts(at, end, "run:");
        resources = resources || line_starts(at, end, "resources:");
        type =
            type || line_starts(at, end, "type: task") || line_starts(at, end, "type: service");
        commands = commands || line_starts(at, end, "commands:");
    }
    return (runs && resources) || (type && commands);
}

/* ---- containers ---- */

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

void container_write(struct container_writer *w, const struct node *container)
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
    if (w->slice) {
        container_export(w, CONTAINER_SLICE, strlen(CONTAINER_SLICE), w->slice);
        if (w->replicas)
            container_export(w, CONTAINER_SLICES, strlen(CONTAINER_SLICES), w->replicas);
    }
    container_export_pool(w);
    container_export_env(w);
    if (!container_words(w, entry) && image && image->kind == NODE_SCALAR) {
        container_go_to(w, image->mark.line);
        text_append(w->out, "docker run ");
        container_filled(w, image->text);
    }
    container_words(w, args);
    container_end(w);
    container_mount(w, container);
}

/* ---- pods ---- */

/* Labels of nodes that say which device they have: NVIDIA's and AMD's operators, GKE. */
bool container_is_device_label(const char *key)
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
        return node->key && container_is_device_label(node->key) ? node->text : NULL;
    if (key && container_is_device_label(key->text))
        return node_says(node, "operator", "In") && values && values->n == 1
                   ? values->first->text
                   : NULL;
    const char *found = NULL;
    for (const struct node *item = node ? node->first : NULL; item && !found; item = item->next)
        found = device_of(item);
    return found;
}

/* "prefill" or "decode" in a name, in any case; NULL: neither, or both. */
static const char *pool_in(const char *name, struct arena *arena)
{
    char *lower = arena_strdup(arena, name ? name : "");
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    bool prefill = strstr(lower, "prefill") != NULL, decode = strstr(lower, "decode") != NULL;
    return prefill == decode ? NULL : prefill ? "prefill" : "decode";
}

static const char *scalar_of(const struct node *node)
{
    return node && node->kind == NODE_SCALAR ? node->text : NULL;
}

/* What the servers below a node do: services of Dynamo's graphs and Compose's by their names
 * (subComponentType says it), LeaderWorkerSets by theirs or llm-d's label. */
static void enter_pool(struct container_writer *w, const struct node *node)
{
    const struct node *metadata = node_get(node, "metadata");
    const char *names[] = {scalar_of(node_get(node, "subComponentType")),
                           scalar_of(node_get(node_get(metadata, "labels"), "llm-d.ai/role")),
                           scalar_of(node_get(node, "name")),
                           scalar_of(node_get(metadata, "name")), node->key};
    const char *replicas = scalar_of(node_get(node, "replicas"));
    w->replicas = replicas ? replicas : w->replicas;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *pool = names[i] ? pool_in(names[i], w->out->arena) : NULL;
        if (!pool)
            continue;
        w->pool = pool;
        return;
    }
}

/* Dynamo has one container of a service beside its pod's other words. */
static void write_pod(struct container_writer *w, const struct node *node)
{
    const struct node *list = node_get(node, w->compose ? "services" : "containers");
    const struct node *main = w->compose ? NULL : node_get(node, "mainContainer");
    const char *selected = device_of(node_get(node, "nodeSelector"));
    selected = selected ? selected : device_of(node_get(node, "affinity"));
    w->device = selected ? selected : w->device;
    const char *sides = scalar_of(
        node_get(node_get(node, "nodeSelector"), "cloud.google.com/gke-tpu-topology"));
    w->slice = sides ? sides : w->slice;
    w->volumes = node_get(node, "volumes");
    const char *pool = w->pool;
    for (const struct node *item = list ? list->first : NULL; item; item = item->next) {
        w->pool = w->compose ? pool_in(item->key, w->out->arena) : pool;
        container_write(w, item);
    }
    if (main)
        container_write(w, main);
}

void container_pods(struct container_writer *w, const struct node *node)
{
    const struct container_writer outer = *w;
    enter_pool(w, node);
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
            container_pods(w, child);
    w->device = outer.device;
    w->slice = outer.slice;
    w->volumes = outer.volumes;
    w->pool = outer.pool;
    w->replicas = outer.replicas;
}

/* ---- tasks ---- */

/* One device of a choice, "H100:8", {H100: 8}, {"H100:8": }, with how many of it a node has. */
struct choice {
    const char *name;
    uint64_t n;
};

static struct choice choice_of(const struct node *one, bool keyed, struct arena *arena)
{
    const char *text = keyed ? one->key : one->text;
    size_t length = strcspn(text, ":");
    const char *digits = text[length] ? text + length + 1 : keyed ? one->text : "";
    struct choice choice = {arena_strndup(arena, text, length), 1};
    if (!number_count(digits, &choice.n))
        choice.n = 1;
    return choice;
}

/* What all choices have alike: a name that differs is NULL, a number that does is 0. */
static struct choice chosen_of(const struct node *accelerators, struct arena *arena)
{
    struct choice all = {NULL, 0};
    if (!accelerators || node_is_null(accelerators))
        return all;
    if (accelerators->kind == NODE_SCALAR)
        return choice_of(accelerators, false, arena);
    for (const struct node *one = accelerators->first; one; one = one->next) {
        if (one->kind != NODE_SCALAR)
            return (struct choice){NULL, 0};
        struct choice choice = choice_of(one, accelerators->kind == NODE_MAPPING, arena);
        bool first = one == accelerators->first;
        all.n = first || all.n == choice.n ? choice.n : 0;
        all.name =
            first || (all.name && text_equal(all.name, choice.name)) ? choice.name : NULL;
    }
    return all;
}

/* How many nodes; one where nothing is said. */
static void write_nodes(struct container_writer *w, const char *name, const struct node *node)
{
    container_export(w, name, strlen(name),
                     node && node->kind == NODE_SCALAR ? node->text : "1");
}

/* The device of a task, and its environment with how many there are: not where it is a choice.
 */
static void write_device(struct container_writer *w, struct choice device, const char *count)
{
    if (device.name)
        container_export(w, CONTAINER_DEVICE, strlen(CONTAINER_DEVICE), device.name);
    if (device.n)
        text_printf(w->out, "export %s=%" PRIu64 "; ", count, device.n);
}

static void append_lines(struct container_writer *w, const char *text)
{
    for (const char *at = text; *at; at++)
        w->line += *at == '\n';
    text_append(w->out, text);
}

/* A text of commands on the lines behind its key. */
static void write_text(struct container_writer *w, const struct node *run)
{
    for (; w->line <= run->mark.line; w->line++)
        text_append(w->out, "\n");
    append_lines(w, run->text);
}

/* A task of SkyPilot: the text of `run` on each of its nodes, whose environment has `envs`, and
 * how many nodes and devices there are (sky/skylet/constants.py). */
static void write_task(struct container_writer *w, const struct node *root,
                       const struct node *run)
{
    const struct node *resources = node_get(root, "resources");
    w->env = node_get(root, "envs");
    container_export_env(w);
    write_device(w, chosen_of(node_get(resources, "accelerators"), w->out->arena),
                 "SKYPILOT_NUM_GPUS_PER_NODE");
    write_nodes(w, "SKYPILOT_NUM_NODES", node_get(root, "num_nodes"));
    write_text(w, run);
}

void container_commands(struct container_writer *w, const struct node *commands)
{
    bool block = strchr(commands->text, '\n') != NULL;
    for (; w->line < commands->mark.line + block; w->line++)
        text_append(w->out, "\n");
    append_lines(w, commands->text);
}

/* A run of dstack: its commands one after the other (runner/internal/executor/executor.go). A
 * device is called by its name, its memory or both: "H100:8", "80GB", {name: H100, count: 8}.
 */
static void write_run(struct container_writer *w, const struct node *root,
                      const struct node *commands)
{
    const struct node *gpu = node_get(node_get(root, "resources"), "gpu");
    const struct node *name = node_get(gpu, "name"), *count = node_get(gpu, "count");
    struct choice device = {NULL, 0};
    if (gpu && gpu->kind == NODE_SCALAR && isalpha((unsigned char)gpu->text[0]))
        device = choice_of(gpu, false, w->out->arena);
    else if (name && name->kind == NODE_SCALAR)
        device = (struct choice){name->text, 0};
    if (count && count->kind == NODE_SCALAR && !number_count(count->text, &device.n))
        device.n = 0;
    w->env = node_get(root, "env");
    container_export_env(w);
    write_device(w, device, "DSTACK_GPUS_PER_NODE");
    write_nodes(w, "DSTACK_NODES_NUM", node_get(root, "nodes"));
    for (const struct node *c = commands->first; c; c = c->next) {
        if (c->kind != NODE_SCALAR)
            continue;
        container_commands(w, c);
        container_end_line(w);
    }
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
        err_at(err, root->mark, "more than %d documents in one file", CONTAINER_DOCUMENTS);
        return err_hint(err, "cut out the one that starts the engine");
    }
    w->documents[w->n_documents++] = root;
    return STATUS_OK;
}

static void write_document(struct container_writer *w, const struct node *root)
{
    const struct node *run = node_get(root, "run");
    w->compose = node_get(root, "services") != NULL;
    const struct node *commands = node_get(root, "commands");
    if (run && run->kind == NODE_SCALAR && node_get(root, "resources"))
        write_task(w, root, run);
    else if (commands && commands->kind == NODE_SEQUENCE && node_get(root, "type"))
        write_run(w, root, commands);
    else if (!container_engine(w, root) && !container_job(w, root))
        container_pods(w, root);
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
                             const struct container_beside *beside, struct text *script,
                             struct err *err)
{
    struct container_writer w = {.out = script,
                                 .line = 1,
                                 .files = {.arena = script->arena},
                                 .own = {.arena = script->arena},
                                 .beside = beside,
                                 .err = err};
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
    for (size_t i = 0; i < w.n_documents && err->status == STATUS_OK; i++)
        write_document(&w, w.documents[i]);
    text_append(script, text_string(&w.files));
    return err->status;
}
