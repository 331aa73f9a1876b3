/* Files of frameworks whose jobs are not read, and look like others'; see reader.h. */
#include "plan/job/reader.h"

#include <string.h>

#include "base/text.h"

enum status job_refuse_torchtune(struct mark mark, struct err *err)
{
    err_at(err, mark, "a recipe of torchtune, whose jobs are not read");
    return err_hint(err, "write a plan: model, stack: fsdp, parallel: {zero: 3}, lora: "
                         "{rank: 8}, workload: {sequence_length: 4096, micro_batch: 2}");
}

/* NeuronX Distributed Training's file: NeMo 1's keys beside a strategy of its own. */
static enum status refuse_neuron(const struct node *strategy, struct err *err)
{
    err_at(err, strategy->mark,
           "a job of NeuronX Distributed Training, whose files are not read");
    return err_hint(err,
                    "write a plan: model, cluster: trn2-16x4, stack: nxd, parallel: {tp: 8, "
                    "pp: 4, zero: 1, sp: true}, workload: {sequence_length: 4096, "
                    "micro_batch: 1}");
}

/* ---- reinforcement learning ---- */

/* Trainers of policies that are not read: ROLL (roll/configs/base_config.py), AReaL
 * (areal/api/cli_args.py), SkyRL. What tells their files: keys on top, and a word of their
 * launches, or how it ends. */
static const struct {
    const char *name, *keys[2], *starts, *ends;
} trainers[] = {
    {"ROLL", {"actor_train", "rollout_batch_size"}, "roll.pipeline.", "_pipeline.py"},
    {"AReaL", {"experiment_name", "trial_name"}, "areal.", NULL},
    {"SkyRL", {NULL, NULL}, "skyrl", NULL},
};

enum { TRAINERS = sizeof trainers / sizeof *trainers };

static enum status refuse_trainer(const char *name, struct mark mark, struct err *err)
{
    err_at(err, mark, "a job of %s, whose files are not read", name);
    return err_hint(
        err, "write a plan of the policy's update: model, cluster, stack: megatron, parallel: "
             "{tp: 2, pp: 2, ep: 8}, workload: {sequence_length: 10240, micro_batch: 1, "
             "colocated: {engine: awake, tp: 4, fraction: 0.6}} (moeplan help "
             "workload.colocated)");
}

static bool is_trainer(size_t i, const char *word)
{
    bool module = text_starts(word, trainers[i].starts) && strchr(word, '.');
    return module || (trainers[i].ends && text_ends(word, trainers[i].ends) &&
                      text_starts(text_base_name(word), "start_"));
}

enum status job_refuse_trainers(const struct shell_words *words, struct err *err)
{
    for (size_t i = 0; i < words->n; i++)
        for (size_t t = 0; t < TRAINERS; t++)
            if (is_trainer(t, words->items[i].text))
                return refuse_trainer(trainers[t].name, words->items[i].mark, err);
    return STATUS_OK;
}

static enum status refuse_trainer_tree(const struct node *root, struct err *err)
{
    for (size_t t = 0; t < TRAINERS; t++) {
        const char *const *keys = trainers[t].keys;
        const struct node *first = keys[0] ? node_get(root, keys[0]) : NULL;
        if (first && node_get(root, keys[1]))
            return refuse_trainer(trainers[t].name, first->key_mark, err);
    }
    return STATUS_OK;
}

/* ---- the rest ---- */

/* And a torchtune recipe's names classes of its own under keys that a plan has too. */
enum status job_refuse_tree(const struct node *root, struct err *err)
{
    const struct node *strategy = node_get(root, "distributed_strategy");
    if (strategy && strategy->kind == NODE_MAPPING && node_get(root, "trainer"))
        return refuse_neuron(strategy, err);
    TRY(refuse_trainer_tree(root, err));
    const struct node *model = node_get(root, "model");
    const struct node *class =
        model && model->kind == NODE_MAPPING ? node_get(model, "_component_") : NULL;
    if (!class || class->kind != NODE_SCALAR || !text_starts(class->text, "torchtune."))
        return STATUS_OK;
    return job_refuse_torchtune(class->mark, err);
}
