/* Amounts of memory in one unit for a whole page, so that columns can be compared. */
#ifndef MOEPLAN_REPORT_AMOUNT_H
#define MOEPLAN_REPORT_AMOUNT_H

#include <stdint.h>

struct scale {
    const char *unit; /* "GiB"; "MiB", "KiB", "B" for pages of small plans */
    double bytes;     /* in one unit */
};

/* The unit for a page whose largest amount is this: GiB from 1 GiB up. */
struct scale scale_for(uint64_t largest_bytes);

/* "112.00": two digits after the point. Signed amounts for margins. */
void scale_print(char buffer[32], struct scale scale, uint64_t bytes);
void scale_print_signed(char buffer[32], struct scale scale, int64_t bytes);

/* "37.2": percent of a total; "0.0" when the total is 0. */
void percent_print(char buffer[32], uint64_t part, uint64_t total);

#endif
