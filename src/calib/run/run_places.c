/* See run_places.h. */
#include "calib/run/run_places.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/text.h"

void run_places_init(const struct gpu_group *gpus, double fraction, struct arena *arena,
                     struct run_memory *memory)
{
    memory->places = arena_alloc(arena, gpus->n, sizeof *memory->places);
    memory->n_places = gpus->n;
    for (unsigned p = 0; p < gpus->n; p++) {
        uint64_t left = gpu_left_bytes(gpus->of[p]), all = gpu_facts(gpus->of[p])->memory_bytes;
        uint64_t share = (uint64_t)(fraction * (double)all / (double)gpus->sharers);
        memory->places[p] =
            (struct run_place){.device = gpu_where(gpus->of[p]),
                               .limit_bytes = left ? lesser(share, left) : share,
                               .left_before_bytes = left};
    }
}

static void append_rates(struct text *text, struct clock_rates rates, const char *when)
{
    text_printf(text, "%u MHz", rates.core_mhz);
    if (rates.memory_mhz)
        text_printf(text, ", memory %u MHz", rates.memory_mhz);
    text_printf(text, " %s", when);
}

const char *run_places_clocks(const struct gpu_group *gpus, const struct clock_rates *before,
                              struct arena *arena)
{
    struct text text = {.arena = arena};
    for (unsigned p = 0; p < gpus->n; p++) {
        const struct clock *clock = gpu_clock(gpus->of[p]);
        text_printf(&text, "%s%s ", p ? "; " : "", gpu_where(gpus->of[p]));
        if (clock_missing(clock)[0]) {
            text_printf(&text, "not known: %s", clock_missing(clock));
            continue;
        }
        append_rates(&text, before[p], "before, ");
        append_rates(&text, clock_read(clock), "when measured");
    }
    return text_string(&text);
}

void run_places_after(const struct gpu_group *gpus, struct run_memory *memory)
{
    for (unsigned p = 0; p < memory->n_places; p++)
        memory->places[p].left_after_bytes = gpu_left_bytes(gpus->of[p]);
}

uint64_t run_places_limit(const struct run_memory *memory)
{
    uint64_t sum = 0;
    for (unsigned p = 0; p < memory->n_places; p++)
        sum += memory->places[p].limit_bytes;
    return sum;
}

static uint64_t peak_of(const struct slice *list, unsigned place)
{
    struct arena arena = {0};
    struct memory_peak peak;
    slice_place_peak(list, place, &arena, &peak);
    arena_release(&arena);
    return peak.total_bytes;
}

void run_places_predict(const struct slice *list, struct run_memory *memory)
{
    for (unsigned p = 0; p < memory->n_places; p++) {
        uint64_t bytes = peak_of(list, p);
        if (bytes > memory->places[p].predicted_peak_bytes)
            memory->places[p].predicted_peak_bytes = bytes;
    }
}

bool run_places_fit(const struct run_memory *memory)
{
    for (unsigned p = 0; p < memory->n_places; p++)
        if (memory->places[p].predicted_peak_bytes > memory->places[p].limit_bytes)
            return false;
    return true;
}

void run_places_compare(const struct execution *x, const struct slice *list,
                        struct run_memory *memory, struct checks *checks)
{
    for (unsigned p = 0; p < memory->n_places; p++) {
        uint64_t metered = x->meter.places[p].peak_bytes, predicted = peak_of(list, p);
        double error =
            metered > predicted ? (double)(metered - predicted) : (double)(predicted - metered);
        struct check *check =
            checks_add(checks, "metered: peak bytes of each device", error, 0);
        if (metered != predicted && check->detail[0] == '\0')
            snprintf(check->detail, sizeof check->detail,
                     "%s: metered %" PRIu64 " bytes, predicted %" PRIu64,
                     memory->places[p].device, metered, predicted);
        if (metered > memory->places[p].measured_peak_bytes)
            memory->places[p].measured_peak_bytes = metered;
    }
}
