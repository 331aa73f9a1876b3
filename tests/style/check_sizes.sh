#!/bin/sh
# Files have at most 600 lines, unless they are tables (at most 60 lines inside functions).
# Functions have at most 90 lines from the first line of their signature to the closing brace,
# and 95 % of them fewer than 50. Relies on clang-format: a function's braces stand in column 1.
root=${1:?usage: check_sizes.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
cd "$root" || exit 1
find src tests -name '*.[ch]' | sort | xargs awk -f "$here/sizes.awk"
