/* The catalogue: models, clusters, stacks and published tables found by name.
 *
 * Roots are searched in this order, the first hit wins: the plan's folder, $MOEPLAN_DATA and
 * its models/, ./models, the program's own data (base/home.h). Below a root a model is
 * <name>.yaml, a cluster clusters/<name>.yaml, a stack stacks/<name>.yaml, a published table
 * published/<name>.csv, a profile profiles/<name>.yaml; in the plan's folder <name>.yaml is
 * enough for each, unless that file is itself a plan. */
#ifndef MOEPLAN_PLAN_READ_CATALOG_H
#define MOEPLAN_PLAN_READ_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum catalog_kind {
    CATALOG_MODEL,
    CATALOG_CLUSTER,
    CATALOG_STACK,
    CATALOG_PUBLISHED,
    CATALOG_PROFILE,
    CATALOG_KIND_COUNT
};

/* The file behind a name, or behind a path (what contains a '/' or ends in .yaml, .yml, .json
 * or .csv; relative to the plan's folder first, then to the working directory). *path lives in
 * the arena. plan_folder: where the plan stands, NULL or "" when it has no file. STATUS_INPUT,
 * without a place: not found, with the nearest name as hint; a model that is known but not
 * supported, with the reason. */
enum status catalog_find(enum catalog_kind kind, const char *name, const char *plan_folder,
                         struct arena *arena, char **path, struct err *err);

/* Whether a name has a file outside the plan's folder; *path only then. */
bool catalog_has(enum catalog_kind kind, const char *name, struct arena *arena, char **path);

enum { CATALOG_AXES = 3 };

/* A cluster: a file, and the size its name asks for. */
struct catalog_cluster {
    char *path;
    uint64_t devices, nodes;     /* to be put into node.devices and nodes; 0: as in the file */
    uint64_t mesh[CATALOG_AXES]; /* to be put into mesh; 0: none */
};

/* catalog_find for clusters, which also composes <device>-<devices per node>x<nodes>
 * ("h100-8x2") from the device's file, and slices of TPUs of two or three axes
 * ("tpu-v6e-16x16", "tpu-v5p-4x4x8"). A file of the full name wins. */
enum status catalog_find_cluster(const char *name, const char *plan_folder, struct arena *arena,
                                 struct catalog_cluster *cluster, struct err *err);

struct catalog_item {
    const char *name;
    const char *path;
    const char *summary; /* the comment in the file's first line; of a table its size */
};

/* Everything of a kind that catalog_find would find, sorted by name; the plan's folder is not
 * searched. Items live in the arena. */
void catalog_list(enum catalog_kind kind, struct arena *arena, struct catalog_item **items,
                  size_t *n);

#endif
