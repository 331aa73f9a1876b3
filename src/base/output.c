/* Output files that are whole or absent; see output.h. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/unfinished.h"

enum { OUTPUT_WRITERS = 1000 }; /* unfinished files beside one target, at most */

void output_prepare(void)
{
    signal(SIGPIPE, SIG_DFL);
    unfinished_watch();
    /* Opened for reading: writing to a descriptor the caller closed stays an error. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", O_RDONLY);
}

static void output_release(struct output *output)
{
    unfinished_drop(output->partial);
    free(output->target);
    free(output->partial);
    free(output->name);
    memset(output, 0, sizeof *output);
}

static char *copy_with_ending(const char *text, const char *ending)
{
    size_t size = strlen(text) + strlen(ending) + 1;
    char *copy = malloc(size);
    if (copy)
        snprintf(copy, size, "%s%s", text, ending);
    return copy;
}

static enum status cannot_open(const char *path, struct err *err)
{
    return err_set(err, STATUS_INPUT, "cannot write '%s': %s", path, strerror(errno));
}

static enum status open_direct(struct output *output, const char *path, struct err *err)
{
    output->file = fopen(path, "w");
    return output->file ? STATUS_OK : cannot_open(path, err);
}

/* A new file beside the target under a name that nothing has: FILE.partial, else
 * FILE.2.partial, and so on, since another process may be writing FILE, or was killed while it
 * did. */
static int create_beside(struct output *output, mode_t mode)
{
    char ending[32] = ".partial";
    for (unsigned i = 2; i <= OUTPUT_WRITERS; i++) {
        output->partial = copy_with_ending(output->target, ending);
        int fd = output->partial
                     ? open(output->partial,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
                     : -1;
        if (fd >= 0 || !output->partial || errno != EEXIST)
            return fd;
        free(output->partial);
        output->partial = NULL;
        snprintf(ending, sizeof ending, ".%u.partial", i);
    }
    return -1;
}

static int create_partial(struct output *output, mode_t mode)
{
    sigset_t before;
    unfinished_hold(&before);
    int fd = create_beside(output, mode);
    if (fd >= 0)
        unfinished_add(output->partial);
    unfinished_release(&before);
    return fd;
}

/* An existing file keeps its permissions; the link that names it stays a link. */
static enum status open_beside(struct output *output, const char *path,
                               const struct stat *existing, struct err *err)
{
    output->target = existing ? realpath(path, NULL) : copy_with_ending(path, "");
    if (!output->target || (existing && access(output->target, W_OK) != 0))
        return cannot_open(path, err);
    int fd = create_partial(output, existing ? existing->st_mode & 0777 : 0666);
    if (fd < 0)
        return cannot_open(path, err);
    if (existing)
        (void)fchmod(fd, existing->st_mode & 0777);
    output->file = fdopen(fd, "w");
    if (output->file)
        return STATUS_OK;
    enum status status = cannot_open(path, err);
    close(fd);
    unlink(output->partial);
    return status;
}

enum status output_open(struct output *output, const char *path, struct err *err)
{
    struct output opened = {0};
    enum status status = STATUS_OK;
    struct stat existing;
    if (!path || text_equal(path, "-")) {
        opened.file = stdout;
        opened.name = copy_with_ending("standard output", "");
    } else {
        opened.name = copy_with_ending(path, "");
        bool exists = stat(path, &existing) == 0;
        if (exists && !S_ISREG(existing.st_mode))
            status = open_direct(&opened, path, err);
        else
            status = open_beside(&opened, path, exists ? &existing : NULL, err);
    }
    if (status != STATUS_OK) {
        output_release(&opened);
        return status;
    }
    *output = opened;
    return STATUS_OK;
}

static enum status output_fail(const struct output *output, struct err *err)
{
    return err_set(err, STATUS_SYSTEM, "cannot write '%s': %s",
                   output->name ? output->name : "output",
                   errno ? strerror(errno) : "an earlier write failed");
}

void output_keep_rows(const struct output *output)
{
    unfinished_keep(output->partial);
}

static enum status rename_partial(const struct output *output, struct err *err)
{
    sigset_t before;
    unfinished_hold(&before);
    bool renamed = rename(output->partial, output->target) == 0;
    if (renamed)
        unfinished_drop(output->partial);
    enum status status = renamed ? STATUS_OK : output_fail(output, err);
    unfinished_release(&before);
    return status;
}

enum status output_close(struct output *output, struct err *err)
{
    enum status status = STATUS_OK;
    bool failed = ferror(output->file) != 0;
    errno = 0;
    if (fflush(output->file) != 0 || failed)
        status = output_fail(output, err);
    if (output->file != stdout && fclose(output->file) != 0 && status == STATUS_OK)
        status = output_fail(output, err);
    if (output->partial) {
        if (status == STATUS_OK)
            status = rename_partial(output, err);
        if (status != STATUS_OK)
            unlink(output->partial);
    }
    output_release(output);
    return status;
}

void output_abandon(struct output *output)
{
    if (output->file && output->file != stdout)
        fclose(output->file);
    if (output->partial)
        unlink(output->partial);
    output_release(output);
}
