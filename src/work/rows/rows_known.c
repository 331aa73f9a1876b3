/* Parts of laws that were worked out; see rows.h. A part is known by all bytes that it follows
 * from, compared whole. */
#include <string.h>

#include "base/hash.h"
#include "work/rows/rows_parts.h"

/* Samplers of one routing have tens of parts; where popularities are drawn anew all the time,
 * what is kept begins anew, too. */
enum { PARTS_MOST = 256, SETS_MOST = 4 };

struct rows_part {
    struct rows_part *next;
    uint64_t hash;
    size_t key_bytes;
    const char *key;
    const void *value;
};

static uint64_t hash_of(const struct rows_key *key)
{
    uint64_t hash = hash_bytes(HASH_START, key->words, sizeof key->words);
    for (unsigned i = 0; i < ROWS_KEY_TABLES; i++)
        hash = hash_bytes(hash, key->tables[i].bytes, key->tables[i].n);
    return hash;
}

static size_t bytes_of(const struct rows_key *key)
{
    size_t n = sizeof key->words;
    for (unsigned i = 0; i < ROWS_KEY_TABLES; i++)
        n += key->tables[i].n;
    return n;
}

static bool is_of(const struct rows_part *part, const struct rows_key *key)
{
    const char *at = part->key + sizeof key->words;
    bool same = memcmp(part->key, key->words, sizeof key->words) == 0;
    for (unsigned i = 0; same && i < ROWS_KEY_TABLES; i++) {
        size_t n = key->tables[i].n;
        same = n == 0 || memcmp(at, key->tables[i].bytes, n) == 0;
        at += n;
    }
    return same;
}

const void *rows_known_find(const struct rows_known *known, const struct rows_key *key)
{
    if (!known || !known->parts)
        return NULL;
    uint64_t hash = hash_of(key);
    size_t n = bytes_of(key);
    for (const struct rows_part *part = known->parts; part; part = part->next)
        if (part->hash == hash && part->key_bytes == n && is_of(part, key))
            return part->value;
    return NULL;
}

static const char *copy_key(const struct rows_key *key, struct arena *arena)
{
    char *copy = arena_take(arena, bytes_of(key), 1), *at = copy;
    memcpy(at, key->words, sizeof key->words);
    at += sizeof key->words;
    for (unsigned i = 0; i < ROWS_KEY_TABLES; i++) {
        if (key->tables[i].n)
            memcpy(at, key->tables[i].bytes, key->tables[i].n);
        at += key->tables[i].n;
    }
    return copy;
}

void rows_known_keep(struct rows_known *known, const struct rows_key *key, const void *value,
                     size_t bytes)
{
    if (!known)
        return;
    if (known->n == PARTS_MOST) {
        arena_clear(&known->arena);
        known->parts = NULL;
        known->n = 0;
    }
    struct rows_part *part = arena_alloc(&known->arena, 1, sizeof *part);
    void *copy = arena_take(&known->arena, bytes, 1);
    memcpy(copy, value, bytes);
    *part = (struct rows_part){.next = known->parts,
                               .hash = hash_of(key),
                               .key_bytes = bytes_of(key),
                               .key = copy_key(key, &known->arena),
                               .value = copy};
    known->parts = part;
    known->n++;
}

void rows_known_release(struct rows_known *known)
{
    arena_release(&known->arena);
    *known = (struct rows_known){0};
}

/* Chances of one partition follow from the popularity, K and the partition. */
static struct rows_key key_of_sets(const double *p, uint64_t n, uint64_t k,
                                   const struct rows_sets *sets)
{
    return (struct rows_key){
        .words = {ROWS_PART_TOUCH, n, k, sets->n},
        .tables = {{p, n * sizeof *p}, {sets->set_of, n * sizeof *sets->set_of}}};
}

void rows_touch_known(struct rows_known *known, const double *p, uint64_t n, uint64_t k,
                      const struct rows_sets *sets, size_t n_sets)
{
    struct rows_sets missing[SETS_MOST];
    size_t n_missing = 0;
    for (size_t i = 0; i < n_sets; i++) {
        const struct rows_key key = key_of_sets(p, n, k, &sets[i]);
        const double *touch = rows_known_find(known, &key);
        if (touch)
            memcpy(sets[i].touch, touch, sets[i].n * sizeof *touch);
        else
            missing[n_missing++] = sets[i];
    }
    if (n_missing)
        rows_touch_all(p, n, k, missing, n_missing);
    for (size_t i = 0; i < n_missing; i++) {
        const struct rows_key key = key_of_sets(p, n, k, &missing[i]);
        rows_known_keep(known, &key, missing[i].touch, missing[i].n * sizeof *missing[i].touch);
    }
}
