/* A job of one framework, from any text: ends in a plan that reads back as it is printed, or in
 * an error with a text. */
#ifndef MOEPLAN_FUZZ_JOB_ANY_H
#define MOEPLAN_FUZZ_JOB_ANY_H

#include <stddef.h>
#include <stdint.h>

/* Aborts when the reader contradicts itself. Nothing is opened: the job has no file. */
void job_any(const char *framework, const uint8_t *data, size_t size);

#endif
