/* JSON Schemas of what commands write by tables of their own. */
#ifndef MOEPLAN_CLI_COMMAND_SCHEMAS_H
#define MOEPLAN_CLI_COMMAND_SCHEMAS_H

#include <stdio.h>

void check_print_schema(FILE *out);
void validate_print_schema(FILE *out);

/* A list of rows: the columns that every sweep has, beside those that it was asked for. */
void frontier_print_schema(FILE *out);

#endif
