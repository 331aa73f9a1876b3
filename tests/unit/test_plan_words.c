/* sim/search/plan_words: every word that differs is found once, wherever it stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/schema/schema.h"
#include "sim/search/plan_words.h"

static void differing_words_in_turn(void **state)
{
    (void)state;
    static const size_t places[] = {0, 1, 63, 64, 65, 200, PLAN_WORDS - 1};
    enum { PLACES = sizeof places / sizeof *places };
    struct plan base, changed;
    schema_defaults(&base);
    changed = base;
    assert_int_equal(plan_words_differ(&base, &changed, 0), PLAN_WORDS);
    for (size_t i = 0; i < PLACES; i++)
        plan_word_set(&changed, places[i], plan_word(&base, places[i]) + 1);
    size_t at = 0;
    for (size_t i = 0; i < PLACES; i++, at++) {
        at = plan_words_differ(&base, &changed, at);
        assert_int_equal(at, places[i]);
        assert_true(plan_word(&changed, at) == plan_word(&base, at) + 1);
    }
    assert_int_equal(plan_words_differ(&base, &changed, at), PLAN_WORDS);
}

static void a_key_is_its_own_word(void **state)
{
    (void)state;
    struct plan base, changed;
    schema_defaults(&base);
    changed = base;
    changed.workload.micro_batch += 7;
    size_t at = plan_words_differ(&base, &changed, 0);
    assert_int_equal(at, offsetof(struct plan, workload.micro_batch) / PLAN_WORD_BYTES);
    assert_int_equal(plan_words_differ(&base, &changed, at + 1), PLAN_WORDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differing_words_in_turn),
        cmocka_unit_test(a_key_is_its_own_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
