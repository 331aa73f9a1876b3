/* See side.h. */
#include "cli/command/side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/output.h"

enum { SIDE_BYTES = 64 << 20 };

/* ---- names ---- */

static bool same_folder(const char *a, const char *b)
{
    const char *const paths[] = {a, b};
    struct stat folder[2];
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        size_t length = (size_t)(text_base_name(paths[i]) - paths[i]);
        const char *path = length ? arena_strndup(&arena, paths[i], length) : ".";
        bool found = stat(path, &folder[i]) == 0;
        arena_release(&arena);
        if (!found)
            return false;
    }
    return folder[0].st_dev == folder[1].st_dev && folder[0].st_ino == folder[1].st_ino;
}

bool side_same(const char *a, const char *b)
{
    struct stat first, second;
    if (stat(a, &first) == 0 && stat(b, &second) == 0)
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
    return text_equal(text_base_name(a), text_base_name(b)) && same_folder(a, b);
}

static bool is_read(const struct invocation *call, const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return false;
    for (size_t i = 0; i < call->n_operands; i++)
        if (side_same(call->operands[i], path))
            return true;
    return false;
}

enum status side_check_named(const struct invocation *call, const char *option,
                             const char *path, struct err *err)
{
    if (call->general.force || !is_read(call, path))
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "%s %s: this call reads that file", option, path);
    return err_hint(err, "give another name; --force replaces it");
}

/* ---- signatures ---- */

static const char sign_all[] = "# as written: all above ";

static void table_line(struct text *out, const char *path, const char *table, size_t length)
{
    text_printf(out, "# as written: ./%s %016" PRIx64 "\n", text_base_name(path),
                hash_bytes(HASH_START, table, length));
}

void side_sign_table(struct text *script, const char *path, const struct text *table)
{
    table_line(script, path, text_string(table), table->length);
}

void side_sign(struct text *script)
{
    uint64_t sum = hash_bytes(HASH_START, text_string(script), script->length);
    text_printf(script, "%s%016" PRIx64 "\n", sign_all, sum);
}

/* The script ends in its own signature. */
static bool is_whole_script(const char *text, size_t length)
{
    char line[sizeof sign_all + 17];
    size_t size = sizeof line - 1;
    if (length < size)
        return false;
    snprintf(line, sizeof line, "%s%016" PRIx64 "\n", sign_all,
             hash_bytes(HASH_START, text, length - size));
    return memcmp(text + length - size, line, size) == 0;
}

static bool is_signed_table(const char *path, const char *script, const char *table,
                            size_t length, struct arena *arena)
{
    struct text line = {.arena = arena};
    struct err ignored = {0};
    char *text;
    size_t script_length;
    table_line(&line, path, table, length);
    return file_read(script, SIDE_BYTES, arena, &text, &script_length, &ignored) == STATUS_OK &&
           strstr(text, text_string(&line));
}

static bool is_provenance(const char *text)
{
    return text_starts(text, "{\n  \"schema_version\": ") &&
           strstr(text, "\n  \"command\": \"");
}

/* ---- may it be written ---- */

static bool is_ours(const char *path, const char *script, const char *text, size_t length,
                    struct arena *arena)
{
    if (!script)
        return is_provenance(text);
    if (text_equal(path, script))
        return is_whole_script(text, length);
    return is_signed_table(path, script, text, length, arena);
}

static enum status refuse(const char *path, const char *why, struct err *err)
{
    err_set(err, STATUS_INPUT, "cannot write '%s': %s", path, why);
    return err_hint(err, "give another name to what is asked for; --force replaces it");
}

/* `wanted`: what is to be written, or NULL when that is not known yet; *held: it stands there.
 */
static enum status check(const struct invocation *call, const char *path, const char *script,
                         const struct text *wanted, bool *held, struct err *err)
{
    struct arena arena = {0};
    struct err unread = {0};
    struct stat file;
    char *text = NULL;
    size_t length = 0;
    *held = false;
    if (call->general.force || (stat(path, &file) != 0 && errno == ENOENT))
        return STATUS_OK;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return refuse(path, "it is no regular file", err);
    bool ours = file_read(path, SIDE_BYTES, &arena, &text, &length, &unread) == STATUS_OK;
    *held = ours && wanted && length == wanted->length &&
            memcmp(text, text_string(wanted), length) == 0;
    ours = ours && is_ours(path, script, text, length, &arena);
    arena_release(&arena);
    if (*held)
        return STATUS_OK;
    if (is_read(call, path))
        return refuse(path, "this call reads it", err);
    return ours ? STATUS_OK
                : refuse(path, "moeplan did not write it, or it was changed since", err);
}

enum status side_refuse_yaml(const struct invocation *call, const char *option, struct err *err)
{
    const char *output = call->general.output;
    if (!output || !(text_ends(output, ".yaml") || text_ends(output, ".yml")))
        return STATUS_OK;
    err_set(err, STATUS_USAGE, "-o %s would hold what is printed here, which is no YAML",
            output);
    return err_hint(err, "%s %s writes what plans can name", option, output);
}

enum status side_check(const struct invocation *call, const char *path, const char *script,
                       struct err *err)
{
    bool held;
    return check(call, path, script, NULL, &held, err);
}

enum status side_write(const struct invocation *call, const char *path, const char *script,
                       const struct text *text, struct err *err)
{
    struct output output;
    bool held;
    TRY(check(call, path, script, text, &held, err));
    if (held)
        return STATUS_OK;
    TRY(output_open(&output, path, err));
    fwrite(text_string(text), 1, text->length, output.file);
    return output_close(&output, err);
}

/* ---- provenance ---- */

static const char *provenance_file(const struct invocation *call, bool rows)
{
    static const char csv[] = ".csv", json[] = ".json";
    const char *file = call->general.output ? call->general.output : "";
    int length = (int)strlen(file);
    if (text_ends(file, csv))
        return arena_printf(call->arena, "%.*s.json", length - (int)strlen(csv), file);
    if (rows && call->general.format == FORMAT_JSON && text_ends(file, json))
        return arena_printf(call->arena, "%.*s.provenance.json", length - (int)strlen(json),
                            file);
    return NULL;
}

enum status side_provenance_check(const struct invocation *call, bool rows, struct err *err)
{
    const char *file = provenance_file(call, rows);
    return file ? side_check(call, file, NULL, err) : STATUS_OK;
}

enum status side_provenance(const struct invocation *call, bool rows,
                            void (*write)(struct json *json, const void *context),
                            const void *context, struct err *err)
{
    const char *file = provenance_file(call, rows);
    char *written = NULL;
    size_t length = 0;
    struct text text = {.arena = call->arena};
    struct json json;
    FILE *memory = file ? open_memstream(&written, &length) : NULL;
    if (!file)
        return STATUS_OK;
    if (!memory)
        return err_set(err, STATUS_SYSTEM, "no memory for what belongs into '%s'", file);
    json_init(&json, memory);
    json_object(&json, NULL);
    write(&json, context);
    json_close(&json);
    fclose(memory);
    text_append_n(&text, written, length);
    free(written);
    return side_write(call, file, NULL, &text, err);
}
