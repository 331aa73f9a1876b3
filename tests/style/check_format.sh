#!/bin/sh
# clang-format 14 (Debian 12's, whose output is the reference) has nothing to change.
root=${1:?usage: check_format.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/style/stamp.sh
. "$here/stamp.sh"
cd "$root" || exit 1
for formatter in clang-format-14 clang-format; do
    if "$formatter" --version 2> /dev/null | grep -q 'version 14\.'; then
        stamp_begin format .clang-format "$here/check_format.sh"
        find src tests -name '*.[ch]' -newer "$since" | sort |
            xargs -r "$formatter" --dry-run -Werror || exit 1
        stamp_passed
        exit 0
    fi
done
echo "clang-format 14 is not installed: skipped"
exit 77
