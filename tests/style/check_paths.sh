#!/bin/sh
# A new path is one row and one file: at most six files, the paths' own apart, name a constant.
root=${1:?usage: check_paths.sh ROOT}
cd "$root" || exit 1
most=6
named=$(grep -rlE '\bPATH_[A-Z]' src --include='*.[ch]' |
    grep -v -e '^src/work/path/' -e '^src/plan/paths')
n=$(printf '%s\n' "$named" | grep -c .)
[ "$n" -le $most ] && exit 0
echo "$n files outside the paths name a path, the limit is $most: ask its row in path/path.h"
printf '%s\n' "$named"
exit 1
