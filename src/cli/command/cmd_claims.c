/* moeplan claims: every worked number of the seed documents, recomputed. */

#include "base/column.h"
#include "calib/claim/claims.h"
#include "cli/command/commands.h"
#include "cli/command/side.h"
#include "cli/frontier/table.h"
#include "report/provenance.h"

struct settings {
    unsigned only;
    bool why;
};

static const char *const verdicts[] = {"all", "agrees", "differs", "not-reproducible", NULL};

static const struct option options[] = {
    {"only", 0, OPTION_CHOICE, offsetof(struct settings, only), "VERDICT", verdicts,
     "show only claims with this verdict"},
    {"why", 0, OPTION_FLAG, offsetof(struct settings, why), NULL, NULL,
     "as text: say below every claim how it was recomputed"},
};

/* ---- columns ---- */

static const char *claim_word_of(const void *record)
{
    return claim_verdict_name(((const struct claim *)record)->verdict);
}

static const char *basis_of(const void *record)
{
    return claim_basis_name(((const struct claim *)record)->basis);
}

static bool has_error(const void *record)
{
    return ((const struct claim *)record)->has_error;
}

static const char *unit_of(const void *record)
{
    return ((const struct claim *)record)->unit;
}

#define TEXT(member, heading)                                                                  \
    {                                                                                          \
        .key = #member, .type = COLUMN_TEXT, .offset = offsetof(struct claim, member),         \
        .title = heading                                                                       \
    }

#define CELL(member)                                                                           \
    {                                                                                          \
        .key = #member, .type = COLUMN_CELL, .offset = offsetof(struct claim, member)          \
    }

static const struct column columns[] = {
    TEXT(table, NULL),
    TEXT(row, NULL),
    TEXT(quantity, NULL),
    CELL(published),
    CELL(predicted),
    {.key = "error_percent",
     .type = COLUMN_REAL,
     .offset = offsetof(struct claim, error_percent),
     .present = has_error},
    {.key = "verdict", .type = COLUMN_NAME, .name = claim_word_of},
    TEXT(unit, NULL),
    TEXT(place, NULL),
    TEXT(why, NULL),
    {.key = "basis", .type = COLUMN_NAME, .name = basis_of},
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

static const struct column text_columns[] = {
    TEXT(row, NULL),
    TEXT(quantity, NULL),
    {.key = "verdict", .type = COLUMN_NAME, .name = claim_word_of},
    TEXT(published, NULL),
    TEXT(predicted, NULL),
    {.key = "unit", .type = COLUMN_NAME, .name = unit_of, .title = ""},
};

enum { N_TEXT_COLUMNS = sizeof text_columns / sizeof *text_columns };

static const struct column note = TEXT(why, NULL);

/* ---- output ---- */

static struct table table_of(const struct claim *claims, size_t n)
{
    return (struct table){.columns = columns,
                          .n = N_COLUMNS,
                          .records = claims,
                          .n_records = n,
                          .record_size = sizeof *claims};
}

/* Claims of one document that stand together; the table's name heads each of its parts. */
static size_t same_table(const struct claim *claims, size_t n)
{
    size_t i = 1;
    while (i < n && text_equal(claims[i].table, claims[0].table))
        i++;
    return i;
}

static void print_counts(const struct invocation *call, const char *who,
                         const struct claim *claims, size_t n)
{
    size_t count[CLAIM_NOT_REPRODUCIBLE + 1] = {0};
    for (size_t i = 0; i < n; i++)
        count[claims[i].verdict]++;
    fprintf(call->out, "  %-9s%5zu claims: %3zu agree, %3zu differ, %3zu not reproducible\n",
            who, n, count[CLAIM_AGREES], count[CLAIM_DIFFERS], count[CLAIM_NOT_REPRODUCIBLE]);
}

/* How many of the answers are predictions, and how they fare apart from the rest. */
static void print_bases(const struct invocation *call, const struct claim *claims, size_t n)
{
    static const char *const names[CLAIM_BASES] = {"predictions", "fits",     "bounds",
                                                   "arithmetic",  "look-ups", "no answer"};
    size_t count[CLAIM_BASES][CLAIM_NOT_REPRODUCIBLE + 1] = {{0}};
    for (size_t i = 0; i < n; i++)
        count[claims[i].basis][claims[i].verdict]++;
    fputs("\nof all\n", call->out);
    for (unsigned b = 0; b < CLAIM_BASES; b++) {
        const size_t *c = count[b];
        size_t all = c[CLAIM_AGREES] + c[CLAIM_DIFFERS] + c[CLAIM_NOT_REPRODUCIBLE];
        fprintf(call->out,
                "  %-12s%4zu:        %3zu agree, %3zu differ, %3zu not reproducible\n",
                names[b], all, c[CLAIM_AGREES], c[CLAIM_DIFFERS], c[CLAIM_NOT_REPRODUCIBLE]);
    }
}

static void print_document(const struct invocation *call, const struct claim *claims, size_t n)
{
    const struct settings *settings = call->settings;
    const char *title = claims_title(claims[0].document);
    fprintf(call->out, "%s%s%s%s%s\n", term_style(&call->term, STYLE_BOLD), claims[0].document,
            title ? ": " : "", title ? title : "", term_plain(&call->term));
    for (size_t i = 0; i < n;) {
        size_t together = same_table(claims + i, n - i);
        struct table table = table_of(claims + i, together);
        table.columns = text_columns;
        table.n = N_TEXT_COLUMNS;
        table.indent = 2;
        table.note = settings->why ? &note : NULL;
        fprintf(call->out, "\n%s\n", claims[i].table);
        column_table(call->out, &call->term, &table, call->arena);
        i += together;
    }
    fputc('\n', call->out);
}

/* Where the next document starts. */
static size_t document_end(const struct claim *claims, size_t from, size_t n)
{
    size_t i = from;
    while (i < n && text_equal(claims[i].document, claims[from].document))
        i++;
    return i;
}

static void print_text(const struct invocation *call, const struct claim *claims, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        end = document_end(claims, i, n);
        print_document(call, claims + i, end - i);
    }
    for (size_t i = 0, end; i < n; i = end) {
        end = document_end(claims, i, n);
        print_counts(call, claims[i].document, claims + i, end - i);
    }
    print_counts(call, "all", claims, n);
    print_bases(call, claims, n);
    fputc('\n', call->out);
    provenance_text(call->out, &call->term, &(struct provenance){.seed = 1});
}

/* What stands in every JSON of claims: version, seed, how many of each verdict. */
static void write_counts(struct json *json, const struct claims *claims)
{
    provenance_json(json, &(struct provenance){.seed = 1});
    json_object(json, "counts");
    for (unsigned v = 0; v <= CLAIM_NOT_REPRODUCIBLE; v++)
        json_count(json, claim_verdict_name((enum claim_verdict)v), claims->count[v]);
    json_close(json);
}

static void print_json(FILE *out, const struct claims *claims)
{
    struct json json;
    json_init(&json, out);
    json_object(&json, NULL);
    write_counts(&json, claims);
    column_json_array(&json, "claims", columns, N_COLUMNS, claims->claims, claims->n,
                      sizeof *claims->claims);
    json_close(&json);
}

struct beside {
    const struct claims *claims;
    const char *file; /* they were read from */
};

static void write_provenance(struct json *json, const void *context)
{
    const struct beside *beside = context;
    write_counts(json, beside->claims);
    json_string(json, "command", "claims");
    json_string(json, "claims", beside->file);
}

/* ---- the command ---- */

static void keep_only(struct claims *claims, enum claim_verdict verdict)
{
    size_t kept = 0;
    for (size_t i = 0; i < claims->n; i++)
        if (claims->claims[i].verdict == verdict)
            claims->claims[kept++] = claims->claims[i];
    claims->n = kept;
}

static enum status run_claims(const struct invocation *call, struct err *err)
{
    const struct settings *settings = call->settings;
    const char *only = call->n_operands ? call->operands[0] : NULL;
    struct claims claims;
    struct csv csv;
    TRY(claims_read(call->arena, &csv, err));
    TRY(claims_evaluate(&csv, only, call->arena, &claims, err));
    if (claims.n == 0) {
        err_set(err, STATUS_USAGE, "no claim's table starts with '%s'", only ? only : "");
        return err_hint(err, "'moeplan claims' shows all tables");
    }
    if (settings->only)
        keep_only(&claims, (enum claim_verdict)(settings->only - 1));
    const struct beside beside = {&claims, csv.file};
    TRY(side_provenance(call, false, write_provenance, &beside, err));
    struct table table = table_of(claims.claims, claims.n);
    if (call->general.format == FORMAT_JSON)
        print_json(call->out, &claims);
    else if (call->general.format == FORMAT_CSV)
        column_table_csv(call->out, &table);
    else
        print_text(call, claims.claims, claims.n);
    return STATUS_OK;
}

static const char *const words[] = {"seed000", "seed001", "seed002", "seed003", NULL};

static const char *const examples[] = {
    "moeplan claims",
    "moeplan claims seed002 --why",
    "moeplan claims --only differs",
    "moeplan claims -o claims.csv",
    NULL,
};

const struct command command_claims = {
    .name = "claims",
    .operands = "[seed000 | seed001 | seed002 | seed003]",
    .summary = "the worked numbers of the documents it was built from, recomputed",
    .description =
        "Recomputes what four documents on MoE systems print, each number by the functions "
        "that also predict plans, and says whether it agrees. A value agrees when it rounds "
        "to what was printed; measured ones have a tolerance, which the reason states. What "
        "cannot be computed from the document is not reproducible, unless it violates a "
        "bound. Predictions, bounds, arithmetic on printed figures and look-ups are counted "
        "apart: the last two agree easily.\n"
        "\n"
        "The table of what was published, and where, is models/published/claims.csv. An "
        "operand selects the tables whose names start with it, such as seed001.skew. Writes "
        "CSV with -o FILE.csv.",
    .words = words,
    .examples = examples,
    .min_operands = 0,
    .max_operands = 1,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .planless = true,
    .run = run_claims,
};
