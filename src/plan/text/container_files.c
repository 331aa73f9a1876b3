/* ConfigMaps that a manifest has beside its pods: values of their environment, and files in
 * their volumes, which become here-documents behind the commands; see container_writer.h. */
#include <string.h>

#include "plan/text/container_writer.h"

/* The entries of a ConfigMap of the text; NULL: it has none of this name. */
static const struct node *data_of(const struct container_writer *w, const struct node *name)
{
    for (size_t i = 0; name && i < w->n_documents; i++)
        if (node_says(w->documents[i], "kind", "ConfigMap") &&
            node_says(node_get(w->documents[i], "metadata"), "name", name->text))
            return node_get(w->documents[i], "data");
    return NULL;
}

const char *container_env_text(const struct container_writer *w, const struct node *item)
{
    const struct node *value = node_get(item, "value");
    const struct node *from = node_get(node_get(item, "valueFrom"), "configMapKeyRef");
    const struct node *key = node_get(from, "key");
    if (!value && key)
        value = node_get(data_of(w, node_get(from, "name")), key->text);
    return value && value->kind == NODE_SCALAR ? value->text : NULL;
}

/* ---- files ---- */

static void add_file(struct container_writer *w, const char *folder, const char *name,
                     const char *text)
{
    static const char end[] = "MOEPLAN_END_OF_FILE";
    size_t length = strlen(text);
    if (strstr(text, end) || strpbrk(folder, "'\n") || strpbrk(name, "'\n"))
        return;
    text_printf(&w->files, "cat > '%s%s%s' <<'%s'\n%s%s%s\n", folder, name[0] ? "/" : "", name,
                end, text, length && text[length - 1] == '\n' ? "" : "\n", end);
}

/* Where an entry lies below the mounted folder: as it is called, or as `items` call it; NULL:
 * they leave it out. */
static const char *path_of(const struct node *map, const char *key)
{
    const struct node *items = node_get(map, "items"), *path = NULL;
    for (const struct node *item = items ? items->first : NULL; item; item = item->next)
        if (node_says(item, "key", key))
            path = node_get(item, "path");
    return !items ? key : path && path->kind == NODE_SCALAR ? path->text : NULL;
}

static void mount_map(struct container_writer *w, const struct node *mount,
                      const struct node *map)
{
    const struct node *data = data_of(w, node_get(map, "name")), *part;
    const struct node *folder = node_get(mount, "mountPath");
    part = node_get(mount, "subPath");
    for (const struct node *entry = node_entries(data); entry; entry = entry->next) {
        const char *path = path_of(map, entry->key);
        if (entry->kind != NODE_SCALAR || !path)
            continue;
        if (!part)
            add_file(w, folder->text, path, entry->text);
        else if (text_equal(part->text, path))
            add_file(w, folder->text, "", entry->text);
    }
}

void container_mount(struct container_writer *w, const struct node *container)
{
    const struct node *mounts = node_get(container, "volumeMounts");
    const struct node *volumes = w->volumes ? w->volumes->first : NULL;
    for (const struct node *m = mounts ? mounts->first : NULL; m; m = m->next) {
        const struct node *name = node_get(m, "name"), *folder = node_get(m, "mountPath");
        for (const struct node *v = volumes; v && name && folder; v = v->next)
            if (node_says(v, "name", name->text) && node_get(v, "configMap"))
                mount_map(w, m, node_get(v, "configMap"));
    }
}
