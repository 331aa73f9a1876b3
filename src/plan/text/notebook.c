/* Cells of a notebook, as Python and as commands of a shell, on the lines that they have in the
 * file; see scripted.h. nbformat.readthedocs.io, and IPython's "system shell access" and "cell
 * magics". */
#include <string.h>

#include "plan/encoding.h"
#include "plan/source.h"
#include "plan/text/scripted.h"

enum { NOTEBOOK_BYTES = 8 * 1024 * 1024 };

/* One of the two texts that the cells are put into. */
struct side {
    struct text *out;
    unsigned line; /* where its next line would stand */
};

struct notebook {
    struct side python, shell;
};

bool notebook_is(const char *name, const char *text, size_t length)
{
    return text_ends(name, ".ipynb") ||
           (encoding_looks_json(text, length) && strstr(text, "\"cell_type\""));
}

/* A line on its own, or on the next that is free. */
static void append_line(struct side *side, unsigned at, const char *line, size_t n)
{
    for (; side->line < at; side->line++)
        text_append(side->out, "\n");
    text_append_n(side->out, line, n);
    text_append(side->out, "\n");
    side->line++;
}

/* ---- cells ---- */

enum cell { CELL_PYTHON, CELL_SHELL, CELL_FILE, CELL_OTHER };

/* By its first line, "%%bash". */
static enum cell kind_of(const char *first)
{
    static const struct {
        const char *word;
        enum cell kind;
    } magics[] = {{"%%bash", CELL_SHELL},        {"%%sh", CELL_SHELL},
                  {"%%script bash", CELL_SHELL}, {"%%writefile", CELL_FILE},
                  {"%%capture", CELL_PYTHON},    {"%%time", CELL_PYTHON}};
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (text_starts(first, magics[i].word))
            return magics[i].kind;
    return text_starts(first, "%%") ? CELL_OTHER : CELL_PYTHON;
}

/* "!vllm serve M \" with the lines that it is carried on to; other lines are Python's. */
static void add_line(struct notebook *n, enum cell kind, bool *carried, unsigned at,
                     const char *line, size_t length)
{
    const char *word = line + strspn(line, " \t");
    bool bang = kind == CELL_PYTHON && (*word == '!' || *carried);
    if (kind == CELL_SHELL || kind == CELL_FILE) {
        append_line(&n->shell, at, line, length);
    } else if (bang) {
        const char *start = *carried ? line : word + 1;
        size_t rest = (size_t)(line + length - start);
        append_line(&n->shell, at, start, rest);
        while (rest && strchr(" \t\r", start[rest - 1]))
            rest--;
        *carried = rest && start[rest - 1] == '\\';
    } else if (kind == CELL_PYTHON && *word != '%') {
        append_line(&n->python, at, line, length);
    }
}

/* "%%writefile x.yaml" is a here-document with the rest of the cell. */
static void begin_file(struct notebook *n, unsigned at, const char *first)
{
    const char *name = first + strlen("%%writefile");
    name += strspn(name, " \t");
    bool appends = text_starts(name, "-a ");
    name += appends ? 3 : 0;
    size_t length = strcspn(name, " \t\r\n'\"");
    struct text line = {.arena = n->shell.out->arena};
    text_printf(&line, "cat %s '%.*s' <<'MOEPLAN_END_OF_CELL'", appends ? ">>" : ">",
                (int)length, name);
    append_line(&n->shell, at, text_string(&line), line.length);
}

/* A cell's text is a list of lines, or one text. */
static void add_cell(struct notebook *n, const struct node *source)
{
    const struct node *item = source->kind == NODE_SCALAR ? source : source->first;
    const char *first = item && item->kind == NODE_SCALAR ? item->text : "";
    enum cell kind = kind_of(first);
    bool carried = false, begins = true;
    if (kind == CELL_FILE)
        begin_file(n, item->mark.line, first);
    for (; item; item = source->kind == NODE_SCALAR ? NULL : item->next) {
        unsigned line = item->mark.line;
        for (const char *at = item->kind == NODE_SCALAR ? item->text : ""; *at;) {
            size_t length = strcspn(at, "\n");
            if (!begins || !text_starts(at, "%%"))
                add_line(n, kind, &carried, line, at, length);
            begins = false;
            at += length + (at[length] == '\n');
        }
    }
    if (kind == CELL_FILE)
        append_line(&n->shell, 0, "MOEPLAN_END_OF_CELL", strlen("MOEPLAN_END_OF_CELL"));
}

enum status notebook_read(const char *name, const char *text, size_t length,
                          struct text *python, struct text *script, struct err *err)
{
    struct node *root = NULL;
    TRY(source_read_job(name, text, length, python->arena, &root, err));
    const struct node *cells = root->kind == NODE_MAPPING ? node_get(root, "cells") : NULL;
    if (!cells || cells->kind != NODE_SEQUENCE)
        return err_at(err, root->mark, "a notebook has a list of cells");
    struct notebook n = {.python = {python, 1}, .shell = {script, 1}};
    for (const struct node *cell = cells->first; cell; cell = cell->next) {
        const struct node *source =
            cell->kind == NODE_MAPPING ? node_get(cell, "source") : NULL;
        if (source && node_says(cell, "cell_type", "code") &&
            python->length + script->length < NOTEBOOK_BYTES)
            add_cell(&n, source);
    }
    return STATUS_OK;
}
