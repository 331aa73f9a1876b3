/* Commands that a program in Python starts: subprocess.run(["vllm", "serve", M]),
 * os.system("..") and their likes, as a shell's script; and the device that it asks a cloud
 * for. */
#ifndef MOEPLAN_PLAN_TEXT_PYTHON_COMMANDS_H
#define MOEPLAN_PLAN_TEXT_PYTHON_COMMANDS_H

#include "base/text.h"
#include "plan/text/python.h"

/* The commands on the lines on which they are started. A word that the program works out is the
 * variable of its name, or a command's output. Nothing where it starts none. */
void python_commands(const struct python *python, struct text *script);

#endif
