/* Between the two halves of the reader of programs: python_frame.c knows names and values of
 * the function at hand, python_walk.c goes through statements and calls. */
#ifndef MOEPLAN_PLAN_JOB_PYTHON_FRAME_H
#define MOEPLAN_PLAN_JOB_PYTHON_FRAME_H

#include "plan/job/python_walk.h"
#include "plan/text/python_value.h"

enum { FRAME_NAMES = 96 };

/* A function that is read, or what stands in none (index 0). */
struct python_frame {
    const struct python_module *module;
    size_t index; /* of the function, from 1 */
    unsigned depth;
    struct {
        const char *name, *field; /* m of "m = cfg.model" is field "model" */
    } roots[FRAME_NAMES];
    size_t n_roots;
    struct python_scope scope;
    const char *field;  /* that what it returns is of; NULL: none */
    const char *result; /* the name of it that is returned; NULL: none */
    bool ended;
    struct python_value returned; /* of a function that sets nothing */
};

/* A frame of a function (0: of none), below the one at hand. */
struct python_frame *python_frame_new(struct python_walk *walk,
                                      const struct python_module *module, size_t index);

/* The field that a name of a frame is, "" for all of the configuration; NULL: none. */
const char *python_frame_field(const struct python_walk *walk, const struct python_frame *frame,
                               const char *name);
void python_frame_root(struct python_frame *frame, const char *name, const char *field);

/* A name as it stands; one that a script binds to what is not known is its own text, too. */
bool python_frame_is_name(const struct python_value *v);

/* The value with what the function at hand knows put in. */
struct python_value python_frame_resolve(struct python_walk *walk,
                                         const struct python_value *value);

/* Whether what has to hold does: 1, -1 where it does not, 0 where nobody knows. */
int python_frame_holds(struct python_walk *walk, const struct python_condition *conditions,
                       size_t n);

#endif
