#!/bin/sh
# The engines of matrix cores as their compilers see them (tests/bench/gpu static): nothing is
# spilled, matrix instructions and their loads stand in loops, a work-group fits the unit. What
# they compute is tested elsewhere, by fibres; what they take on a device is not known here. The
# table stays in MOEPLAN_STAMPS, so that .ci/run's other look at it does not compile again.
root=${1:?usage: check_engines.sh ROOT}
table=$(sh "$root/tests/bench/gpu" static) || {
    status=$?
    printf '%s\n' "$table"
    exit $status
}
printf '%s\n' "$table"
[ -z "${MOEPLAN_STAMPS-}" ] ||
    { mkdir -p "$MOEPLAN_STAMPS" && printf '%s\n' "$table" > "$MOEPLAN_STAMPS/engines"; }
printf '%s\n' "$table" | awk '
    NR == 1 { next }
    NF != 9 || $3 < 1 || $4 != 0 || $6 < 1 || $7 < 4 || $8 < 1 {
        print "engine: " $0
        failed = 1
    }
    { seen[$1 " " $2] = 1 }
    $1 ~ /^s90/ && ($3 > 168 || $7 != 4) { print "wgmma: " $0; failed = 1 }
    END {
        n = split("s90_gemm s90_turned s90_wgrad s90_gated", names, " ")
        for (i = 1; i <= n; i++)
            if (nvidia && !((names[i] " sm_90a") in seen)) {
                print names[i] " is missing"
                failed = 1
            }
        exit failed
    }' nvidia="$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null)"
