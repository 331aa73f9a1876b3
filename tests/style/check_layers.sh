#!/bin/sh
# Directions of dependence between the folders of src/, and the one home of each vendor header.
#
#   main -> cli -> lib -> report -> calib -> (sim, exec) -> work -> plan -> base
#   page, python -> lib: its public header alone
#
# `may` in layers.awk is that relation closed under transitivity, so checking each include line
# checks every chain of includes. Rooms of plan, sim, exec and calib have an order (`order`
# there).
root=${1:?usage: check_layers.sh ROOT}
here=$(cd "$(dirname "$0")" && pwd)
cd "$root" || exit 1
find src -name '*.[ch]' | sort | xargs awk -f "$here/layers.awk"
