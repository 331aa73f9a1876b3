/* base/output: files appear whole or not at all, other things are written directly. */
#include <setjmp.h>
#include <stdarg.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/output.h"

struct place {
    char folder[64], file[96], partial[112];
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    snprintf(place->folder, sizeof place->folder, "/tmp/moeplan-output-XXXXXX");
    if (!mkdtemp(place->folder))
        return -1;
    snprintf(place->file, sizeof place->file, "%s/out.csv", place->folder);
    snprintf(place->partial, sizeof place->partial, "%s.partial", place->file);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    unlink(place->file);
    unlink(place->partial);
    int removed = rmdir(place->folder);
    free(place);
    return removed;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_contents(const char *path, const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static void a_file_is_renamed_when_whole(void **state)
{
    const struct place *place = *state;
    struct output output;
    struct err err = {0};
    assert_int_equal(output_open(&output, place->file, &err), STATUS_OK);
    fputs("new", output.file);
    fflush(output.file);
    assert_int_equal(access(place->file, F_OK), -1);
    assert_contents(place->partial, "new");
    assert_int_equal(output_close(&output, &err), STATUS_OK);
    assert_contents(place->file, "new");
    assert_int_equal(access(place->partial, F_OK), -1);
}

static void giving_up_keeps_the_earlier_file(void **state)
{
    const struct place *place = *state;
    struct output output;
    struct err err = {0};
    write_file(place->file, "old");
    assert_int_equal(output_open(&output, place->file, &err), STATUS_OK);
    fputs("half", output.file);
    output_abandon(&output);
    assert_contents(place->file, "old");
    assert_int_equal(access(place->partial, F_OK), -1);
}

/* A process killed while it writes. */
static void a_killed_writer_leaves_its_file(void **state)
{
    const struct place *place = *state;
    write_file(place->file, "old");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct output output;
        struct err err = {0};
        if (output_open(&output, place->file, &err) == STATUS_OK) {
            fputs("half", output.file);
            fflush(output.file);
        }
        raise(SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_contents(place->file, "old");
    assert_contents(place->partial, "half");
}

/* How a process ends that a signal meets while it writes. */
struct ending {
    int signal;
    const char *written;
    bool rows, ignored, elsewhere; /* on another thread */
    bool stays;                    /* the unfinished file */
};

static void *raise_it(void *number)
{
    raise(*(int *)number);
    return NULL;
}

/* Never returns: by the signal, or with 7 where that is ignored. */
static void write_and_end(const char *file, const struct ending *ending)
{
    struct output output;
    struct err err = {0};
    pthread_t thread;
    int number = ending->signal;
    if (ending->ignored)
        signal(ending->signal, SIG_IGN);
    output_prepare();
    if (output_open(&output, file, &err) != STATUS_OK)
        _exit(8);
    if (ending->rows)
        output_keep_rows(&output);
    fputs(ending->written, output.file);
    fflush(output.file);
    if (!ending->elsewhere)
        raise(ending->signal);
    else if (pthread_create(&thread, NULL, raise_it, &number) == 0)
        pthread_join(thread, NULL);
    _exit(7);
}

static void a_signal_removes_what_is_unfinished(void **state)
{
    const struct place *place = *state;
    static const struct ending endings[] = {
        {SIGINT, "half", false, false, false, false},
        {SIGTERM, "half", false, false, false, false},
        {SIGHUP, "half", false, false, true, false},
        {SIGINT, "a row\n", true, false, false, true},
        {SIGINT, "", true, false, false, false},
        {SIGINT, "half", false, true, false, true},
    };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        int status = 0;
        write_file(place->file, "old");
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            write_and_end(place->file, &endings[i]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WIFSIGNALED(status), !endings[i].ignored);
        assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                         endings[i].ignored ? 7 : endings[i].signal);
        assert_contents(place->file, "old");
        assert_int_equal(access(place->partial, F_OK), endings[i].stays ? 0 : -1);
        if (endings[i].stays)
            assert_contents(place->partial, endings[i].written);
        unlink(place->partial);
    }
}

/* Both end well, the last one stays, and nothing else does. */
static void two_writers_do_not_meet(void **state)
{
    const struct place *place = *state;
    struct output first, second;
    struct err err = {0};
    assert_int_equal(output_open(&first, place->file, &err), STATUS_OK);
    assert_int_equal(output_open(&second, place->file, &err), STATUS_OK);
    assert_string_not_equal(first.partial, second.partial);
    fputs("first", first.file);
    fputs("second", second.file);
    assert_int_equal(output_close(&second, &err), STATUS_OK);
    assert_contents(place->file, "second");
    assert_int_equal(output_close(&first, &err), STATUS_OK);
    assert_contents(place->file, "first");
    assert_int_equal(access(place->partial, F_OK), -1);
}

/* What somebody laid in the way keeps its contents. */
static void a_link_in_the_way_is_not_followed(void **state)
{
    const struct place *place = *state;
    char victim[128], link[128];
    struct output output;
    struct err err = {0};
    snprintf(victim, sizeof victim, "%s/victim", place->folder);
    snprintf(link, sizeof link, "%s.2.partial", place->file);
    write_file(victim, "precious");
    assert_int_equal(symlink(victim, place->partial), 0);
    assert_int_equal(symlink("nowhere", link), 0);
    assert_int_equal(output_open(&output, place->file, &err), STATUS_OK);
    fputs("new", output.file);
    assert_int_equal(output_close(&output, &err), STATUS_OK);
    assert_contents(place->file, "new");
    assert_contents(victim, "precious");
    assert_int_equal(unlink(link), 0);
    unlink(victim);
}

static void permissions_and_links_are_kept(void **state)
{
    const struct place *place = *state;
    char link[128];
    snprintf(link, sizeof link, "%s/link", place->folder);
    write_file(place->file, "old");
    assert_int_equal(chmod(place->file, 0640), 0);
    assert_int_equal(symlink("out.csv", link), 0);
    struct output output;
    struct err err = {0};
    assert_int_equal(output_open(&output, link, &err), STATUS_OK);
    fputs("new", output.file);
    assert_int_equal(output_close(&output, &err), STATUS_OK);
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(place->file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_contents(place->file, "new");
    unlink(link);
}

static void other_things_are_written_directly(void **state)
{
    const struct place *place = *state;
    struct output output;
    struct err err = {0};
    assert_int_equal(output_open(&output, "/dev/null", &err), STATUS_OK);
    assert_null(output.partial);
    fputs("x", output.file);
    assert_int_equal(output_close(&output, &err), STATUS_OK);
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(access(place->file, F_OK), -1);
}

static void a_full_device_is_an_error(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    struct output output;
    struct err err = {0};
    assert_int_equal(output_open(&output, "/dev/full", &err), STATUS_OK);
    fputs("x", output.file);
    assert_int_equal(output_close(&output, &err), STATUS_SYSTEM);
    assert_string_equal(err.text, "cannot write '/dev/full': No space left on device");
}

static void what_cannot_be_opened_is_an_error(void **state)
{
    const struct place *place = *state;
    char missing[128];
    snprintf(missing, sizeof missing, "%s/no/such", place->folder);
    const struct {
        const char *path, *reason;
    } cases[] = {{missing, "No such file or directory"}, {place->folder, "Is a directory"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct output output;
        struct err err = {0};
        char expected[256];
        snprintf(expected, sizeof expected, "cannot write '%s': %s", cases[i].path,
                 cases[i].reason);
        assert_int_equal(output_open(&output, cases[i].path, &err), STATUS_INPUT);
        assert_string_equal(err.text, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_renamed_when_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(giving_up_keeps_the_earlier_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_killed_writer_leaves_its_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_signal_removes_what_is_unfinished, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_writers_do_not_meet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_in_the_way_is_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(permissions_and_links_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_things_are_written_directly, set_up, tear_down),
        cmocka_unit_test(a_full_device_is_an_error),
        cmocka_unit_test_setup_teardown(what_cannot_be_opened_is_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
