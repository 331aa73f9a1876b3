/* How a MaxText job's experts exchange rows, and what multiplies them. */
#include "base/text.h"
#include "plan/framework/maxtext.h"

/* Of AMD's build: Primus-Turbo's DeepEP in place of the ragged exchange where there are several
 * shards of experts (ROCm/maxtext layers/moe.py at 1c572908; the flag was use_deepep_dispatch
 * before). */
static enum status takes_deepep(struct job *job, uint64_t ep, bool *deepep)
{
    bool turbo = false, before = false;
    TRY(job_switch(job, "use_turbo_deepep_dispatch", &turbo));
    TRY(job_switch(job, "use_deepep_dispatch", &before));
    *deepep = (turbo || before) && ep > 1;
    return STATUS_OK;
}

/* What multiplies rows of experts: megablox before AMD's grouped products; Tokamax's kernel
 * goes before both, as a grouped product (layers/moe.py, gmm). */
static enum status set_matmul(struct job *job)
{
    bool megablox = true, turbo = false, tokamax = false;
    TRY(job_switch(job, "megablox", &megablox));
    TRY(job_switch(job, "use_turbo_grouped_gemm", &turbo));
    TRY(job_switch(job, "use_tokamax_gmm", &tokamax));
    job_set(job, "moe.matmul",
            turbo || (tokamax && !megablox) ? "grouped"
            : megablox                      ? "megablox"
                                            : "ragged_dot",
            "use_turbo_grouped_gemm use_tokamax_gmm megablox");
    return STATUS_OK;
}

enum status maxtext_set_experts(struct job *job, uint64_t ep)
{
    bool sparse = true, ring = false, deepep = false;
    double capacity = -1, buffer = -1;
    TRY(job_switch(job, "sparse_matmul", &sparse));
    TRY(job_switch(job, "use_ring_of_experts", &ring));
    TRY(takes_deepep(job, ep, &deepep));
    TRY(job_real(job, "capacity_factor", &capacity));
    TRY(job_real(job, "ragged_buffer_factor", &buffer));
    char text[32];
    const char *path = !sparse  ? capacity > 0 ? "capacity" : "masked"
                       : ring   ? "allgather"
                       : deepep ? "deepep"
                                : "ragged_a2a";
    job_set(job, "moe.path", path,
            deepep && sparse && !ring ? "use_turbo_deepep_dispatch use_deepep_dispatch"
                                      : "sparse_matmul use_ring_of_experts capacity_factor");
    if (sparse)
        TRY(set_matmul(job));
    if (!sparse && capacity > 0) {
        text_double(text, capacity);
        job_set(job, "moe.capacity_factor", text, "capacity_factor");
    }
    text_double(text, buffer);
    job_set(job, "moe.buffer", buffer > 0 ? text : "worst", "ragged_buffer_factor");
    return STATUS_OK;
}
