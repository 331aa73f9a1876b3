#!/bin/sh
# What is built for users is hardened: it stands at no fixed address, its tables are read-only
# once it runs, calls that could write too far and broken stacks end it. Warnings are errors
# only where that is asked for: the next compiler knows more of them.
: "${MOEPLAN:?the binary under test}"
root=${1:?usage: check_hardened.sh ROOT}
build=$(dirname "$MOEPLAN")
status=0
command -v readelf > /dev/null || { echo 'readelf is not installed'; exit 77; }
type=$(sed -n 's/^CMAKE_BUILD_TYPE:STRING=//p' "$build/CMakeCache.txt")
if [ "$type" != Release ] || [ -n "${MOEPLAN_SANITIZE-}" ]; then
    echo 'the release build shows it: skipped'
    exit 77
fi

# has FILE OPTION TEXT: readelf's answer holds the text
has() {
    readelf -W "$2" "$1" | grep -q -- "$3" || {
        echo "$1: readelf $2 does not show $3"
        status=1
    }
}

for file in "$MOEPLAN" "$build/moeplan_mpi.so"; do
    [ -e "$file" ] || continue
    has "$file" --file-header 'Type: *DYN'
    has "$file" --program-headers GNU_RELRO
    has "$file" --program-headers 'GNU_STACK.* RW '
    has "$file" --dynamic 'FLAGS_1.* NOW\|(BIND_NOW)\|FLAGS *BIND_NOW'
    has "$file" --dyn-syms __stack_chk_fail
done
has "$MOEPLAN" --dynamic 'FLAGS_1.* PIE'
has "$MOEPLAN" --dyn-syms '__[a-z]*printf_chk'

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# configured OPTIONS...: the compile commands of a tree configured so
configured() {
    CFLAGS='' cmake -S "$root" -B "$scratch/build" -G Ninja -DCMAKE_C_COMPILER="${CC:-cc}" \
        -DBUILD_TESTING=OFF "$@" > "$scratch/log" 2>&1 || {
        cat "$scratch/log"
        exit 1
    }
    cat "$scratch/build/compile_commands.json"
}

configured > "$scratch/commands"
grep -q '"command"' "$scratch/commands" || { echo 'nothing is compiled'; status=1; }
! grep -q -- -Werror "$scratch/commands" || { echo 'warnings are errors for users'; status=1; }
configured -DMOEPLAN_WERROR=ON > "$scratch/commands"
grep '"command"' "$scratch/commands" | grep -qv -- -Werror && {
    echo 'MOEPLAN_WERROR=ON leaves files out'
    status=1
}
exit $status
