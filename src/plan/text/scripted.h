/* Launches in files that have commands without being scripts, as a script whose words stand on
 * the lines that they have in the file: Dockerfiles (the command that a container starts with),
 * units of systemd (what a service or podman's container starts), Makefiles and justfiles
 * (their recipes and variables), notebooks (lines behind '!', cells of "%%bash", files of
 * "%%writefile"). */
#ifndef MOEPLAN_PLAN_TEXT_SCRIPTED_H
#define MOEPLAN_PLAN_TEXT_SCRIPTED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

/* By the file's name, or for a text without one by how it begins. */
bool dockerfile_is(const char *name, const char *text);
bool unit_file_is(const char *name, const char *text);
bool makefile_is(const char *name);
bool justfile_is(const char *name);
bool notebook_is(const char *name, const char *text, size_t length);

void dockerfile_script(const char *text, size_t length, struct text *script);
void unit_file_script(const char *text, size_t length, struct text *script);
void makefile_script(const char *text, size_t length, struct text *script);
void justfile_script(const char *text, size_t length, struct text *script);

/* The cells' Python, and what they give a shell; STATUS_INPUT with the place for what is no
 * notebook. */
enum status notebook_read(const char *name, const char *text, size_t length,
                          struct text *python, struct text *script, struct err *err);

#endif
