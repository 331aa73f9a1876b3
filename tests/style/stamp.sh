# shellcheck shell=sh disable=SC2034 # read by the checks that source this
#
# For checks that judge one file at a time: in a build folder (MOEPLAN_STAMPS) only files that
# changed since the check last passed there are looked at again; elsewhere all of them.

# stamp_begin NAME RULE...: sets `since`, a file for find's -newer; after a change of a RULE all
# files are newer
stamp_begin() {
    stamps=$(mktemp -d) || exit 1
    trap 'rm -rf "$stamps"' EXIT
    last=${MOEPLAN_STAMPS:-$stamps}/$1
    shift
    since=$stamps/since
    touch -d @0 "$since"
    touch "$stamps/begun"
    [ ! -e "$last" ] || [ -n "$(find "$@" -newer "$last")" ] || touch -r "$last" "$since"
}

# stamp_passed: what was looked at needs no second look
stamp_passed() {
    mkdir -p "$(dirname "$last")"
    mv "$stamps/begun" "$last"
}
