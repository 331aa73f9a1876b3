/* See group.h. */
#include "exec/gpu/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

/* ---- opening ---- */

static enum status open_one(struct gpu_group *group, const char *where, uint64_t turn,
                            struct err *err)
{
    TRY(gpu_open(where, group->n, turn, &group->of[group->n], err));
    const char *name = gpu_where(group->of[group->n++]);
    for (unsigned i = 0; i + 1 < group->n; i++)
        if (strcmp(gpu_where(group->of[i]), name) == 0)
            return err_set(err, STATUS_USAGE, "device \"%s\" is named twice", name);
    return STATUS_OK;
}

/* Names between commas. */
static unsigned count_names(const char *where)
{
    unsigned n = 1;
    for (const char *at = where; *at; at++)
        n += *at == ',';
    return n;
}

static enum status open_names(struct gpu_group *group, const char *where, uint64_t turn,
                              bool all, struct err *err)
{
    unsigned n = count_names(where);
    if (n > GPU_MOST)
        return err_set(err, STATUS_USAGE, "%u devices are named, the limit is %d", n, GPU_MOST);
    for (unsigned i = 0; i < n; i++) {
        char name[64];
        size_t length = strcspn(where, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, where);
        where += length + (where[length] == ',');
        if (all || i == turn % n)
            TRY(open_one(group, name, 0, err));
    }
    return STATUS_OK;
}

static enum status link_two(struct gpu_group *group, unsigned from, unsigned to,
                            struct err *err)
{
    const struct gpu_driver *driver = gpu_driver_of(group->of[from]);
    bool alike = driver->reach && gpu_driver_of(group->of[to]) == driver;
    return alike ? driver->reach(gpu_device_of(group->of[from]), gpu_device_of(group->of[to]),
                                 &group->direct[from][to], err)
                 : STATUS_OK;
}

static enum status link_all(struct gpu_group *group, struct err *err)
{
    for (unsigned from = 0; from < group->n; from++)
        for (unsigned to = 0; to < group->n; to++)
            if (from != to)
                TRY(link_two(group, from, to, err));
    return STATUS_OK;
}

enum status gpu_group_open(struct gpu_group *group, const char *where, uint64_t turn,
                           uint64_t processes, struct err *err)
{
    memset(group, 0, sizeof *group);
    bool all = processes <= 1;
    TRY(where ? open_names(group, where, turn, all, err) : open_one(group, NULL, turn, err));
    uint64_t devices = where ? count_names(where) : gpu_siblings(group->of[0]);
    group->sharers = all ? 1 : ceil_div(processes, devices);
    return link_all(group, err);
}

void gpu_group_close(struct gpu_group *group)
{
    for (unsigned i = 0; i < group->n; i++)
        gpu_close(group->of[i]);
    group->n = 0;
}

struct gpu *gpu_group_of(const struct gpu_group *group, const void *address)
{
    unsigned slot = gpu_slot(address);
    return group->of[slot < group->n ? slot : 0];
}

/* ---- copies ---- */

/* In pieces through the host's memory: two drivers, or one that copies on one device only. */
static enum status copy_staged(struct gpu *source, const char *from, struct gpu *target,
                               char *to, uint64_t bytes, struct err *err)
{
    enum { PIECE = 16 << 20 };
    uint64_t piece = lesser(bytes, PIECE);
    char *host = malloc(piece);
    if (!host)
        return err_set(err, STATUS_SYSTEM, "out of memory for %llu bytes of an exchange",
                       (unsigned long long)piece);
    enum status status = STATUS_OK;
    for (uint64_t at = 0; status == STATUS_OK && at < bytes; at += piece) {
        uint64_t n = lesser(piece, bytes - at);
        status = gpu_read(source, from + at, host, n, err);
        if (status == STATUS_OK)
            status = gpu_write(target, to + at, host, n, err);
    }
    free(host);
    return status;
}

static enum status copy_across(struct gpu *source, const void *from, struct gpu *target,
                               void *to, uint64_t bytes, struct err *err)
{
    const struct gpu_driver *driver = gpu_driver_of(source);
    uint64_t memory, offset, other, other_offset;
    if (!driver->copy_to || gpu_driver_of(target) != driver)
        return copy_staged(source, from, target, to, bytes, err);
    TRY(gpu_place(source, from, bytes, &memory, &offset, err));
    TRY(gpu_place(target, to, bytes, &other, &other_offset, err));
    return driver->copy_to(gpu_device_of(source), memory + offset, gpu_device_of(target),
                           other + other_offset, bytes, err);
}

enum status gpu_group_move(struct gpu_group *group, const void *from, void *to, uint64_t bytes,
                           struct err *err)
{
    struct gpu *source = gpu_group_of(group, from), *target = gpu_group_of(group, to);
    if (bytes == 0)
        return STATUS_OK;
    if (source == target)
        return gpu_copy(source, from, to, bytes, err);
    if (!group->moving) /* what fills the target's memory may not have ended */
        TRY(gpu_group_settle(group, err));
    group->moving = true;
    return copy_across(source, from, target, to, bytes, err);
}

enum status gpu_group_settle(struct gpu_group *group, struct err *err)
{
    for (unsigned i = 0; i < group->n; i++)
        TRY(gpu_settle(group->of[i], "copies of an exchange", err));
    group->moving = false;
    return STATUS_OK;
}

/* ---- what is said of them ---- */

void gpu_group_text(const struct gpu_group *group, char *text, size_t room)
{
    unsigned pairs = group->n * (group->n - 1), direct = 0, by_driver = 0;
    text[0] = '\0';
    if (group->n < 2)
        return;
    for (unsigned i = 0; i < group->n; i++)
        for (unsigned j = 0; j < group->n; j++) {
            const struct gpu_driver *driver = gpu_driver_of(group->of[i]);
            direct += group->direct[i][j];
            by_driver += i != j && driver->copy_to && gpu_driver_of(group->of[j]) == driver;
        }
    snprintf(text, room,
             "%u devices: of %u pairs %u copy directly, %u staged by the driver, "
             "%u through the host's memory",
             group->n, pairs, direct, by_driver - direct, pairs - by_driver);
}
