/* Whose file a tree is, by its keys; see reader.h. */
#include <string.h>

#include "plan/job/reader.h"
#include "plan/schema/schema.h"

/* A key of the framework's own files: a trainer's flags beside them tell nothing. */
static bool is_own(const struct job_framework *framework, const char *key, size_t length)
{
    const struct job_flag *flag = job_flag_find(framework, key, length);
    return flag && (!framework->own || text_starts(flag->source, framework->own));
}

/* "model", "optimizer": a plan's own, which tell nothing of whose file it is. */
static bool is_plans(const char *key)
{
    size_t n, length = strlen(key);
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++)
        if (text_starts(fields[i].key, key) && strchr(".", fields[i].key[length]))
            return true;
    return false;
}

size_t job_known_keys(const struct job_framework *framework, const struct node *root)
{
    size_t n = 0;
    for (const struct node *child = root->first; child; child = child->next) {
        n += !is_plans(child->key) && is_own(framework, child->key, strlen(child->key));
        for (const struct node *below = child->kind == NODE_MAPPING ? child->first : NULL;
             below; below = below->next) {
            char name[160];
            int length = snprintf(name, sizeof name, "%s.%s", child->key, below->key);
            n += length > 0 && (size_t)length < sizeof name &&
                 is_own(framework, name, (size_t)length);
        }
    }
    return n;
}

/* Some key stands in every file of the framework: others share what else stands there. */
static bool is_told(const struct job_framework *framework, const struct node *root)
{
    for (const char *at = framework->telling; at && *at;) {
        size_t n = strcspn(at, " ");
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)n, at);
        const struct node *value = node_get(root, key);
        if (value && (value->kind == NODE_SCALAR || !text_equal(key, "model")))
            return true;
        at += n + (at[n] == ' ');
    }
    return !framework->telling;
}

/* Keys that a plan has and no framework's file, but for NeMo-RL's cluster, whose policy no plan
 * has. */
static bool is_plan(const struct node *root)
{
    static const char *const keys[] = {"workload", "parallel", "precision", "stack"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (node_get(root, keys[i]))
            return true;
    return node_get(root, "cluster") && !node_get(root, "policy");
}

/* Whose a file is that says it itself: of a kind that nobody has, the first to have such a key
 * refuses it by name. */
static const struct job_framework *by_kind(const struct node *root)
{
    const struct job_framework *first = NULL;
    for (size_t i = 0; job_frameworks[i]; i++) {
        const struct job_framework *f = job_frameworks[i];
        const struct node *key = f->kind_key ? node_get(root, f->kind_key) : NULL;
        if (!key || key->kind != NODE_SCALAR)
            continue;
        if (job_framework_is(f, key->text))
            return f;
        first = first ? first : f;
    }
    return first;
}

bool job_names_model(const struct node *root)
{
    static const char *const keys[] = {"base_model", "model_name_or_path", "model"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct node *model = node_get(root, keys[i]);
        if (model && model->kind == NODE_SCALAR && !node_is_null(model))
            return true;
    }
    return false;
}

const struct job_framework *job_framework_of(const struct node *root)
{
    size_t most = 0;
    if (root->kind != NODE_MAPPING || is_plan(root))
        return NULL;
    for (size_t i = 0; job_frameworks[i]; i++)
        if (job_frameworks[i]->claims && job_frameworks[i]->claims(root))
            return job_frameworks[i];
    const struct job_framework *best = by_kind(root);
    if (best)
        return best;
    for (size_t i = 0; job_frameworks[i]; i++) {
        const struct job_framework *f = job_frameworks[i];
        size_t n = f->files && !f->toml && is_told(f, root) ? job_known_keys(f, root) : 0;
        if (n > most) {
            best = f;
            most = n;
        }
    }
    return best;
}
