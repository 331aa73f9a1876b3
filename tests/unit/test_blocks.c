/* work/rows/blocks and work/rows/align: the mapping vectors, formulas and weight loads of
 * seed-systems.md B2 to B4, RDEP's allocation of A4, the alignment rules of buffers.md 13. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "work/rows/align.h"
#include "work/rows/blocks.h"

static void provisioned_blocks(void **state)
{
    (void)state;
    static const struct {
        uint64_t rows, experts, block, document, tight;
    } cases[] = {
        {2000, 8, 256, 15, 15},
        {2049, 8, 256, 16, 15},
        {8192 * 4, 128, 512, 191, 191},
        {8192 * 8, 256, 512, 383, 383},
        {6, 3, 4, 4, 3},
        {6, 3, 2, 5, 4},
        {3, 8, 256, 8, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(blocks_document(cases[i].rows, cases[i].experts, cases[i].block),
                         cases[i].document);
        assert_int_equal(blocks_tight(cases[i].rows, cases[i].experts, cases[i].block),
                         cases[i].tight);
    }
    /* The bound is reached by nearly balanced counts, not by the document's worst case. */
    static const uint64_t balanced[8] = {282, 282, 282, 282, 282, 282, 282, 26};
    static const uint64_t extreme[8] = {1000, 143, 143, 143, 143, 143, 143, 142};
    assert_int_equal(blocks_needed(balanced, 8, 256), 15);
    assert_int_equal(blocks_needed(extreme, 8, 256), 11);
}

static void mapping_vectors(void **state)
{
    (void)state;
    static const struct {
        uint64_t block, blocks, valid;
        int32_t ids[6], expert[4], token[16];
    } cases[] = {
        {2, 4, 4, {0, 1, 0, 2, 0, 1}, {0, 0, 1, 2}, {0, 2, 4, -1, 1, 5, 3, -1}},
        {4, 3, 3, {0, 1, 0, 2, 1, 0}, {0, 1, 2}, {0, 2, 5, -1, 1, 4, -1, -1, 3, -1, -1, -1}},
        {4,
         4,
         3,
         {0, 1, 0, 2, 1, 0},
         {0, 1, 2, 2},
         {0, 2, 5, -1, 1, 4, -1, -1, 3, -1, -1, -1, -1, -1, -1, -1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t expert[4], token[16];
        uint8_t condition[4];
        uint64_t cursor[3];
        struct block_map map = {.blocks = cases[i].blocks,
                                .block = cases[i].block,
                                .expert = expert,
                                .token = token,
                                .condition = condition};
        assert_true(blocks_fill(cases[i].ids, 6, 1, 0, 3, cursor, &map));
        assert_memory_equal(expert, cases[i].expert, cases[i].blocks * sizeof *expert);
        assert_memory_equal(token, cases[i].token,
                            cases[i].blocks * cases[i].block * sizeof *token);
        assert_int_equal(map.valid, cases[i].valid);
        for (uint64_t b = 0; b < map.blocks; b++)
            assert_int_equal(condition[b], b < cases[i].valid);
        map.blocks = 2;
        assert_false(blocks_fill(cases[i].ids, 6, 1, 0, 3, cursor, &map));
    }
}

/* Example (ii): x = 1..6, expert e multiplies by e + 1, affinity 1. */
static void mapping_computes(void **state)
{
    (void)state;
    static const int32_t ids[6] = {0, 1, 0, 2, 1, 0};
    static const int want[6] = {1, 4, 3, 12, 10, 6};
    int32_t expert[3], token[12];
    uint8_t condition[3];
    uint64_t cursor[3];
    int out[6] = {0};
    struct block_map map = {3, 4, expert, token, condition, 0};
    assert_true(blocks_fill(ids, 6, 1, 0, 3, cursor, &map));
    for (int i = 0; i < 12; i++)
        if (token[i] >= 0)
            out[token[i]] += (expert[i / 4] + 1) * (token[i] + 1);
    assert_memory_equal(out, want, sizeof want);
}

static void weight_loads(void **state)
{
    (void)state;
    static const int32_t seed[5] = {0, 0, 1, 2, 2};
    static const int32_t longer[12] = {0, 0, 0, 0, 0, 1, 2, 2, 2, 3, 3, 3};
    assert_int_equal(blocks_weight_loads(seed, 5, false, BLOCKS_ONE_CORE), 5);
    assert_int_equal(blocks_weight_loads(seed, 5, true, BLOCKS_ONE_CORE), 3);
    assert_int_equal(blocks_weight_loads(seed, 5, true, BLOCKS_PING_PONG), 5);
    assert_int_equal(blocks_weight_loads(seed, 5, true, BLOCKS_HI_LO), 3);
    assert_int_equal(blocks_weight_loads(longer, 12, false, BLOCKS_HI_LO), 12);
    assert_int_equal(blocks_weight_loads(longer, 12, true, BLOCKS_ONE_CORE), 4);
    assert_int_equal(blocks_weight_loads(longer, 12, true, BLOCKS_PING_PONG), 7);
    assert_int_equal(blocks_weight_loads(longer, 12, true, BLOCKS_HI_LO), 4);
}

static void dynamic_loops(void **state)
{
    (void)state;
    assert_int_equal(blocks_executed(0, 6, 10, 1), 6);
    assert_int_equal(blocks_executed(7, 6, 10, 1), 7);
    assert_int_equal(blocks_executed(0, 5, 10, 2), 6);
    assert_int_equal(blocks_executed(0, 9, 9, 2), 9);
    assert_int_equal(blocks_fixed_nxd(8192 * 4, 8, 512), 8);
    assert_int_equal(blocks_fixed_kernel(191, 128), 63);
}

/* B4's example: T 8192, K 4, H 3072, I_tp 384, B 512; 128 blocks run. */
static void shard_costs(void **state)
{
    (void)state;
    struct block_cost h = blocks_shard_cost(SHARD_H, 8192, 4, 3072, 384, 512, false);
    struct block_cost i = blocks_shard_cost(SHARD_I, 8192, 4, 3072, 384, 512, false);
    struct block_cost b = blocks_shard_cost(SHARD_BLOCK, 8192, 4, 3072, 384, 512, false);
    assert_int_equal(h.sent, 393216);
    assert_int_equal(128 * h.sent * 4, 201326592);
    assert_int_equal(i.sent, 786432);
    assert_int_equal(128 * i.sent * 4, 402653184);
    assert_int_equal(b.sent_once, 12582912);
    assert_int_equal(b.sent_once * 2, 25165824);
    assert_int_equal(b.sent, 0);
    assert_int_equal(h.weights + h.weights, b.weights);
    /* H sends less than I below I = H / 4 (full exchange), H / 3 (reduce-scatter, gather). */
    for (uint64_t inter = 16; inter < 3072; inter += 16) {
        uint64_t on_h = blocks_shard_cost(SHARD_H, 8192, 4, 3072, inter, 512, false).sent;
        uint64_t lean = blocks_shard_cost(SHARD_H, 8192, 4, 3072, inter, 512, true).sent;
        uint64_t on_i = blocks_shard_cost(SHARD_I, 8192, 4, 3072, inter, 512, false).sent;
        assert_int_equal(on_h < on_i, inter < 3072 / 4);
        assert_int_equal(lean < on_i, inter < 3072 / 3);
    }
}

static void rdep_allocation(void **state)
{
    (void)state;
    static const struct {
        uint64_t local, rows;
    } cases[] = {{64, 32768}, {32, 28672}, {16, 26624}, {8, 25600}};
    for (int i = 0; i < 4; i++) {
        struct align_ask ask = {.rows = 24576, .experts = cases[i].local, .align = 128};
        assert_int_equal(align_allocated(ALIGN_RDEP, &ask), cases[i].rows);
    }
    static const uint64_t counts[2] = {4, 2}, other[2] = {3, 3};
    struct align_ask ask = {.rows = 6, .experts = 2, .align = 4}; /* A9 */
    assert_int_equal(align_allocated(ALIGN_RDEP, &ask), 12);
    assert_int_equal(align_exact(ALIGN_RDEP, counts, 2, 4), 8);
    assert_int_equal(align_exact(ALIGN_RDEP, other, 2, 4), 8);
}

/* buffers.md 13, DeepSeek-V3, T 4096 and 32768, EP 8 and 64. */
static void published_worst_rows(void **state)
{
    (void)state;
    static const struct {
        uint64_t tokens, ranks, deepgemm, megablocks, torchtitan, neuron;
    } cases[] = {
        {4096, 8, 36864, 36832, 33024, 543},
        {4096, 64, 33280, 33276, 32800, 4099},
        {32768, 8, 266240, 266208, 262400, 4127},
        {32768, 64, 262656, 262652, 262176, 32771},
    };
    for (int i = 0; i < 4; i++) {
        struct align_ask ask = {.rows = cases[i].tokens * 8,
                                .tokens = cases[i].tokens,
                                .top_k = 8,
                                .ranks = cases[i].ranks,
                                .experts = 256 / cases[i].ranks};
        assert_int_equal(align_allocated(ALIGN_DEEPGEMM, &ask), cases[i].deepgemm);
        assert_int_equal(align_allocated(ALIGN_MEGABLOCKS, &ask), cases[i].megablocks);
        assert_int_equal(align_allocated(ALIGN_TORCHTITAN_OLD, &ask), cases[i].torchtitan);
        ask.rows *= cases[i].ranks; /* Neuron counts the rows of the whole group */
        assert_int_equal(align_allocated(ALIGN_NEURON, &ask), cases[i].neuron * 512);
    }
}

static void empty_experts(void **state)
{
    (void)state;
    static const uint64_t counts[4] = {0, 1, 8, 9};
    assert_int_equal(align_exact(ALIGN_TORCHTITAN_OLD, counts, 4, 8), 8 + 8 + 8 + 16);
    assert_int_equal(align_exact(ALIGN_MEGABLOCKS, counts, 4, 8), 0 + 8 + 8 + 16);
    assert_int_equal(align_exact(ALIGN_NONE, counts, 4, 8), 18);
}

/* block_size is blockwise's alone: RDEP's padding is that of its buffers. */
static void alignment_of_a_plan(void **state)
{
    (void)state;
    struct plan plan = {.moe.block_size = 512};
    assert_int_equal(align_of(&plan, ALIGN_NEURON), 512);
    assert_int_equal(align_of(&plan, ALIGN_RDEP), 128);
    plan.moe.alignment = 16;
    assert_int_equal(align_of(&plan, ALIGN_NEURON), 16);
    assert_int_equal(align_of(&plan, ALIGN_RDEP), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(provisioned_blocks), cmocka_unit_test(mapping_vectors),
        cmocka_unit_test(mapping_computes),   cmocka_unit_test(weight_loads),
        cmocka_unit_test(dynamic_loops),      cmocka_unit_test(shard_costs),
        cmocka_unit_test(rdep_allocation),    cmocka_unit_test(published_worst_rows),
        cmocka_unit_test(empty_experts),      cmocka_unit_test(alignment_of_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
