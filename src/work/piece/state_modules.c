/* Modules that are trained whole beside adapters; see work/piece/lora.h. */
#include "work/piece/lora.h"
#include "work/piece/state_parts.h"

/* Moments of an element of embedding or head: Muon steps them as Adam does, and where a library
 * keeps moments in bytes those of embeddings are f32 (transformers trainer.py), which of a head
 * is an upper bound. */
static uint64_t moments_of_ends(enum optimizer_kind kind)
{
    return kind == OPTIMIZER_MUON ? 2 : state_moments(kind).n;
}

static void keep(struct work *work, const char *name, enum category category, enum dtype dtype,
                 struct size elements, uint64_t count)
{
    step_keep(work, name, category, dtype, elements, count, "PEFT utils/other.py");
}

/* Modules trained whole beside adapters: copies in the base's format, with gradients and, but
 * for a master copy, moments in it (torch's optimizers keep them in the parameter's). What is
 * offloaded leaves moments and master as the adapters' do. */
void step_modules(const struct plan *plan, struct work *work, bool gradients)
{
    struct sizes *z = &work->sizes;
    const struct precision *p = &plan->precision;
    struct size all = lora_saved(plan, z), none = size_const(z, 0);
    enum dtype format = lora_saved_format(plan);
    bool masters = p->master != DTYPE_NONE && p->master != format;
    enum optimizer_kind kind = plan->optimizer.kind;
    bool bytes = state_moments(kind).bits;
    struct size shard[4];
    if (size_is_zero(z, all))
        return;
    for (unsigned zero = 1; zero < 4; zero++)
        shard[zero] = step_share_out(plan, z, (struct shards){all, none}, zero).dense;
    if (plan->optimizer.offload > 0)
        shard[1] = size_sub(z, shard[1], size_scale_up(z, shard[1], REAL_OFFLOAD));
    keep(work, "saved_modules", CATEGORY_WEIGHTS, format, shard[3], 1);
    if (gradients)
        keep(work, "saved_modules_gradients", CATEGORY_GRADIENTS, format, shard[2], 1);
    keep(work, "saved_modules_master", CATEGORY_MASTER, p->master, shard[1], masters);
    keep(work, "saved_modules_moments", CATEGORY_OPTIMIZER,
         bytes     ? DTYPE_F32
         : masters ? p->moments
                   : format,
         shard[1], moments_of_ends(kind));
    keep(work, "saved_modules_kahan_sums", CATEGORY_OPTIMIZER, format, shard[1],
         kind == OPTIMIZER_KAHAN_ADAM && !masters && format != DTYPE_F32);
}
