#!/bin/sh
# Names that stand for no topic, names that POSIX owns, functions that are traps, notes to
# oneself, and paths of the machine where a line was written.
root=${1:?usage: check_names.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
cd "$root" || exit 1
status=0

# Everything that is ours; this folder names what it forbids.
ours() {
    find . \( -path ./build -o -path ./.git -o -path ./tests/fuzz/corpus \
        -o -path ./tests/style \) -prune -o -type f -print | sort
}

if ours | grep -E '/([^/]*_)?(common|utils?|misc|helpers?)(_[^/]*)?\.[^/]*$'; then
    echo "above: files whose name says no topic"
    status=1
fi
find src tests -name '*.[ch]' | sort |
    xargs awk -f "$here/strip.awk" -f "$here/names.awk" || status=1
if ours | xargs grep -nIE '(^|[^A-Za-z0-9])(TODO|FIXME|XXX)([^A-Za-z0-9]|$)'; then
    echo "above: notes to oneself"
    status=1
fi
if ours | xargs grep -nIE '(^|[^A-Za-z0-9_.}/-])/(work|home|root|Users)/'; then
    echo "above: paths of one machine"
    status=1
fi
# The house has so many doors: what else stands at its top was left behind by a test or a trial.
left=$(git ls-files 2> /dev/null | cut -d/ -f1 | sort -u | grep -vxE "$(tr -d ' \n' << 'EOF'
\.(ci|clang-format|containerignore|github|gitignore)|
CHANGELOG\.md|CMakeLists\.txt|CMakePresets\.json|LICENSE|README\.md|bootstrap|
examples|models|plots|src|tests
EOF
)")
if [ -n "$left" ]; then
    echo "$left"
    echo "above: what does not belong at the top of the tree"
    status=1
fi
# Files that a comment names stand where it says: beside the file, or from src or tests on.
rooms='base|plan|work|sim|exec|calib|report|lib|cli|support'
lost=$(find src tests -name '*.[ch]' \
    -exec grep -noE "((see|;) |(^|[ (])($rooms)/)[a-z0-9_/]+\.[ch]([^a-z0-9_]|$)" {} + |
    sed -nE 's/^([^:]*):([0-9]*):(see|;)?[ (]*([a-z0-9_\/]+\.[ch]).*/\1 \2 \4/p' |
    while read -r file line named; do
        [ -e "${file%/*}/$named" ] || [ -e "src/$named" ] || [ -e "tests/$named" ] ||
            echo "$file:$line: names $named, which is not there"
    done)
if [ -n "$lost" ]; then
    echo "$lost"
    status=1
fi
exit $status
