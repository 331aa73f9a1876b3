/* Two launches of one deployment as one plan: the plan is what decodes, its part `prefill` what
 * the launch that prefills has otherwise. Both launches are read as each by itself would be,
 * and what the part leaves out is what both have: its plan is that of the launch alone. */

#include "plan/job/reader.h"
#include "plan/pools.h"
#include "plan/read/part.h"
#include "plan/schema/schema.h"

static const char counts_prefix[] = "workload.deployments.";

static bool is_of_both(const char *key)
{
    return text_starts(key, POOL_PREFIX) || text_starts(key, counts_prefix) ||
           text_equal(key, "prefill");
}

void job_single_sets(const struct job_request *request, struct arena *arena,
                     struct job_request *single)
{
    struct override *sets = arena_alloc(arena, request->n_sets + 1, sizeof *sets);
    *single = *request;
    single->sets = sets;
    single->n_sets = 0;
    for (size_t i = 0; i < request->n_sets; i++)
        if (!is_of_both(request->sets[i].key))
            sets[single->n_sets++] = request->sets[i];
}

/* ---- drafts ---- */

static bool is_alike(const struct draft_item *a, const struct draft_item *b)
{
    if (!a || !b || a->n != b->n || a->node != b->node)
        return false;
    for (size_t i = 0; !a->node && i < a->n; i++)
        if (!text_equal(a->words[i], b->words[i]))
            return false;
    return true;
}

/* What the pools share, or what follows from which launch it is. */
static bool is_shared(const char *key)
{
    static const char *const keys[] = {"name",       "stack",         "stack.base",
                                       "stack.name", "workload.role", "workload.disaggregated"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (text_equal(key, keys[i]))
            return true;
    return text_equal(key, "model") || text_starts(key, "model.");
}

static void add_item(struct draft *draft, const struct draft_item *item)
{
    const char *key = arena_printf(draft->arena, POOL_PREFIX "%s", item->key);
    if (item->list)
        draft_set_list(draft, key, item->words, item->n, item->mark, item->origin);
    else
        draft_set(draft, key, item->words[0], item->mark, item->origin);
}

/* Whether the job says it of the part itself, in a line of ours. */
static bool says(const struct draft *draft, const char *key)
{
    return draft_find(draft, arena_printf(draft->arena, POOL_PREFIX "%s", key)) != NULL;
}

static void add_differences(const struct draft *prefill, struct draft *draft)
{
    for (size_t i = 0; i < prefill->n; i++) {
        const struct draft_item *item = &prefill->items[i];
        if (!item->node && !is_shared(item->key) && !is_of_both(item->key) &&
            !is_alike(item, draft_find(draft, item->key)) && !says(draft, item->key))
            add_item(draft, item);
    }
}

/* ---- what follows ---- */

static const char *value(const struct field *field, const struct plan *plan,
                         struct arena *arena)
{
    struct text text = {.arena = arena};
    schema_print(field, plan, &text);
    return text_string(&text);
}

/* A key that the launch which decodes gives and the other leaves as it is. */
static enum status add_defaults(const char *file, const struct draft *prefill,
                                struct draft *draft, struct arena *arena, struct err *err)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    struct plan *plans = arena_alloc(arena, 2, sizeof *plans);
    struct draft own = *prefill, both = *draft;
    own.items = arena_alloc(arena, prefill->n + 1, sizeof *own.items);
    both.items = arena_alloc(arena, draft->n + 1, sizeof *both.items);
    own.n = 0;
    for (size_t i = 0; i < prefill->n; i++)
        if (!is_of_both(prefill->items[i].key))
            own.items[own.n++] = prefill->items[i];
    for (size_t i = 0; i < draft->n; i++)
        both.items[i] = draft->items[i];
    TRY(plan_load_tree(file, draft_tree(&own, file), NULL, 0, false, arena, &plans[0], NULL,
                       err));
    TRY(plan_load_tree(file, draft_tree(&both, file), NULL, 0, false, arena, &plans[1], NULL,
                       err));
    for (size_t i = 0; i < n; i++) {
        const char *key = fields[i].key, *wanted = value(&fields[i], &plans[0], arena);
        if (is_shared(key) || part_is_key(key) || is_of_both(key) ||
            text_starts(key, "cluster.") || schema_is_list(&fields[i]) || says(draft, key) ||
            text_equal(wanted, value(&fields[i], plans[1].prefill, arena)))
            continue;
        draft_set(draft, arena_printf(arena, POOL_PREFIX "%s", key), wanted, (struct mark){0},
                  "as the launch that prefills leaves it");
    }
    return STATUS_OK;
}

/* ---- both ---- */

static const char *model_of(const struct draft *draft)
{
    const struct draft_item *item = draft_find(draft, "model");
    item = item ? item : draft_find(draft, "model.base");
    return item && item->n == 1 && !item->node ? item->words[0] : "";
}

static enum status check(const struct job_pair *pair, struct err *err)
{
    const struct draft *prefill = &pair->prefill->draft, *decode = &pair->decode->draft;
    const char *one = model_of(prefill), *other = model_of(decode);
    const struct draft_item *item = draft_find(prefill, "model");
    struct mark mark = {0};
    if (item)
        mark = item->mark;
    if (!text_equal(pair->prefill->framework, pair->decode->framework))
        return err_at(err, mark, "%s prefills and %s decodes: a plan has one",
                      pair->prefill->taken_for, pair->decode->taken_for);
    if (!text_equal(one, other))
        return err_at(err, mark,
                      "'%s' prefills and '%s' decodes: a deployment serves one model", one,
                      other);
    return STATUS_OK;
}

static void add_notes(const struct job_notes *from, struct arena *arena, struct job_notes *to)
{
    for (size_t i = 0; i < from->n; i++) {
        bool known = false;
        for (size_t j = 0; j < to->n; j++)
            known = known || (to->items[j].mark.line == from->items[i].mark.line &&
                              text_equal(to->items[j].text, from->items[i].text));
        if (known)
            continue;
        if (to->n == to->capacity)
            to->items = arena_grow(arena, to->items, to->n, &to->capacity, sizeof *to->items);
        to->items[to->n++] = from->items[i];
    }
}

/* The most sequences of a decode step are those of an engine that answers requests, too. */
static void keep_sequences(struct draft *draft)
{
    const struct draft_item *batch = draft_find(draft, "workload.micro_batch"),
                            *stages = draft_find(draft, "parallel.pp");
    bool staged = stages && stages->n == 1 && !text_equal(stages->words[0], "1");
    if (batch && !staged && !draft_find(draft, "workload.max_num_seqs"))
        draft_set(draft, "workload.max_num_seqs", batch->words[0], batch->mark, batch->origin);
}

/* Launches, unless the job says how many there are to be in a line of ours. */
static void count(struct draft *draft, const char *key, uint64_t n, const char *origin)
{
    if (n && !draft_find(draft, key))
        draft_set_count(draft, key, n, (struct mark){0}, origin);
}

enum status job_join(const struct job_text *file, const struct job_pair *pair,
                     struct arena *arena, struct job_result *result, struct err *err)
{
    const struct job_request *request = file->request;
    const char *name = arena_strdup(arena, file->name);
    struct draft draft = pair->decode->draft;
    const struct mark none = {0};
    TRY(check(pair, err));
    *result = *pair->decode;
    keep_sequences(&draft);
    add_differences(&pair->prefill->draft, &draft);
    count(&draft, "workload.deployments.prefill", pair->n_prefill, "servers that prefill");
    count(&draft, "workload.deployments.decode", pair->n_decode, "servers that decode");
    if (!draft_has_part(&draft, "prefill")) /* both are launched alike */
        draft_set(&draft, POOL_PREFIX "workload.role", "prompts", none, "servers that prefill");
    TRY(add_defaults(name, &pair->prefill->draft, &draft, arena, err));
    for (size_t i = 0; request->all_sets && i < request->n_sets; i++)
        if (is_of_both(request->sets[i].key) && !text_equal(request->sets[i].key, "prefill"))
            draft_set(&draft, request->sets[i].key, request->sets[i].value,
                      (struct mark){.file = request->sets[i].option}, request->sets[i].option);
    result->draft = draft;
    result->root = draft_tree(&result->draft, name);
    result->taken_for = pair->taken_for;
    result->cluster_taken = pair->decode->cluster_taken || pair->prefill->cluster_taken;
    add_notes(&pair->prefill->notes, arena, &result->notes);
    return STATUS_OK;
}

/* ---- launches of one script ---- */

static enum status read_one(const struct job_text *file, unsigned line, struct arena *arena,
                            struct job_result *result, struct err *err)
{
    struct job_request single;
    job_single_sets(file->request, arena, &single);
    single.line = line;
    return job_read_text(file->name, file->text, file->length, &single, arena, result, err);
}

/* Marks and origins do not count. */
static bool is_same_plan(const struct draft *a, const struct draft *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++)
        same = is_alike(&a->items[i], draft_find(b, a->items[i].key));
    return same;
}

/* All launches of a pool, which are one server's. */
static enum status read_pool(const struct job_text *file, const struct launch_pool *pool,
                             const char *does, struct arena *arena, struct job_result *result,
                             struct err *err)
{
    TRY(read_one(file, pool->lines[0], arena, result, err));
    for (size_t i = 1; i < pool->n; i++) {
        struct job_result other;
        TRY(read_one(file, pool->lines[i], arena, &other, err));
        if (is_same_plan(&result->draft, &other.draft))
            continue;
        struct job job = {.arena = arena, .err = err, .file = arena_strdup(arena, file->name)};
        err_at(err, (struct mark){job.file, pool->lines[i], 1},
               "a launch that %s otherwise than that on line %u", does, pool->lines[0]);
        return job_hint_lines(&job, pool->lines[0], pool->lines[i]);
    }
    return STATUS_OK;
}

enum status job_read_pools(const struct job_text *file, const struct launch_pool *prefill,
                           const struct launch_pool *decode, struct arena *arena,
                           struct job_result *result, struct err *err)
{
    struct job_result results[2];
    TRY(read_pool(file, prefill, "prefills", arena, &results[0], err));
    TRY(read_pool(file, decode, "decodes", arena, &results[1], err));
    const struct job_pair pair = {
        &results[0], &results[1], prefill->servers, decode->servers,
        arena_printf(arena, "%s that prefills and one (line %u) that decodes",
                     results[0].taken_for, decode->lines[0])};
    return job_join(file, &pair, arena, result, err);
}
