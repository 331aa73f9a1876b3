#!/bin/sh
# `predict --trace` of every example and of pipelines, and `run --trace`: Chrome traces whose
# spans follow one another on every track and end when the step does; the same bytes twice.
: "${MOEPLAN:?the binary under test}"
cd "${1:?usage: check_trace.sh ROOT}" || exit 1
command -v python3 > /dev/null || { echo 'python3 is not installed: skipped'; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
n=0
# simulated PLAN OPTIONS...: status 4 is a plan that does not fit
simulated() {
    status=0
    n=$((n + 1))
    echo "$n.json is of: $*" >> "$scratch/names"
    "$MOEPLAN" predict "$@" --format json --trace "$scratch/$n.json" > "$scratch/$n.out" ||
        status=$?
    case $status in 0 | 4) ;; *) exit 1 ;; esac
}
for plan in examples/*.yaml; do
    simulated "$plan"
done
for schedule in 1f1b gpipe zero_bubble dualpipe; do
    simulated examples/seed000-primus-turbo.yaml --set parallel.pp=4 \
        --set parallel.schedule=$schedule --set workload.micro_batch=2
done
simulated examples/seed000-primus-turbo.yaml --set parallel.pp=4 --set parallel.vpp=2 \
    --set parallel.schedule=interleaved
first=$n
simulated examples/seed000-primus-turbo.yaml --set parallel.pp=4 --set parallel.vpp=2 \
    --set parallel.schedule=interleaved
cmp "$scratch/$first.json" "$scratch/$n.json" || exit 1
# a served plan's step is its decode step of all sequences; a draft's passes are in a step
vllm=examples/vllm-deepseek-v3-h200.yaml
drafting() {
    simulated "$@" --set workload.speculation.tokens=2 --set workload.speculation.method=mtp
}
for load in concurrency=64 concurrency=2048 request_rate=4; do
    simulated $vllm --set workload.mode=serve --set workload.$load
done
drafting $vllm --set workload.mode=serve --set workload.concurrency=64
drafting $vllm
simulated $vllm --set workload.mode=serve --set parallel.pp=2 --set parallel.ep=8
"$MOEPLAN" run examples/host-small.yaml --backward --repeat 3 --trace "$scratch/run.json" \
    > /dev/null || exit 1
python3 tests/docs/check_trace.py "$scratch"/*.json || {
    cat "$scratch/names"
    exit 1
}
# what is read is not replaced
cp examples/host-small.yaml "$scratch/plan.yaml"
"$MOEPLAN" predict "$scratch/plan.yaml" --trace "$scratch/plan.yaml" 2> /dev/null && exit 1
cmp examples/host-small.yaml "$scratch/plan.yaml"
