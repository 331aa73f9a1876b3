/* Numbers in the files by which the kernel tells about itself (/proc, /sys). */
#ifndef MOEPLAN_BASE_SYSTEM_FILE_H
#define MOEPLAN_BASE_SYSTEM_FILE_H

#include <stdint.h>

/* The number after `key` in a file of "key value" lines; UINT64_MAX when there is none ("max"
 * is none). An empty key reads the file's first number. */
uint64_t system_file_number(const char *path, const char *key);

#endif
