/* See part.h. */
#include "plan/read/part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plan/read/catalog.h"
#include "plan/encoding.h"
#include "plan/hf/import_hf.h"
#include "plan/hf/import_hf_quant.h"
#include "plan/read/follow.h"
#include "plan/read/model_names.h"
#include "plan/read/shelf.h"
#include "plan/schema/schema.h"

enum { BASE_DEPTH = 8 };

const char *const part_keys[] = {"model", "cluster", "stack", NULL};

bool part_is_key(const char *key)
{
    for (size_t i = 0; part_keys[i]; i++)
        if (text_equal(part_keys[i], key))
            return true;
    return false;
}

/* A part being read. */
struct part {
    struct loader *loader;
    enum catalog_kind kind;
    const char *key;
    char *name;      /* plan->model.name ... */
    char *as_called; /* plan->model_name ... */
    int depth;       /* of "base" */
    struct mark mark;
};

/* ---- names ---- */

void part_name_of_path(char name[PLAN_NAME], const char *path)
{
    const char *end = path + strlen(path), *start = end;
    while (start > path && start[-1] != '/')
        start--;
    const char *dot = strrchr(start, '.');
    if (dot && dot != start)
        end = dot;
    if (strncmp(start, "config.json", 12) == 0 && start > path + 1) {
        end = start - 1;
        for (start = end; start > path && start[-1] != '/';)
            start--;
    }
    size_t length = (size_t)(end - start);
    if (length >= PLAN_NAME)
        length = PLAN_NAME - 1;
    memset(name, 0, PLAN_NAME);
    memcpy(name, start, length);
    for (size_t i = 0; i < length && !encoding_is_line(name); i++)
        name[i] = name[i] < ' ' || name[i] > '~' ? '_' : name[i];
}

/* ---- a mapping ---- */

static enum status read_called(struct part *part, const struct node *value, const char *folder);

static enum status read_base(struct part *part, const struct node *base, const char *folder)
{
    if (part->depth == BASE_DEPTH)
        return err_at(part->loader->err, base->mark, "more than %d bases on top of each other",
                      BASE_DEPTH);
    part->depth++;
    return read_called(part, base, folder);
}

/* The importer takes numbers as they stand; limits are the field table's. */
static enum status read_config(struct part *part, const struct node *config)
{
    struct loader *loader = part->loader;
    size_t n;
    const struct field *fields = schema_fields(&n);
    struct text beside = {.arena = loader->arena};
    TRY(import_hf_model(config, &loader->plan->model, loader->err));
    TRY(import_hf_quant(config, loader->arena, &loader->plan->model, &beside, loader->err));
    loader->config = config;
    loader->beside = text_string(&beside);
    apply_origin_group(loader, "model.", config->mark);
    for (size_t i = 0; i < n; i++) {
        if (text_starts(fields[i].key, "model."))
            TRY(schema_check(&fields[i], loader->plan, config->mark, loader->err));
    }
    return STATUS_OK;
}

/* What a stack sets of the plan's own keys unless the plan does. */
static enum status read_defaults(struct part *part, const struct node *defaults)
{
    struct loader *loader = part->loader;
    if (part->kind != CATALOG_STACK) {
        err_at(loader->err, defaults->key_mark, "a %s has no defaults", part->key);
        return err_hint(loader->err, "keys of the plan stand in the plan, or in a stack");
    }
    if (defaults->kind != NODE_MAPPING)
        return err_at(loader->err, defaults->mark,
                      "'defaults' takes a mapping of the plan's keys, not %s",
                      node_kind_name(defaults->kind));
    for (size_t i = 0; part_keys[i]; i++) {
        const struct node *value = node_get(defaults, part_keys[i]);
        if (value)
            return err_at(loader->err, value->key_mark, "'defaults' of a stack has no '%s'",
                          part_keys[i]);
    }
    return apply_mapping(loader, "", defaults, NULL);
}

static enum status read_mapping(struct part *part, const struct node *mapping,
                                const char *folder)
{
    static const char *const except[] = {"base", "defaults", NULL};
    struct loader *loader = part->loader;
    if (part->kind == CATALOG_MODEL && import_hf_is_config(mapping)) {
        TRY(read_config(part, mapping));
    } else {
        const struct node *base = node_get(mapping, "base");
        const struct node *defaults = node_get(mapping, "defaults");
        if (base)
            TRY(read_base(part, base, folder));
        if (defaults)
            TRY(read_defaults(part, defaults));
        TRY(apply_mapping(loader, part->key, mapping, except));
    }
    part->mark = mapping->mark;
    return STATUS_OK;
}

/* ---- a name or a path ---- */

/* Optical switches close the axes of cubes of 4 x 4 x 4; in two dimensions an axis closes into
 * a ring only when it is 16 long (models/clusters/tpu-v5p-4x4x4.yaml, tpu-v5e-4x2.yaml). */
static void lay_mesh(struct part *part, const struct catalog_cluster *found, struct mark mark)
{
    struct cluster *cluster = &part->loader->plan->cluster;
    bool closed = true, cubes = found->mesh[2] > 0;
    cluster->mesh.n = cubes ? 3 : 2;
    for (size_t i = 0; i < cluster->mesh.n; i++) {
        cluster->mesh.value[i] = found->mesh[i];
        closed = closed && (cubes ? found->mesh[i] % 4 == 0 : found->mesh[i] == 16);
    }
    cluster->wrap = closed;
    apply_origin_set(part->loader, "cluster.mesh", mark);
    apply_origin_set(part->loader, "cluster.wrap", mark);
}

/* <device>-<devices>x<nodes> */
static void resize_cluster(struct part *part, const struct catalog_cluster *found,
                           struct mark mark)
{
    struct cluster *cluster = &part->loader->plan->cluster;
    if (!found->devices)
        return;
    cluster->node.devices = found->devices;
    cluster->nodes = found->nodes;
    apply_origin_set(part->loader, "cluster.node.devices", mark);
    apply_origin_set(part->loader, "cluster.nodes", mark);
    if (found->mesh[0])
        lay_mesh(part, found, mark);
}

/* A path beside a plan without folder: as the user wrote it. */
static const char *without_dot(const char *path, const char *name)
{
    return text_starts(path, "./") && !text_starts(name, "./") ? path + 2 : path;
}

static enum status set_text(struct part *part, const char *key, const char *text,
                            struct mark mark)
{
    struct loader *loader = part->loader;
    apply_origin_set(loader, key, mark);
    return schema_set(schema_find(key), loader->plan, text, false, mark, loader->err);
}

/* What a hub's name begins as, and its words behind that; ours NULL: the catalogue has it. */
struct hub_name {
    const char *ours, *rest;
};

/* A checkpoint of another size than our model's is another model, which the catalogue has not:
 * the error that it gives of its name. */
static enum status check_size(struct part *part, const struct node *value, const char *folder,
                              const char *rest)
{
    struct loader *loader = part->loader;
    struct model model = loader->plan->model;
    double size = model_name_size(rest);
    char *path;
    if (!(size > 0))
        return STATUS_OK;
    follow_model(loader, &model);
    if (model_has_size(&model, size))
        return STATUS_OK;
    catalog_find(part->kind, value->text, folder, loader->arena, &path, loader->err);
    return err_place(loader->err, value->mark);
}

/* What a hub's checkpoint has otherwise than our model of its shape: parts that this one's own
 * leaves in another format are not known of a checkpoint in another; of a model published in
 * 16 bits they are those of its quantised checkpoints. */
static enum status set_by_name(struct part *part, const struct node *value)
{
    const struct model *model = &part->loader->plan->model;
    const char *format = model_name_format(value->text);
    uint64_t positions = model_name_positions(value->text, part->loader->arena);
    if (format && !text_equal(format, words_dtype[model->checkpoint])) {
        bool quantised = model->checkpoint != DTYPE_NONE;
        TRY(set_text(part, "model.checkpoint", format, value->mark));
        if (quantised)
            TRY(set_text(part, "model.plain", "[]", value->mark));
    }
    if (positions)
        TRY(set_text(part, "model.max_position",
                     arena_printf(part->loader->arena, "%" PRIu64, positions), value->mark));
    return STATUS_OK;
}

/* The file that a name stands for. */
static enum status find_called(struct part *part, const struct node *value, const char *folder,
                               struct catalog_cluster *found, struct hub_name *hub)
{
    struct loader *loader = part->loader;
    struct err before = *loader->err;
    if (part->kind == CATALOG_CLUSTER)
        return catalog_find_cluster(value->text, folder, loader->arena, found, loader->err);
    enum status status =
        catalog_find(part->kind, value->text, folder, loader->arena, &found->path, loader->err);
    if (status == STATUS_OK || part->kind != CATALOG_MODEL)
        return status;
    hub->ours = model_name_begun(value->text, &hub->rest, loader->arena);
    if (!hub->ours)
        return status;
    *loader->err = before;
    return catalog_find(part->kind, hub->ours, folder, loader->arena, &found->path,
                        loader->err);
}

static enum status read_called(struct part *part, const struct node *value, const char *folder)
{
    struct loader *loader = part->loader;
    bool is_base = part->depth > 0;
    const char *key = is_base ? "base" : part->key;
    if (node_is_null(value) || (value->kind == NODE_SCALAR && value->text[0] == '\0')) {
        err_at(loader->err, value->mark, "'%s' has no value", key);
        return err_hint(loader->err, "it takes a name or a path; `moeplan list` shows names");
    }
    if (value->kind != NODE_SCALAR)
        return err_at(loader->err, value->mark, "'%s' takes a name or a path%s, not %s", key,
                      is_base ? "" : ", or a mapping", node_kind_name(value->kind));
    struct catalog_cluster found = {0};
    struct hub_name hub = {0};
    if (find_called(part, value, folder, &found, &hub) != STATUS_OK)
        return err_place(loader->err, value->mark);
    const char *path = without_dot(found.path, value->text);
    struct node *root;
    TRY(loader->shelf ? shelf_read(loader->shelf, path, &root, loader->err)
                      : source_read_file(path, loader->arena, &root, loader->err));
    if (root->kind != NODE_MAPPING)
        return err_at(loader->err, root->mark, "a %s file holds a mapping, not %s", part->key,
                      node_kind_name(root->kind));
    TRY(read_mapping(part, root, text_folder(path, loader->arena)));
    if (hub.ours) {
        TRY(check_size(part, value, folder, hub.rest));
        TRY(set_by_name(part, value));
    }
    resize_cluster(part, &found, value->mark);
    if (part->name[0] == '\0' && !is_base)
        part_name_of_path(part->name,
                          hub.ours || strchr(value->text, '.') ? path : value->text);
    return STATUS_OK;
}

/* ---- all of it ---- */

/* What a mapping in place starts from: its base, or, of a stack, the file of its kind: who says
 * `{kind: maxtext}` means MaxText with what MaxText does by itself. NULL: nothing; so it is
 * with a name, as `show` prints it: that stack is its own, and whole. */
static const struct node *base_in_place(const struct part *part, const struct node *value)
{
    const struct node *base = value->kind == NODE_MAPPING ? node_get(value, "base") : NULL;
    if (base || value->kind != NODE_MAPPING || part->kind != CATALOG_STACK ||
        node_get(value, "name"))
        return base;
    const struct node *kind = node_get(value, "kind");
    return kind && kind->kind == NODE_SCALAR ? kind : NULL;
}

/* A kind that is none, or whose file is not installed, is left to the keys themselves. */
static enum status read_in_place(struct part *part, const struct node *value,
                                 const char *folder)
{
    const struct node *base = base_in_place(part, value);
    char *path;
    if (base && !node_get(value, "base") &&
        catalog_has(part->kind, base->text, part->loader->arena, &path))
        TRY(read_base(part, base, NULL));
    return read_mapping(part, value, folder);
}

/* What stands in place is called after what it starts from, so that results say what it is. */
static void name_in_place(struct part *part, const struct node *value)
{
    const struct node *base = base_in_place(part, value);
    if (base && base->kind == NODE_SCALAR)
        snprintf(part->name, PLAN_NAME, "%.64s (changed)", base->text);
    else
        memcpy(part->name, "inline", sizeof "inline");
}

enum status part_load(struct loader *loader, const char *key, const struct node *value,
                      const char *folder, struct mark *mark)
{
    struct plan *plan = loader->plan;
    struct part parts[] = {
        {.kind = CATALOG_MODEL, .name = plan->model.name, .as_called = plan->model_name},
        {.kind = CATALOG_CLUSTER, .name = plan->cluster.name, .as_called = plan->cluster_name},
        {.kind = CATALOG_STACK, .name = plan->stack.name, .as_called = plan->stack_name},
    };
    size_t i = 0;
    while (!text_equal(part_keys[i], key))
        i++;
    struct part *part = &parts[i];
    part->loader = loader;
    part->key = part_keys[i];
    if (value->kind == NODE_MAPPING)
        TRY(read_in_place(part, value, folder));
    else
        TRY(read_called(part, value, folder));
    if (part->name[0] == '\0')
        name_in_place(part, value);
    memcpy(part->as_called, part->name, PLAN_NAME);
    apply_origin_set(loader, key, value->mark);
    *mark = part->mark;
    return STATUS_OK;
}
