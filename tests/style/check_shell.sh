#!/bin/sh
# Our scripts are clean under shellcheck.
root=${1:?usage: check_shell.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/style/stamp.sh
. "$here/stamp.sh"
cd "$root" || exit 1
command -v shellcheck > /dev/null || {
    echo "shellcheck is not installed: skipped"
    exit 77
}
stamp_begin shell "$here/check_shell.sh"
find . \( -path ./build -o -path ./.git -o -path ./tests/jobs -o \
    -path ./tests/fuzz/corpus \) -prune -o \
    -type f -newer "$since" -print | sort |
    while IFS= read -r file; do
        case $(head -c 64 "$file" | head -n 1 | tr -d '\000') in
        '#!/bin/sh'* | '#!/usr/bin/env bash'* | '#!/bin/bash'*) printf '%s\n' "$file" ;;
        esac
    done | xargs -r shellcheck -x || exit 1
stamp_passed
