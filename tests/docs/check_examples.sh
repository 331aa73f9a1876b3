#!/bin/sh
# Every plan in examples/ starts with a paragraph that says what it is, and loads; what `show`
# prints of it loads again to the same.
: "${MOEPLAN:?the binary under test}"
cd "${1:?usage: check_examples.sh ROOT}" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0
n=0
for plan in $(find examples -name '*.yaml' | sort); do
    n=$((n + 1))
    awk 'NR == 1 && !/^# [A-Za-z]/ { exit 1 } !/^#/ { exit } { words += NF - 1 }
        END { exit words < 12 }' "$plan" || {
        echo "$plan:1: does not start with a comment that says what it is"
        status=1
    }
    if ! "$MOEPLAN" show "$plan" > "$scratch/first.yaml" ||
        ! "$MOEPLAN" show "$scratch/first.yaml" > "$scratch/second.yaml" ||
        ! diff "$scratch/first.yaml" "$scratch/second.yaml"; then
        echo "$plan: what show prints does not load again to the same"
        status=1
    fi
done
[ $n -gt 0 ] || {
    echo 'no example found'
    status=1
}
exit $status
