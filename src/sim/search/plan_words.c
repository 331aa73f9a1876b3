/* See plan_words.h. */
#include "sim/search/plan_words.h"

#include "base/checked.h"

enum { BLOCK = 64 };

/* A plan is large, and most changes are of one word: blocks that are the same are passed over.
 */
size_t plan_words_differ(const struct plan *a, const struct plan *b, size_t at)
{
    while (at < PLAN_WORDS) {
        size_t n = (size_t)lesser(BLOCK, PLAN_WORDS - at), offset = PLAN_WORD_BYTES * at,
               bytes = PLAN_WORD_BYTES * n;
        if (memcmp((const char *)a + offset, (const char *)b + offset, bytes) == 0) {
            at += n;
            continue;
        }
        while (plan_word(a, at) == plan_word(b, at))
            at++;
        return at;
    }
    return PLAN_WORDS;
}
