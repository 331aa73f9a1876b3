#!/bin/sh
# cmake --install puts everything where it belongs, and the installed copy finds data, templates
# and module from there: in a prefix, under DESTDIR and moved elsewhere, whatever prefix the
# build was made for, and without the source tree.
: "${MOEPLAN:?the binary under test}"
root=${1:?usage: check_install.sh ROOT}
case ${MOEPLAN_SANITIZE-} in
?*) echo 'the release build shows it: skipped'; exit 77 ;;
esac
build=$(dirname "$MOEPLAN")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
status=0

# hidden COPY: the installed binary no longer knows where the source tree and the prefix are, as
# when both are gone: other paths of the same length stand in their place.
hidden() {
    prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
    for path in "$root" "$prefix"; do
        LC_ALL=C sed -i "s|$path|$(printf '%s' "$path" | sed 's|[^/]|_|g')|g" "$1/bin/moeplan"
        ! grep -qaF "$path/" "$1/bin/moeplan" || fail "$1 still knows $path"
    done
}

fail() {
    echo "$*"
    sed 's/^/    /' "$scratch/log" 2> /dev/null
    status=1
}

# says TEXT COMMAND...: succeeds, and its output holds the text
says() {
    text=$1
    shift
    "$@" > "$scratch/log" 2>&1 < /dev/null || fail "$*: status $?"
    grep -q -- "$text" "$scratch/log" || fail "$*: does not say \"$text\""
}

# works COPY: what an installed copy has to do, from a folder that is nobody's
works() {
    cd "$scratch/away" || exit 1
    plan=$1/share/moeplan/examples/seed000-primus-turbo.yaml
    says '^fits' "$1/bin/moeplan" predict "$plan" --set moe.path=deepep
    says only-installed-here "$1/bin/moeplan" list models
    if command -v gnuplot > /dev/null; then
        says 'wrote a.svg' "$1/bin/moeplan" frontier "$plan" --over workload.micro_batch=1,2 \
            --plot a.svg
        says 'only installed here' cat a.gp
        rm -f a.*
    fi
    plan=$root/tests/plans/matrix.yaml
    says agrees "$1/bin/moeplan" run "$plan"
    [ -e "$build/moeplan_mpi.so" ] && command -v mpirun > /dev/null || return
    says agrees mpirun --oversubscribe -np 2 "$1/bin/moeplan" run "$plan" --transport mpi
}

# present COPY: all of it
present() {
    while IFS= read -r path; do
        [ -s "$1/$path" ] || fail "not installed: $1/$path"
    done <<'END'
bin/moeplan
include/moeplan.h
share/man/man1/moeplan.1
share/man/man3/moeplan.3
share/bash-completion/completions/moeplan
share/zsh/site-functions/_moeplan
share/fish/vendor_completions.d/moeplan.fish
END
    for folder in models examples plots; do
        diff -r "$root/$folder" "$1/share/moeplan/$folder" || status=1
    done
}

# marked COPY: data that no other place has
marked() {
    cp "$1/share/moeplan/models/deepseek-v3.yaml" \
        "$1/share/moeplan/models/only-installed-here.yaml"
    echo '# only installed here' >> "$1/share/moeplan/plots/style.gp"
}

mkdir "$scratch/away"
DESTDIR=$scratch/staged cmake --install "$build" --prefix /usr > /dev/null || exit 1
cmake --install "$build" --prefix "$scratch/a prefix" > /dev/null || exit 1
for copy in "$scratch/staged/usr" "$scratch/a prefix"; do
    present "$copy"
    marked "$copy"
    hidden "$copy"
    works "$copy"
done
mkdir "$scratch/deep"
mv "$scratch/a prefix" "$scratch/deep/moved"
works "$scratch/deep/moved"

# a module that does not load says why
module=$(find "$scratch/deep" -name moeplan_mpi.so)
if [ -n "$module" ]; then
    echo 'no library' > "$module"
    "$scratch/deep/moved/bin/moeplan" run "$root/tests/plans/matrix.yaml" --transport mpi \
        > "$scratch/log" 2>&1
    [ $? -eq 5 ] || fail 'a broken module: the status is not 5'
    grep -q "moeplan_mpi.so: file too short\|moeplan_mpi.so: invalid ELF header" \
        "$scratch/log" || fail 'a broken module: the reason is not said'
    rm "$module"
    "$scratch/deep/moved/bin/moeplan" run "$root/tests/plans/matrix.yaml" --transport mpi \
        > "$scratch/log" 2>&1
    grep -q '"moeplan_mpi.so" is absent' "$scratch/log" || fail 'no module: it is not said'
fi
exit $status
