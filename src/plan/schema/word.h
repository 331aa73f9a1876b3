/* What words mean, and what else people call them: for help, hints and reading.
 *
 * A word belongs to a list of words (words_path), a name to a key and a stack. */
#ifndef MOEPLAN_PLAN_SCHEMA_WORD_H
#define MOEPLAN_PLAN_SCHEMA_WORD_H

#include <stdbool.h>
#include <stddef.h>

/* A few words on a word of a list, lower case; NULL when there are none (a list's test says
 * that there are). */
const char *word_help(const char *const *words, const char *word);

/* The word that people mean by a text that is none of the list, letters' case and - for _
 * aside; NULL when there is none. *same: it says exactly that and may be taken; otherwise it is
 * the nearest thing there is, for a hint. */
const char *word_meant(const char *const *words, const char *text, bool *same);

/* The key of a plan that people mean by the name of a framework's flag or field ("seq_length",
 * "tensor-parallel-size"), letters' case and - for _ aside; NULL when there is none. */
const char *word_key(const char *name);

/* The catalogue's name that people mean by another ("qwen3-moe", "mcore"), in lower case with -
 * for _; NULL when there is none. `kind` is "model", "cluster", "stack", or "model of the
 * shape": of checkpoints with the layers of another. */
const char *word_catalogue(const char *kind, const char *name);

/* Whether what follows a model's name makes another model of it: "-distill-qwen-32b". */
bool word_is_another(const char *rest);

/* Names that a stack knows for a list of names (recompute.modules). */
struct word_name {
    const char *key, *stacks /* "megatron, primus" */, *name, *help;
};

/* Row i; NULL behind the last. */
const struct word_name *word_name_at(size_t i);

#endif
