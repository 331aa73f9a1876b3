/* Units as documents and tables of measurements print them. */
#ifndef MOEPLAN_CALIB_TABLE_PRINTED_UNIT_H
#define MOEPLAN_CALIB_TABLE_PRINTED_UNIT_H

/* How many base units a printed unit is ("GiB", "ms", "%", "Mtokens/s"); 0 when not known. */
double printed_unit(const char *unit);

#endif
