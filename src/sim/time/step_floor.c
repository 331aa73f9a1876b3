/* See step_floor.h. */
#include "sim/time/step_floor.h"

#include <math.h>
#include <string.h>

#include "sim/time/step_parts.h"
#include "work/piece/stage.h"

/* The seconds of layers, no more than `out` says. */
static bool take_layers(struct stepper *s, enum floor_part part, bool halves,
                        struct step_floor *out)
{
    struct stretches all;
    if (!stepper_even(s, halves))
        return false;
    if (part == FLOOR_COMMON)
        stretches_common(&all, s);
    else
        stretches_least(&all, s);
    for (unsigned segment = 0; segment < SEGMENT_COUNT; segment++)
        for (unsigned pass = 0; pass < PASSES; pass++) {
            const struct stretch *b = stretches_at(&all, segment, pass);
            double beside = b->beside_s[BESIDE_EXPERTS] + b->beside_s[BESIDE_TENSOR];
            double hidden = s->pricing.rates.share * (beside + b->paired_s);
            double device = fmax(0, stretch_s(b) - hidden);
            out->device_s[segment][pass] = fmin(out->device_s[segment][pass], device);
            out->host_s[segment][pass] = fmin(out->host_s[segment][pass], b->host_s);
        }
    return true;
}

/* Paths that run no halves share a common floor with those that do. */
bool step_floor_of(struct stepper *s, enum floor_part part, struct step_floor *out)
{
    for (unsigned i = 0; i < SEGMENT_COUNT * PASSES; i++)
        out->device_s[i / PASSES][i % PASSES] = out->host_s[i / PASSES][i % PASSES] = HUGE_VAL;
    if (part == FLOOR_COMMON && !take_layers(s, part, false, out))
        return false;
    if ((part == FLOOR_WHOLE || s->half_values) && !take_layers(s, part, true, out))
        return false;
    memset(out->uses, 0, sizeof out->uses);
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        out->uses[op->group] |= stretch_is_least(s, op) || op->loop;
    }
    memcpy(out->place, s->pricing.place, sizeof out->place);
    return true;
}

void floor_chunks_of(const struct plan *plan, struct arena *arena, struct floor_chunks *out)
{
    uint64_t stages = plan->parallel.pp, chunks = step_chunks(plan);
    const struct stage_chunk *held = step_held(plan, arena);
    out->n = (size_t)(stages * chunks);
    out->layers = arena_alloc(arena, out->n, sizeof *out->layers);
    out->forward_s = arena_alloc(arena, 2 * out->n, sizeof *out->forward_s);
    out->backward_s = out->forward_s + out->n;
    out->again = arena_alloc(arena, out->n, sizeof *out->again);
    for (uint64_t i = 0; i < out->n; i++) {
        out->again[i] = i && stage_chunk_equal(&held[i - 1], &held[i]);
        if (out->again[i])
            memcpy(out->layers[i], out->layers[i - 1], sizeof out->layers[i]);
        else
            step_chunk_layers(plan, &held[i], out->layers[i]);
    }
    comm_places(plan, out->place);
}

bool step_floor_holds(const struct step_floor *floor, const struct floor_chunks *chunks)
{
    for (unsigned g = 0; g < GROUP_COUNT; g++) {
        if (floor->uses[g] && !comm_place_equal(&floor->place[g], &chunks->place[g]))
            return false;
    }
    return true;
}

static double pass_s(const struct step_floor *floor, const double layers[SEGMENT_COUNT],
                     unsigned pass)
{
    double device = 0, host = 0;
    for (unsigned i = 0; i < SEGMENT_COUNT; i++) {
        device += layers[i] * floor->device_s[i][pass];
        host += layers[i] * floor->host_s[i][pass];
    }
    return fmax(device, host);
}

double step_floor_s(const struct step_floor *floor, const struct plan *plan,
                    struct floor_chunks *chunks)
{
    double *forward = chunks->forward_s, *backward = chunks->backward_s, sum = 0;
    struct pipeline pipe;
    struct pipeline_times times;
    for (size_t i = 0; i < chunks->n; i++) {
        bool again = chunks->again[i];
        forward[i] = again ? forward[i - 1]
                           : pass_s(floor, chunks->layers[i][PASS_FORWARD], PASS_FORWARD);
        backward[i] = again ? backward[i - 1]
                            : pass_s(floor, chunks->layers[i][PASS_BACKWARD], PASS_BACKWARD);
        sum += forward[i] + backward[i];
    }
    step_pipeline_of(plan, &pipe);
    pipe.forward_s = forward;
    pipe.backward_s = backward;
    pipe.weight_s = backward; /* all of it may wait */
    if (pipe.stages == 1)
        return (double)pipe.micro_batches * sum * (1 - 1e-9);
    pipeline_bound(&pipe, &times);
    return (pipe.inference ? times.busy_s : times.end_s) * (1 - 1e-9); /* another order */
}
