/* XLA's texts: buffer assignments, peak buffers, largest allocations; see memory_dump.h. */
#include <string.h>

#include "base/text.h"
#include "sim/answer/memory_dump_list.h"

struct reader {
    struct arena *arena;
    struct dump_list list;
    struct memory_dump *out;
    bool listed;       /* behind "Peak buffers" or "Largest program allocations" */
    bool any;          /* something that only such a report has */
    size_t open;       /* of the list, plus 1: what the lines that follow describe */
    size_t allocation; /* the same: the allocation whose values follow */
    bool temp, split;  /* it is one of temporaries; its values are there */
};

/* ---- shapes ---- */

static const struct {
    const char *name;
    unsigned bits;
} element_types[] = {
    {"pred", 8},
    {"s2", 2},
    {"u2", 2},
    {"s4", 4},
    {"u4", 4},
    {"s8", 8},
    {"u8", 8},
    {"s16", 16},
    {"u16", 16},
    {"s32", 32},
    {"u32", 32},
    {"s64", 64},
    {"u64", 64},
    {"f16", 16},
    {"bf16", 16},
    {"f32", 32},
    {"f64", 64},
    {"c64", 64},
    {"c128", 128},
    {"f8e4m3fn", 8},
    {"f8e4m3", 8},
    {"f8e5m2", 8},
    {"f8e4m3b11fnuz", 8},
    {"f8e4m3fnuz", 8},
    {"f8e5m2fnuz", 8},
    {"f8e8m0fnu", 8},
    {"f4e2m1fn", 4},
};

static unsigned bits_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof element_types / sizeof *element_types; i++)
        if (strlen(element_types[i].name) == length &&
            strncmp(element_types[i].name, name, length) == 0)
            return element_types[i].bits;
    return 0;
}

/* Bytes of "bf16[8,4096]" at the start of a text, unpadded; *end behind it. 0: it is none. */
static uint64_t shape_bytes(const char *text, const char **end)
{
    size_t length = strcspn(text, "[] \t(,");
    uint64_t bits = bits_of(text, length);
    const char *at = text + length;
    if (!bits || *at != '[')
        return 0;
    for (at++; *at && *at != ']';) {
        size_t digits = strspn(at, "0123456789");
        uint64_t extent = 0;
        if (!digits || digits > 15)
            return 0;
        for (size_t i = 0; i < digits; i++)
            extent = 10 * extent + (uint64_t)(at[i] - '0');
        if (__builtin_mul_overflow(bits, extent, &bits))
            return 0;
        at += digits;
        at += *at == ',';
    }
    *end = at + (*at == ']');
    return bits / 8 + (bits % 8 != 0);
}

/* A shape says to the byte what a size says in three digits; where its bytes are fewer, the
 * rest is padding; where they are more, it is not what was allocated. */
static void set_shape(struct reader *r, struct dump_buffer *buffer, const char *text)
{
    const char *end = text;
    uint64_t bytes = shape_bytes(text, &end);
    if (!bytes)
        return;
    buffer->shape = arena_strndup(r->arena, text, (size_t)(end - text));
    if (bytes > buffer->size.high)
        return;
    if (bytes >= buffer->size.low)
        buffer->taken_bytes = bytes;
    buffer->size = (struct printed_bytes){true, bytes, bytes, bytes};
}

/* ---- lists of the largest: "Size:", "Operator:", "Shape:", one below the other ---- */

static const char *after(const char *line, const char *mark)
{
    const char *at = strstr(line, mark);
    return at ? at + strlen(mark) : NULL;
}

static const char *word_to(struct reader *r, const char *text, const char *stops)
{
    return arena_strndup(r->arena, text, strcspn(text, stops));
}

/* "jit(step)/jit(main)/while/body/moe/all_to_all": its last two parts. */
static const char *op_name(struct reader *r, const char *text)
{
    char *name = arena_strndup(r->arena, text, strcspn(text, "\""));
    char *at = name + strlen(name);
    for (int parts = 0; at > name; at--)
        if (at[-1] == '/' && ++parts == 2)
            break;
    return at;
}

static void describe(struct reader *r, const char *line)
{
    struct dump_buffer *buffer = &r->list.items[r->open - 1];
    const char *at;
    if ((at = after(line, "op_name=\"")) != NULL && !strstr(line, "XLA "))
        buffer->name = op_name(r, at);
    else if ((at = after(line, "Entry Parameter Subshape: ")) != NULL) {
        buffer->where = buffer->name = "parameter";
        set_shape(r, buffer, at);
    } else if ((at = after(line, "XLA Label: ")) != NULL ||
               (at = after(line, "XLA label: ")) != NULL) {
        if (text_equal(buffer->name, "") || !buffer->name)
            buffer->name = word_to(r, at + (*at == '%'), " \r");
    } else if ((at = after(line, "Shape: ")) != NULL)
        set_shape(r, buffer, at);
    else if ((at = after(line, "Allocation type: ")) != NULL)
        buffer->where = word_to(r, at, "\r");
    else if (strstr(line, "====="))
        r->open = 0;
}

static bool begin_listed(struct reader *r, const char *line)
{
    const char *at = after(line, "Size: ");
    struct printed_bytes size = at ? failure_amount(at) : (struct printed_bytes){0};
    if (!r->listed || !size.known)
        return false;
    dump_add(&r->list,
             (struct dump_buffer){
                 .name = "", .where = "", .count = 1, .taken_bytes = size.bytes, .size = size});
    r->open = r->list.n;
    return true;
}

/* ---- buffer assignments: "allocation 3: size 1024, parameter 0, shape |f32[8]| at .." ---- */

static const char *kind_of(const char *rest)
{
    static const char *const kinds[][2] = {{"preallocated-temp", "temp"},
                                           {"parameter ", "parameter"},
                                           {"thread-local", "thread-local"},
                                           {"constant", "constant"},
                                           {"output", "output"},
                                           {"maybe-live-out", "output"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(rest, kinds[i][0]))
            return kinds[i][1];
    return "temp";
}

/* "parameter 0" of "parameter 0, shape |f32[8]|", "output" of "output shape is |f32[]|". */
static const char *title_of(struct reader *r, const char *rest)
{
    size_t length = strcspn(rest, ",|\r:");
    const char *shape = strstr(rest, " shape");
    if (shape && (size_t)(shape - rest) < length)
        length = (size_t)(shape - rest);
    return arena_strndup(r->arena, rest, length);
}

static bool begin_allocation(struct reader *r, const char *line)
{
    const char *at = after(line, "allocation ");
    size_t digits = at ? strspn(at, "0123456789") : 0;
    const char *size = digits && at[digits] == ':' ? after(at, "size ") : NULL;
    struct printed_bytes bytes = size ? failure_amount(size) : (struct printed_bytes){0};
    if (!bytes.known)
        return false;
    const char *rest = size + strcspn(size, ",\r");
    rest += strspn(rest, ", ");
    struct dump_buffer *buffer =
        dump_add(&r->list, (struct dump_buffer){.name = title_of(r, rest),
                                                .where = kind_of(rest),
                                                .count = 1,
                                                .taken_bytes = bytes.bytes,
                                                .size = bytes});
    const char *bar = strchr(rest, '|');
    if (bar)
        set_shape(r, buffer, bar + 1);
    r->any = true;
    r->open = 0;
    r->allocation = r->list.n;
    r->temp = text_equal(buffer->where, "temp");
    r->split = false;
    return true;
}

/* " value: <36 fusion.3 @0> (size=4194304,offset=0): f32[4,512,512]{2,1,0}" of temporaries: the
 * allocation's bytes are counted once, and its values stand for it in the list. */
static bool add_value(struct reader *r, const char *line)
{
    const char *at = after(line, "value: <"), *size = at ? after(at, "(size=") : NULL;
    struct printed_bytes bytes = size ? failure_amount(size) : (struct printed_bytes){0};
    if (!bytes.known || !r->allocation || !r->temp)
        return size != NULL;
    struct dump_buffer *allocation = &r->list.items[r->allocation - 1];
    if (!r->split) {
        r->split = true;
        r->out->shared_bytes += allocation->taken_bytes;
        allocation->count = 0;
    }
    at += strspn(at, "0123456789") + 1;
    struct dump_buffer *value =
        dump_add(&r->list, (struct dump_buffer){.name = word_to(r, at, " >"),
                                                .where = "temp",
                                                .count = 1,
                                                .taken_bytes = bytes.bytes,
                                                .size = bytes,
                                                .shares = true});
    const char *shape = after(size, "): ");
    if (shape)
        set_shape(r, value, shape);
    return true;
}

/* ---- the whole ---- */

static void read_total(struct reader *r, const char *line)
{
    static const char *const marks[] = {
        "Total bytes used: ", "total allocation: ", "Total hbm usage >= "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = after(line, marks[i]);
        struct printed_bytes total =
            at ? failure_amount(at + strspn(at, " ")) : (struct printed_bytes){0};
        if (total.known)
            r->out->stated_bytes = total.bytes;
    }
}

static void read_line(struct reader *r, const char *line)
{
    if (strstr(line, "Peak buffers:") || strstr(line, "Largest program allocations in ")) {
        r->listed = r->any = true;
        r->out->kind =
            strstr(line, "Peak") ? "XLA's peak buffers" : "XLA's largest allocations";
        return;
    }
    if (begin_allocation(r, line)) {
        r->out->kind = "XLA's buffer assignment";
        return;
    }
    if (add_value(r, line) || begin_listed(r, line))
        return;
    if (r->open)
        describe(r, line);
    else
        read_total(r, line);
}

/* Allocations that their values stand for. */
static void drop_split(struct dump_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].count)
            list->items[kept++] = list->items[i];
    list->n = kept;
}

bool memory_dump_xla(const char *text, size_t length, struct arena *arena,
                     struct memory_dump *out)
{
    struct reader r = {.arena = arena, .list = {.arena = arena}, .out = out};
    char *lines = text_lines(text, length, arena), *end = lines + length;
    for (char *line; (line = text_next_line(&lines, end)) != NULL;)
        read_line(&r, line);
    drop_split(&r.list);
    if (!r.any || !r.list.n)
        return false;
    dump_join(&r.list, out);
    out->listed_bytes += out->shared_bytes;
    return true;
}
