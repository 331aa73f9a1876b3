/* YAML (and so JSON) text as a tree of nodes with places: the only user of libyaml.
 *
 * Refused, each with file:line:column: more than one document, anchors, aliases, merge keys,
 * tags, duplicate keys, keys that are not words, nesting over 64, files over 1 MiB, control
 * characters and bytes that are not UTF-8. JSON is read as YAML; pairs of \u surrogates are
 * decoded when the name ends in ".json" or the text starts with '{'. What a file of that name
 * holds must be JSON first, as Python's json takes it: no comma behind the last entry, no
 * comment, no word without quotes. Of another program's file whoever reads it asks for that
 * (json_read_check): some programs' JSON is looser.
 *
 * Nodes, their texts and the file name in their marks live in the arena. */
#ifndef MOEPLAN_PLAN_SOURCE_H
#define MOEPLAN_PLAN_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum { SOURCE_DEPTH = 64, SOURCE_BYTES = 1024 * 1024 };

enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING };

struct node {
    enum node_kind kind;
    bool quoted;          /* scalar in quotes, or a block scalar: a text, never a number */
    struct mark mark;     /* where it starts */
    const char *text;     /* scalar, terminated; "" otherwise */
    const char *key;      /* value in a mapping: its key; NULL otherwise */
    struct mark key_mark; /* where that key stands */
    bool key_quoted;      /* as keys of JSON are */
    size_t n;             /* children */
    struct node *first;   /* sequence: items; mapping: values; in the order of the text */
    struct node *next;    /* the next child of the same parent, or NULL */
};

/* Reads a file; "-" is the standard input. *root is set on success only, never to NULL: a file
 * without content is an error. STATUS_INPUT for everything that is wrong with it. */
enum status source_read_file(const char *file, struct arena *arena, struct node **root,
                             struct err *err);

/* The same from memory; `name` stands for the file in marks. */
enum status source_read_text(const char *name, const char *text, size_t length,
                             struct arena *arena, struct node **root, struct err *err);

/* The same for another program's file, where anchors, aliases and merge keys are usual: what
 * stands twice shares its children, which must not be changed. */
enum status source_read_job(const char *name, const char *text, size_t length,
                            struct arena *arena, struct node **root, struct err *err);

/* The value of a command line option (flow YAML: 4, [a, b], {save: [a]}); its marks name the
 * option and have no line. An empty text is an empty scalar. */
enum status source_read_option(const char *option, const char *text, struct arena *arena,
                               struct node **root, struct err *err);

/* The value under a key of a mapping; NULL when absent, or when node is not a mapping. */
struct node *node_get(const struct node *node, const char *key);

/* The first value of a mapping; NULL: none, or it is no mapping. */
const struct node *node_entries(const struct node *node);

/* A value's text; NULL: no value, or null. Its whole number; 0: none. */
const char *node_text(const struct node *node);
uint64_t node_count(const struct node *node);

/* Whether a value is this text; NULL and mappings are none. node_says: that of a mapping's key.
 */
bool node_is(const struct node *node, const char *text);
bool node_says(const struct node *mapping, const char *key, const char *text);

/* An empty value: nothing, null or ~, without quotes. */
bool node_is_null(const struct node *node);

/* "a value", "a list", "a mapping", for messages. */
const char *node_kind_name(enum node_kind kind);

#endif
