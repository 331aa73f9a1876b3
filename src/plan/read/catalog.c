/* The catalogue; see catalog.h. */
#include "plan/read/catalog.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/home.h"
#include "base/text.h"
#include "plan/read/guess.h"
#include "plan/read/model_names.h"

enum { CATALOG_ROOTS = 4, CATALOG_LINE = 512, SLICE_MOST = 1000000 };

static const struct kind {
    const char *name, *folder, *ending, *list_option;
    const char *signs[4]; /* top-level keys, of which such a file has one; none: not told */
    const char *other;    /* what else may stand in its place */
} kinds[CATALOG_KIND_COUNT] = {
    [CATALOG_MODEL] = {"model",
                       "",
                       ".yaml",
                       "models",
                       {"layers:", "base:"},
                       "; a HuggingFace config.json may stand in place of a name"},
    [CATALOG_CLUSTER] = {"cluster",
                         "clusters/",
                         ".yaml",
                         "clusters",
                         {"device:", "node:", "base:"},
                         "; a file of your own may stand in place of a name"},
    [CATALOG_STACK] = {"stack",
                       "stacks/",
                       ".yaml",
                       "stacks",
                       {"kind:", "base:"},
                       "; 'generic' is software of none of these names"},
    [CATALOG_PUBLISHED] = {"published table", "published/", ".csv", "tables", {NULL}, ""},
    [CATALOG_PROFILE] = {"profile", "profiles/", ".yaml", "profiles", {NULL}, ""},
};

/* ---- roots ---- */

struct roots {
    size_t n;
    const char *path[CATALOG_ROOTS];
};

static void roots_add(struct roots *roots, const char *path)
{
    if (path && path[0] != '\0')
        roots->path[roots->n++] = path;
}

static struct roots roots_shared(struct arena *arena)
{
    struct roots roots = {0};
    const char *data = home_user_data();
    roots_add(&roots, data);
    if (data)
        roots_add(&roots, arena_printf(arena, "%s/models", data));
    roots_add(&roots, "models");
    roots_add(&roots, arena_printf(arena, "%s/models", home_data(arena)));
    return roots;
}

/* ---- files ---- */

static bool is_readable(const char *path)
{
    return access(path, R_OK) == 0;
}

/* Behind a byte order mark. */
static const char *line_text(const char *line)
{
    return line + (text_starts(line, "\xef\xbb\xbf") ? 3 : 0);
}

static bool begins_with_any(const char *line, const char *const *signs)
{
    for (; *signs; signs++)
        if (text_starts(line, *signs))
            return true;
    return false;
}

/* A line that begins with one of the signs, ending with NULL. */
static bool has_sign(const char *path, const char *const *signs)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    char line[CATALOG_LINE];
    bool found = false;
    while (!found && fgets(line, sizeof line, file))
        found = begins_with_any(line_text(line), signs);
    fclose(file);
    return found;
}

/* A plan has a top-level key "model"; no file of the catalogue has. */
static bool is_plan(const char *path)
{
    static const char *const signs[] = {"model:", NULL};
    return has_sign(path, signs);
}

static char *find_in_plan_folder(const struct kind *kind, const char *name, const char *folder,
                                 struct arena *arena)
{
    if (!folder || folder[0] == '\0')
        return NULL;
    const char *below[] = {kind->folder, ""};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        char *path = arena_printf(arena, "%s/%s%s%s", folder, below[i], name, kind->ending);
        if (file_is_there(path) && !is_plan(path))
            return path;
    }
    return NULL;
}

/* A file beside the plan goes first, unless it is of another kind (Accelerate's own fsdp.yaml,
 * a server's vllm.yaml) and the catalogue has the name. */
static char *find_name(const struct kind *kind, const char *name, const char *plan_folder,
                       struct arena *arena)
{
    char *beside = find_in_plan_folder(kind, name, plan_folder, arena);
    if (beside && (!kind->signs[0] || has_sign(beside, kind->signs)))
        return beside;
    struct roots roots = roots_shared(arena);
    for (size_t i = 0; i < roots.n; i++) {
        char *path =
            arena_printf(arena, "%s/%s%s%s", roots.path[i], kind->folder, name, kind->ending);
        if (file_is_there(path))
            return path;
    }
    return beside;
}

/* Of a checkpoint's folder its configuration. */
static char *file_or_config(const char *path, enum catalog_kind kind, struct arena *arena)
{
    char *config = arena_printf(arena, "%s/config.json", path);
    if (kind == CATALOG_MODEL && file_is_there(config))
        return config;
    return is_readable(path) ? arena_strdup(arena, path) : NULL;
}

static char *find_path(enum catalog_kind kind, const char *name, const char *plan_folder,
                       struct arena *arena)
{
    char *beside = NULL;
    if (plan_folder && plan_folder[0] != '\0' && name[0] != '/')
        beside = file_or_config(arena_printf(arena, "%s/%s", plan_folder, name), kind, arena);
    return beside ? beside : file_or_config(name, kind, arena);
}

static bool looks_like_path(const char *name)
{
    static const char *const endings[] = {".yaml", ".yml", ".json", ".csv"};
    if (strchr(name, '/'))
        return true;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends(name, endings[i]))
            return true;
    return false;
}

/* ---- what is not there ---- */

static enum status not_found(enum catalog_kind kind, const char *name, struct arena *arena,
                             struct err *err)
{
    const struct kind *k = &kinds[kind];
    if (looks_like_path(name))
        err_set(err, STATUS_INPUT, "%s file '%s' cannot be opened: %s", k->name, name,
                access(name, R_OK) ? strerror(errno) : "not there");
    else
        err_set(err, STATUS_INPUT, "no %s is called '%s'", k->name, name);
    struct catalog_item *items = NULL;
    size_t n = 0;
    catalog_list(kind, arena, &items, &n);
    const char *meant = guess_hint(kind, k->name, name, items, n, arena);
    if (meant)
        return err_hint(err, "%s", meant);
    return err_hint(err, "`moeplan list %s` shows them all%s", k->list_option,
                    looks_like_path(name) ? "" : k->other);
}

enum status catalog_find(enum catalog_kind kind, const char *name, const char *plan_folder,
                         struct arena *arena, char **path, struct err *err)
{
    char *found = looks_like_path(name) ? find_path(kind, name, plan_folder, arena)
                                        : find_name(&kinds[kind], name, plan_folder, arena);
    if (!found && kind == CATALOG_PUBLISHED) /* a table of one's own may be called anything */
        found = find_path(kind, name, plan_folder, arena);
    if (found) {
        *path = found;
        return STATUS_OK;
    }
    const char *why = kind == CATALOG_MODEL ? model_name_refused(name, arena) : NULL;
    if (!why)
        return not_found(kind, name, arena, err);
    err_set(err, STATUS_INPUT, "model '%s' is not supported: %s", name, why);
    return err_hint(err, "a model file may say its layers where they are of known types");
}

bool catalog_has(enum catalog_kind kind, const char *name, struct arena *arena, char **path)
{
    char *found = find_name(&kinds[kind], name, NULL, arena);
    if (found)
        *path = found;
    return found != NULL;
}

/* ---- clusters ---- */

/* Digits without a leading zero, at most 6 of them, up to `end`. */
static bool read_count(const char *digits, const char *end, uint64_t *count)
{
    if (digits == end || end - digits > 6 || digits[0] == '0')
        return false;
    uint64_t value = 0;
    for (const char *c = digits; c < end; c++) {
        if (!isdigit((unsigned char)*c))
            return false;
        value = value * 10 + (uint64_t)(*c - '0');
    }
    *count = value;
    return true;
}

/* "h100-8x2" -> "h100", 8, 2 */
static bool split_composed(const char *name, struct arena *arena, char **device,
                           struct catalog_cluster *size)
{
    const char *dash = strrchr(name, '-');
    const char *times = dash ? strchr(dash, 'x') : NULL;
    if (!times || dash == name || !read_count(dash + 1, times, &size->devices) ||
        !read_count(times + 1, name + strlen(name), &size->nodes))
        return false;
    *device = arena_strndup(arena, name, (size_t)(dash - name));
    return true;
}

/* TPUs whose chips have links along two axes. */
static bool is_flat(const char *name)
{
    return text_starts(name, "tpu-v5e-") || text_starts(name, "tpu-v6e-");
}

/* "tpu-v5p-4x4x8" -> "tpu-v5p", a node of 128 in a mesh; "tpu-v6e-16x16", while "tpu-v6e-8x1"
 * is a node of 8 and "tpu-v5p-4x16" are 16 nodes. */
static bool split_slice(const char *name, struct arena *arena, char **device,
                        struct catalog_cluster *size)
{
    struct catalog_cluster slice = {.devices = 1, .nodes = 1};
    const char *dash = strrchr(name, '-'), *at = dash ? dash + 1 : name;
    uint64_t shortest = SLICE_MOST;
    size_t axes = 0;
    if (!text_starts(name, "tpu") || !dash)
        return false;
    for (bool more = true; more; axes++) {
        const char *end = at + strcspn(at, "x");
        if (axes == CATALOG_AXES || !read_count(at, end, &slice.mesh[axes]))
            return false;
        slice.devices *= slice.mesh[axes];
        shortest = slice.mesh[axes] < shortest ? slice.mesh[axes] : shortest;
        more = *end == 'x';
        at = end + more;
    }
    if (axes < 2 || (axes == 2 && (shortest == 1 || !is_flat(name))) ||
        slice.devices > SLICE_MOST)
        return false;
    *size = slice;
    *device = arena_strndup(arena, name, (size_t)(dash - name));
    return true;
}

enum status catalog_find_cluster(const char *name, const char *plan_folder, struct arena *arena,
                                 struct catalog_cluster *cluster, struct err *err)
{
    struct catalog_cluster found = {0};
    char *device = NULL;
    bool composed = !looks_like_path(name) &&
                    !find_name(&kinds[CATALOG_CLUSTER], name, plan_folder, arena) &&
                    (split_slice(name, arena, &device, &found) ||
                     split_composed(name, arena, &device, &found));
    TRY(catalog_find(CATALOG_CLUSTER, composed ? device : name, plan_folder, arena, &found.path,
                     err));
    *cluster = found;
    return STATUS_OK;
}

/* ---- listing ---- */

/* The comment in the first line, without "# " and line end; "" when there is none. */
static const char *first_comment(FILE *file, struct arena *arena)
{
    char line[CATALOG_LINE];
    if (!fgets(line, sizeof line, file) || !text_starts(line_text(line), "# "))
        return "";
    line[strcspn(line, "\r\n")] = '\0';
    return arena_strdup(arena, line_text(line) + 2);
}

static const char *count_rows(FILE *file, struct arena *arena)
{
    size_t lines = 0, n;
    char bytes[BUFSIZ];
    while ((n = fread(bytes, 1, sizeof bytes, file)) > 0)
        for (const char *at = bytes; (at = memchr(at, '\n', n - (size_t)(at - bytes))); at++)
            lines++;
    return arena_printf(arena, "%zu rows", lines > 0 ? lines - 1 : 0);
}

static const char *summarise(const char *path, struct arena *arena)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return "";
    const char *summary =
        text_ends(path, ".csv") ? count_rows(file, arena) : first_comment(file, arena);
    fclose(file);
    return summary;
}

struct list {
    struct catalog_item *items;
    size_t n, capacity;
};

static bool list_has(const struct list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (text_equal(list->items[i].name, name))
            return true;
    return false;
}

static void list_add(struct list *list, const char *folder, const char *file,
                     const char *ending, struct arena *arena)
{
    if (!text_ends(file, ending) || file[0] == '.')
        return;
    char *name = arena_strndup(arena, file, strlen(file) - strlen(ending));
    const char *path = arena_printf(arena, "%s%s", folder, file);
    if (list_has(list, name) || !file_is_there(path))
        return;
    list->items = arena_grow(arena, list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] = (struct catalog_item){name, path, summarise(path, arena)};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct catalog_item *)a)->name,
                  ((const struct catalog_item *)b)->name);
}

void catalog_list(enum catalog_kind kind, struct arena *arena, struct catalog_item **items,
                  size_t *n)
{
    struct list list = {0};
    struct roots roots = roots_shared(arena);
    for (size_t i = 0; i < roots.n; i++) {
        const char *folder = arena_printf(arena, "%s/%s", roots.path[i], kinds[kind].folder);
        DIR *open = opendir(folder);
        if (!open)
            continue;
        for (struct dirent *entry = readdir(open); entry; entry = readdir(open))
            list_add(&list, folder, entry->d_name, kinds[kind].ending, arena);
        closedir(open);
    }
    if (list.n > 0)
        qsort(list.items, list.n, sizeof *list.items, by_name);
    *items = list.items;
    *n = list.n;
}
