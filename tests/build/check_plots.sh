#!/bin/sh
# Every kind of chart is drawn by gnuplot without a word of complaint, from a plan and again
# from its own table; what the user writes reaches no command; lacking gnuplot or fonts is said.
root=${1:?usage: check_plots.sh ROOT}
: "${MOEPLAN:?the binary under test}"
command -v gnuplot > /dev/null || { echo 'gnuplot is not installed'; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
status=0

fail() {
    echo "$1"
    sed 's/^/    /' log
    status=1
}

# draws FILE COMMAND...: succeeds, says nothing on stderr, leaves a picture
draws() {
    file=$1
    shift
    "$@" > out 2> log || fail "$*: failed"
    [ ! -s log ] || fail "$*: complained"
    [ -s "$file" ] || fail "$*: no picture"
}

for template in "$root"/plots/*.gp; do
    kind=$(basename "$template" .gp)
    [ "$kind" != style ] || continue
    case $kind in # of validate, search, compare and a table: below
    scatter | pareto | waterfall | losses) continue ;;
    esac
    plan=$root/examples/seed000-primus-turbo.yaml
    [ "$kind" != padding ] || plan=$root/examples/seed002-neuron-prefill.yaml
    [ "$kind" != pools ] || plan=$root/examples/sglang-qwen3-30b-apart.yaml
    draws "$kind.svg" "$MOEPLAN" plot "$kind" "$plan" -o "$kind.svg"
    draws again.svg "$MOEPLAN" plot "$kind" "$kind.csv" -o again.svg
    draws "$kind.txt" "$MOEPLAN" plot "$kind" "$plan" -o "$kind.txt"
    draws out "$MOEPLAN" plot "$kind" "$plan"
    grep -q '[a-z]' "$kind.txt" || fail "$kind: the terminal chart is empty"
    LC_ALL=C.UTF-8 gnuplot "$kind.gp" > out 2> log || fail "gnuplot $kind.gp: failed"
    [ ! -s log ] || fail "gnuplot $kind.gp: complained"
done
plan=$root/examples/seed000-primus-turbo.yaml
draws three.svg "$MOEPLAN" frontier --over moe.path=capacity,deepep --over parallel.ep=4,8 \
    --over workload.micro_batch=1..4 --plot three.svg "$plan"
draws words.svg "$MOEPLAN" frontier --over moe.path=capacity,deepep,ragged_dot \
    --plot words.svg "$plan"

# a limit is in the picture, or said to be above; no verdict is named that no point has
draws near.svg "$MOEPLAN" plot memory "$plan" --over workload.micro_batch=1,2 -o near.svg
draws far.svg "$MOEPLAN" plot memory "$plan" --over workload.micro_batch=1,2 \
    --set cluster.device.memory=2TiB -o far.svg
! grep -q -e '(above)' -e 'does not fit' near.svg || fail 'memory: the limit is not in sight'
grep -q 'limit .*(above)' far.svg || fail 'memory: a limit out of sight is not said to be'

draws scatter.svg "$MOEPLAN" validate collectives --plot scatter.svg
draws waterfall.svg "$MOEPLAN" compare "$plan" --with-set A:moe.path=capacity \
    --with-set B:moe.path=deepep --plot waterfall.svg
grep -q 'turbo, from A to B' waterfall.svg || fail 'waterfall: one plan is named twice'
draws out "$MOEPLAN" validate deepgemm_kernels --plot -

# gnuplot runs what stands in backticks, in double quotes and behind system()
cat > names <<'END'
name: "a`touch ran1`b'; system(\"touch ran2\"); #"
END
cat names "$plan" > odd.yaml
odd=$(printf 'x%stouch ran3%s, '"'"'y":moe.path=deepep' '`' '`')
draws odd.svg "$MOEPLAN" frontier odd.yaml --case "$odd" --over workload.micro_batch=1..3 \
    --plot odd.svg
for file in ran1 ran2 ran3; do
    [ ! -e $file ] || { echo "text of the plan was run: $file"; status=1; }
done

# without gnuplot
mkdir bin
PATH=$scratch/bin "$MOEPLAN" plot memory "$plan" -o bare.svg > out 2> log
[ $? -eq 5 ] || fail 'without gnuplot: the status is not 5'
grep -q 'gnuplot is not installed: bare.csv and bare.gp are written' log ||
    fail 'without gnuplot: it is not said'
PATH=$scratch/bin "$MOEPLAN" frontier "$plan" --over workload.micro_batch=1..3 -o rows.csv \
    --plot rows.svg > out 2> log || fail 'without gnuplot: rows were asked for, too'
for file in bare.csv bare.gp rows.csv; do
    [ -s $file ] || fail "without gnuplot: no $file"
done

# without fonts
printf '#!/bin/sh\n' > bin/fc-list
chmod +x bin/fc-list
PATH=$scratch/bin:$PATH "$MOEPLAN" plot memory "$plan" -o fontless.png > out 2> log
[ $? -eq 5 ] || fail 'without fonts: the status is not 5'
grep -q 'no fonts are installed' log || fail 'without fonts: it is not said'
exit $status
