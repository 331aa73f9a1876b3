/* See load.h. The order: parts (model, cluster, stack), the plan file's own keys, --set, what
 * follows from other values, required keys, rules. */
#include "plan/read/load.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "plan/read/apply.h"
#include "plan/read/catalog.h"
#include "plan/derive.h"
#include "plan/hf/import_hf.h"
#include "plan/read/follow.h"
#include "plan/read/part.h"
#include "plan/read/pool.h"
#include "plan/rule/rule.h"
#include "plan/schema/schema.h"
#include "plan/speculation.h"

enum { PARTS = 3 };

static const char *const own_keys[] = {"model", "cluster", "stack", POOL_KEY, NULL};

struct load {
    struct loader loader;
    const char *file, *folder;
    const struct node *pool;       /* the part `prefill` that this load is of; NULL: the plan */
    const struct origins *prefill; /* of the plan of that part; or NULL */
    const struct override *overrides;
    struct node **values; /* of the overrides */
    size_t n_overrides;
    bool rules; /* run them at the end */
    struct mark part_marks[PARTS];
};

/* ---- overrides ---- */

static enum status read_overrides(struct load *load)
{
    load->values = arena_alloc(load->loader.arena, load->n_overrides + 1, sizeof *load->values);
    for (size_t i = 0; i < load->n_overrides; i++)
        TRY(source_read_option(load->overrides[i].option, load->overrides[i].value,
                               load->loader.arena, &load->values[i], load->loader.err));
    return STATUS_OK;
}

static struct pool_sets sets_of(const struct load *load)
{
    return (struct pool_sets){load->overrides, load->values, load->n_overrides};
}

/* ---- parts ---- */

/* The last --set of a part, else the file's own, else NULL. */
static const struct node *part_value(const struct load *load, const struct node *root,
                                     const char *key)
{
    const struct pool_sets sets = sets_of(load);
    const struct node *value = node_get(root, key);
    const struct node *own =
        load->pool && text_equal(key, "cluster") ? pool_cluster(load->pool, &sets) : NULL;
    if (own)
        return own;
    for (size_t i = 0; i < load->n_overrides; i++) {
        if (text_equal(load->overrides[i].key, key))
            value = load->values[i];
    }
    return value;
}

/* A misspelt one beside the other is what is wrong; a file with neither is something else. */
static enum status missing_parts(struct load *load, const struct node *root, bool model,
                                 bool cluster)
{
    struct mark file = {.file = load->file};
    if (!model || !cluster)
        TRY(apply_names(&load->loader, root, own_keys));
    err_at(load->loader.err, file, "missing: %s%s%s", model ? "'model'" : "",
           model && cluster ? ", " : "", cluster ? "'cluster'" : "");
    return err_hint(load->loader.err, "a plan names both, as in 'model: deepseek-v3' and "
                                      "'cluster: h100-8x4' (or --set cluster=h100-8x4); "
                                      "`moeplan list` shows names");
}

static enum status load_parts(struct load *load, const struct node *root)
{
    static const struct node generic = {.kind = NODE_SCALAR, .text = "generic"};
    const struct node *values[PARTS];
    for (size_t i = 0; i < PARTS; i++)
        values[i] = part_value(load, root, part_keys[i]);
    if (!values[0] || !values[1])
        return missing_parts(load, root, !values[0], !values[1]);
    if (!values[2])
        values[2] = &generic;
    for (size_t i = 0; i < PARTS; i++)
        TRY(part_load(&load->loader, part_keys[i], values[i], load->folder,
                      &load->part_marks[i]));
    return STATUS_OK;
}

/* ---- required keys ---- */

static bool is_missing(const struct load *load, const struct field *field, size_t i,
                       const char *part)
{
    size_t length = strlen(part);
    if (field->fallback || load->loader.origins[i].file ||
        strncmp(field->key, part, length) != 0 || field->key[length] != '.')
        return false;
    bool expert = text_starts(field->key, "model.moe.");
    return !expert || plan_moe_layers(load->loader.plan) > 0;
}

static enum status check_required(struct load *load, size_t part)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    struct text list = {.arena = load->loader.arena};
    for (size_t i = 0; i < n; i++) {
        if (is_missing(load, &fields[i], i, part_keys[part]))
            text_printf(&list, "%s'%s'", list.length ? ", " : "",
                        fields[i].key + strlen(part_keys[part]) + 1);
    }
    if (list.length == 0)
        return STATUS_OK;
    return err_at(load->loader.err, load->part_marks[part], "missing in the %s: %s",
                  part_keys[part], text_string(&list));
}

/* ---- what follows ---- */

/* A file named in the plan stands beside the plan, one named on the command line in the working
 * directory; each is looked for in the other place too. */
static void resolve_file(struct load *load, char path[PLAN_PATH], const char *key)
{
    if (path[0] == '\0' || path[0] == '/' || text_equal(load->folder, "."))
        return;
    const char *beside = arena_printf(load->loader.arena, "%s/%s", load->folder, path);
    bool typed = apply_origin(&load->loader, key).line == 0;
    if (strlen(beside) >= PLAN_PATH || access(beside, R_OK) != 0 ||
        (typed && access(path, R_OK) == 0))
        return;
    memset(path, 0, PLAN_PATH);
    memcpy(path, beside, strlen(beside));
}

static enum status check_file(struct load *load, const char *path, const char *key)
{
    if (path[0] == '\0' || access(path, R_OK) == 0)
        return STATUS_OK;
    return err_at(load->loader.err, apply_origin(&load->loader, key),
                  "file '%s' cannot be opened: %s", path, strerror(errno));
}

/* A profile beside the plan becomes a path; one that is nowhere is an error here. */
static enum status find_profile(struct load *load)
{
    char *name = load->loader.plan->stack.profile, *path;
    if (name[0] == '\0')
        return STATUS_OK;
    if (catalog_find(CATALOG_PROFILE, name, load->folder, load->loader.arena, &path,
                     load->loader.err) != STATUS_OK)
        return err_place(load->loader.err, apply_origin(&load->loader, "stack.profile"));
    const char *beside = arena_printf(load->loader.arena, "%s/", load->folder);
    if (!text_starts(path, beside) || strlen(path) >= PLAN_PATH)
        return STATUS_OK;
    memset(name, 0, PLAN_PATH);
    memcpy(name, path, strlen(path));
    return STATUS_OK;
}

/* What a plan says of a draft beside its name: rows it joins, and a head of other words, which
 * is no embedding. */
static void keep_entry(const struct drafter *said, struct drafter *size)
{
    size->inputs = said->inputs;
    size->joined = said->joined;
    if (!said->vocab || said->vocab == size->vocab)
        return;
    size->vocab = said->vocab;
    size->tied = false;
}

/* The sizes of the draft that the plan names, unless it gives them. */
static enum status load_draft(struct load *load)
{
    struct speculation *s = &load->loader.plan->workload.speculation;
    const char *key = "workload.speculation.model";
    const struct mark mark = apply_origin(&load->loader, key);
    const struct node name = {.kind = NODE_SCALAR, .mark = mark, .text = s->model};
    struct load other = *load;
    size_t n;
    if (!s->tokens || s->method != DRAFT_MODEL || !s->model[0] || s->size.layers)
        return STATUS_OK;
    schema_fields(&n);
    other.loader.plan = arena_alloc(load->loader.arena, 1, sizeof *other.loader.plan);
    other.loader.origins = arena_alloc(load->loader.arena, n, sizeof *other.loader.origins);
    schema_defaults(other.loader.plan);
    TRY(part_load(&other.loader, part_keys[0], &name, load->folder, &other.part_marks[0]));
    follow_model(&other.loader, &other.loader.plan->model);
    TRY(check_required(&other, 0));
    const struct drafter said = s->size;
    if (drafter_of(&other.loader.plan->model, &s->size)) {
        keep_entry(&said, &s->size);
        return STATUS_OK;
    }
    err_at(load->loader.err, mark, "the draft '%s' is not a dense model", s->model);
    return err_hint(load->loader.err, "grouped queries, layers of one kind, no experts");
}

static enum status complete(struct load *load)
{
    struct routing *routing = &load->loader.plan->moe.routing;
    follow_layout(&load->loader, load->file);
    if (load->loader.plan->name[0] == '\0')
        part_name_of_path(load->loader.plan->name,
                          text_equal(load->file, "-") ? "stdin" : load->file);
    TRY(find_profile(load));
    TRY(load_draft(load));
    resolve_file(load, routing->file, "moe.routing.file");
    resolve_file(load, routing->placement_file, "moe.routing.placement_file");
    if (routing->distribution == DISTRIBUTION_TRACE)
        TRY(check_file(load, routing->file, "moe.routing.file"));
    if (routing->placement == PLACEMENT_TABLE)
        TRY(check_file(load, routing->placement_file, "moe.routing.placement_file"));
    return STATUS_OK;
}

/* ---- rules ---- */

const struct rule *plan_check_rules(const struct plan *plan, const struct origins *origins,
                                    struct err *err)
{
    char text[RULE_TEXT] = "", hint[RULE_TEXT] = "";
    const struct rule *rule = rule_check(plan, text, hint);
    if (!rule)
        return NULL;
    err_at(err, origins_of_rule(origins, rule), "%s", text);
    err_hint(err, "%s", hint);
    return rule;
}

static enum status check_rules(struct load *load)
{
    const struct origins origins = {.mark = load->loader.origins,
                                    .file = load->file,
                                    .overrides = load->overrides,
                                    .n_overrides = load->n_overrides};
    return plan_check_rules(load->loader.plan, &origins, load->loader.err) ? STATUS_INPUT
                                                                           : STATUS_OK;
}

/* ---- all of it ---- */

static enum status load_prefill(struct load *load, const struct node *root,
                                const struct node *pool);

static enum status load_root(struct load *load, const struct node *root)
{
    const struct node *pool;
    if (root->kind != NODE_MAPPING) {
        err_at(load->loader.err, root->mark, "a plan is a mapping, not %s",
               node_kind_name(root->kind));
        return err_hint(load->loader.err, "write 'key: value' lines, such as 'model: "
                                          "deepseek-v3'");
    }
    TRY(read_overrides(load));
    const struct pool_sets sets = sets_of(load);
    pool = load->pool ? NULL : pool_find(root, &sets);
    if (pool)
        TRY(pool_check(&load->loader, pool, &sets));
    TRY(load_parts(load, root));
    TRY(apply_mapping(&load->loader, "", root, own_keys));
    TRY(pool_apply_sets(&load->loader, &sets, false));
    if (load->pool)
        TRY(pool_apply(&load->loader, load->pool, &sets));
    if (pool)
        TRY(pool_set_apart(&load->loader, pool));
    follow_model(&load->loader, &load->loader.plan->model);
    for (size_t i = 0; i < PARTS; i++)
        TRY(check_required(load, i));
    TRY(complete(load));
    if (load->rules)
        TRY(check_rules(load));
    return pool ? load_prefill(load, root, pool) : STATUS_OK;
}

static void start(const struct load *from, struct plan *plan, struct load *load)
{
    size_t n;
    schema_fields(&n);
    *load = *from;
    load->loader.plan = plan;
    load->loader.origins = arena_alloc(from->loader.arena, n, sizeof *load->loader.origins);
    schema_defaults(plan);
}

/* The same file once more, with what its prefill servers have otherwise on top. */
static enum status load_prefill(struct load *load, const struct node *root,
                                const struct node *pool)
{
    struct arena *arena = load->loader.arena;
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct origins *origins = arena_alloc(arena, 1, sizeof *origins);
    struct load prefill;
    start(load, plan, &prefill);
    prefill.pool = pool;
    TRY(load_root(&prefill, root));
    plan->workload.disaggregated = false;
    *origins = (struct origins){.mark = prefill.loader.origins,
                                .file = load->file,
                                .overrides = load->overrides,
                                .n_overrides = load->n_overrides};
    load->loader.plan->prefill = plan;
    load->prefill = origins;
    return STATUS_OK;
}

static const char *uncounted(const struct load *load)
{
    struct text notes = {.arena = load->loader.arena};
    if (load->loader.config)
        import_hf_notes(load->loader.config, &load->loader.plan->model, &notes);
    if (load->loader.beside)
        text_printf(&notes, "%s", load->loader.beside);
    return text_string(&notes);
}

static enum status load_node(const char *file, const struct node *root,
                             const struct override *overrides, size_t n_overrides, bool rules,
                             struct shelf *shelf, struct arena *arena, struct plan *plan,
                             struct origins *origins, struct err *err)
{
    struct plan loaded;
    struct load load, from = {
                          .loader = {.arena = arena, .err = err, .shelf = shelf},
                          .file = arena_strdup(arena, file),
                          .folder = text_folder(file, arena),
                          .overrides = overrides,
                          .n_overrides = n_overrides,
                          .rules = rules,
                      };
    start(&from, &loaded, &load);
    TRY(load_root(&load, root));
    *plan = loaded;
    if (origins)
        *origins = (struct origins){load.loader.origins, load.file,   uncounted(&load),
                                    overrides,           n_overrides, load.prefill};
    return STATUS_OK;
}

enum status plan_load(const char *file, const struct override *overrides, size_t n_overrides,
                      struct arena *arena, struct plan *plan, struct origins *origins,
                      struct err *err)
{
    struct node *root;
    TRY(source_read_file(file, arena, &root, err));
    return load_node(file, root, overrides, n_overrides, true, NULL, arena, plan, origins, err);
}

enum status plan_load_text(const char *name, const char *text, size_t length,
                           const struct override *overrides, size_t n_overrides,
                           struct arena *arena, struct plan *plan, struct origins *origins,
                           struct err *err)
{
    struct node *root;
    TRY(source_read_text(name, text, length, arena, &root, err));
    return load_node(name, root, overrides, n_overrides, true, NULL, arena, plan, origins, err);
}

enum status plan_load_tree(const char *name, const struct node *root,
                           const struct override *overrides, size_t n_overrides, bool rules,
                           struct arena *arena, struct plan *plan, struct origins *origins,
                           struct err *err)
{
    return load_node(name, root, overrides, n_overrides, rules, NULL, arena, plan, origins,
                     err);
}

enum status plan_load_unruled(const char *name, const struct node *root,
                              const struct override *overrides, size_t n_overrides,
                              struct shelf *shelf, struct arena *arena, struct plan *plan,
                              struct err *err)
{
    return load_node(name, root, overrides, n_overrides, false, shelf, arena, plan, NULL, err);
}
