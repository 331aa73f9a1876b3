/* Messages that stand in a file beside the input they are about. */
#ifndef MOEPLAN_TESTS_SUPPORT_BESIDE_H
#define MOEPLAN_TESTS_SUPPORT_BESIDE_H

#include "base/arena.h"
#include "base/err.h"

/* Fails the test unless "where: text" and the hint are what FILE.expected holds. With
 * MOEPLAN_REWRITE=1 in the environment they are written there first: read them. */
void beside_check(const char *file, const struct err *err, struct arena *arena);

#endif
