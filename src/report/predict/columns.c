/* Column tables of a prediction. A part that joins struct prediction gets a table here and a
 * row among the sections; JSON then prints it. */
#include "report/predict/print.h"

#include "plan/schema/schema.h"

/* ---- names of enums ---- */

static const char *category_of(const void *record)
{
    return category_name(((const struct category_bytes *)record)->category);
}

static const char *buffer_category(const void *record)
{
    return category_name(((const struct buffer_report *)record)->category);
}

static const char *buffer_segment(const void *record)
{
    return segment_name(((const struct buffer_report *)record)->segment);
}

static const char *buffer_dtype(const void *record)
{
    return words_dtype[((const struct buffer_report *)record)->dtype];
}

static const char *memory_verdict(const void *record)
{
    return verdict_name(((const struct memory_report *)record)->verdict);
}

#define DIMENSIONS                                                                             \
    {                                                                                          \
        .key = "shape", .type = COLUMN_COUNTS, .offset = offsetof(struct buffer_report, dims), \
        .length_offset = offsetof(struct buffer_report, n_dims)                                \
    }

/* ---- buffers ---- */

const struct column *buffer_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(buffer_report, name, COLUMN_TEXT, NULL),
        COLUMN_SAID(NULL, "category", buffer_category),
        COLUMN_SAID(NULL, "segment", buffer_segment),
        DIMENSIONS,
        COLUMN_SAID(NULL, "dtype", buffer_dtype),
        COLUMN(buffer_report, bytes, COLUMN_BYTES, NULL),
        COLUMN(buffer_report, expected_bytes, COLUMN_BYTES, NULL),
        COLUMN(buffer_report, worst_bytes, COLUMN_BYTES, NULL),
        COLUMN(buffer_report, rule, COLUMN_TEXT, NULL),
        COLUMN(buffer_report, copies, COLUMN_COUNT, NULL),
        COLUMN(buffer_report, at_peak, COLUMN_BOOL, NULL),
        COLUMN(buffer_report, formula, COLUMN_TEXT, NULL),
        COLUMN(buffer_report, source, COLUMN_TEXT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *buffer_table(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(buffer_report, name, COLUMN_TEXT, "buffer"),
        COLUMN_SAID("category", "category", buffer_category),
        COLUMN(buffer_report, bytes, COLUMN_BYTES, "bytes"),
        COLUMN(buffer_report, expected_bytes, COLUMN_BYTES, "expected"),
        COLUMN(buffer_report, worst_bytes, COLUMN_BYTES, "worst"),
        COLUMN(buffer_report, copies, COLUMN_COUNT, "copies"),
        COLUMN_SAID("dtype", "dtype", buffer_dtype),
        DIMENSIONS,
    };
    *n = COUNT_OF(columns);
    return columns;
}

/* ---- memory ---- */

static bool has_host(const void *record)
{
    return ((const struct memory_report *)record)->host_bytes > 0;
}

static bool has_host_limit(const void *record)
{
    return has_host(record) && ((const struct memory_report *)record)->host_limit_bytes > 0;
}

#define WAITING(member, kind, when)                                                            \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct memory_report, member),        \
        .present = when                                                                        \
    }

/* A stack with one schedule gives it no name. */
static bool has_schedule(const void *record)
{
    const char *schedule = ((const struct memory_report *)record)->schedule;
    return schedule && schedule[0];
}

static bool has_samples(const void *record)
{
    return ((const struct memory_report *)record)->has_distribution;
}

/* Receive buffers of given size. */
static bool has_room(const void *record)
{
    return ((const struct memory_report *)record)->overflow.bounded;
}

const struct column *memory_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(memory_report, capacity_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, limit_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, state_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, temp_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, total_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, margin_bytes, COLUMN_SIGNED, NULL),
        COLUMN_SAID(NULL, "verdict", memory_verdict),
        COLUMN(memory_report, sizing, COLUMN_TEXT, NULL),
        {.key = "schedule",
         .type = COLUMN_TEXT,
         .offset = offsetof(struct memory_report, schedule),
         .present = has_schedule},
        COLUMN(memory_report, expected_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, p99_bytes, COLUMN_BYTES, NULL),
        {.key = "p99_error_bytes",
         .type = COLUMN_BYTES,
         .offset = offsetof(struct memory_report, p99_error_bytes),
         .present = has_samples},
        COLUMN(memory_report, worst_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, allocated_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, reserved_bytes, COLUMN_BYTES, NULL),
        COLUMN(memory_report, resident_bytes, COLUMN_BYTES, NULL),
        {.key = "overflow_probability",
         .type = COLUMN_REAL,
         .offset = offsetof(struct memory_report, overflow.probability),
         .present = has_room},
        WAITING(host_bytes, COLUMN_BYTES, has_host),
        WAITING(host_limit_bytes, COLUMN_BYTES, has_host_limit),
        WAITING(host_largest, COLUMN_TEXT, has_host),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *distribution_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(memory_report, oom_probability, COLUMN_REAL, NULL),
        COLUMN(memory_report, oom_samples, COLUMN_COUNT, NULL),
        COLUMN(memory_report, samples, COLUMN_COUNT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *category_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN_SAID(NULL, "name", category_of),
        COLUMN(category_bytes, bytes, COLUMN_BYTES, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *wall_columns(size_t *n)
{
    static const struct column columns[] = {
        {.key = "buffer", .type = COLUMN_TEXT, .offset = offsetof(struct buffer_report, name)},
        COLUMN(buffer_report, bytes, COLUMN_BYTES, NULL),
        COLUMN(buffer_report, formula, COLUMN_TEXT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *peak_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(peak_report, stage, COLUMN_COUNT, NULL),
        COLUMN(peak_report, segment, COLUMN_TEXT, NULL),
        COLUMN(peak_report, op, COLUMN_TEXT, NULL),
        COLUMN(peak_report, phase, COLUMN_TEXT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

/* ---- servers that prefill and that decode ---- */

static const char *pool_verdict(const void *record)
{
    return verdict_name(((const struct pool_report *)record)->memory.verdict);
}

static const char *pool_wall(const void *record)
{
    const struct buffer_report *wall = ((const struct pool_report *)record)->memory.wall;
    return wall ? wall->name : "";
}

#define POOL(part, name, kind)                                                                 \
    {                                                                                          \
        .key = #name, .type = kind, .offset = offsetof(struct pool_report, part.name)          \
    }

const struct column *pool_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(pool_report, name, COLUMN_TEXT, NULL),
        COLUMN(pool_report, deployments, COLUMN_COUNT, NULL),
        COLUMN(pool_report, devices, COLUMN_COUNT, NULL),
        COLUMN_SAID(NULL, "verdict", pool_verdict),
        POOL(memory, limit_bytes, COLUMN_BYTES),
        POOL(memory, state_bytes, COLUMN_BYTES),
        POOL(memory, temp_bytes, COLUMN_BYTES),
        POOL(memory, total_bytes, COLUMN_BYTES),
        POOL(memory, margin_bytes, COLUMN_SIGNED),
        COLUMN_SAID(NULL, "wall", pool_wall),
        POOL(serving, weights_bytes, COLUMN_BYTES),
        POOL(serving, activation_bytes, COLUMN_BYTES),
        POOL(serving, cache_bytes, COLUMN_BYTES),
        POOL(serving, cache_tokens, COLUMN_COUNT),
        POOL(serving, context_tokens, COLUMN_COUNT),
        POOL(serving, sequences, COLUMN_COUNT),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *stage_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(stage_memory, stage, COLUMN_COUNT, NULL),
        COLUMN(stage_memory, state_bytes, COLUMN_BYTES, NULL),
        COLUMN(stage_memory, temp_bytes, COLUMN_BYTES, NULL),
        COLUMN(stage_memory, total_bytes, COLUMN_BYTES, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

/* ---- the other parts ---- */

static const struct column model_columns[] = {
    COLUMN(model_report, parameters, COLUMN_COUNT, NULL),
    COLUMN(model_report, active_parameters, COLUMN_COUNT, NULL),
    COLUMN(model_report, parameters_per_device, COLUMN_COUNT, NULL),
    COLUMN(model_report, flop_per_token, COLUMN_COUNT, NULL),
};

const struct column *trade_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(capacity_point, factor, COLUMN_REAL, NULL),
        COLUMN(capacity_point, slots, COLUMN_COUNT, NULL),
        COLUMN(capacity_point, drop, COLUMN_REAL, NULL),
        COLUMN(capacity_point, padding, COLUMN_REAL, NULL),
        COLUMN(capacity_point, flop_factor, COLUMN_REAL, NULL),
        COLUMN(capacity_point, buffer_bytes, COLUMN_BYTES, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *block_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(block_choice, block, COLUMN_COUNT, NULL),
        COLUMN(block_choice, blocks, COLUMN_COUNT, NULL),
        COLUMN(block_choice, aif, COLUMN_REAL, NULL),
        COLUMN(block_choice, padding, COLUMN_REAL, NULL),
        COLUMN(block_choice, compute_bound, COLUMN_BOOL, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

const struct column *note_columns(size_t *n)
{
    static const struct column columns[] = {
        COLUMN(note, key, COLUMN_TEXT, NULL),
        COLUMN(note, text, COLUMN_TEXT, NULL),
    };
    *n = COUNT_OF(columns);
    return columns;
}

#define WHERE(record, member, kind, condition)                                                 \
    {                                                                                          \
        .key = #member, .type = kind, .offset = offsetof(struct record, member),               \
        .present = condition                                                                   \
    }

static bool has_recovery(const void *record)
{
    return ((const struct routing_report *)record)->recovery_steps > 0;
}

static const struct column routing_columns[] = {
    COLUMN(routing_report, rows, COLUMN_COUNT, NULL),
    COLUMN(routing_report, rows_per_expert_mean, COLUMN_REAL, NULL),
    COLUMN(routing_report, rows_per_expert_p10, COLUMN_REAL, NULL),
    COLUMN(routing_report, rows_per_expert_p50, COLUMN_REAL, NULL),
    COLUMN(routing_report, rows_per_expert_p90, COLUMN_REAL, NULL),
    COLUMN(routing_report, rows_per_expert_p99, COLUMN_REAL, NULL),
    COLUMN(routing_report, rows_per_expert_max, COLUMN_REAL, NULL),
    COLUMN(routing_report, load_cv, COLUMN_REAL, NULL),
    COLUMN(routing_report, rank_imbalance, COLUMN_REAL, NULL),
    COLUMN(routing_report, rank_imbalance_p99, COLUMN_REAL, NULL),
    COLUMN(routing_report, drop_fraction, COLUMN_REAL, NULL),
    COLUMN(routing_report, drop_fraction_p99, COLUMN_REAL, NULL),
    COLUMN(routing_report, distinct_ranks, COLUMN_REAL, NULL),
    COLUMN(routing_report, distinct_nodes, COLUMN_REAL, NULL),
    COLUMN(routing_report, heaviest_rows_expected, COLUMN_COUNT, NULL),
    COLUMN(routing_report, heaviest_rows_p99, COLUMN_COUNT, NULL),
    COLUMN(routing_report, heaviest_rows_worst, COLUMN_COUNT, NULL),
    COLUMN(routing_report, received_expected, COLUMN_COUNT, NULL),
    COLUMN(routing_report, received_p99, COLUMN_COUNT, NULL),
    COLUMN(routing_report, received_worst, COLUMN_COUNT, NULL),
    COLUMN(routing_report, placement_imbalance_before, COLUMN_REAL, NULL),
    COLUMN(routing_report, placement_imbalance_after, COLUMN_REAL, NULL),
    COLUMN(routing_report, recovery_before, COLUMN_REAL, NULL),
    COLUMN(routing_report, recovery_after, COLUMN_REAL, NULL),
    WHERE(routing_report, recovery_steps, COLUMN_COUNT, has_recovery),
    COLUMN(routing_report, method, COLUMN_TEXT, NULL),
    COLUMN(routing_report, samples, COLUMN_COUNT, NULL),
};

static bool has_blocks(const void *record)
{
    return ((const struct padding_report *)record)->block_size > 0;
}

static bool has_provisioned(const void *record)
{
    return ((const struct padding_report *)record)->blocks_provisioned > 0;
}

static bool has_rounds(const void *record)
{
    return ((const struct padding_report *)record)->rounds > 0;
}

static const struct column padding_columns[] = {
    COLUMN(padding_report, exact_factor, COLUMN_REAL, NULL),
    COLUMN(padding_report, allocated_factor, COLUMN_REAL, NULL),
    WHERE(padding_report, blocks_provisioned, COLUMN_COUNT, has_provisioned),
    WHERE(padding_report, blocks_document, COLUMN_COUNT, has_provisioned),
    COLUMN(padding_report, blocks_expected, COLUMN_REAL, NULL),
    COLUMN(padding_report, blocks_executed, COLUMN_REAL, NULL),
    WHERE(padding_report, block_size, COLUMN_COUNT, has_blocks),
    COLUMN(padding_report, token_rows_skipped, COLUMN_REAL, NULL),
    COLUMN(padding_report, weight_loads, COLUMN_REAL, NULL),
    WHERE(padding_report, rounds, COLUMN_COUNT, has_rounds),
    COLUMN(padding_report, rounds_expected, COLUMN_REAL, NULL),
    COLUMN(padding_report, rule, COLUMN_TEXT, NULL),
    COLUMN(padding_report, formula, COLUMN_TEXT, NULL),
    COLUMN(padding_report, alignment, COLUMN_COUNT, NULL),
};

static bool has_smallest(const void *record)
{
    return ((const struct intensity_report *)record)->smallest_compute_bound_block > 0;
}

static const struct column intensity_columns[] = {
    COLUMN(intensity_report, aif, COLUMN_REAL, NULL),
    COLUMN(intensity_report, flop_per_byte, COLUMN_REAL, NULL),
    COLUMN(intensity_report, ridge_flop_per_byte, COLUMN_REAL, NULL),
    COLUMN(intensity_report, bound, COLUMN_TEXT, NULL),
    WHERE(intensity_report, smallest_compute_bound_block, COLUMN_COUNT, has_smallest),
};

static const struct column decode_columns[] = {
    COLUMN(decode, expected_experts_loaded, COLUMN_REAL, NULL),
    COLUMN(decode, fraction_loaded, COLUMN_REAL, NULL),
    COLUMN(decode, sd, COLUMN_REAL, NULL),
    COLUMN(decode, bytes_loaded, COLUMN_BYTES, NULL),
    COLUMN(decode, bytes_selective, COLUMN_BYTES, NULL),
    COLUMN(decode, bytes_all, COLUMN_BYTES, NULL),
    COLUMN(decode, switch_batch, COLUMN_COUNT, NULL),
    COLUMN(decode, break_even_batch, COLUMN_REAL, NULL),
    COLUMN(decode, algorithm, COLUMN_TEXT, NULL),
};

static const struct column sync_columns[] = {
    COLUMN(sync_report, per_layer, COLUMN_COUNT, NULL),
};

static const char *collective_kind(const void *record)
{
    return words_block[((const struct collective_block *)record)->kind];
}

static const struct column collective_columns[] = {
    COLUMN_SAID(NULL, "kind", collective_kind),
    COLUMN(collective_block, ranks, COLUMN_COUNT, NULL),
    COLUMN(collective_block, flop, COLUMN_REAL, NULL),
    COLUMN(collective_block, bytes_sent, COLUMN_REAL, NULL),
    COLUMN(collective_block, matmul_s, COLUMN_SECONDS, NULL),
    COLUMN(collective_block, gather_s, COLUMN_SECONDS, NULL),
    COLUMN(collective_block, reduce_s, COLUMN_SECONDS, NULL),
    COLUMN(collective_block, serial_s, COLUMN_SECONDS, NULL),
    COLUMN(collective_block, overlapped_s, COLUMN_SECONDS, NULL),
};

static bool has_collective(const struct prediction *prediction)
{
    return prediction->has_collective;
}

static bool has_routing(const struct prediction *prediction)
{
    return prediction->moe.has_routing;
}

static bool has_padding(const struct prediction *prediction)
{
    return prediction->moe.has_padding;
}

static bool has_intensity(const struct prediction *prediction)
{
    return prediction->moe.has_intensity;
}

static bool has_decode(const struct prediction *prediction)
{
    return prediction->moe.has_decode;
}

static const struct column serving_columns[] = {
    COLUMN(serving_report, weights_bytes, COLUMN_BYTES, NULL),
    COLUMN(serving_report, activation_bytes, COLUMN_BYTES, NULL),
    COLUMN(serving_report, outside_bytes, COLUMN_BYTES, NULL),
    COLUMN(serving_report, graphs_bytes, COLUMN_BYTES, NULL),
    COLUMN(serving_report, requested_bytes, COLUMN_BYTES, NULL),
    COLUMN(serving_report, cache_bytes, COLUMN_BYTES, NULL),
    COLUMN(serving_report, state_bytes, COLUMN_BYTES, NULL),
    COLUMN(serving_report, state_slots, COLUMN_COUNT, NULL),
    COLUMN(serving_report, cache_blocks, COLUMN_COUNT, NULL),
    COLUMN(serving_report, block_tokens, COLUMN_COUNT, NULL),
    COLUMN(serving_report, cache_tokens, COLUMN_COUNT, NULL),
    COLUMN(serving_report, context_tokens, COLUMN_COUNT, NULL),
    COLUMN(serving_report, sequences, COLUMN_COUNT, NULL),
    COLUMN(serving_report, running, COLUMN_COUNT, NULL),
    COLUMN(serving_report, batched_tokens, COLUMN_COUNT, NULL),
    COLUMN(serving_report, max_sequences, COLUMN_COUNT, NULL),
    COLUMN(serving_report, stage, COLUMN_COUNT, NULL),
};

static bool has_serving(const struct prediction *prediction)
{
    return prediction->serving.present;
}

#define SECTION(name, table, part, condition)                                                  \
    {                                                                                          \
        name, table, COUNT_OF(table), offsetof(struct prediction, part), condition             \
    }

const struct predict_section *predict_sections(size_t *n)
{
    static const struct predict_section sections[] = {
        SECTION("model", model_columns, model, NULL),
        SECTION("routing", routing_columns, moe.routing, has_routing),
        SECTION("padding", padding_columns, moe.padding, has_padding),
        SECTION("intensity", intensity_columns, moe.intensity, has_intensity),
        SECTION("decode", decode_columns, moe.decode, has_decode),
        SECTION("serving", serving_columns, serving, has_serving),
        SECTION("sync", sync_columns, sync, has_routing),
        SECTION("collective", collective_columns, collective, has_collective),
    };
    *n = COUNT_OF(sections);
    return sections;
}
