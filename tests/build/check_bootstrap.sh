#!/bin/sh
# shellcheck disable=SC2016,SC2317 # what stand-ins expand; functions that expect calls
#
# ./bootstrap in a tree of its own, with stand-ins for everything it calls: what it does when
# packages are there, or missing with and without a way to install them.
root=${1:?usage: check_bootstrap.sh ROOT}
unset MOEPLAN_WERROR # .ci/run sets it
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
tools=$scratch/tools
tree="$scratch/a tree"
status=0
mkdir "$tools" "$tree"
cp "$root/bootstrap" "$tree"

# tool NAME BODY: a stand-in, which also writes down that it was called
tool() {
    printf '#!/bin/sh\necho "%s $*" >> "%s/calls"\n%s\n' "$1" "$scratch" "$2" > "$tools/$1"
    chmod +x "$tools/$1"
}

# The stand-in for cmake makes what bootstrap looks at: a cache that names the source tree, and
# a moeplan that shows its arguments and folder and ends with 4.
tool moeplan 'echo "$PWD $*"; exit 4'
tool cmake 'echo noise
[ "$1" != --build ] || exit 0
mkdir -p "$4"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$2" > "$4/CMakeCache.txt"
: > "$4/build.ninja"
cp "'"$tools"'/moeplan" "$4"'
tool ctest 'echo ran ctest; exit 8'
tool apt-get 'if [ "$1" = install ]; then : > '"$scratch"'/installed; fi'
tool dpkg-query 'shift 3; for p; do
    case $p in
    libyaml-dev) [ -e '"$scratch"'/installed ] && echo "$p installed" ;;
    gnuplot-*) ;;
    *) echo "$p installed" ;;
    esac
done | tr "\n" " "'

# as USER SUDO: user number, and whether sudo asks nothing
as() {
    tool id "echo $1"
    tool sudo "[ $2 = yes ] || exit 1; shift; exec \"\$@\""
}

# boot ARGUMENTS...: runs it in another folder; result, $scratch/out, $scratch/err, calls
boot() {
    : > "$scratch/calls"
    (cd "$tools" && PATH=$tools:$PATH "../a tree/bootstrap" "$@") \
        > "$scratch/out" 2> "$scratch/err"
    result=$?
}

# expect WHAT COMMAND...: the command succeeds
expect() {
    what=$1
    shift
    "$@" > /dev/null && return
    echo "bootstrap: $what: failed: $*"
    sed 's/^/    /' "$scratch/calls" "$scratch/out" "$scratch/err"
    status=1
}

calls() { grep -q "^$1" "$scratch/calls"; }
calls_not() { ! grep -q "^$1" "$scratch/calls"; }

as 1000 no
boot predict x.yaml
expect 'packages missing' test $result -eq 10
expect 'packages missing' grep -qx \
    '  apt-get install -y --no-install-recommends libyaml-dev' "$scratch/err"
expect 'packages missing' test ! -s "$scratch/out"
expect 'packages missing' calls_not apt-get

as 1000 yes
boot predict x.yaml
expect 'through sudo' calls 'apt-get install.* libyaml-dev'
expect 'through sudo' test $result -eq 4
expect 'through sudo' test "$(cat "$scratch/out")" = "$tools predict x.yaml"

rm -rf "$scratch/installed" "$tree/build"
as 0 no
boot --version
expect 'as root' calls 'apt-get install.* libyaml-dev'
expect 'as root' calls_not sudo
expect 'as root' test $result -eq 4

as 1000 no
boot show 'two words'
expect 'nothing missing' test $result -eq 4
expect 'nothing missing' calls_not apt-get
expect 'nothing missing' calls_not sudo
expect 'nothing missing' calls_not 'cmake -S'
expect 'nothing missing' calls 'cmake --build'
expect 'nothing missing' test ! -s "$scratch/err"

boot test -L unit
expect 'test' calls 'ctest .*-L unit'
expect 'test' test $result -eq 8
expect 'optional package missing' grep -q 'going on without.*gnuplot-nox' "$scratch/err"

# the package and the page: their own builders, nothing of moeplan's build
tool python3 'echo /a/moeplan.whl'
boot wheel
expect 'wheel' test $result -eq 0
expect 'wheel' calls 'python3 .*/a tree/src/python/backend.py .*/a tree/build/python'
expect 'wheel' calls_not cmake
expect 'wheel' grep -q 'pip install /a/moeplan.whl' "$scratch/err"
mkdir -p "$tree/src/page"
echo 'echo noise; exit 77' > "$tree/src/page/build"
boot page
expect 'page that cannot be built' test $result -eq 1
echo 'echo "$1" > "${0%/*}/given"' > "$tree/src/page/build"
boot page
expect 'page' test $result -eq 0
expect 'page' grep -q '/a tree/build/page$' "$tree/src/page/given"
expect 'page' grep -q 'build/page/index.html' "$scratch/err"
expect 'page' test ! -s "$scratch/out"
rm -r "$tree/src" "$tools/python3"

mv "$tree" "$scratch/moved"
mkdir "$tree"
mv "$scratch/moved/bootstrap" "$scratch/moved/build" "$tree"
sed -i 's/INTERNAL=.*/INTERNAL=elsewhere/' "$tree/build/release/CMakeCache.txt"
boot list
expect 'a tree that was moved' calls 'cmake -S'

# MPI that came, and MPI that went
: > "$tree/build/release/.mpi"
tool mpicc ''
boot list
expect 'MPI installed since' calls 'cmake -S'
boot list
expect 'MPI as before' calls_not 'cmake -S'
rm "$tools/mpicc"
: > "$tree/build/release/CMakeFiles"
boot list
expect 'MPI gone' calls 'cmake -S'
expect 'MPI gone' test ! -e "$tree/build/release/CMakeFiles"

# warnings: of no concern to users, errors where it is asked for
boot test
expect 'warnings' calls 'cmake -S.* -DMOEPLAN_WERROR=OFF'
MOEPLAN_WERROR=ON
export MOEPLAN_WERROR
boot test
unset MOEPLAN_WERROR
expect 'warnings as errors' calls 'cmake -S.* -DMOEPLAN_WERROR=ON'
expect 'warnings as errors' grep -q '^export MOEPLAN_WERROR=ON' "$root/.ci/run"

# A tree that cannot be written to; root can write everywhere, but not into a folder as a file.
rm "$tree/build/.lock"
mkdir "$tree/build/.lock"
chmod a-w "$tree/build"
mkdir "$tree/src"
touch -d '2001-01-01' "$tree/src"
boot show x.yaml
expect 'read-only tree' test $result -eq 4
expect 'read-only tree' test "$(cat "$scratch/out")" = "$tools show x.yaml"
expect 'read-only tree' test ! -s "$scratch/err"
expect 'read-only tree' calls_not 'cmake\|apt-get'
touch -d '2101-01-01' "$tree/src"
boot show x.yaml
expect 'read-only tree with newer sources' test $result -eq 4
expect 'read-only tree with newer sources' grep -q 'older than its sources' "$scratch/err"
boot test
expect 'tests in a read-only tree' test $result -eq 1
expect 'tests in a read-only tree' grep -q 'cannot be written to' "$scratch/err"
mv "$tree/build/release/moeplan" "$scratch/away"
boot show x.yaml
expect 'read-only tree without a build' test $result -eq 1
expect 'read-only tree without a build' grep -q 'cannot be written to' "$scratch/err"
chmod u+w "$tree/build"
mv "$scratch/away" "$tree/build/release/moeplan"
rmdir "$tree/build/.lock"

# boot_in NAME: its path ends in this name
boot_in() {
    mkdir "$scratch/$1"
    cp "$root/bootstrap" "$scratch/$1"
    : > "$scratch/calls"
    PATH=$tools:$PATH "$scratch/$1/bootstrap" list > "$scratch/out" 2> "$scratch/err"
    result=$?
}

# Names that CMake cannot stand are refused before anything is done.
for name in 'a]b' 'a[b' 'a"b' 'a#b' 'a*b' 'a;b' 'a<b' 'a>b' 'a?b' 'a\b' 'a|b' \
    "$(printf 'a\nb')" "$(printf 'a\033b')"; do
    boot_in "$name"
    expect "in $name" test $result -eq 1
    expect "in $name" grep -q 'path of this tree holds' "$scratch/err"
    expect "in $name" test ! -s "$scratch/calls"
    expect "in $name" test ! -e "$scratch/$name/build"
done
for name in "a'b" 'a$b' 'a(b)' 'a&b' 'a{b}' 'a~!@%^+=:,-b' 'aéb'; do
    boot_in "$name"
    expect "in $name" test $result -eq 4
done

tool cmake 'echo broken code; exit 1'
boot list
expect 'build failure' test $result -eq 1
expect 'build failure' grep -q 'broken code' "$scratch/err"
expect 'build failure' test ! -s "$scratch/out"
exit $status
