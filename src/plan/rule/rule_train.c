/* What must hold of options of training software: those that it refuses with each other. */
#include <inttypes.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/frozen.h"
#include "plan/layers.h"
#include "plan/rule/rule_parts.h"
#include "plan/schema/schema.h"

static bool is_training(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN;
}

static bool offloads_layers(const struct plan *plan)
{
    return is_training(plan) && plan_is_megatron(plan) && plan->recompute.offload_layers > 0;
}

/* Megatron transformer_config.py, __post_init__. */
static bool layers_broken(const struct plan *plan, char *text, char *hint)
{
    const struct recompute_plan *r = &plan->recompute;
    const char *with = NULL;
    if (plan->parallel.pp > 1)
        with = "a pipeline";
    else if (r->kind != RECOMPUTE_NONE)
        with = "recomputation";
    else if (r->offload.n)
        with = "modules to offload";
    else if (plan->stack.graphs == GRAPHS_PARTIAL || plan->stack.graphs == GRAPHS_FULL)
        with = "CUDA graphs";
    rule_say(hint, "Megatron moves whole layers without pipeline, recomputation and graphs; "
                   "recompute.offload names modules");
    if (with)
        rule_say(text, "offload_layers %" PRIu64 " beside %s", r->offload_layers, with);
    else if (r->offload_layers >= plan->model.layers)
        rule_say(text, "offload_layers %" PRIu64 " of %" PRIu64 ": one has to stay",
                 r->offload_layers, plan->model.layers);
    return with || r->offload_layers >= plan->model.layers;
}

/* Projections of a shard, and hooks that update what a sharer or DDP's reducer holds, are other
 * things (transformers trainer_optimizer.py; accelerate has no LOMO beside DeepSpeed). */
static bool whole_broken(const struct plan *plan, char *text, char *hint)
{
    bool lomo = plan_drops_gradients(plan);
    bool fsdp = plan->stack.kind == STACK_FSDP, whole = plan->parallel.zero == 0;
    rule_say(hint, "stack fsdp with zero 0%s, or another optimizer", lomo ? " and dp 1" : "");
    rule_say(text, "this optimizer steps weights that every rank has whole%s",
             lomo ? " and alone" : "");
    return !fsdp || !whole || (lomo && plan_dp(plan) > 1) || plan->lora.rank > 0;
}

/* torchtitan components/optimizer.py, build_optimizers. */
static bool backward_broken(const struct plan *plan, char *text, char *hint)
{
    const struct parallel *p = &plan->parallel;
    if (p->ep == 1 && p->pp == 1)
        return false;
    rule_say(text, "torchtitan's optimizer does not step in backward with %s %" PRIu64,
             p->ep > 1 ? "ep" : "pp", p->ep > 1 ? p->ep : p->pp);
    rule_say(hint, "ep 1 and pp 1, or optimizer.in_backward: false");
    return true;
}

static bool leaves_layers(const struct plan *plan)
{
    const struct precision *p = &plan->precision;
    return is_training(plan) && plan_is_megatron(plan) && p->recipe != RECIPE_NONE &&
           p->plain_first + p->plain_last > 0;
}

/* Megatron transformer_config.py, __post_init__, as the next. */
static bool delayed_broken(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "delayed scaling leaves no layers in 16 bits");
    rule_say(hint, "precision.recipe: fp8_current does");
    return plan->precision.recipe == RECIPE_FP8_DELAYED;
}

/* Of 4 bits it asks nothing. */
static bool plain_broken(const struct plan *plan, char *text, char *hint)
{
    const struct precision *p = &plan->precision;
    uint64_t layers = plan->model.layers, most = layers / plan->parallel.pp;
    bool first = p->plain_first > most;
    rule_say(hint, "no more than a pipeline stage has, %" PRIu64, most);
    if (p->plain_first + p->plain_last > layers) {
        rule_say(text, "%" PRIu64 " first and %" PRIu64 " last layers of %" PRIu64,
                 p->plain_first, p->plain_last, layers);
        return true;
    }
    rule_say(text, "plain_%s %" PRIu64 " is more than %" PRIu64 " layers / pp %" PRIu64,
             first ? "first" : "last", first ? p->plain_first : p->plain_last, layers,
             plan->parallel.pp);
    return p->recipe != RECIPE_NVFP4 && (first || p->plain_last > most);
}

/* ---- exchanges of one micro-batch beside another's products ---- */

static bool overlaps(const struct plan *plan)
{
    return is_training(plan) && plan_overlaps_experts(plan);
}

/* Megatron transformer_config.py, __post_init__, of overlap_moe_expert_parallel_comm. */
static bool overlap_broken(const struct plan *plan, char *text, char *hint)
{
    const struct recompute_plan *r = &plan->recompute;
    bool full = r->kind == RECOMPUTE_FULL;
    rule_say(text, "Megatron's overlap.ep %s",
             full ? "runs no layer again" : "runs no module moe again");
    rule_say(hint, "%s, or stack.overlap.ep: false%s",
             full ? "recompute.kind: selective" : "other recompute.modules",
             full ? "; whole virtual stages, which newer ones run again, are not modelled"
                  : "");
    return full || (r->kind == RECOMPUTE_SELECTIVE && plan_lists(&r->modules, "moe"));
}

static bool overlaps_stages(const struct plan *plan)
{
    return overlaps(plan) && plan->parallel.pp > 1 &&
           (plan->parallel.schedule == PIPELINE_1F1B ||
            plan->parallel.schedule == PIPELINE_INTERLEAVED);
}

static bool interleave_broken(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "Megatron's overlap.ep needs vpp above 1 where pp is %" PRIu64,
             plan->parallel.pp);
    rule_say(hint, "parallel.vpp: 2, or stack.overlap.ep: false");
    return plan->parallel.vpp == 1;
}

static bool overlaps_mtp(const struct plan *plan)
{
    return overlaps(plan) && plan->model.mtp_enabled;
}

/* ---- micro-batches of an interleaved pipeline ---- */

static bool interleaves(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    bool known = plan_is_megatron(plan) || plan->stack.kind == STACK_TORCHTITAN;
    return is_training(plan) && known &&
           plan_states_batch(plan) && /* else as many as suit it */
           p->pp > 1 && p->vpp > 1 &&
           (p->schedule == PIPELINE_1F1B || p->schedule == PIPELINE_INTERLEAVED);
}

/* Megatron pipeline_parallel/schedules.py, forward_backward_pipelining_with_interleaving:
 * groups of no fewer than pp micro-batches and no more than there are go through each chunk in
 * turn, and the last one has pp at least. torch distributed/pipelining/schedules.py,
 * ScheduleInterleaved1F1B: as many rounds as pp goes into them, all of one size. */
static bool rounds_broken(const struct plan *plan, char *text, char *hint)
{
    uint64_t pp = plan->parallel.pp, n = plan_micro_batches(plan);
    uint64_t group = plan_interleaved_group(plan, n), rounds = n / pp ? n / pp : 1;
    bool megatron = plan_is_megatron(plan), given = group != pp;
    bool whole = group >= pp && group <= n && (n % group == 0 || n % group >= pp);
    if (megatron ? whole : n % rounds == 0)
        return false;
    rule_say(text,
             "vpp %" PRIu64 " takes micro-batches in groups of %s%" PRIu64
             " (%s), and a step has %" PRIu64,
             plan->parallel.vpp, megatron ? "" : "one size, at least ", megatron ? group : pp,
             megatron && given ? "vpp_group" : "pp", n);
    if (megatron && given)
        rule_say(hint,
                 "a vpp_group of pp, %" PRIu64 ", to what a step has, which leaves none or pp",
                 pp);
    else
        rule_say(hint, "a global_batch of a multiple of dp x micro_batch x pp, %sor vpp 1",
                 megatron && n > pp ? "another vpp_group, " : "");
    return true;
}

/* ---- formats and devices ---- */

static bool has_recipe(const struct plan *plan)
{
    return is_training(plan) && plan_is_megatron(plan) && plan->precision.recipe != RECIPE_NONE;
}

/* Blocks of 32 and of 16 have products of their own from Blackwell and CDNA 4 on, 4 bits from
 * Blackwell on (TransformerEngine pytorch/quantization.py and its ROCm fork). */
static bool device_broken(const struct plan *plan, char *text, char *hint)
{
    const struct device *device = &plan->cluster.device;
    const char *recipe = words_recipe[plan->precision.recipe];
    bool blocks = plan->precision.recipe == RECIPE_MXFP8,
         bits4 = plan->precision.recipe == RECIPE_NVFP4;
    bool older = text_equal(device->family, "hopper") || text_equal(device->family, "cdna3");
    bool lacks = (older && (blocks || bits4)) || (bits4 && text_equal(device->family, "cdna4"));
    if (lacks) {
        rule_say(text, "devices of family %s have no products of %s", device->family, recipe);
        rule_say(hint, "precision.recipe: fp8_current, or another cluster.device");
        return true;
    }
    rule_say(text, "recipe %s on a device without products of 8 bits", recipe);
    rule_say(hint, "precision.recipe: none; where it has them, "
                   "cluster.device.peak.fp8 says how fast");
    return device->peak_fp8 <= 0;
}

static uint64_t last_layer(const struct plan *plan)
{
    return plan->model.layers - 1;
}

/* What is frozen beside what this tool cannot keep apart. */
static bool frozen_broken(const struct plan *plan, char *text, char *hint)
{
    const struct workload_encoder *encoder = &plan->workload.encoder;
    bool layers = plan->frozen.layers > 0;
    const char *with = NULL;
    rule_say(hint, "not modelled; without it, or with everything trained");
    if (plan_embeds_layers(plan))
        with = "embeddings of layers";
    else if (plan->precision.recipe != RECIPE_NONE && plan->precision.quantized_params)
        with = "weights in a recipe's format alone";
    else if (layers && plan->recompute.offload_layers)
        with = "layers that wait in host memory";
    else if (layers && plan->precision.recipe != RECIPE_NONE &&
             plan->precision.plain_first + plan->precision.plain_last > 0)
        with = "layers that a recipe leaves out";
    else if (layers && plan->model.encoder.layers && encoder->patches &&
             encoder->train != ENCODER_FROZEN)
        with = "a trained encoder, whose gradients pass all of them";
    if (with)
        rule_say(text, "%s are frozen beside %s", layers ? "layers" : "modules", with);
    return with != NULL;
}

static bool all_frozen(const struct plan *plan, char *text, char *hint)
{
    const struct model *model = &plan->model;
    const bool has[FROZEN_PARTS] = {
        [FROZEN_EMBED_TOKENS] = true,
        [FROZEN_LM_HEAD] = true,
        [FROZEN_NORMS] = true,
        [FROZEN_ATTENTION] = true,
        [FROZEN_ROUTER] = plan_has_moe(plan),
        [FROZEN_EXPERTS] = plan_has_moe(plan),
        [FROZEN_SHARED_EXPERTS] = plan_has_moe(plan) && (model->moe.shared_intermediate ||
                                                         model->residual_intermediate),
        [FROZEN_DENSE_MLP] = model_ffns(model, FFN_DENSE) > 0,
    };
    bool some = model->encoder.layers && plan->workload.encoder.train != ENCODER_FROZEN;
    for (unsigned i = 0; i < FROZEN_PARTS; i++)
        some = some || (has[i] && !plan_freezes_part(plan, (enum frozen_part)i));
    rule_say(hint, model->encoder.layers
                       ? "leave a part out of frozen.modules, or train the encoder "
                         "(workload.encoder.train)"
                       : "leave a part out of frozen.modules");
    rule_say(text, "all that the model has is frozen: nothing is trained");
    return !some;
}

/* BAdam asks DeepSpeed's stage 3 to part its groups anew, and knows no other sharer
 * (badam/block_optim.py; LLaMA-Factory refuses them, hparams/parser.py). */
static bool one_layer_broken(const struct plan *plan, char *text, char *hint)
{
    bool frozen = plan->frozen.layers + plan->frozen.modules.n > 0;
    bool alone =
        plan->stack.kind == STACK_FSDP && plan->parallel.zero == 0 && plan_world(plan) == 1;
    bool shared = plan->stack.kind == STACK_DEEPSPEED && plan->parallel.zero == 3;
    rule_say(hint, "stack deepspeed with parallel.zero: 3, or one device; nothing "
                   "of frozen");
    rule_say(text, "optimizer.one_layer trains layers in turn %s",
             frozen ? "beside nothing that is frozen for good"
                    : "on one device, or under DeepSpeed's stage 3");
    return frozen || (!alone && !shared);
}

/* Callbacks of axolotl and ms-swift change what asks for a gradient while others hold the model
 * whole: torch's reducer and sharers were given all parameters before. */
static bool draws_broken(const struct plan *plan, char *text, char *hint)
{
    bool frozen = plan_freezes(plan);
    rule_say(hint, "one device without sharding; nothing of frozen, no optimizer.one_layer");
    rule_say(text, "optimizer.active_layers draws layers %s",
             frozen ? "where nothing else is frozen" : "of a model that one rank has whole");
    return frozen || plan->parallel.zero > 0 || plan_world(plan) > 1;
}

static bool keeps_base_away(const struct plan *plan)
{
    return plan->stack.kind == STACK_FSDP && is_training(plan) && plan->lora.rank > 0 &&
           plan->lora.host.n > 0 && plan->parallel.zero == 0;
}

/* Layers of a base in few bits leave their scales on the device (Params4bit's quant_state),
 * which is not kept apart; a table that is the head's, too, has to be there. */
static bool away_broken(const struct plan *plan, char *text, char *hint)
{
    const struct enum_list *host = &plan->lora.host;
    const enum dtype weights = plan->precision.weights;
    bool plain = weights == DTYPE_F32 || weights == DTYPE_BF16 || weights == DTYPE_F16;
    bool layers = false, table = false;
    for (uint64_t i = 0; i < host->n; i++) {
        layers = layers || host->value[i] == BASE_LAYERS;
        table = table || host->value[i] == BASE_EMBED_TOKENS;
    }
    bool tied = table && model_ties_head(&plan->model);
    rule_say(hint, tied ? "leave embed_tokens out of lora.host"
                        : "precision.weights: bf16, or leave layers out of lora.host");
    rule_say(text, tied ? "the embedding that waits in host memory is the head, too"
                        : "layers in few bits that wait in host memory are not modelled");
    return tied || (layers && !plain);
}

static bool scores_tokens(const struct plan *plan)
{
    return plan->model.labels > 0;
}

/* transformers' *ForSequenceClassification: a linear layer that is whole on every rank. */
static bool scores_broken(const struct plan *plan, char *text, char *hint)
{
    const char *with = !is_training(plan) || !plan_is_huggingface(plan)
                           ? "training on stack fsdp or deepspeed alone"
                       : plan->parallel.tp > 1              ? "parallel.tp 1"
                       : plan->parallel.pp > 1              ? "parallel.pp 1"
                       : plan->model.mtp_enabled            ? "model.mtp_enabled false"
                       : plan->workload.colocated.sequences ? "no generation"
                                                            : NULL;
    rule_say(hint, "model.labels: 0 has the head over the vocabulary");
    rule_say(text, "a score head of %" PRIu64 " is modelled with %s", plan->model.labels,
             with ? with : "");
    return with != NULL;
}

/* One count of a stage's layers that keep what others do not stands for either. */
static bool adapts_and_recomputes(const struct plan *plan)
{
    return plan_adapts_some(plan) && plan_recomputes_some(plan);
}

static bool some_broken(const struct plan *plan, char *text, char *hint)
{
    (void)plan;
    rule_say(text,
             "adapters of some layers beside some layers that run again are not modelled");
    rule_say(hint, "recompute.layers: 0, or lora.layers: []");
    return true;
}

static bool names_layers(const struct plan *plan)
{
    return plan_adapts_some(plan) && plan->lora.layers.n > 0;
}

static uint64_t last_adapted(const struct plan *plan)
{
    const struct number_list *layers = &plan->lora.layers;
    uint64_t last = 0;
    for (uint64_t i = 0; i < layers->n; i++)
        last = layers->value[i] > last ? layers->value[i] : last;
    return last;
}

static bool ranks_targets(const struct plan *plan)
{
    return is_training(plan) && plan_is_huggingface(plan) && plan->lora.rank > 0 &&
           plan->lora.ranks.n > 0;
}

static bool ranks_broken(const struct plan *plan, char *text, char *hint)
{
    const uint64_t ranks = plan->lora.ranks.n, targets = plan->lora.targets.n;
    rule_say(text, "lora.ranks has %" PRIu64 " numbers for %" PRIu64 " names of lora.targets",
             ranks, targets);
    rule_say(hint, "one rank for each name, in their order; 0: lora.rank");
    return ranks != targets;
}

static bool language_broken(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "neither the language model nor the encoder has adapters");
    rule_say(hint, "lora.encoder: true, or lora.language: true");
    return !plan->lora.language && !plan->lora.encoder;
}

static bool adapts_and_freezes(const struct plan *plan)
{
    return is_training(plan) && plan->lora.rank > 0 &&
           plan->frozen.layers + plan->frozen.modules.n > 0;
}

static bool adapters_freeze(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "lora.rank %" PRIu64 " freezes all but adapters by itself", plan->lora.rank);
    rule_say(hint, "lora.targets says which matrices have them");
    return true;
}

static const struct rule rules[] = {
    {.name = "adapters-or-frozen",
     .key = "frozen.modules",
     .shape = RULE_OTHER,
     .applies = adapts_and_freezes,
     .broken = adapters_freeze,
     .also = {"frozen.layers", "lora.rank"}},
    {.name = "frozen-layers-in-model",
     .key = "frozen.layers",
     .shape = RULE_AT_MOST,
     .applies = plan_freezes,
     .a = MEMBER("frozen.layers", frozen.layers),
     .b = DERIVED("layers - 1", last_layer),
     .hint = "one layer has to be trained"},
    {.name = "frozen-apart",
     .key = "frozen.layers",
     .shape = RULE_OTHER,
     .applies = plan_freezes,
     .broken = frozen_broken,
     .also = {"frozen.modules"}},
    {.name = "something-is-trained",
     .key = "frozen.modules",
     .shape = RULE_OTHER,
     .applies = plan_freezes,
     .broken = all_frozen},
    {.name = "layers-go-to-host",
     .key = "recompute.offload_layers",
     .shape = RULE_OTHER,
     .applies = offloads_layers,
     .broken = layers_broken,
     .also = {"recompute.kind", "parallel.pp"}},
    {.name = "layers-take-turns",
     .key = "optimizer.one_layer",
     .shape = RULE_OTHER,
     .applies = plan_trains_one_layer,
     .broken = one_layer_broken,
     .also = {"parallel.zero", "frozen.modules"}},
    {.name = "layers-are-drawn",
     .key = "optimizer.active_layers",
     .shape = RULE_OTHER,
     .applies = plan_draws_layers,
     .broken = draws_broken,
     .also = {"parallel.zero", "optimizer.one_layer"}},
    {.name = "adapted-layers-in-model",
     .key = "lora.layers",
     .shape = RULE_AT_MOST,
     .applies = names_layers,
     .a = DERIVED("the last of lora.layers", last_adapted),
     .b = DERIVED("layers - 1", last_layer),
     .hint = "layers count from 0"},
    {.name = "a-rank-for-each-target",
     .key = "lora.ranks",
     .shape = RULE_OTHER,
     .applies = ranks_targets,
     .broken = ranks_broken,
     .also = {"lora.targets"}},
    {.name = "base-waits-whole",
     .key = "lora.host",
     .shape = RULE_OTHER,
     .applies = keeps_base_away,
     .broken = away_broken,
     .also = {"precision.weights", "model.tied_embeddings"}},
    {.name = "scores-by-transformers",
     .key = "model.labels",
     .shape = RULE_OTHER,
     .applies = scores_tokens,
     .broken = scores_broken,
     .also = {"stack.kind", "parallel.tp"}},
    {.name = "some-layers-one-way",
     .key = "recompute.layers",
     .shape = RULE_OTHER,
     .applies = adapts_and_recomputes,
     .broken = some_broken,
     .also = {"lora.layers", "lora.language"}},
    {.name = "something-has-adapters",
     .key = "lora.language",
     .shape = RULE_OTHER,
     .applies = plan_adapts_some,
     .broken = language_broken,
     .also = {"lora.encoder"}},
    {.name = "steps-whole-weights",
     .key = "optimizer.kind",
     .shape = RULE_OTHER,
     .applies = plan_steps_whole,
     .broken = whole_broken,
     .also = {"parallel.zero", "stack.kind"}},
    {.name = "steps-in-backward-alone",
     .key = "optimizer.in_backward",
     .shape = RULE_OTHER,
     .applies = plan_steps_in_backward,
     .broken = backward_broken,
     .also = {"parallel.ep", "parallel.pp"}},
    {.name = "delayed-leaves-no-layers",
     .key = "precision.recipe",
     .shape = RULE_OTHER,
     .applies = leaves_layers,
     .broken = delayed_broken,
     .also = {"precision.plain_first", "precision.plain_last"}},
    {.name = "recipe-leaves-layers",
     .key = "precision.plain_first",
     .shape = RULE_OTHER,
     .applies = leaves_layers,
     .broken = plain_broken,
     .also = {"precision.plain_last", "parallel.pp"}},
    {.name = "overlap-runs-once",
     .key = "stack.overlap.ep",
     .shape = RULE_OTHER,
     .applies = overlaps,
     .broken = overlap_broken,
     .also = {"recompute.kind", "recompute.modules"}},
    {.name = "overlap-interleaves",
     .key = "stack.overlap.ep",
     .shape = RULE_OTHER,
     .applies = overlaps_stages,
     .broken = interleave_broken,
     .also = {"parallel.vpp", "parallel.pp"}},
    {.name = "overlap-predicts-one",
     .key = "stack.overlap.ep",
     .shape = RULE_AT_MOST,
     .applies = overlaps_mtp,
     .a = MEMBER("mtp_layers", model.mtp_layers),
     .b = DERIVED("what Megatron's overlap.ep runs", rule_one),
     .hint = "model.mtp_layers: 1, or stack.overlap.ep: false",
     .also = {"model.mtp_layers"}},
    {.name = "rounds-are-whole",
     .key = "parallel.vpp",
     .shape = RULE_OTHER,
     .applies = interleaves,
     .broken = rounds_broken,
     .also = {"workload.micro_batch", "parallel.vpp_group"}},
    {.name = "recipe-needs-products",
     .key = "precision.recipe",
     .shape = RULE_OTHER,
     .applies = has_recipe,
     .broken = device_broken,
     .also = {"cluster.device.family", "cluster.device.peak.fp8"}},
    {.name = "hpz-shard-divides-dp",
     .key = "parallel.hpz_shard",
     .shape = RULE_DIVIDES,
     .applies = plan_keeps_second_copy,
     .a = DERIVED("dp", plan_dp),
     .b = MEMBER("hpz_shard", parallel.hpz_shard),
     .hint = "as many neighbouring ranks as a node has, mostly"},
};

const struct rule_set rule_set_train = {rules, sizeof rules / sizeof *rules};
