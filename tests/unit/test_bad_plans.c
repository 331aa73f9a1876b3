/* tests/plans/bad: every file is refused with exactly the message in the file beside it. With
 * MOEPLAN_REWRITE=1 in the environment the messages are written there instead: read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>

#include "base/text.h"
#include "plan/read/load.h"
#include "support/beside.h"

#define FOLDER "tests/plans/bad/"

enum { MANY = 80 };

static void check(const char *name, struct arena *arena)
{
    struct err err = {0};
    struct plan plan, untouched;
    const char *file = arena_printf(arena, FOLDER "%s", name);
    memset(&plan, 0x5a, sizeof plan);
    memset(&untouched, 0x5a, sizeof untouched);
    enum status status = plan_load(file, NULL, 0, arena, &plan, NULL, &err);
    assert_int_equal(status, STATUS_INPUT);
    assert_memory_equal(&plan, &untouched, sizeof plan);
    beside_check(file, &err, arena);
}

static void bad_plans_are_refused_word_for_word(void **state)
{
    (void)state;
    struct arena arena = {0};
    size_t n = 0;
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (!text_ends(entry->d_name, ".yaml") && !text_ends(entry->d_name, ".json"))
            continue;
        check(entry->d_name, &arena);
        n++;
    }
    closedir(folder);
    assert_true(n >= MANY);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_plans_are_refused_word_for_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
