#!/bin/sh
# The completions as the shells perform them: bash through its function, fish through its own
# answer; zsh is read. A shell that is not installed is passed over.
: "${MOEPLAN:?the binary under test}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0
PATH=$(dirname "$MOEPLAN"):$PATH
export PATH HOME="$scratch"
for shell in bash zsh fish; do
    "$MOEPLAN" help --completion $shell > "$scratch/moeplan.$shell" || exit 1
done

# offers SHELL LINE WORD: the word is among what SHELL offers at the end of the line
offers() {
    "$1_answer" "$2" > "$scratch/answer" 2>&1
    grep -qx -- "$3" "$scratch/answer" || {
        echo "$1 does not offer \"$3\" after \"$2\": $(tr '\n' ' ' < "$scratch/answer")"
        status=1
    }
}

# Words are broken at "=", as readline does.
# shellcheck disable=SC2317,SC2016  # called by name; the inner shell expands
bash_answer() {
    bash -c '
        compopt() { :; }
        . "$0"
        line=${1//=/ = }
        read -ra COMP_WORDS <<< "$line"
        [[ $1 != *[\ =] ]] || COMP_WORDS+=("")
        [[ $1 != *= ]] || unset "COMP_WORDS[-1]"
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _moeplan
        printf "%s\n" "${COMPREPLY[@]}"' "$scratch/moeplan.bash" "$1"
}

# shellcheck disable=SC2317,SC2016
fish_answer() {
    fish -c 'source $argv[1]; complete -C $argv[2]' "$scratch/moeplan.fish" "$1" | cut -f 1
}

for shell in bash fish; do
    command -v $shell > /dev/null || continue
    prefix=
    [ $shell = bash ] || prefix=moe.path=
    offers $shell 'moeplan pre' predict
    offers $shell 'moeplan help par' parallel.ep
    offers $shell 'moeplan predict --format ' json
    offers $shell 'moeplan predict --set moe.pa' moe.path=
    offers $shell 'moeplan predict --set moe.path=' "${prefix}deepep"
    [ $shell = bash ] || prefix=cluster=
    offers $shell 'moeplan predict --set cluster=h2' "${prefix}h200"
done
# a word of the list that the key does not take is no offer
for file in "$scratch"/moeplan.*; do
    ! grep -E 'precision.weights[)=]' "$file" | grep -Eq "i64|precision.weights=none|'none" || {
        echo "$file: offers formats that precision.weights refuses"
        status=1
    }
done
if command -v zsh > /dev/null; then
    zsh -n "$scratch/moeplan.zsh" || status=1
fi
exit $status
