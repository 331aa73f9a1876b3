/* The catalogue; see catalog.h. */
#include "plan/read/catalog.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/home.h"
#include "base/text.h"
#include "plan/schema/word.h"

enum { CATALOG_ROOTS = 4, CATALOG_LINE = 512, SLICE_MOST = 1000000 };

static const struct kind {
    const char *name, *folder, *ending, *list_option;
    const char *signs[4]; /* top-level keys, of which such a file has one; none: not told */
} kinds[CATALOG_KIND_COUNT] = {
    [CATALOG_MODEL] = {"model", "", ".yaml", "models", {"layers:", "base:"}},
    [CATALOG_CLUSTER] =
        {"cluster", "clusters/", ".yaml", "clusters", {"device:", "node:", "base:"}},
    [CATALOG_STACK] = {"stack", "stacks/", ".yaml", "stacks", {"kind:", "base:"}},
    [CATALOG_PUBLISHED] = {"published table", "published/", ".csv", "published", {NULL}},
    [CATALOG_PROFILE] = {"profile", "profiles/", ".yaml", "profiles", {NULL}},
};

/* Names people will try that cannot be expressed; any name with this beginning. */
static const struct unsupported {
    const char *prefix, *reason;
} unsupported[] = {
    {"deepseek-v4", "hybrid attention (compressed sparse attention)"},
    {"gemma-4", "hybrid attention (local and global layers of different shapes)"},
    {"kimi-k3", "hybrid attention (linear attention and MLA layers)"},
    {"mimo-v2", "hybrid attention (window and full layers of different shapes)"},
    {"minimax-m3", "hybrid attention (sparse and dense layers)"},
    {"step-3.7", "hybrid attention (window and full layers of different shapes)"},
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

static char *find_path(const char *name, const char *plan_folder, struct arena *arena)
{
    if (plan_folder && plan_folder[0] != '\0' && name[0] != '/') {
        char *beside = arena_printf(arena, "%s/%s", plan_folder, name);
        if (is_readable(beside))
            return beside;
    }
    return is_readable(name) ? arena_strdup(arena, name) : NULL;
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

static const char *item_name(const void *table, size_t i)
{
    return ((const struct catalog_item *)table)[i].name;
}

/* "deepseek-ai/DeepSeek-V3" -> "deepseek-v3": how the catalogue would write it. */
static char *catalogue_spelling(const char *name, struct arena *arena)
{
    char *copy = arena_strdup(arena, text_base_name(name));
    for (char *c = copy; *c; c++)
        *c = *c == '_' || *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
    return copy;
}

/* The device in a spelling ("h100" of "8xh100-80gb"): the longest name of the catalogue that
 * stands in it; *at is where. */
static const char *find_device(const char *spelling, const struct catalog_item *items, size_t n,
                               const char **at)
{
    const char *device = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *name = items[i].name, *found = strstr(spelling, name);
        if (!found || (device && strlen(name) <= strlen(device)))
            continue;
        device = name;
        *at = found;
    }
    return device;
}

/* Adds the counts in [at, end) that stand alone or beside an x: "2x8x", not the 80 of "80gb".
 */
static size_t read_counts(const char *at, const char *end, uint64_t counts[2], size_t n)
{
    while (at < end && n < 2) {
        size_t digits = strspn(at, "0123456789");
        if (at + digits > end || digits > 6)
            return n;
        const char *next = at + digits;
        if (digits && (next >= end || !isalpha((unsigned char)*next) || *next == 'x'))
            counts[n++] = (uint64_t)strtoull(at, NULL, 10);
        at = digits ? next : at + 1;
    }
    return n;
}

/* The devices of a node, of "72x1"; *node untouched when it says no such number. */
static void read_node(const char *sizes, uint64_t *node)
{
    uint64_t n[2] = {0, 0};
    if (read_counts(sizes, sizes + strcspn(sizes, "x"), n, 0) == 1 && n[0] > 0)
        *node = n[0];
}

/* "h100x8", "8xh100", "2x8xh100", "h100:16": the device with nodes of 8, as they are sold, or
 * as large as the catalogue has them ("gb200-72x1"). */
static const char *guess_cluster(const char *spelling, const struct catalog_item *items,
                                 size_t n, struct arena *arena)
{
    const char *at = NULL, *device = find_device(spelling, items, n, &at);
    uint64_t counts[2] = {0, 1}, node = 8;
    if (!device)
        return NULL;
    size_t found = read_counts(spelling, at, counts, 0);
    found = read_counts(at + strlen(device), spelling + strlen(spelling), counts, found);
    uint64_t devices = counts[0] * counts[1];
    if (found == 0 || devices == 0)
        return device;
    for (size_t i = 0; i < n; i++)
        if (text_starts(items[i].name, device) && items[i].name[strlen(device)] == '-' &&
            text_ends(items[i].name, "x1"))
            read_node(items[i].name + strlen(device) + 1, &node);
    if (devices % node)
        return arena_printf(arena, "%s-%llux1", device, (unsigned long long)devices);
    return arena_printf(arena, "%s-%llux%llu", device, (unsigned long long)node,
                        (unsigned long long)(devices / node));
}

/* The longest name of the catalogue that a spelling begins with: "kimi-k2" of
 * "kimi-k2-instruct-0905". */
static const char *longest_beginning(const char *spelling, const struct catalog_item *items,
                                     size_t n)
{
    const char *longest = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *name = items[i].name;
        if (text_starts(spelling, name) && strchr("-", spelling[strlen(name)]) &&
            (!longest || strlen(name) > strlen(longest)))
            longest = name;
    }
    return longest;
}

/* What somebody means by a name that the catalogue does not have, or NULL. */
static const char *guess(enum catalog_kind kind, const char *name, struct arena *arena)
{
    struct catalog_item *items = NULL;
    size_t n = 0;
    const char *spelling = catalogue_spelling(name, arena);
    const char *meant = word_catalogue(kinds[kind].name, spelling);
    catalog_list(kind, arena, &items, &n);
    if (!meant && kind == CATALOG_CLUSTER)
        meant = guess_cluster(spelling, items, n, arena);
    if (!meant && kind == CATALOG_MODEL)
        meant = longest_beginning(spelling, items, n);
    return meant ? meant : text_nearest(spelling, n, item_name, items);
}

static enum status not_found(enum catalog_kind kind, const char *name, struct arena *arena,
                             struct err *err)
{
    const struct kind *k = &kinds[kind];
    if (looks_like_path(name))
        err_set(err, STATUS_INPUT, "%s file '%s' cannot be opened", k->name, name);
    else
        err_set(err, STATUS_INPUT, "no %s is called '%s'", k->name, name);
    const char *meant = guess(kind, name, arena);
    if (meant)
        return err_hint(err, "did you mean '%s'?", meant);
    return err_hint(err, "`moeplan list %s` shows them all", k->list_option);
}

static const struct unsupported *find_unsupported(const char *name, struct arena *arena)
{
    const char *spelling = catalogue_spelling(name, arena);
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (text_starts(spelling, unsupported[i].prefix))
            return &unsupported[i];
    return NULL;
}

enum status catalog_find(enum catalog_kind kind, const char *name, const char *plan_folder,
                         struct arena *arena, char **path, struct err *err)
{
    char *found = looks_like_path(name) ? find_path(name, plan_folder, arena)
                                        : find_name(&kinds[kind], name, plan_folder, arena);
    if (found) {
        *path = found;
        return STATUS_OK;
    }
    const struct unsupported *known =
        kind == CATALOG_MODEL ? find_unsupported(name, arena) : NULL;
    if (!known)
        return not_found(kind, name, arena, err);
    err_set(err, STATUS_INPUT, "model '%s' is not supported: %s", name, known->reason);
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

/* "tpu-v5p-4x4x8" -> "tpu-v5p", a node of 128 in a mesh */
static bool split_slice(const char *name, struct arena *arena, char **device,
                        struct catalog_cluster *size)
{
    struct catalog_cluster slice = {.devices = 1, .nodes = 1};
    const char *dash = strrchr(name, '-'), *at = dash ? dash + 1 : name;
    if (!text_starts(name, "tpu") || !dash)
        return false;
    for (size_t i = 0; i < CATALOG_AXES; i++) {
        const char *end = at + strcspn(at, "x");
        if (!read_count(at, end, &slice.mesh[i]) || (*end == 'x') != (i + 1 < CATALOG_AXES))
            return false;
        slice.devices *= slice.mesh[i];
        at = end + (*end == 'x');
    }
    if (slice.devices > SLICE_MOST)
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
                    (split_composed(name, arena, &device, &found) ||
                     split_slice(name, arena, &device, &found));
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
