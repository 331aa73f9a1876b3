/* Slots from a plan; see shape.h. */
#include "work/list/shape.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/piece/stage.h"

const char *slot_symbol(enum slot slot)
{
    static const char *const symbols[] = {
#define SLOT_SYMBOL(name, symbol, meaning) symbol,
        SLOT_LIST(SLOT_SYMBOL)
#undef SLOT_SYMBOL
#define KIND_LAYERS_SYMBOL(name, mixer, ffn, text, word) "l[" text "]",
            LAYER_KIND_LIST(KIND_LAYERS_SYMBOL)
#undef KIND_LAYERS_SYMBOL
#define KIND_IN_FLIGHT_SYMBOL(name, mixer, ffn, text, word) "n_flight[" text "]",
                LAYER_KIND_LIST(KIND_IN_FLIGHT_SYMBOL)
#undef KIND_IN_FLIGHT_SYMBOL
#define KIND_KEPT_SYMBOL(name, mixer, ffn, text, word) "l_kept[" text "]",
                    LAYER_KIND_LIST(KIND_KEPT_SYMBOL)
#undef KIND_KEPT_SYMBOL
#define KIND_KEPT_IN_FLIGHT_SYMBOL(name, mixer, ffn, text, word) "n_flight_kept[" text "]",
                        LAYER_KIND_LIST(KIND_KEPT_IN_FLIGHT_SYMBOL)
#undef KIND_KEPT_IN_FLIGHT_SYMBOL
#define KIND_PLAIN_SYMBOL(name, mixer, ffn, text, word) "l_plain[" text "]",
                            LAYER_KIND_LIST(KIND_PLAIN_SYMBOL)
#undef KIND_PLAIN_SYMBOL
#define KIND_PLAIN_IN_FLIGHT_SYMBOL(name, mixer, ffn, text, word) "n_flight_plain[" text "]",
                                LAYER_KIND_LIST(KIND_PLAIN_IN_FLIGHT_SYMBOL)
#undef KIND_PLAIN_IN_FLIGHT_SYMBOL
#define KIND_BACK_SYMBOL(name, mixer, ffn, text, word) "l_back[" text "]",
                                    LAYER_KIND_LIST(KIND_BACK_SYMBOL)
#undef KIND_BACK_SYMBOL
#define KIND_TRAINED_SYMBOL(name, mixer, ffn, text, word) "l_trained[" text "]",
                                        LAYER_KIND_LIST(KIND_TRAINED_SYMBOL)
#undef KIND_TRAINED_SYMBOL
#define KIND_AWAY_SYMBOL(name, mixer, ffn, text, word) "l_away[" text "]",
                                            LAYER_KIND_LIST(KIND_AWAY_SYMBOL)
#undef KIND_AWAY_SYMBOL
#define KIND_ADAPTED_SYMBOL(name, mixer, ffn, text, word) "l_adapted[" text "]",
                                                LAYER_KIND_LIST(KIND_ADAPTED_SYMBOL)
#undef KIND_ADAPTED_SYMBOL
    };
    static_assert(sizeof symbols / sizeof *symbols == SLOT_COUNT, "a symbol for each slot");
    return symbols[slot];
}

enum slot slot_kind_layers(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_LAYERS + (unsigned)kind);
}

enum slot slot_kind_in_flight(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_IN_FLIGHT + (unsigned)kind);
}

enum slot slot_kind_kept(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_KEPT + (unsigned)kind);
}

enum slot slot_kind_kept_in_flight(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_KEPT_IN_FLIGHT + (unsigned)kind);
}

enum slot slot_kind_plain(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_PLAIN + (unsigned)kind);
}

enum slot slot_kind_plain_in_flight(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_PLAIN_IN_FLIGHT + (unsigned)kind);
}

enum slot slot_kind_back(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_BACK + (unsigned)kind);
}

enum slot slot_kind_trained(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_TRAINED + (unsigned)kind);
}

enum slot slot_kind_away(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_AWAY + (unsigned)kind);
}

enum slot slot_kind_adapted(enum layer_kind kind)
{
    return (enum slot)(SLOT_KIND_ADAPTED + (unsigned)kind);
}

enum slot slot_held(enum slot slot)
{
    bool routed = slot >= SLOT_ROWS && slot < SLOT_ROWS + SLOTS_ROUTED;
    return routed ? (enum slot)(SLOT_HELD_ROWS + (slot - SLOT_ROWS)) : slot;
}

const char *real_symbol(enum real_slot slot)
{
    static const char *const symbols[] = {"cf", "factor", "offload"};
    return symbols[slot];
}

struct head_slots slots_of_heads(const struct model *model, enum mixer mixer)
{
    const struct attention a = model_attention(model, mixer),
                           others = model_attention(model, MIXER_FULL);
    bool own = a.heads != others.heads || a.kv_heads != others.kv_heads ||
               a.head_dim != others.head_dim || a.v_head_dim != others.v_head_dim;
    struct head_slots s =
        own ? (struct head_slots){SLOT_WINDOW_HEADS, SLOT_WINDOW_KV_HEADS, SLOT_WINDOW_HEAD_DIM,
                                  SLOT_WINDOW_V_DIM}
            : (struct head_slots){SLOT_HEADS, SLOT_KV_HEADS, SLOT_HEAD_DIM, SLOT_V_DIM};
    if (a.kind != ATTENTION_MLA && a.v_head_dim == a.head_dim)
        s.v_dim = s.head_dim;
    return s;
}

static void fill_model(const struct model *model, uint64_t *v)
{
    const struct attention window = model_attention(model, MIXER_WINDOW);
    const struct attention *a = &model->attention;
    v[SLOT_HIDDEN] = model->hidden;
    v[SLOT_LATENT] = model->moe.latent_size;
    v[SLOT_TOP_K] = model->moe.top_k;
    v[SLOT_LOGICAL_EXPERTS] = model->moe.experts;
    v[SLOT_INTER_FULL] = model->moe.intermediate;
    v[SLOT_SHARED_INTER] = model->moe.shared_intermediate;
    v[SLOT_DENSE_INTER] = model->dense_intermediate;
    v[SLOT_BORROW_INTER] = model_dense_width(model, MIXER_BORROW);
    v[SLOT_LAYER_EMBEDDING] = model->layer_embedding.width;
    v[SLOT_LAYER_VOCAB] = model->layer_embedding.vocab;
    v[SLOT_RESIDUAL_INTER] = model->residual_intermediate;
    v[SLOT_VOCAB] = model->vocab;
    v[SLOT_LABELS] = model->labels;
    v[SLOT_LAYERS] = model->layers;
    v[SLOT_DENSE_LAYERS] = model->dense_layers;
    v[SLOT_HEADS] = a->heads;
    v[SLOT_KV_HEADS] = a->kv_heads;
    v[SLOT_HEAD_DIM] = a->head_dim;
    v[SLOT_Q_RANK] = a->q_lora_rank;
    v[SLOT_KV_RANK] = a->kv_lora_rank;
    v[SLOT_NOPE_DIM] = a->qk_nope_head_dim;
    v[SLOT_ROPE_DIM] = a->qk_rope_head_dim;
    v[SLOT_V_DIM] = a->v_head_dim;
    v[SLOT_WINDOW_HEADS] = window.heads;
    v[SLOT_WINDOW_KV_HEADS] = window.kv_heads;
    v[SLOT_WINDOW_HEAD_DIM] = window.head_dim;
    v[SLOT_WINDOW_V_DIM] = window.v_head_dim;
    v[SLOT_GROUPS] = model->moe.router.groups;
    v[SLOT_LINEAR_HEADS] = model->linear.heads;
    v[SLOT_LINEAR_HEAD_DIM] = model->linear.head_dim;
    v[SLOT_LINEAR_KEY_HEADS] = model->linear.key_heads;
    v[SLOT_LINEAR_KEY_DIM] = model->linear.key_dim;
    v[SLOT_LINEAR_CONV] = model->linear.conv;
    v[SLOT_LINEAR_RANK] = model->linear.rank;
    v[SLOT_LINEAR_CHUNK] = model->linear.chunk;
    v[SLOT_INDEX_HEADS] = model->indexer.heads;
    v[SLOT_INDEX_DIM] = model->indexer.head_dim;
    v[SLOT_INDEX_TOP_K] = model->indexer.top_k;
    v[SLOT_INDEX_BLOCK] = model->indexer.block;
    v[SLOT_CSA_RATIO] = a->csa_ratio;
    v[SLOT_HCA_RATIO] = a->hca_ratio;
    v[SLOT_O_GROUPS] = a->o_groups;
    v[SLOT_O_RANK] = a->o_lora_rank;
    v[SLOT_STREAMS] = model->residual_streams;
}

static void fill_parallel(const struct plan *plan, uint64_t *v)
{
    const struct parallel *p = &plan->parallel;
    v[SLOT_TP] = p->tp;
    v[SLOT_PP] = p->pp;
    v[SLOT_VPP] = p->vpp;
    v[SLOT_CP] = p->cp;
    v[SLOT_EP] = p->ep;
    v[SLOT_ETP] = p->etp;
    v[SLOT_DP] = plan_dp(plan);
    v[SLOT_EXPERT_DP] = plan_expert_dp(plan);
    v[SLOT_WORLD] = plan_world(plan);
    v[SLOT_NODE] = plan_linked_ranks(plan);
    v[SLOT_SMS] = plan->moe.dispatch_sms;
    v[SLOT_UNITS] = plan->cluster.device.units;
}

/* Rows whose logits a rank makes. A split context lays a sequence's end on its last ranks: of
 * those the fullest has as many as it has tokens, at most. */
static uint64_t head_rows(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    bool overflow = false;
    uint64_t rows = checked_mul(plan_tokens(plan), plan_token_ranks(plan), &overflow);
    uint64_t kept = checked_mul(w->micro_batch, w->logits_to_keep, &overflow);
    return plan_keeps_logits(plan) ? lesser(rows, kept) : rows;
}

/* Rows whose logits Liger's fused linear cross entropy makes at once: ceil(rows / ceil(V / H)),
 * rounded up to a power of two (training-stacks.md 5). */
static uint64_t loss_rows(const struct plan *plan)
{
    uint64_t hidden = plan->model.hidden, vocab = plan->model.vocab, power = 1;
    uint64_t rows = head_rows(plan);
    uint64_t parts = ceil_div(vocab, hidden ? hidden : 1);
    uint64_t part = ceil_div(rows, parts ? parts : 1);
    while (power < part && power < (UINT64_C(1) << 62))
        power *= 2;
    return power;
}

/* Tokens compete for slots inside a group: a sequence, or all tokens of the rank where it has
 * no whole sequences or they are not asked for. */
static uint64_t competing_groups(const struct plan *plan)
{
    uint64_t tokens = plan_tokens(plan), sequences = plan->workload.micro_batch;
    bool split = plan->moe.capacity_scope == CAPACITY_SEQUENCE && sequences > 0 &&
                 tokens % sequences == 0;
    return split ? sequences : 1;
}

static void fill_layer(const struct plan *plan, uint64_t *v)
{
    const struct workload *w = &plan->workload;
    v[SLOT_ACCUMULATION] = plan_micro_batches(plan);
    v[SLOT_HEAD_ROWS] = head_rows(plan);
    v[SLOT_LOSS_ROWS] = loss_rows(plan);
    v[SLOT_COMPETING] = competing_groups(plan);
    v[SLOT_TOKENS] = plan_tokens(plan);
    v[SLOT_SEQUENCE_FULL] = w->sequence_length;
    v[SLOT_ATTENDED] = plan_attention_length(plan);
    v[SLOT_SEQUENCE] = ceil_div(plan_sequence_tokens(plan), plan_sequence_ranks(plan));
    v[SLOT_MICRO_BATCH] = w->micro_batch;
    v[SLOT_CONTEXT] = w->context_length;
    v[SLOT_MAX_SEQS] = engine_sequences(plan);
    v[SLOT_STEP_TOKENS] = plan_is_engine(plan) ? engine_tokens(plan) : 0;
    v[SLOT_IMAGES] = plan->model.encoder.layers ? engine_images(plan) : 0;
    v[SLOT_BATCHES] = engine_batches(plan);
    v[SLOT_MOE_LAYERS] = plan_moe_layers(plan);
    v[SLOT_EXPERTS] = plan_experts_total(plan);
    v[SLOT_LOCAL_EXPERTS] = plan_local_experts(plan);
    v[SLOT_INTER] = plan_expert_width(plan);
    v[SLOT_BLOCK] = plan->moe.block_size;
    v[SLOT_ALIGNMENT] = plan->moe.alignment;
    v[SLOT_CHUNK] = plan->moe.chunk;
    v[SLOT_WORKERS] = 1;
}

/* Balanced routing: every rank receives what it sends, the fullest one more where ep does not
 * divide the experts (plan_spreads_remainder). */
static void fill_balanced(const struct plan *plan, struct slots *slots)
{
    uint64_t *v = slots->value, tokens = plan_joined_tokens(plan);
    uint64_t experts = v[SLOT_EXPERTS], ep = v[SLOT_EP];
    bool overflow = false;
    uint64_t rows = checked_mul(tokens, v[SLOT_TOP_K], &overflow);
    if (experts && ep && experts % ep) {
        uint64_t held = checked_mul(v[SLOT_LOCAL_EXPERTS], ep, &overflow);
        rows = ceil_div(checked_mul(rows, held, &overflow), experts);
    }
    uint64_t copies = v[SLOT_EP] < v[SLOT_TOP_K] ? v[SLOT_EP] : v[SLOT_TOP_K];
    v[SLOT_ROWS] = rows;
    v[SLOT_PADDED_ROWS] = rows;
    v[SLOT_RECEIVED] = checked_mul(tokens, copies, &overflow);
    v[SLOT_HOT_EXPERT] = v[SLOT_LOCAL_EXPERTS] ? ceil_div(rows, v[SLOT_LOCAL_EXPERTS]) : 0;
    memcpy(&v[SLOT_HELD_ROWS], &v[SLOT_ROWS], SLOTS_ROUTED * sizeof *v);
    slots->n_routed = 0;
}

/* Of the stage with as many MoE layers, or with the next fewer. */
static void take_routed(uint64_t layers, struct slots *slots)
{
    const struct slots_routed *at = slots->routed;
    if (!slots->n_routed)
        return;
    for (unsigned i = 1; i < slots->n_routed && slots->routed[i].layers <= layers; i++)
        at = &slots->routed[i];
    memcpy(&slots->value[SLOT_ROWS], at->fullest, sizeof at->fullest);
    memcpy(&slots->value[SLOT_HELD_ROWS], at->mean, sizeof at->mean);
}

void slots_take_stage(const struct stage *stage, struct slots *slots)
{
    uint64_t *v = slots->value;
    v[SLOT_STAGE_DENSE_LAYERS] = stage->dense_layers;
    v[SLOT_STAGE_MOE_LAYERS] = stage->moe_layers;
    v[SLOT_STAGE_EMBEDDING] = stage->embedding;
    v[SLOT_STAGE_HEAD] = stage->head;
    v[SLOT_STAGE_MTP] = stage->mtp_layers;
    v[SLOT_BLOCKS_IN] = stage->blocks_in;
    v[SLOT_BLOCKS_OUT] = stage->blocks_out;
    v[SLOT_BLOCKS_MOVED] = stage->blocks_moved;
    memcpy(&v[SLOT_KIND_LAYERS], stage->layers, sizeof stage->layers);
    memcpy(&v[SLOT_KIND_IN_FLIGHT], stage->in_flight, sizeof stage->in_flight);
    memcpy(&v[SLOT_KIND_KEPT], stage->kept, sizeof stage->kept);
    memcpy(&v[SLOT_KIND_KEPT_IN_FLIGHT], stage->kept_in_flight, sizeof stage->kept_in_flight);
    memcpy(&v[SLOT_KIND_PLAIN], stage->plain, sizeof stage->plain);
    memcpy(&v[SLOT_KIND_PLAIN_IN_FLIGHT], stage->plain_in_flight,
           sizeof stage->plain_in_flight);
    memcpy(&v[SLOT_KIND_BACK], stage->back, sizeof stage->back);
    memcpy(&v[SLOT_KIND_TRAINED], stage->trained, sizeof stage->trained);
    memcpy(&v[SLOT_KIND_AWAY], stage->away, sizeof stage->away);
    memcpy(&v[SLOT_KIND_ADAPTED], stage->adapted, sizeof stage->adapted);
    v[SLOT_HEAD_IN_FLIGHT] = stage->head_in_flight;
    v[SLOT_EMPTY_IN_FLIGHT] = stage->empty_in_flight;
    v[SLOT_ENCODER_IN_FLIGHT] = stage->encoder_in_flight;
    v[SLOT_ENCODER_FROZEN] = stage->encoder_frozen;
    v[SLOT_DENSE_PARAMETERS] = stage->dense_parameters;
    v[SLOT_PLAIN_PARAMETERS] = stage->plain_parameters;
    v[SLOT_EXPERT_PARAMETERS] = stage->expert_parameters;
    v[SLOT_TRAINED_DENSE] = stage->trained_dense;
    v[SLOT_TRAINED_PLAIN] = stage->trained_plain;
    v[SLOT_TRAINED_EXPERTS] = stage->trained_experts;
    v[SLOT_PARAMETERS] = stage->model_parameters;
    take_routed(stage->moe_layers, slots);
}

unsigned slots_set_stage(const struct plan *plan, uint64_t index, unsigned moment,
                         struct slots *slots)
{
    struct stage stage;
    stage_at(plan, index, moment, &slots->params, &stage);
    slots_take_stage(&stage, slots);
    return stage.moments;
}

void slots_keep_stage(const struct slots *stage, struct slots *slots)
{
    static const enum slot kept[] = {
        SLOT_STAGE_DENSE_LAYERS, SLOT_STAGE_MOE_LAYERS,  SLOT_STAGE_EMBEDDING,
        SLOT_STAGE_HEAD,         SLOT_STAGE_MTP,         SLOT_HEAD_IN_FLIGHT,
        SLOT_EMPTY_IN_FLIGHT,    SLOT_ENCODER_IN_FLIGHT, SLOT_ENCODER_FROZEN,
        SLOT_DENSE_PARAMETERS,   SLOT_PLAIN_PARAMETERS,  SLOT_EXPERT_PARAMETERS,
        SLOT_PARAMETERS,         SLOT_BLOCKS_IN,         SLOT_BLOCKS_OUT,
        SLOT_BLOCKS_MOVED,       SLOT_TRAINED_DENSE,     SLOT_TRAINED_PLAIN,
        SLOT_TRAINED_EXPERTS,
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        slots->value[kept[i]] = stage->value[kept[i]];
    for (unsigned i = SLOT_KIND_LAYERS; i < SLOT_COUNT; i++)
        slots->value[i] = stage->value[i];
}

void slots_set_numbers(const struct plan *plan, struct slots *slots)
{
    fill_layer(plan, slots->value);
    fill_balanced(plan, slots);
    slots->real[REAL_CAPACITY_FACTOR] = plan->moe.capacity_factor;
    slots->real[REAL_BUFFER_FACTOR] = plan->moe.buffer_factor;
    slots->real[REAL_OFFLOAD] = plan->optimizer.offload;
}

void slots_from_plan(const struct plan *plan, struct slots *slots)
{
    memset(slots, 0, sizeof *slots);
    uint64_t *v = slots->value;
    fill_model(&plan->model, v);
    v[SLOT_TOP_K] = plan_choices(plan);
    fill_parallel(plan, v);
    params_held(plan, &slots->params);
    slots_set_numbers(plan, slots);
    uint64_t named = plan->parallel.stage;
    slots_set_stage(plan, named ? named - 1 : 0, 0, slots);
}
