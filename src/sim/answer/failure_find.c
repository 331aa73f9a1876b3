/* Failed allocations in texts; see failure.h. */
#include <string.h>

#include "base/text.h"
#include "base/unit.h"
#include "sim/answer/failure.h"

/* What a line says: the first of these that it holds. `sized`: the amount follows it; before
 * one that starts with a space it stands, after a bracket. */
static const struct pattern {
    const char *mark, *source;
    bool sized, segments;
} patterns[] = {
    {"Tried to allocate ", "torch", true, true},
    {"trying to allocate ", "XLA", true, false},
    {"Attempting to allocate ", "XLA", true, false},
    {"Attempting to reserve ", "XLA", true, false},
    {"Out of memory allocating ", "XLA", true, false},
    {"Ran out of memory in memory space hbm", "XLA", false, false},
    {"No available memory for the cache blocks", "vLLM", false, false},
    {" KV cache is needed, which is larger than", "vLLM", true, false},
    {"Not enough memory. Please try to increase --mem-fraction-static", "SGLang", false, false},
    {"cuMemMap failed to map ", "NVSHMEM", true, false},
    {"cuMemCreate failed", "NVSHMEM", false, false},
    {"allocate_physical_memory_to_heap failed", "NVSHMEM", false, false},
    {"Failed to CUDA malloc ", "NCCL", true, false},
    {"Failed to CUDA calloc async ", "NCCL", true, false},
    {"Failed to CUDA calloc ", "NCCL", true, false},
    {"Failed to CUDA host alloc ", "NCCL", true, false},
};

static uint64_t to_bytes(double value)
{
    return value <= 0 ? 0 : value >= 0x1p62 ? (uint64_t)1 << 62 : (uint64_t)value;
}

struct printed_bytes failure_amount(const char *text)
{
    char number[32] = "", unit[16] = "", whole[64];
    size_t digits = strspn(text, "0123456789."), space = strspn(text + digits, " ");
    const char *name = text + digits + space;
    size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    struct printed_bytes out = {0};
    double value = 0, one = 1;
    if (digits == 0 || digits >= sizeof number || letters >= sizeof unit)
        return out;
    memcpy(number, text, digits);
    memcpy(unit, name, letters);
    if (letters == 1 && strchr("KMG", unit[0]))
        memcpy(unit + 1, "iB", sizeof "iB");
    bool bytes = letters == 0 || text_equal(unit, "bytes");
    snprintf(whole, sizeof whole, "1 %s", bytes ? "B" : unit);
    if (!unit_parse(UNIT_BYTES, whole, &one))
        return out;
    if (!unit_parse(UNIT_BYTES, number, &value))
        return out;
    const char *point = strchr(number, '.');
    double half = one / 2;
    for (const char *at = point ? point + 1 : ""; *at; at++)
        half /= 10;
    if (one == 1)
        half = 0;
    return (struct printed_bytes){true, to_bytes(value * one - half), to_bytes(value * one),
                                  to_bytes(value * one + half)};
}

/* "Process 123 has 8.00 GiB memory in use": whose number it is, a container does not know; of
 * several nobody says which. */
static struct printed_bytes only_process(const char *line)
{
    struct printed_bytes found = {0};
    unsigned n = 0;
    for (const char *at = line; (at = strstr(at, "Process ")) != NULL;) {
        at += strlen("Process ");
        const char *has = at + strspn(at, "0123456789");
        if (has > at && strncmp(has, " has ", 5) == 0 && ++n == 1)
            found = failure_amount(has + 5);
    }
    return n == 1 ? found : (struct printed_bytes){0};
}

static struct printed_bytes amount_after(const char *line, const char *mark)
{
    const char *at = strstr(line, mark);
    return at ? failure_amount(at + strlen(mark)) : (struct printed_bytes){0};
}

static struct printed_bytes find_use(const char *line)
{
    struct printed_bytes use = amount_after(line, "this process has ");
    if (!use.known)
        use = amount_after(line, "memory space hbm. Used ");
    if (!use.known)
        use = only_process(line);
    return use.known ? use : amount_after(line, "Of the allocated memory ");
}

static const char *after_bracket(const char *line, const char *at)
{
    while (at > line && at[-1] != '(')
        at--;
    return at;
}

static bool find_in_line(const char *line, struct failure *out)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const char *at = strstr(line, patterns[i].mark);
        if (!at)
            continue;
        struct printed_bytes wanted = {0};
        if (patterns[i].sized)
            wanted = failure_amount(patterns[i].mark[0] == ' ' ? after_bracket(line, at)
                                                               : at + strlen(patterns[i].mark));
        if (patterns[i].sized && !wanted.known)
            continue;
        *out = (struct failure){.source = patterns[i].source,
                                .segments = patterns[i].segments,
                                .wanted = wanted,
                                .in_use = find_use(line)};
        return true;
    }
    return false;
}

bool failure_find(const char *text, size_t length, struct arena *arena, struct failure *out)
{
    *out = (struct failure){0};
    char *lines = text_lines(text, length, arena), *end = lines + length;
    uint64_t number = 0;
    out->wanted = failure_amount(lines);
    if (out->wanted.known && !memchr(lines, '\n', length) && !strchr(lines, ':')) {
        out->source = "amount";
        out->segments = true;
        out->line = out->n_lines = 1;
        return true;
    }
    *out = (struct failure){0};
    for (char *line; (line = text_next_line(&lines, end)) != NULL;) {
        struct failure found;
        number++;
        if (find_in_line(line, &found)) {
            uint64_t before = out->n_lines;
            if (before == 0 || (found.wanted.known && !out->wanted.known)) {
                *out = found;
                out->line = number;
            }
            out->n_lines = before + 1;
        }
    }
    return out->n_lines > 0;
}
