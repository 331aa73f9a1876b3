/* A job of nemo1; see job_any.h. */
#include "fuzz/fuzz.h"
#include "fuzz/job_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    job_any("nemo1", data, size);
    return 0;
}
