/* How the tables of families are written; for plan/hf/import_table*.c alone. Key names and
 * defaults are those of the configuration classes of github.com/huggingface/transformers
 * (src/transformers/models) unless a table says otherwise. */
#ifndef MOEPLAN_PLAN_HF_IMPORT_TABLE_H
#define MOEPLAN_PLAN_HF_IMPORT_TABLE_H

#include <stdint.h>

#include "plan/hf/import_hf_table.h"

#define IMPORT_MEMBER(member)                                                                  \
    offsetof(struct model, member), sizeof(((struct model *)0)->member)
#define COUNT(member, key, fallback)                                                           \
    {                                                                                          \
        IMPORT_COUNT, IMPORT_MEMBER(member), key, fallback, NULL                               \
    }
#define NUMBER(member, key, fallback)                                                          \
    {                                                                                          \
        IMPORT_REAL, IMPORT_MEMBER(member), key, fallback, NULL                                \
    }
#define BOOL(member, key, fallback)                                                            \
    {                                                                                          \
        IMPORT_BOOL, IMPORT_MEMBER(member), key, fallback, NULL                                \
    }
#define WORD(member, key, fallback, words)                                                     \
    {                                                                                          \
        IMPORT_WORD, IMPORT_MEMBER(member), key, fallback, words                               \
    }
/* Says nothing that another key or the family does not. */
#define KNOWN(key)                                                                             \
    {                                                                                          \
        IMPORT_KNOWN, SIZE_MAX, 0, key, "", NULL                                               \
    }
#define FIELDS(table)                                                                          \
    {                                                                                          \
        sizeof(table) / sizeof *(table), table                                                 \
    }

/* Of a model without linear layers. */
#define LINEAR_DEFAULTS                                                                        \
    COUNT(linear.chunk, NULL, "64"), WORD(linear.state, NULL, "none", import_formats)

/* The table `families` of a file, by the name that import_hf_table.h has for it. */
#define FAMILIES(name)                                                                         \
    const struct import_families import_##name = {sizeof families / sizeof *families, families}

/* The words of a key, each list ended by no text. */
extern const struct import_word import_attentions[], import_scores[], import_orders[],
    import_activations[], import_scales[], import_methods[], import_norm_types[],
    import_linear_kinds[], import_formats[];

/* What every transformer says, and what is so unless a family says otherwise; how heads are
 * named; the expert keys of DeepSeek by other names; what dense models say. */
enum {
    IMPORT_COMMON = 19,
    IMPORT_GROUPED = 3,
    IMPORT_LATENT = 10,
    IMPORT_NUMBERED = 6,
    IMPORT_DENSE = 6
};
extern const struct import_field import_common[IMPORT_COMMON],
    import_grouped_heads[IMPORT_GROUPED], import_latent_heads[IMPORT_LATENT],
    import_numbered_experts[IMPORT_NUMBERED], import_dense_fields[IMPORT_DENSE];

#endif
