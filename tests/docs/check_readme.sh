#!/bin/sh
# What README.md shows in ```console blocks is what the binary prints today, and the plan that
# it begins with, typed as it stands, gets the answer below it.
cd "${1:?usage: check_readme.sh ROOT}" || exit 1
: "${MOEPLAN:?the binary under test}"
said=$(awk '/^oom: /{ print; exit }' README.md)
got=$(awk '/^```/ { if (inside) exit; inside = $0 == "```yaml"; next } inside' README.md |
    "$MOEPLAN" predict - | head -n 1)
[ "$said" = "$got" ] || {
    echo "README.md: its first plan is answered by '$got', not '$said'"
    exit 1
}
exec sh tests/support/console --markdown README.md
