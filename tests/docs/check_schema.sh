#!/bin/sh
# Every example, what `show` prints of it, the plan of every job file and predict's JSON of both
# hold against the schemas that `moeplan schema` prints; so does what each other command writes.
: "${MOEPLAN:?the binary under test}"
cd "${1:?usage: check_schema.sh ROOT}" || exit 1
python3 -c 'import jsonschema, yaml; jsonschema.Draft202012Validator' 2> /dev/null || {
    echo 'python3-jsonschema or python3-yaml is not installed: skipped'
    exit 77
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
"$MOEPLAN" schema plan > "$scratch/plan.schema" || exit 1
"$MOEPLAN" schema result > "$scratch/result.schema" || exit 1
# shellcheck disable=SC2046 # names of files without spaces
set -- $(find examples tests/jobs -path tests/jobs/bad -prune -o -name '*.yaml' -print \
    -o -path 'tests/jobs/*' -type f -print | sort)
n=0
for plan; do
    n=$((n + 1))
    "$MOEPLAN" show "$plan" -o "$scratch/$n.yaml" 2> /dev/null || continue # no job by itself
    "$MOEPLAN" predict "$plan" --format json -o "$scratch/$n.json" 2> /dev/null
    [ -s "$scratch/$n.json" ] || {
        echo "$plan: no prediction"
        exit 1
    }
done
# ---- what no example has of the contract
extra() {
    n=$((n + 1))
    "$MOEPLAN" predict "$@" --format json -o "$scratch/$n.json" 2> /dev/null
    [ -s "$scratch/$n.json" ]
}
served='--set workload.mode=serve --set workload.concurrency=64'
served="$served --set workload.output_length=128"
# shellcheck disable=SC2086 # options without spaces
{
    extra examples/vllm-deepseek-v3-h200.yaml $served || exit 1
    extra examples/megatron-qwen3-30b-h100.yaml --set moe.buffer=2 --why \
        --set cluster.device.price_per_hour=2 --set cluster.device.tdp_w=700 || exit 1
}
# ---- what the other commands write: NAME.WHICH.out beside NAME.schema
for name in run search pools frontier check compare validate explain report; do
    "$MOEPLAN" schema $name > "$scratch/$name.schema" || exit 1
done
write() {
    out=$1
    shift
    "$MOEPLAN" "$@" --format json > "$scratch/$out.out" 2> "$scratch/err" || [ $? -eq 4 ]
    [ -s "$scratch/$out.out" ] || {
        echo "moeplan $*: $(head -n 1 "$scratch/err")"
        exit 1
    }
}
host=examples/host-small.yaml seed000=examples/seed000-primus-turbo.yaml
dumps=tests/fuzz/corpus/dump
write run.dry run $host --dry-run
write run.done run $host
write run.backward run $host --backward --shrink 4
write run.blocks run examples/seed002-neuron-decode.yaml --shrink 64 --dry-run
write run.rank run examples/host-deepseek-rank.yaml --rank 0 --shrink 4096 \
    --set model.hidden=1024 --set model.moe.intermediate=256 # the same members in less time
few='--fix tp=1 --fix cp=1 --fix pp=1 --fix etp=1 --fix path=deepep --fix recompute=full'
# shellcheck disable=SC2086 # options without spaces
{
    write search.trained search $seed000 $few
    write search.none search $seed000 $few --at-most memory=1GiB
    write search.devices search $seed000 $few --devices 32,64
    write search.every search $seed000 $few --every
    write pools.pairs search examples/sglang-qwen3-30b-apart.yaml --best 1
    write pools.devices search examples/sglang-qwen3-30b-apart.yaml --best 1 --devices 16,32
    write search.served search examples/vllm-deepseek-v3-h200.yaml $served --fix tp=1 \
        --fix path=deepep_ll --fix ep=16
}
write frontier.sizes frontier $seed000 --over workload.micro_batch=4..6 --with time
write frontier.words frontier $seed000 --over moe.path=capacity,deepep,ragged_a2a \
    --column model.parameters
write frontier.switches frontier $seed000 --over parallel.sp=false,true
write check.pass check $seed000
write check.stop check $seed000 --min-margin 50%
write check.oom check $seed000 --set workload.micro_batch=64
write compare.sets compare $seed000 --with-set B:workload.micro_batch=4
write compare.plans compare $seed000 examples/maxtext-mixtral-8x7b-v5p.yaml
cat > "$scratch/trace" << 'END'
{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1,
                  "dur": 9}]}
END
write validate.one validate vllm_memory
write validate.trace validate examples/megatron-qwen3-30b-h100.yaml \
    --trace "$scratch/trace"
write validate.verdicts validate memory_verdicts
write explain.amount explain $seed000 --oom '28.00 GiB'
write explain.line explain $seed000 \
    --oom 'Tried to allocate 1.87 GiB. this process has 300.00 GiB memory in use.'
for file in assignment.txt peak.log hbm.log snapshot.json; do
    write report.${file%.*} explain $seed000 --report $dumps/$file
done
# shellcheck disable=SC2046
python3 tests/docs/check_schema.py "$scratch/plan.schema" "$scratch/result.schema" \
    $(find examples -name '*.yaml' | sort) "$scratch"/*.yaml "$scratch"/*.json
