/* Plans that several tests start from; each changes what it is about. */
#ifndef MOEPLAN_TESTS_SUPPORT_PLANS_H
#define MOEPLAN_TESTS_SUPPORT_PLANS_H

#include "plan/plan.h"
#include "work/list/work.h"

/* DeepSeek-V3 in bf16 on H200 nodes of 8: training, 4096 tokens a rank, no recomputation,
 * balanced buffers, stack generic. */
struct plan plan_deepseek(uint64_t nodes, uint64_t ep);

/* A small model on one node: 8 layers, hidden 1024, 16 experts of 512, top-4. */
struct plan plan_small(uint64_t ep);

/* The plan trains: 4096 tokens in one micro-batch, nothing run again, flash attention. */
void plan_trains(struct plan *plan);

/* The plan of a text ("model: ...\n...") with "a=1 b=2" set in it; fails the test when it does
 * not load. */
void plan_set(const char *text, const char *set, struct arena *arena, struct plan *plan);

/* An empty list over the arena, and the value of every size for the plan; the list ends with
 * the arena. Fails the test when something overflows. */
const uint64_t *plan_evaluate(const struct plan *plan, struct arena *arena, struct work *work);

/* A plan, what its stack holds and, where they are asked for, its ops, and all sizes. Memory,
 * which is the caller's to release, is the arena's. */
struct plan_built {
    struct arena arena;
    struct plan plan;
    struct work work;
    const uint64_t *values;
};

/* Of a text and settings as in plan_set; fails the test when the stack refuses it. */
void plan_build(const char *text, const char *set, bool ops, struct plan_built *b);

/* Bytes of all that such a plan holds through a step. */
uint64_t plan_state_bytes(const char *text, const char *set);

/* The first buffer with this name (fails the test when there is none), or NULL. */
const struct buffer *plan_buffer(const struct work *work, const char *name);
const struct buffer *plan_find(const struct work *work, const char *name);

/* Fails the test where two plans differ in a key, but for the names of parts, which stand in
 * other keys. */
void plan_assert_same(const struct plan *a, const struct plan *b, struct arena *arena);

#endif
