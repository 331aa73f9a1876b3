/* The manual as a man page (roff, man macros), for `moeplan help --man` and the installation.
 */
#ifndef MOEPLAN_CLI_HELP_MANPAGE_H
#define MOEPLAN_CLI_HELP_MANPAGE_H

#include <stdio.h>

#include "base/arena.h"

void manpage_write(FILE *out, struct arena *arena);

#endif
