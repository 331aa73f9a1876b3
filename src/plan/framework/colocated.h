/* What stands beside the model that is trained: an engine that generates on its devices (RL),
 * as verl, slime, ms-swift and TRL have it, the reference of a preference, and what waits in
 * host memory for its turn. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_COLOCATED_H
#define MOEPLAN_PLAN_FRAMEWORK_COLOCATED_H

#include "plan/job/reader.h"

/* Words of workload.colocated.away, and the flags that they come of. */
struct away {
    const char *words[8], *flags;
    size_t n;
};

void away_add(struct job *job, struct away *away, const char *word, const char *flag);
bool away_has(const struct away *away, const char *word);
/* The key, where anything waits. */
void away_set(struct job *job, const struct away *away);

/* Parameters of a model, by its name on the hub or its folder, with one row in place of a head:
 * of those that score (transformers' *ForSequenceClassification, num_labels 1); 0: not known.
 */
uint64_t scorer_parameters(struct job *job, const char *path);

/* Names of one model, as its base and what was made of it are. */
bool models_are_alike(struct job *job, const char *one, const char *other);

struct engine_beside {
    bool sleeps;     /* its memory is free while the trainer steps */
    uint64_t tp;     /* devices that share one copy of its weights */
    double fraction; /* of a device, while it generates */
    const char *sleep_flags, *tp_flag, *fraction_flag;
    const char *weights_flag, *states_flag; /* that are on: of the trainer they wait; or NULL */
    const char *kept_flag; /* by which its own weights do, while it sleeps; or NULL */
};

/* tp and fraction, where their flags are given. */
enum status colocated_read(struct job *job, struct engine_beside *engine);

/* workload.colocated.engine, tp and fraction; what of the trainer gives way to an engine that
 * does to it goes to `away`. */
void colocated_set(struct job *job, const struct engine_beside *engine, struct away *away);

/* The format of the engine's weights, by a flag that quantises them: `fp8` of one whose value
 * has fp8 in it, of others a warning that 16 bits stand in. */
enum status colocated_set_format(struct job *job, const char *flag, const char *fp8);

/* A frozen reference that stands beside the model unless adapters are trained, whose base it
 * is, and the passes without gradients of a step. KTO has three: its estimate of the divergence
 * is of other answers, which model and reference score, beside the reference's own of the
 * step's (TRL's kto_trainer.py, LLaMA-Factory's train/kto/trainer.py). */
enum { COLOCATED_KTO_PASSES = 3 };
void colocated_set_reference(struct job *job, const char *flag, uint64_t passes);

/* A preference over pairs (DPO): both answers in one batch, and a reference or none. */
void colocated_set_pairs(struct job *job, const char *flag, bool reference);

#endif
