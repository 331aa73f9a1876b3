/* Which parameters a job trains, where it says so by their names: as the keys frozen.*. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_FROZEN_NAMES_H
#define MOEPLAN_PLAN_FRAMEWORK_FROZEN_NAMES_H

#include "plan/job/rows.h"

/* Names as models of transformers have them, or Megatron's. */
enum frozen_style { FROZEN_TRANSFORMERS, FROZEN_MEGATRON, FROZEN_STYLES };

/* One parameter: the names that versions of the library have for it, of which one is the
 * model's. */
enum { FROZEN_NO_LAYER = 0xffff };
struct frozen_name {
    uint64_t layer; /* FROZEN_NO_LAYER: embedding or head */
    const char *const *names;
    unsigned n;
};

/* Whether a name is met: by a word it begins with, by one that stands in it, by an expression
 * of Python's from its beginning, or anywhere in it. */
enum frozen_meet { MEET_BEGINS, MEET_HOLDS, MEET_MATCHES, MEET_SEARCHES };
struct frozen_words {
    const char *const *words;
    size_t n;
    enum frozen_meet meet;
};
bool frozen_meets(const struct frozen_words *words, const struct frozen_name *name);
/* The words of a flag that is given; none otherwise. */
struct frozen_words frozen_words_of(struct job *job, const char *flag, enum frozen_meet meet);

/* Whether a parameter is trained, by what the framework knows. */
typedef bool frozen_trains(const void *with, const struct frozen_name *name);

/* Asks of every parameter of the job's model and sets frozen.layers (not below an encoder that
 * workload.encoder.train, set before, trains), frozen.modules and, with `format` (NULL: none),
 * frozen.format. Warns where parameters of a part are told apart, which
 * are planned as trained; STATUS_INPUT where none is trained. */
enum status frozen_set(struct job *job, enum frozen_style style, frozen_trains *trains,
                       const void *with, const char *flags, const char *format);

/* How many parameters of each part of the job's model are met; none without the model. */
enum frozen_found { FROZEN_NONE, FROZEN_SOME, FROZEN_ALL };
enum status frozen_finds(struct job *job, enum frozen_style style, frozen_trains *meets,
                         const void *with, enum frozen_found found[FROZEN_PARTS]);

/* A part alone, by a switch of its own. */
enum status frozen_set_part(struct job *job, const char *part, const char *flag);

#endif
