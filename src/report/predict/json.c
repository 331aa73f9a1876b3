/* A prediction as the JSON of the contract. */
#include "report/fixes.h"
#include "report/plan_json.h"
#include "report/predict/print.h"
#include "plan/derive.h"
#include "plan/schema/schema.h"
#include "work/stack/stack.h"

/* One record as an object. */
static void write_record(struct json *json, const char *key,
                         const struct column *(*columns_of)(size_t *n), const void *record)
{
    size_t n;
    const struct column *columns = columns_of(&n);
    json_object(json, key);
    column_json(json, columns, n, record);
    json_close(json);
}

static void write_wall(struct json *json, const char *key, const struct buffer_report *wall)
{
    if (wall)
        write_record(json, key, wall_columns, wall);
}

/* Where the peak is, and each pipeline stage at its own. */
static void write_peak(struct json *json, const struct memory_report *memory)
{
    const struct peak_report *peak = &memory->peak;
    size_t n;
    const struct column *columns = stage_columns(&n);
    if (!peak->segment)
        return;
    write_record(json, "peak", peak_columns, peak);
    column_json_array(json, "stages", columns, n, memory->stages, memory->n_stages,
                      sizeof *memory->stages);
}

static void write_memory(struct json *json, const struct memory_report *memory)
{
    size_t n;
    const struct column *columns = memory_columns(&n);
    json_object(json, "memory");
    column_json(json, columns, n, memory);
    columns = distribution_columns(&n);
    if (memory->has_distribution)
        column_json(json, columns, n, memory);
    columns = category_columns(&n);
    column_json_array(json, "categories", columns, n, memory->categories, memory->n_categories,
                      sizeof *memory->categories);
    columns = buffer_columns(&n);
    column_json_array(json, "buffers", columns, n, memory->buffers, memory->n_buffers,
                      sizeof *memory->buffers);
    write_peak(json, memory);
    write_wall(json, "wall", memory->wall);
    write_wall(json, "largest", memory->largest);
    write_wall(json, "address_wall", memory->address_wall);
    write_wall(json, "int_wall", memory->int_wall);
    columns = fix_columns(&n);
    if (predict_lacks_memory(memory))
        column_json_array(json, "fixes", columns, n, memory->fixes, memory->n_fixes,
                          sizeof *memory->fixes);
    json_close(json);
}

static void write_lines(struct json *json, const char *key, const char *const *lines, size_t n)
{
    if (n == 0)
        return;
    json_array(json, key);
    for (size_t i = 0; i < n; i++)
        json_string(json, NULL, lines[i]);
    json_close(json);
}

/* Tables beside the sections of the contract: the trade of capacity factors, block choices. */
static void write_moe(struct json *json, const struct moe_report *moe)
{
    size_t n;
    const struct column *columns = trade_columns(&n);
    if (moe->n_trade)
        column_json_array(json, "capacity_trade", columns, n, moe->trade, moe->n_trade,
                          sizeof *moe->trade);
    columns = block_columns(&n);
    if (moe->intensity.has_blocks)
        column_json_array(json, "block_guidance", columns, n, moe->intensity.blocks,
                          BLOCK_CHOICES, sizeof *moe->intensity.blocks);
    write_lines(json, "advice", moe->advice, moe->n_advice);
}

static void write_slice(struct json *json, const struct slice_report *slice)
{
    size_t n;
    const struct column *columns = op_columns(&n);
    json_object(json, "run");
    json_count(json, "ranks", slice->ranks);
    json_object(json, "memory");
    json_count(json, "peak_bytes", slice->peak_bytes);
    json_array(json, "categories");
    for (unsigned c = 0; c < CATEGORY_COUNT; c++) {
        if (!slice->category[c])
            continue;
        const struct category_bytes one = {(enum category)c, slice->category[c]};
        write_record(json, NULL, category_columns, &one);
    }
    json_close(json);
    json_close(json);
    column_json_array(json, "ops", columns, n, slice->ops, slice->n, sizeof *slice->ops);
    json_close(json);
}

/* Ops of one rank and one routing sample, both named. */
static void write_ops(struct json *json, const struct prediction *prediction)
{
    size_t n;
    const struct column *columns;
    if (!prediction->has_ops)
        return;
    columns = ops_columns(&n);
    column_json(json, columns, n, &prediction->ops);
    columns = op_columns(&n);
    column_json_array(json, "ops", columns, n, prediction->ops.ops, prediction->ops.n,
                      sizeof *prediction->ops.ops);
    predict_json_comm(json, &prediction->ops);
    if (prediction->has_slice)
        write_slice(json, &prediction->slice);
}

/* The path taken and what computes the experts, and why: either may be `auto`. */
static void write_path(struct json *json, const struct plan *plan)
{
    const char *why = "";
    json_object(json, "path");
    json_string(json, "name", words_path[stack_path(plan, &why)]);
    json_string(json, "reason", why);
    json_close(json);
    enum expert_backend experts = stack_experts(plan, &why);
    if (experts == EXPERTS_AUTO) /* a stack without such a choice */
        return;
    json_object(json, "experts");
    json_string(json, "name", words_experts[experts]);
    json_string(json, "reason", why);
    json_close(json);
}

static void write_pools(struct json *json, const struct prediction *prediction)
{
    size_t n;
    const struct column *columns = pool_columns(&n);
    if (prediction->n_pools)
        column_json_array(json, "pools", columns, n, prediction->pools, prediction->n_pools,
                          sizeof *prediction->pools);
}

static void write_limit_fixes(struct json *json, const struct prediction *prediction)
{
    size_t n;
    const struct column *columns = fix_columns(&n);
    if (prediction->n_limit_fixes)
        column_json_array(json, "limit_fixes", columns, n, prediction->limit_fixes,
                          prediction->n_limit_fixes, sizeof *prediction->limit_fixes);
}

static void write_notes(struct json *json, const struct prediction *prediction)
{
    size_t n;
    const struct column *columns = note_columns(&n);
    if (prediction->n_notes)
        column_json_array(json, "notes", columns, n, prediction->notes, prediction->n_notes,
                          sizeof *prediction->notes);
}

void predict_print_json(const struct predict_view *view)
{
    const struct prediction *prediction = view->prediction;
    struct json json;
    size_t n;
    json_init(&json, view->out);
    json_object(&json, NULL);
    provenance_json(&json, &view->provenance);
    plan_json(&json, "plan", "", view->plan);
    if (plan_has_experts(view->plan))
        write_path(&json, view->plan);
    write_memory(&json, &prediction->memory);
    write_pools(&json, prediction);
    write_limit_fixes(&json, prediction);
    write_notes(&json, prediction);
    const struct predict_section *sections = predict_sections(&n);
    for (size_t i = 0; i < n; i++) {
        if (sections[i].present && !sections[i].present(prediction))
            continue;
        json_object(&json, sections[i].key);
        column_json(&json, sections[i].columns, sections[i].n_columns,
                    (const char *)prediction + sections[i].offset);
        json_close(&json);
    }
    write_moe(&json, &prediction->moe);
    if (prediction->time.present)
        predict_json_time(&json, view);
    write_ops(&json, prediction);
    write_lines(&json, "assumptions", prediction->assumptions, prediction->n_assumptions);
    json_close(&json);
}
