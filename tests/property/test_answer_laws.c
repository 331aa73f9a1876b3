/* What an answer says agrees with itself, on random plans of every stack and mode: parts sum to
 * their totals, percentiles and intervals hold what they are of, shares of a peak are shares.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/data/profile.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "plan/speculation.h"
#include "sim/answer/predict.h"
#include "support/draws.h"
#include "support/shaped_plan.h"

enum { DRAWS = 480 };

/* Of small models: what windows and halves of short sequences come to. */
#define COUNTED 0.06

/* An order of sums leaves such differences. */
static bool at_most(double a, double b)
{
    return a <= b + 1e-9 * fabs(b);
}

static void require(bool holds, uint64_t seed, const struct plan *plan, const char *law)
{
    if (!holds)
        fail_msg("seed %" PRIu64 ", %s, %s, %s: %s", seed, words_stack[plan->stack.kind],
                 words_mode[plan->workload.mode], words_path[plan->moe.path], law);
}

static void check_memory(uint64_t seed, const struct plan *plan, const struct memory_report *m)
{
    uint64_t categories = 0, fullest = 0;
    for (unsigned i = 0; i < m->n_categories; i++)
        categories += m->categories[i].bytes;
    for (size_t i = 0; i < m->n_stages; i++) {
        const struct stage_memory *s = &m->stages[i];
        require(s->state_bytes + s->temp_bytes == s->total_bytes, seed, plan,
                "a stage's parts");
        if (s->total_bytes > fullest)
            fullest = s->total_bytes;
    }
    require(m->state_bytes + m->temp_bytes == m->total_bytes, seed, plan, "state and temp");
    require(categories == m->total_bytes, seed, plan, "categories at the peak");
    require(!m->n_stages || fullest == m->total_bytes, seed, plan, "the fullest stage");
    require(m->margin_bytes == (int64_t)(m->limit_bytes - m->total_bytes), seed, plan,
            "margin");
    require(m->expected_bytes <= m->p99_bytes && m->p99_bytes <= m->worst_bytes, seed, plan,
            "expected, p99 and worst");
    require(m->verdict != VERDICT_FITS || m->margin_bytes >= 0, seed, plan, "fits its limit");
    for (size_t i = 0; i < m->n_buffers; i++)
        require(m->buffers[i].bytes <= m->buffers[i].worst_bytes, seed, plan,
                "a buffer's worst");
}

/* Convention counts FLOP as useful that are not executed: a token's scan by chunks, all of a
 * sequence's compressed entries, of a small model's modules in training part of the ends. */
static bool is_plain(const struct plan *plan)
{
    bool module = plan->model.mtp_enabled && plan->workload.mode == MODE_TRAIN;
    return !plan_has_linear(plan) && !plan_has_csa(plan) && !plan_has_hca(plan) && !module &&
           plan->block.kind == BLOCK_MOE;
}

static void check_time(uint64_t seed, const struct plan *plan, const struct time_report *t)
{
    double parts = 0;
    for (unsigned i = 0; i < t->n_parts; i++)
        parts += t->parts[i].seconds;
    require(fabs(parts - t->step_s) <= 1e-6 * t->step_s, seed, plan, "parts of a step");
    require(at_most(t->step_p50_s, t->step_p99_s), seed, plan, "p50 and p99 of a step");
    require(at_most(t->step_s, t->step_p99_s), seed, plan, "a step's p99 is no less than told");
    require(at_most(t->low_s, t->step_s) && at_most(t->step_s, t->high_s), seed, plan,
            "the interval holds the step");
    require(at_most(t->bubble_s, t->step_s) && at_most(t->exposed_comm_s, t->step_s) &&
                at_most(t->host_sync_s, t->step_s),
            seed, plan, "waits are in the step");
    require(t->mfu_executed >= 0 && at_most(t->mfu_executed, 1), seed, plan, "executed MFU");
    double way = 0;
    for (size_t i = 0; i < t->n_path; i++)
        way += t->path[i].seconds;
    require(at_most(way, t->step_s), seed, plan, "ops on the way are in the step");
    if (is_plain(plan))
        require(at_most(t->mfu_useful, (1 + COUNTED) * t->mfu_executed), seed, plan,
                "useful is executed");
}

static void check_layer(uint64_t seed, const struct plan *plan, const struct time_layer *l)
{
    require(at_most(l->forward_p50_s, l->forward_p99_s) &&
                at_most(l->at.forward_s, l->forward_p99_s),
            seed, plan, "p50, p99 of a layer");
    require(at_most(l->at.forward_s, l->at.forward_serial_s) &&
                at_most(l->at.forward_s, l->at.forward_backward_s),
            seed, plan, "a layer, in series, and back");
    require(l->at.grouped_gemm_s > 0 && at_most(l->at.grouped_gemm_s, l->at.forward_serial_s),
            seed, plan, "the experts' products are in the layer");
    require(at_most(l->at.mfu_useful, 1), seed, plan, "MFU of the experts' products");
}

/* Without routing the step computes what the list of a rank has, every op as often as it says
 * (a module's loss beside the model's, above all). */
static void check_executed(uint64_t seed, const struct plan *plan, const struct prediction *p)
{
    double listed = 0, m = p->time.step.micro_batches;
    for (size_t i = 0; i < p->ops.n; i++) {
        const struct op_report *op = &p->ops.ops[i];
        listed += (double)op->flop * (double)op->layers * (op->phase == PHASE_UPDATE ? 1 : m);
    }
    require(fabs(listed - p->time.step.executed_flop) <= 1e-9 * listed, seed, plan,
            "executed is what is listed");
}

struct counts {
    unsigned timed, layers, staged, dense;
};

/* Whether the plan was answered. */
static bool answer(const struct plan *plan, struct arena *arena, struct prediction *out)
{
    struct profile profile;
    struct err err = {0};
    const struct time_ask time = {.profile = &profile, .spread = true, .path = true};
    const struct ops_ask ops = {.profile = &profile};
    const struct predict_options ask = {.time = &time, .ops = &ops};
    return profile_load(plan, arena, &profile, &err) == STATUS_OK &&
           predict(plan, &ask, arena, out, &err) == STATUS_OK;
}

static void check_draw(uint64_t seed, struct counts *counts)
{
    struct plan plan;
    struct arena arena = {0};
    struct prediction *p = arena_alloc(&arena, 1, sizeof *p);
    bool drawn = plan_shaped(&plan, (enum stack_kind)(seed % STACK_COUNT), seed);
    plan.moe.routing.samples = 8;
    plan.model.mtp_dense = !plan_moe_layers(&plan); /* modules that nothing routes, then */
    if (drawn && answer(&plan, &arena, p)) {
        bool timed = p->time.present && !p->time.overflows;
        check_memory(seed, &plan, &p->memory);
        if (timed)
            check_time(seed, &plan, &p->time);
        if (timed && p->time.layer.present)
            check_layer(seed, &plan, &p->time.layer);
        bool dense = timed && plan.parallel.pp == 1 && !plan_moe_layers(&plan) &&
                     !plan_speculates(&plan) && p->has_ops;
        if (dense)
            check_executed(seed, &plan, p);
        counts->dense += dense;
        counts->timed += timed;
        counts->layers += timed && p->time.layer.present;
        counts->staged += timed && plan.parallel.pp > 1 && plan.workload.mode != MODE_TRAIN;
    }
    arena_release(&arena);
}

static void answers_agree_with_themselves(void **state)
{
    (void)state;
    struct counts counts = {0};
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++)
        check_draw(seed, &counts);
    print_message("%u timed, %u layers, %u of stages in inference, %u dense\n", counts.timed,
                  counts.layers, counts.staged, counts.dense);
    draws_reach("timed", counts.timed, draws_of(DRAWS) / 2.0);
    draws_reach("layers of experts", counts.layers, draws_of(DRAWS) / 3.0);
    draws_reach("stages in inference", counts.staged, draws_of(20));
    draws_reach("dense, of one stage", counts.dense, draws_of(8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_agree_with_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
