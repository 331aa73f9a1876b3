/* See run_compare.h. */
#include "calib/run/run_compare.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"

enum counted { COUNTED_FLOP, COUNTED_SENT, COUNTED_RECEIVED, COUNTED_DROPPED, COUNTED };

static const char *const counted_names[COUNTED] = {
    "counted: flop", "counted: bytes sent", "counted: bytes received", "counted: rows dropped"};

/* Rows an op drops on a rank, by the sample. */
static uint64_t predicted_drops(const struct execution *x, const struct op *op, uint64_t rank)
{
    if (op->kernel != KERNEL_SLOTS)
        return 0;
    const struct rank_state *state = &x->ranks[rank];
    return layer_sample_dropped(x->task.sample, state->rank,
                                state->values[op->args.slots.groups.size.node],
                                state->values[op->args.slots.capacity.size.node]);
}

static double difference(uint64_t a, uint64_t b)
{
    return a > b ? (double)(a - b) : (double)(b - a);
}

void run_compare_count(struct checks *checks, const char *name, const struct op *op,
                       uint64_t rank, uint64_t counted, uint64_t predicted)
{
    struct check *check = checks_add(checks, name, difference(counted, predicted), 0);
    if (counted != predicted && check->detail[0] == '\0')
        snprintf(check->detail, sizeof check->detail,
                 "op %.40s, rank %" PRIu64 ": counted %" PRIu64 ", predicted %" PRIu64,
                 op->name, rank, counted, predicted);
}

static void compare_op(const struct execution *x, size_t number, uint64_t rank,
                       struct checks *checks)
{
    const struct op *op = &x->work->ops[number];
    const uint64_t *values = x->ranks[rank].values;
    const struct op_counts *counts = &x->ranks[rank].counts[number];
    const uint64_t pairs[COUNTED][2] = {
        [COUNTED_FLOP] = {counts->flop, values[op->flop.node]},
        [COUNTED_SENT] = {counts->sent, values[op->bytes_sent.node]},
        [COUNTED_RECEIVED] = {counts->received, values[op->bytes_received.node]},
        [COUNTED_DROPPED] = {counts->dropped, predicted_drops(x, op, rank)},
    };
    for (unsigned i = 0; i < COUNTED; i++)
        run_compare_count(checks, counted_names[i], op, x->ranks[rank].rank, pairs[i][0],
                          pairs[i][1]);
}

void run_compare_counts(const struct execution *x, struct checks *checks)
{
    for (uint64_t rank = 0; rank < x->n_ranks; rank++)
        for (size_t op = 0; op < x->work->n_ops; op++)
            compare_op(x, op, rank, checks);
}

void run_compare_memory(const struct execution *x, const struct memory_peak *peak,
                        struct checks *checks)
{
    struct check *check = checks_add(checks, "metered: peak bytes",
                                     difference(x->meter.peak_bytes, peak->total_bytes), 0);
    if (x->meter.peak_bytes != peak->total_bytes)
        snprintf(check->detail, sizeof check->detail,
                 "metered %" PRIu64 " bytes, predicted %" PRIu64, x->meter.peak_bytes,
                 peak->total_bytes);
    const uint64_t *metered = x->profile + (size_t)peak->tick * CATEGORY_COUNT;
    for (unsigned c = 0; peak->tick != WORK_NONE && c < CATEGORY_COUNT; c++) {
        check = checks_add(checks, "metered: bytes by category",
                           difference(metered[c], peak->category[c]), 0);
        if (metered[c] != peak->category[c] && check->detail[0] == '\0')
            snprintf(check->detail, sizeof check->detail,
                     "%s: metered %" PRIu64 " bytes, predicted %" PRIu64,
                     category_name((enum category)c), metered[c], peak->category[c]);
    }
}

/* Hash of the checks' names: processes whose lists differ are compared as a whole. */
static uint64_t names_of(const struct checks *checks)
{
    uint64_t hash = HASH_START;
    for (unsigned i = 0; i < checks->n; i++)
        hash = hash_text(hash, checks->check[i].name);
    return hash >> 12; /* exact as a double */
}

static void adopt(struct checks *checks, const double *errors)
{
    for (unsigned i = 0; i < checks->n; i++) {
        struct check *check = &checks->check[i];
        check->error = errors[2 * i];
        if (check->passed && errors[2 * i + 1] > 0) {
            check->passed = false;
            snprintf(check->detail, sizeof check->detail, "on another rank");
        }
    }
}

enum status run_compare_everywhere(struct transport *transport, struct checks *checks,
                                   struct err *err)
{
    double errors[2 * VERIFY_CHECKS] = {0};
    double same[2] = {(double)names_of(checks), -(double)names_of(checks)};
    uint64_t sums[5] = {checks->out_hash, checks->tokens_checked, checks->tokens,
                        !checks_passed(checks), checks->integer_hash};
    for (unsigned i = 0; i < checks->n; i++) {
        errors[2 * i] = checks->check[i].error;
        errors[2 * i + 1] = checks->check[i].passed ? 0 : 1;
    }
    TRY(transport->ops->max(transport, errors, 2 * VERIFY_CHECKS, err));
    TRY(transport->ops->max(transport, same, 2, err));
    TRY(transport->ops->sum(transport, sums, 5, err));
    if (same[0] + same[1] <= 0 && same[0] + same[1] >= 0)
        adopt(checks, errors);
    checks->out_hash = sums[0];
    checks->tokens_checked = sums[1];
    checks->tokens = sums[2];
    checks->integer_hash = sums[4];
    if (sums[3] && checks_passed(checks))
        checks_add(checks, "checks of the other ranks", (double)sums[3], 0);
    return STATUS_OK;
}
