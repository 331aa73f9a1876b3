/* Files of models, clusters and stacks that are read once and used for many plans: a sweep
 * loads a plan for every value of an axis, all from the same three files. */
#ifndef MOEPLAN_PLAN_READ_SHELF_H
#define MOEPLAN_PLAN_READ_SHELF_H

#include "plan/source.h"

/* {.arena = ...} is an empty one; trees live in that arena. For one thread at a time. */
struct shelf {
    struct arena *arena;
    struct shelf_file {
        const char *path;
        struct node *root;
    } * files;
    size_t n, capacity;
};

/* The file's tree, which must not be changed; errors as source_read_file. */
enum status shelf_read(struct shelf *shelf, const char *path, struct node **root,
                       struct err *err);

#endif
