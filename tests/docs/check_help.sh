#!/bin/sh
# Every command has its file, its line in `moeplan help` and its own page, the same with -h; the
# manual page and the completions know it too.
: "${MOEPLAN:?the binary under test}"
cd "${1:?usage: check_help.sh ROOT}" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0

wrong() {
    echo "help: $*"
    status=1
}

# knows FILE WORD: the page has the word
knows() {
    grep -q "\\(^\\|[^a-z]\\)$2\\([^a-z]\\|\$\\)" "$scratch/$1" || wrong "$1 leaves out \"$2\""
}

"$MOEPLAN" help > "$scratch/overview" || exit 1
"$MOEPLAN" help --man > "$scratch/manual" || exit 1
for shell in bash zsh fish; do
    "$MOEPLAN" help --completion $shell > "$scratch/$shell" || exit 1
done

names=$(cat src/cli/command/cmd_*.c | sed -n 's/^    \.name = "\([a-z]*\)",$/\1/p')
[ "$(printf '%s\n' "$names" | wc -l)" -eq "$(find src/cli/command -name 'cmd_*.c' | wc -l)" ] ||
    wrong 'not every src/cli/command/cmd_*.c is one command'
for name in $names; do
    grep -q "^  $name  *[a-z]" "$scratch/overview" || wrong "overview has no line for \"$name\""
    for page in manual bash zsh fish; do
        knows $page "$name"
    done
    "$MOEPLAN" help "$name" > "$scratch/page" || wrong "no page on \"$name\""
    "$MOEPLAN" "$name" -h | cmp -s - "$scratch/page" ||
        wrong "\"help $name\" and \"$name -h\" differ"
    grep -q "^ .*moeplan $name" "$scratch/page" || wrong "page of \"$name\" has no example"
done

bash -n "$scratch/bash" || wrong 'completion for bash is not bash'
if command -v man > /dev/null; then
    LC_ALL=C MANWIDTH=96 man --warnings -l "$scratch/manual" \
        2> "$scratch/warnings" > /dev/null
    [ ! -s "$scratch/warnings" ] || wrong "manual page: $(cat "$scratch/warnings")"
fi
exit $status
