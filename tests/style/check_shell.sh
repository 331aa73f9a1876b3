#!/bin/sh
# Our scripts are clean under shellcheck.
cd "${1:?usage: check_shell.sh ROOT}" || exit 1
command -v shellcheck > /dev/null || {
    echo "shellcheck is not installed: skipped"
    exit 77
}
find . -path ./build -prune -o -path ./.git -prune -o -type f -print | sort |
    while IFS= read -r file; do
        case $(head -c 64 "$file" | head -n 1 | tr -d '\000') in
        '#!/bin/sh'* | '#!/usr/bin/env bash'* | '#!/bin/bash'*) printf '%s\n' "$file" ;;
        esac
    done | xargs shellcheck
