/* Stacks: the software that would run the plan. One file each (<name>.c), one row here.
 *
 * A stack's builder puts into the work list what that software keeps: state, what it saves for
 * backward, what lives while one layer runs, what its libraries reserve. A builder may refuse a
 * plan (STATUS_INPUT with the reason). It never looks at the memory limit. */
#ifndef MOEPLAN_WORK_STACK_STACK_H
#define MOEPLAN_WORK_STACK_STACK_H

#include "base/text.h"
#include "work/list/work.h"
#include "work/pass/again.h"

/* A path that a stack runs, and what the stack calls it where that is another word. */
struct stack_path {
    const char *word, *as;
};

struct stack_system {
    enum stack_kind kind;
    const char *name;
    const char *title; /* one line for `moeplan list stacks` */
    enum status (*build)(const struct plan *plan, struct work *work, struct err *err);
    /* lists what its devices hold through a whole step, a part of what `build` lists; NULL: not
     * apart from the rest */
    void (*state)(const struct plan *plan, struct work *work);
    /* what its backward runs again of a layer's forward; `again` is zero, every 1 */
    void (*again)(const struct plan *plan, struct again *again);
    /* gives ops the form in which it performs them; NULL: as they stand */
    void (*realise)(const struct plan *plan, struct work *work);
    const struct stack_path *paths; /* that it runs, the last one without a word; NULL: all */
    const char *only;               /* why no others */
};

/* The row of a kind; every kind has one. */
const struct stack_system *stack_system(enum stack_kind kind);

/* The path a plan's layer takes: moe.path, or the stack's own rule when it is `auto`; *why says
 * it in a sentence (constant text). */
enum moe_path stack_path(const struct plan *plan, const char **why);

/* The paths a stack runs as a list of words: "capacity, deepep (flex) and allgather"; "all". */
void stack_paths_print(const struct stack_system *system, struct text *out);

/* Whether the plan's stack offers its path on its layout: what searches propose. A path without
 * an exchange where tokens lie on one rank or on all, one with an exchange where they do not.
 */
bool stack_offers(const struct plan *plan);

/* Whether the plan's software has the plan's path at all. */
bool stack_has_path(const struct plan *plan);

/* What of the plan's layout its software has not, in a sentence, and the key in *key; NULL: it
 * has all of it. Such a plan is priced for comparison, told so, and never proposed. */
const char *stack_lacks(const struct plan *plan, const char **key);

/* The same from row *at of what is asked on, behind which it stands then: all of them, one by
 * one. */
const char *stack_lacks_next(const struct plan *plan, size_t *at, const char **key);

/* Whether it has the path and all of the layout. */
bool stack_has(const struct plan *plan);

/* Whether its software moves an optimizer's states to the host (optimizer.offload) with the
 * rest of the plan as it is: what fixes propose. */
bool stack_offloads(const struct plan *plan);

/* STATUS_INPUT with the list and the reason when the plan's stack does not run the path. */
enum status stack_runs(const struct plan *plan, enum moe_path path, struct err *err);

/* STATUS_INPUT when the plan's stack does not have a mixer of the model's layers. */
enum status stack_mixes(const struct plan *plan, struct err *err);

/* moe.buffer with `auto` resolved: worst where the stack's shapes are static, otherwise exact.
 */
enum buffer_sizing stack_sizing(const struct plan *plan);

/* Whether moe.buffer says how many rows the plan's path takes in: not where slots of experts or
 * blocks do. */
bool stack_reads_buffer(const struct plan *plan);

/* What computes the experts of an engine's plan: stack.experts, or its own choice when that is
 * `auto`; *why says it in a sentence. EXPERTS_AUTO where the stack has no such choice. */
enum expert_backend stack_experts(const struct plan *plan, const char **why);
/* Whether the engine takes others than stack.experts says, which cannot run there: for
 * TensorRT-LLM moe_config.backend is a preference (fused_moe/moe_resolution.py). */
bool stack_other_experts(const struct plan *plan);

/* The format in which the stack holds what precision.weights says of the checkpoint: another
 * where SGLang makes bf16 of mxfp4 experts while it loads them. */
enum dtype stack_weights(const struct plan *plan);

/* FSDP2: whether a layer's gathered weights stay from its forward to its backward. */
bool stack_keeps_gathered(const struct plan *plan);
/* Whether every tp rank has all logits while the loss runs. */
bool stack_gathers_logits(const struct plan *plan);
/* The format in which it reduces gradients; DTYPE_NONE under other stacks. */
enum dtype stack_reduces_in(const struct plan *plan);

/* The format in which whole gradients wait for a step's last micro-batch; DTYPE_NONE where each
 * micro-batch's are reduced. */
enum dtype stack_accumulates_in(const struct plan *plan);

#endif
