/* See file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_FIRST = 16 * 1024 };

/* Grows by doubling; one byte more than the limit is asked for, so that a device or an endless
 * pipe ends too. */
static enum status read_all(int fd, struct mark mark, size_t limit, struct arena *arena,
                            char **text, size_t *length, struct err *err)
{
    size_t capacity = limit < FILE_FIRST ? limit : FILE_FIRST;
    char *data = arena_alloc(arena, capacity + 2, 1);
    size_t used = 0;
    for (;;) {
        ssize_t n = read(fd, data + used, capacity + 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_at(err, mark, "cannot be read: %s", strerror(errno));
        used += (size_t)n;
        if (n == 0)
            break;
        if (used <= capacity)
            continue;
        if (capacity == limit)
            return err_at(err, mark, "larger than the limit of %zu bytes", limit);
        capacity = capacity > limit / 2 ? limit : 2 * capacity;
        char *larger = arena_alloc(arena, capacity + 2, 1);
        data = memcpy(larger, data, used);
    }
    data[used] = '\0';
    size_t mark_bytes = used >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    *text = data + mark_bytes;
    *length = used - mark_bytes;
    return STATUS_OK;
}

static enum status read_open(int fd, struct mark mark, size_t limit, struct arena *arena,
                             char **text, size_t *length, struct err *err)
{
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
        return err_at(err, mark, "is a directory, not a file");
    return read_all(fd, mark, limit, arena, text, length, err);
}

bool file_is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, R_OK) == 0;
}

enum status file_read(const char *file, size_t limit, struct arena *arena, char **text,
                      size_t *length, struct err *err)
{
    struct mark mark = {.file = file};
    if (strcmp(file, "-") == 0)
        return read_open(STDIN_FILENO, mark, limit, arena, text, length, err);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_at(err, mark, "cannot be opened: %s", strerror(errno));
    enum status status = read_open(fd, mark, limit, arena, text, length, err);
    close(fd);
    return status;
}
