/* What attention to chosen tokens takes of vLLM's profile run: numbers that were chosen, the
 * logits of a choice, and the room for what is gathered (work/serve/serve_sparse.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/text.h"
#include "support/catalogue.h"
#include "support/listed.h"

struct room {
    const char *name, *model, *cluster, *version;
    uint64_t tp, longest;
    enum dtype cache;
    uint64_t room;
};

/* A profile run of 8,192 tokens. */
static void load(const struct room *row, struct arena *arena, struct plan *plan)
{
    catalogue_plan(row->model, row->cluster, "vllm", arena, plan);
    snprintf(plan->stack.version, sizeof plan->stack.version, "%s", row->version);
    plan->precision.kv_cache = row->cache;
    plan->precision.activations = DTYPE_BF16;
    plan->parallel.tp = row->tp;
    plan->parallel.ep = 1;
    plan->parallel.etp = row->tp;
    plan->workload.mode = MODE_PREFILL;
    plan->workload.scenario = SCENARIO_PROFILE_RUN;
    plan->workload.micro_batch = 1;
    plan->workload.sequence_length = plan->workload.max_num_batched_tokens = 8192;
    plan->workload.context_length = row->longest;
}

static uint64_t bytes_of(const struct listed *l, const char *name)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->work.n_buffers; i++)
        if (text_equal(l->work.buffers[i].name, name))
            bytes += listed_at(l, l->work.buffers[i].bytes);
    return bytes;
}

static uint64_t list(const struct room *row, struct listed *l)
{
    struct arena arena = {0};
    struct plan plan;
    load(row, &arena, &plan);
    print_message("%s\n", row->name);
    assert_true(listed_plan(&plan, l));
    assert_true(listed_evaluate(l, 0));
    uint64_t room =
        bytes_of(l, "index_workspace") + bytes_of(l, "workspace13") + bytes_of(l, "workspace2");
    arena_release(&arena);
    return room;
}

/* Worked by hand, where they are more than the experts' workspaces:
 * keys 163,840 x 40 x 132; latents 8,192 x 16 heads x 576 x 2 and 163,840 x 5 x 576 x 2, and of
 * 0.33 8,192 x 64 x (576 + 512) x 2 and 8,192 x 16 x 512 x 2; a million tokens 16 keys each and
 * two sequences, not 40 and five; entries of four prompts, each 1,048,576 / 4 + 128 + 8,192
 * rows of 512 x 2, and of 0.33 8,192 x (512 + 128 + 1) x 4; their keys 1,048,576 / 4 x 40 x
 * 132. */
static void rooms_are_as_large_as_their_shapes(void **state)
{
    (void)state;
    static const struct room rows[] = {
        {"keys", "deepseek-v3.2", "b200-8x1", "0.19", 8, 1048576, DTYPE_FP8,
         UINT64_C(1048576) * 40 * 132},
        {"keys of 0.33", "deepseek-v3.2", "b200-8x1", "0.33", 8, 1048576, DTYPE_FP8,
         UINT64_C(1048576) * 16 * 132},
        {"latents", "deepseek-v3.2", "h200-8x1", "0.19", 8, 1048576, DTYPE_FP8,
         UINT64_C(8192) * 16 * 576 * 2 + UINT64_C(1048576) * 5 * 576 * 2},
        {"latents of 0.33", "deepseek-v3.2", "h200-8x1", "0.33", 8, 163840, DTYPE_FP8,
         UINT64_C(8192) * 16 * 576 * 2 + UINT64_C(163840) * 5 * 576 * 2 +
             UINT64_C(8192) * 64 * (576 + 512) * 2 + UINT64_C(8192) * 16 * 512 * 2},
        {"latents in 16 bits stay where they are", "deepseek-v3.2", "h200-8x1", "0.19", 8,
         1048576, DTYPE_BF16, UINT64_C(1048576) * 40 * 132},
        {"keys of entries", "deepseek-v4-flash", "h200-8x1", "0.26", 8, 1048576, DTYPE_FP8,
         UINT64_C(262144) * 40 * 132},
        {"entries of 0.33", "deepseek-v4-flash", "h200-8x1", "0.33", 8, 1048576, DTYPE_FP8,
         UINT64_C(4) * (262144 + 128 + 8192) * 1024 + UINT64_C(8192) * 4 * (640 + 1)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct listed l;
        assert_int_equal(list(&rows[i], &l), rows[i].room);
        arena_release(&l.arena);
    }
}

/* 2,048 of each of 8,192 tokens, and the 512 MiB that a run without a cache makes of logits. */
static void choices_take_what_the_engine_makes(void **state)
{
    (void)state;
    static const struct room row = {"deepseek-v3.2", "deepseek-v3.2", "h200-8x1", "0.19", 8,
                                    163840,          DTYPE_BF16,      0};
    static const struct room plain = {"deepseek-v3", "deepseek-v3", "h200-8x1", "0.19", 8,
                                      163840,        DTYPE_BF16,    0};
    struct listed l;
    list(&row, &l);
    assert_int_equal(bytes_of(&l, "chosen_tokens"), UINT64_C(8192) * 2048 * 4);
    assert_true(bytes_of(&l, "index_logits") >= UINT64_C(512) << 20);
    arena_release(&l.arena);
    list(&plain, &l);
    assert_int_equal(bytes_of(&l, "chosen_tokens") + bytes_of(&l, "index_logits"), 0);
    assert_int_equal(bytes_of(&l, "index_workspace"), 0);
    arena_release(&l.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rooms_are_as_large_as_their_shapes),
        cmocka_unit_test(choices_take_what_the_engine_makes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
