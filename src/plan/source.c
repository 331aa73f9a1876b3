/* libyaml's events as a tree, with the guards libyaml does not have; see source.h.
 *
 * The depth is checked event by event: libyaml's own loader takes seconds for some thousand
 * open brackets. The characters are checked beforehand, because libyaml reports a bad one
 * without its place. */
#include "plan/source.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/text.h"
#include "plan/encoding.h"

struct reader {
    yaml_parser_t parser;
    struct arena *arena;
    const char *file;
    bool option;  /* marks have no line */
    bool anchors; /* anchors, aliases and merge keys are read, not refused */
    struct anchor *anchor;
    size_t n_anchors, anchor_capacity, n_copies;
    struct err *err;
};

/* A node that is complete and may stand again. */
struct anchor {
    const char *name;
    const struct node *node;
};

enum { COPIES = 100000 };

static struct mark mark_of(const struct reader *reader, yaml_mark_t mark)
{
    if (reader->option)
        return (struct mark){.file = reader->file};
    return (struct mark){reader->file, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

/* What to do about libyaml's commonest complaints. */
static const struct {
    const char *problem, *hint;
} parser_hints[] = {
    {"found character that cannot start any token",
     "indent with spaces, and put texts that start with @, ` or % in quotes"},
    {"found a tab character that violates indentation", "indent with spaces"},
    {"mapping values are not allowed in this context",
     "one 'key: value' a line; put texts that hold ': ' in quotes"},
    {"did not find expected ',' or '}'",
     "entries are separated by ',' and end with '}'; a key has at most 1024 characters"},
    {"did not find expected ',' or ']'", "items are separated by ',' and end with ']'"},
    {"could not find expected ':'",
     "a key is followed by ': ' on its line and has at most 1024 characters"},
    {"did not find expected key", "the keys of one mapping start in the same column"},
    {"did not find expected '-' indicator", "the items of one list start in the same column"},
    {"did not find expected node content",
     "a value is missing here, or a text that starts with a comma or bracket needs quotes"},
    {"block sequence entries are not allowed in this context",
     "the items of a list stand on lines of their own; put a text that starts with - in "
     "quotes"},
    {"did not find expected comment or line break",
     "put a text that starts with | or > in quotes"},
    {"found unexpected end of stream", "a quote that is opened must be closed"},
    {"found unknown escape character", "write \\ as \\\\, or use single quotes"},
    {"did not find expected <document start>", "a file holds one mapping and nothing after it"},
};

static enum status parser_fail(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return err_set(reader->err, STATUS_SYSTEM, "out of memory while reading '%s'",
                       reader->file);
    const char *problem = parser->problem ? parser->problem : "not valid YAML";
    struct mark mark = mark_of(reader, parser->problem_mark);
    if (parser->context && !reader->option)
        err_at(reader->err, mark, "%s %s from line %zu, column %zu", problem, parser->context,
               parser->context_mark.line + 1, parser->context_mark.column + 1);
    else
        err_at(reader->err, mark, "%s", problem);
    for (size_t i = 0; i < sizeof parser_hints / sizeof *parser_hints; i++) {
        if (text_equal(problem, parser_hints[i].problem))
            return err_hint(reader->err, "%s", parser_hints[i].hint);
    }
    return STATUS_INPUT;
}

static enum status next_event(struct reader *reader, yaml_event_t *event)
{
    if (!yaml_parser_parse(&reader->parser, event))
        return parser_fail(reader);
    return STATUS_OK;
}

static enum status refuse(struct reader *reader, struct mark mark, const char *what,
                          const char *name, const char *hint)
{
    err_at(reader->err, mark, "%s '%s' is not supported", what, name);
    return err_hint(reader->err, "%s", hint);
}

/* Anchors and tags of any node, aliases in place of one. */
static enum status check_decoration(struct reader *reader, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    struct mark mark = mark_of(reader, event->start_mark);
    if (event->type == YAML_ALIAS_EVENT && !reader->anchors)
        return refuse(reader, mark, "alias", (const char *)event->data.alias.anchor,
                      "write the value out again");
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor && !reader->anchors)
        return refuse(reader, mark, "anchor", (const char *)anchor,
                      "write the value out wherever it is used");
    if (tag)
        return refuse(reader, mark, "tag", (const char *)tag,
                      "remove it: the type of a value follows from its key");
    return STATUS_OK;
}

/* ---- anchors: what stands twice shares its children ---- */

static const char *anchor_name(struct reader *reader, const yaml_event_t *event)
{
    const yaml_char_t *name = NULL;
    if (event->type == YAML_SCALAR_EVENT)
        name = event->data.scalar.anchor;
    else if (event->type == YAML_SEQUENCE_START_EVENT)
        name = event->data.sequence_start.anchor;
    else if (event->type == YAML_MAPPING_START_EVENT)
        name = event->data.mapping_start.anchor;
    return name ? arena_strdup(reader->arena, (const char *)name) : NULL;
}

static void remember(struct reader *reader, const char *name, const struct node *node)
{
    if (!name)
        return;
    reader->anchor = arena_grow(reader->arena, reader->anchor, reader->n_anchors,
                                &reader->anchor_capacity, sizeof *reader->anchor);
    reader->anchor[reader->n_anchors++] = (struct anchor){name, node};
}

static enum status copy_node(struct reader *reader, const struct node *node, struct mark mark,
                             struct node **copy)
{
    if (reader->n_copies++ == COPIES)
        return err_at(reader->err, mark, "aliases and merge keys repeat more than %d values",
                      COPIES);
    *copy = arena_alloc(reader->arena, 1, sizeof **copy);
    **copy = *node;
    (*copy)->next = NULL;
    return STATUS_OK;
}

/* Only what is complete has an anchor yet, so that nothing contains itself. */
static enum status resolve_alias(struct reader *reader, const yaml_event_t *event,
                                 struct node **node)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct mark mark = mark_of(reader, event->start_mark);
    for (size_t i = reader->n_anchors; i > 0; i--)
        if (text_equal(reader->anchor[i - 1].name, name))
            return copy_node(reader, reader->anchor[i - 1].node, mark, node);
    return err_at(reader->err, mark, "alias '%s' has no anchor before it", name);
}

static enum status merge_mapping(struct reader *reader, struct node *mapping,
                                 const struct node *source)
{
    if (source->kind != NODE_MAPPING)
        return err_at(reader->err, source->mark, "'<<' takes a mapping, not %s",
                      node_kind_name(source->kind));
    for (const struct node *child = source->first; child; child = child->next) {
        struct node **link = &mapping->first, *copy;
        while (*link && !text_equal((*link)->key, child->key))
            link = &(*link)->next;
        if (*link)
            continue;
        TRY(copy_node(reader, child, source->mark, &copy));
        *link = copy;
        mapping->n++;
    }
    return STATUS_OK;
}

/* "<<": what the mapping does not say itself. */
static enum status merge(struct reader *reader, struct node *mapping)
{
    struct node **link = &mapping->first;
    while (*link && !(text_equal((*link)->key, "<<") && reader->anchors))
        link = &(*link)->next;
    if (!*link)
        return STATUS_OK;
    const struct node *sources = *link;
    *link = sources->next;
    mapping->n--;
    if (sources->kind != NODE_SEQUENCE)
        return merge_mapping(reader, mapping, sources);
    for (const struct node *source = sources->first; source; source = source->next)
        TRY(merge_mapping(reader, mapping, source));
    return STATUS_OK;
}

static struct node *node_create(struct reader *reader, const yaml_event_t *event)
{
    struct node *node = arena_alloc(reader->arena, 1, sizeof *node);
    node->mark = mark_of(reader, event->start_mark);
    node->text = "";
    if (event->type == YAML_SEQUENCE_START_EVENT)
        node->kind = NODE_SEQUENCE;
    if (event->type == YAML_MAPPING_START_EVENT)
        node->kind = NODE_MAPPING;
    if (event->type == YAML_SCALAR_EVENT) {
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        node->text = arena_strndup(reader->arena, (const char *)event->data.scalar.value,
                                   event->data.scalar.length);
    }
    return node;
}

/* "\0" in a double-quoted scalar is the one way to a NUL byte. */
static enum status check_scalar(struct reader *reader, const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT ||
        !memchr(event->data.scalar.value, '\0', event->data.scalar.length))
        return STATUS_OK;
    return err_at(reader->err, mark_of(reader, event->start_mark),
                  "a text holds a NUL character");
}

static int compare_keys(const void *a, const void *b)
{
    const struct node *first = *(struct node *const *)a, *second = *(struct node *const *)b;
    int order = strcmp(first->key, second->key);
    if (order != 0)
        return order;
    if (first->key_mark.line != second->key_mark.line)
        return first->key_mark.line < second->key_mark.line ? -1 : 1;
    return first->key_mark.column < second->key_mark.column ? -1 : 1;
}

/* By sorting: a file may hold a hundred thousand keys. */
static enum status check_duplicates(struct reader *reader, const struct node *mapping)
{
    if (mapping->n < 2)
        return STATUS_OK;
    struct node **sorted = arena_alloc(reader->arena, mapping->n, sizeof *sorted);
    size_t n = 0;
    for (struct node *child = mapping->first; child; child = child->next)
        sorted[n++] = child;
    qsort(sorted, n, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < n; i++) {
        const struct node *first = sorted[i - 1], *again = sorted[i];
        if (!text_equal(first->key, again->key))
            continue;
        if (reader->option)
            return err_at(reader->err, again->key_mark, "key '%s' is given twice", again->key);
        return err_at(reader->err, again->key_mark,
                      "key '%s' is given twice, first on line %u, column %u", again->key,
                      first->key_mark.line, first->key_mark.column);
    }
    return STATUS_OK;
}

static enum status check_key(struct reader *reader, const struct node *key)
{
    if (key->kind != NODE_SCALAR) {
        err_at(reader->err, key->mark, "a key must be a word, not %s",
               node_kind_name(key->kind));
        return err_hint(reader->err, "write 'key: value'");
    }
    if (key->text[0] == '\0' && !reader->anchors) /* other programs have {"": 0} */
        return err_at(reader->err, key->mark, "a key is empty");
    if (text_equal(key->text, "<<") && !key->quoted && !reader->anchors)
        return refuse(reader, key->mark, "merge key", "<<",
                      "write the keys out, or use 'base: <name>' in a model, cluster or stack");
    return STATUS_OK;
}

/* Children are linked to their parent as they come; `last` is the parent's last child. */
struct level {
    struct node *node, *last;
    struct node *key; /* mapping: the key that waits for its value */
    const char *anchor;
};

static enum status attach(struct reader *reader, struct level *level, struct node *node)
{
    struct node *parent = level->node;
    if (parent->kind == NODE_MAPPING && !level->key) {
        TRY(check_key(reader, node));
        level->key = node;
        return STATUS_OK;
    }
    if (level->key) {
        node->key = level->key->text;
        node->key_mark = level->key->mark;
        node->key_quoted = level->key->quoted;
        level->key = NULL;
    }
    if (level->last)
        level->last->next = node;
    else
        parent->first = node;
    level->last = node;
    parent->n++;
    return STATUS_OK;
}

static enum status take_event(struct reader *reader, const yaml_event_t *event,
                              struct level *levels, size_t *depth, struct node **root)
{
    if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT) {
        struct node *node = levels[--*depth].node;
        remember(reader, levels[*depth].anchor, node);
        if (node->kind != NODE_MAPPING)
            return STATUS_OK;
        TRY(check_duplicates(reader, node));
        return merge(reader, node);
    }
    TRY(check_decoration(reader, event));
    TRY(check_scalar(reader, event));
    struct node *node;
    bool alias = event->type == YAML_ALIAS_EVENT;
    if (alias)
        TRY(resolve_alias(reader, event, &node));
    else
        node = node_create(reader, event);
    if (*depth == 0)
        *root = node;
    else
        TRY(attach(reader, &levels[*depth - 1], node));
    const char *anchor = alias ? NULL : anchor_name(reader, event);
    if (node->kind == NODE_SCALAR)
        remember(reader, anchor, node);
    if (node->kind == NODE_SCALAR || alias)
        return STATUS_OK;
    if (*depth == SOURCE_DEPTH)
        return err_at(reader->err, node->mark, "nested deeper than the limit of %d levels",
                      SOURCE_DEPTH);
    levels[(*depth)++] = (struct level){.node = node, .anchor = anchor};
    return STATUS_OK;
}

/* The node that starts with the next event, with everything in it. */
static enum status read_node(struct reader *reader, struct node **root)
{
    struct level levels[SOURCE_DEPTH];
    size_t depth = 0;
    do {
        yaml_event_t event;
        TRY(next_event(reader, &event));
        enum status status = take_event(reader, &event, levels, &depth, root);
        yaml_event_delete(&event);
        TRY(status);
    } while (depth > 0);
    return STATUS_OK;
}

/* The type of the next event, which carries nothing that is kept. */
static enum status next_type(struct reader *reader, yaml_event_type_t *type, struct mark *mark)
{
    yaml_event_t event;
    TRY(next_event(reader, &event));
    *type = event.type;
    *mark = mark_of(reader, event.start_mark);
    yaml_event_delete(&event);
    return STATUS_OK;
}

static enum status read_document(struct reader *reader, struct node **root)
{
    yaml_event_type_t type;
    struct mark mark, whole = {.file = reader->file};
    struct node *node = NULL;
    TRY(next_type(reader, &type, &mark)); /* stream start */
    TRY(next_type(reader, &type, &mark));
    if (type == YAML_DOCUMENT_START_EVENT)
        TRY(read_node(reader, &node));
    if (!node || (!reader->option && node_is_null(node)))
        return err_at(reader->err, whole, "nothing in it but space or comments");
    TRY(next_type(reader, &type, &mark)); /* document end */
    TRY(next_type(reader, &type, &mark));
    if (type == YAML_DOCUMENT_START_EVENT) {
        err_at(reader->err, mark, "a second document starts here");
        return err_hint(reader->err, "a file holds one document: remove the '---'");
    }
    *root = node;
    return STATUS_OK;
}

/* Bytes of the line break at text, as YAML 1.1 has them (libyaml's too): LF, CR, NEL, LS, PS; 0
 * when there is none. */
static size_t break_length(const char *text, const char *end)
{
    static const char *const breaks[] = {"\n", "\r", "\xc2\x85", "\xe2\x80\xa8",
                                         "\xe2\x80\xa9"};
    if (*text >= ' ' && *text <= '~') /* as nearly all is */
        return 0;
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        size_t length = strlen(breaks[i]);
        if ((size_t)(end - text) >= length && memcmp(text, breaks[i], length) == 0)
            return length;
    }
    return 0;
}

/* No plan needs directives, and libyaml compares every %TAG with all before it. Lines are
 * counted as an editor does. */
static enum status check_directives(struct mark mark, const char *text, size_t length,
                                    struct err *err)
{
    static const char bom[] = "\xef\xbb\xbf";
    const char *end = text + length;
    bool starts = true;
    if (length >= 3 && memcmp(text, bom, 3) == 0)
        text += 3;
    for (const char *at = text; at < end;) {
        if (starts && *at == '%') {
            err_at(err, mark, "directives are not supported");
            return err_hint(err, "remove the line that starts with %%");
        }
        size_t ends = break_length(at, end);
        starts = ends > 0;
        mark.line += mark.line && *at == '\n';
        at += ends ? ends : 1;
    }
    return STATUS_OK;
}

enum syntax { SYNTAX_PLAN, SYNTAX_OPTION, SYNTAX_JOB };

static enum status parse(const char *name, enum syntax syntax, const char *text, size_t length,
                         struct arena *arena, struct node **root, struct err *err)
{
    bool option = syntax == SYNTAX_OPTION;
    struct reader reader = {
        .arena = arena, .option = option, .anchors = syntax == SYNTAX_JOB, .err = err};
    reader.file = arena_strdup(arena, name);
    if (length == 0 && !option)
        return err_at(err, (struct mark){.file = reader.file}, "it is empty");
    TRY(encoding_check(reader.file, option, text, length, err));
    TRY(check_directives(mark_of(&reader, (yaml_mark_t){0}), text, length, err));
    bool json = text_ends(name, ".json");
    if (json && syntax == SYNTAX_PLAN)
        TRY(json_read_check(reader.file, text, length, err));
    if (json || encoding_looks_json(text, length))
        text = encoding_join_surrogates(arena, text, &length);
    if (!yaml_parser_initialize(&reader.parser))
        return err_set(err, STATUS_SYSTEM, "out of memory while reading '%s'", name);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    enum status status = read_document(&reader, root);
    yaml_parser_delete(&reader.parser);
    return status;
}

enum status source_read_text(const char *name, const char *text, size_t length,
                             struct arena *arena, struct node **root, struct err *err)
{
    return parse(name, SYNTAX_PLAN, text, length, arena, root, err);
}

enum status source_read_job(const char *name, const char *text, size_t length,
                            struct arena *arena, struct node **root, struct err *err)
{
    return parse(name, SYNTAX_JOB, text, length, arena, root, err);
}

enum status source_read_option(const char *option, const char *text, struct arena *arena,
                               struct node **root, struct err *err)
{
    size_t length = strlen(text);
    if (strspn(text, " ") == length) {
        struct node *node = arena_alloc(arena, 1, sizeof *node);
        node->mark.file = arena_strdup(arena, option);
        node->text = "";
        *root = node;
        return STATUS_OK;
    }
    return parse(option, SYNTAX_OPTION, text, length, arena, root, err);
}

enum status source_read_file(const char *file, struct arena *arena, struct node **root,
                             struct err *err)
{
    char *text;
    size_t length;
    TRY(file_read(file, SOURCE_BYTES, arena, &text, &length, err));
    return source_read_text(file, text, length, arena, root, err);
}
