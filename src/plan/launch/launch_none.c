/* Scripts without a launch that is read: what they have in its place. */

#include "plan/job/reader.h"

/* Launches whose settings are known elsewhere: those of frameworks that are not read, and
 * programs that set them themselves. */
static enum status refuse_known(struct job *job, const struct shell *shell)
{
    for (size_t i = 0; i < shell->n_commands; i++) {
        const struct shell_words *words = &shell->commands[i].words;
        const char *first = text_base_name(words->items[0].text);
        bool tune = words->n > 1 && text_equal(first, "tune") &&
                    text_equal(words->items[1].text, "run");
        bool python = words->n > 1 && text_starts(first, "python") &&
                      text_ends(words->items[1].text, ".py");
        if (tune)
            return job_refuse_torchtune(shell->commands[i].mark, job->err);
        TRY(job_refuse_trainers(words, job->err));
        if (python) {
            err_at(job->err, words->items[1].mark,
                   "no launch of a known framework: what '%s' sets is known when it runs",
                   words->items[1].text);
            return err_hint(job->err,
                            "a script of TRL or Unsloth is read where it lies beside the job; "
                            "of others give the settings as flags, as in trl sft "
                            "--model_name_or_path M --per_device_train_batch_size 1");
        }
    }
    return STATUS_OK;
}

enum status launch_none(struct job *job, const struct shell *shell)
{
    for (size_t i = 0; i < shell->n_commands; i++) {
        const struct shell_command *c = &shell->commands[i];
        if (!text_equal(c->words.items[0].text, "eval"))
            continue;
        err_at(job->err, c->mark, "no launch stands in the script but what 'eval' makes");
        return err_hint(job->err, "write the launch as a command of its own");
    }
    TRY(refuse_known(job, shell));
    err_at(job->err, (struct mark){.file = job->file}, "no launch of a known framework");
    return err_hint(
        job->err,
        "known: pretrain_*.py (Megatron-LM), run_script.py (Bridge), "
        "MaxText and torchtitan train, vllm serve, sglang.launch_server, "
        "trtllm-serve, dynamo.vllm, .sglang and .trtllm, verl.trainer.main_ppo and "
        "sft_trainer, axolotl train, "
        "llamafactory-cli train, swift sft, megatron sft, automodel finetune, slime's "
        "train.py, NeMo-RL's run_grpo.py, openrlhf.cli.train_sft, accelerate launch, "
        "trl sft, dpo or grpo with DeepSpeed or FSDP, --deepspeed FILE.json, --fsdp WORDS, "
        "scripts of TRL and Unsloth");
}
