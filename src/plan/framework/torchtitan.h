/* How a plan is written for torchtitan; for plan/framework/torchtitan.c. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_TORCHTITAN_H
#define MOEPLAN_PLAN_FRAMEWORK_TORCHTITAN_H

#include "plan/job/reader.h"

/* "section.key = value", words in quotes. */
void torchtitan_write_line(struct job_writer *writer, const char *name, const char *value);

enum status torchtitan_write(struct job_writer *writer);

/* Configurations in Python, as settings below everything else: torchtitan_python.c */
bool torchtitan_is_python(const char *text);
enum status torchtitan_read_python(struct job *job, const char *name, const char *text,
                                   size_t length);

/* The function of a module's registry, where the checkout is around the job; *found false: it
 * is not. */
enum status torchtitan_read_registry(struct job *job, const char *module, const char *config,
                                     bool *found);

#endif
