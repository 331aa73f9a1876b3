/* What a program in Python sets of a configuration, in the order in which it would run:
 * functions are followed from where they are called, in its own file and in those it imports
 * (python_module.h), with what they are handed, and conditions on values that are known are
 * decided. Read as text, never run: what is not known is told as not known. */
#ifndef MOEPLAN_PLAN_JOB_PYTHON_WALK_H
#define MOEPLAN_PLAN_JOB_PYTHON_WALK_H

#include "plan/job/python_module.h"
#include "plan/job/reader.h"

struct python_walk {
    struct job *job;
    void *own; /* of those below */
    /* Whether a call gives a configuration, of a function that is not followed. */
    bool (*makes)(const struct python_value *call);
    /* Functions that are known by their names, and are not followed; or NULL. */
    bool (*known)(const struct python_value *call);
    /* A field of it, "" for all of it: what the value says of it, in names that are known. */
    enum status (*set)(struct python_walk *walk, const char *field,
                       const struct python_value *value, struct mark mark);
    /* A part that a call makes, for python_set: false, its arguments are its fields; or NULL.
     */
    bool (*part)(struct python_walk *walk, const char *field, const struct python_value *call,
                 struct mark mark);
    /* A call whose arguments have a part of it: true, it was dealt with, and is not followed.
     */
    bool (*call)(struct python_walk *walk, const struct python_value *call, struct mark mark);
    /* The value of a field that nothing sets, or NULL: not known; or NULL. */
    const char *(*fallback)(struct python_walk *walk, const char *field);
    /* Does a field matter to memory or time, so that it is told where it may hold or not? */
    bool (*matters)(const struct python_walk *walk, const char *field);
    struct mark made;  /* where the configuration is made; line 0: nowhere */
    struct mark other; /* where another one is, after the first */
    struct python_modules modules;
    struct python_frame *frame; /* of the function that is read */
    size_t steps;
    size_t texts;  /* bytes that its expressions put together */
    size_t values; /* parts of lists and calls that were looked into */
};

/* Reads the program. `line` is one of the function whose configuration is asked for, where
 * there are several; 0: none is. STATUS_INPUT for no Python, and for a second configuration. */
enum status python_walk(struct python_walk *walk, const char *path, const char *text,
                        size_t length, unsigned line);

/* Follows one function of a module that is there, by its name; *found false: it is not. */
enum status python_walk_function(struct python_walk *walk, const char *path, const char *module,
                                 const char *name, bool *found);

/* Sets a field by the function that gives its value, or through `set`; for calls inside what
 * `set` was handed. */
enum status python_walk_assign(struct python_walk *walk, const char *field,
                               const struct python_value *value, struct mark mark);

/* The file of the function at hand. */
const char *python_walk_path(const struct python_walk *walk);

/* The word that a field is at now; NULL: nobody said it, or it is not known. */
const char *python_walk_value(struct python_walk *walk, const char *field);

/* The field that a name of the function at hand is, "" for all of it; NULL: none. */
const char *python_walk_field(const struct python_walk *walk, const char *name);

#endif
