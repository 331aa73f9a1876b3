/* A model alone in the place of a plan: its name, the folder of its checkpoint, its own file.
 * All else of the plan has its default or is set. See job.h and reader.h. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "plan/job/reader.h"
#include "plan/read/catalog.h"

const char *model_alone(const char *name, struct arena *arena)
{
    char *path;
    const char *config = arena_printf(arena, "%s/config.json", name);
    if (file_is_there(config))
        return config;
    if (access(name, F_OK) == 0)
        return NULL;
    bool known = catalog_has(CATALOG_MODEL, name, arena, &path) ||
                 model_name_from(NAMES_HUB, name, arena);
    return known ? name : NULL;
}

bool model_alone_is(const struct node *root)
{
    static const char *const none[] = {"model", "cluster", "stack", "parallel", "workload"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (node_get(root, none[i]))
            return false;
    return node_get(root, "layers") != NULL;
}

static const char *item_at(const void *table, size_t i)
{
    return ((const struct catalog_item *)table)[i].name;
}

/* Whether a text is a path: of one the last part may be anything, but a model's owner stands
 * alone before its name. */
static bool is_path(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash && (slash == name || strchr(slash + 1, '/'));
}

static const char *near_to(const char *name, struct arena *arena)
{
    struct catalog_item *items;
    size_t n;
    if (strchr(name, '/'))
        return model_name_near(name, arena);
    catalog_list(CATALOG_MODEL, arena, &items, &n);
    return text_nearest(name, n, item_at, items);
}

enum status model_alone_hint(const char *name, struct arena *arena, struct err *err)
{
    if (is_path(name))
        return STATUS_INPUT;
    const char *near = near_to(name, arena), *why = model_name_refused(name, arena);
    if (why)
        return err_hint(err, "as a model it is not among moeplan's: %s", why);
    if (near)
        return err_hint(err, "a plan, a job, or a model's name: did you mean '%s'?", near);
    if (!*name || model_names_a_file(name))
        return STATUS_INPUT;
    return err_hint(err, "a plan, a job, or a model's name; moeplan list models has those that "
                         "are known, of another give its config.json");
}

enum status job_unknown_model(struct job *job, struct mark mark, const char *name)
{
    const char *near = model_name_near(name, job->arena);
    const char *why = model_name_refused(name, job->arena);
    err_at(job->err, mark, "model '%s' is not among moeplan's", name);
    if (why)
        return err_hint(job->err, "%s: a model of your own may say something near it", why);
    return err_hint(job->err,
                    "%s%s%sname one, as in --set model=mixtral-8x7b, or the folder's "
                    "config.json",
                    near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
}
