#!/bin/sh
# Every header compiles alone, twice in a row (its guard works); the guard is named after it.
root=${1:?usage: check_headers.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/style/stamp.sh
. "$here/stamp.sh"
cd "$root" || exit 1
stamp_begin headers "$here/check_headers.sh"
status=0

# Headers that changed, and those that include one of them.
find src -name '*.h' -newer "$since" | while IFS= read -r path; do
    echo "$path"
    grep -rl --include='*.h' "^#include \"${path#src/}\"" src
done | sort -u > "$stamps/paths"

while IFS= read -r path; do
    header=${path#src/}
    guard=MOEPLAN_$(printf '%s' "$header" | tr 'a-z/.-' 'A-Z___')
    grep -q "^#ifndef $guard\$" "$path" || {
        echo "$path:1: include guard is not \"$guard\""
        status=1
    }
    printf '#include "%s"\n#include "%s"\nextern int not_empty;\n' "$header" "$header" \
        > "$stamps/alone.c"
    "${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror \
        -fsyntax-only -Isrc "$stamps/alone.c" || {
        echo "$path:1: header does not compile alone"
        status=1
    }
done < "$stamps/paths"
[ $status -ne 0 ] || stamp_passed
exit $status
