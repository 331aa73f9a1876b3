/* What schema.c, schema_print.c and schema_table.c share. */
#ifndef MOEPLAN_PLAN_SCHEMA_SCHEMA_TABLE_H
#define MOEPLAN_PLAN_SCHEMA_SCHEMA_TABLE_H

#include "plan/schema/schema.h"

extern const struct field schema_table[];
extern const size_t schema_table_size;

/* Letters, digits and the marks _ - . * and slash: stands in lists without quotes. */
bool schema_is_name(const char *text);

#endif
