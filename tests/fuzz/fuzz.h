/* What every target in this folder defines: libFuzzer calls it with generated input, replay.c
 * with the files of the corpus. It returns 0 and must neither crash, leak nor hang. */
#ifndef MOEPLAN_FUZZ_FUZZ_H
#define MOEPLAN_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
