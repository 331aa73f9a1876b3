/* A picture in the making; see picture.h. */
#include "cli/chart/picture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/csv.h"
#include "base/file.h"
#include "cli/command/side.h"

enum { TERMINAL_ROWS = 30, PICTURE_BYTES = 64 << 20 };

/* FILE.csv, unless that is what -o writes. */
static const char *data_file(const struct picture *p, const struct invocation *call)
{
    const char *file = arena_printf(p->arena, "%s.csv", p->base);
    bool taken = call->general.output && side_same(call->general.output, file);
    return taken ? arena_printf(p->arena, "%s-chart.csv", p->base) : file;
}

static void name_files(struct picture *p, const char *base, const struct invocation *call)
{
    p->base = base;
    p->chart.data = data_file(p, call);
    p->chart.script = arena_printf(p->arena, "%s.gp", base);
}

/* What stands in the way of a sweep is said before it starts; a saved table is quick to draw,
 * and may be the very table that stands beside the picture. */
static enum status check_files(const struct picture *p, const struct invocation *call,
                               struct err *err)
{
    TRY(side_check_named(call, "--plot", p->chart.picture, err));
    if (text_ends(call->operands[call->n_operands - 1], ".csv"))
        return STATUS_OK;
    TRY(side_check(call, p->chart.script, p->chart.script, err));
    return side_check(call, p->chart.data, p->chart.script, err);
}

enum status picture_init(struct picture *p, const char *file, const struct invocation *call,
                         struct err *err)
{
    *p = (struct picture){.arena = call->arena};
    p->data.arena = p->published.arena = call->arena;
    p->chart = (struct chart){.picture = file,
                              .columns = call->term.width,
                              .rows = TERMINAL_ROWS,
                              .colour = call->term.colour};
    TRY(chart_type_of(file, &p->chart.type, err));
    if (text_equal(file, "-"))
        return STATUS_OK;
    size_t stem = (size_t)(strrchr(file, '.') - file);
    name_files(p, arena_strndup(p->arena, file, stem), call);
    return check_files(p, call, err);
}

/* A terminal chart's files stand in a folder of their own. */
static enum status make_folder(struct picture *p, const struct invocation *call,
                               struct err *err)
{
    const char *folder = temporary_folder();
    if (!text_equal(p->chart.picture, "-"))
        return STATUS_OK;
    char *made = arena_printf(p->arena, "%s/moeplan-XXXXXX", folder);
    if (!mkdtemp(made))
        return err_set(err, STATUS_SYSTEM, "no folder for the chart's data can be made in %s",
                       folder);
    p->folder = made;
    name_files(p, arena_printf(p->arena, "%s/chart", made), call);
    return STATUS_OK;
}

static void add(struct picture *p, struct chart_variable variable)
{
    assert(p->chart.n_variables < PICTURE_VARIABLES);
    p->variables[p->chart.n_variables++] = variable;
}

void picture_text(struct picture *p, const char *name, const char *text)
{
    add(p, (struct chart_variable){.name = name, .text = text});
}

void picture_number(struct picture *p, const char *name, double number)
{
    add(p, (struct chart_variable){.name = name, .number = number});
}

void picture_list(struct picture *p, const char *name, const char *const *list)
{
    add(p, (struct chart_variable){.name = name, .list = list});
}

static void append_plain(struct text *out, const char *cell)
{
    static const char from[] = "\",\\", to[] = "';/";
    cell += strspn(cell, " \t");
    while (*cell) {
        bool visible;
        size_t bytes = text_character(cell, &visible);
        const char *found = strchr(from, *cell);
        if (found)
            text_append_n(out, &to[found - from], 1);
        else if (visible)
            text_append_n(out, cell, bytes);
        else
            text_append(out, " ");
        cell += bytes;
    }
}

static enum status plain_table(const char *file, struct text *table, struct err *err)
{
    struct text out = {.arena = table->arena};
    struct csv csv;
    if (!table->length)
        return STATUS_OK;
    TRY(csv_parse(file, text_string(table), table->length, table->arena, &csv, err));
    for (size_t i = 0; i < (csv.n_rows + 1) * csv.n_columns; i++) {
        append_plain(&out, i < csv.n_columns ? csv.columns[i] : csv.cells[i - csv.n_columns]);
        text_append(&out, (i + 1) % csv.n_columns ? "," : "\n");
    }
    *table = out;
    return STATUS_OK;
}

const char *picture_published_file(const char *file, struct arena *arena)
{
    size_t length = strlen(file) - (text_ends(file, ".csv") ? strlen(".csv") : 0);
    return arena_printf(arena, "%.*s-published.csv", (int)length, file);
}

enum status picture_plain(struct picture *p, const char *file, struct err *err)
{
    TRY(plain_table(file, &p->data, err));
    return plain_table(picture_published_file(file, p->arena), &p->published, err);
}

static const char *published_file(const struct picture *p)
{
    return p->published.length ? picture_published_file(p->base, p->arena) : NULL;
}

static enum status write_files(struct picture *p, const struct invocation *call,
                               struct err *err)
{
    struct text script = {.arena = p->arena};
    const char *file = p->chart.script, *published = published_file(p);
    p->chart.overlay = published;
    p->chart.variables = p->variables;
    TRY(chart_script(&p->chart, &script, err));
    side_sign_table(&script, p->chart.data, &p->data);
    if (published)
        side_sign_table(&script, published, &p->published);
    side_sign(&script);
    TRY(side_check(call, file, file, err));
    TRY(side_write(call, p->chart.data, file, &p->data, err));
    if (published)
        TRY(side_write(call, published, file, &p->published, err));
    return side_write(call, file, file, &script, err);
}

static void remove_folder(const struct picture *p)
{
    if (!p->folder)
        return;
    const char *published = published_file(p);
    unlink(p->chart.data);
    unlink(p->chart.script);
    if (published)
        unlink(published);
    rmdir(p->folder);
}

/* What could not be drawn is said once: as the error when the picture was all, else as a
 * warning. */
static enum status absent(const struct picture *p, bool all, struct err *err)
{
    struct err why = *err;
    err_clear(err);
    if (p->folder) {
        err_set(err, STATUS_ABSENT, "%s", why.text);
        return err_hint(err, "install gnuplot-nox; --format csv shows the numbers without it");
    }
    err_set(err, STATUS_ABSENT, "%s: %s and %s are written, %s is not", why.text, p->chart.data,
            p->chart.script, p->chart.picture);
    err_hint(err, "%s", why.hint);
    if (all)
        return STATUS_ABSENT;
    err_print(err, stderr);
    err_clear(err);
    return STATUS_OK;
}

/* gnuplot wrote the picture under its own name, where -o will put what `out` holds. */
static enum status copy_picture(const struct picture *p, FILE *out, struct err *err)
{
    char *bytes;
    size_t length;
    TRY(file_read(p->chart.picture, PICTURE_BYTES, p->arena, &bytes, &length, err));
    fwrite(bytes, 1, length, out);
    return STATUS_OK;
}

enum status picture_draw(struct picture *p, bool all, const struct invocation *call,
                         struct err *err)
{
    TRY(make_folder(p, call, err));
    enum status status = write_files(p, call, err);
    if (status == STATUS_OK)
        status = chart_draw(&p->chart, call->out, err);
    remove_folder(p);
    if (status == STATUS_ABSENT)
        return absent(p, all, err);
    if (status != STATUS_OK || p->folder || !all)
        return status;
    if (call->general.output && text_equal(call->general.output, p->chart.picture))
        return copy_picture(p, call->out, err);
    const char *published = published_file(p);
    struct text said = {.arena = p->arena};
    text_append_visible(&said, arena_printf(p->arena, "%s, %s%s%s and %s", p->chart.picture,
                                            p->chart.data, published ? ", " : "",
                                            published ? published : "", p->chart.script));
    fprintf(call->out, "wrote %s\n", text_string(&said));
    return STATUS_OK;
}
