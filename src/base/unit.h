/* Quantities with units: "288 GiB", "8 TB/s", "2.5 PFLOP/s", "1 us".
 * Memory is printed in GiB (binary), rates in SI (decimal). */
#ifndef MOEPLAN_BASE_UNIT_H
#define MOEPLAN_BASE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

enum unit {
    UNIT_NONE,        /* a plain number */
    UNIT_BYTES,       /* B, kB MB GB TB (10^3), KiB MiB GiB TiB (2^10) */
    UNIT_BYTES_PER_S, /* bytes with "/s"; also Gbit/s, Gb/s, Tbit/s */
    UNIT_FLOP_PER_S,  /* FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s */
    UNIT_SECONDS,     /* s, ms, us, ns */
    UNIT_HERTZ        /* Hz, kHz, MHz, GHz */
};

/* Binary units, in bytes. */
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* Reads a number and its unit (a space between them is allowed). A plain number without a unit
 * is in the base unit. False when the text is not such a quantity; *value untouched then. */
bool unit_parse(enum unit unit, const char *text, double *value);

/* The units a quantity of this kind takes, for messages: "B, KiB, MiB, GiB, TiB, kB, ...". */
const char *unit_names(enum unit unit);

/* Shortest exact text of a value, in the largest unit that reads back as the same value:
 * 309220868096 bytes -> "287.98 GiB" only if exact, otherwise "309216150118 B". */
void unit_print_exact(char buffer[48], enum unit unit, double value);

/* For people: bytes as "58.59 GiB" / "375.0 MiB" / "512 B" with four digits; rates in SI
 * ("1.20 TB/s", "434 TFLOP/s"), times "1.24 ms". */
void unit_print(char buffer[48], enum unit unit, double value);

/* Integers with digit groups: 671,026,419,200. */
void unit_print_count(char buffer[32], uint64_t value);

#endif
