/* The field table: every key of the plan file once, with type, unit, default, limits and help.
 *
 * The table drives reading, --set, `show`, `help <key>`, completion, JSON's plan{} and sweeps.
 * Keys are full dotted names below the file's root ("moe.routing.alpha"); the keys of a model
 * file are those below "model.", of a cluster file below "cluster.", of a stack file below
 * "stack.". The order of the table is the order of `show`. */
#ifndef MOEPLAN_PLAN_SCHEMA_SCHEMA_H
#define MOEPLAN_PLAN_SCHEMA_SCHEMA_H

#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit.h"
#include "plan/plan.h"

enum field_type {
    FIELD_COUNT,  /* uint64_t, a whole number */
    FIELD_REAL,   /* double */
    FIELD_AMOUNT, /* uint64_t with a unit (bytes) */
    FIELD_RATE,   /* double with a unit */
    FIELD_BOOL,   /* bool: true, false */
    FIELD_WORD,   /* enum: one of words[] */
    FIELD_TEXT,   /* char[size] */
    FIELD_COUNTS, /* struct number_list */
    FIELD_WORDS,  /* struct word_list */
    FIELD_ENUMS   /* struct enum_list: of words[] */
};

/* A word that stands for a number: FIELD_WORD with `number` takes a number in place of a word,
 * which selects its last word and goes into the field of that key (moe.buffer: 1.5). */
struct field {
    const char *key;
    enum field_type type;
    size_t offset; /* in struct plan */
    enum unit unit;
    const char *const *words;   /* FIELD_WORD: NULL-terminated, indexed by the enum's value */
    const char *const *offered; /* those of them that the key takes; NULL: all */
    double min, max;            /* numbers, both included; max 0: no upper limit */
    const char *fallback;       /* default, as the user would write it; NULL: required */
    const char *help;           /* one line, lower case, no full stop */
    size_t size;                /* bytes of the member */
    const char *number;         /* FIELD_WORD: key of the field a number goes to, or NULL */
    size_t key_length;
};

/* All fields; *n is their number. Constant. */
const struct field *schema_fields(size_t *n);

/* Whether a key is of model, cluster or stack, not the plan's own. */
bool schema_is_part(const char *key);

/* The field with this full key, or NULL. */
const struct field *schema_find(const char *key);

/* Sets every field to its fallback (required ones to zero). */
void schema_defaults(struct plan *plan);

/* Reads one scalar text into the field of a plan: checks type, unit, words and limits.
 * `quoted` scalars are texts, not numbers or booleans. A list field takes "[a, b]" or one item.
 * Errors carry the mark; the field keeps its value then, a list what was read of it. */
enum status schema_set(const struct field *field, struct plan *plan, const char *text,
                       bool quoted, struct mark mark, struct err *err);

/* Checks a value that no text gave (an imported model's) against the field's limits. */
enum status schema_check(const struct field *field, const struct plan *plan, struct mark mark,
                         struct err *err);

/* Lists: empties the list; adds one item. */
void schema_list_clear(const struct field *field, struct plan *plan);
enum status schema_list_add(const struct field *field, struct plan *plan, const char *text,
                            bool quoted, struct mark mark, struct err *err);
bool schema_is_list(const struct field *field);

/* The words that a FIELD_WORD takes, NULL-terminated. */
const char *const *schema_words(const struct field *field);

/* "a whole number", "a word", "a list of words": what a field takes, for messages. */
const char *schema_takes(const struct field *field);

/* Whether a key takes the word, which is one of its list. */
bool schema_offers(const struct field *field, const char *word);

/* A value as the user would write it: the default, where that says something; NULL where
 * nothing is known. A list may stand without its brackets. */
const char *schema_example(const struct field *field);

/* Adds the hint "did you mean 'x'? one of: a, b, c" for a text that is none of the words. */
void schema_hint_words(const char *text, const struct field *field, struct err *err);

/* The field's present value as the user would write it: reads back to the same value. Lists as
 * flow sequences; texts in quotes where YAML needs them. */
void schema_print(const struct field *field, const struct plan *plan, struct text *out);

/* The number behind a numeric field (COUNT, REAL, AMOUNT, RATE, BOOL, WORD). */
double schema_number(const struct field *field, const struct plan *plan);

/* Words of the enums, NULL-terminated, in the order of the enums of plan.h. */
extern const char *const words_attention[];
extern const char *const words_layer[];
extern const char *const words_part[];
extern const char *const words_linear[];
extern const char *const words_mode[];
extern const char *const words_shares[];
extern const char *const words_role[];
extern const char *const words_draft[];
extern const char *const words_dtype[];
extern const char *const words_format[];         /* of words_dtype: formats of numbers */
extern const char *const words_format_or_none[]; /* and none */
extern const char *const words_compute[];
extern const char *const words_library[];
extern const char *const words_matmul[];
extern const char *const words_backend[];
extern const char *const words_loss[];
extern const char *const words_balance[];
extern const char *const words_on_overflow[];
extern const char *const words_popularity[];
extern const char *const words_reshard[];
extern const char *const words_accumulated[];
extern const char *const words_fake_weights[];
extern const char *const words_fake_inputs[];
extern const char *const words_encoder_again[];
extern const char *const words_prefetch[];
extern const char *const words_recipe[];
extern const char *const words_colocated[];
extern const char *const words_away[];
extern const char *const words_base[];
extern const char *const words_saved[];
extern const char *const words_frozen[];
extern const char *const words_encoder[];
extern const char *const words_optimizer[];
extern const char *const words_aware[];
extern const char *const words_step[];
extern const char *const words_lora_experts[];
extern const char *const words_lora_inputs[];
extern const char *const words_sizing[];
extern const char *const words_distribution[];
extern const char *const words_placement[];
extern const char *const words_routing_layers[];
extern const char *const words_scenario[];
extern const char *const words_recompute[];
extern const char *const words_stack[];
extern const char *const words_experts[];
extern const char *const words_score[];
extern const char *const words_order[];
extern const char *const words_activation[];
extern const char *const words_gate_scale[];
extern const char *const words_shard[];
extern const char *const words_weight_skip[];
extern const char *const words_static_blocks[];
extern const char *const words_shared[];
extern const char *const words_pipeline[];
extern const char *const words_block[];
extern const char *const words_collective[];
extern const char *const words_graphs[];
extern const char *const words_data[];
extern const char *const words_drop[];
extern const char *const words_capacity_scope[];

#endif
