#!/bin/sh
# The engines of matrix cores as their compilers see them (tests/bench/gpu static): nothing is
# spilled, matrix instructions and their loads stand in loops, a work-group fits the unit, and
# each engine is there for its architecture; those for Hopper take wgmma. What they compute is
# tested elsewhere, by fibres; what they take on a device is not known here.
root=${1:?usage: check_engines.sh ROOT}
table=$(sh "$root/tests/bench/gpu" static) || {
    status=$?
    printf '%s\n' "$table"
    exit $status
}
printf '%s\n' "$table"
printf '%s\n' "$table" | awk '
    NR == 1 { next }
    NF != 9 || $3 < 1 || $4 != 0 || $6 < 1 || $7 < 4 || $8 < 1 || $9 < 60 {
        print "engine: " $0
        failed = 1
    }
    { seen[$1 " " $2] = there[$2] = 1 }
    $1 ~ /^s90/ && ($3 > 168 || $7 != 4) { print "wgmma: " $0; failed = 1 }
    function wanted(architecture, engine,    i, n, kinds) {
        n = split("gemm turned wgrad gated", kinds, " ")
        for (i = 1; (architecture in there) && i <= n; i++)
            if (!((engine "_" kinds[i] " " architecture) in seen)) {
                print "no " engine "_" kinds[i] " for " architecture
                failed = 1
            }
    }
    END {
        wanted("sm_90a", "s90")
        wanted("sm_80", "s80")
        wanted("gfx90a", "cdna")
        if (NR < 2)
            print "no kernel was compiled"
        exit failed || NR < 2
    }'
