#!/bin/sh
# README's table of errors is what `moeplan validate` finds; see check_errors.py.
: "${MOEPLAN:?the binary under test}"
command -v python3 > /dev/null || {
    echo 'python3 is not installed: skipped'
    exit 77
}
exec python3 "${1:?usage: check_errors.sh ROOT}/tests/docs/check_errors.py" "$1"
