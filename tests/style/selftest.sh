#!/bin/sh
# The checks of this folder fail when they should: a tree without fault passes all of them, and
# one seeded fault at a time is caught by the check it belongs to.
root=${1:?usage: selftest.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
unset MOEPLAN_STAMPS MOEPLAN_LIBRARY
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/tree
status=0

# plant FILE TEXT: writes the text (printf escapes) to a file of the tree
plant() {
    mkdir -p "$tree/$(dirname "$1")"
    # shellcheck disable=SC2059 # the text is a format on purpose
    printf "$2" > "$tree/$1"
}

# guarded NAME TEXT: a header
guarded() {
    printf '%s' "#ifndef MOEPLAN_$1_H\n#define MOEPLAN_$1_H\n\n$2\n#endif\n"
}

sound() {
    rm -rf "$tree"
    mkdir -p "$tree"
    cp "$root/.clang-format" "$tree"
    plant src/base/a.h "$(guarded BASE_A 'int a(void);\n')"
    plant src/base/a.c '#include "base/a.h"\n\nint a(void)\n{\n    return 1;\n}\n'
    plant src/sim/b.c '#include "base/a.h"\n\nint b;\n'
    plant tests/unit/test_a.c '#include <stddef.h>\n'
    plant src/sim/step/evaluate_lawful.c \
        'static const char *const slot_keys[] = {\n    "moe.rows",\n};\n'
    plant bootstrap '#!/bin/sh\nexit 0\n'
}

# run CHECK: its status, its output in $scratch/log
run() {
    sh "$here/check_$1.sh" "$tree" > "$scratch/log" 2>&1
}

# catches CHECK TEXT FILE CONTENT: with this file the check fails and says TEXT
catches() {
    sound
    plant "$3" "$4"
    run "$1"
    result=$?
    [ $result -ne 77 ] || return 0
    if [ $result -eq 0 ] || ! grep -qF -- "$2" "$scratch/log"; then
        echo "check_$1 does not catch: $2"
        sed 's/^/    /' "$scratch/log"
        status=1
    fi
}

# lines N TEXT: the text N times
lines() {
    awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) printf "%s\\n", text }'
}

sound
for check in layers purity headers sizes text names slots format shell; do
    run $check
    case $? in
    0 | 77) ;;
    *)
        echo "check_$check refuses a sound tree"
        sed 's/^/    /' "$scratch/log"
        status=1
        ;;
    esac
done

catches layers 'base may not include sim' src/base/x.c '#include "sim/b.h"\n'
catches layers 'sim may not include exec' src/sim/x.c '#include "exec/b.h"\n'
catches layers 'exec may not include sim' src/exec/x.h '#include "sim/b.h"\n'
catches layers 'calib may not include report' src/calib/x.c '  #  include "report/b.h"\n'
catches layers 'plan may not include work' src/plan/x.c '#include "work/b.h"\n'
catches layers 'a room above its own' src/sim/moe/x.c '#include "sim/time/b.h"\n'
catches layers 'a room above its own' src/plan/x.c '#include "plan/read/b.h"\n'
catches layers 'without its folder' src/cli/x.c '#include "local.h"\n'
catches layers 'is not a layer' src/other/x.c '#include "base/a.h"\n'
catches layers 'home in src/plan/source.c' src/plan/read/load.c '#include <yaml.h>\n'
catches layers 'home in src/exec/gpu/' src/exec/x.c '#include <hip/hip_runtime.h>\n'
catches layers 'home in src/exec/transport/mpi.c' src/exec/transport/x.h '#include <mpi.h>\n'
catches layers 'neither standard C' src/exec/x.c '#include <gsl/gsl_rng.h>\n'
catches layers 'CBLAS' src/exec/x.c 'void *f = &cblas_sgemm;\n void *g = (void *)cblas_sgemm;\n'
catches purity 'may not make' src/sim/x.c 'int f(void)\n{\n    return time(0);\n}\n'
catches purity 'may not make' src/work/x.c 'int f(void)\n{\n    return 0 + fopen (0);\n}\n'
catches purity 'may not make' src/plan/x.c 'int f(void)\n{\n    printf("no");\n}\n'
catches purity 'may not make' src/exec/x.c '/* a comment\n */ int f(void)\n{\n    exit(1);\n}\n'
catches headers 'does not compile alone' src/base/x.h "$(guarded BASE_X 'size_t f(void);\n')"
catches headers 'include guard is not' src/base/x.h '#ifndef OTHER_H\n#define OTHER_H\n#endif\n'
catches headers 'do not compile twice' src/base/x.h \
    '#ifndef MOEPLAN_BASE_X_H\nstruct x {\n    int a;\n};\n#endif\n'
catches sizes 'file has 601 lines' src/base/x.c \
    "int f(void)\n{\n$(lines 30 '    f();')}\n\nint g(void)\n{\n$(lines 30 '    f();')}\n$(
        lines 534 'int x;')"
catches sizes 'function has 91 lines' src/base/x.c "int f(void)\n{\n$(lines 88 '    f();')}\n"
catches sizes 'the limit is 5 %' src/base/x.c "int f(void)\n{\n$(lines 47 '    f();')}\n"
catches text 'tab' src/base/x.c 'int\tx;\n'
catches text 'space at the end' src/base/x.c 'int x; \n'
catches text 'unfinished merge' src/base/x.c '<<<<<<< HEAD\nint x;\n'
catches text '97 columns' src/base/x.c "/*$(lines 92 x | sed 's/.n//g') */\n"
catches names 'no topic' src/base/json_util.c 'int x;\n'
catches names 'no topic' tests/common.sh ':\n'
catches names 'typedef' src/base/x.h 'typedef struct x x;\n'
catches names "POSIX's" src/base/x.h 'struct size_pair_t;\n'
catches names "POSIX's" src/base/x.h 'typedef unsigned bytes_t;\n'
catches names 'trap' src/base/x.c 'int f(void)\n{\n    return rand();\n}\n'
catches names 'notes to oneself' src/base/x.c '/* TODO later */\n'
catches names 'paths of one machine' src/base/x.c 'const char *p = "/home/me/x";\n'
catches slots 'say size_slot' src/work/path/x.c 'int n = plan->moe.rows;\n'
catches slots 'say size_slot' src/work/stack/x.c 'int n = m->rows;\n'
catches slots 'say size_slot' src/work/piece/x.c 'int n = plan_tokens(plan);\n'
catches format 'x.c' src/base/x.c 'int  f( void );\n'
# shellcheck disable=SC2016 # the fault is the $1 without quotes
catches shell 'SC2086' tests/x.sh '#!/bin/sh\nrm $1\n'

# What a test left at the top of the tree is seen once git keeps it.
sound
plant left_behind/kept.yaml 'a: 1\n'
if git -C "$tree" init -q 2> /dev/null && git -C "$tree" add -A &&
    { run names || ! grep -q 'top of the tree' "$scratch/log"; }; then
    echo 'check_names does not see what stands at the top of the tree'
    status=1
fi

# Writable variables are looked for in the library.
# library TEXT: $scratch/x.a with one object
library() {
    plant src/base/x.c "$1"
    rm -f "$scratch/x.a"
    "${CC:-cc}" -fPIC -c "$tree/src/base/x.c" -o "$scratch/x.o" &&
        ar rc "$scratch/x.a" "$scratch/x.o"
}

# A file that was looked at is not looked at again, one that changed is.
sound
MOEPLAN_STAMPS=$scratch/stamps
export MOEPLAN_STAMPS
run headers
printf 'size_t f(void);\n' > "$tree/src/base/a.h"
touch -d '2 minutes ago' "$tree/src/base/a.h"
run headers || {
    echo 'check_headers looks at headers that have not changed'
    status=1
}
touch -d '1 minute' "$tree/src/base/a.h"
if run headers; then
    echo 'check_headers does not look at a header that changed'
    status=1
fi

# What the library has compiled alone is not compiled alone again, unless something is newer.
unset MOEPLAN_STAMPS
sound
plant src/base/a.h "$(guarded BASE_A 'size_t a(void);\n')" # as if the compiler had known it
plant src/base/x.c '#include <stddef.h>\n'
objects=$scratch/CMakeFiles/moeplan_core.dir/src/base
mkdir -p "$objects"
MOEPLAN_LIBRARY=$scratch/x.a
export MOEPLAN_LIBRARY
touch "$objects/a.c.o" "$objects/x.c.o" "$MOEPLAN_LIBRARY"
run headers
grep -q 'src/base/a.h:1: header does not' "$scratch/log" && {
    echo 'check_headers compiles a header alone that a source begins with'
    status=1
}
for older in "touch -d '1 minute' $tree/src/base/x.c" "rm $objects/a.c.o"; do
    eval "$older"
    run headers
    grep -q 'src/base/a.h:1: header does not' "$scratch/log" || {
        echo "check_headers takes for compiled what is not: $older"
        status=1
    }
    touch -d '1 minute ago' "$tree/src/base/x.c"
done

MOEPLAN_SANITIZE=
export MOEPLAN_SANITIZE
library 'int counter;\nint f(void)\n{\n    static int calls = 1;\n    return calls++;\n}\n'
if run globals || [ "$(grep -c 'writable variable' "$scratch/log")" != 2 ]; then
    echo "check_globals does not find the two writable variables of a file"
    status=1
fi
library 'static const char *const a[] = {"a"};\nconst char *const *f(void) { return a; }\n'
run globals || {
    echo "check_globals refuses constants"
    status=1
}
exit $status
