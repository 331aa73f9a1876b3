/* Plans as launches: flags first, then what reading them back does not give. */
#include <inttypes.h>
#include <string.h>

#include "plan/read/catalog.h"
#include "plan/job/reader.h"
#include "plan/pools.h"
#include "plan/read/part.h"
#include "plan/read/unread.h"
#include "plan/schema/schema.h"

/* ---- flags in a framework's syntax ---- */

void writer_flag(struct job_writer *writer, const char *name, const char *value)
{
    if (writer->framework->write_flag)
        writer->framework->write_flag(writer, name, value);
    else
        text_printf(writer->out, " \\\n  --%s%s%s", name, value ? " " : "", value ? value : "");
}

void writer_count(struct job_writer *writer, const char *name, uint64_t value)
{
    writer_flag(writer, name, arena_printf(writer->arena, "%" PRIu64, value));
}

const char *writer_value(const struct job_writer *writer, const char *key)
{
    struct text text = {.arena = writer->arena};
    schema_print(schema_find(key), writer->plan, &text);
    return text_string(&text);
}

const char *writer_word(const struct job_writer *writer, const char *words, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " "), left = strcspn(at, "=");
        if (n - left - 1 == length && strncmp(at + left + 1, value, length) == 0)
            return arena_strndup(writer->arena, at, left);
        at += n + (at[n] == ' ');
    }
    return NULL;
}

/* What a checkpoint has and this plan leaves out, as prediction modules are: a flag would have
 * it trained. */
static bool leaves_out(const struct job_writer *writer, const struct field *field)
{
    const struct unread_plan of = {writer->plan, writer->plan->moe.path};
    return text_starts(field->key, "model.") && unread_reason(field, &of, writer->arena);
}

static void write_row(struct job_writer *writer, const struct job_flag *flag)
{
    const struct field *field = schema_find(flag->key);
    const char *value = writer_value(writer, flag->key);
    const char *name = arena_strndup(writer->arena, flag->names, strcspn(flag->names, " "));
    bool always = flag->read == JOB_NEEDED;
    if (!always && leaves_out(writer, field))
        return;
    if (!always && !flag->fallback && field->fallback && text_equal(value, field->fallback))
        return;
    if (flag->words)
        value = writer_word(writer, flag->words, value);
    if (!value || (flag->fallback && text_equal(value, flag->fallback)))
        return;
    if (flag->shape != JOB_SWITCH)
        writer_flag(writer, name, value);
    else if (text_equal(value, "true"))
        writer_flag(writer, name, NULL);
}

void writer_direct(struct job_writer *writer)
{
    for (size_t i = 0; i < *writer->framework->n_flags; i++) {
        const struct job_flag *flag = &writer->framework->flags[i];
        const struct field *field = flag->key ? schema_find(flag->key) : NULL;
        if ((flag->read == JOB_DIRECT || flag->read == JOB_NEEDED) && field &&
            !schema_is_list(field))
            write_row(writer, flag);
    }
}

/* ---- reading back ---- */

/* A launch, of servers that decode where others prefill. */
struct launch {
    struct job_writer writer, prefill; /* prefill.plan NULL: there are no others */
    struct text flags;                 /* of both */
};

static enum status read_back(const struct launch *launch, const char *text, struct plan *plan,
                             struct err *err)
{
    const struct job_writer *writer = &launch->writer;
    const char *own = launch->prefill.plan ? writer->framework->pools : NULL;
    const char *name = own                         ? own
                       : writer->framework->launch ? writer->framework->launch
                                                   : "job.sh";
    struct job_request request = {0};
    struct job_result result = {0};
    TRY(job_read_text(name, text, strlen(text), &request, writer->arena, &result, err));
    return plan_load_tree(name, result.root, NULL, 0, false, writer->arena, plan, NULL, err);
}

/* Of servers that prefill a key stands below their part. */
static void directive(const struct job_writer *writer, const char *key, const char *value,
                      struct text *out)
{
    bool prefill = writer->pool && text_equal(writer->pool, "prefill");
    text_printf(out, "#moeplan %s%s=%s\n", prefill ? POOL_PREFIX : "", key,
                value[0] ? value : "\"\"");
}

/* Keys that say how a job is split: a launch whose flags split it another way is another job,
 * whatever lines stand beside them. */
static const char *const layout_keys[] = {"parallel.tp", "parallel.pp", "parallel.cp",
                                          "parallel.ep", "parallel.etp"};

enum { LAYOUT_KEYS = sizeof layout_keys / sizeof *layout_keys };

static bool is_layout(const char *key)
{
    for (size_t i = 0; i < LAYOUT_KEYS; i++)
        if (text_equal(layout_keys[i], key))
            return true;
    return false;
}

static enum status check_layout(const struct job_writer *writer, const struct plan *read)
{
    for (size_t i = 0; i < LAYOUT_KEYS; i++) {
        struct text theirs = {.arena = writer->arena};
        const char *mine = writer_value(writer, layout_keys[i]);
        schema_print(schema_find(layout_keys[i]), read, &theirs);
        if (text_equal(mine, text_string(&theirs)))
            continue;
        err_set(writer->err, STATUS_INPUT,
                "stack '%s' has no flags for %s %s beside the other degrees: they would make "
                "it %s",
                writer->framework->stack, layout_keys[i], mine, text_string(&theirs));
        return err_hint(writer->err, "choose a layout that its launch can ask for");
    }
    return STATUS_OK;
}

/* Keys in which two plans differ, but for the layout, as lines; how many. Only those that begin
 * with the prefix. */
static size_t write_differences(const struct job_writer *writer, const struct plan *other,
                                const char *prefix, struct text *out)
{
    size_t n, count = 0;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        struct text mine = {.arena = writer->arena}, theirs = {.arena = writer->arena};
        if (!text_starts(fields[i].key, prefix) || part_is_key(fields[i].key) ||
            is_layout(fields[i].key) || text_equal(fields[i].key, "moe.buffer_factor"))
            continue;
        schema_print(&fields[i], writer->plan, &mine);
        schema_print(&fields[i], other, &theirs);
        if (text_equal(text_string(&mine), text_string(&theirs)))
            continue;
        directive(writer, fields[i].key, text_string(&mine), out);
        count++;
    }
    return count;
}

/* A part by its name in the catalogue, where it has one; "x (changed)" is x and its changes. */
static void write_part(const struct job_writer *writer, enum catalog_kind kind,
                       const char *called, struct text *out)
{
    struct catalog_cluster cluster;
    struct err ignored = {0};
    char *path;
    const char *name = arena_strndup(writer->arena, called, strcspn(called, " "));
    enum status status =
        kind == CATALOG_CLUSTER
            ? catalog_find_cluster(name, NULL, writer->arena, &cluster, &ignored)
            : catalog_find(kind, name, NULL, writer->arena, &path, &ignored);
    if (status == STATUS_OK)
        directive(writer, part_keys[kind], name, out);
}

/* Does the launch leave the model's name open? Megatron's spells its sizes out. */
static bool lacks_model(const struct job_writer *writer)
{
    enum model_catalog names = writer->framework->names;
    return names != NAMES_NONE && !model_name_to(names, writer->plan->model_name);
}

/* A file ends with a line end, a command without one. */
static void append_directives(const struct text *flags, const struct text *lines,
                              struct text *out)
{
    const char *launch = text_string(flags);
    text_append(out, text_string(lines));
    text_append(out, launch);
    text_append(out, text_ends(launch, "\n") ? "" : "\n");
}

static void write_parts(const struct launch *launch, struct text *lines)
{
    const struct plan *plan = launch->writer.plan, *prefill = launch->prefill.plan;
    write_part(&launch->writer, CATALOG_CLUSTER, plan->cluster_name, lines);
    if (prefill && !text_equal(prefill->cluster_name, plan->cluster_name))
        write_part(&launch->prefill, CATALOG_CLUSTER, prefill->cluster_name, lines);
    if (lacks_model(&launch->writer))
        write_part(&launch->writer, CATALOG_MODEL, plan->model_name, lines);
}

/* Of all servers. */
static enum status check_layouts(const struct launch *launch, const struct plan *read)
{
    TRY(check_layout(&launch->writer, read));
    if (!launch->prefill.plan)
        return STATUS_OK;
    if (!read->prefill)
        return err_set(launch->writer.err, STATUS_SYSTEM,
                       "the launches do not read back as servers that prefill and that decode");
    return check_layout(&launch->prefill, read->prefill);
}

enum { READINGS = 8 };

/* What a reading lacks is said; since flags depend on each other, until nothing is lacking. */
static enum status complete(struct launch *launch, struct text *out)
{
    const struct job_writer *writer = &launch->writer;
    struct plan *read = arena_alloc(writer->arena, 1, sizeof *read);
    struct text lines = {.arena = writer->arena};
    write_parts(launch, &lines);
    for (int i = 0; i < READINGS; i++) {
        struct text whole = {.arena = writer->arena};
        struct err refused = {0};
        append_directives(&launch->flags, &lines, &whole);
        memset(read, 0, sizeof *read);
        enum status status = read_back(launch, text_string(&whole), read, &refused);
        if (status != STATUS_OK && i + 1 == READINGS) {
            *writer->err = refused;
            return status;
        }
        if (status == STATUS_OK)
            TRY(check_layouts(launch, read));
        /* what does not read at all lacks its model, before all else */
        const char *prefix = status != STATUS_OK && i == 0 ? "model." : "";
        size_t n = write_differences(writer, read, prefix, &lines);
        /* what both lack may be all that the others lack */
        if (!n && launch->prefill.plan)
            n = write_differences(&launch->prefill, read->prefill, prefix, &lines);
        if (n > 0)
            continue;
        text_append(out, text_string(&whole));
        return STATUS_OK;
    }
    return err_set(writer->err, STATUS_SYSTEM, "the launch does not read back as the plan");
}

/* ---- the command ---- */

/* Of several frameworks of one stack the first: Bridge is asked for by its own name. */
static const struct job_framework *writes_for(const char *name)
{
    const struct job_framework *named = job_framework_named(name);
    if (named && named->write)
        return named;
    for (size_t i = 0; job_frameworks[i]; i++)
        if (job_frameworks[i]->write && text_equal(job_frameworks[i]->stack, name))
            return job_frameworks[i];
    return NULL;
}

const char *job_export_stack(const char *name)
{
    const struct job_framework *framework = writes_for(name);
    return framework ? framework->stack : name;
}

/* Which servers are written: all there are, or those of a pool. */
struct pool {
    const char *name;
    uint64_t servers;
};

/* "x (changed)" is x to a launch, and what changed stands beside it. */
static enum status write_launch(const struct plan *plan, const struct pool *pool,
                                const struct job_framework *framework, struct arena *arena,
                                struct job_writer *writer, struct err *err)
{
    struct plan *named = arena_alloc(arena, 1, sizeof *named);
    struct text *flags = arena_alloc(arena, 1, sizeof *flags);
    *named = *plan;
    named->model_name[strcspn(named->model_name, " ")] = '\0';
    flags->arena = arena;
    *writer = (struct job_writer){.plan = named,
                                  .framework = framework,
                                  .arena = arena,
                                  .out = flags,
                                  .pool = pool->name,
                                  .servers = pool->servers,
                                  .err = err};
    writer->settings.arena = arena;
    return framework->write(writer);
}

/* How many there are to be is the plan's to say. */
static void append_servers(const struct job_writer *writer, const char *end, struct text *out)
{
    text_printf(out, "# %s: ", writer->pool);
    if (writer->servers)
        text_printf(out, "%" PRIu64 " such server%s\n", writer->servers,
                    writer->servers == 1 ? "" : "s");
    else
        text_append(out, "as many such servers as balance\n");
    text_printf(out, "%s%s\n", text_string(writer->out), end);
}

/* Both pools' servers. */
static void append_pools(const struct launch *launch, struct text *out)
{
    const struct job_framework *framework = launch->writer.framework;
    if (framework->write_pools) {
        framework->write_pools(&launch->prefill, &launch->writer, out);
        return;
    }
    append_servers(&launch->prefill, " &", out);
    append_servers(&launch->writer, "", out);
}

enum status job_export(const struct plan *plan, const char *stack, struct arena *arena,
                       struct text *out, struct err *err)
{
    const struct job_framework *framework = writes_for(stack);
    struct launch launch = {.flags = {.arena = arena}};
    if (!framework) {
        err_set(err, STATUS_INPUT, "stack '%s' has no launch flags", stack);
        return err_hint(err, "export writes for %s", job_framework_list(arena, true));
    }
    const struct pool whole = {.name = NULL};
    const struct pool decode = {"decode", plan_deployments(plan, DUTY_ANSWERS)};
    const struct pool prefill = {"prefill", plan_deployments(plan, DUTY_PROMPTS)};
    TRY(write_launch(plan, plan->prefill ? &decode : &whole, framework, arena, &launch.writer,
                     err));
    if (plan->prefill) {
        TRY(write_launch(plan->prefill, &prefill, framework, arena, &launch.prefill, err));
        append_pools(&launch, &launch.flags);
    } else {
        text_append(&launch.flags, text_string(launch.writer.out));
    }
    return complete(&launch, out);
}
