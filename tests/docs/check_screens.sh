#!/bin/sh
# First screens of plans that no example has, of every stack and mode: at most 25 lines of at
# most 100 columns; every fix they show is, once set, what they say; and of some what decides.
: "${MOEPLAN:?the binary under test}"
cd "${1:?usage: check_screens.sh ROOT}" || exit 1
command -v python3 > /dev/null || { echo 'python3 is not installed: skipped'; exit 77; }
exec python3 tests/docs/check_screens.py "$MOEPLAN"
