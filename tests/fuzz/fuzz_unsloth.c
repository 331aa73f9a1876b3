/* A job of unsloth; see job_any.h. */
#include "fuzz/fuzz.h"
#include "fuzz/job_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    job_any("unsloth", data, size);
    return 0;
}
