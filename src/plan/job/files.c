/* Other files that a job names: here-documents of its script, and files beside it. */
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json_read.h"
#include "plan/job/reader.h"
#include "plan/text/toml.h"

enum status job_other_file(struct job *job, const char *name, const char **path,
                           const char **text, size_t *length)
{
    *text = NULL;
    *path = name;
    for (size_t i = job->shell ? job->shell->n_files : 0; i > 0; i--) {
        const struct shell_file *file = &job->shell->files[i - 1];
        if (!text_equal(file->name, name))
            continue;
        if (file->trouble)
            return err_at(job->err, file->mark, "file '%s' is not known: %s", name,
                          file->trouble);
        *text = file->text;
        *length = strlen(file->text);
        return STATUS_OK;
    }
    if (text_equal(job->file, "-") || name[0] == '\0' || text_equal(name, "-"))
        return STATUS_OK;
    char *read = NULL;
    struct err ignored = {0};
    const char *tries[] = {arena_printf(job->arena, "%s/%s", job->folder, name), name};
    for (size_t i = name[0] == '/'; i < 2; i++) {
        struct stat info;
        err_clear(&ignored);
        if (stat(tries[i], &info) != 0 || !S_ISREG(info.st_mode))
            continue;
        if (file_read(tries[i], JOB_BYTES, job->arena, &read, length, &ignored) != STATUS_OK)
            continue;
        *text = read;
        *path = tries[i];
        return STATUS_OK;
    }
    return STATUS_OK;
}

enum status job_check_json(const char *name, const char *text, size_t length,
                           const struct job_framework *framework, struct err *err)
{
    bool loose = framework && framework->loose_json;
    return text_ends(name, ".json") && !loose ? json_read_check(name, text, length, err)
                                              : STATUS_OK;
}

enum status job_add_file(struct job *job, const char *name, unsigned layer, bool *found)
{
    const char *path, *text;
    size_t length;
    struct node *root = NULL;
    unsigned before = job->layer;
    TRY(job_other_file(job, name, &path, &text, &length));
    *found = text != NULL;
    if (!text)
        return STATUS_OK;
    bool trained = job->framework == &job_deepspeed; /* its file is read by a trainer, mostly */
    if (!job->loose_json)
        TRY(job_check_json(path, text, length, trained ? NULL : job->framework, job->err));
    TRY(text_ends(path, ".toml")
            ? toml_read(path, text, length, job->arena, &root, job->err)
            : source_read_job(path, text, length, job->arena, &root, job->err));
    if (root->kind != NODE_MAPPING)
        return err_at(job->err, root->mark, "a file of settings is a mapping");
    job->layer = layer;
    enum status status = job_add_node(job, "", root);
    job->layer = before;
    return status;
}

enum status job_need_file(struct job *job, const char *flag, const char *name, unsigned layer)
{
    bool found = true;
    if (name)
        TRY(job_add_file(job, name, layer, &found));
    if (found)
        return STATUS_OK;
    job_fail(job, flag, "file '%s' is not there", name);
    return err_hint(job->err, "it is looked for beside the job and in the working directory");
}

enum status job_flag_file(struct job *job, const char *flag, unsigned layer)
{
    const char *name = NULL;
    TRY(job_word(job, flag, &name));
    return job_need_file(job, flag, name, layer);
}

enum status job_flag_text(struct job *job, const char *flag, unsigned layer)
{
    const struct setting text = *job_setting(job, flag); /* it moves as others are added */
    unsigned before = job->layer;
    job->layer = layer;
    enum status status = job_add_mapping(job, "", &text);
    job->layer = before;
    return status;
}
