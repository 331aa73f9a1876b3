#!/bin/sh
# Every header compiles alone and twice in a row (its guard works); the guard is named after it.
# A source that begins with its header has compiled it alone: with a library (MOEPLAN_LIBRARY)
# that is newer than all headers and sources, only headers that no source of it begins with are
# compiled alone again. Twice in a row they are compiled a room at a time.
root=${1:?usage: check_headers.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/style/stamp.sh
. "$here/stamp.sh"
cd "$root" || exit 1
stamp_begin headers "$here/check_headers.sh"
status=0

# compiles: what standard input says, where headers are found
compiles() {
    "${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror \
        -fsyntax-only -Isrc -x c -
}

# begun: headers that a source of the library begins with; none where anything is newer
begun() {
    objects=$(dirname "${MOEPLAN_LIBRARY:-none}")/CMakeFiles/moeplan_core.dir
    [ -d "$objects/src" ] && [ -f "$MOEPLAN_LIBRARY" ] || return
    [ -z "$(find src -name '*.[ch]' -newer "$MOEPLAN_LIBRARY")" ] || return
    # shellcheck disable=SC2016 # fields of awk
    find src -name '*.c' | while IFS= read -r source; do
        [ ! -f "$objects/$source.o" ] || echo "$source"
    done | xargs awk '
        FNR == 1 { found = 0 }
        /^[ \t]*#/ && !found++ && /^#include "/ { split($0, part, "\""); print "src/" part[2] }'
}

# unguarded HEADER...: those without the guard that their path names
unguarded() {
    awk '
        BEGIN {
            for (i = 1; i < ARGC; i++) {
                guard = substr(toupper(ARGV[i]), length("src/") + 1)
                gsub(/[^A-Z0-9_]/, "_", guard)
                wanted["#ifndef MOEPLAN_" guard] = ARGV[i]
            }
        }
        wanted[$0] == FILENAME { delete wanted[$0] }
        END {
            for (line in wanted)
                if (wanted[line] != "") {
                    split(line, word, " ")
                    print wanted[line] ":1: include guard is not \"" word[2] "\""
                }
        }' "$@"
}

# Headers that changed, and those that include one of them.
find src -name '*.h' -newer "$since" > "$stamps/changed"
[ -s "$stamps/changed" ] || {
    stamp_passed
    exit 0
}
sed 's|^src/\(.*\)|#include "\1"|' "$stamps/changed" > "$stamps/including"
grep -rlF --include='*.h' -f "$stamps/including" src | sort -u - "$stamps/changed" \
    > "$stamps/paths"
# shellcheck disable=SC2046 # names of the tree, which have no spaces
unguarded $(cat "$stamps/paths") > "$stamps/unguarded"
[ ! -s "$stamps/unguarded" ] || {
    cat "$stamps/unguarded"
    status=1
}
cut -d / -f 2 "$stamps/paths" | sort -u > "$stamps/rooms"
while IFS= read -r room; do
    sed -n "s|^src/\\($room/.*\\)|#include \"\\1\"\\n#include \"\\1\"|p
        \$s/.*/extern int not_empty;/p" "$stamps/paths" | compiles || {
        echo "src/$room: headers do not compile twice in a row"
        status=1
    }
done < "$stamps/rooms"
begun | sort -u > "$stamps/begun_with"
comm -23 "$stamps/paths" "$stamps/begun_with" > "$stamps/alone"
while IFS= read -r path; do
    printf '#include "%s"\nextern int not_empty;\n' "${path#src/}" | compiles || {
        echo "$path:1: header does not compile alone"
        status=1
    }
done < "$stamps/alone"
[ $status -ne 0 ] || stamp_passed
exit $status
