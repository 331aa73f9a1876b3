/* See python_walk.h. */
#include <string.h>

#include "plan/job/python_frame.h"
#include "plan/text/python_word.h"

enum { DEPTH = 24, STEPS = 200000 };

static enum status run(struct python_walk *walk, struct python_frame *frame, unsigned line);
static enum status evaluate(struct python_walk *walk, struct python_value *value,
                            struct mark mark);

/* ---- calls ---- */

static bool can_follow(const struct python_walk *walk)
{
    return walk->frame->depth < DEPTH && walk->steps < STEPS;
}

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
    if (value->kind != PYTHON_CALL || depth == DEPTH || walk->steps++ > STEPS)
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
        for (size_t j = 0; python_frame_is_name(returned) && j < module->python.n; j++) {
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
        const char *part = a && python_frame_is_name(&value)
                               ? python_frame_field(walk, from, value.text)
                               : NULL;
        bool made =
            a && to->field && value.kind == PYTHON_CALL && makes(walk, from->module, &value, 0);
        if (made) {
            TRY(python_walk_assign(walk, to->field, &value, mark));
            part = to->field;
        }
        if (part)
            python_frame_root(to, name, part);
        walk->frame = a ? from : to;
        value = python_frame_resolve(walk, &value);
        walk->frame = from;
        if (a && !made && value.kind == PYTHON_CALL)
            TRY(evaluate(walk, &value, mark));
        if (part && python_frame_is_name(&value)) /* no value of its own: it stays the part */
            continue;
        if (!part)
            python_bind(&to->scope, name,
                        python_frame_is_name(&value)
                            ? (struct python_value){.kind = PYTHON_UNKNOWN, .text = ""}
                            : value);
    }
    return STATUS_OK;
}

/* What a function gives that is called for an argument, where its module knows it. */
static enum status evaluate(struct python_walk *walk, struct python_value *value,
                            struct mark mark)
{
    size_t function;
    const struct python_module *module = callee_of(walk, walk->frame->module, value, &function);
    if (!module || !can_follow(walk) || !module->python.functions[function - 1].n_returns)
        return STATUS_OK;
    struct python_frame *before = walk->frame,
                        *frame = python_frame_new(walk, module, function);
    TRY(hand_over(walk, frame, value, mark));
    walk->frame = frame;
    TRY(run(walk, frame, 0));
    if (frame->returned.kind == PYTHON_CALL)
        TRY(evaluate(walk, &frame->returned, mark));
    walk->frame = before;
    if (frame->returned.kind != PYTHON_UNKNOWN)
        *value = frame->returned;
    return STATUS_OK;
}

static enum status follow(struct python_walk *walk, const struct python_module *module,
                          size_t function, const struct python_value *call, const char *field,
                          struct mark mark)
{
    struct python_frame *before = walk->frame,
                        *frame = python_frame_new(walk, module, function);
    const struct python_function *f = &module->python.functions[function - 1];
    frame->field = field;
    for (size_t i = 0; field && i < f->n_returns; i++)
        if (python_frame_is_name(&f->returns[i].value))
            frame->result = f->returns[i].value.text;
    TRY(hand_over(walk, frame, call, mark));
    walk->frame = frame;
    enum status status = run(walk, frame, 0);
    walk->frame = before;
    return status;
}

/* ---- statements ---- */

/* A field of the configuration: by the function that gives it, or by what the value says. */
enum status python_walk_assign(struct python_walk *walk, const char *field,
                               const struct python_value *value, struct mark mark)
{
    size_t function;
    struct python_value known = python_frame_resolve(walk, value);
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
        err_at(walk->job->err, mark, "a second configuration, after that on line %u",
               walk->made.line);
        return job_hint_lines(walk->job, walk->made.line, 0);
    }
    walk->made = mark;
    python_frame_root(walk->frame, name, "");
    return python_walk_assign(walk, "", value, mark);
}

static bool hands_over(struct python_walk *walk, const struct python_value *call)
{
    for (size_t i = 0; i < call->n; i++)
        if (python_frame_is_name(&call->items[i].value) &&
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
    struct python_value known = python_frame_resolve(walk, &s->value);
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
    int sure = python_frame_holds(walk, r->conditions, r->n_conditions);
    if (sure < 0)
        return STATUS_OK;
    frame->ended = sure > 0;
    if (python_frame_is_name(&r->value) && python_walk_field(walk, r->value.text))
        return STATUS_OK; /* it was set as it grew */
    if (!frame->field && makes(walk, frame->module, &r->value, 0))
        return begin(walk, "", &r->value, r->mark);
    if (!frame->field) {
        frame->returned = sure > 0 ? python_frame_resolve(walk, &r->value) : unknown;
        return STATUS_OK;
    }
    if (sure > 0)
        return python_walk_assign(walk, frame->field, &r->value, r->mark);
    return *frame->field ? walk->set(walk, frame->field, &unknown, r->mark) : STATUS_OK;
}

static enum status read_target(struct python_walk *walk, const struct python_statement *s)
{
    struct python_frame *frame = walk->frame;
    const char *field = python_walk_field(walk, s->target);
    bool plain = !strchr(s->target, '.');
    const char *alias =
        python_frame_is_name(&s->value) ? python_walk_field(walk, s->value.text) : NULL;
    bool result = plain && frame->result && text_equal(frame->result, s->target);
    if (plain && result && frame->field && (s->value.kind == PYTHON_CALL || !field)) {
        if (!field)
            python_frame_root(frame, s->target, frame->field);
        if (s->value.kind == PYTHON_CALL &&
            (*frame->field || !field || makes(walk, frame->module, &s->value, 0)))
            return python_walk_assign(walk, frame->field, &s->value, s->mark);
    }
    if (plain && !field && makes(walk, frame->module, &s->value, 0))
        return begin(walk, s->target, &s->value, s->mark);
    if (plain && alias) /* m = cfg.model */
        python_frame_root(frame, s->target, alias);
    if (field && *field == '\0') /* cfg = f(cfg, ..) */
        return s->value.kind == PYTHON_CALL ? read_call(walk, s) : STATUS_OK;
    if (field) {
        enum status status = python_walk_assign(walk, field, &s->value, s->mark);
        if (python_frame_is_name(&s->value) ||
            s->value.kind == PYTHON_UNKNOWN) /* cfg.peft = p; p.dim = 8 */
            for (size_t i = frame->scope.n; i > 0; i--)
                if (text_equal(frame->scope.names[i - 1].name, s->value.text) &&
                    frame->scope.names[i - 1].value.kind == PYTHON_CALL) {
                    python_frame_root(frame, s->value.text, field);
                    break;
                }
        return status;
    }
    if (plain) {
        struct python_value known = python_frame_resolve(walk, &s->value);
        python_bind(&frame->scope, s->target, known);
    }
    return STATUS_OK;
}

static enum status read_statement(struct python_walk *walk, const struct python_statement *s)
{
    int sure = s->nested ? python_frame_holds(walk, s->conditions, s->n_conditions) : 1;
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

/* `handed`: to another, which calls it, counts too. */
static bool calls(const struct python_value *value, const char *name, bool handed)
{
    bool found =
        value->kind == PYTHON_CALL &&
        (text_equal(value->callee, name) || text_equal(python_last_part(value->callee), name));
    found = found || (handed && python_frame_is_name(value) && text_equal(value->text, name));
    for (size_t i = 0; !found && i < value->n; i++)
        found = calls(&value->items[i].value, name, handed);
    return found;
}

/* Is a function called by another of its file? */
static bool is_called(const struct python *python, size_t function, bool handed)
{
    const char *name = python->functions[function - 1].name;
    for (size_t i = 0; i < python->n; i++)
        if (python->statements[i].function != function &&
            calls(&python->statements[i].value, name, handed))
            return true;
    return false;
}

static enum status run_alone(struct python_walk *walk, const struct python_module *module,
                             size_t function, unsigned line)
{
    struct python_frame *frame = python_frame_new(walk, module, function);
    const struct python_value none = {.kind = PYTHON_CALL, .callee = "", .text = ""};
    walk->frame = frame;
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
        if (!whole && !is_called(python, i, true))
            TRY(run_alone(walk, module, i, 0));
    whole = walk->made.line > 0; /* run.cli.main(pretrain, default_factory=recipe) */
    for (size_t i = 1; i <= python->n_functions; i++)
        if (!whole && !is_called(python, i, false) && is_called(python, i, true))
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
