/* See pool.h. */
#include "plan/read/pool.h"

#include "base/checked.h"
#include "base/text.h"
#include "plan/read/part.h"

static const char prefix[] = POOL_KEY ".";

/* A part by its name or path, or in place with what it starts from: not keys of one alone. */
static bool is_whole_part(const struct node *value)
{
    return value && (value->kind != NODE_MAPPING || node_get(value, "base"));
}

const struct node *pool_cluster(const struct node *pool, const struct pool_sets *sets)
{
    const struct node *own = node_get(pool, "cluster");
    const struct node *value = is_whole_part(own) ? own : NULL;
    for (size_t i = 0; i < sets->n; i++)
        if (text_equal(sets->items[i].key, POOL_KEY ".cluster"))
            value = sets->values[i];
    return value;
}

enum status pool_apply_sets(struct loader *loader, const struct pool_sets *sets, bool pool)
{
    for (size_t i = 0; i < sets->n; i++) {
        const char *key = sets->items[i].key;
        bool own = text_starts(key, prefix);
        key += own ? sizeof prefix - 1 : 0;
        if (own == pool && !part_is_key(key) && !text_equal(key, POOL_KEY))
            TRY(apply_override(loader, key, sets->values[i]));
    }
    return STATUS_OK;
}

const struct node *pool_find(const struct node *root, const struct pool_sets *sets)
{
    static const struct node none = {.kind = NODE_MAPPING};
    const struct node *pool = node_get(root, POOL_KEY);
    for (size_t i = 0; i < sets->n; i++) {
        if (text_equal(sets->items[i].key, POOL_KEY))
            pool = sets->values[i];
        else if (!pool && text_starts(sets->items[i].key, prefix))
            pool = &none;
    }
    return pool;
}

enum status pool_check(struct loader *loader, const struct node *pool,
                       const struct pool_sets *sets)
{
    const struct node *stack = node_get(pool, "stack"), *model = node_get(pool, "model");
    const struct node *other = model ? model : is_whole_part(stack) ? stack : NULL;
    if (pool->kind != NODE_MAPPING) {
        err_at(loader->err, pool->mark, "'prefill' takes a mapping, not %s",
               node_kind_name(pool->kind));
        return err_hint(loader->err, "of what prefill servers have otherwise, such as "
                                     "prefill: {parallel: {tp: 8}}");
    }
    for (size_t i = 0; i < sets->n && !other; i++) {
        const char *key = sets->items[i].key;
        if (text_equal(key, "prefill.stack") || text_equal(key, "prefill.model") ||
            text_starts(key, "prefill.model."))
            other = sets->values[i];
    }
    if (!other)
        return STATUS_OK;
    err_at(loader->err, other->mark,
           "servers that prefill and that decode share model and stack");
    return err_hint(loader->err, "the part `prefill` has keys of the stack alone, such as "
                                 "stack: {graphs: none}");
}

/* Where keys of a prefill's step were said before its part. */
struct before {
    struct mark length, tokens;
};

static const char length_key[] = "workload.sequence_length",
                  tokens_key[] = "workload.max_num_batched_tokens";

static bool is_said(struct loader *loader, const char *key, const struct mark *before)
{
    const struct mark mark = apply_origin(loader, key);
    return mark.file != before->file || mark.line != before->line ||
           mark.column != before->column;
}

/* Prompts that the part says of a step by itself are the room of an engine's, unless a line of
 * it says that, too. */
static void keep_room(struct loader *loader, const struct before *before)
{
    struct workload *w = &loader->plan->workload;
    bool own = apply_origin(loader, tokens_key).line > 0 &&
               is_said(loader, tokens_key, &before->tokens);
    bool said = !own && is_said(loader, length_key, &before->length);
    bool overflow = false;
    uint64_t tokens = checked_mul(w->sequence_length, w->micro_batch, &overflow);
    if (w->mode == MODE_PREFILL && said && !w->max_num_batched_tokens && !overflow)
        w->max_num_batched_tokens = tokens;
}

enum status pool_apply(struct loader *loader, const struct node *pool,
                       const struct pool_sets *sets)
{
    struct workload *w = &loader->plan->workload;
    const struct node *cluster = node_get(pool, "cluster"), *stack = node_get(pool, "stack");
    const struct before before = {apply_origin(loader, length_key),
                                  apply_origin(loader, tokens_key)};
    bool serves = w->mode == MODE_SERVE;
    w->role = DUTY_PROMPTS;
    w->mode = MODE_PREFILL;
    TRY(apply_mapping(loader, "", pool, part_keys));
    if (cluster && !is_whole_part(cluster))
        TRY(apply_mapping(loader, "cluster", cluster, NULL));
    if (stack)
        TRY(apply_mapping(loader, "stack", stack, NULL));
    TRY(pool_apply_sets(loader, sets, true));
    if (serves) {
        keep_room(loader, &before);
        w->mode = MODE_SERVE;
    }
    if (w->role == DUTY_PROMPTS)
        return STATUS_OK;
    return err_at(loader->err, apply_origin(loader, "workload.role"),
                  "servers of the part `prefill` have workload.role: prompts");
}

enum status pool_set_apart(struct loader *loader, const struct node *pool)
{
    struct workload *w = &loader->plan->workload;
    struct mark mark = apply_origin(loader, "workload.role");
    bool decodes = w->mode == MODE_DECODE || w->mode == MODE_SERVE;
    w->disaggregated = true;
    if (!decodes) {
        mark = apply_origin(loader, "workload.mode");
        err_at(loader->err, mark.file ? mark : pool->mark,
               "a plan with a part `prefill` is of a served model");
        return err_hint(loader->err, "workload.mode: serve, or decode for memory alone");
    }
    if (mark.file && w->role != DUTY_ANSWERS) {
        err_at(loader->err, mark, "with a part `prefill` the plan itself decodes");
        return err_hint(loader->err, "workload.role: answers, which need not be said");
    }
    w->role = DUTY_ANSWERS;
    return STATUS_OK;
}
