/* The one reader of numbers that stand in options, tables and files: decimal, all of the text,
 * finite. Never "inf", "nan", hexadecimal, a sign on a count or blanks around a number. */
#ifndef MOEPLAN_BASE_NUMBER_H
#define MOEPLAN_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Digits only, exact up to 2^64 - 1. False when the text is no such number; *value untouched
 * then. */
bool number_count(const char *text, uint64_t *value);

/* Digits only, as many as there are: a whole number, of any size. */
bool number_is_whole(const char *text);

/* "12", "-0.5", ".5", "1e-6": false when the text is no number, or too large for a double;
 * *value untouched then. */
bool number_real(const char *text, double *value);

/* "FROM..TO" of two whole numbers, or of two reals: the limits that an option states. */
bool number_limits(const char *text, double *least, double *most);

#endif
