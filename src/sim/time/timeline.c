/* See timeline.h. */
#include "sim/time/timeline.h"

#include <math.h>

#include "base/checked.h"

void timeline_rounds(double fetch, double compute, double back, uint64_t rounds,
                     struct rounds_times *out)
{
    /* On the link fetch i + 1, issued when compute i starts, goes before return i - 1. */
    double link = fetch, fetched = fetch, done = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        double start = fmax(done, fetched);
        if (i + 1 < rounds)
            fetched = link = fmax(link, start) + fetch;
        if (i > 0)
            link = fmax(link, done) + back;
        done = start + compute;
    }
    double n = (double)rounds;
    *out = (struct rounds_times){.serial_s = n * (fetch + compute + back),
                                 .overlapped_s = fmax(link, done) + back,
                                 .link_s = n * (fetch + back),
                                 .compute_s = n * compute};
}

static bool comes(const struct layers_ahead *l, uint64_t layer)
{
    return layer % l->group + l->in_group >= l->group;
}

uint64_t timeline_coming(const struct layers_ahead *l)
{
    uint64_t rest = l->layers % l->group, others = l->group - l->in_group;
    return l->layers / l->group * l->in_group + (rest > others ? rest - others : 0);
}

/* As many copies are issued with the pass as are ahead, then each when the layer that is
 * `ahead` before it begins; of those that are not early, each when that layer ends. A copy's
 * end is known when it is issued: copies follow one another. */
double timeline_layers(const struct layers_ahead *l)
{
    enum { KEPT = 64 }; /* ends of copies on their way */
    double ends[KEPT] = {0}, link = 0, now = 0;
    uint64_t all = timeline_coming(l), ahead = lesser(lesser(l->ahead, KEPT), all), next = 0;
    for (uint64_t i = 0; l->early && i < ahead; i++)
        ends[i] = link += l->copy_s;
    for (uint64_t i = 0; i < l->layers; i++) {
        if (!comes(l, i)) {
            now += l->layer_s;
            continue;
        }
        double begin = fmax(now, ends[next % KEPT]);
        now = begin + l->layer_s;
        bool issues = !l->early || next + ahead < all;
        if (issues) /* those that are not early: of the next pass, too */
            link = fmax(link, l->early ? begin : now) + l->copy_s;
        if (issues && next + ahead < all)
            ends[(next + ahead) % KEPT] = link;
        next++;
    }
    return l->early ? now : fmax(now, link);
}
