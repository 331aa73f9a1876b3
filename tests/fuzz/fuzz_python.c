/* A script in Python, which must be read or refused, whatever it is. */
#include "fuzz/fuzz.h"
#include "plan/job/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct err err = {0};
    struct job_result job = {0};
    const struct override set = {"cluster", "h100-8x1", "--set cluster=h100-8x1"};
    const struct job_request request = {.sets = &set, .n_sets = 1};
    job_read_text("job.py", (const char *)data, size, &request, &arena, &job, &err);
    arena_release(&arena);
    return 0;
}
