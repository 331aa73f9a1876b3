/* Recorded routing as a NumPy array of expert indices; see trace.h. Everything from outside is
 * checked before it is used. */
#include <stdlib.h>
#include <string.h>

#include "plan/data/trace.h"

struct npy {
    unsigned item; /* bytes of an index: 4 or 8 */
    uint64_t shape[2];
    size_t data; /* offset of the first index */
};

static enum status npy_error(const char *name, const char *text, struct err *err)
{
    err_at(err, (struct mark){name, 0, 0}, "%s", text);
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

/* An expert twice in one token is not a choice of distinct experts. last[expert] is the number
 * of the last token, from 1, that chose it. */
static enum status npy_check_row(const char *name, const int32_t *ids, uint64_t k,
                                 uint64_t token, uint64_t *last, struct err *err)
{
    for (uint64_t i = 0; i < k; i++) {
        if (last[ids[i]] == token + 1)
            return err_at(err, (struct mark){name, 0, 0}, "token %llu has expert %d twice",
                          (unsigned long long)token, ids[i]);
        last[ids[i]] = token + 1;
    }
    return STATUS_OK;
}

enum status trace_read_npy(const char *name, const unsigned char *bytes, size_t length,
                           struct arena *arena, struct trace *out, struct err *err)
{
    struct npy npy = {0};
    TRY(npy_header(name, bytes, length, arena, &npy, err));
    uint64_t n = npy.shape[0], k = npy.shape[1], experts = 0;
    int32_t *ids = arena_alloc(arena, n * k, sizeof *ids);
    uint64_t *last = arena_alloc(arena, TRACE_EXPERTS, sizeof *last);
    for (uint64_t i = 0; i < n * k; i++) {
        int64_t value = npy_item(bytes + npy.data + i * npy.item, npy.item);
        if (value < 0 || value >= TRACE_EXPERTS)
            return err_at(err, (struct mark){name, 0, 0},
                          "expert %lld of token %llu is out of range (0 to %d)",
                          (long long)value, (unsigned long long)(i / k), TRACE_EXPERTS - 1);
        ids[i] = (int32_t)value;
        if ((uint64_t)value >= experts)
            experts = (uint64_t)value + 1;
        if (i % k == k - 1)
            TRY(npy_check_row(name, ids + i + 1 - k, k, i / k, last, err));
    }
    *out = (struct trace){.experts = experts, .tokens = n, .top_k = k, .ids = ids};
    return STATUS_OK;
}
