/* See python_walk.h. */
#include "plan/job/python_walk.h"

#include <ctype.h>
#include <string.h>

#include "plan/text/python_value.h"
#include "plan/text/python_word.h"

enum { DEPTH = 24, STEPS = 200000, NAMES = 96 };

/* A function that is read, or what stands in none (index 0). */
struct python_frame {
    const struct python_module *module;
    size_t index; /* of the function, from 1 */
    struct python_frame *caller;
    unsigned depth;
    struct {
        const char *name, *field; /* m of "m = cfg.model" is field "model" */
    } roots[NAMES];
    size_t n_roots;
    struct python_scope scope;
    const char *field;  /* that what it returns is of; NULL: none */
    const char *result; /* the name of it that is returned; NULL: none */
    bool ended;
};

static enum status run(struct python_walk *walk, struct python_frame *frame, unsigned line);
static enum status assign(struct python_walk *walk, const char *field,
                          const struct python_value *value, struct mark mark);

/* ---- names ---- */

/* A name as it stands; one that a script binds to what is not known is its own text, too. */
static bool is_name(const struct python_value *v)
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

static const char *frame_field(const struct python_walk *walk, const struct python_frame *frame,
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
    return walk->frame ? frame_field(walk, walk->frame, name) : NULL;
}

const char *python_walk_path(const struct python_walk *walk)
{
    return walk->frame ? walk->frame->module->path : walk->job->file;
}

static void add_root(struct python_frame *frame, const char *name, const char *field)
{
    if (frame->n_roots == NAMES)
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
static struct python_value resolve(struct python_walk *walk, const struct python_value *value)
{
    struct python_scope *scope = &walk->frame->scope;
    struct python_value out = *value;
    bool open =
        is_name(value) || (value->kind == PYTHON_UNKNOWN && value->text && *value->text);
    if (open && strlen(value->text) < 4096) {
        struct python_value again =
            python_value(scope, value->text, value->text, (struct mark){0});
        return again.kind == PYTHON_UNKNOWN ? *value : again;
    }
    if (value->kind != PYTHON_LIST && value->kind != PYTHON_CALL)
        return out;
    out.items = arena_alloc(walk->job->arena, value->n + 1, sizeof *out.items);
    for (size_t i = 0; i < value->n; i++) {
        out.items[i] = value->items[i];
        out.items[i].value = resolve(walk, &value->items[i].value);
    }
    if (out.kind == PYTHON_CALL &&
        (text_equal(out.callee, "max") || text_equal(out.callee, "min")))
        return python_extreme(&out);
    return out;
}

/* Whether what has to hold does: 1, -1 where it does not, 0 where nobody knows. */
static int holds(struct python_walk *walk, const struct python_condition *conditions, size_t n)
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

/* ---- calls ---- */

static const struct python_module *callee_of(struct python_walk *walk,
                                             const struct python_module *from,
                                             const struct python_value *call, size_t *function)
{
    return call->kind == PYTHON_CALL && !(walk->known && walk->known(call))
               ? python_module_function(&walk->modules, from,
                                        call->written ? call->written : call->callee, function)
               : NULL;
}

/* Does a value make a configuration, by itself or by functions that do? */
static bool makes(struct python_walk *walk, const struct python_module *from,
                  const struct python_value *value, unsigned depth)
{
    size_t function;
    if (value->kind != PYTHON_CALL || depth == DEPTH)
        return false;
    const struct python_module *module = callee_of(walk, from, value, &function);
    if (!module)
        return walk->makes(value);
    const struct python_function *f = &module->python.functions[function - 1];
    for (size_t i = 0; i < value->n; i++) /* f(recipe()) */
        if (makes(walk, from, &value->items[i].value, depth + 1) && f->n_returns)
            return true;
    for (size_t i = 0; i < f->n_returns; i++) {
        const struct python_value *returned = &f->returns[i].value;
        if (makes(walk, module, returned, depth + 1))
            return true;
        for (size_t j = 0; is_name(returned) && j < module->python.n; j++) {
            const struct python_statement *s = &module->python.statements[j];
            if (s->function == function && s->target && text_equal(s->target, returned->text) &&
                makes(walk, module, &s->value, depth + 1))
                return true;
        }
    }
    return false;
}

static const struct python_argument *argument_of(const struct python_value *call,
                                                 const struct python_function *f, size_t i)
{
    size_t place = 0;
    for (size_t j = 0; j < call->n; j++) {
        const struct python_argument *a = &call->items[j];
        if (a->name ? text_equal(a->name, f->parameters[i].name) : place == i)
            return a;
        place += a->name == NULL;
    }
    return NULL;
}

/* Hands the arguments of a call over: parts of the configuration stay so, a configuration that
 * is made there is the one that comes back. */
static enum status hand_over(struct python_walk *walk, struct python_frame *to,
                             const struct python_value *call, struct mark mark)
{
    const struct python_function *f = &to->module->python.functions[to->index - 1];
    struct python_frame *from = walk->frame;
    for (size_t i = 0; i < f->n; i++) {
        const struct python_argument *a = argument_of(call, f, i);
        const char *name = f->parameters[i].name;
        struct python_value value = a ? a->value : f->parameters[i].value;
        const char *part = a && is_name(&value) ? frame_field(walk, from, value.text) : NULL;
        bool made =
            a && to->field && value.kind == PYTHON_CALL && makes(walk, from->module, &value, 0);
        if (made) {
            TRY(assign(walk, to->field, &value, mark));
            part = to->field;
        }
        if (part)
            add_root(to, name, part);
        walk->frame = a ? from : to;
        value = resolve(walk, &value);
        walk->frame = from;
        if (part && is_name(&value)) /* no value of its own: it stays the part */
            continue;
        if (!part)
            python_bind(&to->scope, name,
                        is_name(&value)
                            ? (struct python_value){.kind = PYTHON_UNKNOWN, .text = ""}
                            : value);
    }
    return STATUS_OK;
}

static struct python_frame *new_frame(struct python_walk *walk,
                                      const struct python_module *module, size_t index)
{
    struct python_frame *frame = arena_alloc(walk->job->arena, 1, sizeof *frame);
    *frame = (struct python_frame){.module = module, .index = index, .caller = walk->frame};
    frame->depth = walk->frame ? walk->frame->depth + 1 : 0;
    frame->scope =
        (struct python_scope){.arena = walk->job->arena, .find = find_name, .context = walk};
    return frame;
}

static enum status follow(struct python_walk *walk, const struct python_module *module,
                          size_t function, const struct python_value *call, const char *field,
                          struct mark mark)
{
    struct python_frame *before = walk->frame, *frame = new_frame(walk, module, function);
    const struct python_function *f = &module->python.functions[function - 1];
    frame->field = field;
    for (size_t i = 0; field && i < f->n_returns; i++)
        if (is_name(&f->returns[i].value))
            frame->result = f->returns[i].value.text;
    TRY(hand_over(walk, frame, call, mark));
    walk->frame = frame;
    enum status status = run(walk, frame, 0);
    walk->frame = before;
    return status;
}

/* ---- statements ---- */

static bool can_follow(const struct python_walk *walk)
{
    return walk->frame->depth < DEPTH && walk->steps < STEPS;
}

/* A field of the configuration: by the function that gives it, or by what the value says. */
static enum status assign(struct python_walk *walk, const char *field,
                          const struct python_value *value, struct mark mark)
{
    size_t function;
    struct python_value known = resolve(walk, value);
    const struct python_module *module =
        callee_of(walk, walk->frame->module, &known, &function);
    if (module && can_follow(walk) && module->python.functions[function - 1].n_returns)
        return follow(walk, module, function, &known, field, mark);
    return walk->set(walk, field, &known, mark);
}

/* The configuration itself, of which a program has one. */
static enum status begin(struct python_walk *walk, const char *name,
                         const struct python_value *value, struct mark mark)
{
    if (walk->made.line) {
        walk->other = mark;
        err_at(walk->job->err, STATUS_INPUT, mark,
               "a second configuration, after that on line %u", walk->made.line);
        return job_hint_lines(walk->job, walk->made.line, 0);
    }
    walk->made = mark;
    add_root(walk->frame, name, "");
    return assign(walk, "", value, mark);
}

static bool hands_over(struct python_walk *walk, const struct python_value *call)
{
    for (size_t i = 0; i < call->n; i++)
        if (is_name(&call->items[i].value) &&
            python_walk_field(walk, call->items[i].value.text))
            return true;
    return false;
}

/* A call by itself. */
static enum status read_call(struct python_walk *walk, const struct python_statement *s)
{
    size_t function;
    const char *method = strrchr(s->value.callee, '.');
    bool hands = hands_over(walk, &s->value);
    if (method) /* cfg.override.imports.append(..) */
        hands =
            hands || python_walk_field(walk, arena_strndup(walk->job->arena, s->value.callee,
                                                           (size_t)(method - s->value.callee)));
    for (size_t i = 0; i < s->value.n; i++) /* pretrain(recipe()) */
        if (makes(walk, walk->frame->module, &s->value.items[i].value, 0))
            return begin(walk, "", &s->value.items[i].value, s->mark);
    struct python_value known = resolve(walk, &s->value);
    if (hands && walk->call(walk, &known, s->mark))
        return walk->job->err->status;
    const struct python_module *module =
        callee_of(walk, walk->frame->module, &s->value, &function);
    bool own = module == walk->frame->module;
    if (module && (hands || own) && can_follow(walk))
        return follow(walk, module, function, &s->value, NULL, s->mark);
    if (hands && !(walk->known && walk->known(&s->value)))
        job_warn(walk->job, s->mark, "'%s' may set more of the configuration, and is not read",
                 s->value.callee);
    return STATUS_OK;
}

static enum status read_return(struct python_walk *walk, const struct python_return *r)
{
    struct python_frame *frame = walk->frame;
    const struct python_value unknown = {.kind = PYTHON_UNKNOWN, .text = "return"};
    int sure = holds(walk, r->conditions, r->n_conditions);
    if (sure < 0)
        return STATUS_OK;
    frame->ended = sure > 0;
    if (is_name(&r->value) && python_walk_field(walk, r->value.text))
        return STATUS_OK; /* it was set as it grew */
    if (!frame->field)
        return makes(walk, frame->module, &r->value, 0) ? begin(walk, "", &r->value, r->mark)
                                                        : STATUS_OK;
    if (sure > 0)
        return assign(walk, frame->field, &r->value, r->mark);
    return *frame->field ? walk->set(walk, frame->field, &unknown, r->mark) : STATUS_OK;
}

static enum status read_target(struct python_walk *walk, const struct python_statement *s)
{
    struct python_frame *frame = walk->frame;
    const char *field = python_walk_field(walk, s->target);
    bool plain = !strchr(s->target, '.');
    const char *alias = is_name(&s->value) ? python_walk_field(walk, s->value.text) : NULL;
    bool result = plain && frame->result && text_equal(frame->result, s->target);
    if (plain && result && frame->field && (s->value.kind == PYTHON_CALL || !field)) {
        if (!field)
            add_root(frame, s->target, frame->field);
        if (s->value.kind == PYTHON_CALL &&
            (*frame->field || !field || makes(walk, frame->module, &s->value, 0)))
            return assign(walk, frame->field, &s->value, s->mark);
    }
    if (plain && !field && makes(walk, frame->module, &s->value, 0))
        return begin(walk, s->target, &s->value, s->mark);
    if (plain && alias) /* m = cfg.model */
        add_root(frame, s->target, alias);
    if (field && *field == '\0') /* cfg = f(cfg, ..) */
        return s->value.kind == PYTHON_CALL ? read_call(walk, s) : STATUS_OK;
    if (field) {
        enum status status = assign(walk, field, &s->value, s->mark);
        if (is_name(&s->value) || s->value.kind == PYTHON_UNKNOWN) /* cfg.peft = p; p.dim = 8 */
            for (size_t i = frame->scope.n; i > 0; i--)
                if (text_equal(frame->scope.names[i - 1].name, s->value.text) &&
                    frame->scope.names[i - 1].value.kind == PYTHON_CALL) {
                    add_root(frame, s->value.text, field);
                    break;
                }
        return status;
    }
    if (plain) {
        struct python_value known = resolve(walk, &s->value);
        python_bind(&frame->scope, s->target, known);
    }
    return STATUS_OK;
}

static enum status read_statement(struct python_walk *walk, const struct python_statement *s)
{
    int sure = s->nested ? holds(walk, s->conditions, s->n_conditions) : 1;
    if (sure < 0 || s->decorates || s->returns)
        return STATUS_OK;
    const char *field = s->target ? python_walk_field(walk, s->target) : NULL;
    if (sure == 0) {
        if (field && *field && walk->matters(walk, field))
            job_warn(walk->job, s->mark,
                     "'%.80s' stands inside a condition or a loop, so that only the script "
                     "knows whether it holds: it is left out",
                     s->said);
        else if (field && *field)
            return STATUS_OK;
        else if (s->target && !field && makes(walk, walk->frame->module, &s->value, 0))
            return begin(walk, s->target, &s->value, s->mark);
        else if (!s->target && hands_over(walk, &s->value))
            return read_call(walk, s);
        else if (s->target && !field)
            python_bind(&walk->frame->scope, s->target,
                        (struct python_value){.kind = PYTHON_UNKNOWN, .text = ""});
        return STATUS_OK;
    }
    if (s->target)
        return read_target(walk, s);
    return read_call(walk, s);
}

/* Statements and returns of the function at hand, in their order; `line`: of several
 * configurations that of this line. */
static enum status run(struct python_walk *walk, struct python_frame *frame, unsigned line)
{
    const struct python *python = &frame->module->python;
    const struct python_function *f =
        frame->index ? &python->functions[frame->index - 1] : NULL;
    size_t next = 0;
    bool skips = false;
    for (size_t i = 0; i <= python->n && !frame->ended; i++) {
        for (; f && next < f->n_returns && f->returns[next].before <= i && !frame->ended;
             next++)
            TRY(read_return(walk, &f->returns[next]));
        if (i == python->n || frame->ended || python->statements[i].function != frame->index)
            continue;
        const struct python_statement *s = &python->statements[i];
        if (walk->steps++ > STEPS)
            return STATUS_OK;
        if (line && s->target && !strchr(s->target, '.') &&
            makes(walk, frame->module, &s->value, 0))
            skips = s->mark.line != line;
        if (!skips)
            TRY(read_statement(walk, s));
    }
    return STATUS_OK;
}

/* ---- programs ---- */

/* The innermost function that a line is of; 0: none. */
static size_t function_at(const struct python *python, unsigned line)
{
    size_t found = 0;
    for (size_t i = 0; i < python->n_functions; i++)
        if (python->functions[i].mark.line <= line && line <= python->functions[i].last_line)
            found = i + 1;
    return found;
}

static bool calls(const struct python_value *value, const char *name)
{
    bool found =
        value->kind == PYTHON_CALL &&
        (text_equal(value->callee, name) || text_equal(python_last_part(value->callee), name));
    found = found || (is_name(value) && text_equal(value->text, name)); /* handed to another */
    for (size_t i = 0; !found && i < value->n; i++)
        found = calls(&value->items[i].value, name);
    return found;
}

/* Is a function called by another of its file? */
static bool is_called(const struct python *python, size_t function)
{
    const char *name = python->functions[function - 1].name;
    for (size_t i = 0; i < python->n; i++)
        if (python->statements[i].function != function &&
            calls(&python->statements[i].value, name))
            return true;
    return false;
}

static enum status run_alone(struct python_walk *walk, const struct python_module *module,
                             size_t function, unsigned line)
{
    struct python_frame *frame = new_frame(walk, module, function);
    const struct python_value none = {.kind = PYTHON_CALL, .callee = "", .text = ""};
    walk->frame = frame;
    frame->caller = NULL;
    if (function)
        TRY(hand_over(walk, frame, &none, (struct mark){0}));
    enum status status = run(walk, frame, line);
    walk->frame = NULL;
    return status;
}

/* How many configurations a function makes by itself: of several, one line of it is asked for.
 */
static bool makes_several(struct python_walk *walk, const struct python_module *module,
                          size_t function)
{
    size_t n = 0;
    for (size_t i = 0; i < module->python.n; i++) {
        const struct python_statement *s = &module->python.statements[i];
        n += s->function == function && s->target && !strchr(s->target, '.') &&
             makes(walk, module, &s->value, 0);
    }
    return n > 1;
}

enum status python_walk(struct python_walk *walk, const char *path, const char *text,
                        size_t length, unsigned line)
{
    const struct python_module *module = python_module_read(&walk->modules, path, text, length);
    if (!module)
        return walk->job->err->status;
    const struct python *python = &module->python;
    size_t asked = line ? function_at(python, line) : 0;
    if (line)
        return run_alone(walk, module, asked, makes_several(walk, module, asked) ? line : 0);
    TRY(run_alone(walk, module, 0, 0));
    bool whole = walk->made.line > 0; /* what stands in no function says all of it */
    for (size_t i = 1; i <= python->n_functions; i++)
        if (!whole && !is_called(python, i))
            TRY(run_alone(walk, module, i, 0));
    return STATUS_OK;
}

enum status python_walk_function(struct python_walk *walk, const char *path, const char *module,
                                 const char *name, bool *found)
{
    size_t function = 0;
    const struct python_module *named = python_module_named(&walk->modules, path, module);
    const struct python_module *at =
        named ? python_module_function(&walk->modules, named, name, &function) : NULL;
    *found = at != NULL;
    return at ? run_alone(walk, at, function, 0) : STATUS_OK;
}
