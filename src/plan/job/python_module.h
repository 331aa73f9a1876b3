/* Files of a Python program: the one that is read, and those it imports that lie where Python
 * would find them from a folder around it ("megatron.bridge.recipes.common" beside another file
 * of a checkout). Read as text, never run; what is not there is not known. */
#ifndef MOEPLAN_PLAN_JOB_PYTHON_MODULE_H
#define MOEPLAN_PLAN_JOB_PYTHON_MODULE_H

#include "plan/text/python.h"

struct job;

struct python_module {
    const char *path;
    struct python python;
};

/* Those that were read, each once; their limit is a program's. */
struct python_modules {
    struct job *job;
    struct python_module *items[256];
    size_t n;
};

/* The module of a text; NULL with an error when it is no Python. */
const struct python_module *python_module_read(struct python_modules *modules, const char *path,
                                               const char *text, size_t length);

/* Where a function is defined that a module calls by this name ("f", "module.f", imported by
 * whatever name, through files that hand it on); NULL: nowhere that is known. *function counts
 * from 1. */
const struct python_module *python_module_function(struct python_modules *modules,
                                                   const struct python_module *from,
                                                   const char *name, size_t *function);

/* The literal that a name stands for in a module, or in those it is imported from; NULL: none.
 */
const struct python_value *python_module_constant(struct python_modules *modules,
                                                  const struct python_module *from,
                                                  const char *name);

/* A module by its dotted name, as one around `path` would be found; NULL: it is not there. */
const struct python_module *python_module_named(struct python_modules *modules,
                                                const char *path, const char *name);

#endif
