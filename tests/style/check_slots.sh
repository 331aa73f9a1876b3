#!/bin/sh
# A work list is built once for a structure and its sizes are evaluated for many plans: what
# builds it must not read a number that changes without rebuilding. Those numbers are slot_keys
# of src/sim/step/evaluate_lawful.c, and what plan/derive.h makes of them.
# (property/test_slot_laws holds what is built.) work/piece/stage.c fills slots; a path's own
# rule is asked each time.
root=${1:?usage: check_slots.sh ROOT}
cd "$root" || exit 1
from=src/sim/step/evaluate_lawful.c
keys=$(awk '/slot_keys\[\]/, /};/' $from | grep -o '"[a-z_.]*"' | tr -d '"')
[ -n "$keys" ] || { echo "$from: no slot_keys"; exit 1; }
pattern='plan_tokens\(|plan_micro_batches\(|plan_attention_length\(|plan_requests\('
for key in $keys; do
    room=${key%.*} leaf=${key##*.}
    pattern="$pattern|\\<$room\\.$leaf\\>|\\<($room|$(printf %.1s "$room"))->$leaf\\>"
done
# work/list and work/rows are what fills slots and draws routing.
found=$(find src/work -name '*.[ch]' -not -path 'src/work/list/*' -not -path 'src/work/rows/*' |
    grep -v -e '^src/work/piece/stage\.c$' -e '^src/work/stack/table\.c$' | sort |
    xargs grep -nE "$pattern")
[ -z "$found" ] && exit 0
echo "$found" | sed 's/$/   (a slot: say size_slot, work\/list\/shape.h)/'
exit 1
