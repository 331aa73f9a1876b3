/* A training layer as eager frameworks run it; see train.h. */
#include "work/train/train.h"

#include <string.h>

#include "base/text.h"
#include "plan/derive.h"
#include "work/path/path.h"
#include "work/dispatch/dispatch_rows.h"
#include "work/piece/segments.h"

/* ---- rows ---- */

static bool has_slots(const struct train *t)
{
    return path_system_of(t->path)->exchange == EXCHANGE_CAPACITY;
}

/* A budget per rank, whatever routing asks for. */
static struct size budget_rows(struct train *t)
{
    struct work_room *room = &t->work->room;
    t->routed = RULE_FACTOR;
    room->set = true;
    room->rows = size_scale(t->z, rows_routed(&t->d.letters), REAL_BUFFER_FACTOR);
    return room->rows;
}

/* moe.buffer balanced (forced balance), a factor (a budget) and worst size rows by the plan;
 * otherwise routing does. */
static struct size received_rows(struct train *t)
{
    struct sizes *z = t->z;
    t->routed = RULE_FIXED;
    if (has_slots(t))
        return size_mul(z, t->d.letters.experts, capacity_megatron(&t->d.letters));
    if (t->plan->moe.buffer == SIZING_FACTOR)
        return budget_rows(t);
    if (t->plan->moe.buffer == SIZING_BALANCED)
        return rows_routed(&t->d.letters);
    t->routed = t->plan->moe.buffer == SIZING_WORST ? RULE_WORST : RULE_ROUTING;
    return t->routed == RULE_WORST ? rows_worst(&t->d.letters) : t->d.letters.rows;
}

/* Rows that the exchange makes, as the stack sizes them. */
static void fill_rows(struct train *t)
{
    struct sizes *z = t->z;
    const struct letters *x = &t->d.letters;
    struct size *rows = t->d.rows;
    rows[ROW_RECEIVED] = received_rows(t);
    rows[ROW_SENT] = has_slots(t) ? rows[ROW_RECEIVED] : rows_routed(x);
    if (t->routed == RULE_ROUTING)
        rows[ROW_RECEIVED_TOKENS] = x->received;
    if (t->routed == RULE_WORST)
        rows[ROW_RECEIVED_TOKENS] = rows_worst_tokens(x);
    rows[ROW_ROUTED] = rows[ROW_SENT];
    t->received_rule = t->routed;
    rows[ROW_COMPUTED] = size_mul(z, rows[ROW_RECEIVED], size_slot(z, SLOT_ETP));
}

/* ---- ticks ---- */

static unsigned exchange_of(enum moe_path path)
{
    enum path_exchange exchange = path_system_of(path)->exchange;
    if (exchange == EXCHANGE_GATHER)
        return FACT_ALLGATHER;
    return exchange == EXCHANGE_TOKENS ? FACT_FLEX : FACT_ALLTOALL;
}

static const struct train_op_row {
    const char *name;
    enum op_kind kind;
} op_rows[] = {
#define TRAIN_ROW(name, text, kind) {text, OP_##kind},
    MODULE_LIST(TRAIN_ROW)
#undef TRAIN_ROW
};

static void add_tick(struct train *t, enum segment segment, enum module op, enum phase phase)
{
    static const char *const backward[] = {
#define TRAIN_BACKWARD_NAME(name, text, kind) "d_" text,
        MODULE_LIST(TRAIN_BACKWARD_NAME)
#undef TRAIN_BACKWARD_NAME
    };
    work_tick(t->work,
              (struct tick){.name = phase == PHASE_FORWARD ? op_rows[op].name : backward[op],
                            .kind = op_rows[op].kind,
                            .segment = segment,
                            .phase = phase});
}

static void add_ticks(struct train *t, enum segment segment)
{
    t->base[segment] = (uint16_t)t->work->n_ticks;
    for (unsigned op = 0; op < MODULES; op++)
        add_tick(t, segment, (enum module)op, PHASE_FORWARD);
    for (unsigned op = MODULES; op-- > 0;)
        add_tick(t, segment, (enum module)op, PHASE_BACKWARD);
}

/* Whole layers in host memory are the first of the model, of whatever kind (Megatron
 * cpu_offloading_num_layers). */
static void fill_away(struct train *t)
{
    uint64_t count[KIND_COUNT] = {0};
    if (plan_is_megatron(t->plan))
        model_layers(&t->plan->model, 0, t->plan->recompute.offload_layers, count);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        t->away[k] = (uint16_t)count[k];
}

/* Of mixers that no layer has, as full attention. */
static void fill_mixers(struct train *t)
{
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        t->mixer[m] = t->d;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum mixer mixer = kind_mixer((enum layer_kind)k);
        if (t->kinds[k])
            dims_mixer(&t->mixer[mixer], mixer);
    }
}

void train_init(struct train *t, const struct plan *plan, struct work *work, enum moe_path path)
{
    *t = (struct train){.plan = plan, .work = work, .z = &work->sizes, .path = path};
    dims_fill(&t->d, plan, t->z);
    t->d.facts |= exchange_of(path);
    fill_rows(t);
    fill_away(t);
    segments_use(plan, work);
    work->alternating = plan->model.moe_every > 1 || plan->model.layer_types.n;
    segments_kinds(plan, t->kinds);
    fill_mixers(t);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (t->kinds[k])
            add_ticks(t, segment_of_kind((enum layer_kind)k));
}

/* ---- names ---- */

static const char *name_at(const void *table, size_t i)
{
    return ((const struct train_name *)table)[i].name;
}

/* A typing error is answered with what was meant, another word with what there is. */
static enum status hint_names(const char *word, const struct train_name *names, size_t n,
                              struct err *err)
{
    const char *nearest = text_nearest(word, n, name_at, names);
    struct arena arena = {0};
    struct text list = {.arena = &arena};
    if (nearest && 3 * text_distance(word, nearest) <= strlen(word))
        return err_hint(err, "did you mean '%s'?", nearest);
    for (size_t i = 0; i < n; i++)
        text_printf(&list, "%s%s", i ? ", " : "known: ", names[i].name);
    err_hint(err, "%s", text_string(&list));
    arena_release(&arena);
    return STATUS_INPUT;
}

enum status train_names(const struct word_list *words, const struct train_name *names,
                        const char *what, unsigned *bits, struct err *err)
{
    size_t n = 0;
    while (names[n].name)
        n++;
    for (uint64_t i = 0; i < words->n; i++) {
        size_t j = 0;
        while (j < n && !text_equal(names[j].name, words->word[i]))
            j++;
        if (j < n) {
            *bits |= names[j].bits;
            continue;
        }
        err_set(err, STATUS_INPUT, "%s: no module is called '%s'", what, words->word[i]);
        return hint_names(words->word[i], names, n, err);
    }
    return STATUS_OK;
}

void train_host_syncs(struct train *t, uint64_t n)
{
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum segment segment = segment_of_kind((enum layer_kind)k);
        if (t->kinds[k] && segment_has_experts(segment))
            t->work->ticks[t->base[segment] + MODULE_DISPATCH].host_syncs = size_const(t->z, n);
    }
}
