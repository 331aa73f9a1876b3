/* Guesses at names; see guess.h. */
#include "plan/read/guess.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/schema/word.h"

enum { CHOICES = 4, NODE = 8 };

static const char *item_name(const void *table, size_t i)
{
    return ((const struct catalog_item *)table)[i].name;
}

char *guess_spelling(const char *name, struct arena *arena)
{
    char *copy = arena_strdup(arena, text_base_name(name));
    for (char *c = copy; *c; c++)
        *c = *c == '_' || *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
    return copy;
}

/* Letters and digits alone: "gpt-oss-120b" -> "gptoss120b". */
static char *bare(const char *name, struct arena *arena)
{
    char *copy = arena_strdup(arena, name), *to = copy;
    for (const char *c = name; *c; c++)
        if (isalnum((unsigned char)*c))
            *to++ = *c;
    *to = '\0';
    return copy;
}

/* ---- clusters ---- */

/* A name with its size at the end: "h100-8x1". */
static bool is_sized(const char *name)
{
    const char *dash = strrchr(name, '-');
    return dash && isdigit((unsigned char)dash[1]) && strchr(dash, 'x') &&
           dash[1 + strspn(dash + 1, "0123456789x")] == '\0';
}

/* The device in a spelling ("h100" of "8xh100-80gb"): the longest name of the catalogue that
 * stands in it; *at is where. */
static const char *find_device(const char *spelling, const struct catalog_item *items, size_t n,
                               const char **at)
{
    const char *device = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *name = items[i].name, *found = strstr(spelling, name);
        if (!found || is_sized(name) || (device && strlen(name) <= strlen(device)))
            continue;
        device = name;
        *at = found;
    }
    return device;
}

/* Adds the counts in [at, end) that stand alone or beside an x: "2x8x", neither the 80 of
 * "80gb" nor the 5 of "sxm5". */
static size_t read_counts(const char *at, const char *end, uint64_t counts[2], size_t n)
{
    bool named = false; /* a letter other than x stands before */
    while (at < end && n < 2) {
        size_t digits = strspn(at, "0123456789");
        if (at + digits > end || digits > 6)
            return n;
        const char *next = at + digits;
        if (digits && !named && (next >= end || !isalpha((unsigned char)*next) || *next == 'x'))
            counts[n++] = (uint64_t)strtoull(at, NULL, 10);
        named = !digits && isalpha((unsigned char)*at) && *at != 'x';
        at = digits ? next : at + 1;
    }
    return n;
}

/* The devices of a node, of "72x1"; *node untouched when it says no such number. */
static void read_node(const char *sizes, uint64_t *node)
{
    uint64_t n[2] = {0, 0};
    if (read_counts(sizes, sizes + strcspn(sizes, "x"), n, 0) == 1 && n[0] > 0)
        *node = n[0];
}

/* TPUs, whose slices grow along axes; those of two count chips in a slice's name, those of
 * three cores, two a chip ("v5p-128" has 64 chips). */
static const struct {
    const char *device;
    unsigned axes, cores;
} tpus[] = {{"tpu-v4", 3, 2}, {"tpu-v5p", 3, 2}, {"tpu-v5e", 2, 1}, {"tpu-v6e", 2, 1}};

/* "tpu-v5p-4x4x4": axes as even as powers of two are; NULL where it is no TPU, or no power. */
static const char *guess_slice(const char *device, uint64_t count, struct arena *arena)
{
    for (size_t i = 0; i < sizeof tpus / sizeof *tpus; i++) {
        uint64_t axis[3] = {1, 1, 1}, chips = count / tpus[i].cores;
        unsigned k = tpus[i].axes;
        if (!text_equal(device, tpus[i].device))
            continue;
        if (chips < 4 || (chips & (chips - 1)) != 0 || count % tpus[i].cores)
            return device;
        for (; chips > 1; chips /= 2) {
            k = k ? k - 1 : tpus[i].axes - 1;
            axis[k] *= 2;
        }
        const char *name =
            arena_printf(arena, "%s-%llux%llu", device, (unsigned long long)axis[0],
                         (unsigned long long)axis[1]);
        return tpus[i].axes == 2
                   ? name
                   : arena_printf(arena, "%s%c%llu", name, 'x', (unsigned long long)axis[2]);
    }
    return NULL;
}

/* "v5p-64" and "tpuv5p-64" as "tpu-v5p-64"; others as they are. */
static const char *tpu_spelling(const char *spelling, struct arena *arena)
{
    const char *rest = text_starts(spelling, "tpu") ? spelling + 3 : spelling;
    rest += *rest == '-';
    if (rest[0] != 'v' || !isdigit((unsigned char)rest[1]))
        return spelling;
    if (text_starts(rest, "v5litepod"))
        return arena_printf(arena, "tpu-v5e%s", rest + strlen("v5litepod"));
    return arena_printf(arena, "tpu-%s", rest);
}

/* "h100x8", "8xh100", "2x8xh100", "h100:16": the device with nodes of 8, as they are sold, or
 * as large as the catalogue has them ("gb200-72x1"). */
static const char *guess_cluster(const char *name, const struct catalog_item *items, size_t n,
                                 struct arena *arena)
{
    const char *spelling = tpu_spelling(name, arena), *at = NULL, *slice;
    const char *device = find_device(spelling, items, n, &at);
    uint64_t counts[2] = {0, 1}, node = NODE;
    if (!device)
        return NULL;
    size_t found = read_counts(spelling, at, counts, 0);
    found = read_counts(at + strlen(device), spelling + strlen(spelling), counts, found);
    uint64_t devices = counts[0] * counts[1];
    if (found == 0 || devices == 0)
        return device;
    if (found == 1 && (slice = guess_slice(device, devices, arena)) != NULL)
        return slice;
    for (size_t i = 0; i < n; i++)
        if (text_starts(items[i].name, device) && items[i].name[strlen(device)] == '-' &&
            text_ends(items[i].name, "x1"))
            read_node(items[i].name + strlen(device) + 1, &node);
    if (devices % node)
        return arena_printf(arena, "%s-%llux1", device, (unsigned long long)devices);
    return arena_printf(arena, "%s-%llux%llu", device, (unsigned long long)node,
                        (unsigned long long)(devices / node));
}

/* ---- all of them ---- */

/* The longest name of the catalogue that a spelling begins with, or of a model of its shape:
 * "kimi-k2" of "kimi-k2-instruct-0905", "deepseek-v3" of "deepseek-v3.1-terminus". */
static const char *longest_beginning(const char *shape, const char *spelling,
                                     const struct catalog_item *items, size_t n,
                                     struct arena *arena)
{
    for (size_t length = strlen(spelling); length > 0; length--) {
        if (!strchr("-:", spelling[length]))
            continue;
        const char *start = arena_strndup(arena, spelling, length), *meant = NULL;
        for (size_t i = 0; i < n && !meant; i++)
            meant = text_equal(items[i].name, start) ? items[i].name : NULL;
        if (!meant)
            meant = word_catalogue(shape, start);
        if (meant)
            return word_is_another(spelling + length) ? NULL : meant;
    }
    return NULL;
}

/* "did you mean 'a'?" of one, "... one of 'a', 'b'?" of several names that begin so, letters
 * and digits alone; NULL when none does. */
static const char *beginnings(const char *spelling, const struct catalog_item *items, size_t n,
                              struct arena *arena)
{
    struct text list = {.arena = arena};
    const char *wanted = bare(spelling, arena);
    size_t found = 0;
    for (size_t i = 0; i < n && strlen(wanted) > 1; i++) {
        const char *name = bare(items[i].name, arena);
        if (text_equal(name, wanted))
            return arena_printf(arena, "did you mean '%s'?", items[i].name);
        if (!text_starts(name, wanted) || is_sized(items[i].name))
            continue;
        if (found++ < CHOICES)
            text_printf(&list, "%s'%s'", found > 1 ? ", " : "", items[i].name);
    }
    if (found > CHOICES)
        text_append(&list, ", ...");
    return found ? arena_printf(arena, "did you mean %s%s?", found > 1 ? "one of " : "",
                                text_string(&list))
                 : NULL;
}

/* The nearest name by typing errors. One letter more or less changes a device into another
 * ("v100" is no "a100"), a number a model ("qwen3-8b" is no "qwen3-32b"). */
static const char *nearest(enum catalog_kind kind, const char *spelling,
                           const struct catalog_item *items, size_t n)
{
    const char *name = text_nearest(spelling, n, item_name, items);
    if (name && kind == CATALOG_CLUSTER && name[0] != spelling[0])
        return NULL;
    if (name && kind == CATALOG_MODEL && text_distance(name, spelling) > 1) {
        const char *a = name, *b = spelling;
        for (; *(a += strcspn(a, "0123456789")) == *(b += strcspn(b, "0123456789")); a++, b++)
            if (*a == '\0')
                return name;
        return NULL;
    }
    return name;
}

const char *guess_hint(enum catalog_kind kind, const char *what, const char *name,
                       const struct catalog_item *items, size_t n, struct arena *arena)
{
    const char *spelling = guess_spelling(name, arena);
    const char *shape = arena_printf(arena, "%s of the shape", what), *hint = NULL;
    const char *meant = word_catalogue(what, spelling);
    if (!meant)
        meant = word_catalogue(shape, spelling);
    if (!meant && kind == CATALOG_CLUSTER)
        meant = guess_cluster(spelling, items, n, arena);
    if (!meant)
        hint = beginnings(spelling, items, n, arena);
    if (!meant && !hint)
        meant = longest_beginning(shape, spelling, items, n, arena);
    if (!meant && !hint)
        meant = nearest(kind, spelling, items, n);
    return meant ? arena_printf(arena, "did you mean '%s'?", meant) : hint;
}
