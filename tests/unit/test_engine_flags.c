/* Every flag of the newest engines that was read is in their tables, or is said to matter to
 * neither memory nor time (tests/flags); variables of the environment that do are warned of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "plan/job/reader.h"

/* A line is a flag, "- " in front of one that matters to neither, or a comment. */
static unsigned check_flag(const struct job_framework *framework, char *line)
{
    bool neither = text_starts(line, "- ");
    const char *name = line + (neither ? 2 : 0);
    const struct job_flag *flag = job_flag_find(framework, name, strlen(name));
    bool matters = flag && flag->read != JOB_NEITHER;
    if (!neither && !flag)
        print_error("%s: '%s' is passed over\n", framework->name, name);
    if (neither && matters)
        print_error("%s: '%s' is read, and listed as neither\n", framework->name, name);
    return neither ? matters : !flag;
}

static void check_list(const char *engine, unsigned least)
{
    struct arena arena = {0};
    struct err err = {0};
    const struct job_framework *framework = job_framework_named(engine);
    const char *path = arena_printf(&arena, "tests/flags/%s.txt", engine);
    char *text;
    size_t length;
    unsigned wrong = 0, n = 0;
    assert_non_null(framework);
    if (file_read(path, 1 << 20, &arena, &text, &length, &err))
        fail_msg("%s: %s", path, err.text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (line[0] == '#')
            continue;
        wrong += check_flag(framework, line);
        n++;
    }
    assert_true(n >= least);
    assert_int_equal(wrong, 0);
    arena_release(&arena);
}

static void no_flag_is_passed_over(void **state)
{
    (void)state;
    check_list("vllm", 250);
    check_list("sglang", 500);
    check_list("trtllm", 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_flag_is_passed_over)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
