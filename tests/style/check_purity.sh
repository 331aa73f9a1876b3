#!/bin/sh
# Calls that only some folders may make: sim (and what it stands on, plan excepted) knows no
# clock and no files; only cli, main and report print; only cli and main exit (base/arena, which
# has nothing to return when memory is gone, is the exception its header explains; and
# exec/transport/mpi.c, whose MPI_Init does not return when another process has ended).
root=${1:?usage: check_purity.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
cd "$root" || exit 1
status=0

# never FOLDER... -- NAME...: no file of these folders calls one of these functions
never() {
    folders=
    while [ "$1" != -- ]; do
        [ ! -d "src/$1" ] || folders="$folders src/$1"
        shift
    done
    shift
    [ -n "$folders" ] || return 0
    # shellcheck disable=SC2086 # a list of folders
    find $folders -name '*.[ch]' ! -path src/base/arena.c ! -path src/base/process.c \
        ! -path src/exec/transport/mpi.c | sort |
        xargs -r awk -v names="$*" -f "$here/strip.awk" -f "$here/purity.awk" || status=1
}

never sim work report -- fopen open read fdopen getenv clock_gettime time clock gettimeofday \
    nanosleep rand random
never base plan work sim exec calib -- printf puts putchar perror exit _exit abort
never base plan work sim exec calib report cli -- setlocale system gets
exit $status
