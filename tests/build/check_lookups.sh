#!/bin/sh
# No test waits for a name server: with an empty /etc/hosts, as in some containers, Open MPI
# asks for "localhost" again and again, and each answer that does not come takes five seconds. A
# name server that never answers, in a mount namespace of our own, shows whether anybody asks.
: "${MOEPLAN:?the binary under test}"
[ "${RES_OPTIONS-}" = attempts:0 ] || {
    echo "RES_OPTIONS is '${RES_OPTIONS-}', not attempts:0"
    exit 1
}
if [ -z "${INSIDE-}" ]; then
    for tool in unshare mount perl getent; do
        command -v $tool > /dev/null || { echo "$tool is not installed"; exit 77; }
    done
    unshare -m true 2> /dev/null || { echo 'mount namespaces take an administrator'; exit 77; }
    INSIDE=$(mktemp -d) || exit 1
    export INSIDE
    trap 'rm -rf "$INSIDE"' EXIT
    unshare -m sh "$0" "$@"
    exit $?
fi

: > "$INSIDE/hosts"
echo 'nameserver 127.0.0.77' > "$INSIDE/resolv.conf"
mount --bind "$INSIDE/hosts" /etc/hosts || exit 77
mount --bind "$INSIDE/resolv.conf" /etc/resolv.conf || exit 77
perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0) or exit 1;
    bind(S, sockaddr_in(53, inet_aton("127.0.0.77"))) or exit 1;
    open(F, ">", $ARGV[0]); close(F); sleep(60)' "$INSIDE/silent" &
silent=$!
trap 'kill $silent' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ ! -e "$INSIDE/silent" ] || break
    sleep 0.1
done
[ -e "$INSIDE/silent" ] || { echo 'no name server that keeps silent can be had'; exit 77; }

# It is asked, and would be waited for, were it not for the setting.
RES_OPTIONS='' timeout 2 getent hosts nobody.invalid
[ $? -eq 124 ] || { echo 'the name server does not keep silent'; exit 77; }
timeout 2 getent hosts nobody.invalid
[ $? -eq 2 ] || { echo 'a look-up is waited for'; exit 1; }
command -v mpirun > /dev/null && [ -e "$(dirname "$MOEPLAN")/moeplan_mpi.so" ] || exit 0
timeout 20 mpirun --oversubscribe -np 2 "$MOEPLAN" run tests/plans/matrix.yaml \
    --transport mpi > "$INSIDE/log" 2>&1 || {
    echo "two ranks over MPI: status $?"
    cat "$INSIDE/log"
    exit 1
}
