#!/bin/sh
# No writable global or static variable: nothing of ours lies in a writable section, but for the
# guard of base/arena, one for each thread, and the files that a signal's handler removes, which
# their sources explain.
case ${MOEPLAN_SANITIZE-}${MOEPLAN_LIBRARY:+library} in
library) ;;
*) echo "needs a library without sanitizers: skipped"; exit 77 ;;
esac
"${NM:-nm}" -f sysv "$MOEPLAN_LIBRARY" | awk -F'|' '
/^Symbols from/ { member = $0 }
member ~ /arena\.c\.o/ && $1 ~ /^guard_now/ { next }
member ~ /unfinished\.c\.o/ && $1 ~ /^unfinished/ { next }
$7 ~ /^\.(data|bss|tdata|tbss)/ && $7 !~ /^\.data\.rel\.ro/ {
    print member ": writable variable " $1 " in " $7
    failed = 1
}
END { exit failed }'
