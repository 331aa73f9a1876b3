/* The compilers that devices bring, themselves: NVRTC and HIPRTC, where they are installed
 * (they need no device), make an image of every program that moeplan gives them at run time.
 * Elsewhere look-alikes of both stand in their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exec/gpu/compile.h"
#include "exec/gpu/engine.h"

/* One architecture for all programs, and its engines: of other ones images are built in by the
 * same vendors' compilers, from the same text (.ci/run). What takes those longest is not
 * compiled again: HIPRTC is clang once more, and its products, the portable and the matrix
 * cores', are left to hipcc; those of sm_80 on later devices to nvcc. */
struct target {
    const struct compiler *compiler;
    const char *all, *engines;
    enum gpu_source without[2];
};

static const struct target
    nvidia = {&compiler_nvrtc, "sm_90", "sm_90", {GPU_SOURCE_peak_sm80, GPU_SOURCE_COUNT}},
    amd = {&compiler_hiprtc, "gfx90a", "gfx90a", {GPU_SOURCE_product, GPU_SOURCE_peak_cdna}};

static bool is_left_out(const struct target *target, enum gpu_source source)
{
    return source == target->without[0] || source == target->without[1];
}

static bool is_there(const struct compiler *compiler)
{
    void *library = NULL;
    for (unsigned i = 0; !library && compiler->libraries[i]; i++)
        library = gpu_library_open(compiler->libraries[i]);
    gpu_library_close(library);
    return library != NULL;
}

static void compile(const struct compiler *compiler, const char *architecture,
                    enum gpu_source source)
{
    struct image image = {0};
    struct err err = {.status = STATUS_OK};
    unsigned n;
    const struct gpu_text *texts = gpu_source_texts(source, &n);
    compile_texts(compiler, architecture, texts[n - 1].name, texts, n, &image, &err);
    assert_string_equal(err.text, "");
    assert_true(image.length > 4096); /* ELF, or a bundle of it */
    image_release(&image);
}

static void check(const struct target *target)
{
    if (!is_there(target->compiler))
        skip();
    setenv("MOEPLAN_CACHE", "/dev/null", 1); /* nothing is kept, and nothing taken */
    for (int source = 0; source < GPU_SOURCE_peak_sm80; source++)
        if (!is_left_out(target, (enum gpu_source)source))
            compile(target->compiler, target->all, (enum gpu_source)source);
    const char *named = target->engines;
    for (const struct engine *e = engine_next(NULL, named); e; e = engine_next(e, named))
        if (!is_left_out(target, e->source))
            compile(target->compiler, e->compile_for ? e->compile_for : named, e->source);
}

static void test_nvrtc_makes_every_image(void **state)
{
    (void)state;
    check(&nvidia);
}

static void test_hiprtc_makes_every_image(void **state)
{
    (void)state;
    check(&amd);
}

/* What is wrong with a program is said as the compiler says it. */
static void test_a_mistake_is_told(void **state)
{
    static const char wrong[] = "extern \"C\" __global__ void k() { rows; }";
    static const struct gpu_text text = {"wrong", wrong, sizeof wrong - 1};
    struct image image = {0};
    struct err err = {.status = STATUS_OK};
    (void)state;
    if (!is_there(&compiler_nvrtc))
        skip();
    setenv("MOEPLAN_CACHE", "/dev/null", 1);
    assert_int_equal(compile_texts(&compiler_nvrtc, "sm_90", "wrong", &text, 1, &image, &err),
                     STATUS_SYSTEM);
    assert_non_null(strstr(err.text, "identifier \"rows\" is undefined"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvrtc_makes_every_image),
        cmocka_unit_test(test_hiprtc_makes_every_image),
        cmocka_unit_test(test_a_mistake_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
