/* A trace of torch.profiler: it is read, or refused with a text and the result as it was. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>

#include "calib/validate/torch_trace.h"

static void require(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char table[] = "pattern,family\nnccl*,all_to_all\n*gemm*,gemm\n";
    struct arena arena = {0};
    struct csv patterns;
    struct err err = {0};
    struct torch_trace trace = {.steps = 77};
    require(csv_parse("k.csv", table, sizeof table - 1, &arena, &patterns, &err) == STATUS_OK);
    char *text = arena_strndup(&arena, (const char *)data, size);
    enum status status =
        torch_trace_read("t.json", text, size, &patterns, 0, &arena, &trace, &err);
    if (status == STATUS_OK) {
        double sum = 0;
        for (size_t i = 0; i <= PROFILE_ITEMS; i++)
            sum += trace.families[i].measured_s;
        require(trace.kernels > 0 && trace.steps > 0);
        require(!isfinite(sum) || fabs(sum - trace.kernels_s) <= 1e-6 * fabs(sum));
    } else {
        require(err.text[0] && trace.steps == 77 && !trace.kernels);
    }
    arena_release(&arena);
    return 0;
}
