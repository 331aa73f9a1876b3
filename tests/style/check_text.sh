#!/bin/sh
# 96 columns, no tab, no space at the end of a line, a line feed at the end of a file, no mark
# that a merge left.
root=${1:?usage: check_text.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
cd "$root" || exit 1
{
    find src tests plots models examples .ci -type f \( -name '*.[ch]' -o -name '*.sh' \
        -o -name '*.awk' -o -name '*.gp' -o -name '*.yaml' -o -name '*.txt' -o -name '*.cu' \
        -o -name '*.md' -o -path '.ci/run' -o -path 'tests/*/run' \
        -o -path tests/support/console \) ! -path 'tests/golden/*' \
        ! -path 'tests/fuzz/corpus/*' ! -path 'tests/jobs/*'
    find . -maxdepth 1 -type f \( -name '*.md' -o -name '*.txt' -o -name 'CMakePresets.json' \
        -o -name bootstrap \)
} 2> /dev/null | sort | LC_ALL=C xargs awk -f "$here/text.awk"
