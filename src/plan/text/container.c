/* See container.h. */
#include "plan/text/container.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "plan/text/shell_expand.h"
#include "plan/source.h"

struct writer {
    struct text *out;
    unsigned line;            /* where the next word would stand */
    const struct node *env;   /* of the container: a list of names and values, or a mapping */
    const struct node *group; /* pods of a LeaderWorkerSet; or NULL */
    bool compose;             /* "${X:-d}" is filled in, "$(X)" is not */
};

static const char group_size[] =
    "LWS_GROUP_SIZE"; /* which its pods have in their environment */

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
        if (line_starts(at, end, "apiVersion:") || line_starts(at, end, "services:"))
            return true;
        runs = runs || line_starts(at, end, "run:");
        resources = resources || line_starts(at, end, "resources:");
    }
    return runs && resources;
}

/* ---- words ---- */

/* Words stand on the lines of the text, so that messages name them. */
static void go_to_line(struct writer *w, unsigned line)
{
    for (; w->line < line; w->line++)
        text_append(w->out, " \\\n");
}

static const struct node *env_value(const struct writer *w, const char *name, size_t length)
{
    if (w->group && length == sizeof group_size - 1 && !strncmp(name, group_size, length))
        return w->group;
    for (const struct node *item = w->env ? w->env->first : NULL; item; item = item->next) {
        const struct node *called = node_get(item, "name"), *value = node_get(item, "value");
        const char *text = item->key ? item->key : called ? called->text : "";
        if (strlen(text) == length && strncmp(text, name, length) == 0)
            return item->key ? item : value;
    }
    return NULL;
}

static void append_char(struct writer *w, char c)
{
    w->line += c == '\n';
    text_printf(w->out, c == '\'' ? "'\\''" : "%c", c);
}

/* In single quotes; Kubernetes fills in $(NAME) of the container's own variables. */
static void append_literal(struct writer *w, const char *text)
{
    text_append(w->out, "'");
    for (; *text; text++) {
        const char *close = strncmp(text, "$(", 2) == 0 ? strchr(text, ')') : NULL;
        const struct node *value =
            close ? env_value(w, text + 2, (size_t)(close - text - 2)) : NULL;
        if (!value || value->kind != NODE_SCALAR) {
            append_char(w, *text);
            continue;
        }
        for (const char *at = value->text; *at; at++)
            append_char(w, *at);
        text = close;
    }
    text_append(w->out, "'");
}

/* In double quotes: Compose fills in variables as a shell does. */
static void append_filled(struct writer *w, const char *text)
{
    text_append(w->out, "\"");
    for (; *text; text++) {
        w->line += *text == '\n';
        text_printf(w->out, strchr("\"\\`", *text) ? "\\%c" : "%c", *text);
    }
    text_append(w->out, "\"");
}

static void append_word(struct writer *w, const struct node *node)
{
    go_to_line(w, node->mark.line);
    text_append(w->out, " ");
    if (w->compose)
        append_filled(w, node->text);
    else
        append_literal(w, node->text);
}

/* A list of words, or of a Compose file one text that is split as a shell does. */
static bool append_words(struct writer *w, const struct node *node)
{
    if (!node || node_is_null(node))
        return false;
    if (node->kind == NODE_SCALAR) {
        go_to_line(w, node->mark.line);
        text_append(w->out, " ");
        for (const char *at = node->text; *at; at++)
            text_printf(w->out, "%c", *at == '\n' ? ' ' : *at);
        return true;
    }
    for (const struct node *word = node->first; word; word = word->next)
        if (word->kind == NODE_SCALAR)
            append_word(w, word);
    return node->first != NULL;
}

/* ---- containers ---- */

static void export_one(struct writer *w, const char *name, size_t length, const char *value)
{
    bool plain = length && shell_name_length(name, name + length) == length;
    if (!plain || strchr(value, '\n'))
        return;
    text_printf(w->out, "export %.*s=", (int)length, name);
    append_literal(w, value);
    text_append(w->out, "; ");
}

/* "- name: A, value: x" of Kubernetes, "A: x" and "- A=x" of Compose. */
static void append_env(struct writer *w)
{
    if (w->group)
        export_one(w, group_size, strlen(group_size), w->group->text);
    for (const struct node *item = w->env ? w->env->first : NULL; item; item = item->next) {
        const struct node *name = node_get(item, "name"), *value = node_get(item, "value");
        const char *equals = item->kind == NODE_SCALAR ? strchr(item->text, '=') : NULL;
        if (item->kind == NODE_SCALAR && item->key)
            export_one(w, item->key, strlen(item->key), item->text);
        else if (equals)
            export_one(w, item->text, (size_t)(equals - item->text), equals + 1);
        else if (name && value && value->kind == NODE_SCALAR)
            export_one(w, name->text, strlen(name->text), value->text);
    }
}

/* On its own line where that is before the command's. */
static void export_image(struct writer *w, const struct node *image, const struct node *command)
{
    if (!image || image->kind != NODE_SCALAR)
        return;
    if (image->mark.line <= command->mark.line)
        go_to_line(w, image->mark.line);
    export_one(w, CONTAINER_IMAGE, strlen(CONTAINER_IMAGE), image->text);
}

static void write_container(struct writer *w, const struct node *container)
{
    const struct node *image = node_get(container, "image");
    const struct node *entry = node_get(container, w->compose ? "entrypoint" : "command");
    const struct node *args = node_get(container, w->compose ? "command" : "args");
    if (!entry && !args)
        return;
    w->env = node_get(container, w->compose ? "environment" : "env");
    export_image(w, image, entry ? entry : args);
    append_env(w);
    if (!append_words(w, entry) && image && image->kind == NODE_SCALAR) {
        go_to_line(w, image->mark.line);
        text_append(w->out, "docker run ");
        append_filled(w, image->text);
    }
    append_words(w, args);
    text_append(w->out, "\n");
    w->line++;
}

static void write_containers(struct writer *w, const struct node *node)
{
    const struct node *list = node_get(node, w->compose ? "services" : "containers");
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        write_container(w, item);
    const struct node *leader = node_get(node, "leaderTemplate"),
                      *size = node_get(node, "size");
    w->group = leader && size && size->kind == NODE_SCALAR ? size : w->group;
    for (const struct node *child = list ? NULL : node->first; child; child = child->next)
        if (!leader || !text_equal(child->key, "workerTemplate")) /* the same launch again */
            write_containers(w, child);
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

/* A task of SkyPilot: the text of `run` on each of its nodes, whose environment has `envs`, and
 * how many nodes and devices there are (sky/skylet/constants.py). */
static void write_task(struct writer *w, const struct node *root, const struct node *run)
{
    const struct node *nodes = node_get(root, "num_nodes");
    const struct node *resources = node_get(root, "resources");
    uint64_t devices = devices_of(node_get(resources, "accelerators"));
    w->env = node_get(root, "envs");
    append_env(w);
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
static enum status write_document(struct writer *w, const char *name, const char *start,
                                  const char *end, unsigned lines, struct err *err)
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
    const struct node *run = node_get(root, "run");
    if (run && run->kind == NODE_SCALAR && node_get(root, "resources")) {
        write_task(w, root, run);
        return STATUS_OK;
    }
    w->compose = node_get(root, "services") != NULL;
    write_containers(w, root);
    return STATUS_OK;
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
    struct writer w = {.out = script, .line = 1};
    const char *end = text + length, *start = text;
    unsigned lines = 0, before = 0; /* of the text; before the document */
    for (const char *at = text; at <= end; at = next_line(at, end), lines++) {
        if (at < end && !line_starts(at, end, "---"))
            continue;
        if (has_content(start, at))
            TRY(write_document(&w, name, start, at, before, err));
        if (at == end)
            break;
        start = next_line(at, end);
        before = lines + 1;
    }
    return STATUS_OK;
}
