/* See quantity.h. */
#include "calib/table/quantity.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define BYTES(member)                                                                          \
    {                                                                                          \
        "memory." #member, false, offsetof(struct prediction, memory.member),                  \
            QUANTITY_BY_STACK, false                                                           \
    }
#define MOE(section, member)                                                                   \
    {                                                                                          \
#section "." #member, true, offsetof(struct prediction, moe.section.member),           \
            QUANTITY_BY_SAMPLE, false                                                          \
    }

#define POOL(member)                                                                           \
    {                                                                                          \
        "serving." #member, false, offsetof(struct prediction, serving.member),                \
            QUANTITY_BY_STACK, false                                                           \
    }

#define TIME(member, rate)                                                                     \
    {                                                                                          \
        "time." #member, true, offsetof(struct prediction, time.member), QUANTITY_BY_INTERVAL, \
            rate                                                                               \
    }

/* Of one layer's routed part. */
#define LAYER(member, at, rate)                                                                \
    {                                                                                          \
        "time.layer." #member, true, offsetof(struct prediction, time.layer.at),               \
            QUANTITY_BY_INTERVAL, rate                                                         \
    }

/* Of requests, each with an interval of its own beside it. */
#define SERVING(member)                                                                        \
    {                                                                                          \
        "time.serving." #member, true, offsetof(struct prediction, time.serving.member),       \
            QUANTITY_BY_REQUEST, false                                                         \
    }

static const struct quantity quantities[] = {
    BYTES(total_bytes),
    BYTES(temp_bytes),
    BYTES(state_bytes),
    BYTES(allocated_bytes),
    BYTES(reserved_bytes),
    BYTES(resident_bytes),
    POOL(weights_bytes),
    POOL(activation_bytes),
    POOL(cache_bytes),
    POOL(cache_tokens),
    MOE(routing, rows_per_expert_mean),
    MOE(routing, rows_per_expert_p10),
    {"load_cv", true, offsetof(struct prediction, moe.routing.load_cv), QUANTITY_BY_SAMPLE,
     false},
    TIME(step_s, false),
    LAYER(forward_p50_s, forward_p50_s, false),
    LAYER(forward_p99_s, forward_p99_s, false),
    LAYER(forward_backward_p50_s, forward_backward_p50_s, false),
    LAYER(forward_backward_p99_s, forward_backward_p99_s, false),
    LAYER(grouped_gemm_s, at.grouped_gemm_s, false),
    LAYER(forward_tokens_per_s, at.forward_tokens_per_s, true),
    LAYER(forward_backward_tokens_per_s, at.forward_backward_tokens_per_s, true),
    LAYER(useful_flop_per_s, at.useful_flop_per_s, true),
    LAYER(mfu_useful, at.mfu_useful, true),
    SERVING(ttft_s),
    SERVING(tpot_s),
    TIME(tokens_per_s, true),
    TIME(tokens_per_s_per_device, true),
    TIME(mfu_useful, true),
    MOE(padding, allocated_factor),
};

const struct quantity *quantity_find(const char *name)
{
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++)
        if (text_equal(quantities[i].name, name))
            return &quantities[i];
    return NULL;
}

const char *quantity_near(const char *name)
{
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++)
        if (text_distance(quantities[i].name, name) <= 2)
            return quantities[i].name;
    return NULL;
}

bool quantity_is_of_experts(const struct quantity *quantity)
{
    size_t from = offsetof(struct prediction, moe);
    return quantity->offset >= from && quantity->offset < from + sizeof(struct moe_report);
}

double quantity_of(const struct quantity *quantity, const struct prediction *prediction)
{
    const char *at = (const char *)prediction + quantity->offset;
    double real;
    uint64_t count;
    if (quantity->real) {
        memcpy(&real, at, sizeof real);
        return real;
    }
    memcpy(&count, at, sizeof count);
    return (double)count;
}
