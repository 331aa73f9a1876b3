/* See paired_chunks.h. */
#include "sim/time/paired_chunks.h"

#include <math.h>

#include "sim/time/overlap.h"
#include "sim/time/pipeline_play.h"

void paired_layers_of(const struct stepper *s, struct paired_layers *out)
{
    const double share = s->pricing.rates.share;
    for (unsigned i = 0; i < SEGMENT_COUNT; i++) {
        struct pair_layer layer;
        out->saved_s[i] = out->alone_s[i] = out->rows_s[i] = out->gradients_s[i] = 0;
        if (!segment_has_experts((enum segment)i))
            continue;
        paired_layer_of(s, (enum segment)i, &layer);
        out->saved_s[i] = paired_saved_s(&layer, share);
        out->alone_s[i] = paired_alone_s(&layer, share);
        out->rows_s[i] = paired_rows_s(&layer);
        out->gradients_s[i] = paired_gradients_s(&layer);
    }
}

void paired_alone(const struct paired_layers *layers, struct chunk_time *chunk)
{
    double *exchange = &chunk->pass[PASS_BACKWARD].part_s[TIME_EXCHANGE];
    for (unsigned i = 0; i < SEGMENT_COUNT; i++)
        *exchange -= chunk->layers[PASS_BACKWARD][i] * layers->alone_s[i];
}

/* Of the kinds of layers that both chunks have the least; nothing where one has no experts. */
static double least_of(const double of[SEGMENT_COUNT], const struct chunk_time *f,
                       const struct chunk_time *b)
{
    double least = HUGE_VAL;
    for (unsigned i = 0; i < SEGMENT_COUNT; i++)
        if (segment_has_experts((enum segment)i) && f->layers[PASS_FORWARD][i] > 0 &&
            b->layers[PASS_BACKWARD][i] > 0)
            least = fmin(least, of[i]);
    return isfinite(least) ? least : 0;
}

/* No shorter than what else is on the links, than gathers of shards, than the host. */
static struct pipeline_pair pair_of(const struct paired_layers *layers,
                                    const struct chunk_time *f, const struct chunk_time *b)
{
    const struct stretch *x = &f->pass[PASS_FORWARD], *y = &b->pass[PASS_BACKWARD];
    double turn = stretch_s(x) + stretch_s(y), device = turn - x->waits_s - y->waits_s;
    double least = fmax(overlap_busiest_s(x->link_s, y->link_s), x->aside_s + y->aside_s);
    double saved = 0;
    for (unsigned i = 0; i < SEGMENT_COUNT; i++)
        saved += fmin(f->layers[PASS_FORWARD][i], b->layers[PASS_BACKWARD][i]) *
                 fmax(layers->saved_s[i] - layers->alone_s[i], 0);
    saved = fmax(fmin(saved, device - least), 0);
    device -= saved;
    double waits = fmax(0, x->copy_s[COPY_BESIDE] + y->copy_s[COPY_BESIDE] - device);
    waits += fmax(0, x->host_s + y->host_s - device);
    return (struct pipeline_pair){.s = fmin(device + waits, turn),
                                  .hidden_s = saved,
                                  .rows_s = least_of(layers->rows_s, f, b),
                                  .gradients_s = least_of(layers->gradients_s, f, b)};
}

/* Beside a backward whose weight gradients are a task of their own, with what is waited for. */
static struct pipeline_pair pair_apart(const struct step_parts *c, const struct chunk_time *f,
                                       const struct chunk_time *b)
{
    const double waits = b->pass[PASS_BACKWARD].weight_s;
    const struct pipeline_pair whole = pair_of(&c->paired, f, b);
    double turn = stretch_s(&f->pass[PASS_FORWARD]) + stretch_s(&b->pass[PASS_BACKWARD]);
    return (struct pipeline_pair){.s = turn - waits - whole.hidden_s,
                                  .hidden_s = whole.hidden_s};
}

void paired_chunks(struct step_parts *c)
{
    struct pipeline *p = &c->pipe;
    const bool dual = p->schedule == PIPELINE_DUALPIPE;
    const uint64_t sides = dual && p->stages > 1 ? 2 : p->chunks;
    size_t n = (size_t)(p->stages * sides * sides);
    struct pipeline_pair *pairs = arena_alloc(&c->s->scratch, n, sizeof *pairs);
    for (size_t i = 0; i < n; i++) {
        uint64_t stage = i / (sides * sides);
        const struct chunk_time *f =
            &c->chunks[pipeline_side_chunk(p, stage, i / sides % sides)];
        const struct chunk_time *b = &c->chunks[pipeline_side_chunk(p, stage, i % sides)];
        pairs[i] = sides == 2 && dual ? pair_apart(c, f, b) : pair_of(&c->paired, f, b);
    }
    p->pairs = pairs;
}
