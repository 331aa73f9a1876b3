#!/bin/sh
# `moeplan report` of every example: well-formed, without scripts and addresses, under 1 MB, the
# same bytes twice, with the numbers of predict's JSON; and texts that try to be markup.
: "${MOEPLAN:?the binary under test}"
cd "${1:?usage: check_report.sh ROOT}" || exit 1
command -v python3 > /dev/null || { echo 'python3 is not installed: skipped'; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
n=0
# pair PLAN OPTIONS...: a report twice, and the JSON it is held against
pair() {
    n=$((n + 1))
    "$MOEPLAN" report "$@" -o "$scratch/$n.html" || exit 1
    "$MOEPLAN" report "$@" -o "$scratch/again.html" || exit 1
    cmp "$scratch/$n.html" "$scratch/again.html" || exit 1
    "$MOEPLAN" predict "$@" --format json > "$scratch/$n.json"
}
for plan in examples/*.yaml; do
    pair "$plan"
done
pair examples/seed000-primus-turbo.yaml --set workload.micro_batch=10
pair examples/seed000-primus-turbo.yaml --set parallel.pp=2
hostile="</style><script>alert('x')</script>\"&<b onload=x> ]]>"
cat > "$scratch/hostile.yaml" <<END
name: '$(printf '%s' "$hostile" | sed "s/'/''/g")'
model: deepseek-v3
cluster: h100-8x8
workload: {micro_batch: 1}
END
pair "$scratch/hostile.yaml"
python3 tests/docs/check_report.py "$hostile" "$scratch"/[0-9]*.html
