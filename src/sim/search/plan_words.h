/* Plans as 64-bit words: what differs between two of them, whatever key it belongs to. */
#ifndef MOEPLAN_SIM_SEARCH_PLAN_WORDS_H
#define MOEPLAN_SIM_SEARCH_PLAN_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan/plan.h"

enum { PLAN_WORD_BYTES = sizeof(uint64_t), PLAN_WORDS = sizeof(struct plan) / PLAN_WORD_BYTES };

_Static_assert(sizeof(struct plan) % PLAN_WORD_BYTES == 0, "a plan is a whole number of words");

static inline uint64_t plan_word(const struct plan *plan, size_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)plan + PLAN_WORD_BYTES * at, PLAN_WORD_BYTES);
    return word;
}

static inline void plan_word_set(struct plan *plan, size_t at, uint64_t word)
{
    memcpy((char *)plan + PLAN_WORD_BYTES * at, &word, PLAN_WORD_BYTES);
}

/* The first word from `at` on in which they differ; PLAN_WORDS: none does. */
size_t plan_words_differ(const struct plan *a, const struct plan *b, size_t at);

#endif
