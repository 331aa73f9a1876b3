/* Are the predictions of thousands of plans what they were? See corpus.h for the tables.
 *
 *   test_corpus             every 16th plan and the short ones, as in the suite: prints each
 *                           number that is not as recorded, fails when there is one
 *   test_corpus --all       every plan, as in .ci/run
 *   test_corpus --diff      every plan; counts what changed by number and stack, with the
 *                           smallest and largest factor and a plan to look at
 *   test_corpus --record    writes what is predicted now into the tables, and what changed
 *   test_corpus --show FILE:LINE   that plan as YAML, for `moeplan predict -`
 *
 * Each of these lists is held to the law of support/traffic_law.h besides, whatever is
 * recorded.
 *
 * Run it in the root of the source tree: build/release/tests/test_corpus --all. A number that
 * changes on purpose is recorded anew, and CHANGELOG.md says why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/corpus.h"
#include "plan/schema/schema.h"
#include "plan/read/show.h"
#include "support/traffic_law.h"
#include "work/stack/stack.h"

enum { SAMPLE = 16, SHOWN = 12, STACKS = 16, CELLS = 64 };

static const struct {
    const char *file;
    size_t every; /* plan 0, every, 2 every ... is in the sample */
} tables[] = {{CORPUS_FOLDER "plans.csv", SAMPLE},
              {CORPUS_FOLDER "jobs.csv", SAMPLE},
              {CORPUS_FOLDER "short.csv", 1},
              {CORPUS_FOLDER "served.csv", 4}};
enum { TABLES = sizeof tables / sizeof *tables };

/* What became of one number of one stack's plans. */
struct change {
    size_t n;
    double least, most; /* factors on what was recorded */
    const char *where;  /* the first such plan */
};

struct check {
    bool all;    /* not the sample */
    bool list;   /* print each change */
    bool record; /* write the tables anew */
    struct arena arena;
    struct csv parts;
    size_t plans, differing, differences;
    struct change changes[CELLS][STACKS];
};

static void note(struct check *check, size_t cell, enum stack_kind stack, const char *where,
                 const char *recorded, const char *now)
{
    struct change *change = &check->changes[cell][stack];
    double factor = strtod(now, NULL) / strtod(recorded, NULL);
    if (!change->n++)
        *change = (struct change){1, factor, factor, where};
    change->least = fmin(change->least, factor);
    change->most = fmax(change->most, factor);
    check->differences++;
}

/* Compares the cells of a row; prints what differs. */
static void compare(struct check *check, const struct csv *csv, size_t row,
                    const struct plan *plan, const char **cells)
{
    const char *where = arena_printf(&check->arena, "%s:%u", csv->file, csv->lines[row]);
    size_t before = check->differences;
    for (size_t i = 0; i < corpus_n_cells(); i++) {
        const char *recorded = csv_cell(csv, row, corpus_key(i));
        recorded = recorded ? recorded : "";
        if (corpus_same(i, recorded, cells[i]))
            continue;
        note(check, i, plan->stack.kind, where, recorded, cells[i]);
        if (check->list && check->differing < SHOWN)
            printf("%s: %s: recorded '%s', now '%s'\n", where, corpus_key(i), recorded,
                   cells[i]);
    }
    if (check->differences == before)
        return;
    if (check->list && check->differing < SHOWN)
        printf("  plan: %s\n  see: test_corpus --show %s\n", csv_cell(csv, row, "plan"), where);
    check->differing++;
}

/* The list's bytes and FLOPs against its operands (support/traffic_law.h). */
static enum status check_traffic(const struct plan *plan, struct arena *arena, struct err *err)
{
    struct work work;
    struct plan resolved = *plan;
    struct traffic_tally tally = {0};
    if (work_build(plan, arena, &work, err) != STATUS_OK) {
        *err = (struct err){0}; /* recorded as refused */
        return STATUS_OK;
    }
    resolved.moe.path = stack_path(plan, NULL);
    if (!work.n_ops) /* stack host has them already */
        TRY(work_ops(plan, &work, err));
    const char *broken = traffic_law_broken(&resolved, &work, &tally);
    return broken ? err_set(err, STATUS_MISMATCH, "%s", broken) : STATUS_OK;
}

static enum status check_row(struct check *check, const struct csv *csv, size_t row,
                             struct corpus_row *out, struct err *err)
{
    static struct plan plan;
    struct arena arena = {0};
    const char *text = csv_cell(csv, row, "plan");
    enum status status = corpus_plan(&check->parts, text, &arena, &plan, err);
    if (status == STATUS_OK) {
        const char **cells = corpus_cells(&plan, &arena);
        compare(check, csv, row, &plan, cells);
        status = check_traffic(&plan, &arena, err);
        out->plan = text;
        out->cells = arena_alloc(&check->arena, corpus_n_cells(), sizeof *out->cells);
        for (size_t i = 0; check->record && i < corpus_n_cells(); i++)
            out->cells[i] = arena_strdup(&check->arena, cells[i]);
        check->plans++;
    }
    arena_release(&arena);
    if (status != STATUS_OK)
        fprintf(stderr, "%s:%u: %s\n", csv->file, csv->lines[row], text);
    return status;
}

static enum status check_table(struct check *check, const char *file, size_t every,
                               struct err *err)
{
    struct csv csv;
    TRY(csv_read(file, &check->arena, &csv, err));
    if (csv_column(&csv, "plan") != 0)
        return err_set(err, STATUS_INPUT, "%s: no column 'plan' in front", file);
    struct corpus_row *rows = arena_alloc(&check->arena, csv.n_rows + 1, sizeof *rows);
    for (size_t i = 0; i < csv.n_rows; i += every)
        TRY(check_row(check, &csv, i, &rows[i], err));
    return check->record ? corpus_write(file, rows, csv.n_rows, err) : STATUS_OK;
}

static void print_change(const struct change *change, const char *key, const char *stack)
{
    if (change->n == 0)
        return;
    printf("%-22s %-11s %6zu  ", key, stack, change->n);
    if (isfinite(change->least) && isfinite(change->most))
        printf("x %.6g .. x %.6g  ", change->least, change->most);
    printf("%s\n", change->where);
}

static void print_summary(const struct check *check)
{
    if (!check->list)
        for (size_t i = 0; i < corpus_n_cells(); i++)
            for (unsigned stack = 0; words_stack[stack]; stack++)
                print_change(&check->changes[i][stack], corpus_key(i), words_stack[stack]);
    printf("%zu plans, %zu differ in %zu numbers\n", check->plans, check->differing,
           check->differences);
    if (check->list && check->differing)
        printf("`test_corpus --diff` sums up what changed, `--record` writes it down\n");
}

static enum status show(const char *where, struct err *err)
{
    struct arena arena = {0};
    struct csv parts, csv;
    static struct plan plan;
    struct text text = {.arena = &arena};
    const char *colon = strrchr(where, ':');
    unsigned long line = colon ? strtoul(colon + 1, NULL, 10) : 0;
    char *file = arena_strndup(&arena, where, colon ? (size_t)(colon - where) : 0);
    TRY(corpus_parts(&arena, &parts, err));
    TRY(csv_read(file, &arena, &csv, err));
    for (size_t i = 0; i < csv.n_rows; i++) {
        if (csv.lines[i] != line)
            continue;
        TRY(corpus_plan(&parts, csv_cell(&csv, i, "plan"), &arena, &plan, err));
        plan_print(&plan, &text);
        fputs(text_string(&text), stdout);
        arena_release(&arena);
        return STATUS_OK;
    }
    arena_release(&arena);
    return err_set(err, STATUS_USAGE, "no plan at '%s'", where);
}

static enum status run(struct check *check, struct err *err)
{
    TRY(corpus_parts(&check->arena, &check->parts, err));
    for (size_t i = 0; i < TABLES; i++)
        TRY(check_table(check, tables[i].file, check->all ? 1 : tables[i].every, err));
    print_summary(check);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    static struct check check;
    struct err err = {0};
    const char *option = argc > 1 ? argv[1] : "";
    bool diff = text_equal(option, "--diff");
    check.record = text_equal(option, "--record");
    check.list = !diff && !check.record;
    check.all = !check.list || text_equal(option, "--all");
    enum status status = STATUS_OK;
    if (argc == 3 && text_equal(option, "--show"))
        status = show(argv[2], &err);
    else if (argc > 2 || (argc == 2 && !check.all))
        status =
            err_set(&err, STATUS_USAGE, "takes --all, --diff, --record or --show FILE:LINE");
    else
        status = run(&check, &err);
    if (status != STATUS_OK)
        err_print(&err, stderr);
    arena_release(&check.arena);
    return status != STATUS_OK || (check.differing && !check.record) ? 1 : 0;
}
