#!/bin/sh
# What README.md shows in ```console blocks is what the binary prints today.
cd "${1:?usage: check_readme.sh ROOT}" || exit 1
exec sh tests/support/console --markdown README.md
