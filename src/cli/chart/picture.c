/* A picture in the making; see picture.h. */
#include "cli/chart/picture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/output.h"

enum { TERMINAL_ROWS = 30, PICTURE_BYTES = 64 << 20 };

static enum status choose_base(struct picture *p, const char *file, struct err *err)
{
    if (!text_equal(file, "-")) {
        p->base = arena_strndup(p->arena, file, (size_t)(strrchr(file, '.') - file));
        return STATUS_OK;
    }
    const char *folder = getenv("TMPDIR");
    p->folder =
        arena_printf(p->arena, "%s/moeplan-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(p->folder)) {
        p->folder = NULL;
        return err_set(err, STATUS_SYSTEM, "no folder for the chart's data can be made in %s",
                       folder && *folder ? folder : "/tmp");
    }
    p->base = arena_printf(p->arena, "%s/chart", p->folder);
    return STATUS_OK;
}

/* FILE.csv, unless that is what -o writes. */
static const char *data_file(const struct picture *p, const struct invocation *call)
{
    const char *file = arena_printf(p->arena, "%s.csv", p->base);
    bool taken = call->general.output && text_equal(call->general.output, file);
    return taken ? arena_printf(p->arena, "%s-chart.csv", p->base) : file;
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
    return chart_type_of(file, &p->chart.type, err);
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
    for (cell += strspn(cell, " \t"); *cell; cell++) {
        char c = *cell == '"'                ? '\''
                 : *cell == ','              ? ';'
                 : *cell == '\\'             ? '/'
                 : (unsigned char)*cell < 32 ? ' '
                                             : *cell;
        text_append_n(out, &c, 1);
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

enum status picture_plain(struct picture *p, const char *file, struct err *err)
{
    TRY(plain_table(file, &p->data, err));
    return plain_table(file, &p->published, err);
}

static const char *published_file(const struct picture *p)
{
    return p->published.length ? arena_printf(p->arena, "%s-published.csv", p->base) : NULL;
}

static enum status write_table(const char *file, const struct text *table, struct err *err)
{
    struct output output;
    TRY(output_open(&output, file, err));
    fwrite(text_string(table), 1, table->length, output.file);
    return output_close(&output, err);
}

static enum status write_files(struct picture *p, const struct invocation *call,
                               struct err *err)
{
    const char *published = published_file(p);
    p->chart.data = data_file(p, call);
    p->chart.script = arena_printf(p->arena, "%s.gp", p->base);
    p->chart.overlay = published;
    p->chart.variables = p->variables;
    TRY(write_table(p->chart.data, &p->data, err));
    if (published)
        TRY(write_table(published, &p->published, err));
    return chart_write(&p->chart, p->arena, err);
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
    fprintf(stderr, "moeplan: %s\n  hint: %s\n", err->text, err->hint);
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
    TRY(choose_base(p, p->chart.picture, err));
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
    fprintf(call->out, "wrote %s, %s%s%s and %s\n", p->chart.picture, p->chart.data,
            published ? ", " : "", published ? published : "", p->chart.script);
    return STATUS_OK;
}
