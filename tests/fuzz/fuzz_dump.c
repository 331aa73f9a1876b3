/* A report of buffers, XLA's or torch's: it is read and set beside a plan's buffers, or refused
 * with a text. What is matched and what is left over add up to what is listed. */
#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "sim/answer/memory_dump.h"

static void require(int holds)
{
    if (!holds)
        abort();
}

static uint64_t matched_of(const struct dump_comparison *c, const struct memory_dump *dump)
{
    uint64_t n = 0, listed = 0;
    for (size_t i = 0; i < dump->n; i++)
        listed += dump->buffers[i].count;
    for (size_t i = 0; i < c->n; i++) {
        require(c->matches[i].times > 0);
        n += c->matches[i].times;
    }
    for (size_t i = 0; i < c->n_theirs; i++)
        n += c->theirs[i].count;
    require(n <= listed); /* several of one name together count once */
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct err err = {0};
    struct memory_dump dump;
    struct dump_comparison compared;
    struct buffer_report buffers[] = {
        {.name = "a",
         .copies = 3,
         .one_bytes = 1610612736,
         .bytes = 4831838208,
         .at_peak = true},
        {.name = "b", .copies = 1, .one_bytes = 30064771072, .bytes = 30064771072},
        {.name = "c", .copies = 1, .one_bytes = 0, .bytes = 0, .at_peak = true},
    };
    const struct memory_report memory = {.buffers = buffers, .n_buffers = 3};
    char *text = arena_alloc(&arena, size + 1, 1);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)data[i];
    text[size] = '\0';
    if (memory_dump_read("-", text, size, &arena, &dump, &err) == STATUS_OK) {
        memory_dump_compare(&dump, &memory, &arena, &compared);
        require(dump.n == 0 || matched_of(&compared, &dump) > 0);
    } else {
        require(err.text[0] != '\0');
    }
    arena_release(&arena);
    return 0;
}
