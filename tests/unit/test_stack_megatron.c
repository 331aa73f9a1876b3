/* Megatron's memory against published runs, each plan written from its row's cells: peak and
 * resident allocated bytes of six B200 runs and of Megatron-LM's functional tests, and the
 * verdict of every run that completed. Prints every row's error. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "support/catalogue.h"
#include "support/published.h"

struct errors {
    double sum, largest;
    size_t n;
};

static void add(struct errors *errors, double error)
{
    errors->sum += fabs(error);
    errors->largest = fmax(errors->largest, fabs(error));
    errors->n++;
}

/* The prediction for a quantity, or 0 when it is none of memory's. */
static uint64_t predicted(const struct memory_report *memory, const char *quantity)
{
    if (text_equal(quantity, "memory.allocated_bytes"))
        return memory->allocated_bytes;
    return text_equal(quantity, "memory.resident_bytes") ? memory->resident_bytes : 0;
}

static struct errors compare(const char *table)
{
    struct arena arena = {0};
    struct csv csv;
    struct errors errors = {0};
    published_read(table, &arena, &csv);
    for (size_t row = 0; row < csv.n_rows; row++) {
        struct prediction prediction;
        const char *quantity = csv_cell(&csv, row, "quantity");
        if (!predicted(&(struct memory_report){.allocated_bytes = 1, .resident_bytes = 1},
                       quantity))
            continue;
        published_predict(&csv, row, &arena, &prediction);
        uint64_t bytes = predicted(&prediction.memory, quantity);
        double published = catalogue_number(csv_cell(&csv, row, "published"));
        double error = published_error(bytes, published);
        print_message("%-72s %-24s %14.0f %14llu %+6.2f %%\n", csv_cell(&csv, row, "row"),
                      quantity, published, (unsigned long long)bytes, error);
        add(&errors, error);
    }
    print_message("%s: %zu rows, mean %.2f %%, largest %.2f %%\n", table, errors.n,
                  errors.sum / (double)errors.n, errors.largest);
    arena_release(&arena);
    return errors;
}

static void b200_peaks(void **state)
{
    (void)state;
    struct errors errors = compare("megatron_moe_memory_b200");
    assert_int_equal(errors.n, 15);
    assert_true(errors.largest <= 1.5);
    assert_true(errors.sum / (double)errors.n <= 1);
}

static void functional_tests_of_megatron(void **state)
{
    (void)state;
    struct errors errors = compare("megatron_golden_memory");
    assert_int_equal(errors.n, 20);
    assert_true(errors.sum / (double)errors.n <= 8);
    assert_true(errors.largest <= 15);
}

static void completed_runs_fit(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct csv csv;
    size_t n_oom = 0;
    published_read("memory_verdicts", &arena, &csv);
    for (size_t row = 0; row < csv.n_rows; row++) {
        struct prediction prediction;
        published_predict(&csv, row, &arena, &prediction);
        const struct memory_report *memory = &prediction.memory;
        print_message("%-32s %7.1f of %6.1f GiB  %s\n", csv_cell(&csv, row, "row"),
                      (double)memory->total_bytes / 1073741824,
                      (double)memory->limit_bytes / 1073741824, verdict_name(memory->verdict));
        n_oom += memory->verdict == VERDICT_OOM;
    }
    assert_int_equal(csv.n_rows, 37);
    assert_int_equal(n_oom, 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(b200_peaks),
        cmocka_unit_test(functional_tests_of_megatron),
        cmocka_unit_test(completed_runs_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
