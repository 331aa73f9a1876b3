#!/bin/sh
# The prologue of examples/preflight stops the job that does not fit, lets the other one start
# and says so to both; the page for agents shows what the binary prints. Slurm is not here: the
# one command of it that the prologue calls is a script that hands out a job file.
: "${MOEPLAN:?the binary under test}"
cd "${1:?usage: check_preflight.sh ROOT}" || exit 1
prolog=$PWD/examples/preflight/task_prolog.sh
jobs=$PWD/tests/jobs
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0
mkdir "$scratch/bin"
ln -s "$MOEPLAN" "$scratch/bin/moeplan"
cat > "$scratch/bin/scontrol" << 'END'
#!/bin/sh
[ "$1 $2 $3" = "write batch_script 17" ] && cp "$JOB" "$4"
END
chmod +x "$scratch/bin/scontrol"

# prologue JOB STATUS LINE [NAME=VALUE...]: what Slurm would see; the line is one of its lines
prologue() {
    job=$1 wanted=$2 line=$3
    shift 3
    env PATH="$scratch/bin:$PATH" JOB="$jobs/$job" SLURM_JOB_ID=17 \
        SLURM_SUBMIT_DIR="$(dirname "$jobs/$job")" MOEPLAN_DATA="$PWD/models" "$@" \
        sh "$prolog" > "$scratch/out" 2> "$scratch/err"
    got=$?
    if [ $got -ne "$wanted" ] || [ -s "$scratch/err" ] ||
        ! grep -q -- "^$line" "$scratch/out"; then
        echo "prologue of $job $*: status $got instead of $wanted, or not \"$line\":"
        cat "$scratch/out" "$scratch/err"
        status=1
    fi
    # Slurm reads nothing else
    if grep -v -e '^print ' -e '^export [A-Z_]*=' "$scratch/out"; then
        echo "prologue of $job $*: lines that Slurm does not read"
        status=1
    fi
}

prologue megatron/mixtral.sh 0 'print moeplan: pass: fits'
prologue megatron/mixtral.sh 0 'export MOEPLAN_PREFLIGHT=0'
prologue megatron/mixtral.sh 1 'print moeplan: stop: fits.*below 90%' MOEPLAN_MIN_MARGIN=90%
prologue megatron/first-and-last.slurm 1 'print moeplan: stop: oom'
prologue megatron/qwen3-drop-and-pad.sh 1 'print moeplan: job.sh:16:36: warning: ' \
    MOEPLAN_MIN_MARGIN=90%
prologue megatron/first-and-last.slurm 1 'print moeplan: stop: marginal, .* of 267' \
    MOEPLAN_CLUSTER=mi355x
# a file beside the job is found; what cannot be read does not stop a job
prologue megatron/yaml-cfg.sh 1 'print moeplan: stop: ' MOEPLAN_MIN_MARGIN=100% \
    MOEPLAN_CLUSTER=h100
prologue bad/unset.sh 0 'print moeplan: not checked: job.sh:'
prologue bad/no-launch.sh 0 'print moeplan: not checked: job.sh'

# steps inside a job, and what is no job: not a word
for name in MOEPLAN_PREFLIGHT=0 SLURM_JOB_ID= SLURM_JOB_ID=18; do
    said=$(env PATH="$scratch/bin:$PATH" JOB="$jobs/megatron/first-and-last.slurm" \
        SLURM_JOB_ID=17 "$name" sh "$prolog" 2>&1)
    got=$?
    if [ $got -ne 0 ] || [ -n "$said" ]; then
        echo "prologue with $name: status $got: $said"
        status=1
    fi
done

sh tests/support/console --markdown examples/preflight/SKILL.md || status=1
exit $status
