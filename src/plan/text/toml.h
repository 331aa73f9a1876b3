/* TOML text (version 1.0, as job files use it) as a tree of nodes with places, the same tree
 * that plan/source.h makes of YAML: tables are mappings, arrays sequences, strings quoted
 * scalars; numbers lose their underscores, dates stay texts. */
#ifndef MOEPLAN_PLAN_TEXT_TOML_H
#define MOEPLAN_PLAN_TEXT_TOML_H

#include "plan/source.h"

/* STATUS_INPUT with a place for everything that is not TOML, for duplicate keys, nesting over
 * SOURCE_DEPTH, and more than 4096 keys. Nodes live in the arena. */
enum status toml_read(const char *name, const char *text, size_t length, struct arena *arena,
                      struct node **root, struct err *err);

#endif
