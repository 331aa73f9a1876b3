/* A job of megatron-swift; see job_any.h. */
#include "fuzz/fuzz.h"
#include "fuzz/job_any.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    job_any("megatron-swift", data, size);
    return 0;
}
