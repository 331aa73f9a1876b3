#!/bin/sh
# Every example, what `show` prints of it, the plan of every job file and predict's JSON of both
# hold against the schemas that `moeplan schema` prints.
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
# shellcheck disable=SC2046
python3 tests/docs/check_schema.py "$scratch/plan.schema" "$scratch/result.schema" \
    $(find examples -name '*.yaml' | sort) "$scratch"/*.yaml "$scratch"/*.json
