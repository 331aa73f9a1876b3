/* See python_module.h. */
#include "plan/job/python_module.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "plan/job/reader.h"
#include "plan/text/python_word.h"

enum {
    HANDED_ON = 8, /* from file to file, at most */
    LEVELS = 6
}; /* above the working directory */

const struct python_module *python_module_read(struct python_modules *modules, const char *path,
                                               const char *text, size_t length)
{
    struct job *job = modules->job;
    if (modules->n == sizeof modules->items / sizeof *modules->items)
        return NULL;
    struct python_module *module = arena_alloc(job->arena, 1, sizeof *module);
    module->path = arena_strdup(job->arena, path);
    if (python_read(path, text, length, job->arena, &module->python, job->err) != STATUS_OK)
        return NULL;
    modules->items[modules->n++] = module;
    return module;
}

/* A file that was read, or is read now; one that is not there, or no Python that is understood,
 * is NULL. */
static const struct python_module *of_file(struct python_modules *modules, const char *path)
{
    struct job *job = modules->job;
    struct stat info;
    struct err ignored = {0}, *before = job->err;
    char *text = NULL;
    size_t length = 0;
    for (size_t i = 0; i < modules->n; i++)
        if (text_equal(modules->items[i]->path, path))
            return modules->items[i];
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) ||
        file_read(path, JOB_BYTES, job->arena, &text, &length, &ignored) != STATUS_OK)
        return NULL;
    job->err = &ignored;
    const struct python_module *module = python_module_read(modules, path, text, length);
    job->err = before;
    return module;
}

/* "a/b/c.py" or the package "a/b/c/__init__.py" below a folder. */
static const struct python_module *below(struct python_modules *modules, const char *folder,
                                         const char *name)
{
    char *path = arena_strdup(modules->job->arena, name);
    for (char *at = path; *at; at++)
        *at = *at == '.' ? '/' : *at;
    const char *file = arena_printf(modules->job->arena, "%s/%s.py", folder, path);
    const struct python_module *module = of_file(modules, file);
    return module ? module
                  : of_file(modules, arena_printf(modules->job->arena, "%s/%s/__init__.py",
                                                  folder, path));
}

/* The folder of a path without its last part, in place; false: there is none above. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

/* ".common" is beside the file, "..x" beside its folder. */
static const struct python_module *relative(struct python_modules *modules, const char *path,
                                            const char *name)
{
    char *folder = arena_strdup(modules->job->arena, path);
    size_t dots = strspn(name, ".");
    for (size_t i = 0; i < dots; i++)
        if (!go_up(folder))
            return NULL;
    if (!name[dots])
        return of_file(modules, arena_printf(modules->job->arena, "%s/__init__.py", folder));
    return below(modules, folder, name + dots);
}

/* In a folder, or in "src" of it, as checkouts have packages. */
static const struct python_module *here_or_src(struct python_modules *modules,
                                               const char *folder, const char *name)
{
    const struct python_module *found = below(modules, folder, name);
    return found ? found
                 : below(modules, arena_printf(modules->job->arena, "%s/src", folder), name);
}

const struct python_module *python_module_named(struct python_modules *modules,
                                                const char *path, const char *name)
{
    struct arena *arena = modules->job->arena;
    const struct python_module *found = NULL;
    bool rooted = *path == '/';
    char *folder = arena_strdup(arena, rooted ? path : arena_printf(arena, "./%s", path));
    if (*name == '.')
        return relative(modules, folder, name);
    while (!found && go_up(folder))
        found = here_or_src(modules, folder, name);
    const char *above = "..";
    for (size_t i = 0; !found && !rooted && i < LEVELS; i++) {
        found = here_or_src(modules, above, name);
        above = arena_printf(arena, "%s/..", above);
    }
    return found;
}

static size_t function_named(const struct python *python, const char *name)
{
    for (size_t i = python->n_functions; i > 0; i--) /* the last one holds */
        if (text_equal(python->functions[i - 1].name, name))
            return i;
    return 0;
}

/* The module that a name of another comes from, and what it is called there; *of NULL: the
 * module itself. "*" hands on all names. */
static const struct python_module *imported(struct python_modules *modules,
                                            const struct python_module *from,
                                            const struct python_import *import,
                                            const char *name, const char **of)
{
    bool all = import->of && text_equal(import->of, "*");
    if (!all && !text_equal(import->name, name))
        return NULL;
    *of = all ? name : import->of;
    return python_module_named(modules, from->path, import->module);
}

static const struct python_module *find_function(struct python_modules *modules,
                                                 const struct python_module *from,
                                                 const char *name, unsigned depth,
                                                 size_t *function)
{
    const struct python *python = &from->python;
    const char *dot = strchr(name, '.'), *of;
    *function = dot ? 0 : function_named(python, name);
    if (*function || depth == HANDED_ON)
        return *function ? from : NULL;
    const char *first =
        dot ? arena_strndup(modules->job->arena, name, (size_t)(dot - name)) : name;
    for (size_t i = python->n_imports; i > 0; i--) {
        const struct python_import *import = &python->imports[i - 1];
        const struct python_module *module = imported(modules, from, import, first, &of);
        if (dot && of && text_equal(import->name, first)) { /* a module of a package */
            const struct python_module *part = python_module_named(
                modules, from->path,
                arena_printf(modules->job->arena, "%s.%s", import->module, of));
            module = part ? part : module;
        }
        if (!module || (!of && !dot))
            continue;
        const struct python_module *found =
            find_function(modules, module, dot ? dot + 1 : of, depth + 1, function);
        if (found)
            return found;
    }
    for (size_t i = 0; !dot && i < python->n; i++) { /* name = another */
        const struct python_statement *s = &python->statements[i];
        if (s->function || !s->target || !text_equal(s->target, name) ||
            s->value.kind != PYTHON_WORD || s->value.quoted || s->value.number)
            continue;
        return text_equal(s->value.text, name)
                   ? NULL
                   : find_function(modules, from, s->value.text, depth + 1, function);
    }
    return NULL;
}

const struct python_module *python_module_function(struct python_modules *modules,
                                                   const struct python_module *from,
                                                   const char *name, size_t *function)
{
    return find_function(modules, from, name, 0, function);
}

static const struct python_value *find_constant(struct python_modules *modules,
                                                const struct python_module *from,
                                                const char *name, unsigned depth)
{
    const struct python *python = &from->python;
    const struct python_value *found = NULL;
    const char *of;
    for (size_t i = 0; i < python->n; i++) {
        const struct python_statement *s = &python->statements[i];
        if (!s->function && !s->nested && s->target && text_equal(s->target, name))
            found = &s->value;
    }
    if (found || depth == HANDED_ON)
        return found;
    for (size_t i = python->n_imports; i > 0; i--) {
        const struct python_module *module =
            imported(modules, from, &python->imports[i - 1], name, &of);
        found = module && of ? find_constant(modules, module, of, depth + 1) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

const struct python_value *python_module_constant(struct python_modules *modules,
                                                  const struct python_module *from,
                                                  const char *name)
{
    return strchr(name, '.') ? NULL : find_constant(modules, from, name, 0);
}
