#!/bin/sh
# Whatever is read: what stands in it reaches nobody's terminal as a command, a complaint begins
# with the file's name, a byte order mark is no mistake, and a pipe that nobody named is not
# waited for.
: "${MOEPLAN:?the binary under test}"
root=${1:?usage: check_inputs.sh ROOT}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
status=0
esc=$(printf '\033[31m')
csi=$(printf '\302\2331m')
turn=$(printf '\342\200\256')

fail() {
    echo "$*"
    head -n 20 log | cat -v
    status=1
}

# shown STATUS BEGINNING TEXT ARGUMENTS...: ends so, says so, and writes nothing that a terminal
# would obey; BEGINNING is that of the first line; STATUS 04: whatever the verdict
shown() {
    wanted=$1
    beginning=$2
    text=$3
    shift 3
    LC_ALL=C.UTF-8 "$MOEPLAN" "$@" > log 2>&1 < /dev/null
    code=$?
    case $wanted in
    *$code*) ;;
    *) fail "$*: status $code, not $wanted" ;;
    esac
    case $(head -n 1 log) in
    "$beginning"*) ;;
    *) fail "$*: does not begin with $beginning" ;;
    esac
    grep -qF -- "$text" log || fail "$*: does not say $text"
    if LC_ALL=C grep -q "[$(printf '\001-\010\013-\037\177')]" log || grep -q "$csi\|$turn" log
    then
        fail "$*: control characters"
    fi
}

# plan TEXT: plan.yaml with this behind what every plan says; \e and \u stand in its quotes
plan() {
    printf '%s\n' 'cluster: mi355x-8x8' 'stack: generic' 'parallel: {ep: 8, zero: 3}' "$@" \
        > plan.yaml
}

plan 'model: deepseek-v3' '"\e[31mk": 1'
shown 3 plan.yaml:5:1: "'\\x1b[31mk'" predict plan.yaml
plan 'model: "\u009b1m"'
shown 3 plan.yaml:4:8: "'\\x9b1m'" predict plan.yaml
plan 'model: "\u202em.yaml"'
shown 3 plan.yaml:4:8: "'\\u202em.yaml'" predict plan.yaml
plan 'model: deepseek-v3' 'workload: {micro_batch: "\e[31m"}'
shown 3 plan.yaml:5:25: '\x1b[31m' predict plan.yaml
plan 'model: deepseek-v3' 'name: "a\u202eb"'
shown 3 plan.yaml:5:7: 'not printable' predict plan.yaml
plan 'model: m.yaml'
for part in '"\e[31mk": 1' 'layers: "\e[31m"' '{"model_type": "\u001b[31m"}'; do
    printf '%s\n' "$part" > m.yaml
    shown 3 m.yaml:1: '\x1b[31m' predict plan.yaml
done
printf '{"model_type": "\\u001b[31m"}' > config.json
shown 3 config.json:1:16: '\x1b[31m' import config.json
plan 'model: deepseek-v3'

# names
cp plan.yaml "x$esc.yaml"
shown 04 '' 'plan x_[31m' predict "x$esc.yaml"
shown 3 'y\x1b[31m.yaml' 'cannot be opened' predict "y$esc.yaml"
shown 2 moeplan: '\x1b[31m' "$esc"
shown 2 moeplan: '\x1b[31m' predict "--$esc"
shown 3 '--set a\x1b[31m=1' '\x1b[31m' predict plan.yaml --set "a$esc=1"
shown 3 moeplan: '\x1b[31m' list -o "no$esc/a"
shown 2 moeplan: '\x1b[31m' help "$esc"
shown 0 case 'c\x1b[31m' frontier plan.yaml --case "c$esc:moe.path=deepep"
mkdir models
printf '# of %s\n' "$esc" > "models/m$esc.yaml"
shown 0 name 'm\x1b[31m' list models

# tables
shown 3 none.csv 'cannot be opened' plot memory none.csv
sweep='workload.micro_batch,verdict,total_bytes,limit_bytes'
printf '%s\n1%s,fits,1\n' "$sweep" "$esc" > t.csv
shown 3 t.csv:2:1: '3 cells' plot memory t.csv
printf '%s\n"1%s,fits,1,2\n' "$sweep" "$esc" > t.csv
shown 3 t.csv:2:1: 'no closing quote' plot memory t.csv
printf '%s\n1,fits,1,2\n' "$sweep" > t.csv
printf 'a,b\n1%s\n' "$esc" > t-published.csv
shown 3 t-published.csv:2:1: '1 cells' plot memory t.csv
rm t-published.csv
printf '%s\n1%s,fits%s,1000000000,2000000000\n2,oom,3000000000,2000000000\n' "$sweep" "$csi" \
    "$turn" > t.csv
! command -v gnuplot > /dev/null || shown 0 ' ' limit plot memory t.csv
trace="--set moe.routing.distribution=trace --set moe.routing.file"
table="--set moe.routing.placement=table --set moe.routing.placement_file"
printf '1\n2%s\n' "$esc" > t.csv
printf '1\n2\n' > few.csv
printf '\033[31m' > t.npy
for option in "$trace" "$table"; do
    # shellcheck disable=SC2086 # three words
    shown 3 t.csv:2:1: '2\x1b[31m' predict plan.yaml $option=t.csv
    # shellcheck disable=SC2086
    shown 3 few.csv '2 experts' predict plan.yaml $option=few.csv
done
# shellcheck disable=SC2086
shown 3 t.npy 'not a NumPy array' predict plan.yaml $trace=t.npy
# the file that was read, not the name that was tried first
mkdir sub
cp t.csv sub/beside.csv
sed 's/^stack.*/&\nmoe: {routing: {distribution: trace, file: beside.csv}}/' plan.yaml \
    > sub/plan.yaml
shown 3 sub/beside.csv:2:1: '2\x1b[31m' predict sub/plan.yaml
shown 3 plan.yaml 'not computed in blocks' plot padding plan.yaml

# a byte order mark in front of each
marked() {
    printf '\357\273\277'
    cat "$1"
}
marked "$root/models/deepseek-v3.yaml" > marked-model.yaml
marked "$root/models/clusters/mi355x.yaml" > marked-cluster.yaml
marked "$root/models/stacks/generic.yaml" > marked-stack.yaml
marked "$root/tests/configs/mixtral-8x7b.json" > marked.json
seq 256 > counts
seq 256 | awk '{ print ($1 - 1) % 8 }' > owners
marked counts > counts.csv
marked owners > owners.csv
printf '%s\n' 'model: marked-model.yaml' 'cluster: marked-cluster.yaml' \
    'stack: marked-stack.yaml' 'parallel: {ep: 1}' > plain
marked plain > marked.yaml
shown 04 '' 'plan marked' predict marked.yaml
shown 0 '#' 'layers: 32' import marked.json
# shellcheck disable=SC2086
shown 04 '' 'plan plan' predict plan.yaml $trace=counts.csv $table=owners.csv
printf '%s\n1,fits,1000000000,2000000000\n2,oom,3000000000,2000000000\n' "$sweep" > rows
marked rows > rows.csv
! command -v gnuplot > /dev/null || shown 0 ' ' limit plot memory rows.csv
marked "$root/models/mixtral-8x7b.yaml" > models/only-marked.yaml
grep '^# ' "$root/models/mixtral-8x7b.yaml" | head -n 1 | cut -c3- > summary
shown 0 name "$(cut -c1-20 summary)" list models

# pipes where a file is looked for
rm -rf models ./*.json
mkdir models
mkfifo deepseek-v3.yaml mi355x-8x8.yaml generic.yaml models/deepseek-v3.yaml models/pipe.yaml \
    rows.json rows-published.csv
for words in 'predict plan.yaml' 'list models' 'plot memory rows.csv --format csv'; do
    # shellcheck disable=SC2086
    timeout 20 "$MOEPLAN" $words > log 2>&1 < /dev/null
    [ $? -ne 124 ] || fail "$words: waits for a pipe"
done
! "$MOEPLAN" list models | grep pipe || fail 'a pipe is listed as a model'
exit $status
