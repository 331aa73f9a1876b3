/* See draft.h. */
#include "plan/job/draft.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/pools.h"
#include "plan/read/part.h"
#include "plan/schema/schema.h"

enum { INDENT = 2, COMMENT_COLUMN = 34 };

/* ---- filling ---- */

static struct draft_item *item_of(struct draft *draft, const char *key)
{
    for (size_t i = 0; i < draft->n; i++)
        if (text_equal(draft->items[i].key, key))
            return &draft->items[i];
    draft->items = arena_grow(draft->arena, draft->items, draft->n, &draft->capacity,
                              sizeof *draft->items);
    return &draft->items[draft->n++];
}

const struct draft_item *draft_find(const struct draft *draft, const char *key)
{
    for (size_t i = 0; i < draft->n; i++)
        if (text_equal(draft->items[i].key, key))
            return &draft->items[i];
    return NULL;
}

void draft_set_list(struct draft *draft, const char *key, const char *const *words, size_t n,
                    struct mark mark, const char *origin)
{
    const char **copy = arena_alloc(draft->arena, n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_strdup(draft->arena, words[i]);
    *item_of(draft, key) = (struct draft_item){
        .key = arena_strdup(draft->arena, key),
        .words = copy,
        .n = n,
        .list = true,
        .mark = mark,
        .origin = origin,
    };
}

void draft_set(struct draft *draft, const char *key, const char *value, struct mark mark,
               const char *origin)
{
    draft_set_list(draft, key, &value, 1, mark, origin);
    item_of(draft, key)->list = false;
}

void draft_set_count(struct draft *draft, const char *key, uint64_t value, struct mark mark,
                     const char *origin)
{
    draft_set(draft, key, arena_printf(draft->arena, "%" PRIu64, value), mark, origin);
}

void draft_set_node(struct draft *draft, const char *key, const struct node *node,
                    const char *origin)
{
    *item_of(draft, key) = (struct draft_item){.key = arena_strdup(draft->arena, key),
                                               .mark = node->mark,
                                               .origin = origin,
                                               .node = node};
}

bool draft_has_part(const struct draft *draft, const char *part)
{
    size_t length = strlen(part);
    for (size_t i = 0; i < draft->n; i++)
        if (strncmp(draft->items[i].key, part, length) == 0 &&
            (draft->items[i].key[length] == '\0' || draft->items[i].key[length] == '.'))
            return true;
    return false;
}

static void drop(struct draft *draft, const char *prefix, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < draft->n; i++)
        if (!text_starts(draft->items[i].key, prefix) || (!all && draft->items[i].mark.file))
            draft->items[kept++] = draft->items[i];
    draft->n = kept;
}

void draft_drop(struct draft *draft, const char *prefix)
{
    drop(draft, prefix, true);
}

void draft_drop_defaults(struct draft *draft, const char *prefix)
{
    drop(draft, prefix, false);
}

/* ---- order: that of the field table, "model.base" before what it changes ---- */

static const char *base_of(const char *key)
{
    const char *dot = strchr(key, '.');
    for (size_t i = 0; part_keys[i] && dot && text_equal(dot, ".base"); i++)
        if (text_starts(key, part_keys[i]) && strlen(part_keys[i]) == (size_t)(dot - key))
            return part_keys[i];
    return key;
}

static size_t place(const char *key)
{
    size_t n;
    const struct field *fields = schema_fields(&n), *field = schema_find(key);
    if (field)
        return (size_t)(field - fields);
    if (text_starts(key, POOL_PREFIX)) /* what prefill servers have otherwise comes last */
        return n + 1 + place(base_of(key + sizeof POOL_PREFIX - 1));
    size_t length = strlen(key);
    for (size_t i = 0; i < n; i++) /* a group: in front of its first field */
        if (strncmp(fields[i].key, key, length) == 0 && fields[i].key[length] == '.')
            return i;
    return n;
}

static int by_place(const void *a, const void *b)
{
    const struct draft_item *first = a, *second = b;
    size_t x = place(base_of(first->key)), y = place(base_of(second->key));
    return x < y ? -1 : x > y;
}

/* A part that has a name and changes to it is a mapping with that name as its base. */
static void settle_part(struct draft *draft, const char *part)
{
    bool changed = false;
    const char *below = arena_printf(draft->arena, "%s.", part);
    for (size_t j = 0; j < draft->n; j++)
        changed = changed || text_starts(draft->items[j].key, below);
    for (size_t j = 0; j < draft->n && changed; j++)
        if (text_equal(draft->items[j].key, part))
            draft->items[j].key = arena_printf(draft->arena, "%sbase", below);
}

static void settle(struct draft *draft)
{
    for (size_t i = 0; part_keys[i]; i++) {
        settle_part(draft, part_keys[i]);
        settle_part(draft, arena_printf(draft->arena, "%s%s", POOL_PREFIX, part_keys[i]));
    }
    if (draft->n)
        qsort(draft->items, draft->n, sizeof *draft->items, by_place);
}

/* ---- as a tree ---- */

static bool is_plain(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_.-+/")] == '\0' &&
           (isalnum((unsigned char)text[0]) || strchr("/.", text[0]));
}

static struct node *scalar(struct draft *draft, const char *text, struct mark mark)
{
    struct node *node = arena_alloc(draft->arena, 1, sizeof *node);
    *node = (struct node){
        .kind = NODE_SCALAR, .quoted = !is_plain(text), .mark = mark, .text = text};
    return node;
}

static struct node *value_of(struct draft *draft, const struct draft_item *item,
                             struct mark mark)
{
    if (item->node) {
        struct node *copy = arena_alloc(draft->arena, 1, sizeof *copy);
        *copy = *item->node;
        copy->next = NULL;
        return copy;
    }
    if (!item->list)
        return scalar(draft, item->words[0], mark);
    struct node *list = arena_alloc(draft->arena, 1, sizeof *list), **link = &list->first;
    *list = (struct node){.kind = NODE_SEQUENCE, .mark = mark, .text = "", .n = item->n};
    for (size_t i = 0; i < item->n; i++, link = &(*link)->next)
        *link = scalar(draft, item->words[i], mark);
    return list;
}

static struct node *put(struct node *parent, struct node *child, const char *key)
{
    struct node **link = &parent->first;
    while (*link)
        link = &(*link)->next;
    *link = child;
    parent->n++;
    child->key = key;
    child->key_mark = child->mark;
    return child;
}

static void plant(struct draft *draft, struct node *root, const struct draft_item *item,
                  struct mark mark)
{
    struct node *parent = root;
    const char *at = item->key;
    for (const char *dot; (dot = strchr(at, '.')) != NULL; at = dot + 1) {
        const char *group = arena_strndup(draft->arena, at, (size_t)(dot - at));
        struct node *child = node_get(parent, group);
        if (!child) {
            child = arena_alloc(draft->arena, 1, sizeof *child);
            *child = (struct node){.kind = NODE_MAPPING, .mark = mark, .text = ""};
            put(parent, child, group);
        }
        parent = child;
    }
    put(parent, value_of(draft, item, mark), at);
}

/* A default has no place of its own: the job file stands for it. */
struct node *draft_tree(struct draft *draft, const char *file)
{
    struct node *root = arena_alloc(draft->arena, 1, sizeof *root);
    *root = (struct node){.kind = NODE_MAPPING, .mark = {.file = file}, .text = ""};
    settle(draft);
    for (size_t i = 0; i < draft->n; i++) {
        const struct draft_item *item = &draft->items[i];
        plant(draft, root, item, item->mark.file ? item->mark : (struct mark){.file = file});
    }
    return root;
}

/* ---- as a plan file ---- */

static void print_scalar(const char *text, struct text *out)
{
    if (is_plain(text)) {
        text_append(out, text);
        return;
    }
    struct text quoted = {.arena = out->arena};
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            text_append(&quoted, "\\");
        text_append_n(&quoted, text, 1);
    }
    text_append(out, "\"");
    text_append_visible(out, text_string(&quoted)); /* as YAML escapes what is not seen */
    text_append(out, "\"");
}

static void print_value(const struct draft_item *item, struct text *out)
{
    text_append(out, item->list ? "[" : "");
    for (size_t i = 0; i < item->n; i++) {
        text_append(out, i ? ", " : "");
        print_scalar(item->words[i], out);
    }
    text_append(out, item->list ? "]" : "");
}

static size_t shared_groups(const char *a, const char *b)
{
    size_t shared = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        shared = a[i] == '.' ? i + 1 : shared;
    return shared;
}

/* Opens the groups of a key that the one before it does not share; returns its last part. */
static const char *print_groups(const char *key, const char *before, int *depth,
                                struct text *out)
{
    size_t shared = shared_groups(before, key);
    const char *at = key;
    *depth = 0;
    for (const char *dot; (dot = strchr(at, '.')) != NULL; at = dot + 1, ++*depth) {
        if (at < key + shared)
            continue;
        text_printf(out, "%*s%.*s:\n", *depth * INDENT, "", (int)(dot - at), at);
    }
    return at;
}

void draft_print(struct draft *draft, const char *file, struct text *out)
{
    const char *before = "";
    settle(draft);
    for (size_t i = 0; i < draft->n; i++) {
        const struct draft_item *item = &draft->items[i];
        int depth;
        const char *name = print_groups(item->key, before, &depth, out);
        struct text line = {.arena = draft->arena};
        text_printf(&line, "%*s%s: ", depth * INDENT, "", name);
        print_value(item, &line);
        int gap = line.length < COMMENT_COLUMN ? (int)(COMMENT_COLUMN - line.length) : 1;
        text_append(out, text_string(&line));
        text_printf(out, "%*s# ", gap, "");
        text_append_visible(out, item->origin); /* a job's words, in one line */
        if (item->mark.line && !text_equal(item->mark.file, file)) {
            text_append(out, ", ");
            text_append_visible(out, item->mark.file);
        }
        if (item->mark.line)
            text_printf(out, ", line %u", item->mark.line);
        text_append(out, "\n");
        before = item->key;
    }
}

/* ---- errors ---- */

static bool stands_at(const struct draft_item *item, const char *where)
{
    char place[sizeof((struct err *)0)->where];
    if (!item->mark.file || !item->mark.line)
        return false;
    snprintf(place, sizeof place, "%s:%u:%u", item->mark.file, item->mark.line,
             item->mark.column);
    return text_equal(place, where);
}

/* Of one place's keys that which the error speaks of, or the first. */
static const struct draft_item *blamed(const struct draft *draft, const struct err *err)
{
    const struct draft_item *found = NULL;
    for (size_t i = 0; i < draft->n; i++) {
        const struct draft_item *item = &draft->items[i];
        if (!stands_at(item, err->where))
            continue;
        if (strstr(err->text, item->key))
            return item;
        found = found ? found : item;
    }
    return found;
}

enum status draft_blame(const struct draft *draft, struct err *err)
{
    const struct draft_item *item = draft ? blamed(draft, err) : NULL;
    size_t length = strlen(err->text);
    if (item && item->origin && !strstr(err->text, item->origin))
        snprintf(err->text + length, sizeof err->text - length, " (%s)", item->origin);
    return err->status;
}
