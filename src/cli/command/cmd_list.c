/* moeplan list: what a plan can name. */
#include "base/column.h"
#include "base/unit.h"
#include "cli/command/commands.h"
#include "cli/option/keys.h"
#include "cli/help/manual_key.h"
#include "exec/gpu/device.h"
#include "plan/read/catalog.h"
#include "work/stack/stack.h"

struct row {
    const char *name, *summary, *path;
};

static const struct column columns[] = {
    {.key = "name", .type = COLUMN_TEXT, .offset = offsetof(struct row, name)},
    {.key = "summary", .type = COLUMN_TEXT, .offset = offsetof(struct row, summary)},
    {.key = "path", .type = COLUMN_TEXT, .offset = offsetof(struct row, path)},
};

enum { COLUMNS_TEXT = 2, COLUMNS_ALL = 3 };

static void print_rows(const struct invocation *call, const struct row *rows, size_t n)
{
    const struct table table = {.columns = columns,
                                .n = COLUMNS_ALL,
                                .records = rows,
                                .n_records = n,
                                .record_size = sizeof *rows};
    command_print_table(call, &table, COLUMNS_TEXT);
}

/* ---- catalogues ---- */

static void list_catalog(const struct invocation *call, enum catalog_kind kind)
{
    struct catalog_item *items;
    size_t n;
    catalog_list(kind, call->arena, &items, &n);
    struct row *rows = arena_alloc(call->arena, n + 1, sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct row){items[i].name, items[i].summary, items[i].path};
    print_rows(call, rows, n);
}

static void list_models(const struct invocation *call)
{
    list_catalog(call, CATALOG_MODEL);
}

static void list_clusters(const struct invocation *call)
{
    list_catalog(call, CATALOG_CLUSTER);
}

/* A stack as its builder describes it, with the paths it runs and why no others. */
struct stack_row {
    const char *name, *summary, *paths, *only, *path;
};

static const struct column stack_columns[] = {
    {.key = "name", .type = COLUMN_TEXT, .offset = offsetof(struct stack_row, name)},
    {.key = "summary", .type = COLUMN_TEXT, .offset = offsetof(struct stack_row, summary)},
    {.key = "paths", .type = COLUMN_TEXT, .offset = offsetof(struct stack_row, paths)},
    {.key = "only", .type = COLUMN_TEXT, .offset = offsetof(struct stack_row, only)},
    {.key = "path", .type = COLUMN_TEXT, .offset = offsetof(struct stack_row, path)},
};

enum { STACK_COLUMNS_TEXT = 3, STACK_COLUMNS = 5 };

static struct stack_row stack_row_of(const struct catalog_item *item, struct arena *arena)
{
    struct stack_row row = {item->name, item->summary, "all", NULL, item->path};
    for (unsigned kind = 0; kind < STACK_COUNT; kind++) {
        const struct stack_system *system = stack_system((enum stack_kind)kind);
        if (!text_equal(words_stack[kind], item->name) || system->kind != kind)
            continue;
        struct text paths = {.arena = arena};
        stack_paths_print(system, &paths);
        row.summary = system->title;
        row.paths = text_string(&paths);
        row.only = system->only;
    }
    return row;
}

static void list_stacks(const struct invocation *call)
{
    struct catalog_item *items;
    size_t n;
    catalog_list(CATALOG_STACK, call->arena, &items, &n);
    struct stack_row *rows = arena_alloc(call->arena, n + 1, sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = stack_row_of(&items[i], call->arena);
    const struct table table = {.columns = stack_columns,
                                .n = STACK_COLUMNS,
                                .records = rows,
                                .n_records = n,
                                .record_size = sizeof *rows};
    command_print_table(call, &table, STACK_COLUMNS_TEXT);
}

static void list_tables(const struct invocation *call)
{
    list_catalog(call, CATALOG_PUBLISHED);
}

static void list_profiles(const struct invocation *call)
{
    list_catalog(call, CATALOG_PROFILE);
}

static void list_paths(const struct invocation *call)
{
    size_t n = paths_count();
    struct row *rows = arena_alloc(call->arena, n, sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct row){words_path[i], path_title((enum moe_path)i), NULL};
    print_rows(call, rows, n);
}

static void list_keys(const struct invocation *call)
{
    size_t n;
    const struct key_row *rows = key_rows(call->arena, &n);
    manual_keys(call, rows, n);
}

/* ---- devices ---- */

struct devices {
    const struct invocation *call;
    struct row row[64];
    size_t n;
};

/* A device, or why a driver has none. */
static void add_device(void *context, const struct gpu_driver *driver,
                       const struct gpu_facts *facts, const char *why)
{
    struct devices *devices = context;
    struct text name = {.arena = devices->call->arena}, text = {.arena = devices->call->arena};
    if (devices->n == sizeof devices->row / sizeof *devices->row)
        return;
    if (facts) {
        text_printf(&name, "%s:%u", driver->name, facts->number);
        text_printf(&text, "%s, %s", facts->name, facts->driver);
        if (facts->units)
            text_printf(&text, ", %llu units", (unsigned long long)facts->units);
        text_printf(&text, ", %.1f GiB", (double)facts->memory_bytes / GIB);
    } else {
        text_printf(&name, "%s", driver->name);
        text_printf(&text, "none: %s", why);
    }
    devices->row[devices->n++] = (struct row){text_string(&name), text_string(&text), NULL};
}

static void list_devices(const struct invocation *call)
{
    struct devices devices = {.call = call};
    gpu_list(add_device, &devices);
    print_rows(call, devices.row, devices.n);
}

/* ---- the command ---- */

static const struct {
    const char *name, *summary;
    void (*list)(const struct invocation *call);
} catalogues[] = {
    {"models", "models that `model:` can name", list_models},
    {"clusters", "clusters and devices that `cluster:` can name", list_clusters},
    {"stacks", "software stacks that `stack:` can name", list_stacks},
    {"paths", "ways to execute an MoE layer, for `moe.path:`", list_paths},
    {"keys", "every key of the plan file", list_keys},
    {"tables", "published measurements", list_tables},
    {"profiles", "constants of time, by stack and device", list_profiles},
    {"devices", "GPUs that `run --backend gpu --device` can name", list_devices},
};

enum { N_CATALOGUES = sizeof catalogues / sizeof *catalogues };

static const char *catalogue_at(const void *table, size_t i)
{
    (void)table;
    return catalogues[i].name;
}

static enum status unknown_catalogue(const char *name, struct arena *arena, struct err *err)
{
    struct text names = {.arena = arena};
    for (size_t i = 0; i < N_CATALOGUES; i++)
        text_printf(&names, "%s%s", i ? ", " : "", catalogues[i].name);
    err_set(err, STATUS_USAGE, "nothing is listed under '%s'", name);
    const char *nearest = text_nearest(name, N_CATALOGUES, catalogue_at, NULL);
    if (nearest)
        return err_hint(err, "did you mean '%s'? one of: %s", nearest, text_string(&names));
    return err_hint(err, "one of: %s", text_string(&names));
}

static enum status run_list(const struct invocation *call, struct err *err)
{
    if (call->n_operands == 0) {
        struct row rows[N_CATALOGUES];
        for (size_t i = 0; i < N_CATALOGUES; i++)
            rows[i] = (struct row){catalogues[i].name, catalogues[i].summary, NULL};
        print_rows(call, rows, N_CATALOGUES);
        return STATUS_OK;
    }
    for (size_t i = 0; i < N_CATALOGUES; i++)
        if (text_equal(catalogues[i].name, call->operands[0])) {
            catalogues[i].list(call);
            return STATUS_OK;
        }
    return unknown_catalogue(call->operands[0], call->arena, err);
}

static const char *const words[] = {"models", "clusters", "stacks",  "paths", "keys",
                                    "tables", "profiles", "devices", NULL};

static const char *const examples[] = {"moeplan list models", "moeplan list keys --format csv",
                                       NULL};

const struct command command_list = {
    .name = "list",
    .operands = "[models | clusters | stacks | paths | keys | tables | profiles | devices]",
    .summary = "list models, clusters, stacks, paths, keys or devices",
    .description =
        "Lists what a plan can name, with a line on each. Files of your own are found beside "
        "the plan, in the folder that MOEPLAN_DATA names and in ./models.\n\n"
        "A cluster of any size is composed from its device: h200-8x4 is four nodes of eight.",
    .words = words,
    .examples = examples,
    .max_operands = 1,
    .planless = true,
    .run = run_list,
};
