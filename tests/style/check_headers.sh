#!/bin/sh
# Every header compiles alone, twice in a row (its guard works); the guard is named after it.
root=${1:?usage: check_headers.sh ROOT}
cd "$root" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0
for path in $(find src -name '*.h' | sort); do
    header=${path#src/}
    guard=MOEPLAN_$(printf '%s' "$header" | tr 'a-z/.-' 'A-Z___')
    grep -q "^#ifndef $guard\$" "$path" || {
        echo "$path:1: include guard is not \"$guard\""
        status=1
    }
    printf '#include "%s"\n#include "%s"\nextern int not_empty;\n' "$header" "$header" \
        > "$scratch/alone.c"
    "${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror \
        -fsyntax-only -Isrc "$scratch/alone.c" || {
        echo "$path:1: header does not compile alone"
        status=1
    }
done
exit $status
