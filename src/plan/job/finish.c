/* From the settings of a job to the draft of a plan: rows that stand for themselves, the
 * framework's own rules, what the user says, and a list of what was not read. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/number.h"
#include "plan/derive.h"
#include "plan/job/reader.h"
#include "plan/read/catalog.h"
#include "plan/read/part.h"
#include "plan/schema/schema.h"

/* ---- sets and "#moeplan" lines ---- */

static const char *const synonyms[][2] = {{"recompute", "recompute.kind"},
                                          {"block", "block.kind"},
                                          {"collective", "block.collective"}};

/* One "key=value" of the user or of a "#moeplan" line. */
static enum status direct(struct job *job, const char *setting, struct mark mark,
                          const char *origin)
{
    const char *equals = strchr(setting, '=');
    struct node *root = NULL;
    if (!equals || equals == setting) {
        err_at(job->err, mark, "'%.80s' is not key=value", setting);
        return err_hint(job->err, "for example #moeplan cluster=h100-8x4");
    }
    const char *key = arena_strndup(job->arena, setting, (size_t)(equals - setting));
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        key = text_equal(key, synonyms[i][0]) ? synonyms[i][1] : key;
    enum status status = source_read_option(arena_printf(job->arena, "%s=", key), equals + 1,
                                            job->arena, &root, job->err);
    if (status != STATUS_OK)
        return err_place(job->err, mark);
    if (root->kind == NODE_SCALAR) {
        draft_set(&job->draft, key, root->text, mark, origin);
        return STATUS_OK;
    }
    if (root->kind == NODE_MAPPING)
        return err_at(job->err, mark, "'%s' takes single keys here", key);
    const char **words = arena_alloc(job->arena, root->n + 1, sizeof *words);
    size_t n = 0;
    for (const struct node *item = root->first; item; item = item->next)
        words[n++] = item->text;
    draft_set_list(&job->draft, key, words, n, mark, origin);
    return STATUS_OK;
}

static enum status apply_sets(struct job *job, bool early)
{
    for (size_t i = 0; i < job->request->n_sets; i++) {
        const struct override *set = &job->request->sets[i];
        bool needed = text_equal(set->key, "cluster") || text_equal(set->key, "model");
        if (job_given_name(set->key))
            continue;
        if (early ? !needed || set->value[0] == '{' : !job->request->all_sets || needed)
            continue;
        TRY(direct(job, arena_printf(job->arena, "%s=%s", set->key, set->value),
                   (struct mark){.file = set->option}, set->option));
    }
    return STATUS_OK;
}

bool job_requested(const struct job *job, const char *key)
{
    for (size_t i = 0; i < job->request->n_sets; i++)
        if (text_equal(job->request->sets[i].key, key))
            return true;
    return job->asked && draft_find(job->asked, key);
}

uint64_t job_planned(const struct job *job, const char *key, uint64_t fallback)
{
    const struct draft_item *asked = job->asked ? draft_find(job->asked, key) : NULL;
    const char *text = asked && asked->n == 1 ? asked->words[0] : NULL;
    uint64_t value;
    for (size_t i = 0; i < job->request->n_sets; i++)
        if (text_equal(job->request->sets[i].key, key))
            text = job->request->sets[i].value;
    return text && number_count(text, &value) ? value : job_drafted(job, key, fallback);
}

/* Lines that start with "#moeplan ", of any text. */
static enum status apply_lines(struct job *job, const char *text, size_t length)
{
    static const char head[] = "#moeplan ";
    const char *end = text + length;
    struct mark mark = {job->file, 1, 1};
    for (const char *line = text; line < end; mark.line++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        size_t blank = strspn(line, " \t");
        size_t left = blank < (size_t)(stop - line) ? (size_t)(stop - line) - blank : 0;
        if (left > sizeof head - 1 && strncmp(line + blank, head, sizeof head - 1) == 0) {
            const char *from = line + blank + sizeof head - 1;
            while (stop > from && strchr(" \r", stop[-1]))
                stop--;
            if (!job_given_name(from))
                TRY(direct(job, arena_strndup(job->arena, from, (size_t)(stop - from)), mark,
                           "#moeplan"));
        }
        line = newline ? newline + 1 : end;
    }
    return STATUS_OK;
}

/* ---- the cluster ---- */

/* "-8x4" or "-4x4x4" at the end. */
static bool has_size(const char *name)
{
    const char *dash = strrchr(name, '-');
    return dash && strchr(dash, 'x') && dash[1] >= '0' && dash[1] <= '9' &&
           strspn(dash + 1, "0123456789x") == strlen(dash + 1);
}

static void complete_size(struct job_size *size)
{
    if (!size->nodes && size->world && size->per_node)
        size->nodes = (size->world + size->per_node - 1) / size->per_node;
    if (!size->per_node && size->world && size->nodes)
        size->per_node = (size->world + size->nodes - 1) / size->nodes;
    if (!size->per_node && size->world)
        size->per_node = size->world < 8 ? size->world : 8;
    if (!size->nodes && size->per_node)
        size->nodes = size->world ? (size->world + size->per_node - 1) / size->per_node : 1;
    if (!size->world)
        size->world = size->nodes * size->per_node;
}

static enum status load_part(struct job *job, const char *key, const struct node *node,
                             struct plan *plan)
{
    size_t n;
    struct mark mark;
    schema_fields(&n);
    struct loader loader = {.arena = job->arena,
                            .plan = plan,
                            .origins = arena_alloc(job->arena, n, sizeof(struct mark)),
                            .err = job->err};
    schema_defaults(plan);
    return part_load(&loader, key, node, job->folder, &mark);
}

enum status job_part_named(struct job *job, const char *key, const char *name, struct mark mark,
                           struct plan *plan)
{
    const struct node node = {.kind = NODE_SCALAR, .mark = mark, .text = name};
    return load_part(job, key, &node, plan);
}

enum status job_part(struct job *job, const char *key, struct plan *plan, bool *known)
{
    const struct draft_item *item = draft_find(&job->draft, key);
    *known = item && !item->list && item->n == 1;
    return *known ? job_part_named(job, key, item->words[0], item->mark, plan) : STATUS_OK;
}

enum status job_model(struct job *job, struct plan *plan, bool *known)
{
    struct draft own = {.arena = job->arena};
    own.items = arena_alloc(job->arena, job->draft.n + 1, sizeof *own.items);
    own.capacity = job->draft.n + 1;
    for (size_t i = 0; i < job->draft.n; i++) {
        const char *key = job->draft.items[i].key;
        if (text_equal(key, "model") || text_starts(key, "model."))
            own.items[own.n++] = job->draft.items[i];
    }
    const struct node *model = node_get(draft_tree(&own, job->file), "model");
    *known = model != NULL;
    return *known ? load_part(job, "model", model, plan) : STATUS_OK;
}

static void take_size(struct job *job, const struct draft_item *item, int length,
                      uint64_t per_node, uint64_t nodes)
{
    const struct mark mark = item->mark;
    const char *device = arena_strndup(job->arena, item->words[0], (size_t)length),
               *name =
                   arena_printf(job->arena, "%s-%" PRIu64 "x%" PRIu64, device, per_node, nodes),
               *origin = arena_printf(job->arena, "%s, in the job's size", item->origin);
    struct catalog_cluster found;
    struct err ignored = {0};
    enum status told = catalog_find_cluster(name, job->folder, job->arena, &found, &ignored);
    job->cluster_taken = true;
    if (told != STATUS_OK || !found.mesh[0]) {
        draft_set(&job->draft, "cluster", name, mark, origin);
        return;
    }
    /* "tpu-v6e-256x2" is one mesh: slices are set by their numbers */
    draft_set(&job->draft, "cluster", device, mark, origin);
    draft_set_count(&job->draft, "cluster.node.devices", per_node, mark, origin);
    draft_set_count(&job->draft, "cluster.nodes", nodes, mark, origin);
}

/* The cluster's size is set key by key. */
static bool sets_size(const struct job *job)
{
    static const char *const keys[] = {"cluster.nodes", "cluster.node.devices"};
    for (size_t i = 0; i < 2; i++)
        if (job_requested(job, keys[i]) || draft_find(&job->draft, keys[i]))
            return true;
    return false;
}

static void warn_of_size(struct job *job, const struct draft_item *item,
                         const struct cluster *given)
{
    const char *asked = item->words[0];
    job_warn(job, item->mark,
             "the job starts %" PRIu64
             " rank%s, and so many are planned: cluster.node.devices=%" PRIu64
             " and cluster.nodes=%" PRIu64 " plan all of '%s'",
             job->size.world, job->size.world == 1 ? "" : "s", given->node.devices,
             given->nodes, asked);
}

/* A cluster of another size: as many of its nodes, or of a node's devices, as the job's ranks
 * take. Those of a mesh are what they are, and so is a size that is set. */
static enum status resize_cluster(struct job *job, const struct draft_item *item)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    uint64_t world = job->size.world;
    bool known;
    TRY(job_part(job, "cluster", plan, &known));
    if (!known || !world || plan->cluster.mesh.n || plan_world(plan) == world || sets_size(job))
        return STATUS_OK;
    uint64_t per_node = lesser(plan->cluster.node.devices, world);
    if (per_node && world % per_node)
        per_node = job->size.per_node;
    if (!per_node || world % per_node != 0)
        return STATUS_OK;
    warn_of_size(job, item, &plan->cluster);
    take_size(job, item, (int)(strrchr(item->words[0], '-') - item->words[0]), per_node,
              world / per_node);
    return STATUS_OK;
}

/* The axes of a layout that is written out are the job's ranks: slices of a TPU, nodes of other
 * devices. */
static void size_by_axes(struct job *job, const char *device)
{
    struct job_size *size = &job->size;
    if (size->world || size->nodes || size->per_node || has_size(device))
        return;
    *size = job->axes;
    if (!text_starts(device, "tpu"))
        *size = (struct job_size){.world = size->nodes * size->per_node};
    complete_size(size);
}

/* A device alone is a cluster of the job's size. */
static enum status size_cluster(struct job *job)
{
    const struct draft_item *item = draft_find(&job->draft, "cluster");
    const struct job_size *size = &job->size;
    if (item && !item->list && !sets_size(job))
        size_by_axes(job, item->words[0]);
    if (size->nodes && !size->per_node && !size->world)
        job->size.per_node = 8; /* "--nproc-per-node gpu": as many as a node has */
    complete_size(&job->size);
    if (!item || item->list || strpbrk(item->words[0], "./"))
        return STATUS_OK;
    if (has_size(item->words[0]))
        return resize_cluster(job, item);
    if (size->world > 1 && size->world < 1000000 && size->per_node && size->nodes)
        take_size(job, item, (int)strlen(item->words[0]), size->per_node, size->nodes);
    return STATUS_OK;
}

bool job_asked_size(const struct job *job, struct job_size *size)
{
    for (size_t i = job->request->n_sets; i > 0; i--) {
        const struct override *set = &job->request->sets[i - 1];
        uint64_t value[2] = {0};
        if (!text_equal(set->key, "cluster") || !has_size(set->value))
            continue;
        const char *at = strrchr(set->value, '-');
        for (size_t j = 0; j < 2 && at; j++) {
            size_t n = strspn(at + 1, "0123456789");
            if (!number_count(arena_strndup(job->arena, at + 1, n), &value[j]))
                return false;
            at = j == 0 ? strchr(at, 'x') : at;
        }
        if (value[0] > 1000000 || value[1] > 1000000)
            return false;
        *size = (struct job_size){value[1], value[0], value[0] * value[1]};
        return size->world > 0;
    }
    return false;
}

/* *asked: it is not known, and the size that the user gives holds. */
static enum status size_count(struct job *job, const char *name, uint64_t *value, bool *asked)
{
    const struct setting *s = job_setting(job, name);
    struct job_size size;
    bool unknown = s && s->trouble && job_asked_size(job, &size);
    *asked = *asked || unknown;
    return unknown ? STATUS_OK : job_count(job, name, value);
}

enum status job_read_size(struct job *job, const char *nodes, const char *per_node)
{
    bool overflow = false, asked = false;
    struct job_size *size = &job->size;
    *size = (struct job_size){.nodes = 1, .per_node = 8};
    TRY(size_count(job, nodes, &size->nodes, &asked));
    TRY(size_count(job, per_node, &size->per_node, &asked));
    if (asked)
        job_asked_size(job, size);
    if (!size->nodes || !size->per_node)
        return job_fail(job, size->nodes ? per_node : nodes, "the job starts no ranks");
    size->world = checked_mul(size->nodes, size->per_node, &overflow);
    return overflow ? job_fail(job, nodes, "too many ranks") : STATUS_OK;
}

enum status job_world(struct job *job, uint64_t *world)
{
    bool known = job->size.world > 0;
    *world = job->size.world;
    if (known)
        return STATUS_OK;
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    TRY(job_part(job, "cluster", plan, &known));
    *world = known ? plan_world(plan) : 0;
    return STATUS_OK;
}

enum status job_layers(struct job *job, uint64_t *layers)
{
    bool known;
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    *layers = job_drafted(job, "model.layers", 0);
    if (*layers)
        return STATUS_OK;
    TRY(job_part(job, "model", plan, &known));
    *layers = known ? plan->model.layers : 0;
    return STATUS_OK;
}

/* A device alone under a job that does not say how many it runs on. */
static enum status check_ranks(struct job *job, const char *device)
{
    uint64_t pp = job_drafted(job, "parallel.pp", 1);
    uint64_t dense = job_drafted(job, "parallel.tp", 1) * job_drafted(job, "parallel.cp", 1);
    uint64_t experts = job_drafted(job, "parallel.ep", 1) * job_drafted(job, "parallel.etp", 1);
    uint64_t least = pp * (dense > experts ? dense : experts);
    if (least <= 1 && job_drafted(job, "parallel.zero", 0) > 0)
        job_warn(
            job, job_place(job),
            "the job does not say how many ranks it starts, which share its states out and "
            "matter to memory: one is planned, --set cluster=%s-8x1 names more",
            device);
    if (least <= 1 || least > 1000000)
        return STATUS_OK;
    err_at(job->err, job_place(job),
           "the job does not say how many ranks it starts, and needs a multiple of %" PRIu64,
           least);
    return err_hint(job->err, "name them, as in --set cluster=%s-8x%" PRIu64, device,
                    least < 8 ? 1 : (least + 7) / 8);
}

static enum status check_size(struct job *job)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    TRY(job_part(job, "cluster", plan, &known));
    if (known && !job->size.world && plan_world(plan) == 1)
        return check_ranks(job, plan->cluster_name);
    if (known && !sets_size(job) && job->size.world && plan_world(plan) != job->size.world)
        job_warn(job, job->mark, "the job starts %" PRIu64 " ranks, cluster '%s' has %" PRIu64,
                 job->size.world, plan->cluster_name, plan_world(plan));
    return STATUS_OK;
}

/* ---- rows that stand for themselves ---- */

static bool is_list_key(const char *key)
{
    const struct field *field = schema_find(key);
    return field && schema_is_list(field);
}

static enum status set_direct(struct job *job, const struct job_flag *flag,
                              const struct setting *s)
{
    const char *name = arena_strndup(job->arena, flag->names, strcspn(flag->names, " "));
    const char *word = NULL, *value;
    const struct field *field = schema_find(flag->key);
    if (is_list_key(flag->key)) {
        if (!s->trouble) {
            draft_set_list(&job->draft, flag->key, s->values, s->n, s->mark, s->said);
            return STATUS_OK;
        }
        return job_word(job, name, &word);
    }
    if (field && field->type == FIELD_COUNT && !flag->words) {
        uint64_t count = 0;
        TRY(job_count(job, name, &count));
        draft_set_count(&job->draft, flag->key, count, s->mark, s->said);
        return STATUS_OK;
    }
    if (flag->shape == JOB_SWITCH || (field && field->type == FIELD_BOOL && !flag->words)) {
        bool on = false;
        TRY(job_switch(job, name, &on));
        word = on ? "true" : "false";
    } else {
        TRY(job_word(job, name, &word));
    }
    value = flag->words ? job_convert(job, flag->words, word) : word;
    if (!value) {
        err_at(job->err, s->mark, "'%s' is not known to mean anything in a plan", s->said);
        return err_hint(job->err, "its words in a plan: %s", flag->words);
    }
    draft_set(&job->draft, flag->key, value, s->mark, s->said);
    return STATUS_OK;
}

static enum status apply_direct(struct job *job)
{
    size_t n;
    const struct job_flag *const *flags = job_flags(job->framework, job->arena, &n);
    for (size_t i = 0; i < n; i++) {
        const struct job_flag *flag = flags[i];
        if (flag->read != JOB_DIRECT && flag->read != JOB_NEEDED)
            continue;
        const char *name = arena_strndup(job->arena, flag->names, strcspn(flag->names, " "));
        const struct setting *s = job_setting(job, name);
        if (s) {
            TRY(set_direct(job, flag, s));
        } else if (flag->fallback) {
            const char *value =
                flag->words ? job_convert(job, flag->words, flag->fallback) : flag->fallback;
            draft_set(&job->draft, flag->key, value, (struct mark){0},
                      arena_printf(job->arena, "default of --%s", name));
        }
    }
    return STATUS_OK;
}

/* ---- a job of a known framework ---- */

static enum status need_cluster(struct job *job)
{
    if (draft_has_part(&job->draft, "cluster"))
        return STATUS_OK;
    err_at(job->err, job_place(job), "the job names no device");
    if (job->size.world > 1)
        return err_hint(job->err,
                        "name it, as in --set cluster=h100: the job starts %" PRIu64
                        " x %" PRIu64 " ranks",
                        job->size.nodes, job->size.per_node);
    return err_hint(job->err, "name it and the job's size, as in --set cluster=h100-8x4");
}

static enum status need_model(struct job *job)
{
    if (draft_has_part(&job->draft, "model"))
        return STATUS_OK;
    err_at(job->err, job_place(job), "the job does not say which model it runs");
    return err_hint(job->err, "name it, as in --set model=mixtral-8x7b; 'moeplan list models'");
}

/* How many images a sequence has is the data's: without them an encoder does nothing. */
static enum status warn_of_images(struct job *job)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known;
    TRY(job_model(job, plan, &known));
    if (job->framework->trains && known && plan->model.encoder.layers &&
        !draft_find(&job->draft, "workload.encoder.patches"))
        job_warn(job, job_place(job),
                 "what images take matters to memory and is the data's: none are planned; "
                 "--set workload.encoder.patches=4096 plans so many patches a sequence");
    return STATUS_OK;
}

enum status job_finish(struct job *job, const char *text, size_t length)
{
    struct draft *asked = arena_alloc(job->arena, 1, sizeof *asked);
    job_interpolate(job);
    if (job->framework->prepare)
        TRY(job->framework->prepare(job));
    TRY(apply_lines(job, text, length));
    TRY(apply_sets(job, true));
    job_set_device(job);
    TRY(size_cluster(job));
    *asked = job->draft; /* what the user says holds against the framework's own */
    job->asked = asked;
    job->draft = (struct draft){.arena = job->arena};
    for (size_t i = 0; i < asked->n; i++)
        if (asked->items[i].n && (text_equal(asked->items[i].key, "cluster") ||
                                  text_equal(asked->items[i].key, "model")))
            draft_set(&job->draft, asked->items[i].key, asked->items[i].words[0],
                      asked->items[i].mark, asked->items[i].origin);
    job->described = draft_find(asked, "model.layers") != NULL;
    draft_set(&job->draft, "stack", job->framework->stack, job->mark, job->framework->title);
    TRY(apply_direct(job));
    TRY(job->framework->finish(job));
    if (draft_find(&job->draft, "model"))
        draft_drop_defaults(&job->draft, "model.");
    if (draft_find(asked, "model"))
        draft_drop(&job->draft, "model.");
    for (size_t i = 0; i < asked->n; i++) {
        const struct draft_item *item = &asked->items[i];
        draft_set_list(&job->draft, item->key, item->words, item->n, item->mark, item->origin);
        if (!item->list)
            draft_set(&job->draft, item->key, item->words[0], item->mark, item->origin);
    }
    TRY(apply_sets(job, false));
    TRY(need_model(job));
    TRY(need_cluster(job));
    TRY(check_size(job));
    TRY(warn_of_images(job));
    job_note_rest(job);
    return STATUS_OK;
}
