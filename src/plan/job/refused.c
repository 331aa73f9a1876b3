/* Files of frameworks whose jobs are not read, and look like others'; see reader.h. */
#include "plan/job/reader.h"

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

/* And a torchtune recipe's names classes of its own under keys that a plan has too. */
enum status job_refuse_tree(const struct node *root, struct err *err)
{
    const struct node *strategy = node_get(root, "distributed_strategy");
    if (strategy && strategy->kind == NODE_MAPPING && node_get(root, "trainer"))
        return refuse_neuron(strategy, err);
    const struct node *model = node_get(root, "model");
    const struct node *class =
        model && model->kind == NODE_MAPPING ? node_get(model, "_component_") : NULL;
    if (!class || class->kind != NODE_SCALAR || !text_starts(class->text, "torchtune."))
        return STATUS_OK;
    return job_refuse_torchtune(class->mark, err);
}
