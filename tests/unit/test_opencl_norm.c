/* Norms, factors of gates and their gradients of a device against the CPU's, of widths around a
 * work-group's items and more rows than groups take at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "support/device_case.h"

static const struct {
    uint64_t rows, width;
    bool weights, root;
} shapes[] = {
    {1, 1, false, false}, {3, 63, true, false},   {40, 64, true, true},
    {7, 65, false, true}, {130, 300, true, true}, {5, 3584, true, false},
};

static void draw_rows(struct device_case *m, enum role role, uint64_t rows, uint64_t width)
{
    float *to = device_case_give(m, role, DTYPE_F32, rows, width, true);
    for (uint64_t i = 0; i < rows * width; i++)
        to[i] = (float)rng_below(&m->rng, 257) / 64 - 2;
}

static void draw_norm(struct device_case *m, struct gpu *gpu, enum kernel kernel, size_t which,
                      char what[64])
{
    device_case_begin(m, gpu, kernel, (uint32_t)which);
    m->call.args.norm.root = shapes[which].root;
    draw_rows(m, ROLE_SRC, shapes[which].rows, shapes[which].width);
    if (shapes[which].weights && kernel != KERNEL_NORM_WGRAD)
        draw_rows(m, ROLE_WEIGHT, 1, shapes[which].width);
    if (kernel != KERNEL_NORM) {
        draw_rows(m, ROLE_FACTOR, shapes[which].rows, 1);
        draw_rows(m, ROLE_D_DST, shapes[which].rows, shapes[which].width);
    }
    snprintf(what, 64, "kernel %d, shape %zu", (int)kernel, which);
}

static void norms_are_the_hosts(void **state)
{
    struct device_case m;
    char what[64];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        draw_norm(&m, *state, KERNEL_NORM, i, what);
        device_case_want(&m, ROLE_DST, DTYPE_F32, shapes[i].rows, shapes[i].width);
        device_case_want(&m, ROLE_FACTOR, DTYPE_F32, shapes[i].rows, 1);
        device_case_compare(&m, what);
    }
}

static void gradients_are_the_hosts(void **state)
{
    struct device_case m;
    char what[64];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        draw_norm(&m, *state, KERNEL_NORM_GRAD, i, what);
        device_case_want(&m, ROLE_DST, DTYPE_F32, shapes[i].rows, shapes[i].width);
        device_case_compare(&m, what);
        draw_norm(&m, *state, KERNEL_NORM_WGRAD, i, what);
        device_case_want(&m, ROLE_D_WEIGHT, DTYPE_F32, 1, shapes[i].width);
        device_case_compare(&m, what);
    }
}

static void draw_gates(struct device_case *m, uint64_t tokens, uint64_t top_k, uint64_t experts)
{
    draw_rows(m, ROLE_GATES, tokens, top_k);
    int32_t *ids = device_case_i32(m, ROLE_IDS, tokens, top_k);
    for (uint64_t i = 0; i < tokens * top_k; i++)
        ids[i] = (int32_t)rng_below(&m->rng, experts);
}

static void gates_are_scaled_as_on_the_host(void **state)
{
    static const uint64_t sizes[][3] = {{1, 1, 1}, {9, 8, 128}, {300, 4, 5}};
    struct device_case m;
    for (size_t i = 0; i < 3; i++) {
        const uint64_t *n = sizes[i];
        device_case_begin(&m, *state, KERNEL_SCALE_GATES, (uint32_t)i);
        draw_gates(&m, n[0], n[1], n[2]);
        draw_rows(&m, ROLE_WEIGHT, 1, n[2]);
        device_case_want(&m, ROLE_DST, DTYPE_F32, n[0], n[1]);
        device_case_compare(&m, "gates");
        device_case_begin(&m, *state, KERNEL_SCALE_GATES_WGRAD, (uint32_t)i);
        draw_gates(&m, n[0], n[1], n[2]);
        draw_rows(&m, ROLE_D_GATES, n[0], n[1]);
        device_case_want(&m, ROLE_D_WEIGHT, DTYPE_F32, 1, n[2]);
        device_case_compare(&m, "factors' gradients");
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {cmocka_unit_test(norms_are_the_hosts),
                                 cmocka_unit_test(gradients_are_the_hosts),
                                 cmocka_unit_test(gates_are_scaled_as_on_the_host)};
    return device_case_main(tests, sizeof tests / sizeof *tests);
}
