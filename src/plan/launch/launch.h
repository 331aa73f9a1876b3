/* Inside plan/launch/: what tells a framework's launch. */
#ifndef MOEPLAN_PLAN_LAUNCH_LAUNCH_H
#define MOEPLAN_PLAN_LAUNCH_LAUNCH_H

#include "plan/job/reader.h"

/* A command that launches a framework. */
struct launch {
    const struct shell_command *command;
    const struct job_framework *framework;
    size_t place;    /* of the first word that is the framework's own */
    size_t launcher; /* where the words end that say how many ranks start */
    size_t entry;    /* of the first word behind those that start it */
};

/* Fills job->size; STATUS_INPUT where the launch names a number that the script does not tell.
 */
enum status launch_read_size(struct job *job, const struct shell *shell,
                             const struct launch *launch);

/* The framework that word `i` of a command starts, told by its path or by what follows; NULL:
 * none. */
const struct job_framework *launch_by_company(const struct shell_words *words, size_t i);

/* The framework that a command launches; NULL: none. `entry`: of its words the first behind
 * those that start it. */
const struct job_framework *
launch_in_command(struct job *job, const struct shell_command *command, size_t *entry);

/* The command with the words of a raw reading, each of which tells whether it is known; NULL:
 * they do so as they are. */
enum status launch_told(struct job *job, const struct launch_script *script,
                        const struct shell_command *command, const struct shell_command **told);

/* Whether a command starts another node of an engine, for which the launch on the first one
 * stands ("--headless", "--node-rank 1"). `from`: the entry above. */
bool launch_follows(const struct job_framework *framework, const struct shell_words *words,
                    size_t from);

#endif
