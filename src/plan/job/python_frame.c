/* See python_frame.h. */
#include "plan/job/python_frame.h"

#include <string.h>

#include "plan/text/python_word.h"

enum { VALUES = 1000000 };

/* ---- names ---- */

/* A name as it stands; one that a script binds to what is not known is its own text, too. */
bool python_frame_is_name(const struct python_value *v)
{
    if (v->kind == PYTHON_WORD)
        return !v->quoted && !v->number && !text_equal(v->text, "true") &&
               !text_equal(v->text, "false");
    if (v->kind != PYTHON_UNKNOWN || !v->text)
        return false;
    const char *at = v->text;
    size_t n = python_name_length(at);
    while (n && at[n] == '.' && python_name_length(at + n + 1)) {
        at += n + 1;
        n = python_name_length(at);
    }
    return n && !at[n];
}

const char *python_frame_field(const struct python_walk *walk, const struct python_frame *frame,
                               const char *name)
{
    for (size_t i = frame->n_roots; i > 0; i--) {
        const char *root = frame->roots[i - 1].name, *field = frame->roots[i - 1].field;
        size_t n = strlen(root);
        if (!text_starts(name, root) || (name[n] && name[n] != '.'))
            continue;
        const char *rest = name + n + (name[n] == '.');
        return *field && *rest ? arena_printf(walk->job->arena, "%s.%s", field, rest)
               : *rest         ? rest
                               : field;
    }
    return NULL;
}

const char *python_walk_field(const struct python_walk *walk, const char *name)
{
    return walk->frame ? python_frame_field(walk, walk->frame, name) : NULL;
}

const char *python_walk_path(const struct python_walk *walk)
{
    return walk->frame ? walk->frame->module->path : walk->job->file;
}

void python_frame_root(struct python_frame *frame, const char *name, const char *field)
{
    if (frame->n_roots == FRAME_NAMES)
        return;
    frame->roots[frame->n_roots].name = name;
    frame->roots[frame->n_roots++].field = field;
}

static struct python_value list_of(struct job *job, const struct setting *s)
{
    struct python_value list = {.kind = PYTHON_LIST, .text = "", .n = s->n};
    list.items = arena_alloc(job->arena, s->n + 1, sizeof *list.items);
    for (size_t i = 0; i < s->n; i++)
        list.items[i] =
            (struct python_argument){.value = python_plain(job->arena, s->values[i])};
    return list;
}

/* What a field was set to: the last that was said of it. */
static bool field_value(struct python_walk *walk, const char *field, struct python_value *value)
{
    struct job *job = walk->job;
    for (size_t i = job->n_settings; i > 0; i--) {
        const struct setting *s = &job->settings[i - 1];
        if (!text_equal(s->name, field))
            continue;
        bool list = s->n != 1 || (s->flag && s->flag->shape == JOB_LIST);
        if (s->trouble)
            return false;
        if (!s->null && list) {
            *value = list_of(job, s);
            return true;
        }
        *value = s->null ? (struct python_value){.kind = PYTHON_NONE, .text = "null"}
                         : python_plain(walk->job->arena, s->values[0]);
        return true;
    }
    const char *fallback = walk->fallback ? walk->fallback(walk, field) : NULL;
    if (fallback)
        *value = python_plain(walk->job->arena, fallback);
    return fallback != NULL;
}

const char *python_walk_value(struct python_walk *walk, const char *field)
{
    struct python_value value;
    return field_value(walk, field, &value) && value.kind == PYTHON_WORD ? value.text : NULL;
}

/* Of a name that the function at hand does not bind: a field, or a literal of its module. */
static bool find_name(void *context, const char *name, struct python_value *value)
{
    struct python_walk *walk = context;
    const char *field = python_walk_field(walk, name);
    if (field)
        return *field && field_value(walk, field, value);
    const struct python_value *constant =
        python_module_constant(&walk->modules, walk->frame->module, name);
    bool literal = constant && (constant->kind == PYTHON_LIST ||
                                constant->kind == PYTHON_NONE || python_literal(constant));
    if (literal)
        *value = *constant;
    return literal;
}

/* ---- values ---- */

/* The value with what the function at hand knows put in. */
struct python_value python_frame_resolve(struct python_walk *walk,
                                         const struct python_value *value)
{
    struct python_scope *scope = &walk->frame->scope;
    struct python_value out = *value;
    bool open = python_frame_is_name(value) ||
                (value->kind == PYTHON_UNKNOWN && value->text && *value->text);
    if (open && strlen(value->text) < 4096) {
        struct python_value again =
            python_value(scope, value->text, value->text, (struct mark){0});
        return again.kind == PYTHON_UNKNOWN ? *value : again;
    }
    if (value->kind != PYTHON_LIST && value->kind != PYTHON_CALL)
        return out;
    walk->values += value->n;
    if (walk->values > VALUES)
        return (struct python_value){.kind = PYTHON_UNKNOWN, .text = ""};
    out.items = arena_alloc(walk->job->arena, value->n + 1, sizeof *out.items);
    for (size_t i = 0; i < value->n; i++) {
        out.items[i] = value->items[i];
        out.items[i].value = python_frame_resolve(walk, &value->items[i].value);
    }
    if (out.kind == PYTHON_CALL &&
        (text_equal(out.callee, "max") || text_equal(out.callee, "min")))
        return python_extreme(&out);
    return out;
}

/* Whether what has to hold does: 1, -1 where it does not, 0 where nobody knows. */
int python_frame_holds(struct python_walk *walk, const struct python_condition *conditions,
                       size_t n)
{
    int all = 1;
    for (size_t i = 0; i < n; i++) {
        bool truth = false, known = false;
        if (conditions[i].text) {
            struct python_value value = python_value(&walk->frame->scope, conditions[i].text,
                                                     conditions[i].text, (struct mark){0});
            known = python_value_truth(&value, &truth);
        }
        if (known && truth != conditions[i].holds)
            return -1;
        all = known ? all : 0;
    }
    return all;
}

/* ---- frames ---- */

struct python_frame *python_frame_new(struct python_walk *walk,
                                      const struct python_module *module, size_t index)
{
    struct python_frame *frame = arena_alloc(walk->job->arena, 1, sizeof *frame);
    *frame = (struct python_frame){.module = module, .index = index};
    frame->depth = walk->frame ? walk->frame->depth + 1 : 0;
    frame->scope = (struct python_scope){
        .arena = walk->job->arena, .find = find_name, .context = walk, .made = &walk->texts};
    return frame;
}
