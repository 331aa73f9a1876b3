/* Reading recorded routing and placement tables; see trace.h. Counts come as numbers in lines,
 * indices as NumPy arrays. Everything from outside is checked before it is used. */
#include "plan/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { FILE_LIMIT = 1 << 30 };

/* ---- numbers in lines ---- */

struct lines {
    const char *name;
    uint64_t n_rows, widest; /* rows of numbers; numbers in the longest */
    uint64_t *number;        /* all, row by row */
    uint64_t *start;         /* [n_rows + 1] into number */
    uint32_t *line;          /* [n_rows] */
    char header[4][PLAN_WORD];
    unsigned n_header;
};

struct cursor {
    const char *at, *end, *line_start;
    uint32_t line;
};

static struct mark place(const struct lines *lines, const struct cursor *c, const char *at)
{
    return (struct mark){lines->name, c->line, (uint32_t)(at - c->line_start) + 1};
}

static const char *line_end(const struct cursor *c)
{
    const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
    return newline ? newline : c->end;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

static bool starts_with_letter(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at < end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'));
}

static void read_header(struct lines *lines, const char *at, const char *end)
{
    while (at < end && lines->n_header < 4) {
        while (at < end && is_space(*at))
            at++;
        const char *word = at;
        while (at < end && !is_space(*at))
            at++;
        size_t length = (size_t)(at - word);
        if (length == 0)
            break;
        if (length >= PLAN_WORD)
            length = PLAN_WORD - 1;
        memcpy(lines->header[lines->n_header], word, length);
        lines->header[lines->n_header++][length] = '\0';
    }
}

/* One whole number of at most 18 digits; a fraction of zeros ("12.0") is allowed. */
static enum status read_number(const struct lines *lines, const struct cursor *c,
                               const char **at, const char *end, uint64_t *value,
                               struct err *err)
{
    const char *start = *at;
    uint64_t sum = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *at - start < 18)
        sum = sum * 10 + (uint64_t)(*(*at)++ - '0');
    bool digits = *at > start;
    if (digits && *at < end && **at == '.')
        for ((*at)++; *at < end && **at == '0'; (*at)++)
            ;
    if (!digits || (*at < end && !is_space(**at)))
        return err_at(err, STATUS_INPUT, place(lines, c, start),
                      "'%.*s' is not a whole number of at most 18 digits",
                      (int)(end - start < 24 ? end - start : 24), start);
    *value = sum;
    return STATUS_OK;
}

static enum status read_row(struct lines *lines, const struct cursor *c, const char *end,
                            uint64_t *used, struct err *err)
{
    uint64_t first = *used;
    for (const char *at = c->at; at < end;) {
        if (is_space(*at)) {
            at++;
            continue;
        }
        TRY(read_number(lines, c, &at, end, &lines->number[*used], err));
        (*used)++;
    }
    if (*used == first)
        return STATUS_OK;
    lines->line[lines->n_rows++] = c->line;
    lines->start[lines->n_rows] = *used;
    if (*used - first > lines->widest)
        lines->widest = *used - first;
    return STATUS_OK;
}

static enum status read_lines(const char *name, const char *text, size_t length,
                              struct arena *arena, struct lines *lines, struct err *err)
{
    *lines = (struct lines){.name = name};
    /* A number needs a character and a separator; a row at least a line. */
    lines->number = arena_alloc(arena, length / 2 + 1, sizeof *lines->number);
    lines->start = arena_alloc(arena, length / 2 + 2, sizeof *lines->start);
    lines->line = arena_alloc(arena, length / 2 + 1, sizeof *lines->line);
    uint64_t used = 0;
    struct cursor c = {.at = text, .end = text + length, .line_start = text, .line = 1};
    while (c.at < c.end) {
        const char *end = line_end(&c);
        if (lines->n_rows == 0 && lines->n_header == 0 && starts_with_letter(c.at, end))
            read_header(lines, c.at, end);
        else if (*c.at != '#')
            TRY(read_row(lines, &c, end, &used, err));
        c.at = c.line_start = end < c.end ? end + 1 : end;
        c.line++;
    }
    if (lines->n_rows == 0)
        return err_at(err, STATUS_INPUT, (struct mark){name, 1, 1}, "no numbers in the file");
    return STATUS_OK;
}

static bool header_is(const struct lines *lines, const char *first, const char *second)
{
    return lines->n_header == lines->widest && lines->n_header >= 2 &&
           text_equal(lines->header[lines->n_header - 2], first) &&
           text_equal(lines->header[lines->n_header - 1], second);
}

static enum status same_width(const struct lines *lines, struct err *err)
{
    for (uint64_t row = 0; row < lines->n_rows; row++) {
        uint64_t width = lines->start[row + 1] - lines->start[row];
        if (width != lines->widest)
            return err_at(err, STATUS_INPUT, (struct mark){lines->name, lines->line[row], 1},
                          "row has %llu numbers, others have %llu", (unsigned long long)width,
                          (unsigned long long)lines->widest);
    }
    return STATUS_OK;
}

/* ---- tokens per expert ---- */

/* Rows of [layer,] expert, tokens. */
static enum status scatter_counts(const struct lines *lines, struct arena *arena,
                                  struct trace *out, struct err *err)
{
    bool layered = lines->widest == 3;
    for (uint64_t row = 0; row < lines->n_rows; row++) {
        const uint64_t *v = lines->number + lines->start[row];
        uint64_t layer = layered ? v[0] : 0, expert = v[layered];
        if (layer >= TRACE_LAYERS || expert >= TRACE_EXPERTS)
            return err_at(err, STATUS_INPUT, (struct mark){lines->name, lines->line[row], 1},
                          "layer %llu or expert %llu is out of range (limits %d and %d)",
                          (unsigned long long)layer, (unsigned long long)expert,
                          TRACE_LAYERS - 1, TRACE_EXPERTS - 1);
        if (layer >= out->layers)
            out->layers = layer + 1;
        if (expert >= out->experts)
            out->experts = expert + 1;
    }
    uint64_t *counts = arena_alloc(arena, out->layers * out->experts, sizeof *counts);
    for (uint64_t row = 0; row < lines->n_rows; row++) {
        const uint64_t *v = lines->number + lines->start[row];
        counts[(layered ? v[0] : 0) * out->experts + v[layered]] += v[layered + 1];
    }
    out->counts = counts;
    return STATUS_OK;
}

/* One number per line is one layer, a row of numbers is a layer each. */
static enum status take_counts(const struct lines *lines, struct trace *out, struct err *err)
{
    bool column = lines->widest == 1;
    out->layers = column ? 1 : lines->n_rows;
    out->experts = column ? lines->n_rows : lines->widest;
    out->counts = lines->number;
    if (out->layers > TRACE_LAYERS || out->experts > TRACE_EXPERTS)
        return err_at(err, STATUS_INPUT, (struct mark){lines->name, 1, 1},
                      "%llu layers of %llu experts are too many (limits %d and %d)",
                      (unsigned long long)out->layers, (unsigned long long)out->experts,
                      TRACE_LAYERS, TRACE_EXPERTS);
    return STATUS_OK;
}

enum status trace_read_csv(const char *name, const char *text, size_t length,
                           struct arena *arena, struct trace *out, struct err *err)
{
    struct lines lines;
    struct trace trace = {0};
    TRY(read_lines(name, text, length, arena, &lines, err));
    TRY(same_width(&lines, err));
    if (header_is(&lines, "expert", "tokens"))
        TRY(scatter_counts(&lines, arena, &trace, err));
    else
        TRY(take_counts(&lines, &trace, err));
    *out = trace;
    return STATUS_OK;
}

enum status placement_read_csv(const char *name, const char *text, size_t length,
                               struct arena *arena, const uint32_t **owner, uint64_t *n,
                               struct err *err)
{
    struct lines lines;
    struct trace table = {0};
    TRY(read_lines(name, text, length, arena, &lines, err));
    TRY(same_width(&lines, err));
    if (header_is(&lines, "expert", "rank"))
        TRY(scatter_counts(&lines, arena, &table, err));
    else
        TRY(take_counts(&lines, &table, err));
    if (table.layers != 1)
        return err_at(err, STATUS_INPUT, (struct mark){name, 1, 1},
                      "a placement is one rank per expert, the file has %llu rows",
                      (unsigned long long)table.layers);
    uint32_t *ranks = arena_alloc(arena, table.experts, sizeof *ranks);
    for (uint64_t e = 0; e < table.experts; e++)
        ranks[e] = table.counts[e] < UINT32_MAX ? (uint32_t)table.counts[e] : UINT32_MAX;
    *owner = ranks;
    *n = table.experts;
    return STATUS_OK;
}

/* ---- NumPy arrays ---- */

struct npy {
    unsigned item; /* bytes of an index: 4 or 8 */
    uint64_t shape[2];
    size_t data; /* offset of the first index */
};

static enum status npy_error(const char *name, const char *text, struct err *err)
{
    err_at(err, STATUS_INPUT, (struct mark){name, 0, 0}, "%s", text);
    return err_hint(err, "save expert indices as int32 or int64 [tokens, top_k]: "
                         "numpy.save(file, ids)");
}

/* The value that follows 'key': in the header's dictionary, or NULL. */
static const char *npy_value(const char *header, const char *key)
{
    const char *found = strstr(header, key);
    if (!found)
        return NULL;
    found += strlen(key);
    while (*found == ' ' || *found == ':' || *found == '\'')
        found++;
    return found;
}

static enum status npy_shape(const char *name, const char *header, struct npy *npy,
                             struct err *err)
{
    const char *shape = npy_value(header, "'shape'");
    if (!shape || *shape != '(')
        return npy_error(name, "the array's header has no shape", err);
    char *end;
    unsigned long long first = strtoull(shape + 1, &end, 10), second = 0;
    bool two = *end == ',';
    if (two)
        second = strtoull(end + 1, &end, 10);
    while (*end == ',' || *end == ' ')
        end++;
    if (!two || *end != ')' || first == 0 || second == 0 || second > TRACE_EXPERTS)
        return npy_error(name, "the array is not of shape [tokens, top_k]", err);
    npy->shape[0] = first;
    npy->shape[1] = second;
    return STATUS_OK;
}

static enum status npy_header(const char *name, const unsigned char *bytes, size_t length,
                              struct arena *arena, struct npy *npy, struct err *err)
{
    if (length < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return npy_error(name, "not a NumPy array", err);
    size_t start = bytes[6] == 1 ? 10 : 12;
    size_t size = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (size > length - start)
        return npy_error(name, "the array's header is cut off", err);
    const char *header = arena_strndup(arena, (const char *)bytes + start, size);
    const char *kind = npy_value(header, "'descr'"), *order = npy_value(header, "'fortran");
    if (!kind || (strncmp(kind, "<i4", 3) != 0 && strncmp(kind, "<i8", 3) != 0))
        return npy_error(name, "the array's numbers are not little-endian int32 or int64", err);
    if (order && strstr(order, "True") && strstr(order, "True") - order < 16)
        return npy_error(name, "the array is in Fortran order", err);
    npy->item = kind[2] == '4' ? 4 : 8;
    npy->data = start + size;
    TRY(npy_shape(name, header, npy, err));
    if (npy->shape[0] > (length - npy->data) / npy->item / npy->shape[1])
        return npy_error(name, "the array's data is shorter than its shape says", err);
    return STATUS_OK;
}

static int64_t npy_item(const unsigned char *at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = size; i-- > 0;)
        value = value << 8 | at[i];
    return size == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

/* An expert twice in one token is not a choice of distinct experts. */
static enum status npy_check_row(const char *name, const int32_t *ids, uint64_t k,
                                 uint64_t token, struct err *err)
{
    for (uint64_t a = 1; a < k; a++)
        for (uint64_t b = 0; b < a; b++)
            if (ids[a] == ids[b])
                return err_at(err, STATUS_INPUT, (struct mark){name, 0, 0},
                              "token %llu has expert %d twice", (unsigned long long)token,
                              ids[a]);
    return STATUS_OK;
}

enum status trace_read_npy(const char *name, const unsigned char *bytes, size_t length,
                           struct arena *arena, struct trace *out, struct err *err)
{
    struct npy npy = {0};
    TRY(npy_header(name, bytes, length, arena, &npy, err));
    uint64_t n = npy.shape[0], k = npy.shape[1], experts = 0;
    int32_t *ids = arena_alloc(arena, n * k, sizeof *ids);
    for (uint64_t i = 0; i < n * k; i++) {
        int64_t value = npy_item(bytes + npy.data + i * npy.item, npy.item);
        if (value < 0 || value >= TRACE_EXPERTS)
            return err_at(err, STATUS_INPUT, (struct mark){name, 0, 0},
                          "expert %lld of token %llu is out of range (0 to %d)",
                          (long long)value, (unsigned long long)(i / k), TRACE_EXPERTS - 1);
        ids[i] = (int32_t)value;
        if ((uint64_t)value >= experts)
            experts = (uint64_t)value + 1;
        if (i % k == k - 1)
            TRY(npy_check_row(name, ids + i + 1 - k, k, i / k, err));
    }
    *out = (struct trace){.experts = experts, .tokens = n, .top_k = k, .ids = ids};
    return STATUS_OK;
}

/* ---- the files a plan names ---- */

/* *name: the file that is read, for messages. */
static enum status read_beside(const char *file, const char *folder, struct arena *arena,
                               const char **name, char **text, size_t *length, struct err *err)
{
    *name = arena_strdup(arena, file);
    if (folder && *file != '/' && access(file, R_OK) != 0) {
        const char *beside = arena_printf(arena, "%s/%s", folder, file);
        if (access(beside, R_OK) == 0)
            *name = beside;
    }
    return file_read(*name, FILE_LIMIT, arena, text, length, err);
}

static enum status load_trace(const char *file, const char *folder, struct arena *arena,
                              const struct trace **out, struct err *err)
{
    char *text;
    size_t length;
    struct trace *trace = arena_alloc(arena, 1, sizeof *trace);
    const char *name;
    TRY(read_beside(file, folder, arena, &name, &text, &length, err));
    if (text_ends(file, ".npy"))
        TRY(trace_read_npy(name, (const unsigned char *)text, length, arena, trace, err));
    else
        TRY(trace_read_csv(name, text, length, arena, trace, err));
    *out = trace;
    return STATUS_OK;
}

static enum status check_trace(const struct plan *plan, const struct trace *trace,
                               struct err *err)
{
    const struct routing *routing = &plan->moe.routing;
    struct mark file = {routing->file, 0, 0};
    uint64_t experts = plan->model.moe.experts, top_k = plan->model.moe.top_k;
    if (trace->experts > experts || (trace->counts && trace->experts != experts))
        return err_at(err, STATUS_INPUT, file, "the trace has %llu experts, the model %llu",
                      (unsigned long long)trace->experts, (unsigned long long)experts);
    if (trace->ids && trace->top_k != top_k)
        return err_at(err, STATUS_INPUT, file,
                      "the trace has %llu experts per token, the model's top_k is %llu",
                      (unsigned long long)trace->top_k, (unsigned long long)top_k);
    return STATUS_OK;
}

static enum status load_table(const struct plan *plan, const char *folder, struct arena *arena,
                              struct routing_data *out, struct err *err)
{
    const char *file = plan->moe.routing.placement_file, *name;
    char *text;
    size_t length;
    TRY(read_beside(file, folder, arena, &name, &text, &length, err));
    TRY(placement_read_csv(name, text, length, arena, &out->owner, &out->n_owner, err));
    if (out->n_owner != plan->model.moe.experts)
        return err_at(err, STATUS_INPUT, (struct mark){file, 0, 0},
                      "the placement has %llu experts, the model %llu",
                      (unsigned long long)out->n_owner,
                      (unsigned long long)plan->model.moe.experts);
    for (uint64_t e = 0; e < out->n_owner; e++)
        if (out->owner[e] >= plan->parallel.ep)
            return err_at(err, STATUS_INPUT, (struct mark){file, 0, 0},
                          "expert %llu is on rank %u, the plan's ep is %llu",
                          (unsigned long long)e, out->owner[e],
                          (unsigned long long)plan->parallel.ep);
    return STATUS_OK;
}

enum status routing_data_load(const struct plan *plan, const char *folder, struct arena *arena,
                              struct routing_data *out, struct err *err)
{
    const struct routing *routing = &plan->moe.routing;
    struct routing_data data = {0};
    if (routing->distribution == DISTRIBUTION_TRACE) {
        if (!*routing->file)
            return err_set(err, STATUS_INPUT,
                           "moe.routing.distribution 'trace' needs moe.routing.file");
        TRY(load_trace(routing->file, folder, arena, &data.trace, err));
        TRY(check_trace(plan, data.trace, err));
    }
    if (routing->placement == PLACEMENT_TABLE) {
        if (!*routing->placement_file)
            return err_set(err, STATUS_INPUT,
                           "moe.routing.placement 'table' needs "
                           "moe.routing.placement_file");
        TRY(load_table(plan, folder, arena, &data, err));
    }
    *out = data;
    return STATUS_OK;
}
