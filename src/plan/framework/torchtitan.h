/* How a plan is written for torchtitan; for plan/framework/torchtitan.c. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_TORCHTITAN_H
#define MOEPLAN_PLAN_FRAMEWORK_TORCHTITAN_H

#include "plan/job/reader.h"

/* "section.key = value", words in quotes. */
void torchtitan_write_line(struct job_writer *writer, const char *name, const char *value);

enum status torchtitan_write(struct job_writer *writer);

#endif
