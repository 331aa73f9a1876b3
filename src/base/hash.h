/* FNV-1a, 64 bits: tells a changed text or table, not a forged one. */
#ifndef MOEPLAN_BASE_HASH_H
#define MOEPLAN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of what was hashed so far, followed by n bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The same of a text, without its end. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

#endif
