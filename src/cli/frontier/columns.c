/* Extra columns of a sweep; see columns.h. */
#include "cli/frontier/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/predict/print.h"

/* One column of one section, as a dotted key. */
struct place {
    const struct column *column;
    size_t offset;
    bool (*present)(const struct prediction *prediction);
    bool pointed;
};

static bool has_distribution(const struct prediction *prediction)
{
    return prediction->memory.has_distribution;
}

static bool has_peak(const struct prediction *prediction)
{
    return prediction->memory.peak.segment != NULL;
}

#define MEMORY(name, columns, there, pointer, ...)                                             \
    {                                                                                          \
        name, columns, offsetof(struct prediction, __VA_ARGS__), there, pointer                \
    }

/* Memory and its parts. */
static const struct memory_part {
    const char *key;
    const struct column *(*columns)(size_t *n);
    size_t offset;
    bool (*present)(const struct prediction *prediction);
    bool pointed;
} memory_parts[] = {
    MEMORY("memory", memory_columns, NULL, false, memory),
    MEMORY("memory", distribution_columns, has_distribution, false, memory),
    MEMORY("memory.peak", peak_columns, has_peak, false, memory.peak),
    MEMORY("memory.wall", wall_columns, NULL, true, memory.wall),
    MEMORY("memory.largest", wall_columns, NULL, true, memory.largest),
    MEMORY("memory.address_wall", wall_columns, NULL, true, memory.address_wall),
    MEMORY("memory.int_wall", wall_columns, NULL, true, memory.int_wall),
};

enum { MEMORY_PARTS = COUNT_OF(memory_parts) };

/* The k-th section: those of memory, of predict's JSON, then of time; false past the last. */
static bool section_at(size_t k, struct predict_section *section)
{
    size_t n;
    if (k < MEMORY_PARTS) {
        const struct memory_part *part = &memory_parts[k];
        *section = (struct predict_section){
            .key = part->key, .offset = part->offset, .present = part->present};
        section->columns = part->columns(&section->n_columns);
        return true;
    }
    size_t at = k - MEMORY_PARTS;
    const struct predict_section *sections = predict_sections(&n);
    if (at < n) {
        *section = sections[at];
        return true;
    }
    at -= n;
    sections = predict_time_sections(&n);
    if (at < n)
        *section = sections[at];
    return at < n;
}

/* A buffer's formula is longer than the room of a field. */
static bool fits_a_row(size_t k, const struct column *column)
{
    return k >= MEMORY_PARTS || strcmp(column->key, "formula") != 0;
}

/* "section.key" against a dotted name. */
static bool names(const struct predict_section *section, const struct column *column,
                  const char *key)
{
    size_t length = strlen(section->key);
    return strncmp(key, section->key, length) == 0 && key[length] == '.' &&
           strcmp(key + length + 1, column->key) == 0;
}

static bool find(const char *key, struct place *place)
{
    struct predict_section section;
    for (size_t k = 0; section_at(k, &section); k++)
        for (size_t i = 0; i < section.n_columns; i++)
            if (names(&section, &section.columns[i], key) &&
                fits_a_row(k, &section.columns[i])) {
                *place = (struct place){&section.columns[i], section.offset, section.present,
                                        k < MEMORY_PARTS && memory_parts[k].pointed};
                return true;
            }
    return false;
}

/* The nearest dotted key into `best`; empty when none is near. */
static void nearest(const char *key, char best[128])
{
    struct predict_section section;
    unsigned distance = (unsigned)strlen(key) / 2 + 1;
    best[0] = '\0';
    for (size_t k = 0; section_at(k, &section); k++)
        for (size_t i = 0; i < section.n_columns; i++) {
            char name[128];
            snprintf(name, sizeof name, "%s.%s", section.key, section.columns[i].key);
            if (!fits_a_row(k, &section.columns[i]) || text_distance(key, name) >= distance)
                continue;
            distance = text_distance(key, name);
            memcpy(best, name, sizeof name);
        }
}

enum status frontier_columns_init(struct frontier_columns *extra,
                                  const struct frontier_csv *csv, const char *const *keys,
                                  size_t n, struct err *err)
{
    *extra = (struct frontier_columns){.csv = csv, .n = n};
    if (n > FRONTIER_COLUMNS)
        return err_set(err, STATUS_USAGE, "%zu extra columns, at most %d", n, FRONTIER_COLUMNS);
    for (size_t i = 0; i < n; i++) {
        struct place place;
        if (!find(keys[i], &place)) {
            char best[128];
            nearest(keys[i], best);
            err_set(err, STATUS_USAGE,
                    "--column \"%s\" is no value of predict's JSON that a column has", keys[i]);
            if (best[0])
                return err_hint(err, "did you mean \"%s\"?", best);
            return err_hint(err, "for example memory.margin_bytes; `moeplan predict --format "
                                 "json` shows all");
        }
        extra->keys[i] = keys[i];
        extra->time = extra->time || text_starts(keys[i], "time.");
        extra->spread = extra->spread || strstr(keys[i], "_p50_") || strstr(keys[i], "_p99_") ||
                        text_equal(keys[i], "time.samples");
        extra->columns[i] = place.column;
        extra->offsets[i] = place.offset;
        extra->present[i] = place.present;
        extra->pointed[i] = place.pointed;
    }
    return STATUS_OK;
}

void frontier_columns_header(const struct frontier_columns *extra, struct text *header)
{
    if (extra->n == 0)
        return;
    header->length--; /* the newline */
    for (size_t i = 0; i < extra->n; i++)
        text_printf(header, ",%s", extra->keys[i]);
    text_append(header, "\n");
}

size_t frontier_columns_room(const struct frontier_columns *extra)
{
    return extra->n * (FRONTIER_COLUMN_ROOM + 1);
}

static void print_field(const struct frontier_columns *extra, size_t i,
                        const struct prediction *prediction, FILE *out)
{
    const void *record = (const char *)prediction + extra->offsets[i];
    if (extra->pointed[i])
        record = *(const void *const *)record;
    fputc(',', out);
    if (record && (!extra->present[i] || extra->present[i](prediction)))
        column_csv_field(out, extra->columns[i], record);
}

/* As `predict` has it, with its time where a column asks for it. */
static bool predicted(const struct frontier_columns *extra, const struct plan *plan,
                      struct arena *arena, struct prediction *prediction)
{
    struct err err = {0};
    struct profile profile;
    const struct routing_data *routing = extra->csv->routing;
    const struct time_ask ask = {
        .routing = routing, .profile = &profile, .spread = extra->spread};
    const struct predict_options options = {.routing = routing,
                                            .time = extra->time ? &ask : NULL};
    if (extra->time && profile_load(plan, arena, &profile, &err) != STATUS_OK)
        return false;
    return predict(plan, &options, arena, prediction, &err) == STATUS_OK;
}

size_t frontier_columns_row(const void *context, const size_t indices[SWEEP_AXES],
                            const struct plan *plan, const struct evaluation *result, char *out,
                            size_t room)
{
    const struct frontier_columns *extra = context;
    size_t used = frontier_csv_row(extra->csv, indices, plan, result, out, room) - 1;
    struct arena arena = {0};
    struct prediction prediction;
    bool known = result->valid && predicted(extra, plan, &arena, &prediction);
    FILE *rest = fmemopen(out + used, room - used, "w");
    for (size_t i = 0; rest && i < extra->n; i++) {
        if (known)
            print_field(extra, i, &prediction, rest);
        else
            fputc(',', rest);
    }
    if (rest) {
        fputc('\n', rest);
        long end = ftell(rest);
        fclose(rest);
        used += end > 0 ? (size_t)end : 0;
    }
    arena_release(&arena);
    return used;
}
