#!/bin/sh
# The installed library: what it shows, how pkg-config finds it, examples/library.c compiled
# against it and run, and its JSON, byte by byte that of the command, for every example; all of
# it from a copy that was moved, without the source tree.
: "${MOEPLAN:?the binary under test}"
root=${1:?usage: check_library.sh ROOT}
case ${MOEPLAN_SANITIZE-} in
?*) echo 'the release build shows it: skipped'; exit 77 ;;
esac
build=$(dirname "$MOEPLAN")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0

fail() {
    echo "$*"
    status=1
}

cmake --install "$build" --prefix "$scratch/first" > /dev/null || exit 1
mkdir "$scratch/deep"
mv "$scratch/first" "$scratch/deep/moved"
copy=$scratch/deep/moved
library=$(find "$copy" -name 'libmoeplan.so.0')
[ -n "$library" ] || { echo 'libmoeplan.so.0 is not installed'; exit 1; }

# Exactly what the header declares is seen from outside.
"${NM:-nm}" -D --defined-only "$library" | sed -n 's/.* T //p' | sed 's/@.*//' |
    sort > "$scratch/shown"
sed -n 's/^MOEPLAN_API .*\(moeplan_[a-z_]*\)(.*/\1/p' "$copy/include/moeplan.h" |
    sort > "$scratch/declared"
[ "$(wc -l < "$scratch/declared")" -gt 15 ] || fail 'moeplan.h declares hardly anything'
diff "$scratch/declared" "$scratch/shown" || fail 'above: declared < and shown > differ'
# and the manual page, made of the header, has all of it
while read -r name; do
    grep -q "\\b$name(" "$copy/share/man/man3/moeplan.3" || fail "not in moeplan(3): $name"
done < "$scratch/declared"
if command -v man > /dev/null; then
    man --warnings -l "$copy/share/man/man3/moeplan.3" > /dev/null 2> "$scratch/warned"
    [ ! -s "$scratch/warned" ] || fail "moeplan(3): $(cat "$scratch/warned")"
fi
if command -v readelf > /dev/null; then
    readelf -d "$library" | grep -q 'SONAME.*\[libmoeplan\.so\.0\]' || fail 'no soname'
fi

# What it calls besides: nothing that prints to the process's own streams, and one exit, that
# of an arena outside of a call (a thread of the caller's making cannot get there).
"${NM:-nm}" -D --undefined-only "$library" | sed 's/.* //; s/@.*//' > "$scratch/called"
for name in printf puts putchar perror abort stdout _exit system fork setlocale; do
    ! grep -qx "$name" "$scratch/called" || fail "the library calls $name"
done

folder=$(dirname "$library")
PKG_CONFIG_PATH=$folder/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs moeplan) || exit 1
version=$(pkg-config --modversion moeplan)
[ "moeplan $version" = "$("$copy/bin/moeplan" --version)" ] || fail "pkg-config: $version"

cat > "$scratch/json.c" <<'END'
#include <moeplan.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct moeplan_plan *plan;
    struct moeplan_result *result;
    struct moeplan_error error;
    (void)argc;
    if (moeplan_open_file(argv[1], &plan, &error) ||
        moeplan_predict(plan, NULL, &result, &error)) {
        fprintf(stderr, "%s: %s\n", error.where, error.text);
        return 1;
    }
    fputs(moeplan_result_json(result, NULL), stdout);
    moeplan_result_free(result);
    moeplan_close(plan);
    return 0;
}
END
for source in "$root/examples/library.c" "$scratch/json.c"; do
    program=$scratch/$(basename "$source" .c)
    # shellcheck disable=SC2086 # flags of pkg-config
    "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror "$source" $flags \
        -Wl,-rpath,"$folder" -o "$program" || exit 1
done

cd "$scratch" || exit 1
compared=0
for plan in "$copy"/share/moeplan/examples/*.yaml; do
    "$scratch/json" "$plan" > library.json || fail "$plan: the library refuses it"
    "$copy/bin/moeplan" predict "$plan" --format json > command.json
    cmp library.json command.json || fail "$plan: not what the command says"
    compared=$((compared + 1))
done
[ $compared -ge 10 ] || fail "only $compared examples compared"

plan=$copy/share/moeplan/examples/seed000-primus-turbo.yaml
"$scratch/library" "$plan" workload.micro_batch=11 > out || fail 'the example fails'
grep -q '^oom: ' out || fail 'the example: no verdict'
grep -q '^wall: ' out || fail 'the example: no wall'
[ "$(grep -c GiB out)" -ge 20 ] || fail 'the example: no fixes or no sweep'
"$scratch/library" "$plan" workload.micro_batch=none > out 2> err
[ $? -eq 3 ] || fail 'a bad value: the status is not 3'
grep -q '^workload.micro_batch=none: ' err || fail 'a bad value: its place is not said'
[ ! -s out ] || fail 'a bad value: something was printed'
exit $status
