/* The fault that MOEPLAN_EMUL_FAULT asks for: "kind" or "kind:what". */
#ifndef MOEPLAN_TESTS_EMUL_FAULT_H
#define MOEPLAN_TESTS_EMUL_FAULT_H

/* What follows the kind when the fault is asked for, "" for nothing; NULL when it is not. */
const char *fault_asked(const char *kind);

#endif
