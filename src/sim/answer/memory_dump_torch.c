/* torch.cuda.memory._snapshot() as JSON, or its list of segments alone (memory_snapshot()); see
 * memory_dump.h. */
#include <string.h>

#include "base/json_read.h"
#include "sim/answer/memory_dump_list.h"

struct torch_block {
    double size, requested;
    bool active, waits; /* in use; freed by the program, but a stream still reads it */
    const char *file, *function;
    size_t file_length, function_length;
    double line;
    bool own; /* the frame is not torch's own */
};

struct reader {
    struct json_read json;
    struct arena *arena;
    struct dump_list list;
    struct memory_dump *out;
    struct err *err;
    bool any;
};

/* ---- members ---- */

static enum status read_number(struct reader *r, double *value)
{
    enum json_token token;
    TRY(json_read_next(&r->json, &token, r->err));
    if (token != JSON_NUMBER || !(r->json.number >= 0) || r->json.number > 0x1p60)
        return json_read_fail(&r->json, "sizes in a snapshot are whole numbers of bytes",
                              r->err);
    *value = r->json.number;
    return STATUS_OK;
}

/* Any other value is passed over. */
static enum status read_text(struct reader *r, const char **text, size_t *length)
{
    struct json_read before = r->json;
    enum json_token token;
    TRY(json_read_next(&r->json, &token, r->err));
    if (token == JSON_STRING) {
        *text = r->json.value;
        *length = r->json.length;
        return STATUS_OK;
    }
    r->json = before;
    return json_read_skip(&r->json, r->err);
}

typedef enum status (*member)(struct reader *r, void *to);

/* The members of an object whose bracket is read. */
static enum status read_object(struct reader *r, member each, void *to)
{
    enum json_token token;
    for (;;) {
        TRY(json_read_next(&r->json, &token, r->err));
        if (token == JSON_CLOSE)
            return STATUS_OK;
        TRY(each(r, to));
    }
}

/* A list of objects; what else stands in it, and what is no list, is passed over. */
static enum status read_items(struct reader *r, enum status (*item)(struct reader *r, void *to),
                              void *to)
{
    enum json_token token;
    for (;;) {
        struct json_read before = r->json;
        TRY(json_read_next(&r->json, &token, r->err));
        if (token == JSON_CLOSE)
            return STATUS_OK;
        if (token == JSON_OBJECT) {
            TRY(item(r, to));
        } else if (token == JSON_ARRAY) {
            r->json = before;
            TRY(json_read_skip(&r->json, r->err));
        }
    }
}

static enum status read_list(struct reader *r, enum status (*item)(struct reader *r, void *to),
                             void *to)
{
    struct json_read before = r->json;
    enum json_token token;
    TRY(json_read_next(&r->json, &token, r->err));
    if (token == JSON_ARRAY)
        return read_items(r, item, to);
    r->json = before;
    return json_read_skip(&r->json, r->err);
}

/* ---- frames: the innermost that is not torch's own names a block ---- */

static enum status read_frame_member(struct reader *r, void *to)
{
    struct torch_block *frame = to;
    if (json_read_is(&r->json, "filename"))
        return read_text(r, &frame->file, &frame->file_length);
    if (json_read_is(&r->json, "name"))
        return read_text(r, &frame->function, &frame->function_length);
    if (json_read_is(&r->json, "line"))
        return read_number(r, &frame->line);
    return json_read_skip(&r->json, r->err);
}

static bool is_own(const struct torch_block *frame)
{
    static const char folder[] = "/torch/";
    size_t n = sizeof folder - 1;
    bool python =
        frame->file_length > 3 && memcmp(frame->file + frame->file_length - 3, ".py", 3) == 0;
    for (size_t i = 0; python && i + n <= frame->file_length; i++)
        python = memcmp(frame->file + i, folder, n) != 0;
    return python;
}

static enum status read_frame(struct reader *r, void *to)
{
    struct torch_block *block = to, frame = {0};
    TRY(read_object(r, read_frame_member, &frame));
    frame.own = is_own(&frame);
    bool better = (!block->function && !block->file) || (frame.own && !block->own);
    if (!better || block->own)
        return STATUS_OK;
    block->file = frame.file;
    block->file_length = frame.file_length;
    block->function = frame.function;
    block->function_length = frame.function_length;
    block->line = frame.line;
    block->own = frame.own;
    return STATUS_OK;
}

static const char *name_of(const struct reader *r, const struct torch_block *block)
{
    size_t start = block->file_length;
    if (!block->function && !block->file)
        return "no frame";
    while (start > 0 && block->file[start - 1] != '/')
        start--;
    const char *function =
        block->function ? arena_strndup(r->arena, block->function, block->function_length)
                        : "?";
    if (block->file_length == start)
        return function;
    return arena_printf(r->arena, "%s %.*s:%.0f", function, (int)(block->file_length - start),
                        block->file + start, block->line);
}

/* ---- blocks and segments ---- */

static enum status read_block_member(struct reader *r, void *to)
{
    struct torch_block *block = to;
    if (json_read_is(&r->json, "size"))
        return read_number(r, &block->size);
    if (json_read_is(&r->json, "requested_size"))
        return read_number(r, &block->requested);
    if (json_read_is(&r->json, "frames"))
        return read_list(r, read_frame, block);
    if (!json_read_is(&r->json, "state"))
        return json_read_skip(&r->json, r->err);
    const char *state = "";
    size_t length = 0;
    TRY(read_text(r, &state, &length));
    block->waits = length == strlen("active_pending_free") &&
                   memcmp(state, "active_pending_free", length) == 0;
    block->active = block->waits || (length == strlen("active_allocated") &&
                                     memcmp(state, "active_allocated", length) == 0);
    return STATUS_OK;
}

static enum status read_block(struct reader *r, void *to)
{
    struct torch_block block = {.requested = -1};
    (void)to;
    TRY(read_object(r, read_block_member, &block));
    if (!block.active || block.size < 1)
        return STATUS_OK;
    uint64_t taken = (uint64_t)block.size;
    uint64_t asked = block.requested >= 1 ? (uint64_t)block.requested : taken;
    dump_add(&r->list, (struct dump_buffer){.name = name_of(r, &block),
                                            .where = block.waits ? "pending free" : "active",
                                            .count = 1,
                                            .taken_bytes = taken,
                                            .size = {true, asked, asked, asked}});
    return STATUS_OK;
}

static enum status read_segment_member(struct reader *r, void *to)
{
    double *total = to;
    if (json_read_is(&r->json, "total_size"))
        return read_number(r, total);
    if (json_read_is(&r->json, "blocks"))
        return read_list(r, read_block, NULL);
    return json_read_skip(&r->json, r->err);
}

static enum status read_segment(struct reader *r, void *to)
{
    double total = 0;
    (void)to;
    TRY(read_object(r, read_segment_member, &total));
    r->out->reserved_bytes += (uint64_t)total;
    r->any = true;
    return STATUS_OK;
}

static enum status read_member(struct reader *r, void *to)
{
    (void)to;
    return json_read_is(&r->json, "segments") ? read_list(r, read_segment, NULL)
                                              : json_read_skip(&r->json, r->err);
}

static enum status read_document(struct reader *r)
{
    enum json_token token;
    TRY(json_read_next(&r->json, &token, r->err));
    if (token == JSON_ARRAY)
        TRY(read_items(r, read_segment, NULL));
    else
        TRY(read_object(r, read_member, NULL));
    return json_read_next(&r->json, &token, r->err); /* nothing may follow */
}

enum status memory_dump_torch(const char *file, const char *text, size_t length,
                              struct arena *arena, struct memory_dump *out, struct err *err)
{
    struct memory_dump found = {.kind = "a torch memory snapshot"};
    struct reader r = {.arena = arena, .list = {.arena = arena}, .out = &found, .err = err};
    json_read_init(&r.json, file, text, length);
    TRY(read_document(&r));
    if (!r.any) {
        err_at(err, (struct mark){.file = file}, "JSON without segments");
        return err_hint(err, "torch.cuda.memory._snapshot() has a list 'segments'");
    }
    dump_join(&r.list, &found);
    found.stated_bytes = found.listed_bytes;
    *out = found;
    return STATUS_OK;
}
