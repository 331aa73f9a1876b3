#!/bin/sh
# A Slurm prologue that stops a job which cannot fit, before it takes its first step: asks
# `moeplan check` about the job's own batch script.
#
# In slurm.conf:  TaskProlog=/etc/slurm/task_prolog.sh
#
# Slurm runs it as the job's owner in front of the batch script, which is not started when it
# fails.
# Lines "print TEXT" go to the job's output, "export NAME=VALUE" to its environment: the steps
# inside the job see that it has been checked. Jobs that moeplan cannot read are let through,
# with a line that says so: only a plan that was read and does not pass stops a job.
#
#   MOEPLAN_CLUSTER      the device, h100; or a line '#moeplan cluster=h100' in the job
#   MOEPLAN_MIN_MARGIN   what has to stay free (5%)
#   MOEPLAN_PREFLIGHT    0: no check
set -u
PATH=${PATH:-/usr/local/bin:/usr/bin:/bin} # Slurm promises none
export PATH
[ "${MOEPLAN_PREFLIGHT-1}" != 0 ] && [ -n "${SLURM_JOB_ID-}" ] || exit 0
command -v moeplan > /dev/null || exit 0
scratch=$(mktemp -d) || exit 0
trap 'rm -rf "$scratch"' EXIT
job=$scratch/job.sh

# Files that a job names are looked for where it was submitted.
cd "${SLURM_SUBMIT_DIR-.}" || exit 0
scontrol write batch_script "$SLURM_JOB_ID" "$job" > /dev/null 2>&1 || exit 0

set -- --min-margin "${MOEPLAN_MIN_MARGIN-5%}"
[ -z "${MOEPLAN_CLUSTER-}" ] || set -- "$@" --set "cluster=$MOEPLAN_CLUSTER"
moeplan check "$job" "$@" > "$scratch/answer" 2> "$scratch/said"
status=$?
sed 's/^/print moeplan: /' "$scratch/answer"
case $status in
0) echo 'export MOEPLAN_PREFLIGHT=0' ;;
4)
    sed "s,^$scratch/,print moeplan: ," "$scratch/said"
    exit 1
    ;;
*) echo "print moeplan: not checked: $(sed "s,$scratch/,," "$scratch/said" | head -n 1)" ;;
esac
exit 0
