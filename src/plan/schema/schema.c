/* Finding and reading fields; the table itself stands in schema_table.c, printing in
 * schema_print.c. */
#include "plan/schema/schema.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "plan/encoding.h"
#include "plan/schema/schema_table.h"
#include "plan/schema/word.h"

const struct field *schema_fields(size_t *n)
{
    *n = schema_table_size;
    return schema_table;
}

/* The length tells most keys apart, so that no index is needed. */
bool schema_is_part(const char *key)
{
    return text_starts(key, "model.") || text_starts(key, "cluster.") ||
           text_starts(key, "stack.");
}

const struct field *schema_find(const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < schema_table_size; i++) {
        const struct field *field = &schema_table[i];
        if (field->key_length == length && memcmp(field->key, key, length) == 0)
            return field;
    }
    return NULL;
}

bool schema_is_list(const struct field *field)
{
    return field->type == FIELD_COUNTS || field->type == FIELD_WORDS ||
           field->type == FIELD_ENUMS;
}

const char *schema_takes(const struct field *field)
{
    static const char *const takes[] = {
        [FIELD_COUNT] = "a whole number",  [FIELD_REAL] = "a number",
        [FIELD_AMOUNT] = "a quantity",     [FIELD_RATE] = "a quantity",
        [FIELD_BOOL] = "true or false",    [FIELD_WORD] = "a word",
        [FIELD_TEXT] = "a text",           [FIELD_COUNTS] = "a list of whole numbers",
        [FIELD_WORDS] = "a list of words", [FIELD_ENUMS] = "a list of words"};
    return takes[field->type];
}

/* ---- members; the table's tests hold size and type together ---- */

static void *member_of(const struct field *field, struct plan *plan)
{
    return (char *)plan + field->offset;
}

/* ---- reading ---- */

struct reading {
    const struct field *field;
    struct plan *plan;
    const char *text;
    bool quoted;
    struct mark mark;
    struct err *err;
};

/* What a text that says a whole number otherwise may mean: "1e3", "4,096". */
static bool hint_digits(const struct reading *r)
{
    char digits[24] = "";
    size_t n = 0;
    double value;
    for (const char *c = r->text; *c && n < sizeof digits - 1; c++)
        if (*c != ',' && *c != '_')
            digits[n++] = *c;
    if (!number_real(digits, &value) || value < 1 || value > 1e15 || floor(value) != value)
        return false;
    err_hint(r->err, "did you mean %.0f?", value);
    return true;
}

/* What a text with one number in it may mean: "90%", "4k", "stage3". */
static bool hint_number(const struct reading *r)
{
    const char *digits = r->text + strcspn(r->text, "0123456789");
    char number[16] = "";
    size_t n = strspn(digits, "0123456789");
    const char *rest = digits + n;
    uint64_t value;
    if (n == 0 || n >= sizeof number)
        return false;
    memcpy(number, digits, n);
    bool first = digits == r->text, counts = number_count(number, &value);
    if (first && text_equal(rest, "%"))
        err_hint(r->err, "did you mean %g?", (double)value / 100);
    else if (first && (text_equal(rest, "k") || text_equal(rest, "K")))
        err_hint(r->err, "write it in full, as in %llu or %llu",
                 (unsigned long long)(1000 * value), (unsigned long long)(1024 * value));
    else if (!first && *rest == '\0' && isalpha((unsigned char)r->text[0]))
        err_hint(r->err, "did you mean %s?", number);
    else
        return false;
    return counts;
}

/* A number or a truth value, which quotes alone make a text of. */
static bool says_value(const char *text)
{
    double value;
    return number_real(text, &value) || text_equal(text, "true") || text_equal(text, "false");
}

static enum status wrong_type(const struct reading *r)
{
    const char *quote = r->quoted ? "\"" : "'";
    err_at(r->err, r->mark, "'%s' takes %s, not %s%s%s", r->field->key, schema_takes(r->field),
           quote, r->text, quote);
    if (r->field->unit != UNIT_NONE)
        return err_hint(r->err, "a number and one of the units %s", unit_names(r->field->unit));
    if (r->quoted && r->field->type != FIELD_TEXT && says_value(r->text))
        return err_hint(r->err, "remove the quotes: what stands in quotes is a text");
    bool number = r->field->type == FIELD_COUNT || r->field->type == FIELD_REAL;
    if (number && (hint_digits(r) || hint_number(r)))
        return STATUS_INPUT;
    const char *example = schema_example(r->field);
    return example ? err_hint(r->err, "for example %s", example) : STATUS_INPUT;
}

/* A limit as the user would write it. */
static void print_limit(char buffer[48], const struct field *field, double limit)
{
    if (field->unit == UNIT_NONE && limit < 1e15 && floor(limit) == limit)
        snprintf(buffer, 48, "%.0f", limit);
    else
        unit_print_exact(buffer, field->unit, limit);
}

static enum status check_limits(const struct reading *r, double value)
{
    const struct field *field = r->field;
    bool below = value < field->min, above = field->max != 0 && value > field->max;
    if (!below && !above)
        return STATUS_OK;
    char limit[48];
    print_limit(limit, field, below ? field->min : field->max);
    return err_at(r->err, r->mark, "'%s' is %s, %s the limit %s", field->key, r->text,
                  below ? "below" : "above", limit);
}

static enum status read_count(const struct reading *r, uint64_t *value)
{
    double real;
    if (r->quoted)
        return wrong_type(r);
    if (r->text[0] == '-' && unit_parse(UNIT_NONE, r->text, &real) && real < 0)
        return check_limits(r, real);
    if (!number_is_whole(r->text))
        return wrong_type(r);
    if (!number_count(r->text, value))
        return err_at(r->err, r->mark, "'%s' is %s, above the limit %" PRIu64, r->field->key,
                      r->text, UINT64_MAX);
    return check_limits(r, (double)*value);
}

/* A quantity with a unit may stand in quotes, since it holds a space. */
static enum status read_real(const struct reading *r, double *value)
{
    bool unit = r->text[0] != '\0' && isalpha((unsigned char)r->text[strlen(r->text) - 1]);
    if (r->quoted && !(unit && r->field->unit != UNIT_NONE))
        return wrong_type(r);
    if (!unit_parse(r->field->unit, r->text, value))
        return wrong_type(r);
    if (*value == 0)
        *value = 0; /* no negative zero: it would not read back */
    return check_limits(r, *value);
}

/* Who types "memory.reserve=10" means GiB, who writes a file has its other amounts in sight. */
static enum status check_unit(const struct reading *r)
{
    static const struct {
        const char *usual, *small;
    } units[] = {[UNIT_BYTES] = {"GiB", "B for bytes"},
                 [UNIT_BYTES_PER_S] = {"GB/s", "B/s for bytes"},
                 [UNIT_FLOP_PER_S] = {"TFLOP/s", "FLOP/s"},
                 [UNIT_SECONDS] = {"ms", "s"},
                 [UNIT_HERTZ] = {"GHz", "Hz"}};
    double value;
    bool option = r->mark.file && r->mark.line == 0;
    if (!option || r->field->unit == UNIT_NONE || !number_real(r->text, &value) || value == 0)
        return STATUS_OK;
    err_at(r->err, r->mark, "'%s' is %s without a unit", r->field->key, r->text);
    return err_hint(r->err, "write %s%s, or %s%s", r->text, units[r->field->unit].usual,
                    r->text, units[r->field->unit].small);
}

static enum status set_count(const struct reading *r)
{
    uint64_t value = 0;
    TRY(read_count(r, &value));
    *(uint64_t *)member_of(r->field, r->plan) = value;
    return STATUS_OK;
}

static enum status set_real(const struct reading *r)
{
    double value = 0;
    TRY(check_unit(r));
    TRY(read_real(r, &value));
    *(double *)member_of(r->field, r->plan) = value;
    return STATUS_OK;
}

/* "4096 B" and "4096", exact where a double is not. */
static bool parse_bytes(const char *text, uint64_t *value)
{
    char number[24] = "";
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits + strspn(text + digits, " ");
    if (digits >= sizeof number || (*rest && !text_equal(rest, "B")))
        return false;
    memcpy(number, text, digits);
    return number_count(number, value);
}

/* Rounded to the nearest: 287.98 GiB is no whole number of bytes. */
static enum status set_amount(const struct reading *r)
{
    double value = 0;
    TRY(check_unit(r));
    TRY(read_real(r, &value));
    uint64_t bytes = (uint64_t)llround(value);
    parse_bytes(r->text, &bytes);
    *(uint64_t *)member_of(r->field, r->plan) = bytes;
    return STATUS_OK;
}

static enum status set_bool(const struct reading *r)
{
    static const char *const trues[] = {"true", "True", "TRUE"};
    static const char *const falses[] = {"false", "False", "FALSE"};
    for (size_t i = 0; i < 3 && !r->quoted; i++) {
        bool yes = text_equal(r->text, trues[i]);
        if (!yes && !text_equal(r->text, falses[i]))
            continue;
        *(bool *)member_of(r->field, r->plan) = yes;
        return STATUS_OK;
    }
    return wrong_type(r);
}

const char *const *schema_words(const struct field *field)
{
    return field->offered ? field->offered : field->words;
}

bool schema_offers(const struct field *field, const char *word)
{
    const char *const *words = schema_words(field);
    while (*words && !text_equal(*words, word))
        words++;
    return *words != NULL;
}

/* The number that stands in place of a word. */
static enum status set_number_for_word(const struct reading *r, unsigned last)
{
    const struct field *number = schema_find(r->field->number);
    TRY(schema_set(number, r->plan, r->text, r->quoted, r->mark, r->err));
    memcpy(member_of(r->field, r->plan), &last, sizeof last);
    return STATUS_OK;
}

/* Words that a switch may stand for: what is on or off elsewhere is a choice here. */
static const struct synonym {
    const char *key, *text, *word;
} synonyms[] = {
    {"moe.skip.weight", "false", "none"},
    {"moe.skip.weight", "true", "hi_lo"}, /* NxD's default order of blocks */
};

/* A synonym of the key, or another name of one of its words that says the same. */
static const char *word_of(const struct reading *r)
{
    bool same = false;
    for (size_t i = 0; !r->quoted && i < sizeof synonyms / sizeof *synonyms; i++)
        if (text_equal(synonyms[i].text, r->text) && text_equal(synonyms[i].key, r->field->key))
            return synonyms[i].word;
    const char *meant = word_meant(r->field->words, r->text, &same);
    return meant && same ? meant : r->text;
}

static enum status unknown_word(const struct reading *r)
{
    err_at(r->err, r->mark, "'%s' is not a value of '%s'", r->text, r->field->key);
    schema_hint_words(r->text, r->field, r->err);
    return STATUS_INPUT;
}

static enum status set_word(const struct reading *r)
{
    const struct field *field = r->field;
    const char *word = word_of(r);
    unsigned n = 0;
    double number;
    for (; field->words[n]; n++) {
        if (!text_equal(word, field->words[n]) || !schema_offers(field, word))
            continue;
        memcpy(member_of(field, r->plan), &n, sizeof n);
        return STATUS_OK;
    }
    if (field->number && !r->quoted && unit_parse(UNIT_NONE, r->text, &number))
        return set_number_for_word(r, n - 1);
    return unknown_word(r);
}

static enum status set_text(const struct reading *r)
{
    char *target = member_of(r->field, r->plan);
    size_t length = strlen(r->text);
    if (length >= r->field->size)
        return err_at(r->err, r->mark, "'%s' has %zu bytes, above the limit %zu", r->field->key,
                      length, r->field->size - 1);
    if (!encoding_is_line(r->text))
        return err_at(r->err, r->mark,
                      "'%s' holds a line break or a character that is not printable",
                      r->field->key);
    memset(target, 0, r->field->size);
    memcpy(target, r->text, length);
    return STATUS_OK;
}

/* "[a, b]", "a, b" or "a", over several lines too; the loader gives lists item by item instead.
 */
static enum status set_list(const struct reading *r)
{
    static const char space[] = " \t\r\n";
    const char *at = r->text + strspn(r->text, space);
    bool bracket = *at == '[';
    at += bracket;
    schema_list_clear(r->field, r->plan);
    for (;;) {
        at += strspn(at, space);
        size_t length = strcspn(at, bracket ? ",]" : ","), used = length;
        while (used > 0 && strchr(space, at[used - 1]))
            used--;
        char item[PLAN_WORD + 1];
        if (used >= sizeof item || (bracket && at[length] == '\0'))
            return wrong_type(r);
        memcpy(item, at, used);
        item[used] = '\0';
        if (used == 0 && bracket && at[length] == ']')
            return STATUS_OK;
        TRY(schema_list_add(r->field, r->plan, item, false, r->mark, r->err));
        if (at[length] != ',')
            return STATUS_OK;
        at += length + 1;
    }
}

enum status schema_set(const struct field *field, struct plan *plan, const char *text,
                       bool quoted, struct mark mark, struct err *err)
{
    static enum status (*const setters[])(const struct reading *) = {
        [FIELD_COUNT] = set_count, [FIELD_REAL] = set_real,   [FIELD_AMOUNT] = set_amount,
        [FIELD_RATE] = set_real,   [FIELD_BOOL] = set_bool,   [FIELD_WORD] = set_word,
        [FIELD_TEXT] = set_text,   [FIELD_COUNTS] = set_list, [FIELD_WORDS] = set_list,
        [FIELD_ENUMS] = set_list};
    return setters[field->type](&(struct reading){field, plan, text, quoted, mark, err});
}

enum status schema_check(const struct field *field, const struct plan *plan, struct mark mark,
                         struct err *err)
{
    char text[48];
    double value = schema_number(field, plan);
    if (field->type != FIELD_COUNT && field->type != FIELD_REAL)
        return STATUS_OK;
    unit_print_exact(text, UNIT_NONE, value);
    struct reading reading = {.field = field, .text = text, .mark = mark, .err = err};
    return check_limits(&reading, value);
}

/* ---- lists ---- */

void schema_list_clear(const struct field *field, struct plan *plan)
{
    memset(member_of(field, plan), 0, field->size);
}

static enum status add_count(const struct reading *r)
{
    struct number_list *list = member_of(r->field, r->plan);
    uint64_t value = 0;
    TRY(read_count(r, &value));
    if (list->n == PLAN_LIST)
        return err_at(r->err, r->mark, "'%s' has more than the limit of %d items",
                      r->field->key, PLAN_LIST);
    list->value[list->n++] = value;
    return STATUS_OK;
}

static enum status add_word(const struct reading *r)
{
    struct word_list *list = member_of(r->field, r->plan);
    size_t length = strlen(r->text);
    if (!schema_is_name(r->text) || length >= PLAN_WORD) {
        err_at(r->err, r->mark, "'%s' lists names, not '%s'", r->field->key, r->text);
        return err_hint(r->err, "letters, digits and _-.*/, at most %d", PLAN_WORD - 1);
    }
    if (list->n == PLAN_NAMES)
        return err_at(r->err, r->mark, "'%s' has more than the limit of %d items",
                      r->field->key, PLAN_NAMES);
    memcpy(list->word[list->n++], r->text, length);
    return STATUS_OK;
}

/* A word of the field's enum. */
static enum status add_enum(const struct reading *r)
{
    struct enum_list *list = member_of(r->field, r->plan);
    const char *word = word_of(r);
    uint8_t value = 0;
    while (r->field->words[value] && !text_equal(r->field->words[value], word))
        value++;
    if (!r->field->words[value])
        return unknown_word(r);
    if (list->n == PLAN_LAYERS)
        return err_at(r->err, r->mark, "'%s' has more than the limit of %d items",
                      r->field->key, PLAN_LAYERS);
    list->value[list->n++] = value;
    return STATUS_OK;
}

enum status schema_list_add(const struct field *field, struct plan *plan, const char *text,
                            bool quoted, struct mark mark, struct err *err)
{
    const struct reading reading = {field, plan, text, quoted, mark, err};
    if (field->type == FIELD_ENUMS)
        return add_enum(&reading);
    return field->type == FIELD_COUNTS ? add_count(&reading) : add_word(&reading);
}

/* ---- defaults ---- */

void schema_defaults(struct plan *plan)
{
    struct err err = {0};
    memset(plan, 0, sizeof *plan);
    for (size_t i = 0; i < schema_table_size; i++) {
        const struct field *field = &schema_table[i];
        if (field->fallback && field->fallback[0] != '\0')
            schema_set(field, plan, field->fallback, false, (struct mark){0}, &err);
    }
}
