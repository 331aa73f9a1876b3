/* See packed.h. How many micro-batches a rank makes of n sequences of L tokens, P at most in
 * one: of sequences that vary they are nearly full, so as many as their tokens fill, n x L / P,
 * and n at most. So counts verl (utils/seqlen_balancing.py, rearrange_micro_batches), which
 * then spreads sequences evenly; slime (utils/dp_schedule.py), OpenRLHF (trainer/ppo_utils/
 * replay_buffer.py, setup_dynamic_batch) and NeMo-RL (distributed/batched_data_dict.py,
 * shard_by_batch_size) fit each into the first with room, which of equal lengths takes more of
 * fewer tokens each. Interleaved stages take whole groups of them (verl's and slime's
 * microbatch_group_size_per_vp_stage, NeMo-RL's bin_count_multiple). */
#include "plan/framework/packed.h"

#include "base/checked.h"

enum status packed_ranks(struct job *job, uint64_t *ranks)
{
    static const char *const shares[] = {"parallel.tp", "parallel.pp", "parallel.cp"};
    uint64_t world = 0, together = 1;
    bool overflow = false;
    TRY(job_world(job, &world));
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        together = checked_mul(together, job_planned(job, shares[i], 1), &overflow);
    *ranks = overflow || !together ? 0 : world / together;
    return STATUS_OK;
}

static uint64_t in_groups(const struct job *job, uint64_t micro_batches)
{
    uint64_t pp = job_planned(job, "parallel.pp", 1);
    uint64_t group = job_planned(job, "parallel.vpp_group", 0);
    group = job_planned(job, "parallel.vpp", 1) > 1 ? (group ? group : pp) : 1;
    bool overflow = false;
    return group ? checked_mul(ceil_div(micro_batches, group), group, &overflow) : 0;
}

enum status packed_set_rows(struct job *job, uint64_t rows, uint64_t sequences,
                            const char *flags)
{
    uint64_t ranks = 0;
    bool overflow = false;
    TRY(packed_ranks(job, &ranks));
    if (!ranks || !rows || !sequences)
        return STATUS_OK;
    uint64_t each = in_groups(job, ceil_div(ceil_div(sequences, ranks), rows));
    each = checked_mul(checked_mul(each, rows, &overflow), ranks, &overflow);
    job_set_count(job, "workload.global_batch", each, flags); /* beyond its limit: said so */
    return STATUS_OK;
}

/* Tokens of the fullest micro-batch, and how many of them a rank has. */
struct filled {
    uint64_t tokens, micro_batches;
};

static struct filled fill(const struct packed_batch *b, uint64_t length, uint64_t sequences)
{
    bool overflow = false;
    uint64_t all = checked_mul(sequences, length, &overflow);
    uint64_t full = b->most > length ? b->most : length, n = ceil_div(all, full);
    uint64_t fullest =
        checked_mul(ceil_div(sequences, n < sequences ? n : sequences), length, &overflow);
    if (b->even && fullest > full) {
        full = fullest;
        n = ceil_div(all, full);
    }
    return (struct filled){all < full ? all : full, n < sequences ? n : sequences};
}

enum status packed_set(struct job *job, const struct packed_batch *batch)
{
    const uint64_t length = batch->longest ? batch->longest : batch->most;
    uint64_t ranks = 0, sequences = 0;
    struct filled filled = {batch->most > length ? batch->most : length, 0};
    TRY(packed_ranks(job, &ranks));
    if (ranks && batch->sequences)
        sequences = ceil_div(batch->sequences, ranks);
    if (sequences && length)
        filled = fill(batch, length, sequences);
    bool own = filled.tokens == batch->most, one = filled.tokens <= length;
    job_set_count(job, "workload.sequence_length", filled.tokens,
                  one   ? batch->longest_flags
                  : own ? batch->most_flags
                        : batch->sequences_flags);
    job_set_count(job, "workload.micro_batch", 1, batch->switch_flags);
    if (batch->longest && !one)
        job_set_count(job, "workload.packing.length", length, batch->longest_flags);
    if (!batch->longest && batch->sequences)
        job_warn(job, job_place(job),
                 "how long sequences are matters to time and is the data's: each is planned as "
                 "a micro-batch of its own; --set workload.global_batch=.. counts them");
    return packed_set_rows(job, 1, filled.micro_batches * ranks, batch->sequences_flags);
}
