/* See trace.h. */
#include "cli/command/trace.h"

#include "base/output.h"
#include "cli/command/side.h"

enum status trace_not_output(const struct invocation *call, const char *file, struct err *err)
{
    if (call->general.output && side_same(call->general.output, file))
        return err_set(err, STATUS_USAGE, "options '-o' and '--trace' name one file, '%s'",
                       file);
    return STATUS_OK;
}

enum status trace_check(const struct invocation *call, const char *file, struct err *err)
{
    if (text_equal(file, "-") || !file[0])
        return err_set(err, STATUS_USAGE, "option '--trace' takes a file's name");
    TRY(trace_not_output(call, file, err));
    return side_check_named(call, "--trace", file, err);
}

enum status trace_write(const struct trace_view *view, const char *file, struct err *err)
{
    struct output output;
    TRY(output_open(&output, file, err));
    trace_print_json(view, output.file);
    return output_close(&output, err);
}
